"""Files that are replaced whole, with and without the step in which two files change names."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from reference_impl.kubelet_plugin import atomicfile
from reference_impl.kubelet_plugin.atomicfile import exchange, remove, write_atomically


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("able", [False, True])
def test_new_content_has_the_name_and_the_old_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, able: bool, there: bool, durable: bool
) -> None:
    if not able:
        monkeypatch.setattr(atomicfile, "_renameat2", None)
    path = tmp_path / "file"
    if there:
        path.write_text("old")
    write_atomically(path, b"new", mode=0o600, durable=durable)
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["file"]


def test_a_reader_that_has_the_file_open_keeps_the_former_content(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with path.open() as reader:
        for _ in range(3):
            write_atomically(path, b"new", mode=0o600, durable=False)
        assert reader.read() == "old"


def test_two_files_change_names_or_nothing_happens(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("1")
    assert not exchange(one, other)
    assert os.listdir(tmp_path) == ["one"]
    other.write_text("2")
    if exchange(one, other):
        assert (one.read_text(), other.read_text()) == ("2", "1")


def test_a_folder_in_the_way_is_no_file_to_change_places_with(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.mkdir()
    with pytest.raises(IsADirectoryError):
        write_atomically(path, b"new", mode=0o600, durable=False)
    assert os.listdir(tmp_path) == ["file"]
    assert path.is_dir()


def test_a_read_only_file_system_has_nothing_of_what_was_never_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel reports a read-only file system before it checks whether the file exists."""

    def refuse(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    remove(tmp_path / "never")
    (tmp_path / "there").write_text("x")
    with pytest.raises(OSError, match="Read-only file system"):
        remove(tmp_path / "there")


def test_a_full_disk_is_reported_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(atomicfile.os, "write", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*/checkpoint\.json'"):
        write_atomically(tmp_path / "checkpoint.json", b"new", mode=0o600)
    assert os.listdir(tmp_path) == []
