"""Tests of the frame: through the front door where that is quick enough, on its pure parts where it is not."""

from __future__ import annotations

import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # helper modules of this folder: stories, front_door

from front_door import Door


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    """The command, run from an empty folder."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # Shells start what they put in the background so, and a program that inherits it never hears of Ctrl-C.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    temp = Path(tempfile.mkdtemp(prefix="d-", dir="/tmp"))
    (tmp_path / "work").mkdir()
    yield Door(tmp_path / "work", temp)
    shutil.rmtree(temp, ignore_errors=True)
