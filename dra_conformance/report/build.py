"""Computes a report from the events of a run, and from nothing else."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from dra_conformance.core.errors import ExitCode, SpecificationError
from dra_conformance.core.events import (
    Event,
    InventoryUsed,
    LogRecord,
    ProblemFound,
    RunFinished,
    RunPlanned,
    RunStarted,
)
from dra_conformance.core.program_log import LOGGER
from dra_conformance.core.status import Status
from dra_conformance.core.tags import ON_REQUEST
from dra_conformance.report.model import Inventory, Problem, Report
from dra_conformance.report.profiles import profile_results
from dra_conformance.report.rules import rule_results, waivers
from dra_conformance.report.scenarios import scenario_result
from dra_conformance.report.steps import step_times
from dra_conformance.report.verdict import Outcome, caveats, exit_code, verdict

_ALL_PROFILES = f"all but {', '.join(sorted(ON_REQUEST))}"


@dataclass(slots=True)
class _Log:
    """The events of a run, sorted."""

    started: RunStarted | None = None
    plan: RunPlanned = field(default_factory=RunPlanned)
    finished: RunFinished | None = None
    problems: list[Problem] = field(default_factory=list)
    inventories: dict[str, InventoryUsed] = field(default_factory=dict)
    by_scenario: dict[str, list[Event]] = field(default_factory=lambda: defaultdict(list))
    program_warnings: list[str] = field(default_factory=list)
    duration: float = 0.0

    def add(self, event: Event) -> None:
        self.duration = max(self.duration, event.time)
        match event:
            case RunStarted():
                self.started = event
            case RunPlanned():
                self.plan = event
            case RunFinished():
                self.finished = event
            case InventoryUsed():
                # Each worker finds it.
                self.inventories.setdefault(event.name, event)
            case ProblemFound():
                self._add_problem(event)
            case LogRecord() if event.logger == LOGGER:
                self.program_warnings.append(event.text)
        if event.scenario:
            self.by_scenario[event.scenario].append(event)

    def _add_problem(self, event: ProblemFound) -> None:
        """Add a problem; an unreachable target, which each worker finds in its first scenario, is one problem."""
        found = (event.scenario,) if event.scenario else ()
        for number, problem in enumerate(self.problems):
            if event.exit == problem.exit == ExitCode.TARGET_UNREACHABLE:
                self.problems[number] = msgspec.structs.replace(problem, scenarios=(*problem.scenarios, *found))
                return
        self.problems.append(Problem(message=event.message, hint=event.hint, exit=event.exit, scenarios=found))


def build(events: Iterable[Event], *, events_sha256: str = "") -> Report:
    """Return the report of a run. Raises SpecificationError if the log has no run."""
    log = _Log()
    for event in events:
        log.add(event)
    started, finished = log.started, log.finished
    if started is None:
        raise SpecificationError("the event log has no run: its first event is missing")
    scenarios = tuple(
        scenario_result(row, log.by_scenario.get(row.id, []), started, complete=finished is not None)
        for row in log.plan.scenarios
    )
    waived = waivers(started)
    profiles = profile_results(log.plan, scenarios, waived, selected=started.options.get("profile") or ())
    rules, waived = rule_results(log.plan, scenarios, waived)
    outcome = Outcome(
        rules=rules,
        scenarios=scenarios,
        profiles=profiles,
        problems=tuple(log.problems),
        waivers=tuple(waived.values()),
        leftovers=finished.leftovers if finished else (),
        # The log of a killed run has no last event.
        interrupted=finished is None or finished.interrupted,
        required=started.options.get("require") or "",
        isolated=not started.target.not_isolated,
        ran=any(row.status is None for row in log.plan.scenarios),
    )
    return Report(
        run_id=started.run_id,
        started_at=started.started_at,
        duration=round(log.duration, 3),
        cpu=round(sum(scenario.cpu for scenario in scenarios), 3),
        suite=started.suite,
        target=started.target,
        evidence_class=started.target.evidence,
        profiles=tuple(started.options.get("profile") or (_ALL_PROFILES,)),
        verdict=verdict(outcome),
        caveats=tuple(
            caveats(outcome, simulated=started.target.simulated, rehearsal=started.target.evidence == "rehearsal")
        ),
        exit_code=exit_code(outcome),
        interrupted=outcome.interrupted,
        profile_results=profiles,
        statistics=_statistics(scenario.status for scenario in scenarios),
        rule_statistics=_statistics(rule.status for rule in rules),
        rules=rules,
        scenarios=scenarios,
        problems=outcome.problems,
        waivers=outcome.waivers,
        leftovers=outcome.leftovers,
        program_warnings=tuple(log.program_warnings),
        slow_steps=step_times(log.by_scenario.values()),
        inventories=tuple(
            Inventory(name=event.name, real=event.real, gpus=event.gpus) for _, event in sorted(log.inventories.items())
        ),
        seed=started.seed,
        command=started.command,
        events_sha256=events_sha256,
    )


def _statistics(statuses: Iterable[Status]) -> dict[str, int]:
    counts = Counter(statuses)
    return {"planned": counts.total(), **{status.value: counts[status] for status in Status}}
