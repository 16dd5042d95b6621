"""Reports: pure functions of the event log.

`build` computes a `Report` from events: `scenarios`, `rules` and `verdict` are its steps. `files` writes it as YAML,
JSON, JUnit and HTML; `terminal` prints it; `verify` computes it again from the log and compares.
"""

from dra_conformance.report.build import build
from dra_conformance.report.model import Report

__all__ = ["Report", "build"]
