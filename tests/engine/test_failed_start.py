"""A reference component that raises an error at its start fails the scenarios that judge it, and no others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from faulty_runs import report_of_faulty_run

BINDER_FAILS = """
from reference_impl.binder.reconcile import Binder


def fail(self):
    raise TypeError("not a client")


Binder.start = fail
"""


@pytest.mark.parametrize(
    ("rule", "status"),
    [
        ("KAI-184", "failed"),
        ("DRA-155b", "error"),  # a rule of the scheduler
    ],
)
def test_only_a_scenario_of_the_component_fails(tmp_path: Path, rule: str, status: str) -> None:
    report = report_of_faulty_run(tmp_path, BINDER_FAILS, "--rule", rule, "--patience", "1")
    assert {row["status"] for row in report["scenarios"] if row["status"] != "filtered"} == {status}
    reasons = {row["reason"] for row in report["scenarios"] if row["status"] == status}
    assert all("the binder" in reason and "TypeError: not a client" in reason for reason in reasons)
    if status == "failed":
        command = [sys.executable, "-m", "dra_conformance", "verify", str(tmp_path / "report")]
        verified = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert "checks before any call" not in verified.stdout
