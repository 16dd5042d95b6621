"""Computes a report from the events of a run, and from nothing else."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from dra_conformance.core.errors import ExitCode, SpecificationError
from dra_conformance.core.events import (
    Event,
    InventoryUsed,
    LogRecord,
    PlannedScenario,
    ProblemFound,
    RunFinished,
    RunPlanned,
    RunStarted,
)
from dra_conformance.core.program_log import LOGGER
from dra_conformance.core.shard import Shard
from dra_conformance.core.status import Status
from dra_conformance.core.tags import ON_REQUEST
from dra_conformance.report.model import Inventory, Problem, Report, ShardResult
from dra_conformance.report.profiles import profile_results
from dra_conformance.report.rules import rule_results, waivers
from dra_conformance.report.scenarios import scenario_result
from dra_conformance.report.steps import step_times
from dra_conformance.report.verdict import Outcome, caveats, exit_code, verdict

_ALL_PROFILES = f"all but {', '.join(sorted(ON_REQUEST))}"


def shard_of(started: RunStarted) -> Shard | None:
    """Return which shard a run is, if it is one. Raises UsageError if its option is not that of a shard."""
    given = started.options.get("shard")
    return Shard.parse(str(given)) if given else None


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
    sha256: str = ""
    folder: str = ""

    @property
    def start(self) -> RunStarted:
        """The first event. Raises SpecificationError if there is none."""
        if self.started is None:
            raise SpecificationError("the event log has no run: its first event is missing")
        return self.started

    @property
    def shard(self) -> Shard | None:
        """The shard of the run, if it is one. Raises UsageError if its option is not that of a shard."""
        return shard_of(self.start)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The log of one shard of a run. `folder` is its place in the report directory, with a slash at the end."""

    events: Iterable[Event]
    sha256: str
    folder: str


def build(events: Iterable[Event], *, events_sha256: str = "") -> Report:
    """Return the report of a run. `events_sha256` is the digest of its log.

    Raises SpecificationError if there is no run, or a scenario has no reason.
    """
    return _report([_log(events, sha256=events_sha256)], events_sha256)


def build_merged(parts: Iterable[Part]) -> Report:
    """Return the report of a run in shards, whose logs belong together. Raises SpecificationError as `build` does."""
    logs = [_log(part.events, sha256=part.sha256, folder=part.folder) for part in parts]
    digests = "".join(f"{log.sha256}\n" for log in logs)
    return _report(logs, hashlib.sha256(digests.encode()).hexdigest())


def _log(events: Iterable[Event], *, sha256: str, folder: str = "") -> _Log:
    log = _Log(sha256=sha256, folder=folder)
    for event in events:
        log.add(event)
    return log


def _report(logs: Sequence[_Log], events_sha256: str) -> Report:
    started = _started(logs)
    rows = list(_rows(logs))
    plan = RunPlanned(scenarios=tuple(row for row, _ in rows), rules=logs[0].plan.rules)
    scenarios = tuple(
        scenario_result(
            row,
            log.by_scenario.get(row.id, []),
            log.start,
            complete=log.finished is not None,
            folder=log.folder,
        )
        for row, log in rows
    )
    waived = waivers(started)
    profiles = profile_results(plan, scenarios, waived, selected=started.options.get("profile") or ())
    rules, waived = rule_results(plan, scenarios, waived)
    shards = tuple(_shard(log) for log in logs if log.shard)
    there = {one.index for one in shards}
    outcome = Outcome(
        rules=rules,
        scenarios=scenarios,
        profiles=profiles,
        problems=tuple(_problems(logs)),
        waivers=tuple(waived.values()),
        leftovers=tuple(name for log in logs if log.finished for name in log.finished.leftovers),
        # The log of a killed run has no last event.
        interrupted=any(log.finished is None or log.finished.interrupted for log in logs),
        required=started.options.get("require") or "",
        isolated=not started.target.not_isolated,
        ran=any(row.status is None for row in plan.scenarios),
        elsewhere=sum(row.shard > 0 and row.shard not in there for row in plan.scenarios) if shards else 0,
    )
    inventories = {name: event for log in logs for name, event in log.inventories.items()}
    return Report(
        run_id=started.run_id,
        started_at=started.started_at,
        duration=round(max(log.duration for log in logs), 3),
        cpu=round(sum(scenario.cpu for scenario in scenarios), 3),
        suite=started.suite,
        target=started.target,
        evidence_class=started.target.evidence,
        profiles=tuple(started.options.get("profile") or (_ALL_PROFILES,)),
        verdict=verdict(outcome),
        caveats=tuple(
            caveats(
                outcome,
                simulated=started.target.simulated,
                rehearsal=started.target.evidence == "rehearsal",
                shards=shards,
            )
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
        program_warnings=tuple(text for log in logs for text in log.program_warnings),
        slow_steps=step_times(events for log in logs for events in log.by_scenario.values()),
        inventories=tuple(
            Inventory(name=event.name, real=event.real, gpus=event.gpus) for _, event in sorted(inventories.items())
        ),
        seed=started.seed,
        command=started.command,
        events_sha256=events_sha256,
        shards=shards,
    )


def _started(logs: Sequence[_Log]) -> RunStarted:
    """Return the start of a run: that of the first shard, at the time at which the earliest began.

    A program that was not isolated in one of the shards could have changed the results.
    """
    first = logs[0].start
    isolation = dict(first.target.isolation)
    for log in logs:
        isolation.update(log.start.target.not_isolated)
    return msgspec.structs.replace(
        first,
        started_at=min(log.start.started_at for log in logs),
        target=msgspec.structs.replace(first.target, isolation=isolation),
    )


def _rows(logs: Sequence[_Log]) -> Iterator[tuple[PlannedScenario, _Log]]:
    """Yield each scenario with the log of its shard, as that log has planned it; with the first log if none ran it."""
    own = {log.shard.index: (log, {row.id: row for row in log.plan.scenarios}) for log in logs if log.shard}
    for row in logs[0].plan.scenarios:
        if row.shard in own:
            log, planned = own[row.shard]
            yield planned[row.id], log
        else:
            yield row, logs[0]


def _problems(logs: Sequence[_Log]) -> Iterator[Problem]:
    """Yield the problems of all shards; a target that several of them cannot reach is one problem."""
    unreachable: Problem | None = None
    for problem in (problem for log in logs for problem in log.problems):
        if problem.exit != ExitCode.TARGET_UNREACHABLE:
            yield problem
        elif unreachable is None:
            unreachable = problem
        else:
            unreachable = msgspec.structs.replace(unreachable, scenarios=(*unreachable.scenarios, *problem.scenarios))
    if unreachable is not None:
        yield unreachable


def _shard(log: _Log) -> ShardResult:
    shard, started = log.shard, log.start
    assert shard is not None  # noqa: S101 - the caller leaves the others out
    return ShardResult(
        index=shard.index,
        count=shard.count,
        run_id=started.run_id,
        started_at=started.started_at,
        duration=round(log.duration, 3),
        ran=sum(row.status is None for row in log.plan.scenarios),
        seed=started.seed,
        command=started.command,
        events=f"{log.folder}events.jsonl",
        events_sha256=log.sha256,
    )


def _statistics(statuses: Iterable[Status]) -> dict[str, int]:
    counts = Counter(statuses)
    return {"planned": counts.total(), **{status.value: counts[status] for status in Status}}
