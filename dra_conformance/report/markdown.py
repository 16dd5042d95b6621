"""A report and a comparison as Markdown, for a comment on a pull request or the summary of a job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from dra_conformance.core.status import WORST_FIRST, Status
from dra_conformance.report.comparison import BAD, Change, Comparison, RuleChange, each_reason_once
from dra_conformance.report.comparison_text import HEADINGS, headline
from dra_conformance.report.history import target_name
from dra_conformance.report.model import Check, Report, RuleResult, ScenarioResult
from dra_conformance.report.page_templates import template

LARGEST = 60_000
"""The length of all blocks in characters, at most. GitHub accepts 65,536 in a comment, with what users add."""
_ROWS = (50, 20, 5)  # rules of one table
_MOST = 200  # failures to render: more cannot fit
_OPEN = 3  # failures that are not folded, if there are no more


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failure:
    """A rule that failed, the scenario and the check that show it, and the rules not judged because of it."""

    rule: RuleResult
    scenario: ScenarioResult | None
    check: Check | None
    more: list[str] = field(default_factory=list)


def summary(report: Report) -> str:
    """Return the verdict, the profiles and the failed rules of a report."""
    failures = list(_failures(report))
    counts = Counter(rule.status for rule in report.rules)
    head = _block(
        "head",
        report,
        target_name(report),
        ", ".join(f"{counts[status]} {status}" for status in Status if counts[status]),
        [profile for profile in report.profile_results if not profile.deselected],
        _failure_heading(counts),
    )
    folded = [_block("failure", failure, len(failures) <= _OPEN) for failure in failures[:_MOST]]
    return _fit([head, *folded], command="dra-conformance report", left=len(failures) - len(folded))


def compared(comparison: Comparison) -> str:
    """Return what differs between two reports."""
    head = _block("comparison_head", comparison, headline(comparison))
    changes = [_changes(change, rules) for change in HEADINGS if (rules := comparison.of(change))]
    return _fit([head, *changes], command="dra-conformance diff")


def _failures(report: Report) -> Iterator[_Failure]:
    """Yield the failed rules, MUST first. Rules that only another failure kept from being judged belong to it."""
    scenarios = {scenario.id: scenario for scenario in report.scenarios}
    failures: dict[str, _Failure] = {}
    for rule in sorted((rule for rule in report.rules if rule.status in BAD), key=_order):
        bad = [scenarios[name] for name in rule.scenarios if name in scenarios and scenarios[name].status in BAD]
        shown: list[tuple[ScenarioResult, Check | None]] = [
            (scenario, check) for scenario in bad for check in scenario.checks if check.status is Status.FAILED
        ]
        own = [(scenario, check) for scenario, check in shown if check and rule.id in check.rules]
        scenario, check = next(iter(own or shown), (bad[0] if bad else None, None))
        cause = (scenario.crash or ("" if own else scenario.id)) if scenario else ""
        if cause in failures:
            failures[cause].more.append(rule.id)
            continue
        failure = _Failure(rule=rule, scenario=scenario, check=check)
        yield failure
        for name in (scenario.crash, scenario.id) if scenario else ():
            if name:
                failures.setdefault(name, failure)


def _failure_heading(counts: Counter[Status]) -> str:
    """Return how many rules failed, and how many of them in another way, such as untestable."""
    found = [(status, counts[status]) for status in Status if status in BAD and counts[status]]
    found.sort(key=lambda one: one[0] is not Status.FAILED)
    return ", ".join(f"{count} {status} rule{'s' * (count > 1)}" for status, count in found)


def _order(rule: RuleResult) -> tuple[bool, int]:
    return rule.level != "MUST", WORST_FIRST.index(rule.status)


def _changes(change: Change, rules: list[RuleChange]) -> str:
    """Return a table of rules, with fewer of them if their texts are long."""
    shown = list(each_reason_once(rules))
    for rows in _ROWS:
        block = _block("changes", HEADINGS[change], shown, rows, change is Change.NEW_FAILURE)
        if len(block) < LARGEST / 2:
            break
    return block


def _block(macro: str, *arguments: Any) -> str:
    """Return one block of the template: a macro with these arguments."""
    return str(getattr(template("summary.md").module, macro)(*arguments)).strip("\n")


def _fit(blocks: Iterable[str], *, command: str, left: int = 0) -> str:
    """Return the blocks that fit into the limit, and how many were left out, with the `left` others."""
    shown: list[str] = []
    length = 0
    for block in blocks:
        if length + len(block) + 2 > LARGEST:
            left += 1
        else:
            shown.append(block)
            length += len(block) + 2
    if left:
        shown.append(_block("left_out", left, command))
    return "\n\n".join(shown) + "\n"
