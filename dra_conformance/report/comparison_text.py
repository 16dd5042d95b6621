"""The comparison of two reports as text for a terminal."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator

from dra_conformance.core.plain_text import one_line
from dra_conformance.core.status import ProfileStatus, Verdict
from dra_conformance.report.comparison import (
    Change,
    Comparison,
    ProfileChange,
    RuleChange,
    Side,
    each_reason_once,
)
from dra_conformance.report.model import RuleCounts

HEADINGS = {
    Change.NEW_FAILURE: "new failures",
    Change.FIXED: "fixed",
    Change.NEWLY_JUDGED: "newly judged",
    Change.NO_LONGER_JUDGED: "no longer judged",
    Change.ADDED: "rules added",
    Change.REMOVED: "rules removed",
    Change.OTHER: "other changes",
}
_SINGLE = (Change.NEW_FAILURE, Change.FIXED)
"""The changes whose rules are shown one by one; the others are grouped by status and reason."""
_SHOWN = 100  # rules of one change
_NAMED = 12  # rules that one group names
_GROUPS = 20  # groups of one change


def render(comparison: Comparison, *, width: int) -> str:
    """Return the text in lines of `width` characters at most."""
    return "\n".join(line.rstrip() for line in _lines(comparison, width)) + "\n"


def arrow(old: str | None, new: str | None) -> str:
    """Return `old -> new`, or one of them if they are equal. None is what the report does not have."""
    return one_line(old or "none") if old == new else f"{one_line(old or 'none')} -> {one_line(new or 'none')}"


def headline(comparison: Comparison) -> str:
    """Return what the two runs do not have in common, in one sentence; empty if there is nothing."""
    groups = list(dict.fromkeys(difference.group for difference in comparison.differences))
    if not groups:
        return ""
    return f"The runs differ in {', '.join(groups[:-1])}{' and ' * (len(groups) > 1)}{groups[-1]}"


def _rules_judged(counts: RuleCounts | None) -> str:
    """Return how many rules of a profile were judged."""
    return f"{counts.judged} of {counts.binding} rules judged" if counts else "not in the report"


def _profile_note(profile: ProfileChange) -> str:
    """Return how many rules of a profile were judged in both reports, and whether its verdict got worse."""
    old, new = profile.old_rules, profile.new_rules
    if old and new and old.binding == new.binding and old.judged != new.judged:
        judged = f"{old.judged} -> {new.judged} of {new.binding} rules judged"
    else:
        judged = arrow(_rules_judged(old), _rules_judged(new))
    return f"worse; {judged}" if profile.worse else judged


def _lines(comparison: Comparison, width: int) -> Iterator[str]:
    yield from _wrap(_side(comparison.old), width, "old        ")
    yield from _wrap(_side(comparison.new), width, "new        ")
    if sentence := headline(comparison):
        yield ""
        yield from _wrap(f"{sentence}:", width)
    for difference in comparison.differences:
        yield from _wrap(f"{difference.name}: {arrow(difference.old, difference.new)}", width, "  ")
    for change, heading in HEADINGS.items():
        rules = comparison.of(change)
        if rules:
            yield ""
            yield f"{heading} ({len(rules)})"
            yield from _single(rules, width) if change in _SINGLE else _grouped(rules, width)
    if comparison.still_failing:
        yield ""
        yield f"still failing ({len(comparison.still_failing)})"
        yield from _wrap(_names(comparison.still_failing), width, "  ")
    yield ""
    for number, profile in enumerate(comparison.profiles):
        lead = f"{'profiles' if number == 0 else '':<11}"
        status = arrow(_status(profile.old), _status(profile.new))
        yield from _wrap(f"{one_line(profile.name)}  {status}  ({_profile_note(profile)})", width, lead)
    yield from _wrap(_verdict(comparison), width, "verdict    ")
    if comparison.of(Change.NEW_FAILURE):
        yield from _wrap("`dra-conformance summary NEW` prints expected and observed values", width, "failures   ")


def _side(side: Side) -> str:
    return one_line(
        f"{side.started_at}  run {side.run_id}  suite {side.suite}  Kubernetes {side.kubernetes_version}  "
        f"{side.verdict} ({side.evidence_class})"
    )


def _verdict(comparison: Comparison) -> str:
    verdict = arrow(_upper(comparison.old.verdict), _upper(comparison.new.verdict))
    return f"{verdict}  ({'regression' if comparison.regression else 'no regression'})"


def _upper(verdict: Verdict) -> str:
    return verdict.value.upper()


def _status(status: ProfileStatus | None) -> str | None:
    return status.value if status else None


def _single(rules: list[RuleChange], width: int) -> Iterator[str]:
    for rule in each_reason_once(rules[:_SHOWN]):
        mark = "✓" if rule.change is Change.FIXED else "✗" if rule.level == "MUST" else "!"
        status = arrow(rule.old, rule.new)
        yield from _wrap(f"{one_line(rule.id)} {one_line(rule.level)}  {status}", width, f"  {mark} ")
        yield from _wrap(one_line(rule.text), width, "      ")
        if rule.reason:
            yield from _wrap(f"reason: {one_line(rule.reason)}", width, "      ")
    yield from _more(len(rules[_SHOWN:]), width)


def _grouped(rules: Iterable[RuleChange], width: int) -> Iterator[str]:
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for rule in rules:
        groups[(arrow(rule.old, rule.new), rule.reason)].append(rule.id)
    largest = sorted(groups.items(), key=lambda group: -len(group[1]))
    for (status, reason), names in largest[:_GROUPS]:
        why = f": {one_line(reason)}" if reason else ""
        yield from _wrap(f"{len(names)} {status}{why} ({_names(names)})", width, "  ")
    yield from _more(sum(len(names) for _, names in largest[_GROUPS:]), width)


def _more(number: int, width: int) -> list[str]:
    return _wrap(f"{number} more (--format json lists all)", width, "  ") if number else []


def _names(names: Iterable[str]) -> str:
    known = list(names)
    more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
    return ", ".join(one_line(name, limit=40) for name in known[:_NAMED]) + more


def _wrap(text: str, width: int, lead: str = "") -> list[str]:
    """Return the text in lines; the first one begins with `lead`, the others are indented as far."""
    return textwrap.wrap(
        text, max(width, 40), initial_indent=lead, subsequent_indent=" " * len(lead), break_on_hyphens=False
    )
