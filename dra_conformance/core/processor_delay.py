"""How long the programs of a run waited for a processor, so that a busy machine does not decide a verdict.

A check waits for a limited time. On a machine with more work than processors, a correct program needs longer: it is
ready to run, and another one runs. Linux counts this time for each thread (the second number of
/proc/PID/task/TID/schedstat, in nanoseconds; Documentation/scheduler/sched-stats.rst). A deadline is put off by it.
Where the kernel does not count it, deadlines stay as they are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from dra_api.clock import Clock

PROC: Final = Path("/proc")
MOST: Final = 2.0
"""How many times its length a deadline is put off at most: a program that never ends its work must not hold a run."""
_SMALLEST = 0.05  # seconds; less is not worth another wait

Delays = Mapping[int, Mapping[int, int]]
"""Nanoseconds by process and thread."""


class ProcessorDelay:
    """The delays of a process and of all that it started.

    Args:
        pid: the process; this one by default.
        proc: the folder of the proc file system.
    """

    def __init__(self, pid: int | None = None, *, proc: Path = PROC) -> None:
        self._pid = os.getpid() if pid is None else pid
        self._proc = proc

    def now(self) -> Delays:
        """Return the delays up to now. What has ended, or is not readable, is left out."""
        return {pid: dict(self._threads(pid)) for pid in self._processes()}

    def seconds_since(self, before: Delays) -> float:
        """Return the seconds of delay since `before`: of each process, those of the thread that waited longest."""
        total = 0
        for pid, threads in self.now().items():
            known = before.get(pid, {})
            total += max((delay - known.get(thread, 0) for thread, delay in threads.items()), default=0)
        return total / 1e9

    def _processes(self) -> Iterator[int]:
        waiting = [self._pid]
        while waiting:
            pid = waiting.pop()
            yield pid
            for thread in self._numbers(self._proc / str(pid) / "task"):
                waiting += map(int, self._words(self._proc / str(pid) / "task" / str(thread) / "children"))

    def _threads(self, pid: int) -> Iterator[tuple[int, int]]:
        folder = self._proc / str(pid) / "task"
        for thread in self._numbers(folder):
            words = self._words(folder / str(thread) / "schedstat")
            if len(words) == 3:
                yield thread, int(words[1])

    @staticmethod
    def _numbers(folder: Path) -> list[int]:
        try:
            return [int(name) for name in os.listdir(folder) if name.isdecimal()]
        except OSError:
            return []

    @staticmethod
    def _words(path: Path) -> list[str]:
        try:
            return path.read_text(encoding="ascii").split()
        except OSError:
            return []


class Deadline:
    """A point in time that is put off by the time that programs waited for a processor.

    Args:
        clock: measures the time.
        seconds: until the deadline.
        delay: the programs.
    """

    def __init__(self, clock: Clock, seconds: float, delay: ProcessorDelay) -> None:
        self._clock = clock
        self._delay = delay
        self._before = delay.now()
        self._most = MOST * seconds
        self._end = clock.monotonic() + seconds

    @property
    def remaining(self) -> float:
        """The seconds until the deadline, which is put off by the delay so far; 0 if it is over."""
        left = self._end - self._clock.monotonic()
        if left > 0:
            return left
        left += min(self._delay.seconds_since(self._before), self._most)
        return left if left >= _SMALLEST else 0.0

    def is_over(self) -> bool:
        """Whether the deadline has passed, and no delay puts it off any more."""
        return not self.remaining
