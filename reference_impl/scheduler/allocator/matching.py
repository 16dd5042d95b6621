"""Counting: can so many picks from these sets of devices all be made at once? An exact answer, in polynomial time.

Pure functions over masks. This is what makes n+1 requests for n devices fail at once instead of after n! attempts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class Need(NamedTuple):
    """`wanted` different devices out of `mask`."""

    wanted: int
    mask: int


Needs: TypeAlias = Sequence[Need]


def satisfiable(needs: Needs) -> bool:
    """Return whether all needs can be met with no device used twice."""
    total = sum(need.wanted for need in needs)
    scarce = [need for need in needs if need.mask.bit_count() < total]
    if not scarce:
        return True
    # A task with at least `total` candidates always finds one, after all others have theirs.
    union = 0
    for need in scarce:
        if need.mask.bit_count() < need.wanted:
            return False
        union |= need.mask
    if union.bit_count() < sum(need.wanted for need in scarce):
        return False
    return len(scarce) == 1 or _assign(scarce)


def _assign(needs: Needs) -> bool:
    """Assign devices by bipartite matching with augmenting paths; tasks with the fewest choices first."""
    picks = [need.mask for need in sorted(needs, key=lambda need: need.mask.bit_count()) for _ in range(need.wanted)]
    holder: dict[int, int] = {}
    return all(_augment(pick, picks, holder) for pick in range(len(picks)))


def _augment(first: int, picks: list[int], holder: dict[int, int]) -> bool:
    """Find a device for pick `first`, moving earlier picks if that helps (breadth first)."""
    taken = sum(1 << position for position in holder)
    reached_by: dict[int, int] = {}
    visited = 0
    frontier = [first]
    while frontier:
        following: list[int] = []
        for pick in frontier:
            new = picks[pick] & ~visited
            visited |= new
            free = new & ~taken
            if free:
                position = (free & -free).bit_length() - 1
                reached_by[position] = pick
                _shift(position, first, reached_by, holder)
                return True
            while new:
                low = new & -new
                position = low.bit_length() - 1
                reached_by[position] = pick
                following.append(holder[position])
                new ^= low
        frontier = following
    return False


def _shift(position: int, first: int, reached_by: dict[int, int], holder: dict[int, int]) -> None:
    """Shift picks along the found path: each takes the next device, the first pick gets the free one."""
    previous = {pick: at for at, pick in holder.items()}
    while True:
        pick = reached_by[position]
        holder[position] = pick
        if pick == first:
            return
        position = previous[pick]
