"""Creates the control plane of a run from its options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dra_api.clock import AdvanceableClock
from dra_conformance.control_plane.base import ControlPlane
from dra_conformance.core.component_spec import OWN_CLUSTER_COMPONENTS
from dra_conformance.core.options import RunOptions

_DAEMON_SETS = "daemonset-controller"


def make(
    options: RunOptions, *, work: Callable[[], Path], logs: Path, clock: AdvanceableClock, seed: int
) -> ControlPlane:
    """Return the control plane of the options, not started. `work` returns the run's short-lived folder."""
    # Each kind imports its own libraries (kubernetes, uvicorn, cryptography), which takes 0.1 to 0.4 s.
    spec = options.component("control-plane")
    if spec.kind == "kubeconfig":
        from dra_conformance.control_plane.kubeconfig import KubeconfigControlPlane

        return KubeconfigControlPlane(spec.argument)
    if spec.kind == "binaries":
        from dra_conformance.control_plane.binaries import BinariesControlPlane

        return BinariesControlPlane(
            kubernetes_version=options.kubernetes_version,
            directory=work() / "api",
            logs=logs / "control-plane",
            bin_dir=options.bin_dir,
            feature_gates=options.gates(),
            runtime_config=options.api_versions(),
            pass_env=options.pass_env,
            # The harness creates the pods of the DaemonSets of ComputeDomains, which this controller deletes.
            without_controllers=() if options.component("compute-domain-daemon").kind == "none" else (_DAEMON_SETS,),
        )
    foreign = [name for name in OWN_CLUSTER_COMPONENTS if options.component(name).kind != "cluster"]
    if spec.kind == "kind":
        from dra_conformance.control_plane.kind import KindControlPlane

        return KindControlPlane(
            image=options.kind_image,
            directory=work() / "kind",
            logs=logs / "control-plane",
            workers=options.kind_workers,
            feature_gates=options.gates(),
            runtime_config=options.api_versions(),
            foreign_components=foreign,
            # Pods of scenarios must get to the nodes of a driver that runs there.
            reserve_workers="cluster" not in (options.component("kubelet").kind, options.component("driver").kind),
            archives=tuple(map(Path, options.kind_load)),
            manifests=tuple(map(Path, options.kind_apply)),
        )
    if spec.kind == "k3s":
        from dra_conformance.control_plane.k3s import K3sControlPlane

        return K3sControlPlane(
            image=options.k3s_image,
            directory=work() / "k3s",
            feature_gates=options.gates(),
            runtime_config=options.api_versions(),
            foreign_components=foreign,
        )
    from dra_conformance.control_plane.embedded import EmbeddedControlPlane

    return EmbeddedControlPlane(
        kubernetes_version=options.kubernetes_version,
        directory=work() / "api",
        clock=clock,
        seed=seed,
        feature_gates=options.gates(),
        runtime_config=options.api_versions(),
        watch_delay=options.lag().delays(seed),
    )
