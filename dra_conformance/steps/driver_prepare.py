"""Prepare and Unprepare, called on the driver under test, and what it answers."""

from __future__ import annotations

from uuid import uuid4

from dra_api.objects import RESOURCE_CLAIMS
from dra_api.rpc import (
    ClaimRef,
    PrepareResult,
)
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import World
from dra_conformance.kubelet.errors import KubeletError
from dra_conformance.steps.driver_calls import (
    CALL,
    Call,
    answer_for,
    calls,
    own_results,
    prepare,
    problem_of,
    reference_to,
    show_device,
    succeeded,
    unprepare,
    unprepare_problem,
)


@given('claim "{claim}" is prepared on "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """Prepare an allocated claim; the scenario cannot go on without it."""
    ok, observed = succeeded(world, prepare(world, node, [reference_to(world, claim)]), claim)
    if not ok:
        raise Untestable(f"claim {claim} cannot be prepared: {observed}")


@given('claim "{claim}" is unprepared on "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """Unprepare a claim; the scenario cannot go on without it."""
    call = unprepare(world, node, [reference_to(world, claim)])
    problem = unprepare_problem(call, reference_to(world, claim))
    if problem:
        raise Untestable(f"claim {claim} cannot be unprepared: {problem}")


@when('claim "{claim}" is prepared on "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """Call NodePrepareResources with one claim; the driver may refuse."""
    succeeded(world, prepare(world, node, [reference_to(world, claim)]), claim)


@when('claims "{claims}" are prepared on "{node}" in one call')
def _(world: World, claims: str, node: str) -> None:
    """Call NodePrepareResources once with several claims."""
    call = prepare(world, node, [reference_to(world, claim) for claim in words(claims)])
    for claim in words(claims):
        succeeded(world, call, claim)


@when('claims "{claims}" are prepared on "{node}" at the same time')
def _(world: World, claims: str, node: str) -> None:
    """Call NodePrepareResources once for each claim, all at the same time; a name may stand there twice."""
    refs = [reference_to(world, claim) for claim in words(claims)]
    try:
        outcomes = world.node(node).plugin.concurrently([("NodePrepareResources", [ref]) for ref in refs], timeout=CALL)
    except KubeletError as error:
        raise Untestable(str(error)) from error
    merged: dict[str, PrepareResult] = {}
    for claim, ref, outcome in zip(words(claims), refs, outcomes, strict=True):
        call = Call(prepared=outcome.answer or {}, error=outcome.error)
        problem = problem_of(call, ref)
        ok, _seen = succeeded(world, call, claim)
        if not ok and not (ref.uid in merged and merged[ref.uid].error):
            merged[ref.uid] = PrepareResult(error=problem)
        elif ok and ref.uid not in merged:
            merged[ref.uid] = call.prepared[ref.uid]
    calls(world).made.append(Call(prepared=merged))


@when('the driver on "{node}" is asked to prepare nothing')
def _(world: World, node: str) -> None:
    """Call NodePrepareResources with an empty list."""
    prepare(world, node, [])


@when('claim "{claim}" is prepared on "{node}" under another uid')
def _(world: World, claim: str, node: str) -> None:
    """Call NodePrepareResources for a claim of this name that had another uid, as if it had been replaced since."""
    ref = ClaimRef(world.namespace, str(uuid4()), claim)
    calls(world).refs[f"{claim} before"] = ref
    prepare(world, node, [ref])


@when('a claim "{claim}" that does not exist is prepared on "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """Call NodePrepareResources for a claim that the API server does not know."""
    ref = calls(world).refs[claim] = ClaimRef(world.namespace, str(uuid4()), claim)
    prepare(world, node, [ref])


@when('claim "{claim}" is unprepared on "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """Call NodeUnprepareResources with one claim."""
    unprepare(world, node, [reference_to(world, claim)])


@when('claims "{claims}" are unprepared on "{node}" in one call')
def _(world: World, claims: str, node: str) -> None:
    """Call NodeUnprepareResources once with several claims; a name may stand there twice."""
    unprepare(world, node, [reference_to(world, claim) for claim in words(claims)])


@when('a claim that was never prepared is unprepared on "{node}"')
def _(world: World, node: str) -> None:
    """Call NodeUnprepareResources for a claim that nobody ever heard of."""
    ref = calls(world).refs["unknown"] = ClaimRef(world.namespace, str(uuid4()), "unknown")
    unprepare(world, node, [ref])


@when('the claim "{claim}" is deleted behind the driver\'s back')
def _(world: World, claim: str) -> None:
    """Delete a claim that is still prepared, finalizer and all."""
    reference_to(world, claim)
    finalizers = (world.get(RESOURCE_CLAIMS, claim).get("metadata") or {}).get("finalizers")
    world.client.delete(RESOURCE_CLAIMS, claim, world.namespace)
    if finalizers:
        world.client.patch(RESOURCE_CLAIMS, claim, {"metadata": {"finalizers": None}}, world.namespace)
    world.require("the claim is gone", lambda: (world.seen(RESOURCE_CLAIMS, claim) is None, "still there"))
    world.settle()  # a driver that reads claims from a cache has to have heard of it


@then('claim "{claim}" is prepared')
def _(world: World, claim: str) -> None:
    """The last call answered for this claim, without an error."""
    ref = reference_to(world, claim)
    call = calls(world).last
    problem = problem_of(call, ref)
    observed: object = problem or [show_device(device) for device in call.prepared[ref.uid].devices]
    world.check(not problem, f"claim {claim} is prepared", expected="an answer without error", observed=observed)


@then('claim "{claim}" is refused')
def _(world: World, claim: str) -> None:
    """The last call gave no devices for this claim: it failed, or the claim's entry tells an error or is missing."""
    ref = reference_to(world, claim)
    _check_refused(world, ref, claim)


@then('the former claim "{claim}" is refused')
def _(world: World, claim: str) -> None:
    """The same for the claim that had another uid."""
    _check_refused(world, calls(world).refs[f"{claim} before"], claim)


def _check_refused(world: World, ref: ClaimRef, claim: str) -> None:
    call = calls(world).last
    problem = problem_of(call, ref)
    if call.error is not None and call.error.code in ("UNAVAILABLE", "DEADLINE_EXCEEDED", "UNIMPLEMENTED"):
        world.check(False, f"claim {claim} is refused", expected="an answer that says why", observed=problem)
    observed: object = problem or [show_device(device) for device in call.prepared[ref.uid].devices]
    world.check(bool(problem), f"claim {claim} is refused", expected="an error", observed=observed)


@then('claim "{claim}" is refused because "{text}"')
def _(world: World, claim: str, text: str) -> None:
    """The claim's own entry of the last answer tells an error with this text; the call itself succeeded."""
    ref = reference_to(world, claim)
    call = calls(world).last
    problem = problem_of(call, ref)
    wanted = world.text(text)
    ok = call.error is None and wanted in problem
    world.check(
        ok, f"claim {claim} is refused", expected=f"an error with {wanted!r}", observed=problem or "it was prepared"
    )


@then('the whole call fails because "{text}"')
def _(world: World, text: str) -> None:
    """The last call failed as a whole, with this text in its status."""
    error = calls(world).last.error
    wanted = world.text(text)
    world.check(
        error is not None and wanted in error.details,
        "the call fails",
        expected=f"a failed call with {wanted!r}",
        observed=f"{error.code}: {error.details}" if error else "the call succeeded",
    )


@then("the call succeeds and answers nothing")
def _(world: World) -> None:
    """The last call succeeded with an empty answer."""
    call = calls(world).last
    world.check(
        call.error is None and not call.prepared,
        "an empty call succeeds",
        expected="OK and no entry",
        observed=str(call.error) if call.error else {uid: r.error for uid, r in call.prepared.items()} or "no entry",
    )


@then('the answer has one entry for each of "{claims}" and no other')
def _(world: World, claims: str) -> None:
    """The answer of the last call is keyed by exactly the uids that were asked for."""
    call = calls(world).last
    wanted = sorted(reference_to(world, claim).uid for claim in words(claims))
    observed: object = str(call.error) if call.error else sorted(call.prepared)
    world.check(observed == wanted, "an entry for each claim", expected=wanted, observed=observed)


@then('the answer for claim "{claim}" names only devices that the claim was allocated')
def _(world: World, claim: str) -> None:
    """Every device of the answer is a result of the claim's allocation, with that result's request or none."""
    allowed = {
        (result["pool"], result["device"]): result["request"].partition("/")[0] for result in own_results(world, claim)
    }
    strangers = []
    for device in answer_for(world, claim):
        request = allowed.get((device.pool_name, device.device_name))
        if request is None or set(device.request_names) - {request}:
            strangers.append(show_device(device))
    world.check(
        not strangers,
        "the answer fits the allocation",
        expected=[{"request": request, "pool": pool, "device": name} for (pool, name), request in allowed.items()],
        observed=strangers or "the same",
    )


@then('the answer for claim "{claim}" names every device that the claim was allocated')
def _(world: World, claim: str) -> None:
    """Every allocation result of the driver is in the answer."""
    wanted = sorted((result["pool"], result["device"]) for result in own_results(world, claim))
    told = sorted({(device.pool_name, device.device_name) for device in answer_for(world, claim)})
    world.check(told == wanted, "the answer is complete", expected=wanted, observed=told)


@then('the answer for claim "{claim}" speaks of request "{request}" only')
def _(world: World, claim: str, request: str) -> None:
    """Request names are those of the claim's requests, without the subrequest; none stands for all."""
    told = sorted({name for device in answer_for(world, claim) for name in device.request_names})
    world.check(told in ([], [request]), "requests are named as in the claim", expected=[request], observed=told)


@then('all answers for claim "{claim}" are the same')
def _(world: World, claim: str) -> None:
    """Every successful Prepare of this claim gave the same devices and CDI ids."""
    answers = calls(world).prepared.get(claim, [])
    shown = [[show_device(device) for device in answer] for answer in answers]
    ok = len(shown) > 1 and all(answer == shown[0] for answer in shown)
    world.check(ok, f"{len(shown)} answers for {claim} are the same", expected=shown[:1], observed=shown[1:])


@then('claim "{claim}" is unprepared')
def _(world: World, claim: str) -> None:
    """The last NodeUnprepareResources call succeeded for this claim."""
    problem = unprepare_problem(calls(world).last, reference_to(world, claim))
    world.check(not problem, f"claim {claim} is unprepared", expected="no error", observed=problem or "no error")
