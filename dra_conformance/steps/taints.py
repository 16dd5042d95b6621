"""Device taints: set on devices by their driver or by DeviceTaintRules, and tolerated by claims.

A taint is written as kubectl writes those of nodes, `key=value:Effect`; commas separate several.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from dra_api.clock import parse_timestamp
from dra_api.objects import RESOURCE_CLAIMS, RESOURCE_SLICES, Obj, Resource, name_of
from dra_conformance.core import manifests
from dra_conformance.core.errors import SpecificationError
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import World
from dra_conformance.steps.claims import allocate_by_hand, claim_object, claim_spec
from dra_conformance.steps.nodes import make_node, plain_devices, publish, simulated_driver, slice_object
from dra_conformance.steps.objects import Requests, attempt
from dra_conformance.steps.pods import BY_HAND, add_pod, by_name, pod_object
from dra_conformance.steps.references import taint_rules

_TAINT = re.compile(r"(?P<key>[^=:]+)(?:=(?P<value>[^:]*))?:(?P<effect>\w+)")
CLOCK_SLACK = 3.0
"""Allowed deviation in seconds of times that have whole seconds and are written while a scenario runs."""
GRACE = 30
"""Grace period in seconds of pods in these scenarios, in which an evicted pod can still be read."""


def read_taints(text: str) -> list[Obj]:
    """Read taints such as `key=value:Effect, …`. Raises SpecificationError for other text."""
    found: list[Obj] = []
    for part in text.split(","):
        match = _TAINT.fullmatch(part.strip())
        if match is None:
            raise SpecificationError(f"{part.strip()!r} is not a taint such as health=bad:NoExecute")
        found.append({key: value for key, value in match.groupdict().items() if value})
    return found


def read_tolerations(text: str) -> list[Obj]:
    """Read tolerations from YAML: one mapping or a list of them."""
    found = manifests.parse_value(text)
    return list(found) if isinstance(found, list) else [found]


def taint(world: World, node: str, device: str, taints: Sequence[Obj]) -> None:
    """Replace the taints of a device of the simulated driver; the API server adds their time."""

    def change(obj: Obj) -> None:
        for entry in obj["spec"]["devices"]:
            if entry["name"] == device:
                entry["taints"] = list(taints)
                if not taints:
                    del entry["taints"]
                return
        raise SpecificationError(f"{node} has no device {device}")

    # Earlier steps must have their effect first: a taint must not overtake the pod on the device.
    world.settle()
    world.update(RESOURCE_SLICES, f"pool-{world.name(node)}", change)


def claim_with(world: World, claim: str, count: int, class_name: str, tolerations: Sequence[Obj]) -> Obj:
    """Create a claim with one request that tolerates taints."""
    spec = claim_spec(class_name, count)
    if tolerations:
        spec["devices"]["requests"][0]["exactly"]["tolerations"] = list(tolerations)
    return world.create(claim_object(world, claim, spec))


def run_on(
    world: World, pod: str, device: str, node: str, tolerations: Sequence[Obj] = (), *, namespace: str = ""
) -> None:
    """Create a pod that uses a device: claim (of the same name), allocation, reservation and binding by hand."""
    claim_with(world, pod, 1, f"paper-{world.suffix}", tolerations)
    obj = pod_object(world, pod, [by_name(pod)], scheduler=BY_HAND)
    # No kubelet ends the pod, so its last state can be read.
    obj["spec"]["terminationGracePeriodSeconds"] = GRACE
    owner = add_pod(world, obj)
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
    """Create a node with devices of the simulated driver, some of which have taints from the beginning."""
    tainted = set(words(devices))
    made = plain_devices(count)
    for device in made:
        if device["name"] in tainted:
            device["taints"] = read_taints(taints)
    make_node(world, node)
    publish(world, slice_object(world, node, made))


@when('device "{device}" of "{node}" is tainted "{taints}"')
def _(world: World, device: str, node: str, taints: str) -> None:
    """Replace the taints of a device of the simulated driver."""
    taint(world, node, device, read_taints(taints))


@when('device "{device}" of "{node}" loses its taints')
def _(world: World, device: str, node: str) -> None:
    """Remove all taints from a device of the simulated driver."""
    taint(world, node, device, [])


@given('pod "{pod}" runs on device "{device}" of "{node}"')
def _(world: World, pod: str, device: str, node: str) -> None:
    """Create a pod that is bound by hand; its claim (of the same name) has the device and tolerates no taint."""
    run_on(world, pod, device, node)


@given('pod "{pod}" runs on device "{device}" of "{node}" tolerating \'{tolerations}\'')
def _(world: World, pod: str, device: str, node: str, tolerations: str) -> None:
    """Create a pod that is bound by hand; its claim (of the same name) has the device and these tolerations."""
    run_on(world, pod, device, node, read_tolerations(tolerations))


# -- DeviceTaintRules --------------------------------------------------------------------------------------------------


@dataclass
class TaintTimes:
    """`timeAdded` of the taint in each DeviceTaintRule when it was created."""

    added: dict[str, str] = field(default_factory=dict)


@when('a DeviceTaintRule "{rule}" is created with:')
def _(world: World, rule: str, docstring: str) -> None:
    """Create a DeviceTaintRule with this spec (YAML), which the API server may refuse as invalid."""
    resource = taint_rules(world)
    obj: Obj = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": world.name(rule)},
        "spec": manifests.parse_value(world.text(docstring)),
    }
    world.settle()
    attempt(world, lambda: create_rule(world, resource, obj))
    created, refusal = world.state(Requests).answer, world.state(Requests).refusal
    # Any other refusal, such as a missing permission, is no verdict on the rule.
    if refusal is not None and refusal.reason != "Invalid":
        raise refusal
    if created is not None:
        world.state(TaintTimes).added[rule] = str(created["spec"]["taint"].get("timeAdded"))


def create_rule(world: World, resource: Resource, obj: Obj) -> Obj:
    """Create a DeviceTaintRule that is deleted when the scenario ends."""
    created = world.client.create(resource, obj)
    world.track(resource, name_of(created))
    return created


@then('the taint of the DeviceTaintRule "{rule}" counts from {seconds:d} seconds later')
def _(world: World, rule: str, seconds: int) -> None:
    """`timeAdded` is this much later than when the rule was created, within three seconds."""
    before = parse_timestamp(world.state(TaintTimes).added[rule])
    held = world.client.get(taint_rules(world), world.name(rule))["spec"]["taint"].get("timeAdded")
    moved = (parse_timestamp(str(held)) - before).total_seconds() if held else None
    ok = moved is not None and abs(moved - seconds) <= CLOCK_SLACK
    observed = "no time" if moved is None else f"{moved:g} s later"
    world.check(ok, f"time of the taint of {rule}", expected=f"{seconds} s later", observed=observed)
