"""Extended resources that classes stand for: what is left of an earlier attempt, and the claims behind pods."""

from __future__ import annotations

from dra_api.objects import (
    PODS,
    RESOURCE_CLAIMS,
    Obj,
    controller_of,
    meta,
    name_of,
    owner_reference,
    uid_of,
)
from dra_conformance.core import manifests
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.claims import allocate_by_hand, claim_object, claim_spec, paper_results, results_of
from dra_conformance.steps.nodes import simulated_driver
from dra_conformance.steps.scheduling import expression_of

ANNOTATION = "resource.kubernetes.io/extended-resource-claim"


def claims_behind(world: World, pod: str) -> list[Obj]:
    """The claims that were made for the extended resources of a pod, as last seen."""
    owner = uid_of(world.get(PODS, pod))
    return [
        claim
        for claim in world.all_seen(RESOURCE_CLAIMS)
        if (meta(claim).get("annotations") or {}).get(ANNOTATION) == "true"
        and (controller_of(claim) or {}).get("uid") == owner
    ]


def make_class(world: World, name: str, expression: str, resource: str) -> None:
    """A class that selects devices and stands for an extended resource, seen by all before the scenario goes on."""
    world.create(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": world.name(name)},
            "spec": {
                "selectors": [{"cel": {"expression": expression_of(world, expression)}}],
                "extendedResourceName": world.text(resource),
            },
        }
    )
    world.settle()  # which class stands for the resource depends on all of them


@given('a DeviceClass "{name}" for those devices standing for "{resource}"')
def _(world: World, name: str, resource: str) -> None:
    """A class for every device of the driver on paper, with an extendedResourceName."""
    make_class(world, name, f'device.driver == "{simulated_driver(world)}"', resource)


@given('a DeviceClass "{name}" selecting \'{expression}\' standing for "{resource}"')
@when('a DeviceClass "{name}" selecting \'{expression}\' standing for "{resource}" is created')
def _(world: World, name: str, expression: str, resource: str) -> None:
    """A class with one CEL selector and an extendedResourceName."""
    make_class(world, name, expression, resource)


@given('a claim "{claim}" of an earlier attempt for the extended resources of pod "{pod}" on class "{name}"')
def _(world: World, claim: str, pod: str, name: str) -> None:
    """The claim that a scheduler would have left that ended just after making it."""
    leave_claim(world, claim, pod, name)


@given('a claim "{claim}" of an earlier attempt for pod "{pod}" on class "{name}" holds device "{device}" of "{node}"')
def _(world: World, claim: str, pod: str, name: str, device: str, node: str) -> None:
    """The claim that a scheduler would have left that ended between allocating it and binding the pod."""
    leave_claim(world, claim, pod, name)

    def change(obj: Obj) -> None:
        obj["metadata"]["finalizers"] = ["resource.kubernetes.io/delete-protection"]

    world.update(RESOURCE_CLAIMS, claim, change)
    results = paper_results(world, node, device, request="container-0-request-0")
    allocate_by_hand(world, claim, world.name(node), results, pods=[world.get(PODS, pod)])


def leave_claim(world: World, claim: str, pod: str, name: str) -> None:
    """A claim for one device, marked as the pod's extended resources and owned by it."""
    owner = {**world.get(PODS, pod), "apiVersion": "v1", "kind": "Pod"}
    made = claim_object(world, claim, claim_spec(world.name(name)))
    made["spec"]["devices"]["requests"][0]["name"] = "container-0-request-0"
    made["metadata"]["annotations"] = {ANNOTATION: "true"}
    made["metadata"]["ownerReferences"] = [owner_reference(owner, controller=True, block_owner_deletion=True)]
    world.create(made)
    world.settle()  # what an earlier attempt left has long been there for all to see


@then('one claim with the devices "{devices}" comes to stand behind pod "{pod}"')
def _(world: World, devices: str, pod: str) -> None:
    """One claim that the pod controls is marked as its extended resources, allocated so, and reserved for the pod."""
    wanted = sorted(words(devices))

    def look() -> Seen:
        found = claims_behind(world, pod)
        held = [sorted(str(result["device"]) for result in results_of(claim)) for claim in found]
        users = [entry.get("name") for claim in found for entry in (claim.get("status") or {}).get("reservedFor") or ()]
        return held == [wanted] and users == [pod], {"devices": held, "reserved for": users}

    world.eventually(f"a claim stands behind {pod}", look, expected=wanted)


@then('a claim with {count:d} devices comes to stand behind pod "{pod}"')
def _(world: World, count: int, pod: str) -> None:
    """One claim that the pod controls is marked as its extended resources and holds so many devices."""

    def look() -> Seen:
        held = [len(results_of(claim)) for claim in claims_behind(world, pod)]
        return held == [count], held

    world.eventually(f"a claim stands behind {pod}", look, expected=f"one claim of {count} devices")


@then('no claim stands behind pod "{pod}"')
def _(world: World, pod: str) -> None:
    """No claim was made for the pod's extended resources, also after everything has come to rest."""

    def look() -> Seen:
        found = [name_of(claim) for claim in claims_behind(world, pod)]
        recorded = ((world.seen(PODS, pod) or {}).get("status") or {}).get("extendedResourceClaimStatus")
        return not found and not recorded, found or recorded or "none"

    world.stays(f"no claim stands behind {pod}", look, expected="no claim")


@then('the claim behind pod "{pod}" comes to be gone')
def _(world: World, pod: str) -> None:
    """The claim that was made for the pod's extended resources is deleted."""

    def look() -> Seen:
        found = [name_of(claim) for claim in claims_behind(world, pod)]
        return not found, found

    world.eventually(f"the claim behind {pod} is gone", look, expected="no claim")


@then('the claim behind pod "{pod}" has "{path}" {value}')
def _(world: World, pod: str, path: str, value: str) -> None:
    """A field of the claim that was made for the pod's extended resources comes to this value."""
    wanted = manifests.parse_value(world.text(value))

    def look() -> Seen:
        found = [manifests.look_up(claim, path) for claim in claims_behind(world, pod)]
        return found == [wanted], found

    world.eventually(f"{path} of the claim behind {pod}", look, expected=wanted)


@then('the status of pod "{pod}" maps container "{name}" to {requests} of "{resource}"')
def _(world: World, pod: str, name: str, requests: str, resource: str) -> None:
    """extendedResourceClaimStatus names the claim, and which of its requests a container uses for a resource."""
    wanted = sorted(manifests.parse_value(requests))

    def look() -> Seen:
        status = ((world.seen(PODS, pod) or {}).get("status") or {}).get("extendedResourceClaimStatus") or {}
        mine = [
            str(one["requestName"])
            for one in status.get("requestMappings") or ()
            if one.get("containerName") == name and one.get("resourceName") == world.text(resource)
        ]
        known = [name_of(claim) for claim in claims_behind(world, pod)]
        return sorted(mine) == wanted and status.get("resourceClaimName") in known, status or "no status"

    world.eventually(f"the status of {pod} tells of its devices", look, expected=wanted)
