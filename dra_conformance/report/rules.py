"""Computes the results of rules from the results of scenarios, and applies waivers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date

import msgspec

from dra_conformance.core.errors import SpecificationError
from dra_conformance.core.events import PlannedRule, PlannedScenario, RunPlanned, RunStarted
from dra_conformance.core.status import WORST_FIRST, Status
from dra_conformance.report.model import RuleResult, ScenarioResult, WaiverResult


@dataclass(frozen=True, slots=True)
class _Judged:
    """The outcome of a rule in one scenario; `ran` is false if the plan left the scenario out."""

    status: Status
    reason: str
    scenario: ScenarioResult
    ran: bool = True


def rule_results(
    plan: RunPlanned, scenarios: Iterable[ScenarioResult], waivers: Mapping[str, WaiverResult]
) -> tuple[tuple[RuleResult, ...], dict[str, WaiverResult]]:
    """Return the results of all rules that the scenarios judge, and the waivers with their state after this run."""
    planned = {row.id: row for row in plan.scenarios}
    judged: dict[str, list[_Judged]] = defaultdict(list)
    for scenario in scenarios:
        for rule in scenario.rules:
            judged[rule].append(_in_scenario(rule, scenario, planned[scenario.id]))
    after = dict(waivers)
    results = []
    for rule_id, row in plan.rules.items():
        if outcomes := judged.get(rule_id):
            result = _result(rule_id, row, outcomes)
            if waiver := waivers.get(rule_id):
                result, after[rule_id] = _waived(result, waiver)
            results.append(result)
    return tuple(results), after


def _in_scenario(rule: str, scenario: ScenarioResult, row: PlannedScenario) -> _Judged:
    """Return the outcome of one rule in one scenario."""
    if row.status is not None:
        status, reason = row.of_rules.get(rule, (row.status, row.reason))
        return _Judged(status, reason, scenario, ran=False)
    checks = [check for check in scenario.checks if rule in check.rules]
    if failed := next((check for check in checks if check.status is Status.FAILED), None):
        if scenario.status is Status.FLAKY:
            return _Judged(Status.FLAKY, scenario.reason, scenario)
        return _Judged(Status.FAILED, f"{scenario.id}: {failed.message}", scenario)
    if scenario.status is Status.FAILED:
        # The scenario failed on another rule. This one passed only if all of its own steps ran before that.
        if (steps := row.checks.get(rule, 0)) and len({check.step for check in checks}) >= steps:
            return _Judged(Status.PASSED, "", scenario)
        reason = f"{scenario.id} failed on another rule before this one was judged"
        return _Judged(Status.UNTESTABLE, reason, scenario)
    return _Judged(scenario.status, scenario.reason, scenario)


def _rank(outcome: _Judged) -> int:
    """Return how serious an outcome is, 0 first.

    A scenario that the harness cannot run on this target does not undo what the rule's other scenarios observed. It
    counts if no other scenario judged the rule. A scenario that ran and could not judge its rule counts always.
    """
    if outcome.status is Status.UNTESTABLE and not outcome.ran:
        return 2 * WORST_FIRST.index(Status.PASSED) + 1
    return 2 * WORST_FIRST.index(outcome.status)


def _result(rule_id: str, row: PlannedRule, outcomes: list[_Judged]) -> RuleResult:
    """A rule has the worst status of its scenarios. Raises SpecificationError if that status lacks a reason."""
    worst = min(outcomes, key=_rank)
    if worst.status is not Status.PASSED and not worst.reason:
        raise SpecificationError(f"rule {rule_id} is {worst.status} without a reason")
    limits = Counter(outcome.reason for outcome in outcomes if not outcome.ran and outcome.reason != worst.reason)
    return RuleResult(
        id=rule_id,
        level=row.level,
        component=row.component,
        text=row.text,
        source=row.source,
        status=worst.status,
        binds=row.binds,
        reason=worst.reason,
        limits=tuple(f"{count} of {len(outcomes)} scenarios not run: {reason}" for reason, count in limits.items()),
        scenarios=tuple(outcome.scenario.id for outcome in outcomes),
        duration=round(sum(outcome.scenario.duration for outcome in outcomes), 4),
        cpu=round(sum(outcome.scenario.cpu for outcome in outcomes), 4),
    )


def _waived(result: RuleResult, waiver: WaiverResult) -> tuple[RuleResult, WaiverResult]:
    """Apply a waiver to its rule. A waiver of a rule that passes is stale."""
    if waiver.state == "expired":
        return result, waiver
    if result.status in (Status.FAILED, Status.UNTESTABLE):
        reason = f"{waiver.owner}: {waiver.reason} (until {waiver.expires})"
        return msgspec.structs.replace(result, status=Status.WAIVED, reason=reason), waiver
    if result.status is Status.PASSED:
        return result, msgspec.structs.replace(waiver, state="stale")
    return result, waiver


def waivers(started: RunStarted) -> dict[str, WaiverResult]:
    """Return the waivers of the run's options by rule, expired or active on the day of the run."""
    # The day of the run, so that a report which is built again later stays the same.
    today = date.fromisoformat(started.started_at[:10])
    found = {}
    for row in started.options.get("waivers") or ():
        expired = date.fromisoformat(row["expires"]) < today
        found[row["rule"]] = WaiverResult(**row, state="expired" if expired else "active")
    return found
