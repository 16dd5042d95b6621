"""The ELF reader returns a library's dynamic tables and rejects other files."""

from __future__ import annotations

from pathlib import Path

import pytest

import fake_nvml
from dra_conformance.components import elf
from fake_nvml.src import gen_layout


def test_read_returns_the_dynamic_tables() -> None:
    found = elf.read(fake_nvml.library_path())
    assert found.name == "libnvidia-ml.so.1"
    assert set(gen_layout.read_exports()) <= found.exported
    assert "memcpy" in found.undefined
    assert any(name.startswith("libc") for name in found.needed)
    assert not found.thread_storage


@pytest.mark.parametrize("content", [b"", b"#!/bin/sh\n", b"\x7fELF\x01\x01", b"\x7fELF\x02\x01" + bytes(10)])
def test_files_that_are_not_elf_are_rejected(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ValueError, match="is not a readable ELF file"):
        elf.read(tmp_path / "file")
