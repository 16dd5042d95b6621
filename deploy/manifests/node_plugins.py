"""The kubelet plugins of the reference drivers: DaemonSets that share the fake GPUs of a node.

They run as root: the kubelet's folders belong to root. They have no capability; only the container that makes the
device files of the fake GPUs may make device files.
"""

from __future__ import annotations

from collections.abc import Sequence

from deploy.manifests.parts import IMAGE, NAMESPACE, PULL, TEMPORARY, account, object_of, resources, workload
from dra_api.objects import Obj
from dra_conformance.rbac.job import LOCKED

INVENTORIES = "fake-gpus"
"""The ConfigMap with the inventories of the nodes."""

IMEX = ("--imex-mode", "driverManaged", "--imex-isolation", "domain")
"""The options of the ComputeDomain programs about who runs IMEX daemons."""
FOLDER = "/var/lib/dra-conformance"
"""The folder of a node for its fake GPUs."""
PLUGINS, REGISTRY = "/var/lib/kubelet/plugins", "/var/lib/kubelet/plugins_registry"
_CDI = "/var/run/cdi"
_DRIVER_ROOT = f"{FOLDER}/node/driver"
_HEALTH_PORT = 51515
_ROOT: Obj = {"runAsUser": 0, "runAsGroup": 0, **LOCKED}
_NODE_NAME: Obj = {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
# At the same path as on the node: CDI specifications name the files as the container runtime sees them.
_MOUNT_GPUS: Obj = {"name": "gpus", "mountPath": FOLDER}
_MOUNT_TEMPORARY: Obj = {"name": "tmp", "mountPath": "/tmp"}  # noqa: S108 - inside the container


def driver() -> list[Obj]:
    """Return the DaemonSet of the reference driver with its account and role. It makes the node's fake GPUs."""
    make_gpus = {
        "name": "fake-gpus",
        "image": IMAGE,
        "imagePullPolicy": PULL,
        "args": [
            *("fake_nvml", "provision", f"{FOLDER}/node"),
            *("--machine", "$(NODE_NAME)", "--inventories", "/inventories"),
        ],
        "env": [_NODE_NAME],
        "securityContext": {**_ROOT, "capabilities": {"drop": ["ALL"], "add": ["MKNOD"]}},
        "resources": resources("50m", "128Mi"),
        "volumeMounts": [
            _MOUNT_GPUS,
            _MOUNT_TEMPORARY,
            {"name": "inventories", "mountPath": "/inventories", "readOnly": True},
        ],
    }
    name = "gpu-kubelet-plugin"
    pod = _pod(name, _plugin("kubelet-plugin"))
    pod["initContainers"] = [make_gpus]
    pod["volumes"] = [*pod["volumes"], {"name": "inventories", "configMap": {"name": INVENTORIES}}]
    return [*account("driver", name), _daemon_set(name, pod)]


def compute_domain_plugin() -> list[Obj]:
    """Return the DaemonSet of the ComputeDomain plugin with its account and role.

    It reads the fake GPUs that the driver's pod makes, and restarts until they are there.
    """
    name = "compute-domain-kubelet-plugin"
    plugin = _plugin("compute-domain-plugin", "--namespace", NAMESPACE, "--gpu-clique-label-enabled", *IMEX)
    return [
        *account("compute-domain-plugin", name, own=("computedomaincliques",)),
        _daemon_set(name, _pod(name, plugin)),
    ]


def _plugin(component: str, *arguments: str) -> Obj:
    return {
        "name": "plugin",
        "image": IMAGE,
        "imagePullPolicy": PULL,
        "args": [
            *("reference_impl", component, "--in-cluster", "--node-name", "$(NODE_NAME)", "-v"),
            *("--kubelet-plugins-directory-path", PLUGINS),
            *("--kubelet-registrar-directory-path", REGISTRY),
            *("--cdi-root", _CDI, "--container-driver-root", _DRIVER_ROOT),
            *("--healthcheck-port", str(_HEALTH_PORT)),
            *arguments,
        ],
        "env": [_NODE_NAME, {"name": "LD_LIBRARY_PATH", "value": f"{_DRIVER_ROOT}/usr/lib64"}],
        "securityContext": _ROOT,
        "resources": resources("50m", "256Mi"),
        "startupProbe": {**_probe(), "failureThreshold": 60, "periodSeconds": 2},
        "livenessProbe": {**_probe(), "failureThreshold": 3, "periodSeconds": 10},
        "volumeMounts": [
            {"name": "plugins", "mountPath": PLUGINS},
            {"name": "registry", "mountPath": REGISTRY},
            {"name": "cdi", "mountPath": _CDI},
            _MOUNT_GPUS,
            _MOUNT_TEMPORARY,
        ],
    }


def _pod(name: str, plugin: Obj) -> Obj:
    return {
        "serviceAccountName": name,
        "priorityClassName": "system-node-critical",
        "containers": [plugin],
        "volumes": [*_volumes(), TEMPORARY],
    }


def _volumes() -> Sequence[Obj]:
    paths = {"plugins": PLUGINS, "registry": REGISTRY, "cdi": _CDI, "gpus": FOLDER}
    return [{"name": name, "hostPath": {"path": path, "type": "DirectoryOrCreate"}} for name, path in paths.items()]


def _daemon_set(name: str, pod: Obj) -> Obj:
    return {**object_of("apps/v1", "DaemonSet", name), "spec": workload(name, pod)}


def _probe() -> Obj:
    return {"grpc": {"port": _HEALTH_PORT, "service": "liveness"}, "timeoutSeconds": 10}
