"""The manifests, from the permission table, the CRDs and the DeviceClasses of the suite. Pure functions of them.

Each file is complete for one component; `kubectl apply -f deploy/kubernetes` installs all of them. Files in `optional`
replace controllers that a cluster has already, or have settings that not every cluster needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from deploy.manifests import webhook
from deploy.manifests.parts import (
    HEADER,
    IMAGE,
    LOCKED,
    NAMESPACE,
    TEMPORARY,
    object_of,
    pod_of,
    resources,
    text_of,
    workload,
)
from dra_api.objects import Obj
from dra_conformance.core import assets
from dra_conformance.rbac.roles import rules
from dra_conformance.rbac.table import needed

INVENTORIES = "fake-gpus"
"""The ConfigMap with the inventories of the nodes."""

_GPUS = "/var/lib/dra-conformance"
_PLUGINS, _REGISTRY, _CDI = "/var/lib/kubelet/plugins", "/var/lib/kubelet/plugins_registry", "/var/run/cdi"
_HEALTH_PORT = 51515
_SCHEDULER = "kai-scheduler"
_CLIENT = """\
import glob
import pynvml as nvml

print("files:", *sorted(glob.glob("/dev/nvidia[0-9]*") + glob.glob("/dev/nvidia-caps/*")))
nvml.nvmlInit()
for index in range(nvml.nvmlDeviceGetCount()):
    gpu = nvml.nvmlDeviceGetHandleByIndex(index)
    print("GPU:", nvml.nvmlDeviceGetUUID(gpu), nvml.nvmlDeviceGetName(gpu))
    for number in range(nvml.nvmlDeviceGetMaxMigDeviceCount(gpu)):
        try:
            device = nvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, number)
        except nvml.NVMLError_NotFound:
            break
        print("MIG device:", nvml.nvmlDeviceGetUUID(device), nvml.nvmlDeviceGetName(device))
"""


def files() -> Iterator[tuple[str, str]]:
    """Yield path and content of every file."""
    for name, objects in (
        ("00-namespace.yaml", [object_of("v1", "Namespace", NAMESPACE, namespace="")]),
        ("10-crds.yaml", list(_read("crds", "bindrequests", "podgroups"))),
        ("20-deviceclasses.yaml", list(_read("deviceclasses", "gpu.nvidia.com", "mig.nvidia.com"))),
        ("30-fake-gpus.yaml", [fake_gpus("dgx-h100-mig")]),
        ("40-driver.yaml", driver()),
        ("50-scheduler.yaml", deployment("scheduler", ["--scheduler-name", _SCHEDULER, "--publish", "bind-request"])),
        ("60-binder.yaml", deployment("binder", [])),
        ("70-network-policies.yaml", [closed_to_others()]),
        ("optional/claim-controller.yaml", deployment("claim-controller", [])),
        ("optional/taint-eviction.yaml", deployment("taint-eviction", [])),
        ("optional/webhook.yaml", webhook.objects()),
        ("examples/gpu-pod.yaml", example("gpu-pod", template="one-gpu", device_class="gpu.nvidia.com")),
        ("examples/mig-pod.yaml", example("mig-pod", template="one-mig-device", device_class="mig.nvidia.com")),
    ):
        yield name, HEADER + text_of(objects)


def fake_gpus(inventory: str) -> Obj:
    """Return the ConfigMap of the inventories: one for all nodes. A key `<node>.yaml` is for one node."""
    made = object_of("v1", "ConfigMap", INVENTORIES)
    return {**made, "data": {"default.yaml": inventory}}


def driver() -> list[Obj]:
    """Return the DaemonSet of the reference driver with its account and role.

    It runs as root: the kubelet's folders belong to root. It has no capability; only the container that makes the
    device files of the fake GPUs may make device files.
    """
    name = "gpu-kubelet-plugin"
    mounts = [
        {"name": "plugins", "mountPath": _PLUGINS},
        {"name": "registry", "mountPath": _REGISTRY},
        {"name": "cdi", "mountPath": _CDI},
        # At the same path as on the node: CDI specifications name the files as the container runtime sees them.
        {"name": "gpus", "mountPath": _GPUS},
        {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - inside the container
    ]
    root = {"runAsUser": 0, "runAsGroup": 0, **LOCKED}
    node_name = {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    make_gpus = {
        "name": "fake-gpus",
        "image": IMAGE,
        "args": [
            "fake_nvml",
            "provision",
            f"{_GPUS}/node",
            "--machine",
            "$(NODE_NAME)",
            "--inventories",
            "/inventories",
        ],
        "env": [node_name],
        "securityContext": {**root, "capabilities": {"drop": ["ALL"], "add": ["MKNOD"]}},
        "resources": resources("50m", "128Mi"),
        "volumeMounts": [*mounts[3:], {"name": "inventories", "mountPath": "/inventories", "readOnly": True}],
    }
    driver_root = f"{_GPUS}/node/driver"
    plugin = {
        "name": "plugin",
        "image": IMAGE,
        "args": [
            *("reference_impl", "kubelet-plugin", "--in-cluster", "--node-name", "$(NODE_NAME)", "-v"),
            *("--kubelet-plugins-directory-path", _PLUGINS),
            *("--kubelet-registrar-directory-path", _REGISTRY),
            *("--cdi-root", _CDI, "--container-driver-root", driver_root),
            *("--healthcheck-port", str(_HEALTH_PORT)),
        ],
        "env": [node_name, {"name": "LD_LIBRARY_PATH", "value": f"{driver_root}/usr/lib64"}],
        "securityContext": root,
        "resources": resources("50m", "256Mi"),
        "startupProbe": {**_grpc_probe("liveness"), "failureThreshold": 60, "periodSeconds": 2},
        "livenessProbe": {**_grpc_probe("liveness"), "failureThreshold": 3, "periodSeconds": 10},
        "volumeMounts": mounts,
    }
    pod = {
        "serviceAccountName": name,
        "priorityClassName": "system-node-critical",
        "initContainers": [make_gpus],
        "containers": [plugin],
        "volumes": [
            _host("plugins", _PLUGINS),
            _host("registry", _REGISTRY),
            _host("cdi", _CDI),
            _host("gpus", _GPUS),
            {"name": "inventories", "configMap": {"name": INVENTORIES}},
            TEMPORARY,
        ],
    }
    return [*account("driver", name), {**object_of("apps/v1", "DaemonSet", name), "spec": workload(name, pod)}]


def deployment(component: str, arguments: Sequence[str]) -> list[Obj]:
    """Return the Deployment of a component with its account and role. It runs without root and writes nothing."""
    name = f"reference-{component}"
    pod = pod_of(component, ["--in-cluster", *arguments], account=name)
    spec = {
        "replicas": 1,
        # The components elect no leader: two at a time would do the work of one twice.
        "strategy": {"type": "Recreate"},
        **workload(name, pod),
    }
    return [*account(component, name), {**object_of("apps/v1", "Deployment", name), "spec": spec}]


def account(role: str, name: str) -> list[Obj]:
    """Return a service account, and the ClusterRole of a role of the permission table bound to it."""
    full = f"{NAMESPACE}-{name}"
    group = "rbac.authorization.k8s.io"
    return [
        object_of("v1", "ServiceAccount", name),
        {**object_of(f"{group}/v1", "ClusterRole", full, namespace=""), "rules": rules(needed([role]))},
        {
            **object_of(f"{group}/v1", "ClusterRoleBinding", full, namespace=""),
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": full},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}],
        },
    ]


def example(name: str, *, template: str, device_class: str) -> list[Obj]:
    """Return a pod with one device of a ResourceClaimTemplate, scheduled by the reference scheduler and binder.

    It prints what an unmodified NVML client sees.
    """
    request = {"name": "gpu", "exactly": {"deviceClassName": device_class, "count": 1}}
    claim = object_of("resource.k8s.io/v1", "ResourceClaimTemplate", template, namespace="default")
    pod = {
        **object_of("v1", "Pod", name, namespace="default"),
        "spec": {
            "schedulerName": _SCHEDULER,
            "restartPolicy": "Never",
            "containers": [
                {
                    "name": "main",
                    "image": IMAGE,
                    "command": ["/usr/bin/python3", "-c", _CLIENT],
                    "resources": {"claims": [{"name": "gpu"}]},
                }
            ],
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": template}],
        },
    }
    return [{**claim, "spec": {"spec": {"devices": {"requests": [request]}}}}, pod]


def closed_to_others() -> Obj:
    """Return the policy that no other pod connects to the components: none serves any, except the webhook.

    Probes come from the node of a pod, which policies never block.
    """
    policy = object_of("networking.k8s.io/v1", "NetworkPolicy", "no-ingress")
    return {**policy, "spec": {"podSelector": {}, "policyTypes": ["Ingress"]}}


def write(folder: Path) -> list[Path]:
    """Write all files below `folder` and return those that changed."""
    changed = []
    for name, content in files():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
            changed.append(path)
    return changed


def _read(folder: str, *names: str) -> Iterator[Obj]:
    for name in names:
        path = assets.fixtures() / folder / f"{name}.yaml"
        yield from yaml.safe_load_all(path.read_text(encoding="utf-8"))


def _grpc_probe(service: str) -> Obj:
    return {"grpc": {"port": _HEALTH_PORT, "service": service}, "timeoutSeconds": 10}


def _host(name: str, path: str) -> Obj:
    return {"name": name, "hostPath": {"path": path, "type": "DirectoryOrCreate"}}
