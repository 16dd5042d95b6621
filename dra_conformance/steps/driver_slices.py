"""The ResourceSlices of the driver under test: complete pools, owners, generations, and repair after deletions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dra_api.objects import NODES, RESOURCE_SLICES, Obj, name_of, uid_of
from dra_conformance.components.pools import completed, completeness, generation, newest
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import Seen, World, in_words, show
from dra_conformance.steps import faults


@dataclass(slots=True)
class SliceHistory:
    """The driver's slices at an earlier step, for comparison.

    `devices` are names, sorted; `generations` are by slice uid; `former` maps a pool that an earlier version of the
    driver had to the uid of its slice; `taints` are by device, with timeAdded. `contents` are the specs without pool,
    by slice uid.
    """

    devices: list[str] = field(default_factory=list)
    generations: dict[str, int] = field(default_factory=dict)
    contents: dict[str, Obj] = field(default_factory=dict)
    former: dict[str, str] = field(default_factory=dict)
    taints: dict[str, list[Obj]] = field(default_factory=dict)


@given('the slices of the driver on "{node}" are remembered')
def _(world: World, node: str) -> None:
    """Keep devices, taints, uids, contents and generations of the published slices for a later comparison."""
    history = world.state(SliceHistory)
    history.contents = _contents(world, node)
    history.taints = {device["name"]: device.get("taints") or [] for device in world.node(node).devices()}
    history.devices = sorted(device["name"] for device in world.node(node).devices())
    history.generations = _generations(world, node)


@when('the slices of the driver on "{node}" are deleted')
def _(world: World, node: str) -> None:
    """Delete every slice of the driver on this node, as an administrator may do by mistake."""
    component = world.node(node)
    gone = {uid_of(obj): name_of(obj) for obj in component.slices()}
    for name in gone.values():
        world.client.delete_if_there(RESOURCE_SLICES, name)

    def look() -> Seen[list[str]]:
        # By uid: the driver may already have created slices of the same names again.
        left = [name_of(obj) for obj in component.slices() if uid_of(obj) in gone]
        return not left, left

    world.require("the slices are deleted", look)
    world.wait_for_watches()


@when('the first device of the driver on "{node}" is removed from its slice by hand')
def _(world: World, node: str) -> None:
    """Update a slice as another program may do."""
    name = next((name_of(obj) for obj in world.node(node).slices() if obj["spec"].get("devices")), None)
    if name is None:
        raise Untestable(f"the driver publishes no device for {node}")

    def remove(obj: Obj) -> None:
        del obj["spec"]["devices"][0]

    world.update(RESOURCE_SLICES, name, remove)
    world.catch_up()
    world.wait_for_watches()


@then('every pool of the driver on "{node}" comes to be complete')
def _(world: World, node: str) -> None:
    """Each pool comes to have as many slices of its newest generation as their resourceSliceCount."""
    component = world.node(node)
    world.catch_up()
    seen = world.wait(lambda: completeness(component.slices()))
    world.check_seen("pools are complete", seen, expected=completed(seen[1]))


@then('the devices of "{node}" are published again within {seconds:d} seconds')
def _(world: World, node: str, seconds: int) -> None:
    """The remembered devices are published again, in complete pools, within the given time."""
    component = world.node(node)
    wanted = world.state(SliceHistory).devices
    in_process = world.run.components.spec("driver").in_process
    if in_process:
        world.pass_time(seconds)
    # A driver in a process of its own does not see the scenario's clock: the time passes in real time.
    within = world.run.patience if in_process else float(seconds)
    faults.require_met(world, within=within)

    def look() -> Seen[dict[str, Any]]:
        complete, seen = completeness(component.slices())
        found = sorted(device["name"] for device in component.devices())
        return complete and found == wanted, {"devices": found, "incomplete pools": {} if complete else seen}

    expected = {"devices": wanted, "incomplete pools": {}}
    world.eventually("the devices are published again", look, expected=expected, within=within)


@then('the driver on "{node}" publishes the same devices as before')
def _(world: World, node: str) -> None:
    """The newest generation of the pools comes to have the remembered devices, each once."""
    component = world.node(node)
    wanted = world.state(SliceHistory).devices

    def look() -> Seen[dict[str, Any]]:
        found = sorted(
            device["name"]
            for several in newest(component.slices()).values()
            for obj in several
            for device in obj["spec"].get("devices") or ()
        )
        complete, seen = completeness(component.slices())
        return complete and found == wanted, {"devices": found, "incomplete pools": {} if complete else seen}

    expected = {"devices": wanted, "incomplete pools": {}}
    world.eventually("the devices are the same", look, expected=expected)


@given('a slice of the pool "{pool}" that the driver had on "{node}"')
def _(world: World, pool: str, node: str) -> None:
    """Create a slice of the driver under test by hand, as an older version of the driver may have left it."""
    created = create_former(world, node, f"{world.node(node).name}-{pool}", generation=1)
    world.state(SliceHistory).former[pool] = uid_of(created)


def create_former(world: World, node: str, pool: str, *, generation: int) -> Obj:
    """Create a slice of the driver under test, the only one of this generation, and wait until others observe it."""
    component = world.node(node)
    created = world.create(
        {
            "apiVersion": RESOURCE_SLICES.api_version,
            "kind": RESOURCE_SLICES.kind,
            "metadata": {"generateName": "former-version-"},
            "spec": {
                "driver": component.driver_name,
                "nodeName": component.name,
                "pool": {"name": pool, "generation": generation, "resourceSliceCount": 1},
                "devices": [{"name": "former-0"}],
            },
        }
    )
    world.catch_up()
    world.wait_for_watches()
    return created


@then('no slice of the pool "{pool}" is left after {seconds:d} seconds')
def _(world: World, pool: str, seconds: int) -> None:
    """The slice of this pool that an earlier step created is deleted within the given time."""
    made = world.state(SliceHistory).former[pool]
    in_process = world.run.components.spec("driver").in_process
    if in_process:
        world.pass_time(seconds)

    def look() -> Seen[list[str]]:
        left = [name_of(obj) for obj in world.observer.list(RESOURCE_SLICES) if uid_of(obj) == made]
        return not left, left

    within = world.run.patience if in_process else float(seconds)
    world.eventually(f"slices of pool {pool}", look, expected=[], within=within)


def _generations(world: World, node: str) -> dict[str, int]:
    return {uid_of(obj): generation(obj) for obj in world.node(node).slices()}


@then('the slices of the driver on "{node}" are the same objects, of the same generation')
def _(world: World, node: str) -> None:
    """No slice was replaced, and no pool has another generation."""
    wanted = world.state(SliceHistory).generations
    found = _generations(world, node)
    world.check(found == wanted, "slices changed in place", expected=wanted, observed=found)


@then('the driver on "{node}" comes to have more slices, all of the next generation')
def _(world: World, node: str) -> None:
    """There come to be more slices than remembered, in complete pools, all of the same higher generation."""
    before = world.state(SliceHistory).generations

    def look() -> Seen[str]:
        complete, seen = completeness(world.node(node).slices())
        now = _generations(world, node)
        one = len(set(now.values())) == 1 and min(now.values()) > max(before.values())
        generations = in_words(sorted(set(now.values())))
        return complete and one and len(now) > len(
            before
        ), f"{len(now)} of generations {generations}; pools {show(seen)}"

    expected = f"more than {len(before)} of one generation above {max(before.values())}; complete pools"
    world.eventually("slices of the next generation", look, expected=expected)


def _contents(world: World, node: str) -> dict[str, Obj]:
    return {
        uid_of(obj): {key: value for key, value in obj["spec"].items() if key != "pool"}
        for obj in world.node(node).slices()
    }


@then('the pool on "{node}" is of the next generation only if several of its slices changed')
def _(world: World, node: str) -> None:
    """If more than one of the remembered slices has changed, all have a higher generation; otherwise the same."""
    before = world.state(SliceHistory)

    def look() -> Seen[str]:
        complete, pools = completeness(world.node(node).slices())
        now, contents = _generations(world, node), _contents(world, node)
        changed = [uid for uid in {*contents, *before.contents} if contents.get(uid) != before.contents.get(uid)]
        first, last = max(before.generations.values()), set(now.values())
        right = min(last) > first and len(last) == 1 if len(changed) > 1 else now == before.generations
        generations = in_words(sorted(now.values()))
        return complete and right, f"{generations} with {len(changed)} changed slices; pools {show(pools)}"

    last = in_words(sorted(before.generations.values()))
    expected = (
        f"above {max(before.generations.values())} with 2 or more changed slices, {last} otherwise; complete pools"
    )
    world.eventually("generations of the slices", look, expected=expected)


@when('a slice of the driver on "{node}" is of the next generation')
def _(world: World, node: str) -> None:
    """Raise the generation of the first slice by hand, as a driver that was killed between two updates leaves it."""
    name = min((name_of(obj) for obj in world.node(node).slices()), default="")
    if not name:
        raise Untestable(f"the driver publishes no slice for {node}")

    def change(obj: Obj) -> None:
        obj["spec"]["pool"]["generation"] += 1

    world.update(RESOURCE_SLICES, name, change)
    world.catch_up()
    world.wait_for_watches()


@then('the generation of the pools on "{node}" stays')
def _(world: World, node: str) -> None:
    """Complete pools keep their generation for a minute and after everything has settled."""
    found = _generations(world, node)
    if world.run.components.spec("driver").in_process:
        world.pass_time(60)
    world.stays(
        "the generations",
        lambda: (_generations(world, node) == found, _generations(world, node)),
        expected=found,
    )


@given('a slice of generation {number:d} that another version of the driver had on "{node}"')
def _(world: World, number: int, node: str) -> None:
    """Create a slice of the stopped driver's pool by hand, with a name and a device that the driver does not use."""
    pool = next((str(obj["spec"]["pool"]["name"]) for obj in world.node(node).slices()), "")
    if not pool:
        raise Untestable(f"the driver publishes no slice for {node}")
    create_former(world, node, pool, generation=number)


@given('each slice of the driver on "{node}" has a copy')
def _(world: World, node: str) -> None:
    """Create the remembered slices of the stopped driver again, as two of its processes at one time may do."""
    slices = [obj for obj in world.node(node).slices() if uid_of(obj) in world.state(SliceHistory).generations]
    if not slices:
        raise Untestable(f"the driver publishes no slice for {node}")
    for obj in slices:
        metadata = obj["metadata"]
        world.create(
            {
                "apiVersion": RESOURCE_SLICES.api_version,
                "kind": RESOURCE_SLICES.kind,
                "metadata": {
                    "generateName": metadata.get("generateName") or f"{name_of(obj)}-",
                    "ownerReferences": metadata.get("ownerReferences") or [],
                },
                "spec": obj["spec"],
            }
        )
    world.catch_up()
    world.wait_for_watches()


@then('the driver on "{node}" comes to have as many slices as before')
def _(world: World, node: str) -> None:
    """The driver deletes the slices that it would not publish."""
    wanted = len(world.state(SliceHistory).generations)

    def look() -> Seen[int]:
        found = len(world.node(node).slices())
        return found == wanted, found

    world.eventually("number of slices", look, expected=wanted)


@then('the slices of the driver on "{node}" come to be of a generation above {number:d}')
def _(world: World, node: str, number: int) -> None:
    """Consumers that have seen a generation ignore slices of lower ones."""

    def look() -> Seen[str]:
        found = sorted(_generations(world, node).values())
        return bool(found) and found[0] > number, in_words(found)

    world.eventually("generations of the slices", look, expected=f"above {number}")


@then('the driver on "{node}" comes to have one slice')
def _(world: World, node: str) -> None:
    """All but one slice of the driver are deleted."""

    def look() -> Seen[int]:
        found = world.node(node).slices()
        return len(found) == 1, len(found)

    world.eventually("number of slices of the driver", look, expected=1)


@then('every slice of the driver on "{node}" is owned by the Node')
def _(world: World, node: str) -> None:
    """Slices with a node name have the Node as owner, so that they are deleted with it."""
    component = world.node(node)
    uid = uid_of(world.client.get(NODES, component.name))
    orphans = {
        name_of(obj): obj["metadata"].get("ownerReferences") or []
        for obj in component.slices()
        if not any(owner.get("uid") == uid for owner in obj["metadata"].get("ownerReferences") or ())
    }
    world.check(not orphans, f"slices without the Node, uid {uid}, as owner", expected={}, observed=orphans)


def _repeated(names: Sequence[str]) -> list[str]:
    return sorted(name for name, times in Counter(names).items() if times > 1)


@then('no two devices of one pool of the driver on "{node}" share a name')
def _(world: World, node: str) -> None:
    """In the newest generation of a pool every name of a device or counter set is unique, and every consumed counter is
    declared.
    """
    wrong: list[str] = []
    for pool, several in newest(world.node(node).slices()).items():
        names = [device["name"] for obj in several for device in obj["spec"].get("devices") or ()]
        wrong += [f"{pool}/{name} twice" for name in _repeated(names)]
        counter_sets = [counters for obj in several for counters in obj["spec"].get("sharedCounters") or ()]
        sets = [counters["name"] for counters in counter_sets]
        wrong += [f"{pool}: counter set {name} twice" for name in _repeated(sets)]
        declared = {(counters["name"], counter) for counters in counter_sets for counter in counters["counters"]}
        wrong += [
            f"{pool}/{device['name']} consumes {use['counterSet']}/{counter}, which no slice declares"
            for obj in several
            for device in obj["spec"].get("devices") or ()
            for use in device.get("consumesCounters") or ()
            for counter in use["counters"]
            if (use["counterSet"], counter) not in declared
        ]
    world.check(not wrong, "names that are not unique, and unknown counters", expected=[], observed=wrong)


@then('the slices of the driver on "{node}" still exist')
def _(world: World, node: str) -> None:
    """The slices still exist after everything has settled."""
    component = world.node(node)
    world.stays(
        "slices stay",
        lambda: (bool(component.slices()), f"{len(component.slices())} slices"),
        expected="1 or more slices",
    )
