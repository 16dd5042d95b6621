"""Tests of the short-lived folders of runs: only folders of dead runs are removed."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dra_conformance.components import work_folder
from dra_conformance.components.work_folder import WorkFolder, remove_abandoned

OWNER = """
import sys
from dra_conformance.components import work_folder
from dra_conformance.components.work_folder import WorkFolder
folder = WorkFolder()
(folder.path / "sockets").mkdir()
print(folder.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import tempfile

    short = Path(tempfile.mkdtemp(prefix="w-", dir="/tmp"))
    short.chmod(0o711)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(short))
    yield short  # type: ignore[misc]
    import shutil

    shutil.rmtree(short)


def owner(root: Path) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_RUNTIME_DIR": str(root)},
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_a_folder_is_private_and_ends_with_its_owner(root: Path) -> None:
    folder = WorkFolder()
    assert folder.path.parent == root
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    folder.end()
    folder.end()
    assert list(root.iterdir()) == []


@pytest.mark.parametrize("user", [0, 1000])
def test_root_uses_a_folder_that_other_users_can_reach(root: Path, monkeypatch: pytest.MonkeyPatch, user: int) -> None:
    (root / "private").mkdir(mode=0o700)
    (root / "private" / "open").mkdir(mode=0o711)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(root / "private" / "open"))
    monkeypatch.setenv("TMPDIR", str(root))
    monkeypatch.setattr(work_folder.os, "geteuid", lambda: user)
    assert work_folder.root_for_sockets() == (root if user == 0 else root / "private" / "open")


def test_the_folder_of_a_killed_run_is_removed_and_that_of_a_running_one_is_not(root: Path) -> None:
    process, path = owner(root)
    assert remove_abandoned(root) == []
    own = WorkFolder()
    assert path.is_dir()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.communicate()
    assert (path / "sockets").is_dir(), "killed, so nobody tidied up"
    assert remove_abandoned(root) == [path]
    assert list(root.iterdir()) == [own.path]
    own.end()


@pytest.mark.parametrize("there", ["nothing", "folder", "link", "half-made"])
def test_other_folders_are_not_removed(root: Path, there: str) -> None:
    folder = root / "dra-x"
    if there == "link":
        (root / "elsewhere").mkdir()
        (root / "elsewhere" / "dra-conformance.lock").touch()
        folder.symlink_to(root / "elsewhere")
    else:
        folder.mkdir()
    if there == "folder":
        (folder / "dra-conformance.lock").mkdir()
    if there == "half-made":
        (folder / "dra-conformance.lock.new").touch()
    assert remove_abandoned(root) == []
    assert folder.exists()


def test_concurrent_runs_do_not_remove_each_others_folders(root: Path) -> None:
    made: list[WorkFolder] = []

    def make() -> None:
        for _ in range(20):
            made.append(WorkFolder())

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 80
    assert all(folder.path.is_dir() for folder in made)
    for folder in made:
        folder.end()


def test_a_run_in_memory_removes_abandoned_folders_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    roots = {True: tmp_path / "memory", False: tmp_path / "disk"}
    for root in roots.values():
        (root / "dra-old").mkdir(parents=True)
        (root / "dra-old" / "dra-conformance.lock").touch()
    monkeypatch.setattr(work_folder, "root_for_sockets", lambda *, small=False: roots[small])
    folder = WorkFolder(small=True)
    assert [list(root.iterdir()) for root in roots.values()] == [[folder.path], []]
    folder.end()
