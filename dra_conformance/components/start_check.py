"""Starts the driver under test once, before the first scenario of a process that needs it, as its user wrote it.

A scenario starts the driver with flags, gates, GPUs and faults of its own. If the driver does not register in a
scenario, they may be the cause. The start of this module has none of them: a driver that does not register in it cannot
be judged in any scenario. The run then ends with one cause, whichever scenario came first: in a run of all scenarios,
on each of several workers, and with the command that repeats one scenario.
"""

from __future__ import annotations

from dra_api.objects import NODES, RESOURCE_SLICES, name_of
from dra_conformance.components.context import ScenarioContext
from dra_conformance.components.node import ScenarioNode

ALIAS = "start"
"""The name of the node in the log. No scenario uses it."""


def require_driver(world: ScenarioContext) -> None:
    """Check that a driver which the run starts registers with a kubelet, unless this process has seen that.

    The driver is started on a node of its own, which is gone when this returns. Raises TargetUnreachable with the last
    output of the driver.
    """
    components = world.run.components
    if "driver" in components.came or "driver" not in world.scenario.tags.components:
        return
    if components.spec("driver").kind != "exec":
        return
    node = ScenarioNode(world, ALIAS, plain=True)
    try:
        node.start_kubelet()
        node.start_driver()
        node.wait_driver()
    finally:
        node.end()
        # Not from the harness's cache: the driver may have published just before its end.
        for obj in world.client.list(RESOURCE_SLICES, field_selector=f"spec.nodeName={node.name}").items:
            world.client.delete_if_there(RESOURCE_SLICES, name_of(obj))
        world.client.delete_if_there(NODES, node.name)
