"""Pools of a driver's ResourceSlices: the newest generation of each, and whether it is complete.

Pure functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dra_api.objects import Obj


def newest(slices: Sequence[Obj]) -> dict[str, list[Obj]]:
    """Return the slices of the highest generation, by pool."""
    pools: dict[str, list[Obj]] = {}
    for obj in slices:
        pools.setdefault(obj["spec"]["pool"]["name"], []).append(obj)
    return {
        name: [obj for obj in several if generation(obj) == max(generation(other) for other in several)]
        for name, several in pools.items()
    }


def completeness(slices: Sequence[Obj]) -> tuple[bool, Any]:
    """Return whether each pool has resourceSliceCount slices of its newest generation, and the counts by pool."""
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


def completed(counts: Any) -> Any:
    """Return what `completeness` would count if the pools of these counts were complete."""
    if not isinstance(counts, dict):
        return "a slice"
    return {name: {**row, "slices": max(row["resourceSliceCount"])} for name, row in counts.items()}


def generation(obj: Obj) -> int:
    """Return the generation of a slice's pool, by default 0."""
    return int(obj["spec"]["pool"].get("generation") or 0)
