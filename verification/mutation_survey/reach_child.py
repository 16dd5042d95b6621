"""Records the lines that a Python process executes, when the process that started it collects the map of lines.

Every process of a trial imports this module, so coverage.py is imported only to record.
"""

from __future__ import annotations

import atexit
import os

DATA, CONTEXT, SOURCES = "DRA_SURVEY_DATA", "DRA_SURVEY_CONTEXT", "DRA_SURVEY_SOURCES"
"""Environment variables: the folder of the data files, the scenario, and the recorded folders."""


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

    atexit.register(save)
