"""Ctrl-C and SIGTERM end a run, whatever it was doing.

A signal's KeyboardInterrupt is raised wherever the first thread happens to be. Python drops it in a finalizer or a weak
reference's callback (imports have many), and a clean-up that fails on something half made puts its own exception in its
place. So the signal is remembered, and KeyboardInterrupt is raised again until pytest has heard of it.
The handlers are the process's own; whoever installs them puts the former ones back with `restore`.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

import pytest

AGAIN_S = 2.0
"""Seconds after which an interrupt that nobody heard is raised again."""


class Interrupts:
    """A pytest plugin that holds the handlers of SIGINT and SIGTERM during a session."""

    def __init__(self) -> None:
        self.signalled = False
        """Whether a signal asked the run to end."""
        self._previous: dict[signal.Signals, Any] = {}

    def install(self) -> None:
        """Handle both signals from now on. Does nothing outside the first thread, where Python has no handlers."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number, handler in (
            (signal.SIGINT, self._first),
            (signal.SIGTERM, self._first),
            (signal.SIGALRM, self._again),
        ):
            self._previous[number] = signal.signal(number, handler)

    def restore(self) -> None:
        """Put the former handlers back. Idempotent."""
        if self._previous:
            signal.setitimer(signal.ITIMER_REAL, 0)
        while self._previous:
            signal.signal(*self._previous.popitem())

    def heard(self) -> None:
        """Ignore both signals from now on: what cleans up must not be stopped."""
        if self._previous:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """The session's end stops what runs and writes the report, in peace.

        pytest calls this also for its own ways to stop early (`-x`, `session.shouldstop`), which are no
        KeyboardInterrupt.
        """
        if excinfo.type is KeyboardInterrupt:
            self.heard()

    def _first(self, _number: int, _frame: FrameType | None) -> None:
        if self.signalled:  # one at a time: a second Ctrl-C must not break what the first one unwinds
            return
        self.signalled = True
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S, AGAIN_S)
        raise KeyboardInterrupt

    def _again(self, _number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt
