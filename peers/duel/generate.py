"""Whole cases for the duel: which features are on, which aspects a case is about, and the cluster with the claims."""

from __future__ import annotations

from hypothesis import strategies as st

from dra_api.objects import Obj
from peers.duel import cluster, wishes

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


@st.composite
def cases(draw: st.DrawFn) -> Obj:
    """One case: `features`, `nodes`, `slices`, `classes`, `claims`, `taken`."""
    # Few aspects at once: each then happens often, and the cases stay small enough to read.
    aspects = frozenset(draw(st.lists(st.sampled_from(cluster.ASPECTS), min_size=1, max_size=6, unique=True)))
    on = draw(st.sampled_from([_RELEASE, _RELEASE, FEATURES, FEATURES, _STABLE, ()]))
    if on == ():
        on = tuple(draw(st.lists(st.sampled_from(FEATURES), unique=True)))
    nodes = cluster.nodes(draw, aspects)
    slices = cluster.slices(draw, aspects, nodes)
    return {
        "features": {name: name in on for name in FEATURES},
        "nodes": nodes,
        "slices": slices,
        "classes": wishes.classes(draw, aspects),
        "claims": [wishes.claim(draw, f"c{at}", aspects) for at in range(draw(st.integers(1, 2)))],
        "taken": cluster.taken(draw, aspects, slices),
    }
