"""Files that are either the old one or the new one, whenever the process is killed.

The caller owns the files. A writer that dies leaves at most a temporary file, which `sweep` removes at the next start.

What a dead process wrote, the kernel still has. Only the death of the machine takes back what was not synced to disk; a
file that nobody reads after a reboot need not wait for the disk, which is most of what a write costs.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

_SUFFIX = ".partial"


def write_atomically(path: Path, data: bytes, *, mode: int, durable: bool = True) -> None:
    """Replace `path` by `data` with permission bits `mode`: write aside, rename; synced to disk where `durable`."""
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}{_SUFFIX}")
    try:
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
        try:
            os.fchmod(descriptor, mode)  # the umask may have taken bits away
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(aside, path)
    except OSError:
        aside.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(path.parent)


def remove(path: Path, *, durable: bool = True) -> None:
    """Remove `path` if it is there; the removal is on disk where `durable`."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
        if durable:
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
