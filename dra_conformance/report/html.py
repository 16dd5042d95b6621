"""The report as one self-contained HTML page, without scripts and without access to the network."""

from __future__ import annotations

from collections import defaultdict

from dra_conformance.core.status import WORST_FIRST, Status
from dra_conformance.report.model import Report, ScenarioResult
from dra_conformance.report.page_templates import template
from dra_conformance.report.profiles import JUDGED

_SHOWN = JUDGED | {Status.ERROR, Status.UNTESTABLE}
"""The statuses of the main table of rules; the others are folded."""


def _failures(report: Report) -> list[ScenarioResult]:
    """Return the scenarios to explain. One that is untestable is none if other scenarios judge all of its rules."""
    unjudged = {rule.id for rule in report.rules if rule.status is Status.UNTESTABLE}
    return [
        one
        for one in report.scenarios
        if one.status in (Status.FAILED, Status.ERROR, Status.FLAKY)
        or (one.status is Status.UNTESTABLE and not unjudged.isdisjoint(one.rules))
    ]


def render(report: Report) -> str:
    """Return the page."""
    judged = [rule for rule in report.rules if rule.status in _SHOWN]
    chapters: dict[str, list[ScenarioResult]] = defaultdict(list)
    for scenario in report.scenarios:
        chapters[scenario.chapter].append(scenario)
    return template("report.html").render(
        report=report,
        broken=_failures(report),
        chapters=chapters,
        statuses=[status.value for status in Status],
        judged=sorted(judged, key=lambda rule: WORST_FIRST.index(rule.status)),
        unjudged=[rule for rule in report.rules if rule.status not in _SHOWN],
    )
