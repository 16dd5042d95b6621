"""Names, labels and objects that the ComputeDomain components share. Pure functions.

Source: cmd/compute-domain-controller (resourceclaimtemplate.go, daemonset.go) at 95932046; rules NV-145 to NV-147,
NV-173.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dra_api.objects import Obj, meta, name_of, namespace_of, uid_of

DRIVER: Final = "compute-domain.nvidia.com"
DRIVER_NAMESPACE: Final = "dra-driver-nvidia-gpu"
DOMAIN_LABEL: Final = "resource.nvidia.com/computeDomain"
TARGET_LABEL: Final = "resource.nvidia.com/computeDomainTarget"
CLIQUE_LABEL: Final = "resource.nvidia.com/computeDomain.cliqueID"
NODE_CLIQUE_LABEL: Final = "nvidia.com/gpu.clique"
FINALIZER: Final = "resource.nvidia.com/computeDomain"
CONFIG_API_VERSION: Final = "resource.nvidia.com/v1beta1"
DAEMON_CLASS: Final = "compute-domain-daemon.nvidia.com"
CHANNEL_CLASS: Final = "compute-domain-default-channel.nvidia.com"
MAX_NODES: Final = 18
"""Nodes that one IMEX domain may have (GB200 NVL72: 18 trays)."""


def daemon_name(domain_uid: str) -> str:
    """Return the name of a domain's DaemonSet and of its claim template."""
    return f"computedomain-daemon-{domain_uid}"


def labels(domain: Obj, target: str | None = None) -> Obj:
    """Return the labels by which a domain's objects are found again."""
    found = {DOMAIN_LABEL: uid_of(domain)}
    return {**found, TARGET_LABEL: target} if target else found


def workload_template_name(domain: Obj) -> str:
    """Return the template that workloads refer to; the domain's author named it."""
    return str(domain["spec"]["channel"]["resourceClaimTemplate"]["name"])


def workload_template(domain: Obj, *, host_managed: bool) -> Obj:
    """Return the claim template for the workload's channel, in the domain's namespace (rules NV-147, NV-171d)."""
    # With the hosts' own daemons every workload gets channel 0 (rules NV-171b, NV-171d).
    mode = "Single" if host_managed else domain["spec"]["channel"].get("allocationMode") or "Single"
    config = {"kind": "ComputeDomainChannelConfig", "domainID": uid_of(domain), "allocationMode": mode}
    return _template(
        domain, workload_template_name(domain), namespace_of(domain), "Workload", "channel", CHANNEL_CLASS, config
    )


def daemon_template(domain: Obj, namespace: str) -> Obj:
    """Return the claim template for the domain's daemons, in the driver's namespace (rule NV-146)."""
    config = {"kind": "ComputeDomainDaemonConfig", "domainID": uid_of(domain)}
    return _template(domain, daemon_name(uid_of(domain)), namespace, "Daemon", "daemon", DAEMON_CLASS, config)


def _template(domain: Obj, name: str, namespace: str, target: str, request: str, device_class: str, config: Obj) -> Obj:
    parameters = {"apiVersion": CONFIG_API_VERSION, **config}
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": labels(domain, target),
            "finalizers": [FINALIZER],
        },
        "spec": {
            "spec": {
                "devices": {
                    "requests": [{"name": request, "exactly": {"deviceClassName": device_class}}],
                    "config": [{"requests": [request], "opaque": {"driver": DRIVER, "parameters": parameters}}],
                }
            }
        },
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonSettings:
    """What the controller's administrator sets for the pods of the daemons (rules NV-321, NV-437, NV-467).

    `gates` is text as in --driver-feature-gates, `verbosity` a level as klog has it; empty and None: not given.
    """

    image: str
    pull_secrets: tuple[str, ...] = ()
    gates: str = ""
    verbosity: int | None = None

    def environment(self) -> list[Obj]:
        """Return the variables of the settings that are given."""
        given = {"FEATURE_GATES": self.gates, "LOG_VERBOSITY": "" if self.verbosity is None else str(self.verbosity)}
        return [{"name": name, "value": value} for name, value in given.items() if value]


def daemon_set(domain: Obj, namespace: str, *, settings: DaemonSettings) -> Obj:
    """Return the DaemonSet that runs an IMEX daemon on every node that joined the domain (rule NV-146).

    Nodes join lazily: the selector matches the label that the kubelet plugin sets at the first channel claim.
    """
    secrets = [{"name": name} for name in settings.pull_secrets]
    name = daemon_name(uid_of(domain))
    check = {"exec": {"command": ["compute-domain-daemon", "check"]}, "timeoutSeconds": 10}
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": labels(domain),
            "finalizers": [FINALIZER],
        },
        "spec": {
            "selector": {"matchLabels": labels(domain)},
            "template": {
                "metadata": {"labels": labels(domain)},
                "spec": {
                    # No node has this label until a channel claim is prepared on it.
                    "nodeSelector": labels(domain),
                    "serviceAccountName": "compute-domain-daemon-service-account",
                    **({"imagePullSecrets": secrets} if secrets else {}),
                    # A daemon has to run on any node on which a workload got a channel.
                    "tolerations": [
                        {"operator": "Exists", "effect": effect}
                        for effect in ("NoSchedule", "NoExecute", "PreferNoSchedule")
                    ],
                    "containers": [
                        {
                            "name": "compute-domain-daemon",
                            "image": settings.image,
                            "command": ["compute-domain-daemon", "run"],
                            # The hosts file of a pod and /imexd, a folder of the node, belong to root.
                            "securityContext": {"runAsUser": 0},
                            "env": [
                                {"name": "MAX_NODES_PER_IMEX_DOMAIN", "value": str(MAX_NODES)},
                                # The container toolkit must add no GPUs; the claim gives the daemon its devices.
                                {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"},
                                _field_env("NODE_NAME", "spec.nodeName"),
                                _field_env("POD_NAME", "metadata.name"),
                                _field_env("POD_NAMESPACE", "metadata.namespace"),
                                _field_env("POD_UID", "metadata.uid"),
                                _field_env("POD_IP", "status.podIP"),
                                *settings.environment(),
                            ],
                            "startupProbe": {**check, "periodSeconds": 1, "failureThreshold": 1200},
                            "readinessProbe": {**check, "periodSeconds": 10, "failureThreshold": 1},
                            "livenessProbe": {**check, "periodSeconds": 60, "failureThreshold": 20},
                            "resources": {"claims": [{"name": "compute-domain-daemon"}]},
                        }
                    ],
                    "resourceClaims": [{"name": "compute-domain-daemon", "resourceClaimTemplateName": name}],
                },
            },
        },
    }


def _field_env(name: str, path: str) -> Obj:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def clique_name(domain_uid: str, clique_id: str) -> str:
    """Return the name of the clique object of a domain in one NVLink clique."""
    return f"{domain_uid}.{clique_id}"


def domain_of(obj: Obj) -> str:
    """Return the uid of the ComputeDomain that an object is labelled for; empty when for none."""
    return str((meta(obj).get("labels") or {}).get(DOMAIN_LABEL) or "")


def has_finalizer(obj: Obj) -> bool:
    """Return whether the object has the finalizer of the ComputeDomain controller."""
    return FINALIZER in (meta(obj).get("finalizers") or ())


def is_deleting(obj: Obj) -> bool:
    """Return whether the object waits for its finalizers."""
    return bool(meta(obj).get("deletionTimestamp"))


def shown(obj: Obj) -> str:
    """Return `namespace/name` for messages."""
    return f"{namespace_of(obj)}/{name_of(obj)}"
