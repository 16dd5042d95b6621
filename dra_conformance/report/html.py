"""The report as one self-contained HTML page, without scripts and without access to the network."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, select_autoescape

from dra_conformance.core.status import Status
from dra_conformance.report.model import Report, ScenarioResult

_TEMPLATES = Path(__file__).parent / "templates"


def render(report: Report) -> str:
    """Return the page."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=select_autoescape(["html"]),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    chapters: dict[str, list[ScenarioResult]] = defaultdict(list)
    for scenario in report.scenarios:
        chapters[scenario.chapter].append(scenario)
    return environment.get_template("report.html").render(
        report=report, chapters=chapters, statuses=[status.value for status in Status]
    )
