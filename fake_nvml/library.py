"""Paths of the compiled libraries.

The build hook (`hatch_build.py`) writes them to `lib/` beside this file. The
environment variable FAKE_NVML_LIB names another folder, for libraries that were built otherwise (with a sanitizer).
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Final

from fake_nvml.errors import FakeNvmlError, LibraryMissingError

LIB_DIR: Final = Path(__file__).resolve().parent / "lib"


def library_dir() -> Path:
    """The folder of both libraries."""
    named = os.environ.get("FAKE_NVML_LIB")
    return Path(named).resolve() if named else LIB_DIR


def library_path() -> Path:
    """The fake `libnvidia-ml.so.1`.

    Raises: LibraryMissingError when it was not built.
    """
    return _present(library_dir() / "libnvidia-ml.so.1")


def control_path() -> Path:
    """The control library that this package changes a node's state with.

    Raises: LibraryMissingError when it was not built.
    """
    return _present(library_dir() / "libfakenvml-control.so")


def private_copy(library: Path, folder: Path) -> Path:
    """A copy of the fake library in `folder` (made, 0700) under another SONAME, to be loaded beside others.

    Raises: FakeNvmlError when the library has no SONAME to change.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    data = library.read_bytes()
    # Of equal length, so that no offset in the file changes.
    changed = data.replace(b"libnvidia-ml.so.1\0", b"libnvidia-fn.so.1\0")
    if changed == data:
        raise FakeNvmlError(f"{library} has no SONAME libnvidia-ml.so.1: build it again")
    fd, name = tempfile.mkstemp(prefix="libnvidia-ml.", suffix=".so", dir=folder)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(changed)
    except OSError:
        Path(name).unlink()
        raise
    return Path(name)


def _present(path: Path) -> Path:
    if not path.is_file():
        raise LibraryMissingError(f"{path} does not exist: run `python -m fake_nvml.build` (needs a C compiler)")
    return path
