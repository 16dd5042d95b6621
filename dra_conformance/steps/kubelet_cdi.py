"""CDI specifications that a scenario writes for a scripted driver, and pods that use their devices."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

from dra_api.objects import PODS
from dra_conformance.components.scripted_driver import ScriptedDriver
from dra_conformance.core.manifests import parse_value
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.containers import contents, views
from dra_conformance.steps.kubelet import create_reserved
from dra_conformance.steps.pods import BY_HAND, by_name, check_phases, event_text, events_about, pod_object
from dra_conformance.steps.scripted_drivers import claim_for, group, scripted

_REQUESTS_MAX = 32
"""The number of requests that a claim can have."""


@dataclass(slots=True)
class CdiPods:
    """The pods of the scenario's table, and the devices of pods with several: file and CDI id of each."""

    pods: list[str] = field(default_factory=list)
    devices: dict[str, dict[Path, str]] = field(default_factory=dict)


def write_file(world: World, driver: str, name: str, text: str, *, folder: int = 0) -> Path:
    """Write a file to a CDI folder of a scripted driver's node, and return its path.

    Drivers use `folder` 0, which has the lowest priority.
    """
    file = world.node(group(world, driver).node).kubelet.cdi_roots[folder] / name
    rewrite(file, text)
    return file


def rewrite(file: Path, text: str) -> None:
    """Write a file, or another one in its place."""
    # Renamed into place: a runtime must not read a partial file.
    temporary = file.with_name(f".{file.name}.tmp")
    temporary.write_text(text)
    temporary.rename(file)


def filled(driver: ScriptedDriver, text: str, device: str = "") -> str:
    """Fill `$(kind)` and `$(driver)` with the driver's CDI kind and name, and `$(device)`."""
    return text.replace("$(kind)", driver.kind).replace("$(driver)", driver.name).replace("$(device)", device)


@given('the CDI file "{name}" of the scripted driver "{driver}" is {text}')
@when('the CDI file "{name}" of the scripted driver "{driver}" is {text}')
def _(world: World, name: str, driver: str, text: str) -> None:
    """Write this text to a CDI file; `$(kind)` is the kind of the driver's devices."""
    write_file(world, driver, name, filled(scripted(world, driver), text))


@given('the second CDI folder has the file "{name}" of the scripted driver "{driver}" with {text}')
def _(world: World, name: str, driver: str, text: str) -> None:
    """Write this text to a CDI file in the folder of higher priority; `$(kind)` is the kind of the driver's devices."""
    write_file(world, driver, name, filled(scripted(world, driver), text), folder=1)


@given('claim "{claim}" gets the CDI ids "{ids}" from the scripted driver "{driver}"')
def _(world: World, claim: str, ids: str, driver: str) -> None:
    """Every device of the claim has these CDI ids; `$(kind)` is the kind of the driver's devices."""
    found = scripted(world, driver)
    found.device_ids[claim] = tuple(words(filled(found, ids)))


@given('pods with a CDI device of the scripted driver "{driver}" on "{node}":')
def _(world: World, driver: str, node: str, datatable: list[list[str]]) -> None:
    """A pod with a claim for each row, and the CDI specification of the claim's device.

    Columns: pod; version of CDI; edits of the device; edits of a second, unused device; fields that the document has in
    addition or in place of others.
    """
    header, *rows = datatable
    found = scripted(world, driver)
    for row in rows:
        cells = dict(zip(header, row, strict=True))
        pod = cells["pod"]
        world.state(CdiPods).pods.append(pod)
        claim_for(world, pod, node, [("gpu", driver)])
        found.without_spec.add(pod)
        write_specification(world, driver, pod, "gpu", cells)
        create_reserved(world, pod_object(world, pod, [by_name(pod)], scheduler=BY_HAND), [pod])


@given('a pod "{pod}" with CDI devices of the scripted driver "{driver}" on "{node}":')
def _(world: World, pod: str, driver: str, node: str, datatable: list[list[str]]) -> None:
    """A pod with a device for each row, and the CDI specification of each device in a file of its own.

    Columns: device; version of CDI; edits of the device; fields that the document has in addition or in place of
    others.
    """
    header, *rows = datatable
    found = scripted(world, driver)
    devices = world.state(CdiPods).devices.setdefault(pod, {})
    table = [dict(zip(header, row, strict=True)) for row in rows]
    claims: list[str] = []
    for first in range(0, len(table), _REQUESTS_MAX):
        several = table[first : first + _REQUESTS_MAX]
        claim = f"{pod}-{len(claims)}"
        claims.append(claim)
        claim_for(world, claim, node, [(cells["device"], driver) for cells in several])
        found.without_spec.add(claim)
        for cells in several:
            file, device_id = write_specification(world, driver, claim, cells["device"], cells)
            devices[file] = device_id
    create_reserved(world, pod_object(world, pod, [by_name(claim) for claim in claims], scheduler=BY_HAND), claims)


def write_specification(world: World, driver: str, claim: str, request: str, cells: dict[str, str]) -> tuple[Path, str]:
    """Write the CDI document of a row for the device of a request, and let the driver return the device's id.

    Return the file and the id.
    """
    found = scripted(world, driver)
    name = f"{claim}-{request}"
    devices = [{"name": name, "containerEdits": parse_value(cells["edits"])}]
    if unused := cells.get("unused device"):
        devices.append({"name": f"{name}-unused", "containerEdits": parse_value(unused)})
    document = {
        "cdiVersion": cells["version"],
        "kind": found.kind,
        "devices": devices,
        **(parse_value(filled(found, cells["document"], name)) if cells["document"] else {}),
    }
    # A specification of a kind without the driver's name is not that of the device.
    kind = document["kind"] if found.name in document["kind"] else found.kind
    found.device_ids[f"{claim}/{request}"] = (f"{kind}={name}",)
    return write_file(world, driver, f"{name}.json", json.dumps(document)), f"{kind}={name}"


@when('all these pods are bound by hand to "{node}"')
def _(world: World, node: str) -> None:
    """Bind the pods of the table."""
    for pod in world.state(CdiPods).pods:
        world.client.bind(world.get(PODS, pod), world.name(node))


@when('the CDI specifications of pod "{pod}" are replaced by valid ones')
def _(world: World, pod: str) -> None:
    """Write a valid specification for each device of the pod."""
    for file, device_id in world.state(CdiPods).devices[pod].items():
        kind, _, name = device_id.partition("=")
        devices = [{"name": name, "containerEdits": {"env": ["A=1"]}}]
        # The first version with dots in the class.
        rewrite(file, json.dumps({"cdiVersion": "0.6.0", "kind": kind, "devices": devices}))


@then("all these pods reach phase {phase:word}")
def _(world: World, phase: str) -> None:
    """Every pod of the table comes to this phase."""
    check_phases(world, world.state(CdiPods).pods, phase)


@then('an event of pod "{pod}" names all of its CDI devices as unresolvable')
def _(world: World, pod: str) -> None:
    """One event of the pod has the CDI ids of all devices that were written for the pod."""
    wanted = world.state(CdiPods).devices[pod].values()

    def look() -> Seen[list[str] | None]:
        several = [event_text(event) for event in events_about(world, "Pod", pod)]
        several = [text for text in several if "unresolvable CDI devices" in text]
        if not several:
            return False, None
        # The ids end with the first semicolon; the devices that exist may follow.
        listed = re.findall(r"[^\s,]+", several[-1].partition("unresolvable CDI devices")[2].partition(";")[0])
        absent = sorted(set(wanted).difference(listed))
        return not absent, absent

    world.eventually(f"CDI ids of {pod} that no event names as unresolvable", look, expected=[])


@then('container "{container}" of each of these pods on "{node}" has the variable "{name}"')
def _(world: World, container: str, node: str, name: str) -> None:
    """The container of every pod of the table has an environment variable."""
    pods = world.state(CdiPods).pods
    without = [pod for pod in pods if name not in contents(views(world, node, pod)[container], "variables")]
    world.check(not without, f"pods without variable {name} in {container}", expected=[], observed=without)
