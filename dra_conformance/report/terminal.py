"""The report as text: failures first, then counts and the verdict."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

from dra_conformance.core.errors import ExitCode
from dra_conformance.core.status import ProfileStatus, Status, Verdict
from dra_conformance.report.model import Report, RuleResult, ScenarioResult

_BAD = (Status.FAILED, Status.ERROR, Status.UNTESTABLE, Status.FLAKY)
_COLORS = {Verdict.CONFORMANT: "32", Verdict.PARTIAL: "33", Verdict.NOT_CONFORMANT: "31", Verdict.INVALID: "35"}

_PROFILE_COLORS = {
    ProfileStatus.CONFORMANT: "32",
    ProfileStatus.PARTIAL: "33",
    ProfileStatus.NOT_JUDGED: "33",
    ProfileStatus.NOT_CONFORMANT: "31",
}
_NAMED = 4  # rules that one line names


def render(report: Report, *, folder: Path | None = None, color: bool = False, durations: int = 0) -> str:
    """Return the text.

    `folder` is the report folder, printed at the end. `durations` is the number of slowest scenarios and rules to list.
    """
    return "\n".join([*_lines(report, folder, color), *_slowest(report, durations)]) + "\n"


def _paint(text: str, code: str, on: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if on else text


def _lines(report: Report, folder: Path | None, color: bool) -> Iterator[str]:
    by_id = {scenario.id: scenario for scenario in report.scenarios}
    shown: set[str] = set()
    for problem in report.problems:
        yield _paint(f"problem: {problem.message}", "31", color)
        if problem.hint:
            yield f"  {problem.hint}"
        # The scenarios that found it have no other failure, and any of them repeats it.
        if problem.scenarios:
            yield f"  repeat    {by_id[problem.scenarios[0]].repeat}"
            shown.update(problem.scenarios)
        yield ""
    crashed: dict[str, list[str]] = {}
    for rule in report.rules:
        bad = [name for name in rule.scenarios if by_id[name].status in _BAD]
        if rule.status not in _BAD or (bad and set(bad) <= shown and rule.status is Status.ERROR):
            continue
        crashes = {by_id[name].crash for name in bad}
        crash = crashes.pop() if len(crashes) == 1 else ""
        if crash in crashed:
            crashed[crash].append(rule.id)
            continue
        if crash:
            crashed[crash] = []
        yield from _rule(rule, color)
        for scenario in (by_id[name] for name in rule.scenarios):
            if scenario.status in _BAD and scenario.id not in shown:
                shown.add(scenario.id)
                yield from _scenario(scenario)
        yield ""
    for crash, rules in crashed.items():
        yield from _same_crash(crash, rules, color)
    for waiver in report.waivers:
        if waiver.state != "active":
            yield f"{waiver.state} waiver of {waiver.rule} by {waiver.owner} (expires {waiver.expires})"
    for name in report.leftovers:
        yield f"not deleted: {name}"
    yield _counts("scenarios", report.statistics) + f"   {report.duration:.1f} s"
    yield _counts("rules", report.rule_statistics)
    yield from _profiles(report, color)
    verdict = _paint(report.verdict.value.upper(), _COLORS[report.verdict], color)
    notes = [*(["interrupted"] if report.interrupted else []), *report.caveats]
    note = f"  ({'; '.join(notes)})" if notes else ""
    yield f"verdict    {verdict}  for {', '.join(report.profiles)}{note}"
    for component, how in report.target.not_isolated.items():
        yield f"isolation  {component} {how}; the verdict is at most partial"
    if folder is not None:
        yield f"report     {folder}/  (report.html report.yaml report.json junit.xml events.jsonl)"
    if report.exit_code:
        yield f"exit       {report.exit_code} ({ExitCode(report.exit_code).name.lower().replace('_', ' ')})"


def _profiles(report: Report, color: bool) -> Iterator[str]:
    """Yield one line for each profile, and the reasons why rules that bind the target were not judged."""
    shown = [profile for profile in report.profile_results if not profile.deselected]
    width = max((len(profile.name) for profile in shown), default=0)
    for number, profile in enumerate(shown):
        status = _paint(f"{profile.status.value:<14}", _PROFILE_COLORS[profile.status], color)
        counts = profile.all_rules
        bound = f"{counts.judged} of {counts.binding} rules judged" if counts.binding else "no rule binds the target"
        yield f"{'profiles' if number == 0 else '':<10} {profile.name:<{width}}  {status}  {bound}"
        for group in profile.not_judged:
            names = ", ".join(group.rules[:_NAMED])
            more = f" and {len(group.rules) - _NAMED} more" if len(group.rules) > _NAMED else ""
            yield f"{'':<10}   {len(group.rules)} {group.status}: {group.reason} ({names}{more})"


def _rule(rule: RuleResult, color: bool) -> Iterator[str]:
    mark = "✗" if rule.level == "MUST" else "!"
    yield _paint(f"{mark} {rule.id} {rule.level} {rule.status}", "31" if mark == "✗" else "33", color)
    yield from textwrap.wrap(rule.text, width=96, initial_indent="  ", subsequent_indent="  ")
    yield f"  source    {rule.source}"
    if rule.status is not Status.FAILED:
        yield f"  reason    {rule.reason}"


def _same_crash(crash: str, rules: list[str], color: bool) -> Iterator[str]:
    """Yield the rules whose scenarios ended with a crash that is shown already, if there are any."""
    if rules:
        yield _paint(f"✗ {len(rules)} more rule{'s' * (len(rules) > 1)} for the same reason: {crash}", "31", color)
        yield from textwrap.wrap(", ".join(rules), width=96, initial_indent="  ", subsequent_indent="  ")
        yield ""


def _scenario(scenario: ScenarioResult) -> Iterator[str]:
    yield f"  scenario  {scenario.where}  {scenario.name}"
    if scenario.failed_step:
        yield f"  step      {scenario.failed_step}"
    broken = next((check for check in scenario.checks if check.status is Status.FAILED), None)
    if broken is not None:
        yield f"  expected  {broken.expected}"
        yield f"  observed  {broken.observed}"
        # The reason repeats the check; only what follows, such as missing permissions, is new.
        _, _, more = scenario.reason.partition(f"; saw {broken.observed}; ")
        if more:
            yield f"  reason    {more}"
    elif scenario.reason:
        yield f"  reason    {scenario.reason}"
    # Changes of objects are frequent and would push the other events out of the few lines.
    tail = [line for line in scenario.timeline if "  WATCH  " not in line][-8:]
    for number, line in enumerate(tail):
        yield f"  {'timeline' if number == 0 else '        '}  {line[:150]}"
    yield f"  repeat    {scenario.repeat}"


def _slowest(report: Report, number: int) -> Iterator[str]:
    """Yield the slowest scenarios and rules with their seconds. Equally slow ones keep the order of the report."""
    for what, results in (("scenarios", report.scenarios), ("rules", report.rules)):
        rows: list[ScenarioResult | RuleResult] = sorted(results, key=lambda row: -row.duration)
        slowest = [row for row in rows[:number] if row.duration]
        if slowest:
            yield f"slowest {what}"
            yield f"{'seconds':>10} {'CPU':>8}"
        for row in slowest:
            yield f"{row.duration:>10.2f} {row.cpu:>8.2f}  {row.id}"
    spent = sum(row.duration for row in report.scenarios)
    if number and spent:
        waited = max(spent - report.cpu, 0.0)
        yield f"scenarios took {spent:.1f} s: {spent - waited:.1f} s of CPU time, {waited:.1f} s of waiting"
        if waited > spent / 2:
            yield "most of it is waiting: more workers than cores (-n) run scenarios side by side"


def _counts(what: str, statistics: dict[str, int]) -> str:
    parts = [f"{statistics[s.value]} {s.value}" for s in Status if statistics[s.value] or s is Status.PASSED]
    return f"{what:<10} {', '.join(parts)}"
