"""kubectl against the HTTPS endpoint, with validation. Runs only if kubectl is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from apiserver_emulator import ApiServerEmulator

KUBECTL = shutil.which("kubectl")

if KUBECTL is None:
    pytest.skip(
        "kubectl is not on this machine: its view of the embedded API server is not tested", allow_module_level=True
    )

MANIFEST = """\
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  containers:
  - {name: c, image: "registry.example/app:1", ports: [{containerPort: 80}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpu}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly: {deviceClassName: gpu.example.com}
"""

Kubectl = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def kubectl(https_plane: ApiServerEmulator, tmp_path: Path) -> Kubectl:
    environment = {
        "KUBECONFIG": str(https_plane.kubeconfig),
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
    }

    def run(*arguments: str, stdin: str = "", code: int | None = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [str(KUBECTL), *arguments],
            input=stdin,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if code is not None:
            assert done.returncode == code, done.stderr
        return done

    return run


def test_common_commands(kubectl: Kubectl) -> None:
    created = kubectl("apply", "--validate=strict", "-f", "-", stdin=MANIFEST).stdout
    assert created == "pod/web created\nresourceclaimtemplate.resource.k8s.io/gpu created\n"
    again = kubectl("apply", "-f", "-", stdin=MANIFEST).stdout
    assert "pod/web unchanged" in again
    # its request list is atomic and defaulted by the server, so kubectl sends it again, here as anywhere
    assert "resourceclaimtemplate.resource.k8s.io/gpu configured" in again
    assert "STATUS" in kubectl("get", "pods", "-o", "wide").stdout
    assert "web" in kubectl("get", "pods", "--watch=false", "-l", "app in (web)").stdout
    kubectl("patch", "pod", "web", "-p", '{"metadata":{"labels":{"tier":"front"}}}')
    kubectl("label", "pod", "web", "colour=red")
    kubectl("annotate", "pod", "web", "note=here")
    assert "tier=front" in kubectl("describe", "pod", "web").stdout
    waited = kubectl("wait", "--for=jsonpath={.status.phase}=Pending", "pod/web", "--timeout=60s")
    assert "condition met" in waited.stdout
    assert 'pod "web" deleted' in kubectl("delete", "pod", "web", "--wait").stdout
    assert "NotFound" in kubectl("get", "pod", "web", code=1).stderr


def test_strict_validation_refuses_unknown_fields(kubectl: Kubectl) -> None:
    wrong = MANIFEST.replace("ports:", "harbours:")
    refused = kubectl("apply", "--validate=strict", "-f", "-", stdin=wrong, code=1)
    assert 'strict decoding error: unknown field "spec.containers[0].harbours"' in refused.stderr
    warned = kubectl("apply", "--validate=warn", "-f", "-", stdin=wrong)
    assert 'Warning: unknown field "spec.containers[0].harbours"' in warned.stderr


def test_server_side_apply(kubectl: Kubectl) -> None:
    assert "pod/web serverside-applied" in kubectl("apply", "--server-side", "-f", "-", stdin=MANIFEST).stdout
    other = MANIFEST.replace("app: web", "app: site")
    refused = kubectl("apply", "--server-side", "--field-manager=other", "-f", "-", stdin=other, code=1)
    assert 'conflict with "kubectl": .metadata.labels.app' in refused.stderr.replace(" using v1", "")
    kubectl("apply", "--server-side", "--field-manager=other", "--force-conflicts", "-f", "-", stdin=other)
    assert kubectl("get", "pod", "web", "-o", "jsonpath={.metadata.labels.app}").stdout == "site"
    shown = kubectl("diff", "--server-side", "--field-manager=other", "-f", "-", stdin=other, code=None)
    assert shown.returncode == 0, shown.stdout


def test_discovery_explain_and_rights(kubectl: Kubectl) -> None:
    resources = kubectl("api-resources", "--api-group=resource.k8s.io", "-o", "name").stdout.split()
    assert "resourceclaims.resource.k8s.io" in resources
    assert "resourceClaimTemplateName" in kubectl("explain", "pod.spec.resourceClaims").stdout
    assert kubectl("auth", "can-i", "create", "pods").stdout.strip() == "yes"
    assert "kubernetes-admin" in kubectl("auth", "whoami").stdout
    assert kubectl("create", "token", "default").stdout.strip()


def test_namespaces_and_custom_resources(kubectl: Kubectl) -> None:
    kubectl("create", "namespace", "team")
    kubectl("create", "configmap", "a", "--from-literal=k=v", "-n", "team")
    crd = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
"""
    kubectl("apply", "-f", "-", stdin=crd)
    kubectl("wait", "--for=condition=Established", "crd/widgets.example.com", "--timeout=60s")
    widget = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w, namespace: team}\nspec: {size: 1}\n"
    assert "widget.example.com/w created" in kubectl("apply", "-f", "-", stdin=widget).stdout
    assert "size" in kubectl("explain", "widget.spec").stdout
    bad = kubectl("apply", "-f", "-", stdin=widget.replace("size: 1", "size: big"), code=1)
    assert "must be of type integer" in bad.stderr
    assert 'namespace "team" deleted' in kubectl("delete", "namespace", "team", "--timeout=60s").stdout
    assert "NotFound" in kubectl("get", "namespace", "team", code=1).stderr
