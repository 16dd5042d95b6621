"""Marks the programs that this process starts, so that none survives it.

A program can leave its process group and session. It inherits its environment, whose mark finds it, and becomes a
child of this process when its parent ends (PR_SET_CHILD_SUBREAPER). A watchdog kills the programs if this process is
killed itself; it ends with this process.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import itertools
import os
import subprocess
import sys
import threading
import uuid
from pathlib import Path
from typing import Final

from dra_conformance.core import watchdog

VARIABLE: Final = "DRA_CONFORMANCE_PROGRAM"
_PR_SET_CHILD_SUBREAPER: Final = 36
_END_SECONDS: Final = 5.0

_lock = threading.Lock()
_numbers = itertools.count(1)
_watchdogs: dict[int, str] = {}
"""The mark of a process that has a watchdog, by its id: a forked child needs its own."""


def new_mark() -> str:
    """Return a mark for the environment of a program, below that of this process. Start the watchdog at first use."""
    with _lock:
        if os.getpid() not in _watchdogs:
            _watchdogs[os.getpid()] = uuid.uuid4().hex
            _start_watchdog(_watchdogs[os.getpid()])
        return f"{_watchdogs[os.getpid()]}.{next(_numbers)}."


def kill_remaining(mark: str, *, group: int) -> list[str]:
    """Kill the processes with a mark that still run. Return ids and command lines of those that left the group."""
    killed = watchdog.kill_marked(f"{VARIABLE}={mark}".encode(), group=group)
    for process in killed:
        # Adopted ones must be waited for; others are not children of this process.
        with contextlib.suppress(ChildProcessError):
            os.waitpid(process, 0)
    return [f"{process} {command}" for process, command in killed.items()]


def _start_watchdog(mark: str) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(Path(watchdog.__file__)), f"{VARIABLE}={mark}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C does not reach it
        cwd="/",
    )
    owner = os.getpid()

    def end() -> None:
        if os.getpid() == owner and process.stdin is not None:
            process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_END_SECONDS)

    atexit.register(end)
