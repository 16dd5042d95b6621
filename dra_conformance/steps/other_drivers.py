"""Other drivers on the node of the driver under test, for devices of other kinds.

They are instances of the reference's plugin for device lists, in this process; they end with their node.
"""

from __future__ import annotations

from dra_api.objects import RESOURCE_SLICES, Obj
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
    world.node(node).start_beside(driver, inventory)
    world.require(
        f"{driver} publishes its devices", lambda: (bool(published(world, driver, node)), "no device"), within=20.0
    )


@then('the driver "{driver}" still publishes "{devices}" on "{node}"')
def _(world: World, driver: str, devices: str, node: str) -> None:
    """Exactly these devices (comma-separated) are in the slices of that driver after everything has settled."""

    def look() -> Seen:
        found = sorted(device["name"] for device in published(world, driver, node))
        return found == sorted(words(devices)), found

    world.stays(f"slices of {driver}", look, expected=sorted(words(devices)))
