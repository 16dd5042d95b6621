"""The report as JUnit XML: one suite for each chapter, one case for each scenario."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from xml.etree import ElementTree as ET

from dra_conformance.core.status import Status
from dra_conformance.report.model import Report, ScenarioResult

_SKIPPED = (Status.NOT_APPLICABLE, Status.NOT_SUPPORTED, Status.FILTERED, Status.WAIVED)


# All characters outside of the Char production of XML 1.0, section 2.2.
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _clean(text: str) -> str:
    """Replace characters that XML 1.0 does not allow."""
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def render(report: Report) -> str:
    """Return the report as one `testsuites` document."""
    chapters: dict[str, list[ScenarioResult]] = defaultdict(list)
    for scenario in report.scenarios:
        chapters[scenario.chapter].append(scenario)
    root = ET.Element("testsuites", name="dra-conformance", tests=str(len(report.scenarios)))
    properties = ET.SubElement(root, "properties")
    ET.SubElement(properties, "property", name="verdict", value=report.verdict.value)
    for caveat in report.caveats:
        ET.SubElement(properties, "property", name="caveat", value=_clean(caveat))
    for profile in report.profile_results:
        counts = profile.all_rules
        judged = f"{profile.status}, {counts.judged} of {counts.binding} rules judged"
        ET.SubElement(properties, "property", name=f"profile {profile.name}", value=judged)
        for group in profile.not_judged:
            reason = f"{len(group.rules)} {group.status}: {group.reason} ({', '.join(group.rules)})"
            ET.SubElement(properties, "property", name=f"not judged in {profile.name}", value=_clean(reason))
    for chapter, scenarios in chapters.items():
        failures = sum(s.status in (Status.FAILED, Status.UNTESTABLE, Status.FLAKY) for s in scenarios)
        suite = ET.SubElement(
            root,
            "testsuite",
            name=chapter,
            tests=str(len(scenarios)),
            failures=str(failures),
            errors=str(sum(s.status is Status.ERROR for s in scenarios)),
            skipped=str(sum(s.status in _SKIPPED for s in scenarios)),
            time=f"{sum(s.duration for s in scenarios):.3f}",
            timestamp=report.started_at.removesuffix("Z"),
        )
        for scenario in scenarios:
            _case(suite, scenario)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _case(suite: ET.Element, scenario: ScenarioResult) -> None:
    case = ET.SubElement(
        suite,
        "testcase",
        classname=scenario.id.split("#")[0],
        name=_clean(scenario.name),
        time=f"{scenario.duration:.3f}",
    )
    properties = ET.SubElement(case, "properties")
    for rule in scenario.rules:
        ET.SubElement(properties, "property", name="rule", value=rule)
    ET.SubElement(properties, "property", name="where", value=scenario.where)
    ET.SubElement(properties, "property", name="status", value=scenario.status.value)
    if scenario.status is Status.PASSED:
        return
    reason = _clean(scenario.reason)
    if scenario.status in _SKIPPED:
        ET.SubElement(case, "skipped", message=f"{scenario.status}: {reason}")
        return
    kind = "error" if scenario.status is Status.ERROR else "failure"
    outcome = ET.SubElement(case, kind, message=reason, type=scenario.status.value)
    outcome.text = _clean("\n".join(story(scenario)))


def story(scenario: ScenarioResult) -> Iterator[str]:
    """Yield the lines that lead to the cause of a failure; its message has expected and observed."""
    yield f"step: {scenario.failed_step}"
    for output in scenario.outputs:
        yield f"log: {output.file} ({output.program}){'' if output.lines else ', empty'}"
        yield from (f"  | {line}" for line in output.lines)
    if scenario.objects:
        yield f"objects: {scenario.objects}"
    yield from scenario.timeline
    yield f"repeat: {scenario.repeat}"
