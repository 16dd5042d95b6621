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


@dataclass(frozen=True, slots=True)
class Table:
    """Figures that are compared in columns. The first column is text, the others are aligned to the right."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def lines(self) -> list[str]:
        """Return the table as lines of text."""
        lines = [self.head, *self.rows]
        widths = [max(len(line[at]) for line in lines) for at in range(len(self.head))]
        texts = [
            "  ".join(
                [
                    line[0].ljust(widths[0]),
                    *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)),
                ]
            )
            for line in lines
        ]
        return [*(text.rstrip() for text in texts), *self.notes]


def show(title: str, figures: Sequence[Figure] | Table) -> None:
    """Print a group of figures as a table: median, smallest and largest, aim; or a table of its own."""
    print(f"\n{title}")
    if isinstance(figures, Table):
        print("\n".join(f"  {line}" for line in figures.lines()))
        return
    for figure in figures:
        spread = f"{min(figure.values):.4g} … {max(figure.values):.4g}" if len(figure.values) > 1 else ""
        aim = f"aim {figure.aim}" if figure.aim else ""
        print(f"  {figure.what:<58} {figure.middle:>9.4g} {figure.unit:<7} {spread:<20} {aim}")
        if figure.note:
            print(f"      {figure.note}")
