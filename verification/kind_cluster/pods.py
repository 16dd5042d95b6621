"""Pods of the checks: one that prints what it sees and waits, the reference device plugin, and what pods printed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deploy.manifests.parts import IMAGE, NAME_LABEL, PULL, TEMPORARY, object_of, workload
from deploy.manifests.render import CLIENT, SCHEDULER
from dra_api.objects import Obj
from verification.kind_cluster.cluster import Cluster

NAMESPACE = "default"
# Process 1 ignores signals that it does not wait for, so pods would end with their grace period only.
_WAITING = f"""\
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, {{signal.SIGTERM}})
{CLIENT}
print("channels:", *sorted(glob.glob("/dev/nvidia-caps-imex-channels/*")), flush=True)
"""
_TO_THE_END = "signal.sigwait({signal.SIGTERM})\n"
_HOST = "kubernetes.io/hostname"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What one container sees: UUIDs of GPUs by NVML, device files of GPUs, and files of IMEX channels."""

    pod: str
    node: str
    gpus: tuple[str, ...]
    files: tuple[str, ...]
    channels: tuple[str, ...]
    container: str


def waiting(
    *,
    claims: Mapping[str, str] | None = None,
    limits: Mapping[str, str] | None = None,
    node: str = "",
    ends: bool = False,
    scheduler: str = SCHEDULER,
) -> Obj:
    """Return the spec of a pod that prints what NVML and its device files show, and then waits for SIGTERM.

    Args:
        claims: ResourceClaimTemplates by the name in the pod.
        limits: extended resources.
        node: the only node where it can run.
        ends: do not wait.
        scheduler: the name of its scheduler.
    """
    claims = claims or {}
    resources: Obj = {"claims": [{"name": name} for name in claims]} if claims else {}
    if limits:
        resources["limits"] = dict(limits)
    program = _WAITING if ends else _WAITING + _TO_THE_END
    spec: Obj = {
        "schedulerName": scheduler,
        "restartPolicy": "Never" if ends else "Always",
        "terminationGracePeriodSeconds": 10,
        "containers": [
            {"name": "main", "image": IMAGE, "command": ["/usr/bin/python3", "-c", program], "resources": resources}
        ],
        "resourceClaims": [{"name": name, "resourceClaimTemplateName": claim} for name, claim in claims.items()],
    }
    if node:
        spec["nodeSelector"] = {_HOST: node}
    return spec


def pod(name: str, spec: Obj) -> Obj:
    """Return a pod."""
    return {**object_of("v1", "Pod", name, namespace=NAMESPACE), "spec": spec}


def deployment(name: str, spec: Obj, *, replicas: int) -> Obj:
    """Return a Deployment of such pods."""
    made = object_of("apps/v1", "Deployment", name, namespace=NAMESPACE)
    # A pod that is replaced gives its GPU back first.
    return {**made, "spec": {"replicas": replicas, "strategy": {"type": "Recreate"}, **workload(name, spec)}}


def device_plugin(driver: Obj, *, node_labels: Mapping[str, str]) -> Obj:
    """Return the DaemonSet of the reference device plugin, made of the one of the reference driver.

    It offers the fake GPUs that the driver's pod made on the node, on nodes with these labels.
    """
    template = driver["spec"]["template"]["spec"]
    plugin = template["containers"][0]
    folder = "/var/lib/kubelet/device-plugins"
    words: Sequence[str] = plugin["args"]
    roots = ("--cdi-root", "--container-driver-root")
    kept = [word for name in roots for word in (name, words[words.index(name) + 1])]
    shared = [mount for mount in plugin["volumeMounts"] if mount["name"] in ("cdi", "gpus", "tmp")]
    container = {
        "name": "plugin",
        "image": IMAGE,
        "imagePullPolicy": PULL,
        "args": ["reference_impl", "device-plugin", "-v", "--mig-strategy", "mixed", *kept],
        "env": plugin["env"],
        "securityContext": plugin["securityContext"],
        "volumeMounts": [{"name": "kubelet", "mountPath": folder}, *shared],
    }
    paths = {"kubelet": folder, "cdi": "/var/run/cdi", "gpus": "/var/lib/dra-conformance"}
    spec = {
        "nodeSelector": dict(node_labels),
        "containers": [container],
        "volumes": [*({"name": name, "hostPath": {"path": path}} for name, path in paths.items()), TEMPORARY],
    }
    made = object_of("apps/v1", "DaemonSet", "gpu-device-plugin")
    return {**made, "spec": workload("gpu-device-plugin", spec)}


def running(cluster: Cluster, name: str, *, count: int = 1) -> list[Shown] | None:
    """Return what the ready pods with this label or name printed, if there are so many and none is being deleted."""
    pods = [each for each in cluster.items("pods", "--namespace", NAMESPACE) if _belongs(each, name)]
    ready = [each for each in pods if _ready(each)]
    if len(pods) != count or len(ready) != count:
        return None
    shown = [shown_by(cluster, each) for each in ready]
    return None if None in shown else [one for one in shown if one is not None]


def shown_by(cluster: Cluster, found: Mapping[str, Any]) -> Shown | None:
    """Return what the container of a pod printed when it started; None until it has printed everything."""
    name = found["metadata"]["name"]
    try:
        logs = cluster.kubectl("logs", "--namespace", NAMESPACE, name)
    except AssertionError:  # its kubelet does not serve, or has no container yet
        return None
    if not re.search(r"^channels:.*\n", logs, re.MULTILINE):
        return None
    return Shown(
        pod=name,
        node=found["spec"]["nodeName"],
        gpus=tuple(re.findall(r"^GPU: (\S+)", logs, re.MULTILINE)),
        files=tuple(re.findall(r"/dev/nvidia\d+", logs)),
        channels=tuple(re.findall(r"/dev/nvidia-caps-imex-channels/\S+", logs)),
        container=found["status"]["containerStatuses"][0].get("containerID", ""),
    )


def _belongs(found: Mapping[str, Any], name: str) -> bool:
    metadata = found["metadata"]
    return name in (metadata["name"], metadata.get("labels", {}).get(NAME_LABEL))


def _ready(found: Mapping[str, Any]) -> bool:
    conditions = {one["type"]: one["status"] for one in found["status"].get("conditions", ())}
    return "deletionTimestamp" not in found["metadata"] and conditions.get("Ready") == "True"
