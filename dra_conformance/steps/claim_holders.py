"""Who holds a claim, and what it holds: written by hand in the place of others, remembered, looked at again."""

from __future__ import annotations

from collections import Counter

from dra_api.objects import PODS, RESOURCE_CLAIMS, Obj, uid_of
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.claims import allocation_on, consumers, devices_of, paper_results, pod_consumer, results_of

# -- by hand -----------------------------------------------------------------------------------------------------------


def reserve(world: World, claim: str, more: list[Obj]) -> Obj:
    """Add entries to reservedFor of a claim; the claim as it is then."""

    def change(obj: Obj) -> None:
        status = obj.setdefault("status", {})
        status["reservedFor"] = [*(status.get("reservedFor") or []), *more]

    return world.update(RESOURCE_CLAIMS, claim, change, subresource="status")


@given('claim "{claim}" is reserved by hand for pod "{pod}"')
@when('claim "{claim}" is reserved by hand for pod "{pod}"')
def _(world: World, claim: str, pod: str) -> None:
    """Put a pod into reservedFor, in the place of a scheduler, and let everybody hear of it."""
    reserve(world, claim, [pod_consumer(world, pod)])
    world.settle()


@given('claim "{claim}" holds the devices "{devices}" of "{node}"')
@when('claim "{claim}" holds the devices "{devices}" of "{node}"')
def _(world: World, claim: str, devices: str, node: str) -> None:
    """Write an allocation to devices on paper into a claim, in the place of a scheduler; no reservation."""

    def change(obj: Obj) -> None:
        allocation = allocation_on(world.name(node), paper_results(world, node, devices))
        obj.setdefault("status", {})["allocation"] = allocation

    world.update(RESOURCE_CLAIMS, claim, change, subresource="status")
    world.settle()  # the observer may see it before the scheduler, which then decides rightly on what it knows


@given('claim "{claim}" has {count:d} other consumers')
@when('claim "{claim}" has {count:d} more consumers')
def _(world: World, claim: str, count: int) -> None:
    """Put pods that do not exist into reservedFor."""
    start = len(consumers(world.get(RESOURCE_CLAIMS, claim)))
    more = [{"resource": "pods", "name": f"p{n}", "uid": f"uid-{n}"} for n in range(start, start + count)]
    wanted = len(consumers(reserve(world, claim, more)))
    world.require(
        "the consumers are seen",
        lambda: (len(consumers(world.seen(RESOURCE_CLAIMS, claim))) == wanted, "fewer"),
    )
    world.settle()


@given('claim "{claim}" is remembered')
def _(world: World, claim: str) -> None:
    """Keep the claim as it is once everything has come to rest, to be compared later.

    What the steps before wrote is then known to everybody: a binder that reads the pod from its cache, as KAI's does,
    is not blamed for a binding that nobody has told it of.
    """
    world.settle()
    world.memory[f"claim/{claim}"] = world.get(RESOURCE_CLAIMS, claim)


@given('claim "{claim}" is not reserved yet for pod "{pod}"')
def _(world: World, claim: str, pod: str) -> None:
    """State, for a reader, that reservedFor is empty; a precondition that is checked."""
    world.require(
        f"claim {claim} has no consumer",
        lambda: (not consumers(world.get(RESOURCE_CLAIMS, claim)), "it has"),
    )


# -- looked at ---------------------------------------------------------------------------------------------------------


@then('claim "{claim}" stays as remembered')
def _(world: World, claim: str) -> None:
    """Nobody has written to the claim, also after everything has come to rest."""
    wanted = world.memory[f"claim/{claim}"]["metadata"]["resourceVersion"]

    def look() -> Seen:
        seen = world.seen(RESOURCE_CLAIMS, claim)
        return seen is not None and seen["metadata"]["resourceVersion"] == wanted, (seen or {}).get("status") or seen

    world.stays(f"claim {claim} is left alone", look, expected="the claim as it was before")


@then('claim "{claim}" keeps the devices "{devices}"')
def _(world: World, claim: str, devices: str) -> None:
    """The allocation is and stays this one."""

    def look() -> Seen:
        held = sorted(devices_of(world.seen(RESOURCE_CLAIMS, claim)))
        return held == sorted(words(devices)), held or "not allocated"

    world.stays(f"claim {claim} keeps its devices", look, expected=sorted(words(devices)))


@then('claim "{claim}" is reserved once for each of the pods "{pods}" and for no other')
def _(world: World, claim: str, pods: str) -> None:
    """reservedFor comes to name these pods by uid, each once."""

    def look() -> Seen:
        users = consumers(world.seen(RESOURCE_CLAIMS, claim))
        wanted = Counter(uid_of(world.seen(PODS, pod) or {}) for pod in words(pods))
        return Counter(user.get("uid") for user in users) == wanted, users

    world.eventually(f"claim {claim} is reserved", look, expected=f"{pods}, each once")


@then("{count:d} claims come to be allocated, and no device is in two of them")
def _(world: World, count: int) -> None:
    """So many claims hold devices, each its own."""

    def look() -> Seen:
        claims = world.all_seen(RESOURCE_CLAIMS)
        held = [(one["driver"], one["pool"], one["device"]) for claim in claims for one in results_of(claim)]
        allocated = sum(bool(results_of(claim)) for claim in claims)
        return allocated == count and len(held) == len(set(held)), sorted(held)

    world.wait(look)
    world.stays("each device is in one claim", look, expected=f"{count} allocated claims, all devices distinct")
