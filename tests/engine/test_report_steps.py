"""Where the time of a run went: the seconds of each sentence over all scenarios."""

from __future__ import annotations

from dra_conformance.core.events import CleanupStarted, Event, StepStarted
from dra_conformance.report.model import StepTime
from dra_conformance.report.steps import step_times


def steps(*rows: tuple[float, str], ends: float) -> list[Event]:
    """The events of a scenario: when each step began, and when the clean-up began."""
    begun: list[Event] = [StepStarted(time=time, keyword="when", text=text, line=1) for time, text in rows]
    return [*begun, CleanupStarted(time=ends)]


def test_a_sentence_has_the_seconds_of_all_its_steps() -> None:
    one = steps((1.0, 'node "n1" running the driver'), (3.0, 'claim "a" is prepared on "n1" [NV-049b]'), ends=3.5)
    other = steps((2.0, 'node "n2" running the driver'), (7.0, 'claim "b" is prepared on "n2"'), ends=8.0)
    assert step_times([one, other]) == (
        StepTime(text='node "…" running the driver', times=2, seconds=7.0),
        StepTime(text='claim "…" is prepared on "…"', times=2, seconds=1.5),
    )


def test_fast_sentences_and_unfinished_steps_are_left_out() -> None:
    assert step_times([steps((1.0, "a"), ends=1.5), steps((1.0, "b"), ends=9.0)[:1], []]) == ()
