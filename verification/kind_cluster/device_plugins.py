"""Nodes that offer their GPUs by the reference device plugin or by DRA: the node's label decides which program runs.

A DeviceClass has the name of the resource, so that pods with `nvidia.com/gpu` fit on both kinds of nodes.
"""

from __future__ import annotations

import json

from deploy.manifests.node_plugins import driver
from deploy.manifests.parts import NAMESPACE
from verification.kind_cluster import pods
from verification.kind_cluster.cluster import Cluster
from verification.kind_cluster.nodes import DRIVER, rolled_out

LABEL = "example.com/gpus"
PLUGIN, DRA = "device-plugin", "dra"
RESOURCE = "nvidia.com/gpu"
_CLASS = "gpu.nvidia.com"


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
