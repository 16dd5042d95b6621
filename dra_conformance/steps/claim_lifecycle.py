"""The life of claims: made for pods, reserved, released, deallocated, deleted."""

from __future__ import annotations

import re

from dra_api.objects import PODS, RESOURCE_CLAIMS, Obj, controller_of, name_of, uid_of
from dra_conformance.core import manifests
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.claims import allocation_on, consumers, devices_of, pod_consumer
from dra_conformance.steps.pods import by_name, events_about, pod_object, scheduler_of

POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"
DELETE_PROTECTION = "resource.kubernetes.io/delete-protection"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def claims_made_for(world: World, pod: str) -> list[Obj]:
    """The claims that a pod controls, those being deleted left out."""
    owner = world.seen(PODS, pod)
    if owner is None:
        return []
    return [
        claim
        for claim in world.all_seen(RESOURCE_CLAIMS)
        if (controller_of(claim) or {}).get("uid") == uid_of(owner) and "deletionTimestamp" not in claim["metadata"]
    ]


def claim_made_for(world: World, pod: str) -> Obj:
    """The only claim of a pod. Raises Untestable when it does not come about."""
    world.require(f"pod {pod} has one claim", lambda: _one(claims_made_for(world, pod)))
    return claims_made_for(world, pod)[0]


def _one(claims: list[Obj]) -> Seen:
    return len(claims) == 1, [name_of(claim) for claim in claims] or "no claim"


def recorded(world: World, pod: str) -> list[Obj]:
    """status.resourceClaimStatuses of a pod."""
    found = ((world.seen(PODS, pod) or {}).get("status") or {}).get("resourceClaimStatuses") or []
    return list(found)


def allocate(world: World, claim: str, node: str, reserved: list[Obj]) -> None:
    """Allocate a claim as a scheduler does: protected from deletion, one device for its first request."""

    def protect(obj: Obj) -> None:
        held = obj["metadata"].setdefault("finalizers", [])
        if DELETE_PROTECTION not in held:
            held.append(DELETE_PROTECTION)

    def change(obj: Obj) -> None:
        result = {"request": "gpu", "driver": "paper.dra.test", "pool": world.name(node), "device": "d"}
        obj.setdefault("status", {})["allocation"] = allocation_on(world.name(node), [result])
        if reserved:
            obj["status"]["reservedFor"] = reserved

    world.update(RESOURCE_CLAIMS, claim, protect)
    world.update(RESOURCE_CLAIMS, claim, change, subresource="status")


@given('claim "{claim}" is allocated by hand on "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """Give the claim a device that exists on paper, for nobody yet, in the place of a scheduler."""
    allocate(world, claim, node, [])


@given('claim "{claim}" is allocated by hand on "{node}" for pods "{pods}"')
def _(world: World, claim: str, node: str, pods: str) -> None:
    """Give the claim a device that exists on paper and reserve it, in the place of a scheduler."""
    allocate(world, claim, node, [pod_consumer(world, pod) for pod in words(pods)])


@given('claim "{claim}" is allocated by hand on "{node}" for pod "{pod}" and for {entry}')
def _(world: World, claim: str, node: str, pod: str, entry: str) -> None:
    """The same with one more consumer of any kind, as YAML; `$(uid)` in it is a uid that nobody has."""
    other = manifests.parse_value(world.text(entry))
    allocate(world, claim, node, [pod_consumer(world, pod), other])


@given('the claim of pod "{pod}" is allocated by hand on "{node}" for it')
def _(world: World, pod: str, node: str) -> None:
    """Allocate the claim that was made for a pod and reserve it for this pod."""
    allocate(world, name_of(claim_made_for(world, pod)), node, [pod_consumer(world, pod)])


@when('a pod "{pod}" placed on "{node}" using claim "{claim}" is created')
def _(world: World, pod: str, node: str, claim: str) -> None:
    """The same, as what happens in the scenario."""
    world.create(placed(world, pod, node, claim))


def placed(world: World, pod: str, node: str, claim: str) -> Obj:
    """A pod with nodeName set at birth."""
    obj = pod_object(world, pod, [by_name(claim)], scheduler=scheduler_of(world))
    obj["spec"]["nodeName"] = world.name(node)
    return obj


@given('pod "{pod}" has its claim')
def _(world: World, pod: str) -> None:
    """Wait until the claim of a pod is made and recorded; the scenario cannot go on without it."""
    claim = name_of(claim_made_for(world, pod))
    world.require(
        f"pod {pod} records its claim",
        lambda: (any(one.get("resourceClaimName") == claim for one in recorded(world, pod)), recorded(world, pod)),
    )
    world.memory[f"claim of {pod}"] = claim


def first_claim(world: World, pod: str) -> str:
    """The claim that a Given step waited for."""
    name = world.memory.get(f"claim of {pod}")
    if name is None:
        raise Untestable(f'no step before this one said: pod "{pod}" has its claim')
    return str(name)


@when('the claim of pod "{pod}" is deleted')
def _(world: World, pod: str) -> None:
    """Delete the claim that was made for a pod."""
    world.client.delete(RESOURCE_CLAIMS, first_claim(world, pod), world.namespace)


@when('the status of pod "{pod}" loses its claims')
def _(world: World, pod: str) -> None:
    """Take resourceClaimStatuses out of a pod's status, as if its writer had crashed before writing it."""

    def change(obj: Obj) -> None:
        obj.setdefault("status", {}).pop("resourceClaimStatuses", None)

    world.update(PODS, pod, change, subresource="status")


@given('the status of pod "{pod}" says {value} for its claims')
def _(world: World, pod: str, value: str) -> None:
    """Write resourceClaimStatuses of a pod by hand, in the place of the claim controller."""
    statuses = manifests.parse_value(world.text(value))

    def change(obj: Obj) -> None:
        obj.setdefault("status", {})["resourceClaimStatuses"] = statuses

    world.update(PODS, pod, change, subresource="status")


@then('pod "{pod}" gets one claim for "{entry}"')
def _(world: World, pod: str, entry: str) -> None:
    """Exactly one claim comes to be controlled by the pod, annotated with the entry's name."""

    def look() -> Seen:
        found = claims_made_for(world, pod)
        told = [(claim["metadata"].get("annotations") or {}).get(POD_CLAIM_NAME) for claim in found]
        return told == [entry], told or "no claim"

    world.eventually(f"one claim is made for {pod}", look, expected=[entry])


@then('pod "{pod}" keeps one claim')
def _(world: World, pod: str) -> None:
    """The pod controls exactly one claim, also after everything has come to rest."""
    world.stays(f"pod {pod} has one claim", lambda: _one(claims_made_for(world, pod)), expected="one claim")


@then('pod "{pod}" has no claim')
def _(world: World, pod: str) -> None:
    """No claim is made for the pod, also after everything has come to rest."""

    def look() -> Seen:
        found = claims_made_for(world, pod)
        return not found, [name_of(claim) for claim in found]

    world.stays(f"no claim is made for {pod}", look, expected="no claim")


@then('the claim of pod "{pod}" has "{path}" {value}')
def _(world: World, pod: str, path: str, value: str) -> None:
    """A field of the pod's only claim comes to this value (YAML)."""
    wanted = manifests.parse_value(world.text(value))

    def look() -> Seen:
        found = claims_made_for(world, pod)
        seen = manifests.look_up(found[0], path) if len(found) == 1 else _one(found)[1]
        return len(found) == 1 and seen == wanted, seen

    world.eventually(f"{path} of the claim of {pod}", look, expected=wanted)


@then('the name of the claim of pod "{pod}" is short and tells both "{first}" and "{second}"')
def _(world: World, pod: str, first: str, second: str) -> None:
    """The claim's name is a name of at most 63 characters that begins with the one text and holds the other."""

    def look() -> Seen:
        found = claims_made_for(world, pod)
        if len(found) != 1:
            return _one(found)[0], _one(found)[1]
        name = name_of(found[0])
        whole = len(name) <= 63 and _NAME.fullmatch(name) is not None
        return whole and name.startswith(first) and second in name, name

    world.eventually("the claim has a name", look, expected=f"at most 63 characters, {first}…, …{second}…")


@then('the status of pod "{pod}" names its claim as "{entry}"')
def _(world: World, pod: str, entry: str) -> None:
    """resourceClaimStatuses comes to hold the pod's only claim under the entry's name, and nothing else."""

    def look() -> Seen:
        claims, told = claims_made_for(world, pod), recorded(world, pod)
        wanted = [{"name": entry, "resourceClaimName": name_of(claim)} for claim in claims]
        return len(claims) == 1 and told == wanted, told or "nothing recorded"

    world.eventually(f"the claim of {pod} is recorded", look, expected="the claim's name")


@then('pod "{pod}" gets another claim for "{entry}"')
def _(world: World, pod: str, entry: str) -> None:
    """A claim other than the first comes to be made and recorded."""
    first = first_claim(world, pod)

    def look() -> Seen:
        told = [one.get("resourceClaimName") for one in recorded(world, pod) if one.get("name") == entry]
        made = [name_of(claim) for claim in claims_made_for(world, pod)]
        return len(made) == 1 and told == made and made != [first], {"claims": made, "recorded": told}

    world.eventually(f"the claim of {pod} is made again", look, expected=f"a claim other than {first}")


@then('the claim of pod "{pod}" is gone')
def _(world: World, pod: str) -> None:
    """The claim that was made for the pod comes to be deleted."""
    name = first_claim(world, pod)
    world.eventually(
        f"the claim of {pod} is gone",
        lambda: (world.seen(RESOURCE_CLAIMS, name) is None, "there"),
        expected="no such claim",
    )


@then('claim "{claim}" is not protected from deletion')
def _(world: World, claim: str) -> None:
    """The claim comes to be without the finalizer of delete protection."""

    def look() -> Seen:
        seen = world.seen(RESOURCE_CLAIMS, claim)
        held = ((seen or {}).get("metadata") or {}).get("finalizers") or []
        return seen is not None and DELETE_PROTECTION not in held, held or "no such claim"

    world.eventually(f"claim {claim} is unprotected", look, expected="no finalizer")


@then('claim "{claim}" is protected from deletion')
def _(world: World, claim: str) -> None:
    """The claim comes to have the finalizer of delete protection."""

    def look() -> Seen:
        held = ((world.seen(RESOURCE_CLAIMS, claim) or {}).get("metadata") or {}).get("finalizers") or []
        return DELETE_PROTECTION in held, held

    world.eventually(f"claim {claim} is protected", look, expected=DELETE_PROTECTION)


@then('claim "{claim}" stays allocated')
def _(world: World, claim: str) -> None:
    """The claim holds its devices, also after everything has come to rest."""

    def look() -> Seen:
        held = devices_of(world.seen(RESOURCE_CLAIMS, claim))
        return bool(held), held or "not allocated"

    world.stays(f"claim {claim} is allocated", look, expected="an allocation")


@then('claim "{claim}" waits to be deleted, allocated')
def _(world: World, claim: str) -> None:
    """The claim is marked for deletion and keeps its devices, also after everything has come to rest."""

    def look() -> Seen:
        seen = world.seen(RESOURCE_CLAIMS, claim)
        marked = seen is not None and "deletionTimestamp" in seen["metadata"]
        held = devices_of(seen)
        return marked and bool(held), {"being deleted": marked, "devices": held} if seen else "gone"

    world.wait(lambda: ("deletionTimestamp" in (world.seen(RESOURCE_CLAIMS, claim) or {}).get("metadata", {}), ""))
    world.stays(f"claim {claim} waits", look, expected="being deleted, with devices")


def reserved_for(world: World, claim: str, wanted: list[str]) -> Seen:
    """Whether reservedFor names exactly these pods, with their uids."""
    seen = consumers(world.seen(RESOURCE_CLAIMS, claim))
    names = sorted(str(one.get("name")) for one in seen)
    known = all(one.get("uid") == uid_of(world.seen(PODS, str(one.get("name"))) or {}) for one in seen)
    return names == wanted and known, seen or "nobody"


@then('claim "{claim}" comes to be reserved for pods "{pods}" alone')
def _(world: World, claim: str, pods: str) -> None:
    """reservedFor comes to name exactly these pods, with their uids."""
    wanted = sorted(words(pods))
    world.eventually(
        f"claim {claim} is reserved for {pods}", lambda: reserved_for(world, claim, wanted), expected=wanted
    )


@then('claim "{claim}" stays reserved for pods "{pods}" alone')
def _(world: World, claim: str, pods: str) -> None:
    """reservedFor comes to name exactly these pods and is then left alone: no one else comes back, not for a moment."""
    wanted = sorted(words(pods))

    def look() -> Seen:
        return reserved_for(world, claim, wanted)

    world.wait(look)
    world.stays(f"claim {claim} stays reserved for {pods}", look, expected=wanted, seconds=0.5)


@then('claim "{claim}" comes to be reserved for the consumer {entry} alone')
def _(world: World, claim: str, entry: str) -> None:
    """reservedFor comes to hold exactly this entry (YAML)."""
    wanted = [manifests.parse_value(world.text(entry))]

    def look() -> Seen:
        seen = consumers(world.seen(RESOURCE_CLAIMS, claim))
        return seen == wanted, seen or "nobody"

    world.eventually(f"claim {claim} is reserved", look, expected=wanted)


@then('a Warning event "{reason}" of pod "{pod}" says "{text}"')
def _(world: World, reason: str, pod: str, text: str) -> None:
    """A warning with this reason comes to be recorded for the pod, and its message holds the text."""
    wanted = world.text(text)

    def look() -> Seen:
        told = [
            str(event.get("message") or event.get("note") or "")
            for event in events_about(world, "Pod", pod)
            if event.get("reason") == reason and event.get("type") == "Warning"
        ]
        return any(wanted in one for one in told), told or "no such event"

    world.eventually(f"event {reason} for {pod}", look, expected=f"a message with {wanted!r}")
