"""Failures of the emulator itself, kept until the owner of the server reads them.

Background threads have no caller to raise to, and a request that fails by a bug is answered with the API server's own
panic text. Both record the exception here. `ApiServerEmulator.take_failures` returns what was recorded, so that a run
can report an error of the harness instead of a wrong verdict.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from dra_api.tracebacks import format_traceback

LIMIT = 100
"""Failures kept; further ones are counted only, since a broken loop would fill the memory."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure: the thread or request that failed, the error on one line, and the traceback."""

    source: str
    error: str
    traceback: str = ""

    def __str__(self) -> str:
        return f"{self.source}: {self.error}"


class Failures:
    """A thread-safe list of failures."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failures: list[Failure] = []
        self._dropped = 0

    def record(self, source: str, error: BaseException | str) -> None:
        """Keep a failure of `source` (a thread's name, or a request): an exception, or a description."""
        if isinstance(error, BaseException):
            text = " ".join(str(error).split())
            name = type(error).__name__
            summary = f"{name}: {text}" if text else name
            failure = Failure(source, summary, format_traceback(error))
        else:
            failure = Failure(source, error)
        with self._lock:
            if len(self._failures) < LIMIT:
                self._failures.append(failure)
            else:
                self._dropped += 1

    def take(self) -> list[Failure]:
        """Return the failures since the last call, oldest first."""
        with self._lock:
            taken, self._failures = self._failures, []
            if self._dropped:
                taken.append(Failure("emulator", f"{self._dropped} further failures were not kept"))
                self._dropped = 0
        return taken
