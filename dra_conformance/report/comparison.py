"""Compares two reports: rules, profiles, verdicts, and what the runs do not have in common."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from enum import StrEnum

import msgspec

from dra_conformance.core.status import WORST_FIRST, ProfileStatus, Status, Verdict
from dra_conformance.report.model import API_VERSION, ProfileResult, Report, RuleCounts
from dra_conformance.report.profiles import JUDGED

BAD = frozenset({Status.FAILED, Status.ERROR, Status.UNTESTABLE, Status.FLAKY})
"""The statuses that count as a failure of a rule."""

# Not judged is worse than partial: nothing is known of the profile.
_BEST_FIRST = (
    ProfileStatus.CONFORMANT,
    ProfileStatus.PARTIAL,
    ProfileStatus.NOT_JUDGED,
    ProfileStatus.NOT_CONFORMANT,
)
_VERDICTS = list(Verdict)  # worst last


class Change(StrEnum):
    """How the status of a rule differs between two reports, in the order in which changes are shown."""

    NEW_FAILURE = "new-failure"
    FIXED = "fixed"
    NEWLY_JUDGED = "newly-judged"
    NO_LONGER_JUDGED = "no-longer-judged"
    ADDED = "added"
    REMOVED = "removed"
    OTHER = "other"


class RuleChange(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A rule whose status differs. `old` and `new` are its statuses, None if the report does not have the rule.

    `reason` is that of the new report. `repeat` is a command that repeats a failed scenario of the rule.
    """

    id: str
    change: Change
    level: str
    text: str
    old: Status | None
    new: Status | None
    reason: str = ""
    repeat: str = ""


class ProfileChange(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The verdict and the rules of one profile in both reports; None if the report does not have the profile.

    `worse`: the verdict got worse. A profile that the report does not have is not judged.
    """

    name: str
    old: ProfileStatus | None
    new: ProfileStatus | None
    worse: bool
    old_rules: RuleCounts | None
    new_rules: RuleCounts | None


class Difference(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A property of the two runs that is not equal. `group` names what it belongs to."""

    group: str
    name: str
    old: str
    new: str


class Side(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The run of one report."""

    run_id: str
    started_at: str
    suite: str
    kubernetes_version: str
    evidence_class: str
    verdict: Verdict


class Comparison(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The comparison of two reports. `still_failing` has the rules that fail in both."""

    api_version: str = API_VERSION
    kind: str = "ReportComparison"
    old: Side
    new: Side
    regression: bool
    differences: tuple[Difference, ...]
    profiles: tuple[ProfileChange, ...]
    rules: tuple[RuleChange, ...]
    still_failing: tuple[str, ...]

    def of(self, change: Change) -> list[RuleChange]:
        """Return the rules with this change: MUST rules and the worst new status first, else as in the report."""
        found = [rule for rule in self.rules if rule.change is change]
        return sorted(found, key=lambda rule: (rule.level != "MUST", WORST_FIRST.index(rule.new) if rule.new else 0))


def each_reason_once(rules: Iterable[RuleChange]) -> Iterator[RuleChange]:
    """Yield the rules for a reader: a reason that an earlier rule has is a reference to that rule."""
    first: dict[str, str] = {}
    for rule in rules:
        known = first.setdefault(rule.reason, rule.id)
        same = rule.reason and known != rule.id
        yield msgspec.structs.replace(rule, reason=f"that of {known}") if same else rule


def compare(old: Report, new: Report) -> Comparison:
    """Return the comparison of two reports.

    It is a regression if a MUST rule fails that did not fail before, or if the verdict of a profile or of the run got
    worse.
    """
    rules = tuple(_rule_changes(old, new))
    profiles = tuple(_profile_changes(old, new))
    before = {rule.id: rule.status for rule in old.rules}
    return Comparison(
        old=_side(old),
        new=_side(new),
        regression=any(rule.change is Change.NEW_FAILURE and rule.level == "MUST" for rule in rules)
        or any(profile.worse for profile in profiles)
        or _VERDICTS.index(new.verdict) > _VERDICTS.index(old.verdict),
        differences=tuple(_differences(old, new)),
        profiles=profiles,
        rules=rules,
        still_failing=tuple(rule.id for rule in new.rules if rule.status in BAD and before.get(rule.id) in BAD),
    )


def change_of(old: Status | None, new: Status | None) -> Change | None:
    """Return the change of a rule with these statuses, None if there is none. None is a rule that is not there."""
    if old is new:
        return None
    if new in BAD:
        # A rule that fails in another way, such as untestable after failed, is no new failure.
        return Change.OTHER if old in BAD else Change.NEW_FAILURE
    if old is None or new is None:
        return Change.ADDED if old is None else Change.REMOVED
    if new is Status.PASSED and old in BAD | {Status.WAIVED}:
        return Change.FIXED
    if old in JUDGED and new not in JUDGED:
        return Change.NO_LONGER_JUDGED
    if old not in JUDGED | BAD and new in JUDGED:
        return Change.NEWLY_JUDGED
    return Change.OTHER


def _rule_changes(old: Report, new: Report) -> Iterator[RuleChange]:
    before = {rule.id: rule for rule in old.rules}
    after = {rule.id: rule for rule in new.rules}
    repeats = {scenario.id: scenario.repeat for scenario in new.scenarios if scenario.status in BAD}
    for name, rule in {**before, **after}.items():
        old_status = before[name].status if name in before else None
        new_status = after[name].status if name in after else None
        change = change_of(old_status, new_status)
        if change is not None:
            new_failure = change is Change.NEW_FAILURE
            yield RuleChange(
                id=name,
                change=change,
                level=rule.level,
                text=rule.text,
                old=old_status,
                new=new_status,
                reason=rule.reason if name in after else "",
                repeat=next((repeats[one] for one in rule.scenarios if repeats.get(one)), "") if new_failure else "",
            )


def _profile_changes(old: Report, new: Report) -> Iterator[ProfileChange]:
    """Yield the profiles, without those that both runs deselected."""
    pairs: dict[str, list[ProfileResult | None]] = defaultdict(lambda: [None, None])
    for number, report in enumerate((old, new)):
        for profile in report.profile_results:
            pairs[profile.name][number] = profile
    for name, (was, now) in pairs.items():
        if any(profile and not profile.deselected for profile in (was, now)):
            before, after = was.status if was else None, now.status if now else None
            yield ProfileChange(
                name=name,
                old=before,
                new=after,
                worse=_rank(after) > _rank(before),
                old_rules=was.all_rules if was else None,
                new_rules=now.all_rules if now else None,
            )


def _rank(status: ProfileStatus | None) -> int:
    return _BEST_FIRST.index(status or ProfileStatus.NOT_JUDGED)


def _side(report: Report) -> Side:
    return Side(
        run_id=report.run_id,
        started_at=report.started_at,
        suite=report.suite.version,
        kubernetes_version=report.target.kubernetes_version,
        evidence_class=report.evidence_class,
        verdict=report.verdict,
    )


def _differences(old: Report, new: Report) -> Iterator[Difference]:
    before, after = _properties(old), _properties(new)
    for group, name in dict.fromkeys([*before, *after]):
        was, now = before.get((group, name), ""), after.get((group, name), "")
        if was != now:
            yield Difference(group=group, name=name, old=was, new=now)


def _properties(report: Report) -> dict[tuple[str, str], str]:
    """Return what two runs should have in common, by group and name."""
    suite, target = report.suite, report.target
    left_out = sum(scenario.status is Status.FILTERED for scenario in report.scenarios)
    return {
        ("suite", "suite version"): suite.version,
        ("suite", "rule catalogue"): f"{suite.rules} rules ({suite.rules_sha256[:12]})",
        ("suite", "feature files"): suite.features_sha256[:12],
        ("Kubernetes version", "Kubernetes"): target.kubernetes_version,
        ("Kubernetes version", "resource API"): target.resource_api,
        ("target", "control plane"): target.control_plane,
        ("target", "evidence"): report.evidence_class,
        ("target", "driver name"): target.driver,
        ("target", "driver release"): target.driver_release,
        ("target", "revision"): target.revision,
        ("target", "kubelet"): target.kubelet,
        ("target", "nvml"): target.nvml,
        ("target", "under test"): ", ".join(target.under_test),
        **{("target", f"component {component}"): how for component, how in target.components.items()},
        ("selection", "profiles"): ", ".join(report.profiles),
        ("selection", "left out"): f"{left_out} of {len(report.scenarios)} scenarios" if left_out else "",
    }
