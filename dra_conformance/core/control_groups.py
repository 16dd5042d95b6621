"""Cgroups (version 2) that hold what a program under test starts, see cgroups(7).

A process can clear its environment, leave its session and end its parent; it stays in the cgroup, which it leaves only
with write access to another one. A group is made below the one of the harness, where the machine permits that: to root
on most machines, to a user below a unit of systemd that is delegated to it, seldom in a container.

Imports nothing but the standard library: the watchdog runs with `python -I -S`.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal

KILL = "cgroup.kill"
_WAIT_MS = 2000
"""How long the kernel may take to end killed processes."""
_ROUNDS = 5  # without cgroup.kill, which Linux has since 5.14, a process can fork while the others are killed
_COMMAND = 200  # characters of a command line


def own_group() -> str:
    """Return the directory of this process's cgroup; empty if there is no file system of version 2."""
    with contextlib.suppress(OSError, ValueError):
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            paths = [line.rstrip("\n")[3:] for line in file if line.startswith("0::")]
        with open("/proc/self/mountinfo", encoding="utf-8") as file:
            for line in file:
                before, _, after = line.partition(" - ")
                if paths and after.startswith("cgroup2 "):
                    root, place = before.split()[3:5]
                    # A container may see only its own part of the tree.
                    below = os.path.relpath(paths[0], root)
                    if not below.startswith(".."):
                        return os.path.normpath(os.path.join(place, below))
    return ""


def create(parent: str, name: str) -> str:
    """Make a group and return its directory; empty if the parent is, or if the machine does not permit it."""
    if not parent:
        return ""
    path = os.path.join(parent, name)
    try:
        os.mkdir(path, 0o755)
    except OSError:
        return ""
    return path if os.access(entrance(path), os.W_OK) else ""


def entrance(group: str) -> str:
    """Return the file into which a process writes 0 to enter the group."""
    return os.path.join(group, "cgroup.procs")


def members(group: str) -> dict[int, str]:
    """Return the processes of a group and of those below it: command lines by id."""
    found: dict[int, str] = {}
    for folder, _, _ in os.walk(group):
        # A process, or a group that a program made, can end at any time.
        with contextlib.suppress(OSError), open(entrance(folder), encoding="utf-8") as file:
            for line in file:  # 0 is a process of another PID namespace, which has no command line here
                with contextlib.suppress(OSError):
                    found[int(line)] = command_line(int(line))
    return found


def command_line(process: int) -> str:
    """Return the beginning of the command line of a process. Raises OSError if it has ended."""
    with open(f"/proc/{process}/cmdline", "rb") as file:
        return file.read().replace(b"\0", b" ").decode(errors="replace").strip()[:_COMMAND]


def kill(group: str) -> None:
    """Kill all processes of a group and of those below it, and wait until they have ended."""
    with contextlib.suppress(OSError), open(os.path.join(group, KILL), "wb", buffering=0) as file:
        file.write(b"1")
        _wait_until_empty(group)
        return
    for _ in range(_ROUNDS):
        found = members(group)
        for process in found:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        if not found:
            break
    _wait_until_empty(group)


def remove(group: str) -> None:
    """Remove a group without processes and those below it. One that still has processes stays."""
    for folder, _, _ in os.walk(group, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def _wait_until_empty(group: str) -> None:
    with contextlib.suppress(OSError), open(os.path.join(group, "cgroup.events"), "rb", buffering=0) as file:
        poll = select.poll()
        poll.register(file, select.POLLPRI)
        while b"populated 1" in os.pread(file.fileno(), 4096, 0):
            if not poll.poll(_WAIT_MS):
                return
