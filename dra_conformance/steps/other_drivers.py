"""Drivers beside the one under test, for devices of other kinds: what they publish and what pods get of them.

They are the reference's plugin for plain lists of devices, in this process; they end with their node.
"""

from __future__ import annotations

from dra_api.objects import RESOURCE_SLICES, Obj
from dra_conformance.engine.vocabulary import given, then, words
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.claims import allocate_by_hand, claim_object, driver_class, free_results
from dra_conformance.steps.containers import views


def published(world: World, driver: str, node: str) -> list[Obj]:
    """The devices that a driver publishes for a node."""
    return [
        device
        for obj in world.observer.list(RESOURCE_SLICES)
        if obj["spec"].get("driver") == driver and obj["spec"].get("nodeName") == world.name(node)
        for device in obj["spec"].get("devices") or ()
    ]


@given('the driver "{driver}" with the devices "{inventory}" on "{node}"')
def _(world: World, driver: str, inventory: str, node: str) -> None:
    """Start another driver on the node, with a list of devices that comes with the reference (nic, fpga)."""
    world.node(node).start_beside(driver, inventory)
    world.require(
        f"{driver} publishes its devices", lambda: (bool(published(world, driver, node)), "no device"), within=20.0
    )


@given(
    'a ResourceClaim "{claim}" allocated a device of the driver, "{first}" of "{one}" and "{second}" of "{other}" '
    'on "{node}"'
)
def _(world: World, claim: str, first: str, one: str, second: str, other: str, node: str) -> None:
    """A claim with three requests and an allocation written by hand, each with a device of another driver."""
    names = {"device": None, "first": (first, one), "second": (second, other)}
    requests = [{"name": name, "exactly": {"deviceClassName": driver_class(world)}} for name in names]
    world.create(claim_object(world, claim, {"devices": {"requests": requests}}))
    results = free_results(world, node, 1, request="device")
    for request, found in names.items():
        if found is not None:
            results.append({"request": request, "driver": found[1], "pool": world.name(node), "device": found[0]})
    allocate_by_hand(world, claim, world.name(node), results)


@then('the driver "{driver}" still publishes "{devices}" on "{node}"')
def _(world: World, driver: str, devices: str, node: str) -> None:
    """Exactly these devices (comma-separated) are in the slices of that driver, once all has come to rest."""

    def look() -> Seen:
        told = sorted(device["name"] for device in published(world, driver, node))
        return told == sorted(words(devices)), told

    world.stays(f"slices of {driver}", look, expected=sorted(words(devices)))


@then('container "{container}" of pod "{pod}" on "{node}" has the variables "{names}"')
def _(world: World, container: str, pod: str, node: str, names: str) -> None:
    """The environment that the container's CDI devices bring has all of these variables (comma-separated)."""
    view = views(world, node, pod)[container]
    there = sorted(view.env)
    world.check(set(words(names)) <= set(there), "variables of the drivers", expected=names, observed=there)
