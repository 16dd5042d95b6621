"""Complete cases: enabled features, the aspects of a case, and the cluster with its claims.

Half of the cases have a history: a consistent cluster, claims that were allocated in it, and later edits.
"""

from __future__ import annotations

from dra_api.feature_gates import ALLOCATOR_FEATURES
from dra_api.objects import Obj
from verification.differential import alpha, claim_generator, cluster, edits, history
from verification.differential.rng import Dice

# Those of `alpha` are added to a case afterwards.
FEATURES = tuple(name for name in ALLOCATOR_FEATURES if name not in alpha.FEATURES)
_STABLE = FEATURES[:4]
_RELEASE = FEATURES[:6]  # enabled by default in kube-scheduler 1.37
_SETS = (_RELEASE, _RELEASE, _RELEASE, FEATURES, FEATURES, FEATURES, _STABLE, ())
# Claims use these features; without them every claim is an error.
_NEEDS = {
    "admin": "AdminAccess",
    "alternatives": "PrioritizedList",
    "consumable": "ConsumableCapacity",
    "policies": "ConsumableCapacity",
    "distinct": "ConsumableCapacity",
}
# These result only from mistakes and updates of drivers; a case with a history starts without them.
_TROUBLE = frozenset({"generations", "broken-pools", "in-use"})
# Frequent requests in a case with a history: the past of a device matters to them.
_WITH_A_PAST = ("counters", "consumable", "policies", "admin", "all")


def case(dice: Dice) -> Obj:
    """One case: `features`, `nodes`, `slices`, `classes`, `claims`, `taken`."""
    # Few aspects at once: each then happens often, and the cases stay small enough to read.
    aspects = frozenset(dice.some(cluster.ASPECTS, 1, 6))
    if edited := dice.one_in(2):
        aspects = aspects - _TROUBLE | {dice.pick(_WITH_A_PAST)}
    on = dice.pick(_SETS) or tuple(dice.some(FEATURES, 0, len(FEATURES)))
    nodes = cluster.nodes(dice, aspects)
    slices = cluster.slices(dice, aspects, nodes)
    made: Obj = {
        "features": {name: name in on for name in FEATURES},
        "nodes": nodes,
        "slices": slices,
        "classes": claim_generator.classes(dice, aspects),
        "claims": [],
        "taken": [] if edited else cluster.taken(dice, aspects, slices),
    }
    if edited:
        history.allocate(dice, made, aspects)
        made = edits.edit(dice, made, aspects)
    asked = aspects if dice.one_in(8) else _supported(aspects, made)
    made["claims"] = [claim_generator.claim(dice, f"c{at}", asked) for at in range(dice.integer(1, 2))]
    return made


def _supported(aspects: cluster.Aspects, made: Obj) -> cluster.Aspects:
    """Return the aspects that the case's features support."""
    return frozenset(one for one in aspects if one not in _NEEDS or made["features"][_NEEDS[one]])
