"""The scheduler's and the binder's side of BindRequests: how many there are, what they allocate, how they fail.

Source: KAI-Scheduler docs/dra/README.md and release 0.17 (pkg/scheduler/cache/cache.go,
pkg/binder/controllers/bindrequest_controller.go).
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dra_api.allocations import results_of_allocation
from dra_api.objects import BIND_REQUESTS, PODS, RESOURCE_CLAIMS, Obj, Resource, meta, name_of
from dra_conformance.core import manifests
from dra_conformance.core.errors import NotApplicable
from dra_conformance.core.events import ObjectChanged
from dra_conformance.core.values import covers
from dra_conformance.engine.vocabulary import given, then, words
from dra_conformance.engine.world import Seen, World, in_words, show
from dra_conformance.steps.bind_requests import Written
from dra_conformance.steps.claims import allocation_of, consumers
from dra_conformance.steps.pods import look_bound
from dra_conformance.steps.references import claim_name, reference, requests_of


@dataclass(slots=True)
class Failures:
    """The reasons of failed BindRequests that the scenario has checked, by name."""

    reasons: dict[str, str] = field(default_factory=dict)


_STEP = 0.25  # seconds of the components' clock
_LOOK = 0.02  # seconds of real time


def request_of(world: World, pod: str) -> Obj | None:
    """Return the BindRequest of a pod, or None."""
    return next(iter(requests_of(world, pod)), None)


def entries_of(request: Obj | None) -> dict[str, Obj]:
    """Return the allocations of a BindRequest by the pod's own names for the claims."""
    found = ((request or {}).get("spec") or {}).get("resourceClaimAllocations") or ()
    return {str(item.get("name")): item.get("allocation") or {} for item in found}


def devices_in(allocation: Obj | None) -> list[str]:
    """Return the device names of an allocation, sorted."""
    return sorted(str(result.get("device")) for result in results_of_allocation(allocation))


def status_of(request: Obj | None) -> Obj:
    """Return the status of a BindRequest, or an empty mapping."""
    found = (request or {}).get("status")
    return found if isinstance(found, dict) else {}


# -- preconditions: what another component has to do before a rule of this one can be judged --------------------------


@given('the scheduler gives pod "{pod}" a device for claim "{claim}"')
def _(world: World, pod: str, claim: str) -> None:
    """Wait for the entry of a claim in the pod's BindRequest; without it the binder's rules are not applicable."""
    given_one, seen = world.wait(lambda: (bool(devices_in(entries_of(request_of(world, pod)).get(claim))), "no entry"))
    if not given_one:
        raise NotApplicable(f"the scheduler allocates no such device: the BindRequest of pod {pod} has {seen}")
    world.settle()


@given('the binder waits for the device of claim "{claim}" before it binds pod "{pod}"')
def _(world: World, claim: str, pod: str) -> None:
    """Wait until the claim is reserved; the rules of the scheduler are not applicable if the pod is bound already."""
    name = claim_name(world, claim)
    world.require(
        f"claim {claim} is reserved", lambda: (bool(consumers(world.seen(RESOURCE_CLAIMS, name))), "not reserved")
    )
    world.settle()
    if look_bound(world, pod)[0]:
        raise NotApplicable("the binder does not wait for binding conditions")


# -- written by the scheduler ------------------------------------------------------------------------------------------


@then('pod "{pod}" gets exactly one BindRequest')
def _(world: World, pod: str) -> None:
    """One BindRequest comes to name the pod, and there is still exactly one once the system is idle."""

    def look() -> Seen[str]:
        found = [name_of(request) for request in requests_of(world, pod)]
        return len(found) == 1, in_words(found)

    # Not `look`: with two BindRequests that wait would last until the run's patience is over.
    there = world.wait(lambda: (bool(requests_of(world, pod)), None))[0]
    observed = look()[1] if there else "none"
    world.check(there, f"pod {pod} has a BindRequest", expected="one BindRequest", observed=observed)
    world.stays(f"pod {pod} has one BindRequest", look, expected="one BindRequest")


def _changes_of(world: World, pod: str) -> list[ObjectChanged]:
    """Return the changes of all BindRequests that have ever named the pod."""
    changes = [event for event in world.log.kept(ObjectChanged) if event.resource == BIND_REQUESTS.plural]
    ours = [event for event in changes if event.name.startswith(f"{world.namespace}/")]
    return [event for event in ours if event.summary.get("pod") == pod]


@then('pod "{pod}" has had a BindRequest to "{node}"')
def _(world: World, pod: str, node: str) -> None:
    """A BindRequest comes to name pod and node; it may be deleted since, for example because it has failed."""
    wanted = world.name(node)

    def look() -> Seen[str]:
        nodes = sorted({str(event.summary.get("node")) for event in _changes_of(world, pod)})
        return wanted in nodes, in_words(nodes)

    world.eventually(f"the nodes of the BindRequests of pod {pod}", look, expected=f"also {wanted}")


@then('pod "{pod}" gets no BindRequest')
def _(world: World, pod: str) -> None:
    """No BindRequest has ever named the pod, not even a deleted one, once the system is idle."""

    def look() -> Seen[list[Any]]:
        made = {event.name for event in _changes_of(world, pod)}
        return not made, sorted(made)

    world.stays(f"pod {pod} has no BindRequest", look, expected=[])


@then('the BindRequest of pod "{pod}" gives claim "{claim}" {count:d} devices on its node')
def _(world: World, pod: str, claim: str, count: int) -> None:
    """The entry of the claim (the pod's own name) has this number of results, all in the selected node's pool."""

    def look() -> Seen[str]:
        request = request_of(world, pod)
        allocation = entries_of(request).get(claim)
        results = results_of_allocation(allocation)
        pools = {result.get("pool") for result in results}
        distinct = {result.get("device") for result in results}
        node = ((request or {}).get("spec") or {}).get("selectedNode")
        seen = f"{len(distinct)} devices of pools {in_words(sorted(map(str, pools)))}, for node {node}"
        return len(results) == len(distinct) == count and pools == {node}, seen

    expected = f"{count} devices of the pool of its node"
    world.eventually(f"the BindRequest of {pod} allocates {claim}", look, expected=expected)


@then('the BindRequest of pod "{pod}" gives claim "{claim}" the devices "{devices}"')
def _(world: World, pod: str, claim: str, devices: str) -> None:
    """The entry of the claim (the pod's own name) has exactly these devices, in any order."""

    def look() -> Seen[list[Any]]:
        found = devices_in(entries_of(request_of(world, pod)).get(claim))
        return found == sorted(words(devices)), found

    world.eventually(f"the BindRequest of {pod} allocates {claim}", look, expected=sorted(words(devices)))


@then('the BindRequest of pod "{pod}" has the labels {wanted}, and {optional} or no other one')
def _(world: World, pod: str, wanted: str, optional: str) -> None:
    """Its labels are exactly the first ones (YAML), or these together with the second ones."""
    first, more = (manifests.parse_value(world.text(labels)) for labels in (wanted, optional))

    def look() -> Seen[dict[str, Any]]:
        labels = meta(request_of(world, pod) or {}).get("labels") or {}
        return labels in (first, {**first, **more}), labels

    world.eventually(f"labels of the BindRequest of {pod}", look, expected=first)


@then('every BindRequest of pod "{pod}" has devices for claim "{claim}"')
def _(world: World, pod: str, claim: str) -> None:
    """The entry of the claim (the pod's own name) has results in each BindRequest of the pod; there may be none."""

    def look() -> Seen[list[Any]]:
        without = [name_of(one) for one in requests_of(world, pod) if not devices_in(entries_of(one).get(claim))]
        return not without, without

    world.stays(f"BindRequests of {pod} without an allocation for {claim}", look, expected=[])


@then("{count:d} pods get BindRequests, with {devices:d} distinct devices")
def _(world: World, count: int, devices: int) -> None:
    """This number of pods has one BindRequest each, and together these allocate each device at most once."""

    def look() -> Seen[str]:
        requests = world.all_seen(BIND_REQUESTS)
        pods = Counter(str((request.get("spec") or {}).get("podName")) for request in requests)
        promised = [
            device for request in requests for one in entries_of(request).values() for device in devices_in(one)
        ]
        ok = len(pods) == len(requests) == count and len(promised) == len(set(promised)) == devices
        seen = f"{len(requests)} BindRequests of pods {in_words(sorted(pods))}; devices {in_words(sorted(promised))}"
        return ok, seen

    world.wait(look)
    expected = f"{count} BindRequests of different pods; {devices} different devices"
    world.stays("no device is in two BindRequests", look, expected=expected)


# -- processed by the binder -------------------------------------------------------------------------------------------


def check_failed(world: World, name: str, text: str) -> None:
    """Check that a BindRequest comes to phase Failed with a reason that contains `text`."""

    def look() -> Seen[dict[str, str]]:
        seen = status_of(world.seen(BIND_REQUESTS, name))
        reason = str(seen.get("reason") or "")
        shown = {"phase": str(seen.get("phase") or "not set"), "reason": reason or "not set"}
        return seen.get("phase") == "Failed" and bool(reason) and text in reason, shown

    expected = {"phase": "Failed", "reason": f"…{text}…" if text else "set"}
    world.eventually(f"BindRequest {name} fails", look, expected=expected)
    reason = status_of(world.seen(BIND_REQUESTS, name)).get("reason")
    world.state(Failures).reasons[name] = str(reason or "")


@then('BindRequest "{name}" fails with a reason')
def _(world: World, name: str) -> None:
    """The BindRequest comes to phase Failed, and its reason is not empty."""
    check_failed(world, name, "")


@then('BindRequest "{name}" fails with a reason that names "{text}"')
def _(world: World, name: str, text: str) -> None:
    """The BindRequest comes to phase Failed, and its reason contains this text."""
    check_failed(world, name, world.text(text))


@then('BindRequest "{name}" succeeds without the reason of its failure')
def _(world: World, name: str) -> None:
    """The BindRequest comes to phase Succeeded, with another reason than that of the failure, or none."""
    former = world.state(Failures).reasons[name]

    def look() -> Seen[dict[str, str]]:
        seen = status_of(world.seen(BIND_REQUESTS, name))
        phase, reason = str(seen.get("phase") or "not set"), str(seen.get("reason") or "")
        return phase == "Succeeded" and reason != former, {"phase": phase, "reason": reason or "not set"}

    expected = {"phase": "Succeeded", "reason": f"not set, or other than: {former}"}
    world.eventually(f"BindRequest {name} succeeds without the reason of its failure", look, expected=expected)


@then('BindRequest "{name}" fails, or succeeds with annotation "{key}" on pod "{pod}"')
def _(world: World, name: str, key: str, pod: str) -> None:
    """The BindRequest is Failed and the pod unbound, or it is Succeeded and the pod bound with this annotation."""

    def look() -> Seen[str]:
        found = world.seen(PODS, pod) or {}
        phase = status_of(world.seen(BIND_REQUESTS, name)).get("phase")
        node, value = (found.get("spec") or {}).get("nodeName"), (meta(found).get("annotations") or {}).get(key)
        ok = (not node and phase == "Failed") or bool(node and phase == "Succeeded" and value)
        return ok, f"phase {phase}, {f'bound to {node}' if node else 'unbound'}, {key}: {value}"

    wanted = f"phase Failed, unbound; or phase Succeeded, bound, {key}: set"
    world.eventually(f"pod {pod} is unbound or has {key}", look, expected=wanted)
    # A retry after a failure must not bind the pod without the annotation.
    world.stays(f"pod {pod} is unbound or has {key}", look, expected=wanted)


@then('BindRequest "{name}" counts {count:d} failed attempts')
def _(world: World, name: str, count: int) -> None:
    """`status.failedAttempts` is this number (0: or absent) once the binder has set a phase and the system is idle."""

    def look() -> Seen[dict[str, Any]]:
        seen = status_of(world.seen(BIND_REQUESTS, name))
        attempts, phase = int(seen.get("failedAttempts") or 0), bool(seen.get("phase"))
        return attempts == count and phase, {"failedAttempts": attempts, "phase is set": phase}

    world.wait(look)
    expected = {"failedAttempts": count, "phase is set": True}
    world.stays(f"BindRequest {name} counts attempts", look, expected=expected)


@then('BindRequest "{name}" has counted a failed attempt')
def _(world: World, name: str) -> None:
    """`status.failedAttempts` is 1 or more; further attempts may follow meanwhile."""

    def look() -> Seen[str]:
        attempts = _failed_attempts(world, name)
        return attempts > 0, f"{attempts} failed attempts"

    world.eventually(f"BindRequest {name} has counted an attempt", look, expected="1 failed attempt or more")


@then('the failed attempts of BindRequest "{name}" are counted after {offsets} seconds')
def _(world: World, name: str, offsets: str) -> None:
    """`status.failedAttempts` grows by one at these times after the first count, each as late as the next at most.

    The time is that of the components. It is advanced in small steps, or passes by itself if the binder is outside this
    process.
    """
    wanted = [float(text) for text in offsets.split(",")]
    found: list[float] = []
    real = world.log.clock
    deadline = real.monotonic() + world.run.patience + wanted[-1]
    while len(found) < len(wanted) and real.monotonic() < deadline:
        found += [world.clock.monotonic()] * (_failed_attempts(world, name) - len(found))
        if not world.uses_real_time:
            world.clock.advance(_STEP, calls=world.settling.held_calls())
        if world.run.observes_idle:
            world.settle()
        else:
            real.wait(threading.Event(), _LOOK)
    after = [round(time - found[0], 1) for time in found]
    latest = [*wanted[1:], 2 * wanted[-1] + 1]
    met = len(after) == len(wanted) and all(
        least - 2 * _STEP <= time < most for time, least, most in zip(after, wanted, latest, strict=True)
    )
    world.check(met, f"the times at which BindRequest {name} counts an attempt", expected=wanted, observed=after)


def _failed_attempts(world: World, name: str) -> int:
    return int(status_of(world.seen(BIND_REQUESTS, name)).get("failedAttempts") or 0)


def first_version(world: World, resource: Resource, name: str, shows: Callable[[dict[str, Any]], bool]) -> int:
    """Return the version in which an object of the scenario first showed something, or 0. One sequence has them all."""
    changes = [
        int(event.version)
        for event in world.log.kept(ObjectChanged)
        if (event.resource, event.name) == (resource.plural, f"{world.namespace}/{name}") and shows(event.summary)
    ]
    return min(changes, default=0)


def check_order(world: World, what: str, first: Callable[[], int], then_: Callable[[], int]) -> None:
    """Wait until both things have happened, and check that the first was written before the other."""
    world.wait(lambda: (bool(first() and then_()), "not both"))
    before, after = first(), then_()
    observed = f"versions {before or 'none'} and {after or 'none'}"
    world.check(0 < before < after, what, expected="versions a and b, a below b", observed=observed)


def bound_at(world: World, pod: str) -> int:
    """Return the version in which a pod was bound, or 0."""
    return first_version(world, PODS, pod, lambda summary: bool(summary.get("node")))


@then('claim "{claim}" is allocated and reserved before pod "{pod}" is bound')
def _(world: World, claim: str, pod: str) -> None:
    """In the log of the harness's own watches the claim has devices and the pod's name at an earlier version."""

    def written(summary: dict[str, Any]) -> bool:
        return bool(summary.get("devices")) and pod in str(summary.get("reservedFor", "")).split(",")

    name = claim_name(world, claim)
    check_order(
        world,
        f"claim {claim} is written before pod {pod} is bound",
        lambda: first_version(world, RESOURCE_CLAIMS, name, written),
        lambda: bound_at(world, pod),
    )


@then('claim "{claim}" is reserved for pod "{pod}" at the time of its binding')
def _(world: World, claim: str, pod: str) -> None:
    """In the log of the harness's own watches, the last version of the claim before the binding has the pod's name."""
    world.settle()  # the watch of claims may be behind that of pods
    name, bound = f"{world.namespace}/{claim_name(world, claim)}", bound_at(world, pod)
    before = {
        int(event.version): str(event.summary.get("reservedFor", ""))
        for event in world.log.kept(ObjectChanged)
        if (event.resource, event.name) == (RESOURCE_CLAIMS.plural, name) and int(event.version) < bound
    }
    consumers_then = before[max(before)].split(",") if before else []
    world.check(
        pod in consumers_then,
        f"claim {claim} is reserved for pod {pod} at the time of its binding",
        expected=f"reservedFor with {pod}",
        observed=f"reservedFor {', '.join(filter(None, consumers_then)) or 'empty'}",
    )


@then('pod "{pod}" is bound before the BindRequest "{name}" succeeds')
def _(world: World, pod: str, name: str) -> None:
    """In the log of the harness's own watches the pod has its node at an earlier version than the phase Succeeded."""
    check_order(
        world,
        f"pod {pod} is bound before BindRequest {name} succeeds",
        lambda: bound_at(world, pod),
        lambda: first_version(world, BIND_REQUESTS, name, lambda summary: summary.get("phase") == "Succeeded"),
    )


@then('claim "{claim}" has the allocation of entry "{entry}" in the {subject:object}')
def _(world: World, claim: str, entry: str, subject: str) -> None:
    """The claim comes to have the devices, the configuration and the node selector of the BindRequest's entry."""
    ref, name = reference(world, subject), claim_name(world, claim)

    def look() -> Seen[str]:
        entries = entries_of(next(iter(ref.found()), None))
        # The time is left out: a binder may set its own when it writes the claim.
        wanted = {key: value for key, value in (entries.get(entry) or {}).items() if key != "allocationTimestamp"}
        seen = allocation_of(world.seen(RESOURCE_CLAIMS, name))
        same = bool(wanted) and seen.get("devices") == wanted.get("devices") and covers(seen, wanted)
        return same, "as the entry" if same else f"claim: {show(seen)}; entry: {show(wanted)}"

    world.eventually(f"claim {claim} is allocated as entry {entry} of the {subject}", look, expected="as the entry")


@then("no component has created a BindRequest")
def _(world: World) -> None:
    """The scenario itself wrote every BindRequest of the namespace."""
    mine = world.state(Written).names

    def look() -> Seen[list[str]]:
        found = {name_of(request) for request in world.all_seen(BIND_REQUESTS)}
        return found <= mine, sorted(found - mine)

    world.stays("BindRequests that the scenario did not create", look, expected=[])
