"""CDI: the ids in a driver's responses, the specification files on the node, and the devices of containers."""

from __future__ import annotations

from dataclasses import dataclass, field

from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World
from dra_conformance.kubelet import CDIRegistry
from dra_conformance.kubelet.errors import CDIError
from dra_conformance.steps.containers import views
from dra_conformance.steps.driver_calls import answer_for
from dra_conformance.steps.uids import with_uids


@dataclass(slots=True)
class CdiFiles:
    """The CDI files of each node at the time when a step recorded them, as folder/name."""

    of_node: dict[str, set[str]] = field(default_factory=dict)


def files(world: World, node: str) -> set[str]:
    """Return the files in the node's CDI folders that a runtime would read, as folder/name."""
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
    world.state(CdiFiles).of_node[node] = files(world, node)


@when('the CDI files of "{node}" are lost')
def _(world: World, node: str) -> None:
    """Delete all files in the node's CDI folders, as a reboot does if they are in /var/run."""
    for root in world.node(node).kubelet.cdi_roots:
        for path in root.iterdir() if root.is_dir() else ():
            if path.is_file():
                path.unlink()


@then('every CDI id of the response for claim "{claim}" resolves on "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """Each id is fully qualified and declared by a valid specification in the node's CDI folders."""
    ids = [device_id for device in answer_for(world, claim) for device_id in device.cdi_device_ids]
    registry = CDIRegistry.read(world.node(node).kubelet.cdi_roots)
    try:
        registry.resolve(ids)
    except CDIError as error:
        world.check(False, "CDI ids resolve", expected=ids, observed=str(error))
    world.check(True, "CDI ids resolve", expected=ids, observed=ids or "no id, which is valid")


@then('the response for claim "{claim}" has the CDI ids:')
def _(world: World, claim: str, datatable: list[list[str]]) -> None:
    """All devices of the response have exactly the ids of the table; `$(device)` is the name of the first device."""
    devices = answer_for(world, claim)
    wanted = [with_uids(world, row[0].replace("$(device)", devices[0].device_name)) for row in datatable[1:]]
    found = [device_id for device in devices for device_id in device.cdi_device_ids]
    world.check(found == wanted, "CDI ids", expected=wanted, observed=found)


@then('node "{node}" has the CDI file "{name}"')
def _(world: World, node: str, name: str) -> None:
    """A file of this name is in one of the node's CDI folders."""
    wanted = with_uids(world, name)
    found = sorted(path.rpartition("/")[2] for path in files(world, node))
    world.check(wanted in found, "the name of the CDI file", expected=wanted, observed=found)


@then('the CDI files of "{node}" are the remembered ones within {seconds:d} seconds')
def _(world: World, node: str, seconds: int) -> None:
    """No file is left that did not exist before; 0 seconds: now."""
    before = world.state(CdiFiles).of_node[node]

    def look() -> Seen:
        left = sorted(files(world, node) - before)
        return not left, left or "none"

    message = "CDI files that are not among the remembered ones"
    if seconds:
        world.eventually(message, look, expected="none", within=max(world.run.patience, float(seconds)))
    else:
        world.check_seen(message, look(), expected="none")


def given_ids(world: World, node: str, claim: str) -> list[str]:
    """Return the CDI ids that drivers returned to the kubelet of a node for a claim."""
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
    """The container's CDI devices are exactly those that drivers returned for these claims (comma-separated)."""
    view = views(world, node, pod)[container]
    wanted = sorted({device_id for claim in words(claims) for device_id in given_ids(world, node, claim)})
    world.check(
        sorted(view.cdi_devices) == wanted,
        f"container {container} sees its devices",
        expected=wanted,
        observed=sorted(view.cdi_devices),
    )
