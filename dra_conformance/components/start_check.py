"""Starts the drivers under test once, before the first scenario of a process that needs them, as their user wrote them.

A scenario starts a driver with flags, gates, GPUs and faults of its own. If the driver does not register in a scenario,
they may be the cause. The start of this module has none of them: a driver that does not register in it cannot be judged
in any scenario. The run then ends with one cause, whichever scenario came first: in a run of all scenarios, on each of
several workers, and with the command that repeats one scenario.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dra_api.objects import NODES, RESOURCE_SLICES, name_of
from dra_conformance.components.context import ScenarioContext
from dra_conformance.components.device_plugin import COMPONENT as DEVICE_PLUGIN
from dra_conformance.components.device_plugin import NodeDevicePlugin
from dra_conformance.components.node import FABRIC_PLUGIN, DriverEnded, ScenarioNode

ALIAS = "start"
"""The name of the node in the log. No scenario uses it."""
_FABRIC_GPUS = "gb200-nvl72-node"
"""The inventory of the check of a ComputeDomain driver, which needs a node with IMEX channels."""


def require_drivers(world: ScenarioContext) -> None:
    """Check that the drivers of the scenario which the run starts register with a kubelet, unless this process has seen
    that.

    Each is started on a node of its own, which is gone when this returns. Raises TargetUnreachable with the last output
    of the driver.
    """
    if _is_due(world, "driver"):
        with _node(world) as node:
            node.start_driver()
            node.wait_driver()
    if _is_due(world, DEVICE_PLUGIN):
        with _node(world) as node:
            plugin = NodeDevicePlugin(world, node)
            try:
                plugin.manager.start()
                plugin.start()
                plugin.wait_registered()
            finally:
                plugin.end()
    if _is_due(world, FABRIC_PLUGIN):
        with _node(world, inventory=_FABRIC_GPUS) as node:
            try:
                node.start_fabric_plugin()
            except DriverEnded as error:
                raise node.plugin_never_came(error) from None


def _is_due(world: ScenarioContext, component: str) -> bool:
    components = world.run.components
    return (
        component in world.scenario.tags.components
        and component not in components.came
        and components.spec(component).kind == "exec"
    )


@contextmanager
def _node(world: ScenarioContext, *, inventory: str | None = None) -> Iterator[ScenarioNode]:
    """Yield a node of its own with a kubelet, which is gone at the end with all that a driver left."""
    node = ScenarioNode(world, ALIAS, inventory=inventory, plain=True)
    try:
        node.start_kubelet()
        yield node
    finally:
        node.end()
        # Not from the harness's cache: the driver may have published just before its end.
        for obj in world.client.list(RESOURCE_SLICES, field_selector=f"spec.nodeName={node.name}").items:
            world.client.delete_if_there(RESOURCE_SLICES, name_of(obj))
        world.client.delete_if_there(NODES, node.name)
