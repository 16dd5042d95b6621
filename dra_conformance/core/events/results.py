"""The events of a run from which its report is computed, kept in memory.

The harness does not read its log again: another program may have changed the file. Of a scenario that passed, only the
checks, the beginnings of steps, the GPUs, and the first and last event are kept: reports show the timelines of the
others only.
"""

from __future__ import annotations

from collections.abc import Sequence

from dra_conformance.core.events.kinds import (
    CheckMade,
    CleanupStarted,
    Event,
    InventoryUsed,
    ProblemFound,
    RunFinished,
    RunPlanned,
    RunStarted,
    ScenarioFinished,
    ScenarioStarted,
    StepStarted,
)
from dra_conformance.core.status import Status

_OF_THE_RUN = (RunStarted, RunPlanned, InventoryUsed, ProblemFound, RunFinished)
_OF_EACH_SCENARIO = (CheckMade, InventoryUsed, StepStarted, CleanupStarted)


class Results:
    """Collects the lines of a log, in its order. Not thread-safe: the log calls it under its lock."""

    def __init__(self) -> None:
        # As written, so that the report is the same as one that is computed from the log later.
        self._kept: list[bytes] = []
        self._scenario: list[tuple[Event, bytes]] = []

    def add(self, event: Event, line: bytes) -> None:
        """Add the next event of the log, with its line."""
        if self._scenario and event.scenario != self._scenario[0][0].scenario:
            self._end_scenario()
        if event.scenario:
            self._scenario.append((event, line))
        elif isinstance(event, _OF_THE_RUN):
            self._kept.append(line)

    def lines(self) -> list[bytes]:
        """Return the lines that a report needs."""
        return [*self._kept, *(line for _, line in self._scenario)]

    def _end_scenario(self) -> None:
        events, self._scenario = self._scenario, []
        if _passed([event for event, _ in events]):
            kept = [pair for pair in events[1:-1] if isinstance(pair[0], _OF_EACH_SCENARIO)]
            events = [events[0], *kept, events[-1]]
        self._kept += (line for _, line in events)


def _passed(events: Sequence[Event]) -> bool:
    """Whether a report has no timeline of this scenario: it passed, and each of its rules was judged."""
    first, last = events[0], events[-1]
    if not isinstance(first, ScenarioStarted) or not isinstance(last, ScenarioFinished):
        return False
    judged = {rule for event in events if isinstance(event, CheckMade) for rule in event.rules}
    return last.status is Status.PASSED and judged >= set(first.rules)
