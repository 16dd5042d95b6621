"""What containers see once their pod runs, as its kubelet tells."""

from __future__ import annotations

from collections.abc import Mapping

from dra_conformance.engine.world import World
from dra_conformance.kubelet.container_view import ContainerView
from dra_conformance.kubelet.errors import KubeletError


def views(world: World, node: str, pod: str) -> Mapping[str, ContainerView]:
    """What each container of a pod sees, once the pod runs. One that does not come to run breaks the current rule."""
    try:
        return world.node(node).kubelet.wait_running(world.namespace, pod, world.run.patience)
    except KubeletError as error:
        world.check(False, f"pod {pod} runs", expected="running containers", observed=str(error))
        raise  # not reached: a broken check ends the scenario
