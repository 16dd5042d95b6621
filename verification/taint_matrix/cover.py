"""A pairwise cover: few cells in which every possible pair of values of two dimensions occurs.

Every pair occurs in a cell, and every pair of the dimensions of one taint and one toleration occurs also in a cell that
has no second one, which could hide what the first leads to. The dense parts of the matrix are included.

Greedy and deterministic. Of the candidates for the next cell, which begin with a pair that does not occur yet and are
completed dimension by dimension, the one with most new pairs is taken.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from verification.taint_matrix.cells import DENSE, DIMENSIONS, GROUPS, NAMES, SINGLE, Cell, cells, is_possible

Pair = tuple[tuple[str, Any], tuple[str, Any]]
Dimensions = Mapping[str, tuple[Any, ...]]
_CANDIDATES = 12


def pairs_of(cell: Cell) -> set[Pair]:
    """Return the pairs of values that occur in a cell."""
    return set(itertools.combinations(zip(NAMES, cell.values, strict=True), 2))


def possible_pairs(dimensions: Dimensions) -> list[Pair]:
    """Return all pairs that a cell can have, in a fixed order."""
    values = [[(name, value) for value in dimensions[name]] for name in NAMES]
    found = [pair for one, other in itertools.combinations(values, 2) for pair in itertools.product(one, other)]
    return [pair for pair in found if _completed(dict(pair), dimensions, frozenset()) is not None]


def _completed(given: dict[str, Any], dimensions: Dimensions, missing: Collection[Pair]) -> Cell | None:
    """Return a cell with the given values and with many of the missing pairs; None if no cell has these values."""

    def gain(chosen: Mapping[str, Any], name: str, value: Any) -> int:
        new = (name, value)
        return sum((old, new) in missing or (new, old) in missing for old in chosen.items())

    def extended(chosen: dict[str, Any], names: Sequence[str]) -> dict[str, Any] | None:
        if not names:
            return chosen
        name, *rest = names
        # Stable: the first of equally good values.
        for value in sorted(dimensions[name], key=lambda value: gain(chosen, name, value), reverse=True):
            more = {**chosen, name: value}
            if is_possible(more) and (found := extended(more, rest)) is not None:
                return found
        return None

    if not is_possible(given):
        return None
    found = extended(given, [name for name in NAMES if name not in given])
    return None if found is None else Cell(**found)


def added(present: Sequence[Cell], dimensions: Dimensions) -> list[Cell]:
    """Return further cells, so that every possible pair of these dimensions occurs in a cell of theirs."""
    missing = dict.fromkeys(possible_pairs(dimensions))

    def occurs_in(cell: Cell) -> None:
        for pair in pairs_of(cell):
            missing.pop(pair, None)

    for cell in present:
        if all(value in dimensions[name] for name, value in zip(NAMES, cell.values, strict=True)):
            occurs_in(cell)
    chosen = []
    while missing:
        starts = itertools.islice(missing, 0, None, max(1, len(missing) // _CANDIDATES))
        completed = [_completed(dict(pair), dimensions, missing) for pair in starts]
        candidates = [cell for cell in completed if cell is not None]
        chosen.append(max(candidates, key=lambda cell: len(pairs_of(cell) & missing.keys())))
        occurs_in(chosen[-1])
    return chosen


def cover() -> list[Cell]:
    """Return the cover, in the order of the dimensions; the cells of PodGroups, with a cover of their own, are last."""
    found = [cell for part in DENSE for cell in cells(only=part)]
    for dimensions in ({**DIMENSIONS, **SINGLE}, DIMENSIONS):
        found += added(found, dimensions)
    return [*_sorted(found, DIMENSIONS), *_sorted(added([], GROUPS), GROUPS)]


def _sorted(found: Sequence[Cell], dimensions: Dimensions) -> list[Cell]:
    return sorted(found, key=lambda cell: [dimensions[name].index(getattr(cell, name)) for name in NAMES])
