"""Where the pods of a scenario may run if a cluster has other nodes: on those of the scenario, by what they request.

A pod fits on nodes of users and of other workers too if it has no claims, or claims for devices of all nodes. The node
of a driver that runs already is the user's, and has no label of the scenario.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dra_api.objects import Obj
from dra_conformance.core.labels import SCENARIO_LABEL
from dra_conformance.engine.world import World

SHARES = ("gpu-fraction", "gpu-memory")
"""The annotations of pods that share GPUs (KAI-Scheduler 0.12.0, docs/gpu-sharing/README.md)."""


@dataclass(slots=True)
class PluginResources:
    """The nodes on which the scenario's device plugins offer an extended resource, by the resource's name."""

    nodes: dict[str, set[str]] = field(default_factory=dict)


def place(world: World, pod: Obj) -> None:
    """Restrict a pod to the nodes of the scenario, and to that of a driver that runs already if it can serve the pod.

    A control plane of the run has no other nodes, unless such a driver brings its own. Node selectors and a required
    node affinity of the scenario stay.
    """
    driver, spec = world.run.external_driver, pod["spec"]
    if driver is None and not world.run.on_existing_cluster:
        return
    if driver is None or _needs_own_nodes(world, pod, driver.node):
        spec["nodeSelector"] = {SCENARIO_LABEL: world.suffix, **(spec.get("nodeSelector") or {})}
    else:
        affinity = spec.setdefault("affinity", {}).setdefault("nodeAffinity", {})
        affinity.setdefault("requiredDuringSchedulingIgnoredDuringExecution", _beside(world, driver.node))


def _beside(world: World, node: str) -> Obj:
    """Return the selector of a driver's node, and of the scenario's own nodes.

    The cluster may have other nodes with devices of that driver.
    """
    own = {"matchExpressions": [{"key": SCENARIO_LABEL, "operator": "In", "values": [world.suffix]}]}
    its = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    return {"nodeSelectorTerms": [its, own]}


def _needs_own_nodes(world: World, pod: Obj, node: str) -> bool:
    """Return whether a driver's node could serve the pod with devices that are not the scenario's.

    The driver may serve a resource of the scenario's plugins, such as nvidia.com/gpu, and its node may have whole GPUs.
    """
    if any(name in SHARES for name in pod["metadata"].get("annotations") or ()):
        return True
    offered = world.state(PluginResources).nodes
    return any(name in offered and node not in offered[name] for name in _requested(pod["spec"]))


def _requested(spec: Obj) -> set[str]:
    """Return the names of the resources that the containers of a pod request."""
    return {
        name
        for container in (*spec["containers"], *spec.get("initContainers", ()))
        for which in ("requests", "limits")
        for name in (container.get("resources") or {}).get(which) or ()
    }
