"""Claims as their pods know them: by a name of the pod's own, from a template or one by one."""

from __future__ import annotations

from dra_api.objects import PODS, RESOURCE_CLAIMS, Obj, uid_of
from dra_conformance.engine.vocabulary import given, then, words
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.bind_requests import entries_of, request_of
from dra_conformance.steps.claims import allocation_of, claim_object, claim_spec, consumers, devices_of, template_object
from dra_conformance.steps.pods import by_name, pod_object, scheduler_of


def claim_of(world: World, pod: str, reference: str) -> str:
    """The name of the claim behind a pod's own name for it; empty while it is not known."""
    seen = world.seen(PODS, pod) or {}
    for found in (seen.get("spec") or {}).get("resourceClaims") or ():
        if found.get("name") == reference and found.get("resourceClaimName"):
            return str(found["resourceClaimName"])
    for status in (seen.get("status") or {}).get("resourceClaimStatuses") or ():
        if status.get("name") == reference:
            return str(status.get("resourceClaimName") or "")
    return ""


def pods_with_claims(world: World, prefix: str, count: int, spec: Obj) -> None:
    """Create pods prefix-1 …, each with a claim of the same name and this spec."""
    for number in range(1, count + 1):
        claim = f"{prefix}-{number}"
        world.create(claim_object(world, claim, spec))
        world.create(pod_object(world, claim, [by_name(claim)], scheduler=scheduler_of(world)))


@given('pods "{prefix}" 1 to {count:d} each using a claim of their own for 1 of "{name}"')
def _(world: World, prefix: str, count: int, name: str) -> None:
    """Pods prefix-1 …, each with a claim of the same name that asks for one device of a class."""
    pods_with_claims(world, prefix, count, claim_spec(world.name(name)))


@given('a pod "{pod}" using claim "{claim}" as "{names}"')
def _(world: World, pod: str, claim: str, names: str) -> None:
    """A pod that names one claim under several names of its own."""
    references = [{"name": name, "resourceClaimName": claim} for name in words(names)]
    world.create(pod_object(world, pod, references, scheduler=scheduler_of(world)))


@given('a ResourceClaimTemplate "{template}" for every "{name}"')
def _(world: World, template: str, name: str) -> None:
    """A template of claims for all devices of a class on one node."""
    spec = {
        "devices": {
            "requests": [{"name": "gpu", "exactly": {"deviceClassName": world.name(name), "allocationMode": "All"}}]
        }
    }
    world.create(template_object(world, template, spec))


@given('the claim of pod "{pod}" called "{reference}" is known as "{name}"')
def _(world: World, pod: str, reference: str, name: str) -> None:
    """Wait for the claim of a template, and remember it under a name."""
    world.require(
        f"pod {pod} has its claim", lambda: (bool(found := claim_of(world, pod, reference)), found or "no claim yet")
    )
    world.memory[f"known/{name}"] = claim_of(world, pod, reference)


@then('the claim known as "{name}" holds the devices "{devices}" and is reserved for pod "{pod}"')
def _(world: World, name: str, devices: str, pod: str) -> None:
    """Status of a generated claim: these devices, this pod."""
    claim = world.memory[f"known/{name}"]

    def look() -> Seen:
        seen = world.seen(RESOURCE_CLAIMS, claim) or {}
        uids = [user.get("uid") for user in consumers(seen)]
        held = sorted(devices_of(seen))
        return held == sorted(words(devices)) and uids == [uid_of(world.seen(PODS, pod) or {})], seen.get("status")

    world.eventually(f"claim {claim} of {pod}", look, expected=f"{devices}, reserved for {pod}")


@then('the claim of pod "{pod}" called "{reference}" is allocated what its BindRequest gave it')
def _(world: World, pod: str, reference: str) -> None:
    """Devices and configuration of claim and entry are the same."""

    def look() -> Seen:
        held = allocation_of(world.seen(RESOURCE_CLAIMS, claim_of(world, pod, reference)))
        given_by = entries_of(request_of(world, pod)).get(reference) or {}
        same = bool(held) and held.get("devices") == given_by.get("devices")
        return same, {"claim": held.get("devices"), "BindRequest": given_by.get("devices")}

    world.eventually(f"claim {reference} of {pod} is allocated as requested", look, expected="the same devices")
