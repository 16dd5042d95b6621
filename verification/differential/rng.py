"""The random numbers of the generated cases: a generator that depends on its seed only.

`reduce` works on cases, not on random choices, so the choices need not be recorded, and drawing stays cheaper than
running either side.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """Draws for one case. The same `seed` gives the same draws, in any process and on any machine."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)  # noqa: S311 - nothing here is secret

    def one_in(self, chances: int) -> bool:
        """True in one of `chances` cases."""
        return self._random.randrange(chances) == 0

    def integer(self, least: int, most: int) -> int:
        """A whole number from `least` to `most`, both included."""
        return self._random.randint(least, most)

    def pick(self, choices: Sequence[T]) -> T:
        """One of `choices`."""
        return self._random.choice(choices)

    def some(self, choices: Iterable[T], least: int, most: int) -> list[T]:
        """`least` to `most` different ones of `choices`, as many as there are at most, in any order."""
        pool = [*choices]
        most = min(most, len(pool))
        return self._random.sample(pool, self._random.randint(min(least, most), most))
