"""The cgroups of one node: a folder of its own in every mounted hierarchy, removed when the node ends.

Source: /proc/mounts for the hierarchies; cgroups(7). Version 1 (one hierarchy a controller) and version 2.
"""

from __future__ import annotations

import contextlib
import os
import threading
import zlib
from pathlib import Path

from dra_api.clock import RealClock

_REMOVE_TIMEOUT = 10.0
_TURN = 0.02


class NodeCgroups:
    """The folder `name` in the hierarchies of `mounts` (the text of /proc/mounts)."""

    def __init__(self, name: str, *, mounts: str | None = None) -> None:
        self.name = name
        text = Path("/proc/mounts").read_text(encoding="utf-8") if mounts is None else mounts
        self._folders = [hierarchy / name for hierarchy in hierarchies(text)]
        # Beside version 1, runc also uses an empty version 2 hierarchy if it is mounted.
        self._all = [hierarchy / name for hierarchy in mounted(text)]

    @property
    def path(self) -> str:
        """The path in the form of a kubelet's `cgroupRoot`."""
        return f"/{self.name}"

    def make(self) -> None:
        """Make the folders; a node gets all processors and memory of the machine."""
        for folder in self._folders:
            _delegate(folder.parent)
            folder.mkdir(exist_ok=True)
            for setting in ("cpuset.cpus", "cpuset.mems"):
                with contextlib.suppress(OSError):  # only if the hierarchy has this controller, and it is empty
                    if not (folder / setting).read_text(encoding="utf-8").strip():
                        (folder / setting).write_text((folder.parent / setting).read_text(encoding="utf-8"))

    def remove(self) -> list[str]:
        """Remove the folders and everything below; those that the kernel still holds after ten seconds."""
        clock, never = RealClock(), threading.Event()
        deadline = clock.monotonic() + _REMOVE_TIMEOUT
        left = self._all
        while left := [folder for folder in left if not _removed(folder)]:
            if clock.monotonic() > deadline:
                break
            clock.wait(never, _TURN)  # a killed process leaves its cgroup shortly after it has exited
        return [str(folder) for folder in left]


def name_for(root: Path) -> str:
    """Return the cgroup name of a node with this root folder, which is in the folder of a run."""
    run = root.parent
    return f"{run.name}.{zlib.crc32(bytes(run.parent)):08x}.{root.name}"


def remove_abandoned(folder: Path, *, mounts: str | None = None) -> list[Path]:
    """Remove the cgroups of killed runs: those whose folder in `folder` no longer exists.

    A cgroup with running processes cannot be removed.
    """
    text = Path("/proc/mounts").read_text(encoding="utf-8") if mounts is None else mounts
    mark = f"{zlib.crc32(bytes(folder)):08x}"
    found = [path for each in mounted(text) for path in sorted(each.glob(f"dra-*.{mark}.*")) if path.is_dir()]
    return [path for path in found if not (folder / path.name.split(".")[0]).exists() and _removed(path)]


def hierarchies(mounts: str) -> list[Path]:
    """Return where cgroups can be created: every hierarchy of version 1, or version 2 if it is the only one."""
    return mounted(mounts, "cgroup") or mounted(mounts, "cgroup2")[:1]


def mounted(mounts: str, *kinds: str) -> list[Path]:
    """Return the mount points of these file systems; by default of both versions of cgroups."""
    lines = [line.split() for line in mounts.splitlines()]
    return [Path(fields[1]) for fields in lines if fields[2] in (kinds or ("cgroup", "cgroup2"))]


def _delegate(parent: Path) -> None:
    """Enable the controllers of `parent` for its children; only version 2 needs that."""
    with contextlib.suppress(OSError):
        for controller in (parent / "cgroup.controllers").read_text(encoding="utf-8").split():
            (parent / "cgroup.subtree_control").write_text(f"+{controller}")


def _removed(folder: Path) -> bool:
    # Children first; the files of a cgroup are removed with it and cannot be unlinked.
    for path, _, _ in os.walk(folder, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(path)
    return not folder.exists()
