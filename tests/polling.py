"""Waits for what gives a test no event: other processes, the kernel, and sums of several states."""

from __future__ import annotations

import threading
from collections.abc import Callable

from dra_api.clock import RealClock


def wait_until(look: Callable[[], object], seconds: float = 60.0) -> None:
    """Look again and again until the result is true. Raises AssertionError after so many seconds."""
    clock = RealClock()
    deadline = clock.monotonic() + seconds
    while not look():
        assert clock.monotonic() < deadline, f"not true within {seconds} s"
        clock.wait(threading.Event(), 0.005)
