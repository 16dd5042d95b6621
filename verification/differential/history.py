"""What happened before the claims of a case came: earlier claims, allocated by the reference in a cluster in order.

The reference is asked with every feature on, as the gates of a scheduler may be other ones by now. What it allocates is
thus what some scheduler did allocate, and everything else about a case's past are the edits of `edits`.
"""

from __future__ import annotations

from dra_api.objects import Obj
from verification.differential import claim_generator, reference
from verification.differential.cluster import Aspects
from verification.differential.rng import Dice

_MOST = 3
# What a case keeps of a result: all that counts for those who come after.
_KEPT = ("request", "driver", "pool", "device", "adminAccess", "consumedCapacity")


def allocate(dice: Dice, case: Obj, aspects: Aspects) -> None:
    """Let some claims be allocated in `case`, one after the other, each on the first node where it can be.

    Adds to `taken`. Claims that cannot be allocated leave nothing.
    """
    now = {**case, "features": dict.fromkeys(case["features"], True)}
    for number in range(dice.integer(1, _MOST)):
        now["claims"] = [claim_generator.claim(dice, f"e{number}", aspects)]
        now["nodes"] = dice.some(case["nodes"], len(case["nodes"]), len(case["nodes"]))
        for fact in reference.ask(now):
            if fact.outcome == "allocated":
                case["taken"] += [
                    _result(result, len(case["taken"]) + at)
                    for at, result in enumerate(fact.allocations[0]["devices"].get("results") or ())
                ]
                break


def _result(result: Obj, number: int) -> Obj:
    """A result with a share id that follows from the seed too, as the reference's own are random."""
    kept = {key: result[key] for key in _KEPT if result.get(key)}
    if result.get("shareID"):
        kept["shareID"] = f"00000000-0000-4000-8000-{number:012}"
    return kept
