"""The functions of the reference scheduler and of the reference taint eviction, compared with the judge cell by cell.

No objects are stored, so that all combinations take seconds. The scenarios show that the components use the functions.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from dra_api.objects import Obj
from dra_conformance.core import manifests
from reference_impl.scheduler.allocator import model
from reference_impl.scheduler.allocator.taints import blocks_allocation, tolerated
from reference_impl.taint_eviction.taints import eviction_time, evicts
from verification.taint_matrix.cells import NO_SELECTOR, Cell
from verification.taint_matrix.judge import blocking, evicted_after, taints_of

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_LONG_AGO = "2020-01-01T00:00:00Z"


@functools.cache
def _tolerations(text: str) -> tuple[Obj, ...]:
    return tuple({"operator": "Equal", **one} for one in manifests.parse_value(text or "[]"))


def differences(cells: Iterable[Cell]) -> Iterator[str]:
    """Yield each cell on which scheduler or eviction and the judge differ, with what both say."""
    for cell in cells:
        for name, expected, observed in (
            ("keeps new pods away", bool(blocking(cell)), _blocks(cell)),
            ("evicts after", evicted_after(cell, effect_required=True), _evicts_after(cell)),
        ):
            if expected != observed:
                yield f"{cell}: {name}: expected {expected}, observed {observed}"


def _taints(cell: Cell) -> list[Obj]:
    found: list[Obj] = [{"key": one.key, "value": one.value, "effect": one.effect} for one in taints_of(cell)]
    if found and cell.since == "2020" and cell.source != NO_SELECTOR:
        found[0]["timeAdded"] = _LONG_AGO
    return found


def _blocks(cell: Cell) -> bool:
    held = _tolerations(cell.tolerations)
    taints = [model.Taint(one["key"], one["value"], one["effect"]) for one in _taints(cell)]
    return any(blocks_allocation(one) and not tolerated(held, one) for one in taints)


def _evicts_after(cell: Cell) -> int | None:
    held = _tolerations(cell.tolerations)
    times = [eviction_time(one, held, now=_NOW) for one in _taints(cell) if evicts(one)]
    seconds = [max(int((at - _NOW).total_seconds()), 0) for at in times if at is not None]
    return min(seconds, default=None)
