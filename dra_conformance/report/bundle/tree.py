"""The results of a run as tests of `go test`: the verdict, the requirements, and a subtest for each rule."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from dra_conformance.core.plain_text import one_line
from dra_conformance.core.rules import Version, requirement_sets
from dra_conformance.core.status import Status, Verdict
from dra_conformance.report.bundle.published_versions import PublishedVersion
from dra_conformance.report.bundle.requirements import REQUIREMENTS, Requirement
from dra_conformance.report.model import Report, RuleResult

VERDICT = "TestDRAVerdict"
PACKAGE = "dra-conformance"
_BAD = frozenset({Status.FAILED, Status.UNTESTABLE, Status.ERROR, Status.FLAKY})
_DOES_NOT_BIND = frozenset({Status.NOT_APPLICABLE, Status.NOT_SUPPORTED})


class Outcome(StrEnum):
    """The outcome of a test, as in the events of `go test -json`."""

    PASS = "pass"  # noqa: S105 - not a password
    FAIL = "fail"
    SKIP = "skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoTest:
    """One test: name with those of its parents, output in lines without control characters, duration in seconds."""

    name: str
    outcome: Outcome
    seconds: float = 0.0
    lines: tuple[str, ...] = ()
    subtests: tuple[GoTest, ...] = ()


def tests_of(report: Report, versions: Sequence[PublishedVersion]) -> tuple[GoTest, ...]:
    """Return all tests of a run: the verdict first, then the requirements, then each component with its rules.

    A rule that is not scored never fails a test; a rule that was not judged never passes one.
    """
    components: dict[str, list[RuleResult]] = defaultdict(list)
    for rule in report.rules:
        components[rule.component].append(rule)
    return (
        _verdict(report, versions),
        *(_requirement(one, report, versions) for one in REQUIREMENTS),
        *(_component(name, rules) for name, rules in sorted(components.items())),
    )


def walk(tests: Sequence[GoTest]) -> Iterator[GoTest]:
    """Yield all tests, each before its subtests."""
    for test in tests:
        yield test
        yield from walk(test.subtests)


def is_evidence(report: Report) -> bool:
    """Whether the run is conformant, complete, and about a real system."""
    return report.verdict is Verdict.CONFORMANT and not report.interrupted and not why_not_real(report)


def why_not_real(report: Report) -> tuple[str, ...]:
    """Return why the run says nothing about a platform: parts that were simulated, no component under test."""
    target = report.target
    rehearsal = report.evidence_class != "evidence" and "control plane" not in target.simulated
    parts = [*target.simulated, *(["control plane"] if rehearsal else [])]
    found = [f"{part} simulated" for part in parts]
    return tuple(found if target.under_test else [*found, "no component of the platform under test"])


def verdict_line(report: Report) -> str:
    """Return the verdict with its limits, in one line."""
    limits = [*report.caveats, *(["the run was interrupted"] if report.interrupted else [])]
    return one_line(report.verdict.value + (f" ({'; '.join(limits)})" if limits else ""), limit=1000)


def identity(report: Report) -> tuple[str, ...]:
    """Return what was tested, with what, and when, in lines without control characters."""
    target = report.target
    return _clean(
        [
            f"suite: dra-conformance {report.suite.version}, {report.suite.rules} rules",
            f"run: {report.run_id} of {report.started_at}",
            f"event log: SHA-256 {report.events_sha256 or 'unknown'}",
            f"Kubernetes: {target.kubernetes_version} ({target.control_plane}), {target.resource_api or 'API unknown'}",
            f"components: {', '.join(f'{name}={value}' for name, value in sorted(target.components.items()))}",
            f"under test: {', '.join(target.under_test) or 'reference components only'}",
            f"driver: {target.driver}",
            _requirement_set(report),
        ]
    )


def _requirement_set(report: Report) -> str:
    """Describe the frozen requirement set of the release, and how much of it the run judged."""
    try:
        release = str(Version.parse(report.target.kubernetes_version))
    except ValueError:
        return "requirement set: none, the Kubernetes version is unknown"
    found = requirement_sets.load(release)
    if found is None:
        return f"requirement set: none is frozen for Kubernetes {release}"
    passed = [rule.id for rule in report.rules if rule.status is Status.PASSED and rule.id in found.rules]
    unstable = sum(bool(found.rules[name].provisional) for name in passed)
    return (
        f"requirement set: v{release} of {found.frozen}, {len(passed)} of its {len(found.rules)} rules passed, "
        f"{unstable} of these provisional"
    )


def _verdict(report: Report, versions: Sequence[PublishedVersion]) -> GoTest:
    if report.verdict in (Verdict.NOT_CONFORMANT, Verdict.INVALID):
        outcome = Outcome.FAIL
    else:
        outcome = Outcome.PASS if is_evidence(report) else Outcome.SKIP
    lines = [*identity(report), *(f"problem: {problem.message}" for problem in report.problems)]
    for profile in report.profile_results:
        counts = profile.all_rules
        lines.append(f"profile {profile.name}: {profile.status}, {counts.judged} of {counts.binding} rules judged")
        lines += [f"not judged, {one.status}: {one.reason} ({', '.join(one.rules)})" for one in profile.not_judged]
    lines += [f"published in ResourceSlices: {version}" for version in versions]
    if outcome is Outcome.SKIP:
        lines.append("skipped: this run is no evidence of conformance")
    lines.append(f"verdict: {verdict_line(report)}")
    return GoTest(name=VERDICT, outcome=outcome, lines=_clean(lines))


def _requirement(one: Requirement, report: Report, versions: Sequence[PublishedVersion]) -> GoTest:
    by_id = {rule.id: rule for rule in report.rules}
    rules = [by_id[name] for name in (*one.rules, *one.if_judged) if name in by_id]
    lines = [f"requirement {one.category}/{one.id}, from rules of dra-conformance"]
    lines += [f"{rule.id} {rule.level} {rule.status}{f': {rule.reason}' if rule.reason else ''}" for rule in rules]
    lacks = [f"{name} was not judged" for name in one.rules if name not in by_id]
    lacks += [f"{rule.id} is {rule.status}" for rule in rules if not _is_met(rule, required=rule.id in one.rules)]
    if one.versions:
        lines += [f"published in ResourceSlices: {version}" for version in versions]
        if not any(version.driver == report.target.driver for version in versions):
            lacks.append(f"the driver {report.target.driver} publishes no attribute of type version")
    lacks += why_not_real(report)
    outcome = Outcome.SKIP if lacks else Outcome.PASS
    if any(_outcome(rule) is Outcome.FAIL for rule in rules):
        outcome = Outcome.FAIL
    if lacks:
        lines.append(f"{'failed' if outcome is Outcome.FAIL else 'skipped'}: {', '.join(lacks)}")
    return GoTest(name=one.test, outcome=outcome, seconds=_seconds(rules), lines=_clean(lines))


def _is_met(rule: RuleResult, *, required: bool) -> bool:
    return rule.status is Status.PASSED or (not required and rule.status in _DOES_NOT_BIND)


def _component(component: str, rules: Sequence[RuleResult]) -> GoTest:
    name = "TestDRA" + "".join(word.capitalize() for word in component.split("-"))
    lines = [f"the rules of the component {component}"]
    subtests = tuple(_rule(f"{name}/{rule.id}", rule) for rule in rules)
    outcome = combined(rules)
    if outcome is Outcome.FAIL:
        failed = [rule.id for rule in rules if _outcome(rule) is Outcome.FAIL]
        lines.append(f"failed: {', '.join(failed)}")
    elif outcome is Outcome.SKIP:
        lines.append("skipped: not each MUST rule was judged")
    return GoTest(name=name, outcome=outcome, seconds=_seconds(rules), lines=_clean(lines), subtests=subtests)


def combined(rules: Sequence[RuleResult]) -> Outcome:
    """Return the outcome of several rules: passed only if each MUST rule that binds was judged and passed."""
    if any(_outcome(rule) is Outcome.FAIL for rule in rules):
        return Outcome.FAIL
    scored = {rule.status for rule in rules if rule.level == "MUST"}
    return Outcome.PASS if Status.PASSED in scored and scored <= {Status.PASSED, *_DOES_NOT_BIND} else Outcome.SKIP


def _outcome(rule: RuleResult) -> Outcome:
    if rule.status is Status.PASSED:
        return Outcome.PASS
    return Outcome.FAIL if rule.level == "MUST" and rule.status in _BAD else Outcome.SKIP


def _rule(name: str, rule: RuleResult) -> GoTest:
    lines = [f"{rule.level}: {rule.text}", f"source: {rule.source}"]
    if rule.status is not Status.PASSED:
        scored = "" if rule.level == "MUST" or rule.status not in _BAD else ", not scored"
        lines.append(f"{rule.status}{scored}: {rule.reason}")
    lines += [f"scenarios left out: {limit}" for limit in rule.limits]
    return GoTest(name=name, outcome=_outcome(rule), seconds=rule.duration, lines=_clean(lines))


def _seconds(rules: Sequence[RuleResult]) -> float:
    return sum(rule.duration for rule in rules)


def _clean(lines: Sequence[str]) -> tuple[str, ...]:
    """Return text of the target without control characters and line breaks, which could add a result of its own."""
    return tuple(one_line(line, limit=1000) for line in lines)
