"""Atomic replacement of files: after a kill, and with `sync` after a power failure, a file is the old or the new one.

A killed writer leaves at most one temporary file for each name, which the next write replaces.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from pathlib import Path

PARTIAL = ".partial"
"""Suffix of temporary files; their names begin with a dot and the name of the file."""

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # linux/fcntl.h, linux/fs.h
_renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)
"""Python has no function for it; some C libraries have none either."""


def write_atomically(path: Path, data: bytes, *, mode: int, sync: bool = True) -> None:
    """Replace `path` by `data` with permission bits `mode`: write to a temporary file, sync, rename.

    Without `sync`, a power failure may damage the file; a kill does not. Two writers of one path must not run at the
    same time.
    """
    aside = path.with_name(f".{path.name}{PARTIAL}")
    try:
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
        try:
            os.fchmod(descriptor, mode)  # the umask may have taken bits away
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]
            if sync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        # A folder could be exchanged, too, but not replaced.
        if not sync and os.path.isfile(path) and exchange(aside, path):
            os.unlink(aside)  # the old file
        else:
            os.replace(aside, path)
    except OSError as error:
        error.filename = error.filename or str(path)  # the error of a write to an open file has no name
        with contextlib.suppress(OSError):
            aside.unlink()
        raise


def exchange(one: Path, other: Path) -> bool:
    """Exchange the names of two files in one step; return whether the system could do it.

    ext4 starts to write a file that was not synced when it replaces another one, which can take longer than a sync; it
    does not when the two are exchanged.
    """
    if _renameat2 is None:
        return False
    return bool(_renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0)


def sync_folder(folder: Path) -> None:
    """Write the names of a folder to the disk: without this, a power failure may undo a replacement that was synced."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
