"""Verification jobs that are interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from polling import wait_until

_JOBS = """
import sys
from verification import jobs
first = "open('started', 'w').close(); import signal; signal.pause()"
# The worker may begin the second job before the first one's end has interrupted the main thread.
second = "import time; time.sleep(60); open('second', 'w').close()"
words = [sys.executable, "-c", first], [sys.executable, "-c", second]
jobs.run([jobs.of_command(str(at), -at, each) for at, each in enumerate(words)], parallel=1)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_what_runs_and_starts_nothing_more(tmp_path: Path, number: signal.Signals) -> None:
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-c", _JOBS],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(root)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_until((tmp_path / "started").exists)
    # Ctrl-C in a terminal reaches the group.
    os.killpg(process.pid, number) if number is signal.SIGINT else os.kill(process.pid, number)
    _, err = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in err
    assert not (tmp_path / "second").exists()
    wait_until(lambda: not group_exists(process.pid))  # init reaps the last ones


def group_exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
