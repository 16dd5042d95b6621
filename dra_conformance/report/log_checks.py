"""Checks whether an event log can be the log of a run of this suite.

The checks find logs that were changed, shortened, put together from several runs, or written by hand: the hash chain,
one run with one plan, the plan of this suite, and checks that come from the steps of planned scenarios and follow calls
to the API server, a driver or a webhook. A log that passes can still be invented by whoever invents all of that too;
only a signature shows who vouches for it (docs/explanation/evidence.md).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from dra_conformance.core import assets, digests, features
from dra_conformance.core.errors import SuiteError
from dra_conformance.core.events import (
    ApiWrite,
    CheckMade,
    Event,
    KubeletCall,
    KubeletDevicePlugin,
    KubeletLogCall,
    PlannedScenario,
    ProblemFound,
    RunFinished,
    RunPlanned,
    RunStarted,
    ScenarioFinished,
    ScenarioRetried,
    ScenarioStarted,
    StepStarted,
    WebhookCalled,
    chain,
)
from dra_conformance.core.features import Scenario
from dra_conformance.core.rules import Catalogue
from dra_conformance.core.shard import elsewhere
from dra_conformance.core.status import Status
from dra_conformance.core.tags import in_profiles
from dra_conformance.report.build import shard_of

_SHOWN = 20


def findings(content: bytes, events: Sequence[Event]) -> list[str]:
    """Return why a log is not the log of one run of this suite; empty if nothing speaks against it."""
    found = list(islice(chain.breaks(content), _SHOWN))
    found += _one_run(events)
    started = next((event for event in events if isinstance(event, RunStarted)), None)
    plan = next((event for event in events if isinstance(event, RunPlanned)), RunPlanned())
    if started is None:
        return found
    if other := _other_suite(started):
        return [*found, other]
    try:
        scenarios = features.read_all([assets.features(), *_additional(started)], cached=False)
    except SuiteError as error:
        return [*found, f"the feature files of the run cannot be read: {error.message}"]
    by_id = {scenario.id: scenario for scenario in scenarios}
    if not any(isinstance(event, ProblemFound) for event in events):  # a run with a problem may have no plan
        found += _missing_from_plan(plan, scenarios, tuple(started.options.get("profile") or ()))
    found += _plan_of_the_suite(plan, by_id)
    found += islice(_shards(started, plan), _SHOWN)
    found += islice(_scenarios(events, plan, by_id), _SHOWN)
    return found


def _additional(started: RunStarted) -> list[Path]:
    return [Path(folder) for folder in started.options.get("features") or ()]


def _one_run(events: Sequence[Event]) -> Iterator[str]:
    for kind, name in ((RunStarted, "starts"), (RunPlanned, "plans")):
        count = sum(isinstance(event, kind) for event in events)
        if count != 1:
            yield f"the log has {count} {name} of a run instead of one"
    if not events or not isinstance(events[0], RunStarted):
        yield "the log does not begin with the start of a run"
    if any(isinstance(event, RunFinished) for event in events[:-1]):
        yield "the log goes on after the end of the run"


def _other_suite(started: RunStarted) -> str:
    suite = started.suite
    additional = [str(folder) for folder in _additional(started) if folder.is_dir()]
    own = (digests.of_rules(), digests.of_features(additional))
    if (suite.rules_sha256, suite.features_sha256) == own:
        return ""
    return (
        f"the run used other rules or feature files than this installation (its version: {suite.version}); "
        "verify it with the same version, and from the same directory if it used --features"
    )


def _missing_from_plan(plan: RunPlanned, scenarios: Sequence[Scenario], profiles: tuple[str, ...]) -> Iterator[str]:
    planned = {row.id for row in plan.scenarios}
    for scenario in scenarios:
        if scenario.id not in planned and in_profiles(scenario.tags, profiles):
            yield f"the plan lacks {scenario.id}"


def _plan_of_the_suite(plan: RunPlanned, by_id: dict[str, Scenario]) -> Iterator[str]:
    for row in plan.scenarios:
        scenario = by_id.get(row.id)
        if scenario is None:
            yield f"the plan has {row.id}, which the suite does not have"
        elif (row.name, row.rules, row.checks) != (scenario.name, scenario.rules, features.checks_of(scenario)):
            yield f"the plan has {row.id} with another name, other rules or another number of checks"
    catalogue = Catalogue.load()
    for name, planned in plan.rules.items():
        rule = catalogue.get(name)
        if rule is None:
            yield f"the plan has {name}, which is no rule"
        elif (planned.level, planned.component, planned.text) != (rule.level, rule.component, rule.text):
            yield f"the plan has {name} with another level, component or text than the catalogue"


def _shards(started: RunStarted, plan: RunPlanned) -> Iterator[str]:
    """Yield which scenarios are not left out although they are in another shard, or left out without being in one."""
    shard = shard_of(started)
    for row in plan.scenarios:
        if shard is None:
            if row.shard:
                yield f"the plan has {row.id} in shard {row.shard}, and the run is not a shard"
            continue
        if not 0 <= row.shard <= shard.count:
            yield f"the plan has {row.id} in shard {row.shard} of {shard.count}"
            continue
        others = row.shard not in (0, shard.index)
        left_out = (row.status, row.reason) == (Status.FILTERED, elsewhere(row.shard, shard.count))
        if others != left_out or (row.status is None and not row.shard):
            yield f"the plan of shard {shard} has {row.id} in shard {row.shard}, with the status {row.status}"


@dataclass(slots=True)
class _Attempt:
    """The events of one attempt at a scenario."""

    steps: int = 0
    calls: int = 0


def _scenarios(events: Sequence[Event], plan: RunPlanned, by_id: dict[str, Scenario]) -> Iterator[str]:
    rows = {row.id: row for row in plan.scenarios}
    attempts: dict[str, _Attempt] = {}
    for event in events:
        if isinstance(event, CheckMade) and not event.scenario:
            yield f"line {event.seq}: a check outside of a scenario"
        if not event.scenario:
            continue
        row, scenario = rows.get(event.scenario), by_id.get(event.scenario)
        if row is None or scenario is None or row.status is not None:
            if isinstance(event, (ScenarioStarted, CheckMade)):
                yield f"line {event.seq}: {event.scenario} was not planned to run"
            continue
        yield from _event(event, row, scenario, attempts)


def _event(event: Event, row: PlannedScenario, scenario: Scenario, attempts: dict[str, _Attempt]) -> Iterator[str]:
    if isinstance(event, ScenarioStarted):
        if row.id in attempts:
            yield f"line {event.seq}: {row.id} starts a second time"
        attempts[row.id] = _Attempt()
        return
    attempt = attempts.get(row.id)
    if attempt is None:
        # A watch may deliver changes between the end of the last scenario and the start of this one.
        if isinstance(event, (StepStarted, CheckMade, ScenarioFinished)):
            yield f"line {event.seq}: {row.id} has not started"
        return
    match event:
        case ScenarioRetried():
            attempts[row.id] = _Attempt()
        case StepStarted():
            yield from _step(event, scenario, attempt)
        case CheckMade():
            yield from _check(event, scenario, attempt)
        case ScenarioFinished(status=Status.PASSED):
            if attempt.steps != len(scenario.steps):
                yield f"line {event.seq}: {row.id} passed with {attempt.steps} of {len(scenario.steps)} steps"
        # What the harness records of its contact with the system under test.
        case ApiWrite() | KubeletCall() | KubeletDevicePlugin() | KubeletLogCall() | WebhookCalled():
            attempt.calls += 1


def _step(event: StepStarted, scenario: Scenario, attempt: _Attempt) -> Iterator[str]:
    expected = scenario.steps[attempt.steps] if attempt.steps < len(scenario.steps) else None
    attempt.steps += 1
    if expected is None or (event.keyword, event.text) != (expected.kind, expected.text):
        yield f"line {event.seq}: {scenario.id} has no such step there: {event.keyword.capitalize()} {event.text}"


def _is_part(rules: Collection[str], named: Collection[str]) -> bool:
    return set(rules) <= set(named) and bool(rules) == bool(named)


def _check(event: CheckMade, scenario: Scenario, attempt: _Attempt) -> Iterator[str]:
    step = scenario.steps[attempt.steps - 1] if 0 < attempt.steps <= len(scenario.steps) else None
    if step is None or event.step != f"{step.kind.capitalize()} {step.text}":
        yield f"line {event.seq}: a check that is not of the current step of {scenario.id}: {event.step}"
    # A step that judges several rows gives each check the rules of its row.
    elif not _is_part(event.rules, step.rules or scenario.rules):
        yield f"line {event.seq}: a check of other rules than its step: {', '.join(event.rules)}"
    if not attempt.calls:
        yield f"line {event.seq}: {scenario.id} checks before any call to the API server, a driver or a webhook"
