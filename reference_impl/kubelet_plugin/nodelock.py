"""The lock that keeps two plugin processes of one node out of each other's way, during a rolling update for example.

The lock is the kernel's: it ends with the process, however that dies. The file stays.

Source: pkg/flock at 95932046 (poll every 100 ms for 10 s); rules NV-069, NV-070.
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
    """Another process holds the lock."""


class NodeLock:
    """A lock among all threads and processes that use the same file. `timeout` in seconds is for other processes."""

    def __init__(self, path: Path, *, clock: Clock, timeout: float) -> None:
        self.path = path
        self._clock = clock
        self._timeout = timeout
        self._threads = threading.Lock()
        self._never = threading.Event()

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the lock. Raises LockTimeoutError when another process does not let go in time."""
        with self._threads:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                self._acquire(descriptor)
                yield
            finally:
                os.close(descriptor)

    def _acquire(self, descriptor: int) -> None:
        deadline = self._clock.monotonic() + self._timeout
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if self._clock.monotonic() >= deadline:
                    raise LockTimeoutError(
                        f"error acquiring prep/unprep lock: timeout acquiring lock ({self.path}): another plugin "
                        "process of this node holds it"
                    ) from None
                self._clock.wait(self._never, _POLL)
            else:
                return
