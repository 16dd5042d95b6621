"""Tests as JUnit XML, in the form that gotestsum gives them: one suite, one case for each test and subtest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from dra_conformance.report.bundle.tree import PACKAGE, GoTest, Outcome, verdict_line, walk
from dra_conformance.report.model import Report


def render(tests: Sequence[GoTest], report: Report) -> str:
    """Return the tests as one `testsuites` document, with the verdict and its limits as properties."""
    cases = list(walk(tests))
    counts = Counter(case.outcome for case in cases)
    numbers = {
        "tests": str(len(cases)),
        "failures": str(counts[Outcome.FAIL]),
        "errors": "0",
        "time": f"{report.duration:.3f}",
    }
    root = ET.Element("testsuites", numbers)
    suite = ET.SubElement(
        root,
        "testsuite",
        {**numbers, "name": PACKAGE, "skipped": str(counts[Outcome.SKIP]), "timestamp": report.started_at},
    )
    properties = ET.SubElement(suite, "properties")
    for name, value in {
        "verdict": verdict_line(report),
        "evidence": report.evidence_class,
        "suite": f"dra-conformance {report.suite.version}",
        "kubernetes": report.target.kubernetes_version,
        "eventsSha256": report.events_sha256,
    }.items():
        ET.SubElement(properties, "property", name=name, value=value)
    for test in cases:
        case = ET.SubElement(suite, "testcase", classname=PACKAGE, name=test.name, time=f"{test.seconds:.3f}")
        text, reason = "\n".join(test.lines), test.lines[-1] if test.lines else ""
        match test.outcome:
            case Outcome.FAIL:
                ET.SubElement(case, "failure", message=reason, type="").text = text
            case Outcome.SKIP:
                ET.SubElement(case, "skipped", message=reason).text = text
            case Outcome.PASS:
                ET.SubElement(case, "system-out").text = text
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"
