"""Tests of the command in a locale without Unicode, as minimal containers have."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from invented_runs import InventedRun

from dra_conformance.core.events import EventLog
from dra_conformance.report import files

PLAIN = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}


def command(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dra_conformance", *words],
        env={**os.environ, **PLAIN, "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=folder,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("list", "rules"), "NV-001 "),
        (("run", "--rule", "NV-001", "--dry-run"), "driver/registration#a-started-driver-registers"),
    ],
)
def test_files_of_the_suite_are_read_in_any_locale(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = command(*words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout


def test_a_report_is_printed_in_any_locale(tmp_path: Path) -> None:
    log = EventLog(tmp_path / files.EVENTS)
    for event in InventedRun().scenario("bad", status="failed", reason="caf\u00e9 \u2192").events():
        log.append(event)
    log.close()
    for form in ("text", "html", "junit", "json"):
        done = command("report", str(tmp_path), "--format", form, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "DRA-001" in done.stdout
