"""Keeps the machine busy with processes that spin."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_SPIN = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: sum(range(100_000))"  # ends with its parent


def average() -> float:
    """Return the load average of the last minute."""
    return os.getloadavg()[0]


def to_add(wanted: float, present: float) -> int:
    """Return how many processes must spin so that the load average reaches `wanted`."""
    return max(0, round(wanted - present))


@contextmanager
def spinning(count: int) -> Iterator[Sequence[subprocess.Popen[bytes]]]:
    """Run `count` processes that use the CPU all the time."""
    processes = [subprocess.Popen([sys.executable, "-c", _SPIN]) for _ in range(count)]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()
