"""Adds up how long each step took, over all scenarios: where the time of a run went."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from dra_conformance.core.events import CleanupStarted, Event, ScenarioFinished, StepStarted
from dra_conformance.report.model import StepTime

_LISTED = 30
_SHORT = 1.0
"""Seconds of all runs of a step below which it is not listed."""


def step_times(scenarios: Iterable[Sequence[Event]]) -> tuple[StepTime, ...]:
    """Return the steps that took longest, longest first; `scenarios` are the events of each scenario in order.

    Steps that differ only in their quoted values count as one. A step ends when the next one or the clean-up begins.
    """
    seconds: defaultdict[str, float] = defaultdict(float)
    times: Counter[str] = Counter()
    for events in scenarios:
        step, began = "", 0.0
        for event in events:
            if not isinstance(event, StepStarted | CleanupStarted | ScenarioFinished):
                continue
            if step:
                seconds[step] += event.time - began
            step, began = (_without_values(event.text) if isinstance(event, StepStarted) else ""), event.time
            times[step] += bool(step)
    slow = sorted((text for text in seconds if seconds[text] >= _SHORT), key=lambda text: (-seconds[text], text))
    return tuple(StepTime(text=text, times=times[text], seconds=round(seconds[text], 3)) for text in slow[:_LISTED])


def _without_values(text: str) -> str:
    """Return a step without its values and rules."""
    return re.sub(r'"[^"]*"', '"…"', re.sub(r"\s*\[[A-Z]+-\d[^\]]*\]$", "", text))
