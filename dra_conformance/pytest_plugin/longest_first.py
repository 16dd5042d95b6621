"""Orders scenarios longest first, so that no worker ends long after the others.

The seconds come from the previous report in the folder of the run, and from `durations.json`, which lists the slow
scenarios of a run of the reference (`python -m tools.gen_durations`). Programs wait for timers in real time: for a
driver that is a program, `durations_driver.json` has the seconds of NVIDIA's driver, and for a binder
`durations_binder.json` those of KAI's. A scenario without known seconds counts as fast. The order of the plan, and so
of the report, does not change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import orjson

from dra_conformance.core.options import RunOptions

RECORDED = Path(__file__).parent / "durations.json"
RECORDED_FOR = {name: Path(__file__).parent / f"durations_{name}.json" for name in ("driver", "binder")}
"""What is recorded for a component that is a program."""
FAST = 0.3
"""Seconds below which a scenario counts as fast; fast scenarios keep the order of the plan."""
T = TypeVar("T")


def known_seconds(folder: Path, *, programs: Iterable[str] = ()) -> dict[str, float]:
    """Return the seconds of scenarios by id: those of the previous report in `folder` replace the recorded ones.

    `programs`: the components that are programs.
    """
    return {**recorded_seconds(programs=programs), **_previous(folder)}


def recorded_seconds(*, programs: Iterable[str] = ()) -> dict[str, float]:
    """Return the recorded seconds of scenarios by id, which are the same on every machine."""
    seconds = _recorded(RECORDED)
    for name in programs:
        seconds |= _recorded(RECORDED_FOR[name])
    return seconds


def programs_of(options: RunOptions) -> list[str]:
    """Return the components of a run that are programs with recorded seconds."""
    return [name for name in RECORDED_FOR if options.component(name).kind == "exec"]


def longest_first(
    items: Sequence[T], seconds: Mapping[str, float], *, ident: Callable[[T], str], workers: int
) -> list[T]:
    """Return the items longest first. `ident` returns the id of an item, `seconds` has the seconds by id.

    pytest-xdist gives each worker two items at the start, and then one after the other. So each of the first slow items
    is followed by a fast one: no worker starts with two slow ones.
    """

    def known(item: T) -> float:
        return seconds.get(ident(item), 0.0)

    slow = sorted((item for item in items if known(item) >= FAST), key=known, reverse=True)
    fast = [item for item in items if known(item) < FAST]
    starts = [item for pair in zip(slow[:workers], fast, strict=False) for item in pair]
    begun = len(starts) // 2
    return [*starts, *slow[begun:], *fast[begun:]]


def _recorded(path: Path) -> dict[str, float]:
    found: dict[str, float] = orjson.loads(path.read_bytes())
    return found


def _previous(folder: Path) -> dict[str, float]:
    """Return the seconds of the scenarios that ran; nothing if the folder has no readable report."""
    try:
        report = orjson.loads((folder / "report.json").read_bytes())
        return {row["id"]: float(row["duration"]) for row in report["scenarios"] if row["duration"]}
    except (OSError, ValueError, TypeError, KeyError):
        return {}
