"""Tests of the engine: through the command line if that is quick enough, else on its pure parts."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # helper modules of this folder: invented_runs, command_line

from command_line import CommandLine


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[CommandLine]:
    """Return the command line in an empty folder."""
    temp = Path(tempfile.mkdtemp(prefix="d-", dir="/tmp"))
    temp.chmod(0o711)  # root starts programs as another user; in a private directory no run would put its files
    (tmp_path / "work").mkdir()
    yield CommandLine(tmp_path / "work", temp)
    shutil.rmtree(temp, ignore_errors=True)
