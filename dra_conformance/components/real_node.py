"""Kubernetes' kubelet as the component kubelet (`--kubelet kubelet`): its identity and its programs."""

from __future__ import annotations

from pathlib import Path

from dra_api.client import KubeClient
from dra_conformance.components.context import ScenarioContext
from dra_conformance.control_plane.binaries import BinariesControlPlane
from dra_conformance.core.errors import UsageError
from dra_conformance.kubelet.real.kubelet import RealKubelet
from dra_conformance.kubelet.record import Log


def real_kubelet(world: ScenarioContext, node_name: str, root: Path, *, log: Log) -> RealKubelet:
    """Return a kubelet for one node, not started. Raises UsageError and TargetUnreachable."""
    run = world.run
    if not isinstance(run.control_plane, BinariesControlPlane):
        raise UsageError("--kubelet kubelet needs --control-plane binaries")
    own = run.control_plane.kubeconfig_for(f"system:node:{node_name}", ["system:nodes"])
    return RealKubelet(
        run.node_programs(),
        KubeClient(run.component_transport("kubelet"), user_agent="dra-conformance"),
        kubeconfig=run.component_kubeconfig("kubelet", own),
        node_name=node_name,
        root=root,
        logs=run.folder / "logs",
        log=log,
        poke=world.log.poke,
        wait=world.log.wait_for,
        feature_gates=run.options.kubelet_gates(),
        pass_env=run.options.pass_env,
    )
