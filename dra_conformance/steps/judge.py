"""Verdicts of the allocation checker: an allocation is valid, or none is possible."""

from __future__ import annotations

from dra_api.objects import RESOURCE_CLAIMS
from dra_conformance.engine.vocabulary import then
from dra_conformance.engine.world import Seen, World
from dra_conformance.oracle.live import check_claim, could_claim_be_allocated
from dra_conformance.steps.pods import look_bound


def check_allocation(world: World, claim: str) -> None:
    """Wait for the claim's allocation, and check that it breaks no rule."""

    def look() -> Seen[str]:
        seen = world.seen(RESOURCE_CLAIMS, claim) or {}
        allocated = (seen.get("status") or {}).get("allocation") is not None
        return allocated, "allocated" if allocated else "not allocated"

    allocated = world.wait(look)
    if not allocated[0]:
        world.check_seen(f"claim {claim} is allocated", allocated, expected="allocated")
    verdict = check_claim(world, claim)
    broken = "; ".join(f"{found.rule} {found.path}: {found.message}" for found in verdict.violations)
    world.check(
        verdict.valid,
        f"the allocation of claim {claim} breaks no rule",
        expected="no rule broken",
        observed=broken or "no rule broken",
    )


@then('the allocation of claim "{claim}" is valid')
def _(world: World, claim: str) -> None:
    """The claim comes to be allocated, and the allocation checker finds no broken rule, whichever devices it has."""
    check_allocation(world, claim)


@then('pod "{pod}" is bound or no valid allocation of claim "{claim}" exists')
def _(world: World, pod: str, claim: str) -> None:
    """A pod waits only if the checker, which tries all combinations of devices on all nodes, finds no allocation."""
    world.settle()
    bound, where = look_bound(world, pod)
    answer = could_claim_be_allocated(world, claim)
    picks = ", ".join("/".join(pick.device) for pick in answer.witness)
    found = f"{answer.verdict} {answer.reason} {picks and f'on {answer.node}: {picks}'}".strip()
    world.check(
        bound or answer.verdict == "no",
        f"pod {pod} is bound if its claim can be allocated",
        expected="bound, or no valid allocation",
        observed=f"bound to {where}" if bound else found,
    )
