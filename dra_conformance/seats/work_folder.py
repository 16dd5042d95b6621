"""The short-lived folder of a run, for sockets and state, and what killed runs have left of theirs.

Whoever makes one ends it with `end`. A run that is killed cannot; so each folder holds a file that its owner keeps
locked. The kernel takes the lock away with the process, whatever ended it, and the next run of the same user removes
the folders whose lock it can take. A folder without such a file is nobody's business here.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from pathlib import Path

_PREFIX = "dra-"
_LOCK = "dra-conformance.lock"


class WorkFolder:
    """A fresh folder, mode 0700, with a path short enough for Unix sockets (108 bytes in all)."""

    def __init__(self) -> None:
        root = _root()
        remove_abandoned(root)
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=root))
        # Locked before it has its name: nobody can find it unlocked while we live.
        new = self.path / f"{_LOCK}.new"
        self._lock = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        new.rename(self.path / _LOCK)

    def end(self) -> None:
        """Remove the folder. Idempotent."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def remove_abandoned(root: Path) -> list[Path]:
    """Remove the folders below `root` that dead runs of this user have left; what was removed."""
    removed = []
    for folder in sorted(root.glob(f"{_PREFIX}*")):
        with contextlib.suppress(OSError):  # gone, or somebody else's: not ours to remove
            found = folder.lstat()
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and _is_abandoned(folder / _LOCK):
                shutil.rmtree(folder, ignore_errors=True)
                removed.append(folder)
    return removed


def _is_abandoned(lock: Path) -> bool:
    """Whether the folder of this lock file has an owner no more. Raises OSError where there is no such file."""
    descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return False
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def _root() -> Path:
    root = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    if len(root) > 40 or not os.access(root, os.W_OK):
        root = "/tmp"  # noqa: S108 - mkdtemp makes the folder below it private
    return Path(root)
