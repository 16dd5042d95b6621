"""CDI: what the ids in a driver's answers mean to a container runtime, and what pods see of it."""

from __future__ import annotations

from dra_conformance.engine.vocabulary import given, then, words
from dra_conformance.engine.world import Seen, World
from dra_conformance.kubelet import CDIRegistry
from dra_conformance.kubelet.errors import CDIError
from dra_conformance.steps.containers import views
from dra_conformance.steps.driver_calls import answer_for


def files(world: World, node: str) -> set[str]:
    """The files in the node's CDI folders that a runtime would read."""
    roots = world.node(node).kubelet.cdi_roots
    return {
        f"{root.name}/{path.name}"
        for root in roots
        if root.is_dir()
        for path in root.iterdir()
        if path.suffix in (".json", ".yaml")
    }


@given('the CDI files of "{node}" are remembered')
def _(world: World, node: str) -> None:
    """Keep the names of the CDI files, to compare with later."""
    world.memory["cdi-before"] = files(world, node)


@then('every CDI id of the answer for claim "{claim}" resolves on "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """Each id is fully qualified and declared by a valid specification in the node's CDI folders."""
    ids = [device_id for device in answer_for(world, claim) for device_id in device.cdi_device_ids]
    registry = CDIRegistry.read(world.node(node).kubelet.cdi_roots)
    try:
        registry.resolve(ids)
    except CDIError as error:
        world.check(False, "CDI ids resolve", expected=ids, observed=str(error))
    world.check(True, "CDI ids resolve", expected=ids, observed=ids or "no id, which is valid")


@then('the CDI files of "{node}" are those of before')
def _(world: World, node: str) -> None:
    """What Prepare wrote is gone."""
    before: set[str] = world.memory["cdi-before"]
    left = sorted(files(world, node) - before)
    world.check(not left, "CDI files of the claim are removed", expected=sorted(before), observed=left or "the same")


def given_ids(world: World, node: str, claim: str) -> list[str]:
    """The CDI ids that the kubelet of a node was answered for a claim."""
    return [
        device_id
        for record in world.node(node).kubelet.claims()
        if record.ref.name == claim and record.ref.namespace == world.namespace
        for devices in record.drivers.values()
        for device in devices
        for device_id in device.cdi_device_ids
    ]


@then('container "{container}" of pod "{pod}" on "{node}" sees the devices of "{claims}" only')
def _(world: World, container: str, pod: str, node: str, claims: str) -> None:
    """The container's CDI devices are exactly those that drivers answered for these claims (comma-separated)."""
    view = views(world, node, pod)[container]
    wanted = sorted({device_id for claim in words(claims) for device_id in given_ids(world, node, claim)})
    world.check(
        sorted(view.cdi_devices) == wanted,
        f"container {container} sees its devices",
        expected=wanted,
        observed=sorted(view.cdi_devices),
    )


@then('the CDI files of "{node}" come to be those of before')
def _(world: World, node: str) -> None:
    """What was prepared on the node is unprepared in the end: a pod that is deleted at once is cleaned up after it."""
    before: set[str] = world.memory["cdi-before"]

    def look() -> Seen:
        left = sorted(files(world, node) - before)
        return not left, left or "the same"

    world.eventually("CDI files of the claim are removed", look, expected=sorted(before))
