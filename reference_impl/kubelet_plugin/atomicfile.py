"""Files that are either the old one or the new one, whenever the process is killed.

The caller owns the files. A writer that dies leaves at most a temporary file, which `sweep` removes at the next start.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

_SUFFIX = ".partial"


def write_atomically(path: Path, data: bytes, *, mode: int) -> None:
    """Replace `path` by `data` with permission bits `mode`: write aside, fsync, rename, fsync the folder."""
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}{_SUFFIX}")
    try:
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)  # the umask may have taken bits away
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except OSError:
        aside.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def remove(path: Path) -> None:
    """Remove `path` if it is there, and make that last."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
        sync_folder(path.parent)


def sweep(folder: Path, *, prefix: str) -> list[Path]:
    """Remove what killed writers left of files whose names begin with `prefix`; returns what was removed."""
    left = [path for path in folder.glob(f".{prefix}*{_SUFFIX}") if path.is_file()]
    for path in left:
        path.unlink(missing_ok=True)
    return left


def sync_folder(folder: Path) -> None:
    """Make renames and removals in `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
