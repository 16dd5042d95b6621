"""Prepare and Unprepare calls to the driver under test, and checks of its responses."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

from dra_api.objects import RESOURCE_CLAIMS
from dra_api.rpc import (
    ClaimRef,
    PrepareResult,
    RpcError,
)
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import World, show
from dra_conformance.kubelet import PluginInstance
from dra_conformance.kubelet.errors import KubeletError
from dra_conformance.steps.cdi import specifications_of
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
from dra_conformance.steps.uids import with_uids


@given('the kubelet refers to claim "{claim}" by a uid that no claim has')
def _(world: World, claim: str) -> None:
    """Calls for this claim name a uid that does not exist: the claim was deleted, or another one has its name now."""
    calls(world).refs[claim] = ClaimRef(world.namespace, str(uuid4()), claim)


@given('claim "{claim}" is prepared on "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """Prepare an allocated claim; the scenario cannot go on without it."""
    require_prepared(world, claim, node)


def require_prepared(world: World, claim: str, node: str) -> None:
    """Prepare an allocated claim. Raises Untestable if the driver returns an error."""
    ok, observed = succeeded(world, prepare(world, node, [reference_to(world, claim)]), claim)
    if not ok:
        raise Untestable(f"claim {claim} cannot be prepared: {observed}")


@given('claims "{claims}" are prepared on "{node}"')
def _(world: World, claims: str, node: str) -> None:
    """Prepare allocated claims, each in a call of its own; the scenario cannot go on without them."""
    for claim in words(claims):
        require_prepared(world, claim, node)


@given('claim "{claim}" is unprepared on "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """Unprepare a claim; the scenario cannot go on without it."""
    call = unprepare(world, node, [reference_to(world, claim)])
    problem = unprepare_problem(call, reference_to(world, claim))
    if problem:
        raise Untestable(f"claim {claim} cannot be unprepared: {problem}")


@when('claim "{claim}" is prepared on "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """Call NodePrepareResources with one claim; the driver may return an error."""
    succeeded(world, prepare(world, node, [reference_to(world, claim)]), claim)


@when('claims "{claims}" are prepared on "{node}" in one call')
def _(world: World, claims: str, node: str) -> None:
    """Call NodePrepareResources once with several claims, or with none."""
    call = prepare(world, node, [reference_to(world, claim) for claim in words(claims)])
    for claim in words(claims):
        succeeded(world, call, claim)


def prepare_together(instance: PluginInstance, refs: Sequence[ClaimRef]) -> list[Call]:
    """Make a Prepare call for each claim, all at the same time; calls in the order of `refs`."""
    barrier = threading.Barrier(len(refs))

    def one(ref: ClaimRef) -> Call:
        # The pool starts its threads one by one; the calls begin together.
        barrier.wait()
        try:
            return Call(prepared=instance.prepare([ref], timeout=CALL))
        except RpcError as error:
            return Call(error=error)

    with ThreadPoolExecutor(max_workers=len(refs), thread_name_prefix="concurrent-call") as pool:
        return list(pool.map(one, refs))


@when('claims "{claims}" are prepared on "{node}" at the same time')
def _(world: World, claims: str, node: str) -> None:
    """Call NodePrepareResources once for each claim, all at the same time; a name may be listed twice."""
    refs = [reference_to(world, claim) for claim in words(claims)]
    try:
        instance = world.node(node).plugin.instance
    except KubeletError as error:
        raise Untestable(str(error)) from error
    merged: dict[str, PrepareResult] = {}
    for claim, ref, call in zip(words(claims), refs, prepare_together(instance, refs), strict=True):
        problem = problem_of(call, ref)
        ok, _seen = succeeded(world, call, claim)
        # An error wins over a success of the same claim, so that one failed call of several is not hidden.
        if not ok and not (ref.uid in merged and merged[ref.uid].error):
            merged[ref.uid] = PrepareResult(error=problem)
        elif ok and ref.uid not in merged:
            merged[ref.uid] = call.prepared[ref.uid]
    calls(world).made.append(Call(prepared=merged))


@when('claim "{claim}" is unprepared on "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """Call NodeUnprepareResources with one claim."""
    unprepare(world, node, [reference_to(world, claim)])


@when('claims "{claims}" are unprepared on "{node}" in one call')
def _(world: World, claims: str, node: str) -> None:
    """Call NodeUnprepareResources once with several claims; a name may be listed twice."""
    unprepare(world, node, [reference_to(world, claim) for claim in words(claims)])


@when('the claim "{claim}" is deleted although it is in use')
def _(world: World, claim: str) -> None:
    """Delete a claim together with its finalizers, so that it is gone while it is prepared or reserved."""
    reference_to(world, claim)  # keeps the uid, which cannot be read once the claim is gone
    finalizers = (world.get(RESOURCE_CLAIMS, claim).get("metadata") or {}).get("finalizers")
    world.client.delete(RESOURCE_CLAIMS, claim, world.namespace)
    if finalizers:
        world.client.patch(RESOURCE_CLAIMS, claim, {"metadata": {"finalizers": None}}, world.namespace)
    world.require("the claim is gone", lambda: (world.seen(RESOURCE_CLAIMS, claim) is None, "still there"))
    world.settle()  # a driver that reads claims from a cache must have seen the deletion


@then('claim "{claim}" is prepared')
def _(world: World, claim: str) -> None:
    """The last call returned an entry for this claim, without an error."""
    ref = reference_to(world, claim)
    call = calls(world).last
    problem = problem_of(call, ref)
    expected = "a response without an error"
    world.check(not problem, f"claim {claim} is prepared", expected=expected, observed=problem or expected)


@then('claim "{claim}" is refused')
def _(world: World, claim: str) -> None:
    """The last call returned no devices for this claim: it failed, or the claim's entry has an error or is missing."""
    ref = reference_to(world, claim)
    call = calls(world).last
    problem = problem_of(call, ref)
    # With these codes the driver did not process the call, so it did not refuse the claim.
    if call.error is not None and call.error.code in ("UNAVAILABLE", "DEADLINE_EXCEEDED", "UNIMPLEMENTED"):
        world.check(False, f"claim {claim} is refused", expected="a response with the reason", observed=problem)
    observed = problem or f"devices {show([show_device(device) for device in call.prepared[ref.uid].devices])}"
    world.check(bool(problem), f"claim {claim} is refused", expected="an error", observed=observed)


def check_refused(world: World, claim: str, names: Sequence[str] = ()) -> None:
    """Check that the last call refused this claim alone, with an error that has these names, and left nothing of it.

    Only names are compared, in any case: those of fields, devices, gates and claims. The words around them are the
    driver's own.
    """
    ref = reference_to(world, claim)
    call = calls(world).last
    problem = problem_of(call, ref)
    # A missing entry is a problem too, but not an error of the claim.
    ok = ref.uid in call.prepared and bool(problem) and all(name.lower() in problem.lower() for name in names)
    expected = " ".join(["an error of this claim", *(["that names", ", ".join(names)] if names else ())])
    world.check(ok, f"claim {claim} is refused", expected=expected, observed=problem or "it was prepared")
    left = specifications_of(world, ref.uid)
    world.check(not left, f"CDI files of {claim}, which was refused", expected=[], observed=left)


@then('claim "{claim}" is refused on its own')
def _(world: World, claim: str) -> None:
    """The claim's entry of the last response has an error, and no CDI file names the claim; the call succeeded."""
    check_refused(world, claim)


@then('claim "{claim}" is refused, naming "{names}"')
def _(world: World, claim: str, names: str) -> None:
    """The same, and the error has these names (comma-separated): fields, devices, gates, or `$(uid:CLAIM)`."""
    check_refused(world, claim, [with_uids(world, name) for name in words(names)])


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


@then('the response has one entry for each of "{claims}" and no other')
def _(world: World, claims: str) -> None:
    """The last call succeeded, and its response is keyed by exactly the uids of these claims (none: empty)."""
    call = calls(world).last
    wanted = sorted(reference_to(world, claim).uid for claim in words(claims))
    observed = [str(call.error)] if call.error else sorted(call.prepared)
    world.check(observed == wanted, "one entry for each claim", expected=wanted, observed=observed)


@then('the response for claim "{claim}" has only devices that the claim was allocated')
def _(world: World, claim: str) -> None:
    """Every device of the response is in the claim's allocation, and names that result's request or none.

    A subrequest is named by its request: `gpu` for `gpu/big`.
    """
    allowed = {
        (result["pool"], result["device"]): result["request"].partition("/")[0] for result in own_results(world, claim)
    }
    strangers = []
    for device in answer_for(world, claim):
        request = allowed.get((device.pool_name, device.device_name))
        if request is None or set(device.request_names) - {request}:
            strangers.append(show_device(device))
    message = "devices of the response that are not in the allocation"
    world.check(not strangers, message, expected=[], observed=strangers)


@then('the response for claim "{claim}" has every device that the claim was allocated')
def _(world: World, claim: str) -> None:
    """Every allocation result of the driver is in the response. Share ids, which are optional there, do not matter."""
    wanted = sorted({(result["pool"], result["device"]) for result in own_results(world, claim)})
    found = sorted({(device.pool_name, device.device_name) for device in answer_for(world, claim)})
    world.check(found == wanted, "all allocated devices are in the response", expected=wanted, observed=found)


@then('the response for claim "{claim}" has every device that the claim was allocated, as for claim "{other}"')
def _(world: World, claim: str, other: str) -> None:
    """Every allocation result of the driver is in the response, or the other claim's response has no device either.

    A driver whose devices need no CDI id may return no device for any claim.
    """
    wanted = sorted({(result["pool"], result["device"]) for result in own_results(world, claim)})
    found = sorted({(device.pool_name, device.device_name) for device in answer_for(world, claim)})
    ok = found == wanted if answer_for(world, other) else not found
    world.check(ok, "all allocated devices are in the response", expected=wanted, observed=found)


@then('the response for claim "{claim}" has the id of every share that the claim was allocated')
def _(world: World, claim: str) -> None:
    """Every allocation result of the driver is in the response with its share id."""
    results = own_results(world, claim)
    wanted = sorted((result["pool"], result["device"], str(result.get("shareID", ""))) for result in results)
    answer = answer_for(world, claim)
    found = sorted({(device.pool_name, device.device_name, str(device.share_id or "")) for device in answer})
    world.check(found == wanted, "all allocated shares are in the response", expected=wanted, observed=found)


@then('all responses for claim "{claim}" are the same')
def _(world: World, claim: str) -> None:
    """Every successful Prepare of this claim returned the same devices and CDI ids."""
    answers = calls(world).prepared.get(claim, [])
    shown = [[show_device(device) for device in answer] for answer in answers]
    ok = len(shown) > 1 and all(answer == shown[0] for answer in shown)
    world.check(
        ok,
        f"{len(shown)} responses for {claim} are the same",
        expected=shown[:1] * (len(shown) - 1 or 1),
        observed=shown[1:],
    )


@then('claim "{claim}" is unprepared')
def _(world: World, claim: str) -> None:
    """The last NodeUnprepareResources call succeeded for this claim."""
    problem = unprepare_problem(calls(world).last, reference_to(world, claim))
    world.check(not problem, f"claim {claim} is unprepared", expected="no error", observed=problem or "no error")


@then('claim "{claim}" is not unprepared')
def _(world: World, claim: str) -> None:
    """The last NodeUnprepareResources call returned an error of this claim; the call itself succeeded."""
    call, ref = calls(world).last, reference_to(world, claim)
    error = call.unprepared.get(ref.uid)
    observed = unprepare_problem(call, ref) or "unprepared"
    world.check(bool(error), f"claim {claim} is not unprepared", expected="an error of this claim", observed=observed)
