"""Tests of `--compute-domain-controller exec:`: the program is judged as the controller, and for nothing else.

The program is the reference's controller in its own process, so it passes the rules of the controller.
"""

from __future__ import annotations

import shlex
import sys

from command_line import CommandLine

from dra_conformance.core import features
from dra_conformance.core.errors import ExitCode

OWN = f"exec:{shlex.join([sys.executable, '-m', 'reference_impl', 'compute-domain'])} --kubeconfig {{kubeconfig}}"


def test_a_users_controller_is_not_judged_by_the_references_kubelet_plugin(cli: CommandLine) -> None:
    """NV-145 to NV-147 and NV-153 bind the controller, NV-046 and NV-158 the kubelet plugin."""
    rules = {"NV-145": "passed", "NV-146": "passed", "NV-147": "passed", "NV-153": "passed"}
    rules |= {"NV-046": "untestable", "NV-158": "untestable"}
    ended = cli.suite("--compute-domain-controller", OWN, *(word for rule in rules for word in ("--rule", rule)))
    assert ended.code == ExitCode.FAILURES, ended.err
    assert {row["id"]: row["status"] for row in ended.report["rules"] if row["id"] in rules} == rules
    reasons = {row["reason"] for row in ended.report["scenarios"] if row["status"] == "untestable"}
    assert len(reasons) == 1
    assert "would test the reference's" in reasons.pop()


def test_scenarios_that_start_the_kubelet_plugin_have_its_tag() -> None:
    """Without the tag such a scenario would be untestable with a user's controller, instead of not applicable."""
    starts = [s for s in features.read_all() if any("ComputeDomain driver on" in step.text for step in s.steps)]
    assert len(starts) > 15
    assert [s.id for s in starts if "compute-domain-plugin" not in s.tags.needs] == []
