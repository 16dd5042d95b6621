"""The lock that keeps the calls of a plugin, and two plugin processes of one node, out of each other's way.

Between processes the lock is the kernel's: it ends with the process, however that dies. The file stays.

Source: pkg/flock at 95932046 (poll every 100 ms for 10 s), and the mutex of cmd/gpu-kubelet-plugin driver.go; rules
NV-069, NV-070.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from dra_api.clock import Clock

_POLL = 0.1


class LockTimeoutError(Exception):
    """The lock was not released in time."""


class NodeLock:
    """A lock among all threads and processes that use the same file.

    `timeout` in seconds limits how long another process may block a call. Threads of this process wait for each other
    without a limit.
    """

    def __init__(self, path: Path, *, clock: Clock, timeout: float) -> None:
        self.path = path
        self._clock = clock
        self._timeout = timeout
        self._mutex = threading.Lock()
        self._never = threading.Event()

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the lock. Raises LockTimeoutError if another process does not release it in time."""
        # Before the mutex: a call behind another one that timed out does not wait again.
        deadline = self._clock.monotonic() + self._timeout
        with self._mutex:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                self._acquire(descriptor, deadline)
                yield
            finally:
                os.close(descriptor)

    def _acquire(self, descriptor: int, deadline: float) -> None:
        while True:
            try:
                # flock has no timeout, so it is polled without blocking.
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if self._clock.monotonic() >= deadline:
                    raise LockTimeoutError(
                        f"error acquiring prep/unprep lock: timeout acquiring lock ({self.path}): another plugin "
                        "process of this node holds it"
                    ) from None
                # An event that is never set: a sleep that a test clock can shorten.
                self._clock.wait(self._never, _POLL)
            else:
                return
