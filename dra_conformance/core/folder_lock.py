"""Locks the folder of a run, so that a second run does not remove the files of the first."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from dra_conformance.core.errors import UsageError


def lock(folder: Path) -> int:
    """Lock a folder and return the descriptor that holds the lock. Raises UsageError if another run holds it.

    The kernel releases the lock when the descriptor is closed, also if the process is killed.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        hint = "Wait for its end, or use --out for another directory."
        raise UsageError(f"another run writes to {folder}", hint=hint) from None
    return descriptor
