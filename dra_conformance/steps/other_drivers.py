"""Other drivers on the node of the driver under test, for devices of other kinds.

They are instances of the reference's plugin for device lists, in this process; they end with their node.
"""

from __future__ import annotations

import contextlib
from typing import Any

from dra_api.client import Forbidden
from dra_api.objects import NODES, RESOURCE_SLICES, Obj
from dra_conformance.components import start_check
from dra_conformance.components.node import ScenarioNode
from dra_conformance.core.events import ObjectChanged
from dra_conformance.engine import suffixes
from dra_conformance.engine.vocabulary import given, then, words
from dra_conformance.engine.world import Seen, World


def published(world: World, driver: str, node: str) -> list[Obj]:
    """Return the devices that a driver publishes for a node."""
    return [
        device
        for obj in world.observer.list(RESOURCE_SLICES)
        if obj["spec"].get("driver") == driver and obj["spec"].get("nodeName") == world.name(node)
        for device in obj["spec"].get("devices") or ()
    ]


@given('the driver "{driver}" with the devices "{inventory}" on "{node}"')
def _(world: World, driver: str, inventory: str, node: str) -> None:
    """Start another driver on the node, with a device list that the reference ships (nic, fpga)."""
    start(world, driver, inventory, node)


@given('the driver "{driver}" with device metadata and the devices "{inventory}" on "{node}"')
def _(world: World, driver: str, inventory: str, node: str) -> None:
    """Start another driver on the node that describes its devices to containers (KEP-5304)."""
    start(world, driver, inventory, node, metadata=True)


def start(world: World, driver: str, inventory: str, node: str, *, metadata: bool = False) -> None:
    """Start another driver on the node, and wait until it publishes its devices."""
    world.node(node).start_beside(driver, inventory, metadata=metadata)
    world.require(
        f"{driver} publishes its devices", lambda: (bool(published(world, driver, node)), "no device"), within=20.0
    )


@then('the driver "{driver}" still publishes "{devices}" on "{node}"')
def _(world: World, driver: str, devices: str, node: str) -> None:
    """Exactly these devices (comma-separated) are in the slices of that driver after everything has settled."""

    def look() -> Seen[list[Any]]:
        found = sorted(device["name"] for device in published(world, driver, node))
        return found == sorted(words(devices)), found

    world.stays(f"slices of {driver}", look, expected=sorted(words(devices)))


@then('every published ResourceSlice is of the driver and of node "{node}"')
def _(world: World, node: str) -> None:
    """The driver has slices, and no slice of another name or of another node appeared in the scenario.

    On an existing cluster other drivers publish meanwhile. There the slices of the scenario's nodes count, and those of
    the driver for nodes that do not exist: it may run on the nodes of the cluster too.
    """
    component = world.node(node)
    world.eventually(
        "number of slices of the driver",
        lambda: (bool(component.slices()), f"{len(component.slices())} slices"),
        expected="1 or more slices",
    )

    def remove() -> None:
        # They have no owner that the cleanup knows, and would be devices of the next scenario.
        for name in _foreign(world, node):
            # On an existing cluster the harness deletes the slices of its own nodes only.
            with contextlib.suppress(Forbidden):
                world.client.delete_if_there(RESOURCE_SLICES, name)

    world.cleanup.callback(remove)

    def look() -> Seen[list[Any]]:
        found = _foreign(world, node)
        return not found, sorted(found.values())

    message = f"slices that are not of {component.driver_name} on {component.name}"
    world.stays(message, look, expected=[])


def _foreign(world: World, node: str) -> dict[str, str]:
    """Return the slices that appeared in this scenario with another driver or node than those of `node`, by name."""
    component = world.node(node)
    found = {}
    for event in world.log.kept(ObjectChanged):
        if event.resource != RESOURCE_SLICES.plural or event.type == "DELETED":
            continue
        driver, where = event.summary.get("driver"), event.summary.get("node")
        # In the first scenario of a process the driver was started once before, on a node that is gone by now.
        if where == world.name(start_check.ALIAS):
            continue
        if world.run.on_existing_cluster and not may_be_of(world, component, str(driver), str(where or "")):
            continue
        # A slice without a node is for several, which a driver may publish.
        if driver != component.driver_name or where not in (None, component.name):
            found[event.name] = f"{event.name} of {driver} on {where or 'several nodes'}"
    return found


def may_be_of(world: World, tested: ScenarioNode, driver: str, node: str) -> bool:
    """Return whether the driver that the scenario started can be the one that published a slice, on a cluster."""
    if node in {one.name for one in world.nodes()}:
        return True
    if suffixes.of_run(world.run.run_id).search(node) and world.suffix not in node:
        return False
    return bool(node) and driver == tested.driver_name and world.client.find(NODES, node) is None
