"""Chooses the failure to look at first: in the smallest scenario with the most frequent kind of failure.

One bug fails many rules. Most of them say little about it: that a pod does not run, or that a device cannot be prepared
again. The rule that the bug breaks itself fails in each of its scenarios, after few calls and checks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dra_conformance.core.status import Status
from dra_conformance.report.model import Report, ScenarioResult
from dra_conformance.report.scenarios import broken_check

_OF_A_RUN = re.compile(r"/\S*/|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d+|(?<=claim )[\w-]+|\"[^\"]*\"")
"""What differs between two failures with the same cause: folders, UIDs, numbers, names of claims, quoted names."""
_CALL, _DRIVER = "  CALL  ", "  DRIVER"
"""Calls of a driver; its starts and ends."""


@dataclass(frozen=True, slots=True)
class First:
    """The failure to look at first: its scenario, its rule, and how many other rules fail in a similar way."""

    scenario: str
    rule: str
    alike: int


def first_failure(report: Report) -> First | None:
    """Return the failure to look at first, None if no check failed."""
    levels = {rule.id: rule.level for rule in report.rules}
    failures = list(_failures(report, levels))
    times = Counter((one.kind, one.rule) for one in failures)
    rules = Counter(kind for kind, _ in times)
    musts = Counter(kind for kind, rule in times if levels[rule] == "MUST")

    def rank(one: _Failure) -> tuple[int, ...]:
        timeline = one.scenario.timeline
        weak = levels[one.rule] != "MUST"
        silent = not any(_CALL in line for line in timeline)
        acts = sum(_CALL in line or _DRIVER in line for line in timeline)
        often = times[one.kind, one.rule]
        # Nothing here may depend on the speed of the machine, as the length of the timeline does.
        return -musts[one.kind], -rules[one.kind], weak, silent, acts, -often, len(one.scenario.checks)

    if not failures:
        return None
    first = min(failures, key=rank)
    return First(first.scenario.id, first.rule, rules[first.kind] - 1)


@dataclass(frozen=True, slots=True)
class _Failure:
    """A failed scenario, the rule of its check, and what it has in common with other failures of its kind."""

    scenario: ScenarioResult
    rule: str
    kind: str


def _failures(report: Report, levels: Mapping[str, str]) -> Iterator[_Failure]:
    for scenario in report.scenarios:
        broken = broken_check(scenario)
        if scenario.status is not Status.FAILED or broken is None:
            continue
        rules = [rule for rule in broken.rules if rule in levels]
        if rules:
            # A crash is the same one whatever the check observes of it; values in JSON differ by scenario.
            seen = broken.message if broken.observed.startswith(("[", "{")) else broken.observed
            kind = scenario.crash or _OF_A_RUN.sub("*", seen)
            yield _Failure(scenario, min(rules, key=lambda rule: levels[rule] != "MUST"), kind)
