"""Reads files that others write: regular files only, up to a size.

A FIFO would block the reader for ever, a device such as /dev/zero and a huge file would fill the memory.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

MAX_SIZE: Final = 16 << 20
"""Bytes. The largest files of correct programs are checkpoints and dumps of CDI, of some 100 kB."""


class UnusableFileError(OSError):
    """The file is not a regular file, or is larger than the limit."""


def read(path: Path, *, limit: int = MAX_SIZE) -> bytes:
    """Return the content of a regular file, or of the one that a link leads to. Raises OSError."""
    # Opening a FIFO waits for its writer without O_NONBLOCK, which has no effect on a regular file.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UnusableFileError(errno.EINVAL, "not a regular file", str(path))
        # The content and not only the status: the file can grow, and files of /proc have no size.
        content = b"" if status.st_size > limit else file.read(limit + 1)
        if max(len(content), status.st_size) > limit:
            raise UnusableFileError(errno.EFBIG, f"larger than {limit} bytes", str(path))
        return content


def read_text(path: Path, *, limit: int = MAX_SIZE) -> str:
    """Return the content of a regular file of UTF-8. Raises OSError or UnicodeDecodeError."""
    return read(path, limit=limit).decode()


def tail(path: Path, size: int) -> bytes:
    """Return at most the last `size` bytes of a regular file. Raises OSError."""
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - size))
        return file.read(size)
