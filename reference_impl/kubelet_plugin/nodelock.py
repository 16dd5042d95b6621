"""The lock that keeps the calls of a plugin, and two plugin processes of one node, out of each other's way.

The lock is the kernel's: it ends with the process, however that dies. The file stays.

Source: pkg/flock at 95932046 (poll every 100 ms for 10 s); rules NV-069, NV-070.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from dra_api.clock import Clock

_POLL = 0.1
_PATIENCE_STEPS = 10


class LockTimeoutError(Exception):
    """The lock was not released in time."""


class NodeLock:
    """A lock among all threads and processes that use the same file.

    Threads get it in the order of their calls. `timeout` in seconds limits how long another process may block all of
    them, and how long one thread may: a thread that hangs (NVML does at times) blocks no call for ever, and a long
    queue that makes progress fails no call.
    """

    def __init__(self, path: Path, *, clock: Clock, timeout: float) -> None:
        self.path = path
        self._clock = clock
        self._timeout = timeout
        self._mutex = threading.Lock()
        self._held = False
        self._turns = 0
        self._waiting: deque[threading.Event] = deque()
        self._starved = False
        self._deadline = 0.0
        self._never = threading.Event()

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the lock. Raises LockTimeoutError if it is not released in time."""
        asked = self._clock.monotonic()
        self._take_turn()
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                # A thread that timed out behind another one that timed out does not wait again.
                self._deadline = (asked if self._starved else self._clock.monotonic()) + self._timeout
                self._starved = True
                self._acquire(descriptor)
                self._starved = False
                yield
            finally:
                os.close(descriptor)
        finally:
            self._pass_on()

    def _take_turn(self) -> None:
        with self._mutex:
            if not self._held:
                self._held = True
                return
            turn, turns = threading.Event(), self._turns
            self._waiting.append(turn)
        steps = 0  # and not a deadline: a test clock that jumps by a minute does not mean that the holder hangs
        while not self._clock.wait(turn, self._timeout / _PATIENCE_STEPS):
            with self._mutex:
                steps, turns = (steps + 1 if turns == self._turns else 0), self._turns
                if steps >= _PATIENCE_STEPS and not turn.is_set():
                    self._waiting.remove(turn)
                    raise LockTimeoutError(
                        f"error acquiring prep/unprep lock: timeout acquiring lock ({self.path}): another call of this "
                        f"plugin has held it for {self._timeout:g} s"
                    )

    def _pass_on(self) -> None:
        with self._mutex:
            self._turns += 1
            if self._waiting:
                # `_held` stays true: the next thread in line gets the lock before any newcomer.
                self._waiting.popleft().set()
            else:
                self._held = False

    def _acquire(self, descriptor: int) -> None:
        while True:
            try:
                # flock has no timeout, so it is polled without blocking.
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if self._clock.monotonic() >= self._deadline:
                    raise LockTimeoutError(
                        f"error acquiring prep/unprep lock: timeout acquiring lock ({self.path}): another plugin "
                        "process of this node holds it"
                    ) from None
                # An event that is never set: a sleep that a test clock can shorten.
                self._clock.wait(self._never, _POLL)
            else:
                return
