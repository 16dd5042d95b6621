"""Whole commands, from outside: wall time and peak memory of `run` and `list`, and the control plane's start."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from verification.benchmarks.cluster import embedded
from verification.benchmarks.figures import Figure, repeat

_LOOK = 0.25


def command(*words: str) -> tuple[float, float, int]:
    """Run `dra-conformance`; return wall seconds, peak memory of all its processes in MB, and the exit code.

    Memory is the proportional set size, sampled every quarter of a second: shared pages count once.
    """
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "dra_conformance", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    peak = 0
    while True:
        try:
            code = process.wait(_LOOK)
        except subprocess.TimeoutExpired:
            peak = max(peak, sum(_memory(pid) for pid in _family(process.pid)))
        else:
            return time.monotonic() - began, peak / 1024, code


def _family(pid: int) -> Iterator[int]:
    """A process and all that come from it."""
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in children.read_text().split():
                yield from _family(int(child))


def _memory(pid: int) -> int:
    """Return the proportional set size of a process in KiB, or 0 if it has exited."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


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
        Figure("full reference run, two workers, all processes", "MB", [mb for _, mb, _ in runs], aim="< 400"),
        Figure("full reference run, one process", "s", [alone[0]], note=f"{alone[1]:.0f} MB"),
        Figure("dra-conformance list", "s", repeat(5, lambda: command("list")[0]), aim="< 0.5"),
        Figure("embedded control plane ready", "s", repeat(5, ready), aim="< 0.5"),
    ]
