"""Kills the programs of a harness that was killed: `watchdog.py MARK [CGROUP]`, with a pipe of it as standard input.

The kernel closes the pipe when the harness ends, however it ends. Every process with MARK in its environment is then
killed, also those that have left their process group or session, and is named on standard error. So is every process
in the cgroup of the harness's programs, which is removed.

Runs with `python -I -S` as a program of its own; this module and `control_groups` import only the standard library.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys

from dra_conformance.core import control_groups

_ROUNDS = 20  # a process can fork while the others are killed


def marked(mark: bytes) -> dict[int, str]:
    """Return the processes with an entry of their environment that begins with a mark: command lines by id."""
    found: dict[int, str] = {}
    for name in os.listdir("/proc"):
        # A process can end at any time, and those of other users are not readable.
        with contextlib.suppress(OSError):
            if not name.isdecimal() or int(name) == os.getpid():
                continue
            with open(f"/proc/{name}/environ", "rb") as file:
                environment = b"\0" + file.read()
            if b"\0" + mark in environment:
                found[int(name)] = control_groups.command_line(int(name))
    return found


def kill_marked(mark: bytes, *, group: int = 0) -> dict[int, str]:
    """Kill the processes with a mark until there is none. Return what was killed outside of a process group."""
    killed: dict[int, str] = {}
    for _ in range(_ROUNDS):
        found = marked(mark)
        for process, command in found.items():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                # Those of the group have had the signal already, and may not have ended yet.
                outside = _is_outside(process, group)
                os.kill(process, signal.SIGKILL)
                if outside:
                    killed[process] = command
        if not found:
            break
    return killed


def kill_group(path: str, *, group: int = 0) -> dict[int, str]:
    """Kill the processes in a cgroup and remove it. Return what was killed outside of a process group."""
    if not path or not os.path.isdir(path):
        return {}
    found = {
        process: command for process, command in control_groups.members(path).items() if _is_outside(process, group)
    }
    control_groups.kill(path)
    control_groups.remove(path)
    return found


def _is_outside(process: int, group: int) -> bool:
    try:
        return os.getpgid(process) != group
    except ProcessLookupError:
        return False


def main(mark: str, group: str) -> None:
    """Wait for the end of the harness, then kill and name what it started."""
    # The harness ignores interrupts of its terminal while it cleans up.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    for process, command in {**kill_group(group), **kill_marked(mark.encode())}.items():
        # The terminal may be gone.
        with contextlib.suppress(OSError):
            # Without its arguments, which may have secrets.
            name = command.split(" ", 1)[0]
            shown = "".join(c if c.isprintable() else "?" for c in name)
            print(f"dra-conformance: the run was killed; killed its process {process}: {shown}", file=sys.stderr)
