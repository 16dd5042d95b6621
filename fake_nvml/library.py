"""Where the compiled libraries are.

They are made by the build hook (`hatch_build.py`) and lie in `lib/` beside this file; nothing here changes them. The
environment variable FAKE_NVML_LIB names another folder, for libraries that were built otherwise (with a sanitizer).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from fake_nvml.errors import LibraryMissingError

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


def _present(path: Path) -> Path:
    if not path.is_file():
        raise LibraryMissingError(f"{path} does not exist: run `python -m fake_nvml.build` (needs a C compiler)")
    return path
