"""The admission webhook: its Deployment, and apart from it the certificate with the webhook's registration.

A certificate is made for one installation, so it is in no file of `deploy/kubernetes`: `python -m
deploy.manifests.certificate` prints it.
"""

from __future__ import annotations

import base64
from datetime import timedelta

from deploy.manifests.parts import NAMESPACE, labels, object_of, pod_of, workload
from dra_api.certificate_authority import Authority
from dra_api.objects import Obj
from dra_conformance.components.registration import RULE
from reference_impl.webhook.server import PATH

NAME = "reference-webhook"
SECRET = f"{NAME}-certificate"
HOST = f"{NAME}.{NAMESPACE}.svc"
"""The name under which API servers call a Service."""

_PORT, _SERVICE_PORT = 8443, 443
_FOLDER = "/certificate"
_VALID = timedelta(days=365)


def objects() -> list[Obj]:
    """Return everything but the certificate and what depends on it. The webhook has no permissions: it calls no API."""
    return [
        {**object_of("v1", "ServiceAccount", NAME), "automountServiceAccountToken": False},
        _deployment(),
        {
            **object_of("v1", "Service", NAME),
            "spec": {"selector": labels(NAME), "ports": [{"port": _SERVICE_PORT, "targetPort": _PORT}]},
        },
        # From anywhere: API servers are no pods that a policy could select.
        {
            **object_of("networking.k8s.io/v1", "NetworkPolicy", NAME),
            "spec": {
                "podSelector": {"matchLabels": labels(NAME)},
                "policyTypes": ["Ingress", "Egress"],
                "ingress": [{"ports": [{"port": _PORT, "protocol": "TCP"}]}],
            },
        },
    ]


def certified(authority: Authority | None = None) -> list[Obj]:
    """Return the Secret of a new certificate, and the configuration with which API servers call the webhook."""
    authority = authority or Authority("dra-reference-webhook", valid=_VALID)
    pair = authority.server(HOST, [HOST])
    return [secret(_encoded(pair.certificate), _encoded(pair.key)), registration(_encoded(authority.certificate))]


def secret(certificate: str, key: str) -> Obj:
    """Return the Secret of a certificate; both are in base64."""
    return {
        **object_of("v1", "Secret", SECRET),
        "type": "kubernetes.io/tls",
        "data": {"tls.crt": certificate, "tls.key": key},
    }


def registration(authority: str) -> Obj:
    """Return the configuration with which API servers call the webhook; the authority is in base64."""
    return {
        **object_of("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", NAME, namespace=""),
        "webhooks": [
            {
                "name": HOST,
                "rules": [RULE],
                "clientConfig": {
                    "service": {"namespace": NAMESPACE, "name": NAME, "path": PATH, "port": _SERVICE_PORT},
                    "caBundle": authority,
                },
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "failurePolicy": "Fail",
            }
        ],
    }


def _deployment() -> Obj:
    files = ("--tls-cert-file", f"{_FOLDER}/tls.crt", "--tls-private-key-file", f"{_FOLDER}/tls.key")
    pod = pod_of("webhook", ["--port", str(_PORT), *files], account=NAME)
    (container,) = pod["containers"]
    probe = {"httpGet": {"path": "/readyz", "port": _PORT, "scheme": "HTTPS"}, "timeoutSeconds": 10}
    container |= {
        "ports": [{"containerPort": _PORT}],
        "startupProbe": {**probe, "failureThreshold": 60, "periodSeconds": 2},
        "readinessProbe": probe,
        "livenessProbe": probe,
    }
    container["volumeMounts"].append({"name": "certificate", "mountPath": _FOLDER, "readOnly": True})
    pod["volumes"] = [*pod["volumes"], {"name": "certificate", "secret": {"secretName": SECRET}}]
    return {**object_of("apps/v1", "Deployment", NAME), "spec": {"replicas": 1, **workload(NAME, pod)}}


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()
