"""A reference component that raises an error at its start fails the scenarios that judge it, and no others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

BINDER_FAILS = """
from reference_impl.binder.reconcile import Binder


def fail(self):
    raise TypeError("not a client")


Binder.start = fail
"""


def report_of(tmp_path: Path, rule: str) -> dict[str, Any]:
    """Run the scenarios of a rule with a binder that does not start; return the report."""
    (tmp_path / "sitecustomize.py").write_text(BINDER_FAILS)
    command = [sys.executable, "-m", "dra_conformance", "run", "--rule", rule, "--out", str(tmp_path / "report")]
    subprocess.run(
        [*command, "--progress", "none", "--patience", "1"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path[1:]])},
        capture_output=True,
        timeout=300,
        check=False,
    )
    report: dict[str, Any] = orjson.loads((tmp_path / "report" / "report.json").read_bytes())
    return report


@pytest.mark.parametrize(
    ("rule", "status"),
    [
        ("KAI-184", "failed"),
        ("DRA-155b", "error"),  # a rule of the scheduler
    ],
)
def test_only_a_scenario_of_the_component_fails(tmp_path: Path, rule: str, status: str) -> None:
    report = report_of(tmp_path, rule)
    assert {row["status"] for row in report["scenarios"] if row["status"] != "filtered"} == {status}
    reasons = {row["reason"] for row in report["scenarios"] if row["status"] == status}
    assert all("the binder" in reason and "TypeError: not a client" in reason for reason in reasons)
    if status == "failed":
        command = [sys.executable, "-m", "dra_conformance", "verify", str(tmp_path / "report")]
        verified = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert "checks before any call" not in verified.stdout
