"""Outcomes that must hold once the system is idle, whatever faults were injected.

These sentences cover all pods, claims and BindRequests of the scenario. They first require that every injected fault
has been triggered: an outcome without the fault would prove nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from dra_api.allocations import results_of
from dra_api.objects import BIND_REQUESTS, NODES, PODS, RESOURCE_CLAIMS, Obj, Resource, controller_of, name_of, uid_of
from dra_conformance.engine.vocabulary import then
from dra_conformance.engine.world import Seen, World
from dra_conformance.oracle.live import check_claim
from dra_conformance.oracle.nodes import NodeView, selects
from dra_conformance.oracle.schema import NodeSelector
from dra_conformance.steps.faults import require_met
from dra_conformance.steps.pod_claims import POD_CLAIM_NAME
from dra_conformance.steps.pods import condition, events_about, look_bound


def _pods(world: World) -> list[Obj]:
    return [pod for pod in world.all_seen(PODS) if "deletionTimestamp" not in pod["metadata"]]


def catch_up(world: World) -> None:
    """Wait until the observer has seen everything that is stored now: after an outage its watches lag as well."""
    for resource in (PODS, RESOURCE_CLAIMS, BIND_REQUESTS):
        if not world.observer.watches(resource):
            continue
        stored = world.client.list(resource, world.namespace).items

        def look(resource: Resource = resource, stored: list[Obj] = stored) -> Seen[list[Any]]:
            reached = world.observer.reached(resource)  # beyond an object that it does not show: that one is gone again
            behind = [
                name_of(obj)
                for obj in stored
                if max(_version(world.seen(resource, name_of(obj))), reached) < _version(obj)
            ]
            return not behind, behind

        world.require(f"the observer sees all {resource.plural}", look)


def _version(obj: Obj | None) -> int:
    text = str(((obj or {}).get("metadata") or {}).get("resourceVersion") or "0")
    return int(text) if text.isdecimal() else 0


def problems_of_round(world: World, wait: Callable[[Callable[[World], Seen[Any]]], Seen[Any]]) -> list[str]:
    """Return what is wrong once the pods of a round were to run; `wait` waits for an outcome."""
    looks: list[Callable[[World], Seen[Any]]] = [look_claims_once, look_all_bound, look_devices_held]
    # Not every control plane serves BindRequests.
    if world.observer.watches(BIND_REQUESTS):
        looks.append(look_requests_ended)
    wrong = [str(seen) for ok, seen in map(wait, looks) if not ok]
    once, seen = look_devices_once(world)
    wrong += [] if once else [str(seen)]
    return [*wrong, *invalid_allocations(world)]


def look_all_bound(world: World) -> Seen[str]:
    """Return whether every pod is bound, and the pods that are not."""
    waiting = [name_of(pod) for pod in _pods(world) if not look_bound(world, name_of(pod))[0]]
    return not waiting, f"not bound: {', '.join(waiting)}" if waiting else "all bound"


def reported_reason(world: World, pod: Obj) -> str:
    """Return the message of an unbound pod's condition or last Warning event, or an empty text."""
    for kind in ("PodScheduled", "PodBound"):
        found = condition(pod, kind)
        if found.get("status") == "False" and found.get("message"):
            return f"{kind}: {found['message']}"
    warnings = [event for event in events_about(world, "Pod", name_of(pod)) if event.get("type") == "Warning"]
    return str(warnings[-1].get("message") or warnings[-1].get("note") or "") if warnings else ""


def look_pods_settled(world: World) -> Seen[str]:
    """Return whether every pod is bound or has a condition or Warning event with the reason."""
    silent = [
        name_of(pod)
        for pod in _pods(world)
        if not look_bound(world, name_of(pod))[0] and not reported_reason(world, pod)
    ]
    return not silent, f"neither bound nor with a reason: {', '.join(silent)}" if silent else "bound or with a reason"


def look_claims_once(world: World) -> Seen[list[Any]]:
    """Return whether every template entry of every pod has exactly one claim, which the pod's status names."""
    claims = world.all_seen(RESOURCE_CLAIMS)
    wrong: list[str] = []
    for pod in _pods(world):
        recorded = {
            entry.get("name"): entry.get("resourceClaimName")
            for entry in (pod.get("status") or {}).get("resourceClaimStatuses") or ()
        }
        for entry in pod["spec"].get("resourceClaims") or ():
            if not entry.get("resourceClaimTemplateName"):
                continue
            made = [
                name_of(claim)
                for claim in claims
                if (controller_of(claim) or {}).get("uid") == uid_of(pod)
                and (claim["metadata"].get("annotations") or {}).get(POD_CLAIM_NAME) == entry["name"]
            ]
            if len(made) != 1 or recorded.get(entry["name"]) != made[0]:
                wrong.append(f"{name_of(pod)}/{entry['name']}: made {made}, recorded {recorded.get(entry['name'])}")
    return not wrong, wrong


def look_devices_once(world: World) -> Seen[str]:
    """Return whether no device of a plain request is in two claims; devices by driver, pool and name."""
    held = Counter(
        (str(result["driver"]), str(result["pool"]), str(result["device"]))
        for claim in world.all_seen(RESOURCE_CLAIMS)
        for result in results_of(claim)
        if not result.get("adminAccess") and not result.get("shareID")
    )
    twice = ["/".join(device) for device, count in held.items() if count > 1]
    return not twice, f"in two claims: {', '.join(twice)}" if twice else f"{len(held)} devices, each in one claim"


def claim_problem(world: World, claim: Obj, pod: Obj) -> str:
    """Return why a bound pod cannot use its claim, or an empty text.

    The claim must be there and not be deleted, be allocated, be usable on the pod's node, and be reserved for its uid.
    """
    if not claim:
        return "there is no such claim"
    status = claim.get("status") or {}
    if "deletionTimestamp" in claim["metadata"]:
        return "the claim is being deleted"
    if not results_of(claim):
        return "not allocated"
    node = str(pod["spec"]["nodeName"])
    selector = (status.get("allocation") or {}).get("nodeSelector")
    labels = ((world.seen(NODES, node) or {}).get("metadata") or {}).get("labels")
    if selector and selects(msgspec.convert(selector, NodeSelector), NodeView(node, labels)) is False:
        return f"allocated for other nodes than {node}"
    users = [user.get("uid") for user in status.get("reservedFor") or ()]
    return "" if uid_of(pod) in users else f"not reserved for uid {uid_of(pod)}, but for {users}"


def look_devices_held(world: World) -> Seen[list[Any]]:
    """Return whether every claim of every bound pod is there, usable on its node, and reserved for its uid."""
    without: list[str] = []
    for pod in _pods(world):
        recorded = {
            entry.get("name"): entry.get("resourceClaimName")
            for entry in (pod.get("status") or {}).get("resourceClaimStatuses") or ()
        }
        for entry in pod["spec"].get("resourceClaims") or () if pod["spec"].get("nodeName") else ():
            name = entry.get("resourceClaimName") or recorded.get(entry["name"]) or ""
            if problem := claim_problem(world, world.seen(RESOURCE_CLAIMS, str(name)) or {}, pod):
                without.append(f"{name_of(pod)}/{entry['name']}: {problem}")
    return not without, without


def look_requests_ended(world: World) -> Seen[list[Any]]:
    """Return whether every BindRequest of an existing pod is Succeeded (pod bound), or Failed with a reason."""
    open_ones: list[str] = []
    for request in world.all_seen(BIND_REQUESTS):
        if world.seen(PODS, str(request["spec"].get("podName"))) is None:
            continue  # the pod is gone; the garbage collector deletes the request at some time
        status = request.get("status") or {}
        bound = look_bound(world, str(request["spec"].get("podName")))[0]
        ended = (status.get("phase") == "Succeeded" and bound) or (
            status.get("phase") == "Failed" and bool(status.get("reason")) and not bound
        )
        if not ended:
            open_ones.append(f"{name_of(request)}: {status or 'no status'}, pod {'bound' if bound else 'not bound'}")
    return not open_ones, open_ones


def invalid_allocations(world: World) -> list[str]:
    """Return the violations that the allocation checker finds in the stored allocations of the scenario."""
    violations: list[str] = []
    for claim in world.all_seen(RESOURCE_CLAIMS):
        if results_of(claim):
            violations += [
                f"{name_of(claim)}: {found.rule} {found.path}: {found.message}"
                for found in check_claim(world, name_of(claim)).violations
            ]
    return violations


@then("every pod is bound")
def _(world: World) -> None:
    """All pods of the scenario come to be bound."""
    require_met(world)
    catch_up(world)
    world.eventually("every pod is bound", lambda: look_all_bound(world), expected="all bound")


@then("every pod is bound or has a reason why not")
def _(world: World) -> None:
    """Each pod is bound, or has a condition or a Warning event with a message."""
    require_met(world)
    catch_up(world)
    world.eventually(
        "every pod is bound or has a reason", lambda: look_pods_settled(world), expected="bound or with a reason"
    )


@then("every pod has each of its claims once")
def _(world: World) -> None:
    """Each template entry comes to have one claim that the pod's status names, and no second one is made."""
    require_met(world)
    catch_up(world)
    world.wait(lambda: look_claims_once(world))
    world.stays("claims that a pod does not have once", lambda: look_claims_once(world), expected=[])


@then("every allocation is valid, and no device is allocated twice")
def _(world: World) -> None:
    """The allocation checker finds no broken rule in any allocation, and no device is in two claims."""
    require_met(world)
    catch_up(world)
    world.stays("no device is in two claims", lambda: look_devices_once(world), expected="each device in one claim")
    wrong = invalid_allocations(world)
    world.check(not wrong, "rules that an allocation breaks", expected=[], observed=wrong)


@then("every bound pod has its devices")
def _(world: World) -> None:
    """The claims of bound pods come to be allocated for their nodes and reserved for their uids; none is deleted."""
    require_met(world)
    catch_up(world)
    world.eventually("claims of bound pods that do not hold devices", lambda: look_devices_held(world), expected=[])


@then("every BindRequest is Succeeded or Failed")
def _(world: World) -> None:
    """Each is Succeeded and its pod bound, or Failed with a reason and its pod not bound."""
    require_met(world)
    catch_up(world)
    world.eventually("BindRequests that do not end", lambda: look_requests_ended(world), expected=[])
