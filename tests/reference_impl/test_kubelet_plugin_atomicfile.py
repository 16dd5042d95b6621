"""Files that are replaced whole."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from reference_impl.kubelet_plugin import atomicfile
from reference_impl.kubelet_plugin.atomicfile import write_atomically


@pytest.fixture(params=["synced", "exchanged", "replaced"])
def sync(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """All three ways to replace a file: the last one is that of systems that cannot exchange two files."""
    if request.param == "replaced":
        monkeypatch.setattr(atomicfile, "exchange", lambda one, other: False)
    return bool(request.param == "synced")


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("killed_before", [False, True])
def test_new_content_has_the_name_and_the_old_is_gone(
    tmp_path: Path, there: bool, killed_before: bool, sync: bool
) -> None:
    path = tmp_path / "file"
    if there:
        path.write_text("old")
    if killed_before:
        (tmp_path / ".file.partial").write_text("the beginning of a longer text")
    write_atomically(path, b"new", mode=0o600, sync=sync)
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["file"]


def test_a_reader_that_has_the_file_open_keeps_the_former_content(tmp_path: Path, sync: bool) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with path.open() as reader:
        for _ in range(3):
            write_atomically(path, b"new", mode=0o600, sync=sync)
        assert reader.read() == "old"


def test_a_folder_is_not_replaced(tmp_path: Path, sync: bool) -> None:
    path = tmp_path / "file"
    path.mkdir()
    with pytest.raises(IsADirectoryError):
        write_atomically(path, b"new", mode=0o600, sync=sync)
    assert os.listdir(tmp_path) == ["file"]
    assert path.is_dir()


def test_a_full_disk_is_reported_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(atomicfile.os, "write", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*/checkpoint\.json'"):
        write_atomically(tmp_path / "checkpoint.json", b"new", mode=0o600)
    assert os.listdir(tmp_path) == []


def test_two_files_are_exchanged(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("1")
    assert not atomicfile.exchange(one, other)
    other.write_text("2")
    assert atomicfile.exchange(one, other)
    assert (one.read_text(), other.read_text()) == ("2", "1")
