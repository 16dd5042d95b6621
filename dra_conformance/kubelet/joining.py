"""Waits for the end of a kubelet's thread, with a limit: a thread that does not end must not stop the run."""

from __future__ import annotations

import threading

from dra_conformance.kubelet.errors import KubeletError

_LIMIT = 10.0
"""Seconds of real time. A thread ends at once, because what it waits for is closed first."""


def join(thread: threading.Thread) -> None:
    """Wait until a thread has ended. Raises KubeletError if it does not end in time."""
    thread.join(_LIMIT)
    if thread.is_alive():
        raise KubeletError(f"the thread {thread.name} has not ended {_LIMIT:g} s after the kubelet was stopped")
