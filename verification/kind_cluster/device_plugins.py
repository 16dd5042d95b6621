"""The move from a device plugin to DRA with real pods: nodes change one by one while pods use their GPUs, and back.

The pods request `nvidia.com/gpu` throughout. The node's label decides which of the two programs its DaemonSet starts
there; a DeviceClass has the name of the resource, so that kube-scheduler makes claims on nodes with DRA.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence

from deploy.manifests.node_plugins import driver
from deploy.manifests.parts import NAMESPACE
from verification.kind_cluster import pods
from verification.kind_cluster.cluster import READY, Cluster
from verification.kind_cluster.nodes import DRIVER, drain, node_ready, rolled_out

LABEL = "example.com/gpus"
PLUGIN, DRA = "device-plugin", "dra"
RESOURCE = "nvidia.com/gpu"
_PODS, _COUNT, _GPUS = "moving", 6, 7
_CLASS = "gpu.nvidia.com"
_CHECKPOINT = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint"


def look(cluster: Cluster) -> Iterator[str]:
    """Move both workers to DRA and one back; yield what is not as expected. Raises AssertionError."""
    install(cluster)
    first, second = cluster.workers
    for node in (first, second):
        offer(cluster, node, PLUGIN, gpus=_GPUS)
    spec = pods.waiting(limits={RESOURCE: "1"}, scheduler="default-scheduler")
    cluster.apply_objects([pods.deployment(_PODS, spec, replicas=_COUNT)])
    yield from _check(cluster, "with device plugins", by_claim=set())
    for node, kind, by_claim in (
        (first, DRA, {first}),
        (second, DRA, {first, second}),
        (first, PLUGIN, {second}),
    ):
        drain(cluster, node)
        offer(cluster, node, kind, gpus=_GPUS)
        if kind == DRA:
            _forget_plugin(cluster, node)
        cluster.kubectl("uncordon", node)
        yield from _check(cluster, f"after {node} moved to {kind}", by_claim=by_claim)
    # Pods come to the moved nodes, too, when those of the other node go.
    drain(cluster, second)
    yield from _check(cluster, f"without {second}", by_claim={second})
    cluster.kubectl("uncordon", second)
    cluster.kubectl("delete", "deployment", _PODS, "--cascade=foreground", "--wait=true", timeout=READY)


def _forget_plugin(cluster: Cluster, node: str) -> None:
    """Let the kubelet of a drained node, and the Node, forget the plugin that has gone.

    Until kubernetes/kubernetes#141426, merged after 1.37.2, it looks for devices of the plugin for a container whose
    extended resource a claim serves, also after a restart, because its checkpoint has the resource (DP-116). Without
    the checkpoint it reports the capacity that the Node has as allocatable (DP-048), and kube-scheduler makes no claim.
    """
    cluster.on_node(node, "systemctl", "stop", "kubelet")
    cluster.on_node(node, "rm", "--force", _CHECKPOINT)
    gone = json.dumps({"status": {name: {RESOURCE: None} for name in ("capacity", "allocatable")}})
    cluster.kubectl("patch", "node", node, "--subresource=status", "--type=merge", "--patch", gone)
    cluster.on_node(node, "systemctl", "start", "kubelet")
    node_ready(cluster, node)


def install(cluster: Cluster) -> None:
    """Let labels decide which nodes have the driver and which the device plugin, and give the class the resource."""
    for node in cluster.workers:
        cluster.kubectl("label", "--overwrite", "node", node, f"{LABEL}={DRA}")
    selector = {"spec": {"template": {"spec": {"nodeSelector": {LABEL: DRA}}}}}
    cluster.kubectl(
        "--namespace", NAMESPACE, "patch", "daemonset", "gpu-kubelet-plugin", "--patch", json.dumps(selector)
    )
    rolled_out(cluster, "daemonset/gpu-kubelet-plugin")
    (daemon_set,) = [each for each in driver() if each["kind"] == "DaemonSet"]
    cluster.apply_objects([pods.device_plugin(daemon_set, node_labels={LABEL: PLUGIN})])
    cluster.kubectl(
        "patch",
        "deviceclass",
        _CLASS,
        "--type=merge",
        "--patch",
        json.dumps({"spec": {"extendedResourceName": RESOURCE}}),
    )


def offer(cluster: Cluster, node: str, kind: str, *, gpus: int = 0) -> None:
    """Let a node offer its GPUs by its device plugin or by DRA, and wait until it does and the other side has ended."""
    cluster.kubectl("label", "--overwrite", "node", node, f"{LABEL}={kind}")
    expected = (gpus, False) if kind == PLUGIN else (0, True)
    cluster.wait(f"{node} offers its GPUs by {kind}", lambda: _offered(cluster, node) == expected)


def _offered(cluster: Cluster, node: str) -> tuple[int, bool | None]:
    """Return how many GPUs a device plugin offers on the node, and whether the driver does; None in between.

    The kubelet deletes the ResourceSlices of a driver half a minute after the driver has ended.
    """
    found = cluster.get("node", node) or {}
    allocatable = found.get("status", {}).get("allocatable", {}).get(RESOURCE, "0")
    words = ("--namespace", NAMESPACE, "--selector", "app.kubernetes.io/name=gpu-kubelet-plugin")
    running = [one for one in cluster.items("pods", *words) if one["spec"].get("nodeName") == node]
    published = any(
        one["spec"]["driver"] == DRIVER and one["spec"].get("nodeName") == node
        for one in cluster.items("resourceslices")
    )
    return int(allocatable), published if published == bool(running) else None


def _check(cluster: Cluster, when: str, *, by_claim: set[str]) -> Iterator[str]:
    """Check the pods once they run: one GPU each, none twice; a claim exactly on nodes with DRA."""
    found = cluster.wait(f"{when} all pods run", lambda: pods.running(cluster, _PODS, count=_COUNT))
    if wrong := [one for one in found if len(one.gpus) != 1 or len(one.files) != 1]:
        yield f"{when} pods do not see one GPU: {wrong}"
    if twice := given_twice(found):
        yield f"{when} GPUs are given out twice: {twice}"
    claims = cluster.items("resourceclaims", "--namespace", pods.NAMESPACE)
    users = {user["name"] for claim in claims for user in claim.get("status", {}).get("reservedFor", ())}
    expected = {one.pod for one in found if one.node in by_claim}
    if users & {one.pod for one in found} != expected:
        yield f"{when} the pods {sorted(users)} have claims, not {sorted(expected)}"
    print(f"kind: {when}: {sorted((one.node.rpartition('-')[2], one.pod in users) for one in found)}", flush=True)


def given_twice(found: Sequence[pods.Shown]) -> list[tuple[str, str]]:
    """Return node and UUID of each GPU that more than one pod sees."""
    seen = Counter((one.node, gpu) for one in found for gpu in one.gpus)
    return sorted(place for place, count in seen.items() if count > 1)
