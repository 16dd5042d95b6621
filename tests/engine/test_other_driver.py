"""Tests that no scenario of a driver depends on the reference's words, formats, names or defaults."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.other_driver.driver import other_words

ROOT = Path(__file__).parents[2]


def test_every_scenario_of_a_driver_passes_with_a_driver_of_other_words_formats_names_and_defaults() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.other_driver"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[0]) > 320


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('unknown field "sharin"', '"sharin"'),
        ("requested device gpu-0-mig-1g10gb-19-0 is taken", "gpu-0-mig-1g10gb-19-0"),
        ("--imex-mode hostManaged needs the gate HostManagedIMEXDaemon=true", "HostManagedIMEXDaemon=true"),
        ("field sharing must be an object", "sharing"),
    ],
)
def test_names_stay_and_words_do_not(text: str, kept: str) -> None:
    found = other_words(text)
    assert kept in found
    assert not set(text.split()) & set(found.split()) - set(kept.split()) - {"--imex-mode", "hostManaged"}
