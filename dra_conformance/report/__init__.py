"""Reports: pure functions of the event log.

`build` computes a `Report` from events: `scenarios`, `rules` and `verdict` are its steps. `files` writes it as YAML,
JSON, JUnit and HTML; `terminal` prints it; `verify` computes it again from the log and compares.

`stored` reads the report file of a finished run, which may be damaged or hostile; `comparison`, `history`, `markdown`
and `badge` work on what it returns.
"""

from dra_conformance.report.build import build
from dra_conformance.report.model import Report

__all__ = ["Report", "build"]
