"""Atomic replacement of files: after a kill or a power failure, a file is either the old one or the new one.

A killed writer leaves at most one temporary file for each name, which the next write replaces.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

PARTIAL = ".partial"
"""Suffix of temporary files; their names begin with a dot and the name of the file."""


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
        os.replace(aside, path)
    except OSError as error:
        error.filename = error.filename or str(path)  # the error of a write to an open file has no name
        with contextlib.suppress(OSError):
            aside.unlink()
        raise
