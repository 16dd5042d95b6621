"""Figures and how they are shown: medians over repetitions, with the spread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Figure:
    """One measurement: name, unit, all values, and the target if there is one."""

    what: str
    unit: str
    values: Sequence[float]
    aim: str = ""
    note: str = ""

    @property
    def middle(self) -> float:
        """The median."""
        return median(self.values)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which `share` (0 to 1) of all values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def repeat(count: int, measure: Callable[[], float]) -> list[float]:
    """Measure several times, one after the other."""
    return [measure() for _ in range(count)]


def show(title: str, figures: Sequence[Figure]) -> None:
    """Print a group of figures as a table: median, smallest and largest, aim."""
    print(f"\n{title}")
    for figure in figures:
        spread = f"{min(figure.values):.4g} … {max(figure.values):.4g}" if len(figure.values) > 1 else ""
        aim = f"aim {figure.aim}" if figure.aim else ""
        print(f"  {figure.what:<58} {figure.middle:>9.4g} {figure.unit:<7} {spread:<20} {aim}")
        if figure.note:
            print(f"      {figure.note}")
