"""Retries failed scenarios (`--retries`). A scenario that passes on retry is `flaky`, not passed.

This separates permanent faults from intermittent ones on slow machines and clusters. Each attempt has its own scenario
context, and all attempts are in the log.
"""

from __future__ import annotations

import pytest
from _pytest.runner import runtestprotocol

from dra_conformance.core.events import ScenarioRetried
from dra_conformance.core.status import Status
from dra_conformance.pytest_plugin.failure_text import add_story
from dra_conformance.pytest_plugin.session import SCENARIO, Session

_WORTH_IT = (Status.FAILED, Status.UNTESTABLE)  # an error of the suite would occur again


class Retries:
    """A pytest plugin; `times` is the maximum number of retries of one scenario."""

    def __init__(self, state: Session, times: int) -> None:
        self._state = state
        self._times = times

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Run one scenario up to `times` + 1 times, and report the last attempt to pytest."""
        state = self._state
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        first = ""
        for left in range(self._times, -1, -1):
            state.retries_left = left
            reports = runtestprotocol(item, log=False, nextitem=nextitem)
            status, reason = state.outcome
            if status not in _WORTH_IT or not left or item.session.shouldstop:
                break
            first = first or reason
            state.run.log.emit(ScenarioRetried(status=status, reason=reason, left=left))
            state.outcome, state.failed_step, state.objects = (Status.PASSED, ""), "", ""
        if first and state.outcome[0] is Status.PASSED:
            state.outcome = (Status.FLAKY, f"passed on a retry only; at first: {first}")
            for report in reports:
                if report.when == "call":
                    report.outcome, report.longrepr = "failed", state.outcome[1]
                    add_story(state, item.stash[SCENARIO], report)
        for report in reports:
            state.attach_outcome(item, report)
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True
