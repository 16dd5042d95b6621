"""The temporary folder of a run, for sockets and state, and removal of folders of killed runs.

The owner removes its folder with `end`. A killed run cannot; so each folder has a file that its owner keeps locked. The
kernel releases the lock when the process ends, and the next run of the same user removes the folders whose lock it can
take; a run with workers does so at its end too. Folders without such a file are ignored.
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
_MEMORY = 1 << 30
_ROUNDS = 5  # a program that ends at this moment can write a file into a folder that was just emptied
ROOM = 40
"""Maximum length of the folder's root."""


class WorkFolder:
    """A new folder, mode 0700, with a path short enough for Unix sockets (108 bytes).

    `small`: for little data in thousands of files, preferably in memory.
    """

    def __init__(self, *, small: bool = False) -> None:
        root = root_for_sockets(small=small)
        remove_all_abandoned()
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=root))
        # The file is locked before it gets its name, so that no other run finds it unlocked.
        new = self.path / f"{_LOCK}.new"
        self._lock = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        new.rename(self.path / _LOCK)

    def end(self) -> None:
        """Remove the folder. Idempotent."""
        # Unlocked last, so that no other run removes the folder at the same time.
        for _ in range(_ROUNDS):
            shutil.rmtree(self.path, ignore_errors=True)
            if not self.path.exists():
                break
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def remove_all_abandoned() -> None:
    """Remove the folders of this user's killed runs, of both kinds: runs of one kind may be rare."""
    for root in {root_for_sockets(), root_for_sockets(small=True)}:
        remove_abandoned(root)


def remove_abandoned(root: Path) -> list[Path]:
    """Remove the folders of this user's killed runs below `root`, and return them."""
    removed = []
    for folder in sorted(root.glob(f"{_PREFIX}*")):
        with contextlib.suppress(OSError):  # already removed, or of another user
            found = folder.lstat()
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and _is_abandoned(folder / _LOCK):
                shutil.rmtree(folder, ignore_errors=True)
                removed.append(folder)
    return removed


def _is_abandoned(lock: Path) -> bool:
    """Whether the owner of this lock file's folder has ended. Raises OSError if the file does not exist."""
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


def root_for_sockets(*, small: bool = False) -> Path:
    """Return the parent of run folders: the user's runtime folder, TMPDIR, or the system's default.

    Root starts programs under test as another user, who must be able to reach it.
    """
    named = (os.environ.get(name) for name in ("XDG_RUNTIME_DIR", "TMPDIR"))
    root = next((folder for folder in named if folder and _is_reachable(folder)), "")
    root = root or (in_memory() if small else "") or tempfile.gettempdir()
    if len(root) > ROOM or not os.access(root, os.W_OK) or not _is_reachable(root):
        root = "/tmp"  # noqa: S108 - mkdtemp makes the folder below it private
    return Path(root)


def _is_reachable(folder: str) -> bool:
    """Return whether the programs under test can reach a folder: another user, if this process is root."""
    if os.geteuid() != 0:
        return True
    path = Path(folder).absolute()
    with contextlib.suppress(OSError):
        return all(each.stat().st_mode & stat.S_IXOTH for each in (path, *path.parents))
    return False


def in_memory() -> str:
    """Return a file system in memory with space, from which libraries can be loaded; empty if there is none."""
    folder = "/dev/shm"  # noqa: S108 - mkdtemp makes the folder below it private
    try:
        found = os.statvfs(folder)
    except OSError:
        return ""
    fits = found.f_bavail * found.f_frsize >= _MEMORY and os.access(folder, os.W_OK | os.X_OK)
    return folder if fits and not found.f_flag & os.ST_NOEXEC else ""
