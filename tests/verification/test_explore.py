"""Exploration with fresh seeds: it ends in time, keeps what fails and removes what passes."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from dra_api.clock import AdvanceableClock
from dra_conformance.core.events import EventLog, KillsFinished
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
    assert {path.name for path in tmp_path.iterdir()} == {"run-00000001", "taint-matrix-next"}


def test_a_round_is_repeatable_by_its_seed(tmp_path: Path) -> None:
    first, second = (
        list(explore.commands("ffffffff", tmp_path, part=1, differential=False, fuzz=False)) for _ in range(2)
    )
    assert first == second
    assert "0.1" in first[-1][1]


class Killer:
    """Makes reports of runs that killed a binder three times, and moves the clock by 20 s."""

    def __init__(self, clock: AdvanceableClock, *, failing: str = "none", kills: int = 3) -> None:
        self.clock, self.failing, self.kills = clock, failing, kills
        self.commands: list[list[str]] = []

    def __call__(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        self.commands.append(command)
        report = Path(command[-1])
        report.mkdir(parents=True)
        log = EventLog(report / "events.jsonl", clock=self.clock)
        if self.kills:
            log.emit(KillsFinished(component="binder", moment="after", writes=("patch pods",) * self.kills))
        log.close()
        self.clock.advance(20)
        return subprocess.CompletedProcess(command, int(self.failing in command[-1]), "the output")


def numbers() -> Iterator[str]:
    return (f"{number:08x}" for number in count())


def test_components_are_killed_until_the_wanted_number(tmp_path: Path) -> None:
    clock = AdvanceableClock()
    run = Killer(clock, failing="kills-00000001")
    kills, failed = explore.kill(7, 10, tmp_path, run=run, clock=clock, seeds=numbers(), target=["--binder", "kai"])
    assert kills == 9
    assert len(run.commands) == 3
    assert all("--binder" in command for command in run.commands)
    assert [command[-1] for command in failed] == [str(tmp_path / "kills-00000001")]
    assert [path.name for path in tmp_path.iterdir()] == ["kills-00000001"]


def test_kills_end_in_time(tmp_path: Path) -> None:
    clock = AdvanceableClock()
    run = Killer(clock)
    assert explore.kill(1000, 1, tmp_path, run=run, clock=clock, seeds=numbers()) == (9, [])
    assert list(tmp_path.iterdir()) == []


def test_runs_that_kill_nothing_are_not_repeated(tmp_path: Path) -> None:
    clock = AdvanceableClock()
    run = Killer(clock, kills=0)
    assert explore.kill(1000, 10, tmp_path, run=run, clock=clock, seeds=numbers()) == (0, [])
    assert len(run.commands) == 1


def test_the_parts_of_the_taint_matrix_follow_each_other(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert [explore.next_part(out) for _ in range(explore.MATRIX_PARTS + 1)] == [*range(1, explore.MATRIX_PARTS + 1), 1]
    ((_, command), _) = explore.commands("0", out, part=7, differential=False, fuzz=False)
    assert command[-5:-2] == ["--all", "--part", f"7/{explore.MATRIX_PARTS}"]
