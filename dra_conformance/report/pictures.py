"""Places the exchanges of a failed scenario in lanes, one for each part of the system, for a picture (SVG)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dra_conformance.report.exchanges import DRIVER, KUBELET, PARTS, SERVER, TEST
from dra_conformance.report.model import Exchange

_ALWAYS = frozenset({TEST, SERVER, KUBELET, DRIVER})
_LANE, _LEFT, _TOP, _ROW = 110, 60, 42, 25
_LETTERS, _RIGHT = 90, 500
"""The length of a label in letters, and the room in pixels for it to the right of the last lane."""


@dataclass(frozen=True, slots=True)
class Lane:
    """A part of the system and the place of its line."""

    name: str
    x: int


@dataclass(frozen=True, slots=True)
class Row:
    """One exchange: an arrow from `x1` to `x2`, or a point if both are equal. `label` is a short form of `text`."""

    y: int
    x1: int
    x2: int
    label: str
    text: str
    time: str
    failed: bool

    @property
    def left(self) -> int:
        """The place where the label begins."""
        return min(self.x1, self.x2)


@dataclass(frozen=True, slots=True)
class Picture:
    """Lanes and rows with their places. `label` describes the picture for readers that do not show it."""

    width: int
    height: int
    lanes: tuple[Lane, ...]
    rows: tuple[Row, ...]
    label: str


def draw(exchanges: Sequence[Exchange]) -> Picture | None:
    """Return the picture of a scenario; None if nothing happened in it."""
    if not exchanges:
        return None
    used = {end for one in exchanges for end in (one.source, one.target)}
    names = [name for name in PARTS if name in used | _ALWAYS]
    x = {name: _LEFT + number * _LANE for number, name in enumerate(names)}
    rows = tuple(_row(one, x, _TOP + number * _ROW) for number, one in enumerate(exchanges))
    return Picture(
        width=_LEFT + (len(names) - 1) * _LANE + _RIGHT,
        height=_TOP + len(rows) * _ROW,
        lanes=tuple(Lane(name, x[name]) for name in names),
        rows=rows,
        label=f"The last {len(rows)} messages between {', '.join(names[:-1])} and {names[-1]}",
    )


def _row(one: Exchange, x: dict[str, int], y: int) -> Row:
    # A stored report may have parts that this version does not know.
    start, end = x.get(one.source, _LEFT), x.get(one.target, _LEFT)
    return Row(
        y=y,
        x1=start,
        x2=end,
        label=one.text if len(one.text) <= _LETTERS else one.text[: _LETTERS - 1] + "…",
        text=one.text,
        time=f"{one.time:.3f} s",
        failed=one.failed,
    )
