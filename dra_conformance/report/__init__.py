"""Reports: pure functions of the event log.

`build` computes a `Report` from events; the writers turn it into YAML, JSON, JUnit, HTML and terminal text; `verify`
computes it again from the log alone and compares.
"""

from dra_conformance.report.build import build
from dra_conformance.report.model import Report

__all__ = ["Report", "build"]
