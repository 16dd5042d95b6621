"""Ends a run on Ctrl-C and SIGTERM, also if Python loses the KeyboardInterrupt.

The handler raises KeyboardInterrupt at any line of the main thread. Python drops it in a finalizer or in the callback
of a weak reference (imports have many), and a cleanup that fails on a partly created object replaces it with another
exception. Therefore the handler records the signal, and raises KeyboardInterrupt again until pytest handles it.

A cleanup in an except or finally clause, for example the deletion of a cluster, has a minute before that: if it ended
early, it would leave things behind.

An event that is half written would look like a log that another program changed. While one is written, the exception
waits for the next alarm.
"""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType
from typing import Any

import pytest

from dra_conformance.core.events.log import EventLog

AGAIN_S = 5.0
"""Seconds after which an interrupt that pytest has not handled is raised again: more than a busy machine needs."""
_SOON_S = 0.02
CLEANUP_S = 60.0
"""Seconds that cleanups may take in all while the interrupt is not raised again."""
_WHOLE = frozenset({EventLog.emit.__code__, EventLog.append.__code__})
"""What must not end in the middle."""


class Interrupts:
    """A pytest plugin that handles SIGINT and SIGTERM during a session."""

    def __init__(self) -> None:
        self.signalled = False
        """Whether a signal was received."""
        self._waited = 0.0
        self._previous: dict[signal.Signals, Any] = {}

    def install(self) -> None:
        """Handle both signals from now on. Does nothing outside the main thread, where Python cannot set handlers."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number, handler in (
            (signal.SIGINT, self._first),
            (signal.SIGTERM, self._first),
            (signal.SIGALRM, self._again),
        ):
            self._previous[number] = signal.signal(number, handler)

    def restore(self) -> None:
        """Restore the previous handlers. Idempotent."""
        if self._previous:
            signal.setitimer(signal.ITIMER_REAL, 0)
        while self._previous:
            signal.signal(*self._previous.popitem())

    def ignore(self) -> None:
        """Ignore both signals from now on, so that they cannot stop the cleanup."""
        if self._previous:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Ignore further signals while the session stops its components and writes the report.

        pytest also calls this hook when it stops early for another reason (`-x`, `session.shouldstop`).
        """
        if excinfo.type is KeyboardInterrupt:
            self.ignore()

    def _first(self, number: int, frame: FrameType | None) -> None:
        if self.signalled:  # a second Ctrl-C must not interrupt the unwinding of the first one
            return
        self.signalled = True
        self._again(number, frame)

    def _again(self, _number: int, frame: FrameType | None) -> None:
        if _writes_an_event(frame):
            signal.setitimer(signal.ITIMER_REAL, _SOON_S, AGAIN_S)
            return
        if _is_handled() and self._waited < CLEANUP_S:
            self._waited += AGAIN_S
            return  # the alarm comes again
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S, AGAIN_S)
        raise KeyboardInterrupt


def _is_handled() -> bool:
    """Return whether the interrupted code is an except or finally clause for a KeyboardInterrupt."""
    error = sys.exc_info()[1]
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _writes_an_event(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code in _WHOLE:
            return True
        frame = frame.f_back
    return False
