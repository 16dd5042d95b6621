"""Whether threads are runnable, as the kernel reports it.

A thread that waits for a lock, a socket or a folder sleeps. It becomes runnable as soon as there is something for it,
even if the machine is too busy to run it. Source: proc_pid_stat(5), field 3.
"""

from __future__ import annotations

import os
import threading

_RUNNABLE = b"RD"  # running or ready to run; waiting for a disk


def any_runnable(*processes: int) -> bool:
    """Return whether a thread of this process, except the caller, or of one of `processes` is runnable.

    Processes that have ended have no threads.
    """
    return any(of_process(process) for process in (os.getpid(), *processes))


def of_process(process: int) -> bool:
    """Return whether a thread of a process, except the caller, is runnable."""
    own = threading.get_native_id()
    folder = f"/proc/{process}/task"
    try:
        threads = os.listdir(folder)
    except OSError:
        return False
    return any(_state(f"{folder}/{thread}/stat") in _RUNNABLE for thread in threads if int(thread) != own)


def _state(path: str) -> bytes:
    """Return the state of a thread; `X` if it has ended."""
    try:
        stat = os.open(path, os.O_RDONLY)
        try:
            content = os.read(stat, 512)
        finally:
            os.close(stat)
    except OSError:
        return b"X"
    # The name of the thread, in parentheses, may itself have parentheses.
    after = content.rindex(b")") + 2
    return content[after : after + 1]
