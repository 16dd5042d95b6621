"""The suffix of the cluster-wide names of a scenario."""

from __future__ import annotations

import re


def of_scenario(run_id: str, worker: str, number: int) -> str:
    """Return the suffix of the scenario of a number. `worker` is pytest-xdist's name (gw0, gw1, ...), or empty."""
    name = worker.removeprefix("gw")
    return f"{run_id[:4]}{f'w{name}' if name else ''}-{number}"


def of_run(run_id: str) -> re.Pattern[str]:
    """Return what all suffixes of a run, of any worker, begin with."""
    return re.compile(rf"{re.escape(run_id[:4])}(?:w\d+)?-\d")
