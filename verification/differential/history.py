"""The history of a case: earlier claims that the reference allocated in the cluster, in order.

The reference runs with every feature enabled, because a scheduler's gates may have changed since. The result is what
some scheduler did allocate. `edits` adds everything else to a case's past.
"""

from __future__ import annotations

from dra_api.objects import Obj
from verification.differential import claim_generator, reference
from verification.differential.cluster import Aspects
from verification.differential.rng import Dice

_MOST = 3
# The fields of a result that matter to later claims.
_KEPT = ("request", "driver", "pool", "device", "adminAccess", "consumedCapacity")


def allocate(dice: Dice, case: Obj, aspects: Aspects) -> None:
    """Allocate some claims in `case`, one after the other, each on the first suitable node.

    Adds to `taken`. A claim that cannot be allocated changes nothing.
    """
    now = {**case, "features": dict.fromkeys(case["features"], True)}
    for number in range(dice.integer(1, _MOST)):
        now["claims"] = [claim_generator.claim(dice, f"e{number}", aspects)]
        # All nodes, in random order.
        now["nodes"] = dice.some(case["nodes"], len(case["nodes"]), len(case["nodes"]))
        for fact in reference.allocate(now):
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
