"""The text of a failure for reporters of pytest, such as its own JUnit XML: that of the suite's JUnit report."""

from __future__ import annotations

import pytest
from _pytest._code.code import ExceptionRepr

from dra_conformance.core.events import CleanupStarted, Event, PlannedScenario, ScenarioFinished
from dra_conformance.core.features import Scenario
from dra_conformance.pytest_plugin.session import Session
from dra_conformance.report.junit import story
from dra_conformance.report.scenarios import scenario_result


def add_story(state: Session, scenario: Scenario, report: pytest.TestReport) -> None:
    """Add the timeline of a failed scenario to a report, with the failed step, logs and the command that repeats it."""
    if not report.failed or not state.has_reporters:
        return
    text = _story(state, scenario)
    if isinstance(report.longrepr, str):
        report.longrepr = f"{report.longrepr}\n{text}"
    elif isinstance(report.longrepr, ExceptionRepr):
        report.longrepr.addsection("timeline", text)


def _story(state: Session, scenario: Scenario) -> str:
    row = PlannedScenario(
        id=scenario.id,
        name=scenario.name,
        chapter=scenario.chapter,
        where=scenario.where,
        rules=scenario.rules,
        checks={},
        profiles=scenario.tags.profiles,
    )
    status, reason = state.outcome
    finished = ScenarioFinished(
        status=status, reason=reason, step=state.failed_step, crash=state.crash, objects=state.objects
    )
    # It is not logged yet. The timeline ends at the clean-up, so it does not repeat the outcome.
    events = [*state.run.log.kept(Event), CleanupStarted(), finished]
    return "\n".join(story(scenario_result(row, events, state.started, complete=True)))
