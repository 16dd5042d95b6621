"""The report as text: failures first, then counts and the verdict."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from dra_conformance.core.errors import ExitCode
from dra_conformance.core.plain_text import printable
from dra_conformance.core.status import ProfileStatus, Status, Verdict
from dra_conformance.report.model import NotJudged, Report, RuleResult, ScenarioResult
from dra_conformance.report.priority import first_failure
from dra_conformance.report.scenarios import broken_check, cause_of, further_reason

_BAD = (Status.FAILED, Status.ERROR, Status.UNTESTABLE, Status.FLAKY)
_COLORS = {Verdict.CONFORMANT: "32", Verdict.PARTIAL: "33", Verdict.NOT_CONFORMANT: "31", Verdict.INVALID: "35"}

_PROFILE_COLORS = {
    ProfileStatus.CONFORMANT: "32",
    ProfileStatus.PARTIAL: "33",
    ProfileStatus.NOT_JUDGED: "33",
    ProfileStatus.NOT_CONFORMANT: "31",
}
_NAMED = 4  # rules that one line names
_SHOWN = 6  # events of a timeline; the files of the report have all of them
_LAST_EVENTS, _SUMMARY_ROWS = 2, 3
"""Events of the failure that is repeated at the end, and rows of each of its values."""
_SCREEN = 24
"""Rows of failures from which on the text ends with the first one."""
_WRITES = ("API", "WATCH")
_FREQUENT = ("WATCH", "CHECK", "THEN ", "END  ")
_LOG_LINES = 5  # of each program
_WARNINGS = 5  # about programs under test; report.json has all of them
_LABEL = 12  # columns of a label and its indent


_FILES = ("report.html", "report.yaml", "report.json", "junit.xml", "events.jsonl")


def render(
    report: Report, *, folder: Path | None = None, color: bool = False, durations: int = 0, width: int | None = None
) -> str:
    """Return the text.

    `folder` is the report folder, printed at the end. `durations` is the number of slowest scenarios, rules and steps
    to list.
    `width` is the width of a terminal in columns, in which failures are wrapped; None keeps each value on its line.
    """
    shown = _printable(report)
    return "\n".join([*_lines(shown, folder, color, width), *_slowest(shown, durations)]) + "\n"


def _printable(report: Report) -> Report:
    """Return the report without control characters, which targets can put into each text that they have a part in."""
    plain = msgspec.to_builtins(report)
    return msgspec.convert(_printable_value(plain), Report) if _is_hostile(plain) else report


def _is_hostile(value: Any) -> bool:
    if isinstance(value, str):
        return not value.isprintable()
    if isinstance(value, dict):
        return any(_is_hostile(item) for pair in value.items() for item in pair)
    return isinstance(value, (list, tuple)) and any(map(_is_hostile, value))


def _printable_value(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable(key): _printable_value(item) for key, item in value.items()}
    return [_printable_value(item) for item in value] if isinstance(value, (list, tuple)) else value


def _paint(text: str, code: str, on: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if on else text


def _lines(report: Report, folder: Path | None, color: bool, width: int | None) -> Iterator[str]:
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
    alike: dict[str, list[str]] = {}
    first = first_failure(report)
    rows = 0  # those of failures

    # What to look at first, then what makes the target not conformant.
    def rank(one: RuleResult) -> tuple[bool, bool, bool]:
        return first is None or one.id != first.rule, one.status is not Status.FAILED, one.level != "MUST"

    for rule in sorted(report.rules, key=rank):
        not_passed = [name for name in rule.scenarios if by_id[name].status in _BAD]
        bad = [name for name in not_passed if _is_about(rule, by_id[name])]
        if rule.status not in _BAD or (bad and set(bad) <= shown and rule.status is Status.ERROR):
            continue
        # A crash is also why a rule was not judged by a scenario that failed on another one.
        causes = {cause_of(by_id[name]) for name in bad} or {by_id[name].crash for name in not_passed}
        cause = causes.pop() if len(causes) == 1 else ""
        if cause in alike:
            alike[cause].append(rule.id)
            continue
        if cause:
            alike[cause] = [rule.id]
        new = [name for name in bad if name not in shown]
        new.sort(key=lambda name: first is None or name != first.scenario)
        shown.update(new)
        found = [*_rule(rule, color, width, explained={by_id[name].reason for name in new})]
        found += [line for name in new for line in _scenario(by_id[name], width)]
        rows += len(found) + 1
        yield from found
        yield ""
    for named, *others in alike.values():
        yield from _alike(named, others, color)
    for waiver in report.waivers:
        if waiver.state != "active":
            yield f"{waiver.state} waiver of {waiver.rule} by {waiver.owner} (expires {waiver.expires})"
    for name in report.leftovers:
        yield f"not deleted: {name}"
    for warning in report.program_warnings[:_WARNINGS]:
        yield f"warning    {warning}"
    if (more := len(report.program_warnings) - _WARNINGS) > 0:
        yield f"warning    {more} more in report.json"
    yield _counts("scenarios", report.statistics) + f"   {report.duration:.1f} s"
    yield _counts("rules", report.rule_statistics)
    yield from _profiles(report, color)
    verdict = _paint(report.verdict.value.upper(), _COLORS[report.verdict], color)
    notes = [*(["interrupted"] if report.interrupted else []), *report.caveats]
    note = f"  ({'; '.join(notes)})" if notes else ""
    yield f"verdict    {verdict}  for {', '.join(report.profiles)}{note}"
    for component, how in report.target.not_isolated.items():
        # The limit is a reason for PARTIAL; a worse verdict has others.
        limit = "; the verdict is at most partial" if report.verdict is Verdict.PARTIAL else ""
        yield f"isolation  {component} {how}{limit}"
    if folder is not None:
        written = [name for name in _FILES if (folder / name).is_file()]
        yield f"report     {folder}/" + (f"  ({' '.join(written)})" if written else "")
    # The failures do not fit on a screen with the summary.
    if width is not None and first is not None and rows > _SCREEN:
        leading = next(rule for rule in report.rules if rule.id == first.rule)
        same = next((len(rules) - 1 for rules in alike.values() if first.rule in rules), 0)
        yield from _look_first_at(leading, by_id[first.scenario], _others(same, first.alike), width)
    if report.exit_code:
        yield f"exit       {report.exit_code} ({ExitCode(report.exit_code).name.lower().replace('_', ' ')})"
    if report.exit_code == ExitCode.NOTHING_SELECTED:
        yield "hint       --dry-run says why each scenario is left out; `dra-conformance list scenarios` has them all"


def _profiles(report: Report, color: bool) -> Iterator[str]:
    """Yield one line for each profile, and the reasons why rules that bind the target were not judged."""
    shown = [profile for profile in report.profile_results if not profile.deselected]
    width = max((len(profile.name) for profile in shown), default=0)
    for number, profile in enumerate(shown):
        status = _paint(f"{profile.status.value:<14}", _PROFILE_COLORS[profile.status], color)
        counts = profile.all_rules
        bound = f"{counts.judged} of {counts.binding} rules judged" if counts.binding else "no rule binds the target"
        yield f"{'profiles' if number == 0 else '':<10} {profile.name:<{width}}  {status}  {bound}"
        for group in _merged(profile.not_judged):
            names = ", ".join(group.rules[:_NAMED])
            more = f" and {len(group.rules) - _NAMED} more" if len(group.rules) > _NAMED else ""
            yield f"{'':<10}   {len(group.rules)} {group.status}: {group.reason} ({names}{more})"


def _merged(groups: Sequence[NotJudged]) -> Iterator[NotJudged]:
    """Yield the groups; those of one status whose rules are among the failures above are one, without the reasons."""
    above: dict[Status, list[NotJudged]] = {}
    for group in groups:
        above.setdefault(group.status, []).append(group)
    for status, found in above.items():
        if status not in _BAD or len(found) == 1:
            yield from found
            continue
        rules = tuple(sorted(rule for group in found for rule in group.rules))
        yield NotJudged(status=status, reason=f"for {len(found)} reasons, see above", rules=rules)


def _is_about(rule: RuleResult, scenario: ScenarioResult) -> bool:
    """Whether a scenario explains this rule: one that failed on another rule explains that one."""
    broken = broken_check(scenario)
    return broken is None or not broken.rules or rule.id in broken.rules


def _rule(rule: RuleResult, color: bool, width: int | None, *, explained: Collection[str]) -> Iterator[str]:
    mark = "✗" if rule.level == "MUST" else "!"
    yield _paint(f"{mark} {rule.id} {rule.level} {rule.status}", "31" if mark == "✗" else "33", color)
    yield from textwrap.wrap(rule.text, width=min(96, width or 96), initial_indent="  ", subsequent_indent="  ")
    yield from _row("source", rule.source, width)
    # A failed rule has the values of its check below.
    if rule.reason not in explained and not (explained and rule.status is Status.FAILED):
        yield from _row("reason", rule.reason, width)


def _alike(first: str, others: list[str], color: bool) -> Iterator[str]:
    """Yield the rules whose scenarios failed for the reason that is shown for `first`, if there are any."""
    if others:
        head = f"✗ {len(others)} more rule{'s' * (len(others) > 1)} for the same reason as {first}"
        yield _paint(head, "31", color)
        yield from textwrap.wrap(", ".join(others), width=76, initial_indent="  ", subsequent_indent="  ")
        yield ""


def _others(same: int, alike: int) -> str:
    """Return how many other rules failed for the same reason as the first failure, or else in a similar way."""
    if not same and not alike:
        return ""
    more, how = (same, "for the same reason") if same else (alike, "in a similar way")
    return f"; {more} more rule{'s' * (more > 1)} failed {how}"


def _look_first_at(rule: RuleResult, scenario: ScenarioResult, others: str, width: int) -> Iterator[str]:
    """Yield the failure to look at first, in a few lines."""
    yield ""
    yield from textwrap.wrap(f"look first at {rule.id} {rule.level} {rule.status}{others}", width)
    yield from itertools.islice(_row("rule", rule.text, width), _SUMMARY_ROWS)
    yield from _row("scenario", f"{scenario.where}  {scenario.name}", width)
    broken = broken_check(scenario)
    values = {"reason": scenario.reason}
    if broken is not None:
        values = {"check": broken.message, "expected": broken.expected, "observed": broken.observed}
    for label, text in values.items():
        yield from itertools.islice(_row(label, text, width), _SUMMARY_ROWS)
    # Calls of a driver say more than what the harness's components wrote after them.
    calls = [line for line in scenario.timeline if "  CALL  " in line]
    calls = calls or [
        line for line in filter(_is_shown, scenario.timeline) if any(f"  {kind}  " in line for kind in _WRITES)
    ]
    for number, line in enumerate(calls[-_LAST_EVENTS:]):
        yield from itertools.islice(_row("timeline" if number == 0 else "", line, width), _SUMMARY_ROWS)
    for output in scenario.outputs:
        yield from _row("log", f"{output.file} ({output.program})", width)
    yield ""


def _row(label: str, text: str, width: int | None) -> Iterator[str]:
    """Yield a labelled value, wrapped if there is a width."""
    lines = [text]
    if width is not None:
        # Words are kept: paths and ids must remain copyable, and JSON has few spaces.
        lines = textwrap.wrap(text, max(width - _LABEL, 20), break_on_hyphens=False) or [""]
    for number, line in enumerate(lines):
        yield f"  {label if number == 0 else '':<9} {line}"


def _scenario(scenario: ScenarioResult, width: int | None) -> Iterator[str]:
    yield from _row("scenario", f"{scenario.where}  {scenario.name}", width)
    if scenario.failed_step:
        yield from _row("step", scenario.failed_step, width)
    broken = broken_check(scenario)
    if broken is not None:
        yield from _row("check", broken.message, width)
        yield from _row("expected", broken.expected, width)
        yield from _row("observed", broken.observed, width)
    if reason := further_reason(scenario):
        yield from _row("reason", reason, width)
    for output in scenario.outputs:
        yield from _row("log", f"{output.file} ({output.program}){'' if output.lines else ', empty'}", width)
        for line in output.lines[-_LOG_LINES:]:
            yield from _row("", f"| {line}", width)
    for number, line in enumerate(_tail(scenario)):
        yield from _row("timeline" if number == 0 else "", line, width)
    if scenario.objects:
        yield from _row("objects", scenario.objects, None)
    # In one line, so that it can be copied.
    yield from _row("repeat", scenario.repeat, None)


def _tail(scenario: ScenarioResult) -> list[str]:
    """Return the last lines of a timeline, without events that are frequent: they would push out the others."""
    return [line for line in scenario.timeline if _is_shown(line)][-_SHOWN:]


def _is_shown(line: str) -> bool:
    """Whether the terminal shows a line of a timeline. Changes of slices are few, and made by the driver."""
    return not any(f"  {kind}  " in line for kind in _FREQUENT) or ("  WATCH  " in line and " resourceslices " in line)


def _slowest(report: Report, number: int) -> Iterator[str]:
    """Yield the slowest scenarios, rules and steps with their seconds. Equally slow ones keep the report's order."""
    for what, results in (("scenarios", report.scenarios), ("rules", report.rules)):
        rows: list[ScenarioResult | RuleResult] = sorted(results, key=lambda row: -row.duration)
        slowest = [row for row in rows[:number] if row.duration]
        if slowest:
            yield f"slowest {what}"
            yield f"{'seconds':>10} {'CPU':>8}"
        for row in slowest:
            yield f"{row.duration:>10.2f} {row.cpu:>8.2f}  {row.id}"
    if number and report.slow_steps:
        yield "slowest steps"
        yield f"{'seconds':>10} {'times':>8}"
        for step in report.slow_steps[:number]:
            yield f"{step.seconds:>10.2f} {step.times:>8}  {step.text}"
    spent = sum(row.duration for row in report.scenarios)
    if number and spent:
        waited = max(spent - report.cpu, 0.0)
        yield f"scenarios took {spent:.1f} s: {spent - waited:.1f} s of CPU time, {waited:.1f} s of waiting"
        if waited > spent / 2:
            yield "most of it is waiting: more workers than cores (-n) run scenarios side by side"


def _counts(what: str, statistics: dict[str, int]) -> str:
    parts = [f"{statistics[s.value]} {s.value}" for s in Status if statistics[s.value] or s is Status.PASSED]
    return f"{what:<10} {', '.join(parts)}"
