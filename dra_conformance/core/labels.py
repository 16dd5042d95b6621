"""Labels that a run adds to what it creates on an existing cluster."""

from __future__ import annotations

from typing import Final

RUN_LABEL: Final = "dra-conformance/run"
"""Label of every object that a run creates on a cluster; its value is the run's id."""

SCENARIO_LABEL: Final = "dra-conformance/scenario"
"""Label of every node that a scenario creates; its value is the suffix of the scenario's names."""
