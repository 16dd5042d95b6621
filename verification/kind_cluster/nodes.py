"""What happens to nodes while a pod has a GPU: an upgrade of the driver, a kubelet that restarts, a reboot, a drain.

A reboot is a restart of the node's container: processes, mounts and /run are new, and the disk stays. The kernel, and
with it the boot id, is the machine's.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from deploy.manifests.parts import NAMESPACE
from dra_conformance.control_plane.kind import programs
from verification.kind_cluster import pods
from verification.kind_cluster.cluster import READY, Cluster, call

DRIVER = "gpu.nvidia.com"
DRIVER_SET = "daemonset/gpu-kubelet-plugin"
_CDI = "/var/run/cdi"
_POD, _NEXT, _DRAINED = "held", "next", "moved"
_CLAIMS = {"gpu": "one-gpu"}


def look(cluster: Cluster) -> Iterator[str]:
    """Yield what is not as expected on a cluster with the manifests and their examples. It is left as it was."""
    node = cluster.workers[0]
    cluster.apply_objects([pods.pod(_POD, pods.waiting(claims=_CLAIMS, node=node))])
    (held,) = cluster.wait("the pod has its GPU", lambda: pods.running(cluster, _POD))
    for what, change in (("roll-out", _roll_out), ("restart of the kubelet", _restart_kubelet), ("reboot", _reboot)):
        before = _devices(cluster)
        change(cluster, node)
        wanted = f"after the {what} the devices are published"
        cluster.wait(wanted, functools.partial(_published, cluster, before))
        (after,) = cluster.wait(f"after the {what} the pod runs", lambda: pods.running(cluster, _POD))
        if after.gpus != held.gpus:
            yield f"after the {what} the pod sees {after.gpus}, before {held.gpus}"
        if (after.container == held.container) == (change is _reboot):
            yield f"the container of the pod {'was not' if change is _reboot else 'was'} replaced by the {what}"
        yield from _next(cluster, node, held, what)
        held = after
    _end(cluster, _POD)
    yield from _unprepared(cluster, node, "the pods ended")
    yield from _drain(cluster, node)


def _roll_out(cluster: Cluster, _: str) -> None:
    """Replace the pods of the driver, as an upgrade does."""
    cluster.kubectl("--namespace", NAMESPACE, "rollout", "restart", DRIVER_SET)
    rolled_out(cluster, DRIVER_SET)


def rolled_out(cluster: Cluster, workload: str) -> None:
    """Wait until all pods of a workload are the new ones, and ready."""
    words = ("rollout", "status", workload, f"--timeout={READY:.0f}s")
    cluster.kubectl("--namespace", NAMESPACE, *words, timeout=READY + 30)


def _restart_kubelet(cluster: Cluster, node: str) -> None:
    cluster.on_node(node, "systemctl", "restart", "kubelet")
    node_ready(cluster, node)


def _reboot(cluster: Cluster, node: str) -> None:
    before = _booted(cluster, node)
    call([programs.DOCKER, "restart", node], timeout=READY)
    cluster.wait(f"{node} has started its pods again", lambda: _booted(cluster, node) not in ((), before))
    node_ready(cluster, node)
    rolled_out(cluster, DRIVER_SET)


def _booted(cluster: Cluster, node: str) -> tuple[str, ...]:
    """Return the containers of the driver's pod on a node, which a reboot replaces."""
    found = cluster.items("pods", "--namespace", NAMESPACE, "--field-selector", f"spec.nodeName={node}")
    statuses = [one for each in found for one in each["status"].get("containerStatuses", ()) if one["name"] == "plugin"]
    return tuple(sorted(one.get("containerID", "") for one in statuses if one["ready"]))


def node_ready(cluster: Cluster, node: str) -> None:
    """Wait until a node is ready."""
    cluster.kubectl("wait", "--for=condition=Ready", f"node/{node}", f"--timeout={READY:.0f}s", timeout=READY + 30)


def _next(cluster: Cluster, node: str, held: pods.Shown, what: str) -> Iterator[str]:
    """A pod that comes afterwards gets another GPU, and gives it back."""
    cluster.apply_objects([pods.pod(_NEXT, pods.waiting(claims=_CLAIMS, node=node))])
    (found,) = cluster.wait(f"after the {what} a pod gets a GPU", lambda: pods.running(cluster, _NEXT))
    if len(found.gpus) != 1 or found.gpus == held.gpus:
        yield f"after the {what} a pod sees {found.gpus}, and the one before {held.gpus}"
    _end(cluster, _NEXT)


def _end(cluster: Cluster, name: str) -> None:
    cluster.kubectl("delete", "pod", name, "--wait=true", timeout=READY)
    cluster.wait(
        "the claim of the pod is deleted",
        lambda: not [each for each in cluster.items("resourceclaims") if each["metadata"]["name"].startswith(name)],
    )


def _unprepared(cluster: Cluster, node: str, when: str) -> Iterator[str]:
    """No claim of the driver is prepared on the node any more: it has no CDI file for one."""
    left = [name for name in cluster.on_node(node, "ls", _CDI).split() if "claim" in name]
    if left:
        yield f"{when}, and {node} has the CDI files {left}"


def _drain(cluster: Cluster, node: str) -> Iterator[str]:
    """A drained pod gets a GPU of the other node, and the drained node has no claim prepared."""
    (other,) = [name for name in cluster.workers if name != node]
    cluster.kubectl("cordon", other)
    cluster.apply_objects([pods.deployment(_DRAINED, pods.waiting(claims=_CLAIMS), replicas=1)])
    try:
        cluster.wait("the pod of the Deployment has its GPU", lambda: pods.running(cluster, _DRAINED))
    finally:
        cluster.kubectl("uncordon", other)
    drain(cluster, node)
    (moved,) = cluster.wait("the drained pod has a GPU again", lambda: pods.running(cluster, _DRAINED))
    if moved.node != other or len(moved.gpus) != 1:
        yield f"the drained pod runs on {moved.node} and sees {moved.gpus}"
    yield from _unprepared(cluster, node, f"{node} is drained")
    cluster.kubectl("uncordon", node)
    cluster.kubectl("delete", "deployment", _DRAINED, "--cascade=foreground", "--wait=true", timeout=READY)


def drain(cluster: Cluster, node: str) -> None:
    """Cordon a node and evict its pods, except those of DaemonSets."""
    words = ("--ignore-daemonsets", "--delete-emptydir-data", "--force", f"--timeout={READY:.0f}s")
    cluster.kubectl("drain", node, *words, timeout=READY + 30)


def _published(cluster: Cluster, devices: dict[str, list[Any]]) -> bool:
    return _devices(cluster) == devices


def _devices(cluster: Cluster) -> dict[str, list[Any]]:
    """Return the published devices by node, with what names them."""
    found: dict[str, list[Any]] = {}
    for each in cluster.items("resourceslices"):
        if each["spec"]["driver"] == DRIVER:
            names = [(one["name"], one["attributes"].get("uuid")) for one in each["spec"].get("devices", ())]
            found.setdefault(each["spec"]["nodeName"], []).extend(names)
    return {node: sorted(names, key=str) for node, names in found.items()}
