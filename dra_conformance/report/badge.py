"""The verdict of a run as an SVG badge, without access to the network."""

from __future__ import annotations

from dra_conformance.core.plain_text import one_line
from dra_conformance.core.status import Verdict
from dra_conformance.report.model import Report
from dra_conformance.report.page_templates import template

# White text on each of them, and on the label, has a contrast of at least 4.5:1 (WCAG 2.2, level AA).
LABEL = "#24292f"
COLORS = {
    Verdict.CONFORMANT: "#18794e",
    Verdict.PARTIAL: "#8a5d00",
    Verdict.NOT_CONFORMANT: "#c4291c",
    Verdict.INVALID: "#57606a",
}
_LEFT = "DRA conformance"
_CHARACTER = 6.5  # pixels; `textLength` fits the text to it, whatever the font
_PADDING = 8


def render(report: Report) -> str:
    """Return the badge. It says so if the verdict is a rehearsal only; its title has profiles, time and versions."""
    right = report.verdict.value
    if report.evidence_class != "evidence":
        right += f" ({one_line(report.evidence_class, limit=20)})"
    title = (
        f"{_LEFT}: {right}. Run of {report.started_at} with dra-conformance {report.suite.version} on Kubernetes "
        f"{report.target.kubernetes_version}. Profiles: {', '.join(report.profiles)}"
    )
    widths = [round(len(text) * _CHARACTER) for text in (_LEFT, right)]
    return template("badge.svg").render(
        title=one_line(title),
        texts=(_LEFT, right),
        widths=widths,
        boxes=[width + 2 * _PADDING for width in widths],
        colors=(LABEL, COLORS[report.verdict]),
    )
