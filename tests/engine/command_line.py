"""Runs the command as a user does, in its own process and an empty folder, and checks that nothing is left behind."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from polling import wait_until

SUITE = "dra_conformance.scenarios"
_LIMIT = 600  # seconds of one command: on a busy machine some need minutes
# Quick scenarios, one for every result.
FEATURES = {
    "good": """@profile:claim-lifecycle @component:claim-controller
Feature: Good
  @DRA-100
  Scenario Outline: A node is there <n>
    Given node "n<n>"
    When 1 seconds pass
    Then the Node "n<n>" still exists

    Examples:
      | n |
      | 1 |
      | 2 |
      | 3 |
      | 4 |
""",
    "bad": """@profile:claim-lifecycle
Feature: Bad
  @DRA-100
  Scenario: A node that exists is expected to be gone
    Given node "n1"
    When 1 seconds pass
    Then the Node "n1" is gone
""",
    "slow": """@profile:claim-lifecycle @component:claim-controller @component:scheduler
Feature: Slow
  @DRA-100
  Scenario: A wait never ends
    Given node "n1" running the driver as a process
    When 1 seconds pass
    Then the Node "n1" is gone
""",
}


@dataclass
class CommandLine:
    """A working folder, a folder for temporary files, and a mark in the environment of all started processes."""

    folder: Path
    temp: Path
    mark: str = field(default_factory=lambda: f"DRA_TEST_MARK={uuid.uuid4()}")

    def features(self, *names: str) -> list[str]:
        """Write these features and return options that run only them."""
        for name in names:
            path = self.folder / "probe" / f"{name}.feature"
            path.parent.mkdir(exist_ok=True)
            path.write_text(FEATURES[name])
        return ["--features", "probe", "--focus", "^probe/", "--patience", "0.5"]

    def start(self, *args: str, module: str = "dra_conformance", **more: Any) -> subprocess.Popen[str]:
        kept = {
            k: v
            for k, v in os.environ.items()
            if not k.startswith(("PYTEST_", "DRA_", "XDG_RUNTIME_DIR", "PYTHONUNBUFFERED"))
        }
        name, _, value = self.mark.partition("=")
        return subprocess.Popen(
            [sys.executable, "-m", module, *args],
            cwd=self.folder,
            env={**kept, "TMPDIR": str(self.temp), name: value},
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True, **more},
        )

    def run(self, *args: str, module: str = "dra_conformance") -> tuple[int, str, str]:
        """Run a command to its end and return exit code, stdout and stderr."""
        process = self.start(*args, module=module)
        out, err = process.communicate(timeout=_LIMIT)
        self.nothing_left()
        assert "Traceback" not in out + err
        return process.returncode, out, err

    def suite(
        self, *args: str, signal_when: Callable[[bytes], bool] | None = None, number: int = signal.SIGINT
    ) -> Ended:
        """Run the suite; send a signal to its process group as soon as `signal_when` is true of the event logs.

        It writes report.json only, unless `args` name another format: the others take a third of a short run.
        """
        report = () if "--report" in args else ("--report", "json")
        process = self.start("run", "--progress", "plain", *report, *args)
        if signal_when is not None:
            wait_until(lambda: process.poll() is not None or signal_when(self.logged()))
            os.killpg(process.pid, number)
        out, err = process.communicate(timeout=_LIMIT)
        self.nothing_left()
        assert "Traceback" not in out + err
        path = self.folder / "dra-report" / "report.json"
        return Ended(process.returncode, out, err, orjson.loads(path.read_bytes()) if path.exists() else {})

    def logged(self) -> bytes:
        """Return the event logs of the run and its workers so far."""
        return b"".join(path.read_bytes() for path in (self.folder / "dra-report").glob("events*.jsonl"))

    def nothing_left(self) -> None:
        """Check that no process, temporary file or partial write is left."""
        # The kernel ends the children of a killed process group on its own time.
        with contextlib.suppress(AssertionError):
            wait_until(lambda: self.processes() == [], 30)
        assert self.processes() == []
        left = sorted(path.name for path in self.temp.iterdir())
        assert left == [], left  # pytest shows no values of this module
        assert list((self.folder / "dra-report").glob(".*")) == []

    def processes(self) -> list[str]:
        """Return the command lines of all processes with the mark."""
        found = []
        for environ in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if self.mark.encode() in environ.read_bytes().split(b"\0"):
                    found.append((environ.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        return found


@dataclass(frozen=True)
class Ended:
    """The result of a run."""

    code: int
    out: str
    err: str
    report: dict[str, Any]

    @property
    def statuses(self) -> dict[str, str]:
        """The statuses of the scenarios of `features`, by their ids without the chapter."""
        return {
            row["id"].removeprefix("probe/"): row["status"]
            for row in self.report["scenarios"]
            if row["id"].startswith("probe/")
        }


def plain(text: str) -> str:
    """Return output without the values that differ from run to run."""
    text = re.sub(r"\d+\.\d+ s", "N s", text)
    text = re.sub(r"run [0-9a-f]{8}", "run X", text)
    return re.sub(r"seed \d+", "seed N", text)
