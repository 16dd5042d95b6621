"""The tests run in the background (`make test &`), where shells ignore SIGINT."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_a_program_that_a_test_starts_does_not_ignore_sigint() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", "import signal; print(signal.getsignal(signal.SIGINT))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "default_int_handler" in ended.stdout


def test_the_tests_set_sigint_themselves() -> None:
    nested = f"{Path(__file__).name}::test_a_program_that_a_test_starts_does_not_ignore_sigint"
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"tests/engine/{nested}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    assert ended.returncode == 0, ended.stdout
