"""What an allocation holds beside its devices: order, requests, configuration, node selector, shares."""

from __future__ import annotations

from typing import Any

from dra_api.objects import RESOURCE_CLAIMS, RESOURCE_SLICES, Obj
from dra_api.quantity import Quantity
from dra_conformance.core import manifests
from dra_conformance.engine.vocabulary import given, then, words
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.claims import allocation_of, claim_object, claim_spec, devices_of, results_of
from dra_conformance.steps.nodes import simulated_driver
from dra_conformance.steps.pod_claims import pods_with_claims


def configs_of(world: World, claim: str, source: str) -> list[Obj]:
    """The entries of `config` that come from this source."""
    found = (allocation_of(world.seen(RESOURCE_CLAIMS, claim)).get("devices") or {}).get("config") or ()
    return [entry for entry in found if entry.get("source") == source]


def origin(entry: Obj) -> object:
    """By which name the scenario's own configuration goes: its parameter `by`."""
    return ((entry.get("opaque") or {}).get("parameters") or {}).get("by")


# -- claims for shares -------------------------------------------------------------------------------------------------


def capacity_spec(class_name: str, count: int, wanted: Any) -> Obj:
    """The spec of a claim whose only request asks for capacity."""
    spec = claim_spec(class_name, count)
    spec["devices"]["requests"][0]["exactly"]["capacity"] = {
        "requests": {name: str(value) for name, value in wanted.items()}
    }
    return spec


@given('a ResourceClaim "{claim}" for {count:d} of "{name}" with capacity {wanted}')
def _(world: World, claim: str, count: int, name: str, wanted: str) -> None:
    """A claim with one request, `gpu`, that asks for some capacity of each device."""
    spec = capacity_spec(world.name(name), count, manifests.parse_value(wanted))
    world.create(claim_object(world, claim, spec))


@given('pods "{prefix}" 1 to {count:d} each using a claim of their own for 1 of "{name}" with capacity {wanted}')
def _(world: World, prefix: str, count: int, name: str, wanted: str) -> None:
    """Pods prefix-1 …, each with a claim of the same name that asks for capacity of one device."""
    pods_with_claims(world, prefix, count, capacity_spec(world.name(name), 1, manifests.parse_value(wanted)))


@given('claim "{claim}" in use holds the "{one}" devices "{ones}" and the "{two}" devices "{twos}" of "{node}"')
def _(world: World, claim: str, one: str, ones: str, two: str, twos: str, node: str) -> None:
    """A claim that holds devices of two drivers of the scenario by hand; `0, 2` of `gpu` are gpu-0 and gpu-2."""
    requests, results = [], []
    for kind, numbers in ((one, words(ones)), (two, words(twos))):
        exactly = {"deviceClassName": world.name(kind), "allocationMode": "ExactCount", "count": len(numbers)}
        requests.append({"name": kind, "exactly": exactly})
        base = {"request": kind, "driver": f"{kind}-{world.suffix}.dra.test", "pool": world.name(node)}
        results += [{**base, "device": f"{kind}-{number}"} for number in numbers]
    world.create(claim_object(world, claim, {"devices": {"requests": requests}}))
    only = {"key": "metadata.name", "operator": "In", "values": [world.name(node)]}

    def change(obj: Obj) -> None:
        selector = {"nodeSelectorTerms": [{"matchFields": [only]}]}
        obj.setdefault("status", {})["allocation"] = {"devices": {"results": results}, "nodeSelector": selector}

    world.update(RESOURCE_CLAIMS, claim, change, subresource="status")
    world.settle()  # from now on every scheduler knows that they are taken


# -- looking -----------------------------------------------------------------------------------------------------------


@then('claim "{claim}" is allocated the devices "{devices}" in this order')
def _(world: World, claim: str, devices: str) -> None:
    """The results of the claim come to be these devices, one after the other."""

    def look() -> Seen:
        held = devices_of(world.seen(RESOURCE_CLAIMS, claim))
        return held == words(devices), held or "not allocated"

    world.eventually(f"claim {claim} is allocated in order", look, expected=words(devices))


@then('claim "{claim}" serves the requests "{requests}"')
def _(world: World, claim: str, requests: str) -> None:
    """The claim comes to be allocated; the names in its results, one a device, are these in any order."""

    def look() -> Seen:
        served = sorted(str(result["request"]) for result in results_of(world.seen(RESOURCE_CLAIMS, claim)))
        return served == sorted(words(requests)), served or "not allocated"

    world.eventually(f"claim {claim} serves its requests", look, expected=sorted(words(requests)))


@then('the devices of claim "{claim}" have {count:d} different values of "{attribute}"')
def _(world: World, claim: str, count: int, attribute: str) -> None:
    """The claim comes to hold so many devices, no two of which have the same value of an attribute."""
    values = {
        device["name"]: (device.get("attributes") or {}).get(attribute)
        for piece in world.all_seen(RESOURCE_SLICES)
        if piece["spec"]["driver"] == simulated_driver(world)
        for device in piece["spec"].get("devices") or ()
    }

    def look() -> Seen:
        held = [(name, values.get(name)) for name in devices_of(world.seen(RESOURCE_CLAIMS, claim))]
        different = len({str(value) for _, value in held})
        return len(held) == different == count, held or "not allocated"

    world.eventually(f"the devices of {claim} differ", look, expected=f"{count} devices, all with another {attribute}")


@then('the node selector of claim "{claim}" is one term that asks for the labels "{labels}" once each')
def _(world: World, claim: str, labels: str) -> None:
    """The allocation's node selector has one term, and in it one expression for each of these labels."""

    def look() -> Seen:
        terms = (allocation_of(world.seen(RESOURCE_CLAIMS, claim)).get("nodeSelector") or {}).get(
            "nodeSelectorTerms"
        ) or []
        keys = [sorted(str(one["key"]) for one in term.get("matchExpressions") or ()) for term in terms]
        return keys == [sorted(words(labels))] and not terms[0].get("matchFields"), terms or "no selector"

    world.eventually(f"the node selector of {claim} is merged", look, expected=f"one term with {labels}")


@then('the class configuration of claim "{claim}" is there once, for all of "{requests}"')
def _(world: World, claim: str, requests: str) -> None:
    """The allocation has one entry from a class, and it names these requests."""

    def look() -> Seen:
        found = [sorted(entry.get("requests") or ()) for entry in configs_of(world, claim, "FromClass")]
        return found == [sorted(words(requests))], found

    world.eventually(f"class configuration of {claim}", look, expected=[sorted(words(requests))])


@then('claim "{claim}" has the claim configuration "{name}" for "{requests}"')
def _(world: World, claim: str, name: str, requests: str) -> None:
    """One entry from the claim has the parameter `by` of this value, and names these requests."""

    def look() -> Seen:
        mine = [entry for entry in configs_of(world, claim, "FromClaim") if origin(entry) == name]
        found = [sorted(entry.get("requests") or ()) for entry in mine]
        return found == [sorted(words(requests))], found

    world.eventually(f"configuration {name} of {claim}", look, expected=[sorted(words(requests))])


@then('claim "{claim}" has no claim configuration "{name}"')
def _(world: World, claim: str, name: str) -> None:
    """The claim is allocated, and no entry from the claim has the parameter `by` of this value."""

    def look() -> Seen:
        found = [origin(entry) for entry in configs_of(world, claim, "FromClaim")]
        return bool(found) and name not in found, found or "no configuration"

    world.eventually(f"no configuration {name} in {claim}", look, expected=f"others than {name}")


@then('request "{request}" of claim "{claim}" takes {amounts}')
def _(world: World, request: str, claim: str, amounts: str) -> None:
    """The result for the request comes to consume exactly these capacities."""
    wanted = {name: Quantity.parse(str(value)) for name, value in manifests.parse_value(amounts).items()}

    def look() -> Seen:
        mine = [one for one in results_of(world.seen(RESOURCE_CLAIMS, claim)) if one["request"] == request]
        taken = [
            {name: Quantity.parse(str(value)) for name, value in (one.get("consumedCapacity") or {}).items()}
            for one in mine
        ]
        return taken == [wanted], [one.get("consumedCapacity") for one in mine] or "not allocated"

    world.eventually(f"request {request} of {claim} takes its share", look, expected=amounts)


@then('the shares of claims "{claims}" have ids of their own')
def _(world: World, claims: str) -> None:
    """Every result of these claims has a shareID, and no two have the same."""

    def look() -> Seen:
        ids = [one.get("shareID") for name in words(claims) for one in results_of(world.seen(RESOURCE_CLAIMS, name))]
        return len(ids) > 0 and all(ids) and len(set(ids)) == len(ids), ids or "not allocated"

    world.eventually(f"shares of {claims} can be told apart", look, expected="different shareIDs")


@then('the allocation of claim "{claim}" says when it was made')
def _(world: World, claim: str) -> None:
    """The allocation has an allocationTimestamp."""

    def look() -> Seen:
        at = allocation_of(world.seen(RESOURCE_CLAIMS, claim)).get("allocationTimestamp")
        return bool(at), at or "no time"

    world.eventually(f"the allocation of {claim} has a time", look, expected="allocationTimestamp")


@then('claim "{claim}" comes to be allocated anew, with nothing reported of its devices')
def _(world: World, claim: str) -> None:
    """What was reported of the devices goes with the allocation that is given up, and the claim is allocated again."""

    reported = world.memory[f"reported/{claim}"]

    def look() -> Seen:
        seen = world.seen(RESOURCE_CLAIMS, claim) or {}
        status = seen.get("status") or {}
        later = bool(seen) and int(seen["metadata"]["resourceVersion"]) > reported
        anew = status.get("allocation") is not None and not status.get("devices") and bool(status.get("reservedFor"))
        return later and anew, {"allocated": status.get("allocation") is not None, "devices": status.get("devices")}

    world.eventually(f"claim {claim} is allocated anew", look, expected="an allocation without reports, reserved")
