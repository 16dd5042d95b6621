"""The command line of `k3s server` for a run. Pure functions.

k3s runs API server, controllers, scheduler and kubelet in one process; `--kube-apiserver-arg` and similar flags pass
arguments to them. A component with another implementation is disabled, so that no two handle one claim.

Source: docs.k3s.io, cli/server; the flags behind `-arg` are Kubernetes' own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from dra_conformance.control_plane.binaries.flags import COMPONENT_CONTROLLERS, served_versions

# Add-ons of k3s that no scenario needs, and that would pull images.
_WITHOUT = ("traefik", "servicelb", "metrics-server", "local-storage", "coredns")
_PROGRAMS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet")


def server(
    *,
    host: str,
    kubelet_root: str,
    feature_gates: Mapping[str, bool],
    runtime_config: Mapping[str, bool],
    foreign_components: Collection[str],
) -> Sequence[str]:
    """Return the arguments of `k3s`.

    Arguments:
        host: the host name of the API server for clients outside, for its certificate.
        kubelet_root: the kubelet's root folder, the same path inside and outside, for sockets.
        feature_gates: for every program.
        runtime_config: served versions of resource.k8s.io; by default all.
        foreign_components: components with another implementation in this run.
    """
    words = ["server", f"--tls-san={host}", *(f"--disable={name}" for name in _WITHOUT)]
    served = served_versions(feature_gates, runtime_config)
    words.append(f"--kube-apiserver-arg=runtime-config={_pairs(served)}")
    if feature_gates:
        words += [f"--{program}-arg=feature-gates={_pairs(feature_gates)}" for program in _PROGRAMS]
    words.append(f"--kubelet-arg=root-dir={kubelet_root}")
    # Nodes of scenarios have no kubelet that renews leases; they must not become NotReady.
    words.append("--kube-controller-manager-arg=node-monitor-grace-period=24h")
    if "scheduler" in foreign_components:
        words.append("--disable-scheduler")
    if off := sorted(
        f"-{COMPONENT_CONTROLLERS[component]}" for component in foreign_components if component in COMPONENT_CONTROLLERS
    ):
        words.append(f"--kube-controller-manager-arg=controllers={','.join(['*', *off])}")
    return words


def _pairs(values: Mapping[str, bool]) -> str:
    return ",".join(f"{name}={str(on).lower()}" for name, on in sorted(values.items()))
