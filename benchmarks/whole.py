"""Whole commands, from outside: wall time and peak memory of `run` and `list`, and the control plane's start."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from benchmarks.cluster import embedded
from benchmarks.figures import Figure, repeat


def command(*words: str) -> tuple[float, float, int]:
    """Run `dra-conformance`; wall seconds, peak memory of its largest process in MB, exit code."""
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "dra_conformance", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return time.monotonic() - began, usage.ru_maxrss / 1024, process.returncode


def ready() -> float:
    """Seconds until the embedded control plane serves, HTTPS and CRDs included."""
    began = time.monotonic()
    with embedded(https=True):
        return time.monotonic() - began


def figures() -> list[Figure]:
    """The full reference run, listing, and the control plane's start."""
    with tempfile.TemporaryDirectory(prefix="dra-bench-") as folder:
        runs = [command("run", "-n", "2", "--out", folder, "--progress", "none") for _ in range(3)]
        alone = command("run", "--out", folder, "--progress", "none")
    codes = {code for _, _, code in runs}
    return [
        Figure(
            "full reference run, two workers (make run)",
            "s",
            [seconds for seconds, _, _ in runs],
            aim="< 30",
            note=f"exit codes {sorted(codes)}",
        ),
        Figure("full reference run, one process", "s", [alone[0]]),
        Figure("full reference run, peak memory of one process", "MB", [mb for _, mb, _ in runs], aim="< 400 in all"),
        Figure("dra-conformance list", "s", repeat(5, lambda: command("list")[0]), aim="< 0.5"),
        Figure("embedded control plane ready", "s", repeat(5, ready), aim="< 0.5"),
    ]
