"""Whole cases for the duel: which features are on, which aspects a case is about, and the cluster with the claims.

Half of the cases have a history: a consistent cluster, claims that were allocated in it, and edits made since.
"""

from __future__ import annotations

from dra_api.objects import Obj
from verification.differential import claim_generator, cluster, edits, history
from verification.differential.rng import Dice

# Feature names as upstream's structured.Features spells them.
FEATURES = (
    "AdminAccess",
    "PrioritizedList",
    "PartitionableDevices",
    "DeviceTaints",
    "DeviceBindingAndStatus",
    "ConsumableCapacity",
    "ListTypeAttributes",
)
_STABLE = FEATURES[:4]
_RELEASE = FEATURES[:6]  # what kube-scheduler 1.36 enables by default
_SETS = (_RELEASE, _RELEASE, _RELEASE, FEATURES, FEATURES, FEATURES, _STABLE, ())
# What claims ask for needs these; without them a claim is only refused.
_NEEDS = {
    "admin": "AdminAccess",
    "alternatives": "PrioritizedList",
    "consumable": "ConsumableCapacity",
    "policies": "ConsumableCapacity",
    "distinct": "ConsumableCapacity",
}
# What only drivers' mistakes and updates bring about; a case with a history begins without it.
_TROUBLE = frozenset({"generations", "broken-pools", "in-use"})
# What is asked for in a case with a history is often of this kind, as there the past of a device matters.
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
    """The aspects that the case's features know."""
    return frozenset(one for one in aspects if one not in _NEEDS or made["features"][_NEEDS[one]])
