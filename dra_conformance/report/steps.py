"""Adds up how long each sentence took, over all scenarios: where the time of a run went."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from dra_conformance.core.events import CleanupStarted, Event, ScenarioFinished, StepStarted
from dra_conformance.report.model import StepTime

_LISTED = 30
_SHORT = 1.0
"""Seconds of all steps with one sentence below which it is not listed."""


def step_times(scenarios: Iterable[Sequence[Event]]) -> tuple[StepTime, ...]:
    """Return the sentences that took longest, longest first; `scenarios` are the events of each scenario in order.

    A sentence stands for all values in its quotation marks. A step ends when the next one or the clean-up begins.
    """
    seconds: defaultdict[str, float] = defaultdict(float)
    times: Counter[str] = Counter()
    for events in scenarios:
        sentence, began = "", 0.0
        for event in events:
            if not isinstance(event, StepStarted | CleanupStarted | ScenarioFinished):
                continue
            if sentence:
                seconds[sentence] += event.time - began
            sentence, began = (_sentence(event.text) if isinstance(event, StepStarted) else ""), event.time
            times[sentence] += bool(sentence)
    slow = sorted((text for text in seconds if seconds[text] >= _SHORT), key=lambda text: (-seconds[text], text))
    return tuple(StepTime(text=text, times=times[text], seconds=round(seconds[text], 3)) for text in slow[:_LISTED])


def _sentence(text: str) -> str:
    """Return the sentence of a step without its values and rules."""
    return re.sub(r'"[^"]*"', '"…"', re.sub(r"\s*\[[A-Z]+-\d[^\]]*\]$", "", text))
