"""Device taints: put on devices by hand or by rule, tolerated by claims, and what becomes of pods on such devices.

A taint is written as kubectl writes those of nodes, `key=value:Effect`; several are separated by commas.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from dra_api.clock import parse_timestamp
from dra_api.objects import DEVICE_TAINT_RULES, RESOURCE_CLAIMS, RESOURCE_SLICES, TAINT_RULE_VERSIONS, Obj, name_of
from dra_conformance.core import manifests
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.claims import allocate_by_hand, claim_object, claim_spec, results_of
from dra_conformance.steps.nodes import make_node, plain_devices, publish, simulated_driver, slice_object
from dra_conformance.steps.objects import attempt
from dra_conformance.steps.pods import BY_HAND, by_name, events_about, pod_object

_TAINT = re.compile(r"(?P<key>[^=:]+)(?:=(?P<value>[^:]*))?:(?P<effect>\w+)")
CLOCK_SLACK = 3.0
"""Seconds by which times of whole seconds, written while a scenario runs, may be off."""
GRACE = 30
"""Seconds in which an evicted pod of these scenarios can be looked at before it is gone."""


def read_taints(text: str) -> list[Obj]:
    """Taints from `key=value:Effect, …`. Raises SpecificationError for what is none."""
    found: list[Obj] = []
    for part in text.split(","):
        match = _TAINT.fullmatch(part.strip())
        if match is None:
            raise SpecificationError(f"{part.strip()!r} is no taint such as health=bad:NoExecute")
        found.append({key: value for key, value in match.groupdict().items() if value})
    return found


def read_tolerations(text: str) -> list[Obj]:
    """Tolerations from YAML: one mapping or a list of them."""
    found = manifests.parse_value(text)
    return list(found) if isinstance(found, list) else [found]


def taint(world: World, node: str, device: str, taints: Sequence[Obj]) -> None:
    """Replace the taints of a device of the driver on paper; the API server adds their time."""

    def change(obj: Obj) -> None:
        for entry in obj["spec"]["devices"]:
            if entry["name"] == device:
                entry["taints"] = list(taints)
                if not taints:
                    del entry["taints"]
                return
        raise SpecificationError(f"{node} has no device {device}")

    # Everything that went before has its effect first: a taint must not overtake the pod that it is about.
    world.settle()
    world.update(RESOURCE_SLICES, f"pool-{world.name(node)}", change)


def claim_with(world: World, claim: str, count: int, class_name: str, tolerations: Sequence[Obj]) -> Obj:
    """A claim with one request that tolerates taints."""
    spec = claim_spec(class_name, count)
    if tolerations:
        spec["devices"]["requests"][0]["exactly"]["tolerations"] = list(tolerations)
    return world.create(claim_object(world, claim, spec))


def run_on(
    world: World, pod: str, device: str, node: str, tolerations: Sequence[Obj] = (), *, namespace: str = ""
) -> None:
    """Let a pod use a device: claim, allocation, reservation and binding by hand; the claim is called like the pod."""
    claim_with(world, pod, 1, f"paper-{world.suffix}", tolerations)
    obj = pod_object(world, pod, [by_name(pod)], scheduler=BY_HAND)
    # No kubelet ends the pod, so that its last state can be seen.
    obj["spec"]["terminationGracePeriodSeconds"] = GRACE
    owner = world.create(obj)
    result: Obj = {
        "request": "gpu",
        "driver": simulated_driver(world),
        "pool": world.name(node),
        "device": device,
    }
    if tolerations:
        stored = world.get(RESOURCE_CLAIMS, pod)
        result["tolerations"] = stored["spec"]["devices"]["requests"][0]["exactly"]["tolerations"]
    allocate_by_hand(world, pod, world.name(node), [result], pods=[owner])
    world.client.bind(owner, world.name(node))


@given('node "{node}" with {count:d} devices, "{devices}" tainted "{taints}"')
def _(world: World, node: str, count: int, devices: str, taints: str) -> None:
    """A node with devices of the driver on paper, some of which have taints from the beginning."""
    tainted = set(words(devices))
    made = plain_devices(count)
    for device in made:
        if device["name"] in tainted:
            device["taints"] = read_taints(taints)
    make_node(world, node)
    publish(world, slice_object(world, node, made))


@given('device "{device}" of "{node}" is tainted "{taints}"')
def _(world: World, device: str, node: str, taints: str) -> None:
    """Put these taints, and no others, on a device of the driver on paper."""
    taint(world, node, device, read_taints(taints))


@when('device "{device}" of "{node}" is tainted "{taints}"')
def _(world: World, device: str, node: str, taints: str) -> None:
    """The same, as what happens in the scenario."""
    taint(world, node, device, read_taints(taints))


@when('device "{device}" of "{node}" loses its taints')
def _(world: World, device: str, node: str) -> None:
    """Take all taints off a device of the driver on paper."""
    taint(world, node, device, [])


@given('a ResourceClaim "{claim}" for {count:d} of "{name}" tolerating \'{tolerations}\'')
def _(world: World, claim: str, count: int, name: str, tolerations: str) -> None:
    """A claim whose request has tolerations (YAML, one or a list)."""
    claim_with(world, claim, count, world.name(name), read_tolerations(tolerations))


@given('pod "{pod}" runs on device "{device}" of "{node}"')
def _(world: World, pod: str, device: str, node: str) -> None:
    """A pod bound by hand, whose claim (of the same name) holds the device and tolerates no taint."""
    run_on(world, pod, device, node)


@given('pod "{pod}" runs on device "{device}" of "{node}" tolerating \'{tolerations}\'')
def _(world: World, pod: str, device: str, node: str, tolerations: str) -> None:
    """A pod bound by hand, whose claim (of the same name) holds the device with these tolerations."""
    run_on(world, pod, device, node, read_tolerations(tolerations))


@then('the allocation of claim "{claim}" carries the tolerations of its request')
def _(world: World, claim: str) -> None:
    """Every allocation result repeats the tolerations of the request that it serves."""

    def look() -> Seen:
        seen = world.seen(RESOURCE_CLAIMS, claim) or {}
        results = results_of(seen)
        wanted = {
            request["name"]: (request.get("exactly") or {}).get("tolerations")
            for request in (seen.get("spec") or {}).get("devices", {}).get("requests") or ()
        }
        told = [result.get("tolerations") for result in results]
        ok = bool(results) and all(result.get("tolerations") == wanted[result["request"]] for result in results)
        return ok, told or "not allocated"

    world.eventually(f"claim {claim} keeps its tolerations", look, expected="those of the request in each result")


@then('pod "{pod}" gets an event "{reason}" that says "{text}"')
def _(world: World, pod: str, reason: str, text: str) -> None:
    """An event with this reason comes to be recorded for the pod, and its message holds this text."""

    def look() -> Seen:
        seen = [
            (event.get("reason"), event.get("message") or event.get("note"))
            for event in events_about(world, "Pod", pod)
        ]
        return any(kind == reason and text in str(said) for kind, said in seen), seen or "no event"

    world.eventually(f"event {reason} for {pod}", look, expected=f"{reason} with {text!r}")


# -- rules of an administrator ---------------------------------------------------------------------------------------


def rule_resource(world: World) -> Any:
    """DeviceTaintRules in the newest version that is served. Raises Untestable when none is."""
    found = world.client.first_served(DEVICE_TAINT_RULES, TAINT_RULE_VERSIONS)
    if found is None:
        raise Untestable("the control plane serves no DeviceTaintRules")
    return found


def make_rule(world: World, rule: str, text: str, selector: Any) -> None:
    """Create a DeviceTaintRule; None: without a selector."""
    resource = rule_resource(world)
    spec: Obj = {"taint": read_taints(text)[0]}
    if selector is not None:
        spec["deviceSelector"] = selector
    obj = {
        "apiVersion": resource.api_version,
        "kind": "DeviceTaintRule",
        "metadata": {"name": world.name(rule)},
        "spec": spec,
    }
    world.settle()
    created = world.client.create(resource, obj)
    world.track(resource, world.name(rule))
    world.memory[f"rule {rule}"] = created["spec"]["taint"].get("timeAdded")


@when('the DeviceTaintRule "{rule}" taints device "{device}" of "{node}" "{taint}"')
def _(world: World, rule: str, device: str, node: str, taint: str) -> None:
    """An administrator taints one device by driver, pool and name."""
    make_rule(world, rule, taint, {"driver": simulated_driver(world), "pool": world.name(node), "device": device})


@when('the DeviceTaintRule "{rule}" taints all devices of the driver "{taint}"')
def _(world: World, rule: str, taint: str) -> None:
    """An administrator taints every device of the driver on paper."""
    make_rule(world, rule, taint, {"driver": simulated_driver(world)})


@when('the DeviceTaintRule "{rule}" without a selector taints "{taint}"')
def _(world: World, rule: str, taint: str) -> None:
    """An administrator makes a rule that selects nothing."""
    make_rule(world, rule, taint, None)


@when('the DeviceTaintRule "{rule}" changes its effect to {effect:word}')
def _(world: World, rule: str, effect: str) -> None:
    """An administrator changes the effect of a rule."""

    def change(obj: Obj) -> None:
        obj["spec"]["taint"]["effect"] = effect

    world.settle()
    world.update(rule_resource(world), world.name(rule), change)


@then('the DeviceTaintRule "{rule}" says EvictionInProgress {status:word} because of {reason:word}')
def _(world: World, rule: str, status: str, reason: str) -> None:
    """The rule's condition EvictionInProgress comes to this status and reason."""
    resource = rule_resource(world)

    def look() -> Seen:
        found = world.client.get(resource, world.name(rule))
        for condition in (found.get("status") or {}).get("conditions") or ():
            if condition.get("type") == "EvictionInProgress":
                return condition.get("status") == status and condition.get("reason") == reason, condition
        return False, "no such condition"

    world.eventually(f"status of {rule}", look, expected={"status": status, "reason": reason})


@then('the condition of the DeviceTaintRule "{rule}" says "{text}"')
def _(world: World, rule: str, text: str) -> None:
    """The message of the rule's condition EvictionInProgress comes to hold this text."""
    resource = rule_resource(world)

    def look() -> Seen:
        found = world.client.get(resource, world.name(rule))
        said = [
            str(condition.get("message"))
            for condition in (found.get("status") or {}).get("conditions") or ()
            if condition.get("type") == "EvictionInProgress"
        ]
        return any(text in message for message in said), said or "no such condition"

    world.eventually(f"status of {rule}", look, expected=f"a message with {text!r}")


@when('a DeviceTaintRule with effect "{effect}" is created')
def _(world: World, effect: str) -> None:
    """Send a rule whose taint has this effect, which the API server may refuse."""
    resource = rule_resource(world)
    obj: Obj = {
        "apiVersion": resource.api_version,
        "kind": "DeviceTaintRule",
        "metadata": {"name": world.name("tried")},
        "spec": {"deviceSelector": {"driver": simulated_driver(world)}, "taint": {"key": "upkeep", "effect": effect}},
    }
    attempt(world, lambda: create_rule(world, resource, obj))


def create_rule(world: World, resource: Any, obj: Obj) -> Obj:
    """Create a rule that goes with the scenario."""
    created = world.client.create(resource, obj)
    world.track(resource, name_of(created))
    return created


@then('the taint of the DeviceTaintRule "{rule}" counts from {seconds:d} seconds later')
def _(world: World, rule: str, seconds: int) -> None:
    """Its timeAdded is this much later than when the rule was made, within three seconds."""
    before = parse_timestamp(str(world.memory[f"rule {rule}"]))
    held = world.client.get(rule_resource(world), world.name(rule))["spec"]["taint"].get("timeAdded")
    moved = (parse_timestamp(str(held)) - before).total_seconds() if held else None
    ok = moved is not None and abs(moved - seconds) <= CLOCK_SLACK
    world.check(ok, f"time of the taint of {rule}", expected=f"{seconds} s later", observed=f"{moved} s later")
