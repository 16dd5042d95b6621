"""The slices of the driver under test: complete pools, owners, what becomes of them."""

from __future__ import annotations

import re

from dra_api.objects import NODES, RESOURCE_SLICES, name_of, uid_of
from dra_conformance.components.pools import completeness, generation, newest
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps import faults

PCI_BUS_ID = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]")
PCIE_ROOT = re.compile(r"pci[0-9a-f]{4}:[0-9a-f]{2}")


@given('the devices of "{node}" are remembered')
def _(world: World, node: str) -> None:
    """Keep the names of the published devices, to compare with later."""
    world.memory["devices-before"] = sorted(device["name"] for device in world.node(node).devices())


@when('somebody deletes the slices of the driver on "{node}"')
def _(world: World, node: str) -> None:
    """Delete every slice of the driver on this node, as a careless administrator would."""
    component = world.node(node)
    gone = {uid_of(obj): name_of(obj) for obj in component.slices()}
    for name in gone.values():
        world.client.delete_if_there(RESOURCE_SLICES, name)

    def look() -> Seen:
        left = [name_of(obj) for obj in component.slices() if uid_of(obj) in gone]
        return not left, left

    world.require("the slices are deleted", look)
    world.heard()


@then('every pool of the driver on "{node}" comes to be complete')
def _(world: World, node: str) -> None:
    """Each pool comes to have as many slices of its newest generation as they say it has."""
    component = world.node(node)
    world.eventually(
        "pools are complete", lambda: completeness(component.slices()), expected="resourceSliceCount slices a pool"
    )


@then('the devices of "{node}" are published again within {seconds:d} seconds')
def _(world: World, node: str, seconds: int) -> None:
    """The remembered devices come to be published again, in complete pools; within the given time."""
    component = world.node(node)
    wanted = world.memory["devices-before"]
    in_process = world.run.components.spec("driver").in_process
    if in_process:
        world.settle()
        world.clock.advance(seconds)
    faults.require_met(world)

    def look() -> Seen:
        complete, seen = completeness(component.slices())
        told = sorted(device["name"] for device in component.devices())
        return complete and told == wanted, seen if told == wanted else told

    within = world.run.patience if in_process else float(seconds)
    world.eventually("the devices are published again", look, expected=wanted, within=within)


@then('the driver on "{node}" publishes the same devices as before')
def _(world: World, node: str) -> None:
    """The newest generation of the pools comes to hold the remembered devices, each once."""
    component = world.node(node)
    wanted = world.memory["devices-before"]

    def look() -> Seen:
        told = sorted(
            device["name"]
            for several in newest(component.slices()).values()
            for obj in several
            for device in obj["spec"].get("devices") or ()
        )
        complete, seen = completeness(component.slices())
        return complete and told == wanted, told if told != wanted else seen

    world.eventually("the devices are the same", look, expected=wanted)


@given('a slice of the pool "{pool}" that the driver had on "{node}"')
def _(world: World, pool: str, node: str) -> None:
    """Create a slice of the driver under test for this node by hand, as an older version of it may have left it."""
    component = world.node(node)
    created = world.create(
        {
            "apiVersion": RESOURCE_SLICES.api_version,
            "kind": RESOURCE_SLICES.kind,
            "metadata": {"generateName": f"{pool}-"},
            "spec": {
                "driver": component.driver_name,
                "nodeName": component.name,
                "pool": {"name": f"{component.name}-{pool}", "generation": 1, "resourceSliceCount": 1},
                "devices": [{"name": "former-0"}],
            },
        }
    )
    world.memory[f"slice of {pool}"] = uid_of(created)
    world.catch_up()
    world.heard()


@then('no slice of the pool "{pool}" is left after {seconds:d} seconds')
def _(world: World, pool: str, seconds: int) -> None:
    """The slice of this pool that a step made comes to be gone; within the given time."""
    made = world.memory[f"slice of {pool}"]
    in_process = world.run.components.spec("driver").in_process
    if in_process:
        world.settle()
        world.clock.advance(seconds)

    def look() -> Seen:
        left = [name_of(obj) for obj in world.observer.list(RESOURCE_SLICES) if uid_of(obj) == made]
        return not left, left or "none"

    within = world.run.patience if in_process else float(seconds)
    world.eventually(f"slices of pool {pool}", look, expected="none", within=within)


@given('the slices of the driver on "{node}" are remembered')
def _(world: World, node: str) -> None:
    """Keep uid and generation of each slice, to compare with later."""
    world.memory["slices-before"] = _generations(world, node)


def _generations(world: World, node: str) -> dict[str, int]:
    return {uid_of(obj): generation(obj) for obj in world.node(node).slices()}


@then('the slices of the driver on "{node}" are the same objects, of the same generation')
def _(world: World, node: str) -> None:
    """No slice was made anew, and no pool got another generation."""
    wanted = world.memory["slices-before"]
    found = _generations(world, node)
    world.check(found == wanted, "slices changed in place", expected=wanted, observed=found)


@then('the driver on "{node}" comes to have more slices, all of the next generation')
def _(world: World, node: str) -> None:
    """There come to be more slices than were remembered, in complete pools, all of one and a higher generation."""
    before: dict[str, int] = world.memory["slices-before"]

    def look() -> Seen:
        complete, seen = completeness(world.node(node).slices())
        now = _generations(world, node)
        one = len(set(now.values())) == 1 and min(now.values()) > max(before.values())
        return complete and one and len(now) > len(before), {"slices": now, "pools": seen}

    world.eventually("slices of the next generation", look, expected=f"more than {len(before)}, generation above")


@then('every slice of the driver on "{node}" is owned by the Node')
def _(world: World, node: str) -> None:
    """Slices with a node name have the Node as owner, so that they go when it goes."""
    component = world.node(node)
    uid = uid_of(world.client.get(NODES, component.name))
    orphans = {
        name_of(obj): obj["metadata"].get("ownerReferences") or "no owner"
        for obj in component.slices()
        if not any(owner.get("uid") == uid for owner in obj["metadata"].get("ownerReferences") or ())
    }
    world.check(not orphans, "slices are owned by the Node", expected=f"an owner with uid {uid}", observed=orphans)


@then('no two devices of one pool of the driver on "{node}" share a name')
def _(world: World, node: str) -> None:
    """In the newest generation of a pool every device name is there once, and every consumed counter is declared."""
    wrong: list[str] = []
    for pool, several in newest(world.node(node).slices()).items():
        names = [device["name"] for obj in several for device in obj["spec"].get("devices") or ()]
        wrong += [f"{pool}/{name} twice" for name in sorted({name for name in names if names.count(name) > 1})]
        declared = {
            (counters["name"], counter)
            for obj in several
            for counters in obj["spec"].get("sharedCounters") or ()
            for counter in counters["counters"]
        }
        wrong += [
            f"{pool}/{device['name']} consumes {use['counterSet']}/{counter}, which nobody declares"
            for obj in several
            for device in obj["spec"].get("devices") or ()
            for use in device.get("consumesCounters") or ()
            for counter in use["counters"]
            if (use["counterSet"], counter) not in declared
        ]
    world.check(not wrong, "devices of a pool fit together", expected="unique names, known counters", observed=wrong)


@then('standard attributes of the devices on "{node}" have their standard form')
def _(world: World, node: str) -> None:
    """pciBusID and pcieRoot, where published, read as Linux writes them."""
    wrong: dict[str, object] = {}
    for device in world.node(node).devices():
        for name, form in (("pciBusID", PCI_BUS_ID), ("pcieRoot", PCIE_ROOT)):
            value = (device.get("attributes") or {}).get(f"resource.kubernetes.io/{name}")
            if value is not None and not form.fullmatch(str(value.get("string") or "")):
                wrong[f"{device['name']}: {name}"] = value
    world.check(
        not wrong,
        "standard attributes",
        expected=f"pciBusID {PCI_BUS_ID.pattern}, pcieRoot {PCIE_ROOT.pattern}",
        observed=wrong,
    )


@then('the slices of the driver on "{node}" stay')
def _(world: World, node: str) -> None:
    """The slices are there after everything has come to rest."""
    component = world.node(node)
    world.stays(
        "slices stay", lambda: (bool(component.slices()), f"{len(component.slices())} slices"), expected="slices"
    )
