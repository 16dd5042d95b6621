"""Records the lines that a Python process executes, when the process that started it collects the map of lines.

Every process of a trial imports this module, so coverage.py is imported only to record.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import time
from pathlib import Path
from types import FrameType

DATA, CONTEXT, SOURCES = "DRA_SURVEY_DATA", "DRA_SURVEY_CONTEXT", "DRA_SURVEY_SOURCES"
"""Environment variables: the folder of the data files, the scenario, and the recorded folders."""
_SAVE = signal.SIGUSR1
_SAVED = "saved"
"""The beginning of the name of an empty file that says that a process has written its data after the signal."""


def start_from_environment() -> None:
    """Start to record if the environment says so; the data are written when the process ends."""
    folder = os.environ.get(DATA)
    if not folder:
        return
    # Deferred: most processes record nothing.
    from verification.mutation_survey import reach

    recorder = reach.recorder(os.path.join(folder, "child"), os.environ[SOURCES].split(os.pathsep), suffix=True)
    recorder.start()
    recorder.switch_context(os.environ.get(CONTEXT, ""))

    def save() -> None:
        recorder.stop()
        recorder.save()

    def save_now(number: int, frame: FrameType | None) -> None:
        recorder.save()
        Path(folder, f"{_SAVED}-{os.getpid()}").touch()

    atexit.register(save)
    signal.signal(_SAVE, save_now)


def save_before_kill(pid: int, *, limit: float = 5.0) -> None:
    """Let a process write its data, and wait for it; a process that does not record ends.

    Scenarios kill the processes that they start, and a killed process writes nothing.
    """
    saved = Path(os.environ[DATA], f"{_SAVED}-{pid}")
    saved.unlink(missing_ok=True)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, _SAVE)
    deadline = time.monotonic() + limit
    while not saved.exists() and _runs(pid) and time.monotonic() < deadline:
        # A file is the only sign of the other process; the clock of the suite is not imported, so that it is recorded.
        time.sleep(0.01)


def _runs(pid: int) -> bool:
    try:
        # The third field; the second, the name of the program, can have spaces.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
