"""Pools of a driver's ResourceSlices: the newest generation of each, and whether it is complete.

The slices come from whoever asks; nothing is kept here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dra_api.objects import Obj


def newest(slices: Sequence[Obj]) -> dict[str, list[Obj]]:
    """The slices of the highest generation, by pool."""
    pools: dict[str, list[Obj]] = {}
    for obj in slices:
        pools.setdefault(obj["spec"]["pool"]["name"], []).append(obj)
    return {
        name: [obj for obj in several if generation(obj) == max(generation(other) for other in several)]
        for name, several in pools.items()
    }


def completeness(slices: Sequence[Obj]) -> tuple[bool, Any]:
    """Whether each pool has as many slices of its newest generation as each of them says, and the counts by pool."""
    pools = newest(slices)
    seen = {
        name: {
            "slices": len(several),
            "resourceSliceCount": sorted({obj["spec"]["pool"]["resourceSliceCount"] for obj in several}),
            "generation": generation(several[0]),
        }
        for name, several in pools.items()
    }
    ok = bool(pools) and all(row["resourceSliceCount"] == [row["slices"]] for row in seen.values())
    return ok, seen or "no slice"


def generation(obj: Obj) -> int:
    """The generation of a slice's pool; 0 where it says none."""
    return int(obj["spec"]["pool"].get("generation") or 0)
