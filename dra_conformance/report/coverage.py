"""How much of the rules of each component a run judged."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from dra_conformance.core.rules.catalogue import COMPONENTS
from dra_conformance.core.status import WORST_FIRST, Status
from dra_conformance.report.model import Report, RuleResult
from dra_conformance.report.profiles import JUDGED


@dataclass(frozen=True, slots=True)
class Row:
    """The rules of one component.

    `implementation`: what the run had as this component; empty if it had none. `under_test`: its rules bind the target.
    `counts`: number of MUST rules and of other rules for each status. `judged`: MUST rules that were judged, of `must`.
    """

    component: str
    implementation: str
    under_test: bool
    counts: Mapping[Status, tuple[int, int]]
    judged: int
    must: int


def rows(report: Report) -> list[Row]:
    """Return a row for each component that has rules in the plan, in the order of the catalogue."""
    found: dict[str, list[RuleResult]] = defaultdict(list)
    for rule in report.rules:
        found[rule.component].append(rule)
    return [_row(component, found[component], report) for component in sorted(found, key=_place)]


def statuses(table: list[Row]) -> list[Status]:
    """Return the statuses that occur, the worst first."""
    return [status for status in WORST_FIRST if any(sum(row.counts[status]) for row in table)]


def _place(component: str) -> tuple[int, str]:
    # Another version of the suite may have other components.
    return (COMPONENTS.index(component) if component in COMPONENTS else len(COMPONENTS)), component


def _row(component: str, rules: list[RuleResult], report: Report) -> Row:
    must = [rule for rule in rules if rule.level == "MUST"]
    scored = Counter(rule.status for rule in must)
    others = Counter(rule.status for rule in rules if rule.level != "MUST")
    return Row(
        component,
        report.target.components.get(component, ""),
        any(rule.binds for rule in rules),
        {status: (scored[status], others[status]) for status in Status},
        sum(rule.status in JUDGED for rule in must),
        len(must),
    )
