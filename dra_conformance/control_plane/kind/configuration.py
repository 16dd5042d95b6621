"""The configuration of a kind cluster for a run. Pure functions.

Source: sigs.k8s.io/kind v0.33.0, pkg/apis/config/v1alpha4; kubeadm.k8s.io/v1beta4.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import yaml

from dra_conformance.control_plane.binaries.flags import COMPONENT_CONTROLLERS, served_versions

SCHEDULER_MANIFEST = "/etc/kubernetes/manifests/kube-scheduler.yaml"
"""The static pod of kube-scheduler on the control plane's node; without the file the kubelet stops the pod."""


def cluster(
    *,
    image: str,
    workers: int,
    feature_gates: Mapping[str, bool],
    runtime_config: Mapping[str, bool],
    foreign_components: Collection[str],
) -> str:
    """Return the configuration as YAML.

    Arguments:
        image: the node image.
        workers: the number of nodes beside the one of the control plane.
        feature_gates: for every program of Kubernetes.
        runtime_config: served versions of resource.k8s.io; by default all.
        foreign_components: components with another implementation in this run; their controllers are off.
    """
    served = served_versions(feature_gates, runtime_config)
    document: dict[str, Any] = {
        "kind": "Cluster",
        "apiVersion": "kind.x-k8s.io/v1alpha4",
        "nodes": [{"role": "control-plane", "image": image}, *({"role": "worker", "image": image},) * workers],
        # Packet filters of Debian's node image and of kind's own have nftables; iptables depends on the kernel.
        "networking": {"kubeProxyMode": "nftables"},
        "runtimeConfig": {name: str(on).lower() for name, on in sorted(served.items())},
        "kubeadmConfigPatches": [
            _programs(feature_gates, foreign_components),
            # No scenario needs names of services, and a node image without CoreDNS would try to pull it.
            yaml.safe_dump({"kind": "InitConfiguration", "skipPhases": ["preflight", "addon/coredns"]}),
            # A kubelet refuses cgroup version 1 by default; Docker's host may have it.
            yaml.safe_dump({"kind": "KubeletConfiguration", "failCgroupV1": False}),
        ],
    }
    if feature_gates:
        document["featureGates"] = dict(sorted(feature_gates.items()))
    return yaml.dump(document, Dumper=_Plain, sort_keys=False)


def _programs(feature_gates: Mapping[str, bool], foreign_components: Collection[str]) -> str:
    """Return the patch for kube-controller-manager and kube-scheduler. It replaces kind's own lists of arguments."""
    joined = ",".join(f"{name}={str(on).lower()}" for name, on in sorted(feature_gates.items()))
    common = {"feature-gates": joined} if joined else {}
    controllers = {
        # Nodes of scenarios have no kubelet that renews leases; they must not become NotReady.
        "node-monitor-grace-period": "24h",
        # The defaults (20 and 30) would make scenarios wait for the client's own limit.
        "kube-api-qps": "500",
        "kube-api-burst": "1000",
        **common,
    }
    off = sorted(f"-{COMPONENT_CONTROLLERS[name]}" for name in foreign_components if name in COMPONENT_CONTROLLERS)
    if off:  # kubeadm's own list, and without these
        controllers["controllers"] = ",".join(["*", "bootstrap-signer-controller", "token-cleaner-controller", *off])
    scheduler = {"kube-api-qps": "5000", "kube-api-burst": "5000", **common}
    document = {
        "kind": "ClusterConfiguration",
        "controllerManager": {"extraArgs": _arguments(controllers)},
        "scheduler": {"extraArgs": _arguments(scheduler)},
    }
    return yaml.safe_dump(document)


def _arguments(values: Mapping[str, str]) -> list[Mapping[str, str]]:
    return [{"name": name, "value": value} for name, value in values.items()]


class _Plain(yaml.SafeDumper):
    """Writes equal nodes in full: kind's parser has no anchors in its documentation."""

    def ignore_aliases(self, data: object) -> bool:
        return True
