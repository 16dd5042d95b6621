"""The state that the hooks of one pytest process share, from pytest_configure to the report.

Made by `runner` at configure, kept in pytest's stash, ended by `finish`, which writes the last event and the reports.
Knows nothing of the hooks, so that plug-ins of the run (`retries`) can hold one.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dra_api.tracebacks import format_traceback
from dra_conformance.core import features
from dra_conformance.core.errors import ExitCode, SuiteError, cannot_write
from dra_conformance.core.events import (
    CallsMade,
    ProblemFound,
    RunFinished,
    RunPlanned,
    RunStarted,
    Traceback,
    WorkerFinished,
)
from dra_conformance.core.events.chain import Seal, difference
from dra_conformance.core.events.log import parse
from dra_conformance.core.status import Status
from dra_conformance.engine import plan
from dra_conformance.engine.run import Run
from dra_conformance.engine.world import World
from dra_conformance.pytest_plugin.interrupts import SessionInterrupts
from dra_conformance.pytest_plugin.progress import Progress
from dra_conformance.report import Report, build, files

STATE = pytest.StashKey["Session"]()
SCENARIO = pytest.StashKey[features.Scenario]()
OUTCOME = "dra_outcome"
"""The attribute of a worker's last report of a scenario: its id, status, reason and seconds."""
STATUS = "status"
"""The property of a report with the status of its scenario."""
SEAL = "dra_seal"
LOG_FAILURE = "dra_log_failure"
_CHANGED_HINT = (
    "A program under test can do that if it runs as the user of the harness; see docs/explanation/evidence.md."
)


class Session:
    """The state that the hooks of one pytest process share."""

    def __init__(
        self,
        run: Run,
        *,
        is_worker: bool,
        has_workers: bool,
        progress: Progress | None,
        seconds: Mapping[str, float],
    ) -> None:
        """`seconds`: how long scenarios are known to take, by id."""
        self.run = run
        self.seconds = seconds
        self.is_worker = is_worker
        self.has_workers = has_workers
        self.progress = progress
        self.scenarios: list[features.Scenario] = []
        self.plan = plan.Plan([])
        self.has_reporters = False
        """Whether reporters of pytest show the failures, such as its terminal or its JUnit XML."""
        self.problem: SuiteError | None = None
        self.interrupts = SessionInterrupts()
        self.interrupted = False
        self.finished = False
        self.world: World | None = None
        self.outcome: tuple[Status, str] = (Status.PASSED, "")
        self.failed_step = ""
        self.crash = ""
        self.objects = ""
        self.began = 0.0
        self.cpu_before = 0.0
        self.retries_left = 0
        self.workers: list[Any] = []
        """The nodes of pytest-xdist, in the main process."""

    @property
    def worker_stopped(self) -> bool:
        """Whether a worker stopped the run, such as for an unreachable target; pytest-xdist calls that an interrupt."""
        return any(getattr(node, "workeroutput", {}).get("shouldstop") for node in self.workers)

    @cached_property
    def started(self) -> RunStarted:
        """The first event of the run, without the command line; a worker does not log it."""
        return self.run.started()

    def attach_outcome(self, item: pytest.Item, report: pytest.TestReport) -> None:
        """Add the outcome of a scenario to its last report: for reporters, and for the main process of a worker."""
        if report.when != "teardown":
            return
        status, reason = self.outcome
        # A retry changes the outcome after the report was made.
        kept = [pair for pair in report.user_properties if pair[0] != STATUS]
        report.user_properties = [*kept, (STATUS, status.value)]
        if self.is_worker:
            duration = round(time.monotonic() - self.began, 4)
            vars(report)[OUTCOME] = [item.stash[SCENARIO].id, status.value, reason, duration]

    def fail(self, error: SuiteError) -> None:
        """Record the problem that prevents a verdict, and log it."""
        self.problem = error
        self.run.log.emit(ProblemFound(message=error.message, hint=error.hint, exit=int(error.exit_code)))


class Follower:
    """Shows the progress of pytest-xdist's workers in the main process."""

    def __init__(self, state: Session, progress: Progress) -> None:
        self._progress = progress
        self._scenarios = {scenario.id: scenario for scenario in state.scenarios}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Show a scenario that a worker finished."""
        if outcome := vars(report).get(OUTCOME):
            scenario, status, reason, duration = outcome
            self._progress.scenario_finished(self._scenarios[scenario], Status(status), reason, duration)


def finish(state: Session) -> Report | None:
    """End the run. Return the report, or None in a worker."""
    state.finished = True
    run = state.run
    # Before `stop`, which ends the connection to the cluster.
    leftovers = run.leftovers()
    try:
        run.stop()
    except Exception as error:
        # An interrupt leaves a component half started, and its stop then fails: the run is interrupted, not broken.
        run.log.emit(Traceback(text=format_traceback(error)[-6000:]))
        if not state.interrupted:
            state.fail(SuiteError(f"the components did not stop: {type(error).__name__}: {error}"))
    for failure in run.take_failures():  # after the last scenario
        run.log.emit(Traceback(text=(failure.traceback or failure.message)[-6000:]))
        state.fail(SuiteError(failure.message))
    run.log.emit(CallsMade(made=tuple(run.calls.take())))
    if state.is_worker:
        run.log.emit(WorkerFinished(leftovers=tuple(leftovers)))
        run.log.close()
        return None
    if state.has_workers:
        leftovers += _merge(state)
    run.log.emit(RunFinished(interrupted=state.interrupted, leftovers=tuple(leftovers)))
    run.log.close()
    if run.log.failure is not None and state.problem is None:
        state.fail(run.log.failure)
    report = _report(state)
    try:
        files.write_all(report, run.folder, run.options.report)
    except OSError as error:
        print(f"error: {cannot_write(error, run.folder).message}", file=sys.stderr)
        report = msgspec.structs.replace(report, exit_code=int(ExitCode.HARNESS_ERROR))
    if run.options.sign_key:
        try:
            files.write_signature(report, run.folder, Path(run.options.sign_key).expanduser())
        except SuiteError as error:
            print(f"the report is not signed: {error.message}", file=sys.stderr)
            report = msgspec.structs.replace(report, exit_code=int(ExitCode.HARNESS_ERROR))
    if state.progress:
        state.progress.end(report, run.folder, durations=run.options.durations)
    return report


def _report(state: Session) -> Report:
    """Compute the report from the results in memory; it is invalid if the log is not the one that was written."""
    log = state.run.log
    results = log.results()
    if changed := log.difference():
        message = f"another program changed the event log: {changed}"
        results.append(ProblemFound(message=message, hint=_CHANGED_HINT, exit=int(ExitCode.HARNESS_ERROR)))
    return build(results, events_sha256=log.seal().sha256)


def sealed(state: Session) -> dict[str, Any]:
    """Return what a worker sends to the main process about its log. It does not go through a file."""
    return asdict(state.run.log.seal())


def _merge(state: Session) -> list[str]:
    """Append the logs of the workers to the log of the run and delete them. Return the objects left behind.

    A log that differs from the worker's seal is not merged: its results are not the worker's.
    """
    seals = {node.gateway.id: getattr(node, "workeroutput", {}).get(SEAL) for node in state.workers}
    failures = {node.gateway.id: getattr(node, "workeroutput", {}).get(LOG_FAILURE) for node in state.workers}
    leftovers: list[str] = []
    planned = False
    paths = {path.name.split(".")[1]: path for path in state.run.folder.glob("events.gw*.jsonl")}
    for worker in sorted({*paths, *(name for name, seal in seals.items() if seal)}):
        content = paths[worker].read_bytes() if worker in paths else b""
        if failed := failures.get(worker):
            state.fail(SuiteError(failed))
        elif changed := _changed(content, seals.get(worker), interrupted=state.interrupted):
            state.fail(SuiteError(f"the event log of worker {worker} cannot be used: {changed}", hint=_CHANGED_HINT))
        else:
            for event in parse(content, name=f"events.{worker}.jsonl"):
                if isinstance(event, WorkerFinished):
                    leftovers += event.leftovers
                else:
                    planned = planned or isinstance(event, RunPlanned)
                    state.run.log.append(event)
        if worker in paths:
            paths[worker].unlink(missing_ok=True)
    if not planned:  # every worker ended before its plan
        state.run.log_plan(state.plan)
    return leftovers


def _changed(content: bytes, seal: dict[str, Any] | None, *, interrupted: bool) -> str:
    if seal is not None:
        return difference(content, Seal(**seal))
    # An interrupted run ends its workers before they can send their seal; it is never conformant.
    return "" if interrupted else "the worker ended before it sent the head of the chain"
