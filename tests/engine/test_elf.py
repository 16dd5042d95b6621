"""The ELF reader sees what a library says of itself, and takes nothing else for one."""

from __future__ import annotations

from pathlib import Path

import pytest

import fake_nvml
from dra_conformance.components import elf
from fake_nvml.src import gen_layout


def test_a_library_is_read_from_its_file() -> None:
    found = elf.read(fake_nvml.library_path())
    assert found.name == "libnvidia-ml.so.1"
    assert set(gen_layout.read_exports()) <= found.exported
    assert "memcpy" in found.undefined
    assert any(name.startswith("libc") for name in found.needed)
    assert not found.thread_storage


@pytest.mark.parametrize("content", [b"", b"#!/bin/sh\n", b"\x7fELF\x01\x01" + bytes(64)])
def test_what_is_no_such_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ValueError, match="is no 64-bit little-endian ELF file"):
        elf.read(tmp_path / "file")
