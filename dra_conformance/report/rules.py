"""Computes the results of rules from the results of scenarios, and applies waivers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import date

import msgspec

from dra_conformance.core.errors import SpecificationError
from dra_conformance.core.events import PlannedRule, RunPlanned, RunStarted
from dra_conformance.core.status import WORST_FIRST, Status
from dra_conformance.report.model import RuleResult, ScenarioResult, WaiverResult

_Judged = tuple[Status, str, str]
"""Status, reason, id of the scenario."""


def rule_results(
    plan: RunPlanned, scenarios: Iterable[ScenarioResult], waivers: Mapping[str, WaiverResult]
) -> tuple[tuple[RuleResult, ...], dict[str, WaiverResult]]:
    """Return the results of all judged rules, and the waivers with their state after this run."""
    planned = {row.id: row.checks for row in plan.scenarios}
    judged: dict[str, list[_Judged]] = defaultdict(list)
    for scenario in scenarios:
        for rule in scenario.rules:
            status, reason = _in_scenario(rule, scenario, planned[scenario.id].get(rule, 0))
            judged[rule].append((status, reason, scenario.id))
    after = dict(waivers)
    results = []
    for rule_id, row in plan.rules.items():
        if outcomes := judged.get(rule_id):
            result = _result(rule_id, row, outcomes)
            if waiver := waivers.get(rule_id):
                result, after[rule_id] = _waived(result, waiver)
            results.append(result)
    return tuple(results), after


def _in_scenario(rule: str, scenario: ScenarioResult, planned_checks: int) -> tuple[Status, str]:
    """Return status and reason of one rule in one scenario. `planned_checks`: number of its Then steps for the rule."""
    checks = [check for check in scenario.checks if rule in check.rules]
    if failed := next((check for check in checks if check.status is Status.FAILED), None):
        if scenario.status is Status.FLAKY:
            return Status.FLAKY, scenario.reason
        return Status.FAILED, f"{scenario.id}: {failed.message}"
    if scenario.status is Status.FAILED:
        # The scenario failed on another rule. This one passed only if all of its own steps ran before that.
        if planned_checks and len({check.step for check in checks}) >= planned_checks:
            return Status.PASSED, ""
        return Status.UNTESTABLE, f"{scenario.id} failed on another rule before this one was judged"
    return scenario.status, scenario.reason


def _result(rule_id: str, row: PlannedRule, outcomes: list[_Judged]) -> RuleResult:
    """A rule has the worst status of its scenarios. Raises SpecificationError if that status lacks a reason."""
    status, reason, _ = min(outcomes, key=lambda outcome: WORST_FIRST.index(outcome[0]))
    if status is not Status.PASSED and not reason:
        raise SpecificationError(f"rule {rule_id} is {status} without a reason")
    return RuleResult(
        id=rule_id,
        level=row.level,
        component=row.component,
        text=row.text,
        source=row.source,
        status=status,
        reason=reason,
        scenarios=tuple(scenario for _, _, scenario in outcomes),
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
