"""CDI: the ids in a driver's responses, the specification files on the node, and the devices of containers."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dra_api import regular_file
from dra_conformance.core import manifests
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.kubelet import CDIRegistry
from dra_conformance.kubelet.claim_cache import ClaimRecord
from dra_conformance.kubelet.errors import CDIError
from dra_conformance.steps.containers import views
from dra_conformance.steps.driver_calls import answer_for, reference_to
from dra_conformance.steps.uids import with_uids


@dataclass(slots=True)
class CdiFiles:
    """The CDI files of each node at the time when a step recorded them, as folder/name."""

    of_node: dict[str, set[str]] = field(default_factory=dict)


OTHERS = {
    "other.example.com-net.json": '{"cdiVersion": "0.6.0", "kind": "other.example.com/net", "devices": '
    '[{"name": "eth0", "containerEdits": {"env": ["OTHER_NET=eth0"]}}]}',
    "other.example.com-claim_1f0e.yaml": "cdiVersion: 0.6.0\nkind: other.example.com/claim\ndevices: "
    "[{name: 1f0e, containerEdits: {env: [OTHER_CLAIM=1f0e]}}]\n",
    ".other.example.com-next.json.partial": '{"cdiVersion": "0.6.0"',
    "spec.1234567890.tmp": '{"cdiVersion": "0.6.0"',
}
"""Files of another driver in a CDI folder: complete ones, and some that it writes just now under a temporary name."""


def files(world: World, node: str) -> set[str]:
    """Return the files in the node's CDI folders that a runtime would read, as folder/name."""
    return {f"{path.parent.name}/{path.name}" for path in paths(world, node)}


@given('the CDI files of "{node}" are remembered')
def _(world: World, node: str) -> None:
    """Keep the names of the CDI files, to compare with later."""
    world.state(CdiFiles).of_node[node] = files(world, node)


@given('the CDI folders of "{node}" have files of another driver')
def _(world: World, node: str) -> None:
    """Write specifications of another vendor, and unfinished files, to each CDI folder of the node."""
    for root in world.node(node).kubelet.cdi_roots:
        root.mkdir(parents=True, exist_ok=True)
        for name, text in OTHERS.items():
            (root / name).write_text(text)


@then('the CDI folders of "{node}" have these files unchanged')
def _(world: World, node: str) -> None:
    """Each file of the other driver is there with its content."""
    wrong = []
    for root in world.node(node).kubelet.cdi_roots:
        for name, text in OTHERS.items():
            path = root / name
            if not path.is_file():
                wrong.append(f"{root.name}/{name}: gone")
            elif regular_file.read_text(path) != text:
                wrong.append(f"{root.name}/{name}: changed")
    world.check(not wrong, f"CDI files of another driver on {node}", expected=[], observed=wrong)


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
    # No id is valid.
    wanted = f"declared CDI devices {', '.join(ids)}"
    try:
        registry.resolve(ids)
    except CDIError as error:
        world.check(False, "CDI ids resolve", expected=wanted, observed=str(error))
    world.check(True, "CDI ids resolve", expected=wanted, observed=wanted)


def paths(world: World, node: str) -> list[Path]:
    """Return the files in the node's CDI folders that a runtime would read."""
    roots = world.node(node).kubelet.cdi_roots
    return [path for root in roots if root.is_dir() for path in root.iterdir() if path.suffix in (".json", ".yaml")]


def specifications_of(world: World, uid: str) -> list[str]:
    """Return the CDI files of the scenario's nodes that name a claim, in their own name or inside."""
    return sorted(
        f"{node.alias}: {path.name}"
        for node in world.nodes()
        for path in paths(world, node.alias)
        if uid in path.name or uid.encode() in regular_file.read(path)
    )


@then('the response for claim "{claim}" has the CDI ids:')
def _(world: World, claim: str, datatable: list[list[str]]) -> None:
    """All devices of the response have exactly the ids of the table; `$(device)` is the name of the first device."""
    devices = answer_for(world, claim)
    wanted = [with_uids(world, row[0].replace("$(device)", devices[0].device_name)) for row in datatable[1:]]
    found = [device_id for device in devices for device_id in device.cdi_device_ids]
    world.check(found == wanted, "CDI ids", expected=wanted, observed=found)


@then('each device of the response for claim "{claim}" has {count:d} CDI ids, one of them of the claim alone')
def _(world: World, claim: str, count: int) -> None:
    """So many ids for each device; the name of one has the claim's uid, and no other id of the response is the same."""
    uid = reference_to(world, claim).uid
    found = {device.device_name: list(device.cdi_device_ids) for device in answer_for(world, claim)}
    own = [device_id for ids in found.values() for device_id in ids if uid in device_id.partition("=")[2]]
    ok = bool(found) and all(len(ids) == count for ids in found.values()) and len(set(own)) == len(own) == len(found)
    expected = f"{count} for each device, one of them with {uid}"
    world.check(ok, f"CDI ids of claim {claim}", expected=expected, observed=in_words(found))


@then('the CDI ids of claim "{claim}" on "{node}" are in a file of its own')
def _(world: World, claim: str, node: str) -> None:
    """One CDI file defines the ids with the claim's uid and no others, and its name has the claim's uid."""
    uid = reference_to(world, claim).uid
    own = {i.partition("=")[2] for device in answer_for(world, claim) for i in device.cdi_device_ids if uid in i}
    # JSON is YAML as well.
    defined = {
        path.name: {
            str(device["name"]) for device in manifests.parse_value(regular_file.read_text(path)).get("devices") or ()
        }
        for path in paths(world, node)
    }
    found = {name: sorted(names) for name, names in defined.items() if names & own}
    ok = bool(own) and len(found) == 1 and all(uid in name and set(names) == own for name, names in found.items())
    expected = f"one file with {uid} in its name, and the ids {in_words(sorted(own))}"
    world.check(ok, f"CDI files of claim {claim}", expected=expected, observed=in_words(found or sorted(defined)))


@then('no CDI file names claim "{claim}"')
def _(world: World, claim: str) -> None:
    """No CDI file of the scenario's nodes has the claim's uid, in its name or inside."""
    found = specifications_of(world, reference_to(world, claim).uid)
    world.check(not found, f"CDI files of claim {claim}", expected=[], observed=found)


@then('the CDI files of "{node}" are the remembered ones within {seconds:d} seconds')
def _(world: World, node: str, seconds: int) -> None:
    """No file is left that did not exist before; 0 seconds: now."""
    before = world.state(CdiFiles).of_node[node]

    def look() -> Seen[list[Any]]:
        left = sorted(files(world, node) - before)
        return not left, left

    message = "CDI files that are not among the remembered ones"
    if seconds:
        world.eventually(message, look, expected=[], within=max(world.run.patience, float(seconds)))
    else:
        world.check_seen(message, look(), expected=[])


def claim_records(world: World, node: str, claim: str) -> list[ClaimRecord]:
    """Return the kubelet's records of a claim of the scenario's namespace: none or one."""
    return [
        record
        for record in world.node(node).kubelet.claims()
        if record.ref.name == claim and record.ref.namespace == world.namespace
    ]


def given_ids(world: World, node: str, claim: str) -> list[str]:
    """Return the CDI ids that drivers returned to the kubelet of a node for a claim, or for `claim/request`."""
    claim, _, request = claim.partition("/")
    return [
        device_id
        for record in claim_records(world, node, claim)
        for _, device in record.devices(request)
        for device_id in device.cdi_device_ids
    ]


@then('container "{container}" of pod "{pod}" on "{node}" sees the devices of "{claims}" only')
def _(world: World, container: str, pod: str, node: str, claims: str) -> None:
    """The container's CDI devices are exactly those that drivers returned for these claims (comma-separated).

    `claim/request`: those for this request only.
    """
    view = views(world, node, pod)[container]
    wanted = sorted({device_id for claim in words(claims) for device_id in given_ids(world, node, claim)})
    world.check(
        sorted(view.cdi_devices) == wanted,
        f"container {container} sees its devices",
        expected=wanted,
        observed=sorted(view.cdi_devices),
    )
