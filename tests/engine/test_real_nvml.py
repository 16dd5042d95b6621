"""Tests of `--nvml real`: the machine's own library below the reference driver.

The machine's own library is the one that the loader finds as libnvidia-ml.so.1. In these tests it is a fake node's,
selected by the environment.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import fake_nvml

SCENARIO = "^driver/gpu#devices-match-what-nvml-reports"


def run(folder: Path, env: dict[str, str], *more: str) -> tuple[int, str]:
    """`dra-conformance run --nvml real`, in a process of its own."""
    words = ["run", "--nvml", "real", "--report", "json", "--out", str(folder), "--progress", "plain", *more]
    ended = subprocess.run(
        [sys.executable, "-m", "dra_conformance", *words],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return ended.returncode, ended.stdout + ended.stderr


def report(folder: Path) -> dict[str, Any]:
    """The report of a run."""
    found: dict[str, Any] = json.loads((folder / "report.json").read_bytes())
    return found


def test_a_machine_without_a_driver_is_reported_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "libnvidia-ml.so.1").write_text("no library")  # found before the library of a machine with a GPU
    code, text = run(tmp_path / "report", {"LD_LIBRARY_PATH": str(tmp_path)}, "--focus", SCENARIO)
    assert code == 10
    said = [line for line in text.splitlines() if "--nvml real" in line]
    assert len(said) == 1, text
    assert "no working NVIDIA driver" in said[0]
    assert "Traceback" not in text


def test_the_reference_driver_reads_the_machines_own_library(tmp_path: Path) -> None:
    with fake_nvml.Node.create("h200", tmp_path / "machine") as machine:
        code, text = run(tmp_path / "report", machine.env(), "--focus", SCENARIO)
        assert code == 0, text
        found = report(tmp_path / "report")
        assert found["target"]["nvml"] == "this machine's own"
        uuids = {view.uuid for view in machine.gpus}
        events = (tmp_path / "report" / "events.jsonl").read_text()
        assert all(uuid in events for uuid in uuids), "the slices are of that machine's GPUs"


def test_a_device_plugin_started_again_keeps_the_driver_root(tmp_path: Path) -> None:
    focus = "^device_plugins/restarts#a-plugin-starts-over-the-sockets-of-one-that-was-killed"
    with fake_nvml.Node.create("h200", tmp_path / "machine") as machine:
        root = str(machine.driver_root)
        code, text = run(tmp_path / "report", machine.env(), "--driver-root", root, "--focus", focus)
    assert code == 0, text
    assert [row["status"] for row in report(tmp_path / "report")["scenarios"]].count("passed") == 1, text


def test_nothing_is_changed_on_a_machines_own_gpus(tmp_path: Path) -> None:
    """Scenarios that choose or change GPUs do not run, and the library receives no call that changes a GPU."""
    with fake_nvml.Node.create("h200", tmp_path / "machine") as machine:
        machine.log_calls()
        code, text = run(tmp_path / "report", machine.env(), "--focus", "^(driver/gpu|mig/)", "--patience", "2")
        assert "Traceback" not in text
        assert code in (0, 1), text  # a machine whose driver root is / lacks the libraries that Prepare wants
        called = {call.function for call in machine.calls()}
        assert "nvmlDeviceGetCount_v2" in called
        assert not {name for name in called if "Set" in name and not name.startswith("nvmlEventSet")}
        assert not {name for name in called if "Create" in name and not name.startswith("nvmlEventSet")}
    rows = {row["id"]: row["status"] for row in report(tmp_path / "report")["scenarios"]}
    assert {status for name, status in rows.items() if name.startswith("mig/")} <= {"untestable", "not-applicable"}
