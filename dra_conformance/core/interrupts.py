"""Ends a program on Ctrl-C and SIGTERM, also if Python loses the KeyboardInterrupt.

The handler raises KeyboardInterrupt at any line of the main thread. Python drops it in a finalizer or in the callback
of a weak reference (imports have many), and a cleanup that fails on a partly created object replaces it with another
exception. Therefore the handler records the signal, and raises KeyboardInterrupt again until it is handled.

A cleanup in an except or finally clause, for example the deletion of a cluster, has a minute before that: if it ended
early, it would leave things behind.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterable
from types import CodeType, FrameType
from typing import Any

AGAIN_S = 5.0
"""Seconds after which an interrupt that was not handled is raised again: more than a busy machine needs."""
_SOON_S = 0.02
CLEANUP_S = 60.0
"""Seconds that cleanups may take in all while the interrupt is not raised again."""


class Interrupts:
    """Handles SIGINT and SIGTERM between `install` and `restore`.

    `whole` is the code that must not end in the middle: while it runs, the exception waits for the next alarm.
    """

    def __init__(self, *, whole: Iterable[CodeType] = ()) -> None:
        self.signalled = False
        """Whether a signal was received."""
        self._whole = frozenset(whole)
        self._waited = 0.0
        self._previous: dict[signal.Signals, Any] = {}

    def install(self) -> None:
        """Handle both signals from now on. Does nothing outside the main thread, where Python cannot set handlers.

        A signal that the replaced Interrupts has received, and whose exception was lost so far, becomes one of this.
        """
        if threading.current_thread() is not threading.main_thread():
            return
        for number, handler in (
            (signal.SIGINT, self._first),
            (signal.SIGTERM, self._first),
            (signal.SIGALRM, self._again),
        ):
            self._previous[number] = signal.signal(number, handler)
        replaced = getattr(self._previous[signal.SIGINT], "__self__", None)
        if isinstance(replaced, Interrupts) and replaced.signalled:
            self.signalled = True  # and its alarm comes to this handler

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

    def _first(self, number: int, frame: FrameType | None) -> None:
        if self.signalled:  # a second Ctrl-C must not interrupt the unwinding of the first one
            return
        self.signalled = True
        self._again(number, frame)

    def _again(self, _number: int, frame: FrameType | None) -> None:
        if self._is_in_whole(frame):
            signal.setitimer(signal.ITIMER_REAL, _SOON_S, AGAIN_S)
            return
        if _is_handled() and self._waited < CLEANUP_S:
            self._waited += AGAIN_S
            return  # the alarm comes again
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S, AGAIN_S)
        raise KeyboardInterrupt

    def _is_in_whole(self, frame: FrameType | None) -> bool:
        while frame is not None:
            if frame.f_code in self._whole:
                return True
            frame = frame.f_back
        return False


def _is_handled() -> bool:
    """Return whether the interrupted code is an except or finally clause for a KeyboardInterrupt."""
    error = sys.exc_info()[1]
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None
