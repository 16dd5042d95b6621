"""Extended resources for which DeviceClasses stand (KEP-5004): the claims that schedulers make for pods."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dra_api.objects import PODS, Obj, meta, name_of, owner_reference, uid_of
from dra_conformance.core import manifests
from dra_conformance.core.errors import SpecificationError
from dra_conformance.engine.vocabulary import given, then, words
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.steps.claims import claim_object, claim_spec, consumers, devices_of
from dra_conformance.steps.references import claims_of

ANNOTATION = "resource.kubernetes.io/extended-resource-claim"


def extended_claims(world: World, pod: str) -> list[Obj]:
    """Return the claims that were made for the extended resources of a pod, as last seen."""
    return [
        claim for claim in claims_of(world, pod) if (meta(claim).get("annotations") or {}).get(ANNOTATION) == "true"
    ]


@given('a claim "{claim}" that an earlier attempt left for the extended resources of pod "{pod}" on class "{name}"')
def _(world: World, claim: str, pod: str, name: str) -> None:
    """Create the claim for one device that a scheduler leaves behind if it stops before it binds the pod."""
    owner = {**world.get(PODS, pod), "apiVersion": "v1", "kind": "Pod"}
    made = claim_object(world, claim, claim_spec(world.name(name)))
    # The name that kube-scheduler gives the request for the first resource of the first container.
    made["spec"]["devices"]["requests"][0]["name"] = "container-0-request-0"
    made["metadata"]["annotations"] = {ANNOTATION: "true"}
    made["metadata"]["ownerReferences"] = [owner_reference(owner, controller=True, block_owner_deletion=True)]
    world.create(made)
    world.settle()  # all components must have received it: the earlier attempt was long ago


@then('the extended resource claim of pod "{pod}" is allocated the devices "{devices}"')
def _(world: World, pod: str, devices: str) -> None:
    """One claim that the pod controls is annotated as its extended resources, allocated these devices, and reserved."""
    wanted = {"devices": [sorted(words(devices))], "reserved for": [pod]}

    def look() -> Seen[dict[str, object]]:
        found = extended_claims(world, pod)
        held = [sorted(devices_of(claim)) for claim in found]
        users = [entry.get("name") for claim in found for entry in consumers(claim)]
        seen = {"devices": held, "reserved for": users}
        return seen == wanted, seen

    world.eventually(f"the extended resource claim of {pod} is allocated", look, expected=wanted)


@dataclass(frozen=True, slots=True)
class Held:
    """The claim for the extended resources of a pod: its uid, its devices, and the names of its users."""

    claim: str
    devices: tuple[str, ...]
    users: tuple[str, ...]


@dataclass(slots=True)
class Allocated:
    """The claims for extended resources that a step has seen allocated, by pod."""

    by_pod: dict[str, Held] = field(default_factory=dict)


def _held(world: World, pod: str) -> list[Held]:
    """Return the claims for the extended resources of a pod."""
    return [
        Held(
            uid_of(claim), tuple(sorted(devices_of(claim))), tuple(str(entry.get("name")) for entry in consumers(claim))
        )
        for claim in extended_claims(world, pod)
    ]


@then('the extended resource claim of pod "{pod}" is allocated {count:d} of the devices')
def _(world: World, pod: str, count: int) -> None:
    """One claim that the pod controls comes to be allocated so many devices, whichever these are, and reserved."""

    def look() -> Seen[str]:
        found = _held(world, pod)
        ok = len(found) == 1 and len(found[0].devices) == count and found[0].users == (pod,)
        if ok:
            world.state(Allocated).by_pod[pod] = found[0]
        return ok, in_words(found)

    expected = f"one claim with {count} devices, reserved for {pod}"
    world.eventually(f"the extended resource claim of {pod} is allocated", look, expected=expected)


@then('the extended resource claim of pod "{pod}" keeps its devices')
def _(world: World, pod: str) -> None:
    """The claim is the one that an earlier step has seen, with the same devices and users, once the system is idle."""
    before = world.state(Allocated).by_pod.get(pod)
    if before is None:
        raise SpecificationError(f"no earlier step has seen the extended resource claim of pod {pod} allocated")

    def look() -> Seen[str]:
        found = _held(world, pod)
        return found == [before], in_words(found)

    world.stays(f"the extended resource claim of {pod} keeps its devices", look, expected=in_words([before]))


@then('the status of pod "{pod}" maps container "{name}" to {requests} of "{resource}"')
def _(world: World, pod: str, name: str, requests: str, resource: str) -> None:
    """`extendedResourceClaimStatus` names the claim, and its requests that a container uses for a resource."""
    wanted = sorted(manifests.parse_value(requests))

    def look() -> Seen[dict[str, Any]]:
        status = ((world.seen(PODS, pod) or {}).get("status") or {}).get("extendedResourceClaimStatus") or {}
        mine = [
            str(one["requestName"])
            for one in status.get("requestMappings") or ()
            if one.get("containerName") == name and one.get("resourceName") == world.text(resource)
        ]
        known = [name_of(claim) for claim in extended_claims(world, pod)]
        found, named = sorted(mine), status.get("resourceClaimName")
        return found == wanted and named in known, {"requests": found, "its claim is named": named in known}

    expected = {"requests": wanted, "its claim is named": True}
    world.eventually(f"the status of {pod} maps its containers to devices", look, expected=expected)
