"""A program that a scenario started does not act in a scenario without its component."""

from __future__ import annotations

import sys

from tests.engine.command_line import CommandLine


def test_a_binder_does_not_carry_out_the_bind_requests_of_a_scenario_without_one(cli: CommandLine) -> None:
    """The scenario of the scheduler reads a BindRequest that nothing has processed."""
    ended = cli.suite(
        *("--binder", f"exec:{sys.executable} -m reference_impl binder --kubeconfig {{kubeconfig}}"),
        *("--focus", "^bind_requests/binder#a-bindrequest-that-succeeded-is-kept "),
        *("--focus", "^bind_requests/scheduler_writes#a-pod-gets-one-bindrequest "),
    )
    rows = [row["status"] for row in ended.report["scenarios"] if row["status"] != "filtered"]
    assert rows == ["passed", "passed"]
