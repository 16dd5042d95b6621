"""CDI specifications that a scenario writes for a scripted driver, and pods that use their devices."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson

from dra_api.objects import PODS
from dra_conformance.components.scripted_driver import ScriptedDriver
from dra_conformance.core.manifests import parse_value
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.containers import contents, views
from dra_conformance.steps.kubelet import create_reserved
from dra_conformance.steps.pods import BY_HAND, by_name, check_phases, event_text, events_about, phase_of, pod_object
from dra_conformance.steps.scripted_drivers import claim_for, group, scripted

_WORKING = "valid"
"""The pod of a table whose specification is valid from the beginning."""


@dataclass(slots=True)
class CdiPods:
    """The pods of the scenario's table and their driver."""

    driver: str = ""
    pods: list[str] = field(default_factory=list)


def write_file(world: World, driver: str, name: str, text: str) -> None:
    """Write a file to the CDI folder of a scripted driver's node."""
    folder = world.node(group(world, driver).node).kubelet.cdi_roots[0]
    # Renamed into place: a runtime must not read a partial file.
    temporary = folder / f".{name}.tmp"
    temporary.write_text(text)
    temporary.rename(folder / name)


def filled(driver: ScriptedDriver, text: str) -> str:
    """Fill `$(kind)` and `$(driver)` with the driver's CDI kind and name."""
    return text.replace("$(kind)", driver.kind).replace("$(driver)", driver.name)


@given('the CDI file "{name}" of the scripted driver "{driver}" is {text}')
@when('the CDI file "{name}" of the scripted driver "{driver}" is {text}')
def _(world: World, name: str, driver: str, text: str) -> None:
    """Write this text to a CDI file; `$(kind)` is the kind of the driver's devices."""
    write_file(world, driver, name, filled(scripted(world, driver), text))


@given('claim "{claim}" gets the CDI ids "{ids}" from the scripted driver "{driver}"')
def _(world: World, claim: str, ids: str, driver: str) -> None:
    """Every device of the claim has these CDI ids; `$(kind)` is the kind of the driver's devices."""
    found = scripted(world, driver)
    found.device_ids[claim] = tuple(words(filled(found, ids)))


@given('pods with a CDI device of the scripted driver "{driver}" on "{node}":')
def _(world: World, driver: str, node: str, datatable: list[list[str]]) -> None:
    """A pod with a claim for each row, and the CDI specification of the claim's device.

    Columns: pod; version of CDI; edits of the device; optional: edits of a second, unused device; fields that the
    document has in addition or in place of others.
    """
    header, *rows = datatable
    found = scripted(world, driver)
    table = world.state(CdiPods)
    table.driver = driver
    for row in rows:
        cells = dict(zip(header, row, strict=True))
        pod = cells["pod"]
        table.pods.append(pod)
        claim_for(world, pod, node, [("gpu", driver)])
        document = specification(found, pod, cells)
        found.without_spec.add(pod)
        if document["kind"].startswith(f"{found.name}/"):
            found.device_ids[pod] = (f"{document['kind']}={pod}-gpu",)
        write_file(world, driver, f"{pod}.json", orjson.dumps(document).decode())
        create_reserved(world, pod_object(world, pod, [by_name(pod)], scheduler=BY_HAND), [pod])


def specification(driver: ScriptedDriver, claim: str, cells: dict[str, str]) -> dict[str, Any]:
    """Return the CDI document of a row."""
    devices = [{"name": f"{claim}-gpu", "containerEdits": parse_value(cells["edits"])}]
    if unused := cells.get("unused device"):
        devices.append({"name": f"{claim}-unused", "containerEdits": parse_value(unused)})
    return {
        "cdiVersion": cells["version"],
        "kind": driver.kind,
        "devices": devices,
        **(parse_value(filled(driver, cells["document"])) if cells["document"] else {}),
    }


@when('all these pods are bound by hand to "{node}"')
def _(world: World, node: str) -> None:
    """Bind the pods of the table."""
    for pod in world.state(CdiPods).pods:
        world.client.bind(world.get(PODS, pod), world.name(node))


@when("their CDI specifications are replaced by valid ones")
def _(world: World) -> None:
    """Write a valid specification for each pod of the table."""
    table = world.state(CdiPods)
    found = scripted(world, table.driver)
    for pod in table.pods:
        # The kubelet has the id already; a class with a dot needs version 0.6.0.
        kind = found.device_ids[pod][0].partition("=")[0] if pod in found.device_ids else found.kind
        cells = {"version": "0.6.0", "edits": "{env: [A=1]}", "document": f"{{kind: {kind}}}"}
        write_file(world, table.driver, f"{pod}.json", orjson.dumps(specification(found, pod, cells)).decode())


@then("all these pods reach phase {phase:word}")
def _(world: World, phase: str) -> None:
    """Every pod of the table comes to this phase."""
    check_phases(world, world.state(CdiPods).pods, phase)


@then("none of the other pods runs")
def _(world: World) -> None:
    """Every pod of the table except `valid` is Pending after everything has settled."""
    others = [pod for pod in world.state(CdiPods).pods if pod != _WORKING]

    def look() -> Seen:
        wrong = {pod: seen for pod in others if (seen := phase_of(world, pod)) != "Pending"}
        return not wrong, wrong or "Pending"

    world.stays("the pods do not run", look, expected="Pending")


@then('an event of each of the other pods says "{text}"')
def _(world: World, text: str) -> None:
    """Every pod of the table except `valid` has an event with this text."""
    others = [pod for pod in world.state(CdiPods).pods if pod != _WORKING]

    def look() -> Seen:
        said = {pod: [event_text(event) for event in events_about(world, "Pod", pod)] for pod in others}
        wrong = {pod: messages for pod, messages in said.items() if not any(text in one for one in messages)}
        return not wrong, wrong or text

    world.eventually("events of the pods", look, expected=f"an event with {text!r} for each pod")


@then('container "{container}" of each of these pods on "{node}" has the variable "{name}"')
def _(world: World, container: str, node: str, name: str) -> None:
    """The container of every pod of the table has an environment variable."""
    pods = world.state(CdiPods).pods
    without = [pod for pod in pods if name not in contents(views(world, node, pod)[container], "variables")]
    world.check(not without, f"variable {name} of the containers", expected="in all pods", observed=without or "in all")
