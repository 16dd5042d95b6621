"""The name of the logger for what programs under test do to a run: processes that they leave, output that is cut.

Reports show its warnings. They do not import the modules that log them, which start programs.
"""

from __future__ import annotations

from typing import Final

LOGGER: Final = "dra_conformance.programs"
