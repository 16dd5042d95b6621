"""Exploration with fresh seeds: it ends in time, keeps what fails and removes what passes."""

from __future__ import annotations

import subprocess
from itertools import count
from pathlib import Path

from dra_api.clock import AdvanceableClock
from verification import explore


class Runner:
    """Runs nothing: makes the report of a command, and moves the clock by 40 s."""

    def __init__(self, clock: AdvanceableClock, *, failing: str) -> None:
        self.clock, self.failing = clock, failing
        self.commands: list[list[str]] = []

    def __call__(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        self.commands.append(command)
        Path(command[-1]).mkdir(parents=True)
        self.clock.advance(40)
        return subprocess.CompletedProcess(command, int(self.failing in command[-1]), "the output")


def test_no_round_begins_after_the_time_and_only_failures_are_kept(tmp_path: Path) -> None:
    clock = AdvanceableClock()
    run = Runner(clock, failing="run-00000001")
    seeds = (f"{number:08x}" for number in count())
    failed = explore.explore(3, tmp_path, run=run, clock=clock, seeds=seeds, differential=True, fuzz=True)
    # A round takes 160 s: the rounds at 0 and 160 s begin before 180 s, the one at 320 s does not.
    assert len(run.commands) == 8
    assert [command[-1] for command in failed] == [str(tmp_path / "run-00000001")]
    assert [path.name for path in tmp_path.iterdir()] == ["run-00000001"]


def test_a_round_is_repeatable_by_its_seed(tmp_path: Path) -> None:
    first, second = (list(explore.commands("ffffffff", tmp_path, differential=False, fuzz=False)) for _ in range(2))
    assert first == second
    assert "0.1" in first[-1][1]
