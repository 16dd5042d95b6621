"""Private files (mode 0600): keys, kubeconfigs, passwords, output of programs. The owner of the folder removes them."""

from __future__ import annotations

import os
from pathlib import Path


def write_private(path: Path, data: bytes) -> None:
    """Write a file with mode 0600, also if it existed with another mode."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    path.chmod(0o600)


def private(path: str, flags: int) -> int:
    """Open a file, which only this user may read if it is new: the `opener` of `open`."""
    return os.open(path, flags, 0o600)
