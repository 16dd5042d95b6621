"""Run every scenario of a driver with the changed driver; see the package."""

from __future__ import annotations

import argparse
import importlib
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import orjson

from dra_conformance.components.node import ScenarioNode
from dra_conformance.core import assets, features
from dra_conformance.core.features import Scenario
from dra_conformance.core.optional_features import choices
from dra_conformance.core.options import RunOptions
from dra_conformance.core.process_pool import each
from dra_conformance.pytest_plugin.launch import execute
from dra_conformance.pytest_plugin.mutation_matrix import LOADED_BEFORE_FORKING
from dra_conformance.steps.catalogue import modules as step_modules
from tests.other_driver import driver

JOBS = 2
# The reference has these features, the changed driver has not.
LACKING = ("helper-library", "nvidia-checkpoint", "plain-device-files")
LIMIT = 900.0
GREEN = ("passed", "not-applicable", "not-supported", "filtered")


def judged(scenario: Scenario) -> bool:
    """Return whether a scenario judges a driver or the ComputeDomain plugin of a node, on request or not."""
    tags = scenario.tags
    return "driver" in tags.components or "compute-domain-plugin" in tags.components


def run(work: tuple[list[str], RunOptions]) -> list[dict[str, Any]]:
    """Run scenarios in this process and return their rows of the report."""
    names, options = work
    with tempfile.TemporaryDirectory(prefix="dra-other-") as folder:
        focus = features.focus_on(names)
        execute(msgspec.structs.replace(options, focus=focus, out=folder, progress="none", report=("json",)))
        report = orjson.loads((Path(folder) / "report.json").read_bytes())
    rows: list[dict[str, Any]] = report["scenarios"]
    return [row for row in rows if row["status"] != "filtered"]


def results(focus: str = "", *, jobs: int = JOBS) -> list[dict[str, Any]]:
    """Run the scenarios of drivers, those that match a pattern, and return the rows of the report."""
    step_modules()
    for name in LOADED_BEFORE_FORKING:
        importlib.import_module(name)
    driver.change()
    original = ScenarioNode._driver_command
    ScenarioNode._driver_command = lambda self: driver.as_command(original(self))  # type: ignore[method-assign]
    names = sorted(s.id for s in features.read_all([assets.features()]) if judged(s) and re.search(focus, s.id))
    # In turns, so that the scenarios of one feature are spread over all jobs.
    options = RunOptions(
        supported_features=tuple(name for name in choices() if name not in LACKING),
        feature_gates=("DRAListTypeAttributes=true", "GenericWorkload=true", "DRAWorkloadResourceClaims=true"),
    )
    shares = [(names[start::jobs], options) for start in range(jobs) if names[start::jobs]]
    rows: list[dict[str, Any]] = []
    for (share, _options), answer in each(shares, run, jobs=jobs, limit=LIMIT):
        if isinstance(answer, str):
            answer = [{"id": name, "status": "error", "reason": answer} for name in share]
        rows += answer
    return rows


def main() -> int:
    """Run the scenarios and print those that are not green."""
    parser = argparse.ArgumentParser(prog="python -m tests.other_driver", description=__doc__)
    parser.add_argument("--focus", default="", help="run only scenarios whose id matches this regular expression")
    parser.add_argument("--jobs", type=int, default=JOBS, help="processes (default: %(default)s)")
    args = parser.parse_args()
    rows = results(args.focus, jobs=args.jobs)
    wrong = [row for row in rows if row["status"] not in GREEN]
    for row in wrong:
        print(f"{row['status']:<12} {row['id']}\n    {row['reason']}")
    passed = sum(row["status"] == "passed" for row in rows)
    print(f"{passed} scenarios passed, {len(wrong)} of {len(rows)} not green")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
