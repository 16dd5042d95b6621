"""A failure inside the emulator is an error of the harness, whatever the checks of the scenario came to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from faulty_runs import report_of_faulty_run

from dra_conformance.core.errors import ExitCode

FOCUS = "claims/api_nodes#a-node-deletes-an-existing-slice-of-its-own"
CONTROLLER_FAILS = """
from apiserver_emulator.controllers.namespaces import ServiceAccountController


def fail(self, namespace):
    raise RuntimeError("a task was lost")


ServiceAccountController.create_default = fail
"""
FAILS_AT_THE_END = """
from apiserver_emulator.emulator import ApiServerEmulator

original = ApiServerEmulator.stop


def stop(self):
    if self._running:
        self.server.failures.record("a thread", "ended after the last scenario")
    original(self)


ApiServerEmulator.stop = stop
"""


def run(folder: Path, fault: str, *options: str) -> tuple[int, dict[str, Any]]:
    """Run one scenario with a faulty emulator."""
    report = report_of_faulty_run(folder, fault, "--focus", FOCUS, *options)
    return report["exitCode"], report


@pytest.mark.parametrize("options", [[], ["-n", "2"]], ids=["one-process", "workers"])
def test_a_failing_controller_makes_scenarios_end_in_an_error(tmp_path: Path, options: list[str]) -> None:
    code, report = run(tmp_path, CONTROLLER_FAILS, *options)
    assert (code, report["verdict"]) == (ExitCode.HARNESS_ERROR, "invalid")
    (reason,) = (row["reason"] for row in report["scenarios"] if row["status"] == "error")
    assert reason.startswith("the control plane failed: controller task 'account' for namespaces ")
    assert reason.endswith("RuntimeError: a task was lost")
    assert 'raise RuntimeError(\\"a task was lost\\")' in (tmp_path / "report" / "events.jsonl").read_text()


def test_a_failure_after_the_last_scenario_is_a_problem_of_the_run(tmp_path: Path) -> None:
    code, report = run(tmp_path, FAILS_AT_THE_END)
    assert (code, report["verdict"]) == (ExitCode.HARNESS_ERROR, "invalid")
    assert [problem["message"] for problem in report["problems"]] == [
        "the control plane failed: a thread: ended after the last scenario"
    ]
