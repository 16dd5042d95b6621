"""Marks the programs that this process starts, so that none survives it.

A program can leave its process group and session. It inherits its environment, whose mark finds it, and becomes a
child of this process when its parent ends (PR_SET_CHILD_SUBREAPER). Where the machine permits it, a program under test
also gets a cgroup, which finds processes that clear their environment. A watchdog kills the programs if this process
is killed itself; it ends with this process.
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
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dra_conformance.core import control_groups, watchdog

VARIABLE: Final = "DRA_CONFORMANCE_PROGRAM"
_ROOT: Final = Path(__file__).parents[2]
_PR_SET_CHILD_SUBREAPER: Final = 36
_END_SECONDS: Final = 5.0

_WATCHDOG: Final = """
import sys
sys.path.insert(0, sys.argv[1])
from dra_conformance.core import watchdog
watchdog.main(*sys.argv[2:])
"""

_lock = threading.Lock()
_numbers = itertools.count(1)
_owners: dict[int, _Owner] = {}
"""What a process has for its programs, by its id: a forked child needs its own."""


@dataclass(frozen=True, slots=True)
class _Owner:
    mark: str
    group: str
    """The cgroup above those of the programs; empty if there is none."""


@dataclass(frozen=True, slots=True)
class ProgramMark:
    """What the processes of one program have in common.

    `text`: in their environment. `group`: their cgroup; empty if the machine permits none.
    """

    text: str
    group: str


def new_mark(*, with_group: bool) -> ProgramMark:
    """Return the mark of a new program of this process, with a cgroup if it can use one. Start the watchdog once."""
    with _lock:
        if os.getpid() not in _owners:
            mark = uuid.uuid4().hex
            _owners[os.getpid()] = _Owner(mark, control_groups.create(control_groups.own_group(), f"dra-{mark}"))
            _start_watchdog(_owners[os.getpid()])
        owner, number = _owners[os.getpid()], next(_numbers)
        group = control_groups.create(owner.group, str(number)) if with_group else ""
        return ProgramMark(f"{owner.mark}.{number}.", group)


def kill_remaining(mark: ProgramMark, *, group: int) -> list[str]:
    """Kill the processes with a mark that still run. Return ids and command lines of those that left the group.

    `group` is the process group of the program, which has had the signal already.
    """
    killed = watchdog.kill_marked(f"{VARIABLE}={mark.text}".encode(), group=group)
    killed |= watchdog.kill_group(mark.group, group=group)
    for process in killed:
        # Adopted ones must be waited for; others are not children of this process.
        with contextlib.suppress(ChildProcessError):
            os.waitpid(process, 0)
    return [f"{process} {command}" for process, command in killed.items()]


def reap_adopted() -> None:
    """Wait for processes of nested PID namespaces that have ended and were adopted. Returns at once.

    Process 1 of such a namespace does not end before its other processes were waited for, and those whose parent
    was outside are children of this process now.
    """
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            lines = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
            ours = int(lines["PPid"]) == os.getpid() and lines["State"].split()[0] == "Z"
            # A program that this process started has one id: it waits for that itself.
            if ours and len(lines.get("NSpid", "").split()) > 1:
                os.waitpid(int(status.parent.name), os.WNOHANG)


def _start_watchdog(owner: _Owner) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _WATCHDOG, str(_ROOT), f"{VARIABLE}={owner.mark}", owner.group],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C does not reach it
        cwd="/",
    )
    starter = os.getpid()

    def end() -> None:
        if os.getpid() == starter and process.stdin is not None:
            process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_END_SECONDS)

    atexit.register(end)
