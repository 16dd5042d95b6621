"""Waits until a program answers at the URL that shows that it is ready, or has run for a moment."""

from __future__ import annotations

import contextlib
import socket
import threading
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from dra_api.clock import Clock
from dra_conformance.core.errors import TargetUnreachable
from dra_conformance.core.process import ManagedProcess

_SECONDS = 30.0
"""A program of Go that links Kubernetes' libraries needs several seconds on a busy machine."""
_RUNS_FOR = 1.0
_OK = 200


def free_port() -> int:
    """Return a TCP port of this machine that nothing listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def wait_ready(process: ManagedProcess, url: str, *, clock: Clock, patience: float) -> None:
    """Wait until `url` answers with 200; return at once if it is empty.

    Raises TargetUnreachable if the program ends first, or after 30 seconds or `patience`, whichever is longer.
    """
    seconds, never = max(_SECONDS, patience), threading.Event()
    deadline = clock.monotonic() + seconds
    while url and not _answers(url):
        if not process.running:
            raise TargetUnreachable(
                f"the {process.name} ended with exit code {process.exit_code} before it was ready",
                hint=f"Last output: {process.last_output()}",
            )
        if clock.monotonic() > deadline:
            raise TargetUnreachable(
                f"{url} of the {process.name} does not answer with 200 after {seconds:g} s",
                hint=f"Last output: {process.last_output()}",
            )
        clock.wait(never, 0.05)


def wait_running(process: ManagedProcess, *, clock: Clock) -> None:
    """Wait for a second, in which a program with wrong flags or without a file that it needs ends.

    For a program without a readiness URL, before its first scenario: the program is then the cause, not a rule.
    Raises TargetUnreachable if the program ends.
    """
    deadline, never = clock.monotonic() + _RUNS_FOR, threading.Event()
    while process.running and clock.monotonic() < deadline:
        clock.wait(never, 0.05)
    if not process.running:
        raise TargetUnreachable(
            f"the {process.name} ended with exit code {process.exit_code} at its start",
            hint=f"Last output: {process.last_output()}",
        )


def _answers(url: str) -> bool:
    parts = urlsplit(url)
    with contextlib.suppress(OSError, HTTPException, ValueError):
        connection = HTTPConnection(parts.hostname or "", parts.port, timeout=1.0)
        try:
            connection.request("GET", parts.path or "/")
            return connection.getresponse().status == _OK
        finally:
            connection.close()
    return False
