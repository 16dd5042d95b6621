"""Separates programs under test from the harness, so that they cannot change its results.

A harness that runs as root starts them as another user; another harness starts them in a user namespace with a
read-only file system (`isolated_exec`). Both hide the memory, the open files and the environment of the harness, and
refuse writes to the report directory. Programs keep the directories that they own: sockets, CDI files, scratch files.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import orjson

from dra_api.private_file import write_private
from dra_conformance.core.control_groups import entrance
from dra_conformance.core.errors import UsageError

Mode = Literal["user", "namespace", "off"]

# systemd's range for dynamic users: packages and administrators do not use these ids.
_FIRST_UID, _UIDS = 61184, 4336
_HELPER = Path(__file__).with_name("isolated_exec.py")
_PR_SET_DUMPABLE = 4
_TRIAL_SECONDS = 30.0
PASSED = ("PATH", "HOME", "TMPDIR", "TZ", "LANG", "LANGUAGE")
"""The variables of the harness's environment that programs under test get, besides those of the locale (`LC_*`)."""
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolation:
    """How programs under test are separated from this process.

    `uid`: their user and group in the mode `user`. `reason`: why there is no isolation in the mode `off`. `hidden`:
    directories of the harness that programs must not see in a namespace. `owned`: directories that they may write.
    `mounts`: what a program sees at paths of the machine, as pairs of a source and a target, in any mode; `view` is an
    empty directory for a new root, which is needed if a target is missing. `root`: whether a program with such mounts
    is root in a user namespace of its own, as a driver on a node is root in its container. `fuse`: files that a FUSE
    server of the harness answers for, as pairs of its connection and a target, with the options of these mounts.
    `pass_env`: variables of the harness's environment that programs get in addition to PASSED. `leaves_processes`:
    whether processes that a program leaves behind stay, as the containers of containerd do.
    """

    mode: Mode = "off"
    uid: int = 0
    reason: str = ""
    hidden: tuple[Path, ...] = ()
    owned: tuple[Path, ...] = field(default=())
    mounts: tuple[tuple[Path, Path], ...] = ()
    view: Path = Path("/nonexistent")
    root: bool = False
    fuse: tuple[tuple[int, Path], ...] = ()
    fuse_options: str = ""
    pass_env: tuple[str, ...] = ()
    leaves_processes: bool = False

    @property
    def label(self) -> str:
        """The isolation as reports show it."""
        return f"{NOT_ISOLATED}: {self.reason}" if self.mode == "off" else self.mode

    def give(self, *paths: Path) -> None:
        """Make a program under test the owner of files or directories."""
        if self.mode != "user":
            return
        for path in paths:
            os.chown(path, self.uid, self.uid)

    def copy(self, path: Path, folder: Path) -> Path:
        """Return a private copy of a file in a folder, which a program under test owns."""
        found = folder / path.name
        write_private(found, path.read_bytes())
        self.give(found)
        return found

    def reach(self, *folders: Path) -> None:
        """Let programs under test pass through private directories; they can neither list nor change them."""
        if self.mode != "user":
            return
        for folder in folders:
            mode = folder.stat().st_mode
            if mode & 0o011 != 0o011:
                folder.chmod(mode | 0o011)

    def with_folders(self, *folders: Path) -> Isolation:
        """Return this isolation for a program that owns these directories."""
        return replace(self, owned=(*self.owned, *folders))

    @property
    def plain(self) -> Isolation:
        """This isolation without mounts, for programs of the harness that run as the user of the program under test."""
        return replace(self, mounts=(), root=False, fuse=())

    def with_fuse(self, files: Iterable[tuple[int, Path]], options: str) -> Isolation:
        """Return this isolation for a program that sees files of a FUSE server of this process."""
        return replace(self, fuse=tuple(files), fuse_options=options)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The descriptors that `command` needs."""
        return tuple(descriptor for descriptor, _ in self.fuse)

    def with_mounts(self, mounts: Iterable[tuple[Path, Path]], *, view: Path, root: bool = False) -> Isolation:
        """Return this isolation for a program that sees each source at its target, and is root there if possible."""
        found = replace(self, mounts=(*self.mounts, *mounts), view=view)
        return replace(found, root=not no_mounts(replace(self, root=True))) if root else found

    @property
    def needs_helper(self) -> bool:
        """Whether a program of the harness prepares the process and then becomes the program."""
        return self.mode != "off" or bool(self.mounts)

    def command(self, words: Sequence[str], *, group: str = "") -> list[str]:
        """Return the command line that starts a program, in a cgroup if there is one and the helper is needed."""
        if not self.needs_helper:
            return list(words)
        spec: dict[str, Any] = {"parent": os.getpid()}
        if group:
            spec["cgroup"] = entrance(group)
        if self.mounts:
            spec["mounts"] = [[str(source), str(target)] for source, target in self.mounts]
            spec["view"], spec["root"] = str(self.view), self.root
            spec["fuse"] = [[descriptor, str(target)] for descriptor, target in self.fuse]
            spec["fuse_options"] = self.fuse_options
        if self.mode == "user":
            spec["uid"] = self.uid
        elif self.mode == "namespace":
            spec["hidden"], spec["owned"] = [str(path) for path in self.hidden], [str(path) for path in self.owned]
        return [sys.executable, "-I", "-S", str(_HELPER), orjson.dumps(spec).decode(), *words]

    def environment(self, variables: Mapping[str, str], *, own: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the environment of a program under test.

        Args:
            variables: what the harness sets for the program.
            own: the environment of the harness, of which the program gets little; by default that of this process.
        """
        found = {name: value for name, value in (os.environ if own is None else own).items() if self._passes(name)}
        found.update(variables)
        if self.mode != "off" and "HOME" not in self.pass_env and "TMPDIR" in found:
            found["HOME"] = found["TMPDIR"]  # the user's own is not readable, or not writable
        return found

    def _passes(self, name: str) -> bool:
        return name in PASSED or name.startswith("LC_") or name in self.pass_env


NOT_ISOLATED = "not isolated"
NONE = Isolation(reason="it is not a program under test")
"""Of the harness's own programs, which get its whole environment."""


def of_kubernetes(pass_env: Sequence[str] = ()) -> Isolation:
    """Return the isolation of Kubernetes' own programs below the components: control plane, kubelet, containerd.

    They get as little of the environment as programs under test, and the places of certificates.
    """
    return Isolation(reason="it is part of the cluster", pass_env=(*_CERTIFICATES, *pass_env), leaves_processes=True)


def choose(wanted: str, *, run_id: str, programs: Iterable[str] = (), hidden: Iterable[Path] = ()) -> Isolation:
    """Return the isolation of a run.

    Args:
        wanted: the option `--isolation`.
        run_id: the user of a run's programs depends on it, so that programs of two runs differ.
        programs: the executables; `auto` isolates none if the other user cannot execute one of them.
        hidden: the directories of the harness.

    Raises UsageError if the machine cannot isolate programs in the requested way.
    """
    uid = _FIRST_UID + int(run_id, 16) % _UIDS
    if wanted == "off":
        return Isolation(reason="--isolation off")
    if wanted in ("auto", "user"):
        problem = _no_other_user(uid, tuple(programs))
        if not problem:
            return Isolation(mode="user", uid=uid)
        if wanted == "user":
            raise UsageError(f"--isolation user: {problem}")
        if os.geteuid() == 0:  # in a namespace its files would still belong to root
            return Isolation(reason=problem)
    if problem := _no_namespace():
        if wanted == "namespace":
            raise UsageError(f"--isolation namespace: {problem}")
        return Isolation(reason=f"the harness does not run as root, and {problem}")
    return Isolation(mode="namespace", hidden=tuple(hidden))


def protect_this_process() -> None:
    """Refuse other processes of this user access to the memory, files and environment of this process.

    See PR_SET_DUMPABLE in prctl(2) and ptrace(2); root with all capabilities keeps access.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


@cache
def _no_other_user(uid: int, programs: tuple[str, ...]) -> str:
    """Return why programs cannot run as another user; empty if they can."""
    if os.geteuid() != 0:
        return "only root can start programs as another user"
    for program in programs:
        path = shutil.which(program) or program
        try:
            # As that user: directories above the program count too.
            words = ["/bin/sh", "-c", 'test -x "$1"', "sh", path]
            command = Isolation(mode="user", uid=uid).command(words)
            done = subprocess.run(command, check=False, capture_output=True, timeout=_TRIAL_SECONDS)
        except (OSError, subprocess.SubprocessError) as error:
            return f"no program can be started as user {uid}: {error}"
        if done.returncode:
            return (
                f"the user {uid} may not execute {os.path.realpath(path)}: install it where all users can read it, or "
                "do not run the suite as root"
            )
    return ""


def no_mounts(isolation: Isolation) -> str:
    """Return why this machine cannot show a program other files at paths of the machine; empty if it can."""
    # Without what differs between drivers, so that there is one trial for a run.
    return _cached_trial(replace(isolation, hidden=(), owned=(), mounts=()))


@cache
def _cached_trial(isolation: Isolation) -> str:
    with tempfile.TemporaryDirectory(prefix="dra-mounts-") as folder:
        source, view = Path(folder, "source"), Path(folder, "view")
        source.mkdir()
        view.mkdir()
        # Targets that exist, and one that does not.
        targets = [(source, Path("/sys")), (source, Path("/dra-conformance-trial"))]
        words = ["/bin/sh", "-c", "test -d /dra-conformance-trial && ! test -e /sys/bus"]
        return _trial(replace(isolation, mounts=tuple(targets), view=view), words)


def _trial(isolation: Isolation, words: Sequence[str]) -> str:
    """Return why a command fails in an isolation; empty if it does not."""
    try:
        done = subprocess.run(isolation.command(words), check=False, capture_output=True, timeout=_TRIAL_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        return f"no program can be started in a namespace: {error}"
    said = done.stderr.decode(errors="replace").strip().splitlines()
    return "" if done.returncode == 0 else (said[-1] if said else "the kernel permits no such namespace")


@cache
def _no_namespace() -> str:
    """Return why programs cannot run in a user namespace; empty if they can."""
    if os.geteuid() == 0:
        return "a user namespace does not separate a program from root's files"
    return _trial(Isolation(mode="namespace"), ["/bin/true"])
