"""Tests of broken drivers: one clear message, an exit code and a report; no traceback, no leftover process."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "broken_drivers" / "broken_driver.py"
DRIVER = "broken.dra.test"


class Ended:
    """A run that is over: its exit code, everything it printed, its report and its folder."""

    def __init__(self, code: int, text: str, folder: Path) -> None:
        self.code, self.text, self.folder = code, text, folder
        self.report: dict[str, Any] = json.loads((folder / "report.json").read_bytes())

    def reason(self, scenario: str) -> str:
        """The reason that the report gives for a scenario."""
        found = [row["reason"] for row in self.report["scenarios"] if row["id"] == scenario]
        assert found, f"{scenario} is not in the report"
        return str(found[0])


def run(tmp_path: Path, driver: str, *more: str) -> Ended:
    """`dra-conformance run`, as a user types it."""
    out = tmp_path / "report"
    words = ["run", "--driver", driver, "--driver-name", DRIVER, "--out", str(out), "--progress", "plain", *more]
    ended = subprocess.run(
        [sys.executable, "-m", "dra_conformance", *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout + ended.stderr, out)


def broken(fault: str) -> str:
    """The `--driver` of a broken driver."""
    return f"exec:{shlex.quote(sys.executable)} {shlex.quote(str(PROGRAM))} {fault} {{kubeconfig}} {{node}} " + (
        "{plugins} {registrar}"
    )


def in_good_order(ended: Ended) -> None:
    """No traceback, a complete event log, nothing left running."""
    assert "Traceback" not in ended.text
    events = [json.loads(line) for line in (ended.folder / "events.jsonl").read_text().splitlines()]
    assert events[-1]["kind"] == "run-finished"
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert not [line for line in left.splitlines() if str(ended.folder.parent) in line and str(PROGRAM) in line]


ONE = "driver/prepare#the-response-for-a-claim-has-its-own-devices"


def test_a_driver_that_exits_at_once(tmp_path: Path) -> None:
    ended = run(tmp_path, broken("exits"), "--profile", "driver-core")
    assert ended.code == 10
    assert "the driver ended with exit code 3 before it registered" in ended.text
    assert "cannot open /dev/broken" in ended.text
    in_good_order(ended)


def test_a_driver_that_never_registers(tmp_path: Path) -> None:
    ended = run(tmp_path, broken("silent"), "--profile", "driver-core")
    assert ended.code == 10
    assert f"20 s after its start DRA driver {DRIVER} is not registered" in ended.text
    assert "waiting for hardware" in ended.text
    in_good_order(ended)


def test_a_driver_that_dies_in_a_call(tmp_path: Path) -> None:
    ended = run(tmp_path, broken("dies"), "--focus", f"^{ONE} ")
    assert ended.code == 1
    assert "UNAVAILABLE" in ended.reason(ONE)
    in_good_order(ended)


def test_a_driver_that_returns_garbage(tmp_path: Path) -> None:
    ended = run(tmp_path, broken("garbage"), "--focus", f"^{ONE} ")
    assert ended.code == 1
    assert "is not a message of this service" in ended.reason(ONE)
    in_good_order(ended)


def test_a_cdi_id_without_specification(tmp_path: Path) -> None:
    ended = run(tmp_path, broken("no-spec"), "--focus", f"^{ONE} ")
    assert ended.code == 1
    assert "unresolvable CDI devices broken.dra.test/gpu=nowhere" in ended.reason(ONE)
    in_good_order(ended)


@pytest.mark.parametrize("what", ["absent", "file"])
def test_a_file_that_is_not_a_socket(tmp_path: Path, what: str) -> None:
    path = tmp_path / "driver-reg.sock"
    if what == "file":
        path.write_text("no socket")
    command = ["run", "--driver", f"socket:{path}", "--driver-name", DRIVER, "--out", str(tmp_path / "report")]
    ended = subprocess.run(
        [sys.executable, "-m", "dra_conformance", *command, "--progress", "plain", "--profile", "driver-core"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    said = ended.stdout + ended.stderr
    assert ended.returncode == (10 if what == "absent" else 4), said
    assert "no such socket" in said if what == "absent" else "not a socket" in said
    assert "Traceback" not in said


def test_a_driver_whose_calls_take_a_quarter_of_a_second_passes(tmp_path: Path) -> None:
    program = PROGRAM.with_name("slow_driver.py")
    words = [sys.executable, str(program), "0.25", "0.25", "--inventory", "nic", "--driver-name", "{driver}"]
    words += ["--kubeconfig", "{kubeconfig}", "--node-name", "{node}", "--cdi-root", "{cdi}"]
    words += ["--kubelet-plugins-directory-path", "{plugins}", "--kubelet-registrar-directory-path", "{registrar}"]
    command = "exec:" + " ".join(words)
    scenarios = "^driver/(registration#a-(started|driver-registers)|restarts#a-restarted)"
    ended = run(tmp_path, command, "--focus", scenarios, "--profile", "driver-core")
    rules = {rule["id"]: rule["status"] for rule in ended.report["rules"]}
    judged = {rule for rule, status in rules.items() if status not in ("filtered", "not-supported")}
    assert judged
    assert {rule: rules[rule] for rule in judged if rules[rule] != "passed"} == {}
    in_good_order(ended)
