"""Computes the results of profiles: how many rules that bind the target were judged, and why the others were not."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from dra_conformance.core.events import RunPlanned
from dra_conformance.core.status import ProfileStatus, Status
from dra_conformance.core.tags import ON_REQUEST, PROFILES
from dra_conformance.report.model import NotJudged, ProfileResult, RuleCounts, RuleResult, ScenarioResult, WaiverResult
from dra_conformance.report.rules import rule_results

# The target did what the rule is about, and the run observed it.
JUDGED = frozenset({Status.PASSED, Status.FAILED, Status.FLAKY, Status.WAIVED})
_FAILED = frozenset({Status.FAILED, Status.UNTESTABLE, Status.ERROR})
_LIMITED = frozenset({Status.FILTERED, Status.WAIVED, Status.FLAKY})


def profile_results(
    plan: RunPlanned,
    scenarios: Sequence[ScenarioResult],
    waivers: Mapping[str, WaiverResult],
    *,
    selected: Iterable[str],
) -> tuple[ProfileResult, ...]:
    """Return the result of each selected profile.

    A profile is judged by its own scenarios: a rule that passed in a scenario of another profile counts there only.

    Args:
        plan: the plan of the run.
        scenarios: the results of all planned scenarios.
        waivers: the waivers by rule.
        selected: the profiles of `--profile`; none selects every profile that runs without the option.
    """
    names = tuple(selected) or tuple(name for name in PROFILES if name not in ON_REQUEST)
    members: dict[str, set[str]] = defaultdict(set)
    for row in plan.scenarios:
        for name in row.profiles:
            members[name].add(row.id)
    return tuple(
        _result(name, rule_results(plan, [one for one in scenarios if one.id in members[name]], waivers)[0])
        for name in dict.fromkeys(names)
        # A run of other features (--features, -k) may have no scenario of a profile.
        if members[name] or name in tuple(selected)
    )


def _result(name: str, rules: Sequence[RuleResult]) -> ProfileResult:
    scored = [rule for rule in rules if rule.level == "MUST"]
    return ProfileResult(
        name=name,
        status=_status(scored),
        deselected=any(rule.status is Status.FILTERED for rule in scored) and not _judged(scored),
        must=_counts(scored),
        all_rules=_counts(rules),
        statistics={status.value: count for status, count in Counter(rule.status for rule in rules).items()},
        not_judged=tuple(_not_judged(rules)),
    )


def _judged(rules: Iterable[RuleResult]) -> list[RuleResult]:
    return [rule for rule in rules if rule.binds and rule.status in JUDGED]


def _status(scored: Sequence[RuleResult]) -> ProfileStatus:
    statuses = {rule.status for rule in scored}
    # A rule that does not bind the target and fails shows that the run cannot be relied on: it counts too.
    if statuses & _FAILED:
        return ProfileStatus.NOT_CONFORMANT
    if not _judged(scored):
        return ProfileStatus.NOT_JUDGED
    return ProfileStatus.PARTIAL if statuses & _LIMITED else ProfileStatus.CONFORMANT


def _counts(rules: Sequence[RuleResult]) -> RuleCounts:
    judged = _judged(rules)
    return RuleCounts(
        binding=sum(rule.binds for rule in rules),
        judged=len(judged),
        passed=sum(rule.status is Status.PASSED for rule in judged),
    )


def _not_judged(rules: Iterable[RuleResult]) -> Iterator[NotJudged]:
    """Yield the reasons why binding rules were not judged, the one with the most rules first."""
    groups: dict[tuple[Status, str], list[str]] = defaultdict(list)
    for rule in rules:
        if rule.binds and rule.status not in JUDGED:
            groups[(rule.status, rule.reason)].append(rule.id)
    for (status, reason), found in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
        yield NotJudged(status=status, reason=reason, rules=tuple(sorted(found)))
