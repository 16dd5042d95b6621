"""Runs scenarios in a forked process: all of them once to collect the map of lines, and those of one mutant."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pytest

from dra_conformance.core import features
from dra_conformance.core.errors import CheckFailed
from dra_conformance.core.options import RunOptions
from dra_conformance.core.status import Status
from verification.mutation_survey import loader, reach, reach_child
from verification.mutation_survey.mutants import Mutant

PATIENCE = 4.0
"""Seconds that a check waits for an expected event.

The hand-written mutants have 1.5 s, and survivors are retried alone. Here, a check that something does not happen must
not be made too early on a busy machine.
"""
ERRORS_MAX = 6
"""The run of a mutant ends after so many errors of the harness, which cannot run with this mutant."""
UNTESTABLE_MAX = 24
"""It ends after so many untestable scenarios; a few are no reason, since a later scenario can fail."""


VARIANTS: dict[str, dict[str, Any]] = {
    "": {},
    # Scenarios of behaviour that needs an older release, or a gate that is off by default.
    "gates": {
        "feature_gates": (
            "DRAListTypeAttributes=true",
            "DRAOptionalNodeOperations=true",
            "DRADeviceCompatibilityGroups=true",
            "DRADerivedAttributes=true",
            "DRAFractionalCapacityRange=true",
            "DRANodeAllocatableResources=true",
            "DRAPartitionableDevicesType=true",
            "DRAResourcePoolStatus=true",
            "GenericWorkload=true",
            "DRAWorkloadResourceClaims=true",
        )
    },
    "previous": {"kubernetes_version": "1.36", "feature_gates": ("DRADeviceTaintRules=true",)},
    "oldest": {"kubernetes_version": "1.34"},
    # Counters of partitionable devices in the form of that release, where their gate is off by default.
    "oldest-gates": {"kubernetes_version": "1.34", "feature_gates": ("DRAPartitionableDevices=true",)},
}
"""Names and options of the runs. Each scenario belongs to the first run in which it passes.

The profile fault-sweep and other settings of the reference scheduler (publish=direct) are not run.
"""


def key_of(variant: str, scenario: str) -> str:
    """Return the name of a scenario in the map: its id, with the variant if that is not the default."""
    return f"{variant}|{scenario}" if variant else scenario


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a mutant: `killed`, `survived`, `timeout` or `error`.

    `error`: no check of a rule failed, but a scenario ended in an error or could not be judged. `rules` and `scenario`
    name the failed check of a killed mutant; `message` describes it, or the reason of an error.
    """

    status: str
    rules: tuple[str, ...] = ()
    scenario: str = ""
    message: str = ""
    ran: int = 0
    seconds: float = 0.0
    probe: str = ""  # the fidelity probe that detected a mutant of the emulated API server which no scenario killed


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """A mutant, its source, the scenarios to run (fastest first), and a folder of its own.

    `answers` is a file of recorded responses for the fidelity probes, if they judge the mutant as well.
    """

    mutant: Mutant
    source: str
    scenarios: tuple[str, ...]
    scratch: str
    limit: float
    answers: str = ""


class Judge:
    """A pytest plugin that orders the scenarios and stops at the first failed check of a rule.

    The check is written to a file at once: it counts although the process may hang afterwards. `passed_again` has the
    scenarios that failed once and passed when they were repeated, which a busy machine can cause.
    """

    def __init__(self, order: Sequence[str], file: Path) -> None:
        self._order = {reach.id_of(name): number for number, name in enumerate(order)}
        self._file = file
        self.began = time.monotonic()
        self.problems: list[str] = []
        self.errors = 0
        self.ran = 0
        self.killed: Outcome | None = None
        self.seen: set[str] = set()
        self.passed_again: list[str] = []

    def dismiss(self) -> None:
        """Go on after a failed check that was not confirmed."""
        if self.killed is not None:
            self.passed_again.append(f"{self.killed.scenario} failed once: {self.killed.message}"[:300])
            self.killed = None
            self._file.unlink()

    @property
    def ended(self) -> bool:
        """Whether no further scenario is of use."""
        return self.killed is not None or self.errors >= ERRORS_MAX or len(self.problems) >= UNTESTABLE_MAX

    # After the hook of the runner, which attaches the scenarios; the outermost wrapper ends last.
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Any:
        """Order the scenarios as given."""
        result = yield
        items.sort(key=lambda item: self._order.get(_scenario_of(item), len(self._order)))
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        """Record the first failed check of a rule."""
        error = call.excinfo.value if call.excinfo is not None else None
        if isinstance(error, CheckFailed) and error.rules and self.killed is None:
            self.killed = Outcome(
                status="killed",
                rules=tuple(error.rules),
                scenario=_scenario_of(item),
                message=str(error)[:600],
                ran=self.ran + 1,
                seconds=round(time.monotonic() - self.began, 2),
            )
            self._file.write_bytes(msgspec.json.encode(self.killed))
            item.session.shouldstop = "killed"
        result = yield
        if call.when == "teardown":
            self.ran += 1
            self.seen.add(_scenario_of(item))
            status, reason = _outcome_of(item)
            if status not in (Status.PASSED, Status.FAILED):
                self.problems.append(f"{_scenario_of(item)} {status}: {reason}"[:600])
                self.errors += status is Status.ERROR
                if self.ended:
                    item.session.shouldstop = "too many errors"
        return result


def _scenario_of(item: pytest.Item) -> str:
    # Deferred: the session belongs to the mutated program for some components.
    from dra_conformance.pytest_plugin.session import SCENARIO

    found = item.stash.get(SCENARIO, None)
    return found.id if found is not None else ""


def _outcome_of(item: pytest.Item) -> tuple[Status, str]:
    from dra_conformance.pytest_plugin.session import STATE

    return item.config.stash[STATE].outcome


def run_mutant(work: Work) -> Outcome:
    """Judge a mutant in this process, which must not have imported the mutated module."""
    loader.install(work.mutant.module, work.source, Path(work.scratch))
    outcome = _scenarios(work)
    if outcome.status == "killed" or not work.answers:
        return outcome
    # Deferred: it imports the emulator.
    from verification.mutation_survey import probing

    found = probing.differing(probing.load(Path(work.answers)), Path(work.scratch) / "probes")
    return msgspec.structs.replace(outcome, probe=found)


def _scenarios(work: Work) -> Outcome:
    if not work.scenarios:
        return Outcome(status="survived", message="no scenario executes this line")
    scratch = Path(work.scratch)
    judge = Judge(work.scenarios, scratch / "killed.json")
    problems = ""
    for variant in VARIANTS:
        names = [reach.id_of(name) for name in work.scenarios if name == key_of(variant, reach.id_of(name))]
        while names and not judge.ended:
            problems = _execute(names, variant, judge, scratch) or problems
            if judge.killed is None:
                break
            # A check can fail because the machine is busy; a mutant that kills only now and then has survived.
            second = Judge((judge.killed.scenario,), scratch / "again.json")
            _execute([judge.killed.scenario], variant, second, scratch)
            if second.killed is None and not second.problems:
                judge.dismiss()
                names = [name for name in names if name not in judge.seen]
    seconds = round(time.monotonic() - judge.began, 2)
    if judge.killed is not None:
        return judge.killed
    if not judge.ran:
        return Outcome(status="error", message=f"no scenario ran: {problems}"[:1500], seconds=seconds)
    if judge.problems:
        return Outcome(status="error", message="; ".join(judge.problems)[:1500], ran=judge.ran, seconds=seconds)
    return Outcome(status="survived", ran=judge.ran, seconds=seconds, message="; ".join(judge.passed_again)[:600])


def _execute(names: Sequence[str], variant: str, judge: Judge, scratch: Path) -> str:
    """Run scenarios and return the problems that ended the run early, if any."""
    # Deferred: they import the components.
    from dra_conformance.engine import vocabulary
    from dra_conformance.pytest_plugin.launch import execute

    # Every run matches all steps of all scenarios first, which takes a third of the time of a mutant. The run that
    # collected the map has done it.
    vocabulary.check = _unchecked
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        execute(_options(folder, names, patience=PATIENCE, **VARIANTS[variant]), plugins=[judge])
        return _problems(Path(folder) / "report.json")


def _unchecked(scenarios: object, definitions: object) -> None:
    """Replace the check of the vocabulary."""


def _problems(report: Path) -> str:
    if not report.exists():
        return "the run ended without a report"
    return "; ".join(str(one) for one in orjson.loads(report.read_bytes())["problems"])


def _options(folder: str, names: Sequence[str], **more: Any) -> RunOptions:
    return RunOptions(focus=features.focus_on(names), out=folder, progress="none", report=("json",), seed=1, **more)


def record(work: tuple[str, str, tuple[str, ...]]) -> dict[str, Any]:
    """Run scenarios of a variant (all if none is named) under the line recorder; return the report's scenarios.

    The recorded lines go to a folder, the first of the arguments.
    """
    data, variant, names = work
    loader.extend_path_of_children()
    made = reach.start(Path(data))
    # Deferred: importing them is recorded.
    from dra_conformance.core.process import ManagedProcess
    from dra_conformance.pytest_plugin.launch import execute

    kill = ManagedProcess.kill

    def save_and_kill(self: ManagedProcess) -> None:
        if self.running and self.pid is not None:
            reach_child.save_before_kill(self.pid)
        kill(self)

    vars_of_class: Any = ManagedProcess
    vars_of_class.kill = save_and_kill

    with tempfile.TemporaryDirectory() as folder:
        plugin = reach.ContextPlugin(made, lambda item: key_of(variant, _scenario_of(item)))
        execute(_options(folder, names, **VARIANTS[variant]), plugins=[plugin])
        made.stop()
        made.save()
        found: dict[str, Any] = orjson.loads((Path(folder) / "report.json").read_bytes())
    rows = [{**row, "id": key_of(variant, row["id"])} for row in found["scenarios"] if row["status"] != Status.FILTERED]
    return {"scenarios": rows, "modules": list(sys.modules)}
