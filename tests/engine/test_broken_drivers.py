"""Tests of broken drivers: one clear message, an exit code and a report; no traceback, no leftover process."""

from __future__ import annotations

import html
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "broken_drivers" / "broken_driver.py"
DRIVER = "broken.dra.test"
ALONE: tuple[str, ...] = ()


def exhaustive(*words: str) -> Any:
    """A number of workers that CI leaves out."""
    return pytest.param(words, marks=pytest.mark.exhaustive)


class Ended:
    """A run that is over: its exit code, everything it printed, its report and its folder."""

    def __init__(self, code: int, text: str, folder: Path, *, report: bool = True) -> None:
        self.code, self.text, self.folder = code, text, folder
        self.report: dict[str, Any] = json.loads((folder / "report.json").read_bytes()) if report else {}

    def reason(self, scenario: str) -> str:
        """The reason that the report gives for a scenario."""
        found = [row["reason"] for row in self.report["scenarios"] if row["id"] == scenario]
        assert found, f"{scenario} is not in the report"
        return str(found[0])


def options(driver: str) -> tuple[str, ...]:
    return ("--driver", driver, "--driver-name", DRIVER)


def run(tmp_path: Path, driver: str, *more: str) -> Ended:
    """`dra-conformance run` with a broken driver, as a user types it."""
    return run_words(tmp_path, *options(driver), *more)


def run_words(tmp_path: Path, *words: str, report: bool = True) -> Ended:
    """`dra-conformance run` with these words. `report`: it gets as far as a report."""
    out = tmp_path / "report"
    command = [sys.executable, "-m", "dra_conformance", "run", "--out", str(out), "--report", "json"]
    ended = subprocess.run(
        [*command, "--progress", "plain", *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout + ended.stderr, out, report=report)


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


def one_cause(ended: Ended, *words: str) -> None:
    """The target is unreachable: one problem, with these words, in place of a failure of each scenario."""
    in_good_order(ended)
    assert ended.code == ended.report["exitCode"] == 10
    assert not ended.report["interrupted"]
    problems = [line for line in ended.text.splitlines() if line.startswith("problem: ")]
    assert len(problems) == len(ended.report["problems"]) == 1
    assert "✗" not in ended.text
    assert [word for word in words if word not in ended.text] == []


def again(ended: Ended, folder: Path) -> Ended:
    """The run of the first repeat command that a run printed."""
    command = next(line for line in ended.text.splitlines() if line.startswith("  repeat    "))
    words = shlex.split(command.removeprefix("  repeat    "))
    assert words[:2] == ["dra-conformance", "run"]
    return run_words(folder, *words[2:])


@pytest.mark.parametrize("workers", [ALONE, exhaustive("-n", "0"), exhaustive("-n", "1"), ("-n", "2")])
def test_a_driver_that_exits_at_once(tmp_path: Path, workers: tuple[str, ...]) -> None:
    ended = run(tmp_path, broken("exits"), "--profile", "driver-core", *workers)
    one_cause(ended, "the driver ended with exit code 3 before it registered", "cannot open /dev/broken")
    if workers == ("-n", "2"):
        one_cause(again(ended, tmp_path), "exit code 3 before it registered", "cannot open /dev/broken")


@pytest.mark.parametrize(
    ("fault", "cause"),
    [("flag-usage", "flag provided but not defined: -node"), ("cobra-usage", "Error: unknown flag: --node")],
)
def test_a_driver_that_prints_its_usage(tmp_path: Path, fault: str, cause: str) -> None:
    ended = run(tmp_path, broken(fault), "--profile", "driver-core")
    one_cause(ended, f"the driver ended with exit code 2 before it registered; last output: {cause}\n")
    assert "an option" not in ended.text


def test_a_driver_that_needs_a_path(tmp_path: Path) -> None:
    ended = run(tmp_path, broken("needs-path"), "--profile", "driver-core")
    one_cause(ended, "the driver ended with exit code 1", "cannot open /dev/broken0: No such file or directory")


def test_a_driver_that_writes_outside_its_folders(tmp_path: Path) -> None:
    """It may write to the folders of its node only, so its start fails."""
    place = tmp_path / "report" / "mine"
    ended = run(tmp_path, f"exec:/bin/sh -c 'set -e; echo started; echo mine > {place}'", "--profile", "driver-core")
    one_cause(ended, "before it registered; last output: started", str(place))
    assert not place.exists()


@pytest.mark.parametrize("workers", [ALONE, exhaustive("-n", "2")])
@pytest.mark.parametrize(
    ("mode", "words"), [(0o644, ("is not executable", "chmod +x")), (0o755, ("cannot start", "Exec format error"))]
)
def test_a_driver_that_is_no_program(
    tmp_path: Path, mode: int, words: tuple[str, ...], workers: tuple[str, ...]
) -> None:
    path = tmp_path / "driver"
    path.write_text("no program\n")
    path.chmod(mode)
    tmp_path.chmod(0o755)
    ended = run_words(tmp_path, *options(f"exec:{path}"), "--profile", "driver-core", *workers, report=mode == 0o755)
    assert ended.code == 10
    assert [word for word in words if word not in ended.text] == []
    if mode == 0o755:
        one_cause(ended)


def test_a_driver_that_never_registers(tmp_path: Path) -> None:
    ended = run(tmp_path, broken("silent"), "--profile", "driver-core", "-n", "2")
    one_cause(ended, f"20 s after its start DRA driver {DRIVER} is not registered", "waiting for hardware")


def test_a_driver_that_registers_under_another_name(tmp_path: Path) -> None:
    ended = run(tmp_path, broken("other-name"), "--profile", "driver-core")
    one_cause(ended, f"DRA driver {DRIVER} is not registered", "A driver registered as other.dra.test", "--driver-name")


def test_a_driver_that_registers_twice_is_judged(tmp_path: Path) -> None:
    """A kubelet accepts several sockets of one driver, as in a rolling update."""
    ended = run(tmp_path, broken("twice"), "--focus", "^driver/registration#a-started-driver")
    assert ended.code == 0
    in_good_order(ended)


STRICT = "{kubeconfig} --node-name {node} --kubelet-plugins-directory-path {plugins} --cdi-root {cdi} " + (
    "--kubelet-registrar-directory-path {registrar} --container-driver-root {driver_root} {flags}"
)


@pytest.mark.parametrize("starts", [True, False])
def test_a_driver_that_rightly_refuses_to_start_is_judged_alone(tmp_path: Path, starts: bool) -> None:
    """The only scenario of the run wants the driver to end: a driver that never starts must not pass it."""
    program = PROGRAM.with_name("strict_driver.py")
    driver = f"exec:{sys.executable} {program} --kubeconfig {STRICT}" if starts else f"{broken('exits')} {{flags}}"
    ended = run_words(tmp_path, "--driver", driver, "--rule", "NV-004")
    if not starts:
        return one_cause(ended, "exit code 3 before it registered")
    assert ended.code == 0, ended.text
    in_good_order(ended)
    return None


@pytest.mark.parametrize("workers", [exhaustive(), ("-n", "2")])
def test_a_driver_that_crashes_in_each_call(tmp_path: Path, workers: tuple[str, ...]) -> None:
    """The crash is a failure of the driver, and the run goes on; its rules are listed, not printed one by one."""
    ended = run(tmp_path, broken("panics"), "--focus", "^driver/prepare#.*(response|repeated)", *workers)
    assert ended.code == 1
    in_good_order(ended)
    cause = "ended with exit code 2: panic: runtime error: invalid memory address"
    failed = [row for row in ended.report["scenarios"] if row["status"] in ("failed", "untestable")]
    assert len(failed) > 3
    assert all(cause in row["reason"] and cause in row["crash"] for row in failed)
    assert "more rules for the same reason as NV-" in ended.text
    summary = ended.text.index("scenarios  ")
    assert ended.text[:summary].count("reason    claim train cannot be prepared: the call failed: UNAVAILABLE") <= 1
    assert len([line for line in ended.text.splitlines() if line.startswith(("✗", "!"))]) == 2


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


@pytest.mark.parametrize(("get_info", "prepare"), [("0.25", "0.25"), ("0.8", "0")])
def test_a_driver_whose_calls_take_less_time_than_a_kubelet_waits_passes(
    tmp_path: Path, get_info: str, prepare: str
) -> None:
    """A kubelet waits one second for GetInfo, so a driver that registers late within it is a good one."""
    program = PROGRAM.with_name("slow_driver.py")
    words = [sys.executable, str(program), get_info, prepare, "--inventory", "nic", "--driver-name", "{driver}"]
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


def test_processes_that_a_driver_leaves_behind_are_in_every_report(tmp_path: Path) -> None:
    ended = run(tmp_path, broken("leaves"), "--focus", ONE, "--report", "html")
    in_good_order(ended)
    page = html.unescape((ended.folder / "report.html").read_text())
    assert len(ended.report["programWarnings"]) == 2  # the first start shows that the driver can be started
    for warning in ended.report["programWarnings"]:
        assert re.fullmatch(
            r"driver on \w+: killed processes that it left behind: "
            r"\d+ sh -c sleep 600 sh --token=\*\*\*; \d+ sleep 600",
            warning,
        )
        assert f"warning    {warning}" in ended.text
        assert warning in page
