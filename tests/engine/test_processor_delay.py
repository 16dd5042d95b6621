"""Deadlines are put off by the time in which programs waited for a processor, and by nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dra_api.clock import AdvanceableClock
from dra_conformance.core.processor_delay import MOST, PROC, Deadline, ProcessorDelay

ROOT = 100
SECOND = 10**9


class Machine:
    """A folder like /proc, with the delays of threads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def set(self, pid: int, *seconds: float, children: str = "") -> None:
        """Give a process as many threads as there are delays."""
        for number, delay in enumerate(seconds):
            thread = self.folder / str(pid) / "task" / str(pid + number)
            thread.mkdir(parents=True, exist_ok=True)
            (thread / "schedstat").write_text(f"5000 {round(delay * SECOND)} 7\n")
            (thread / "children").write_text(children if number == len(seconds) - 1 else "")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def delay(machine: Machine) -> ProcessorDelay:
    machine.set(ROOT, 0.0)
    return ProcessorDelay(ROOT, proc=machine.folder)


def test_of_each_process_the_thread_that_waited_longest_counts(machine: Machine, delay: ProcessorDelay) -> None:
    machine.set(ROOT, 1.0, 4.0, children="200 300 ")
    machine.set(200, 2.0)
    machine.set(300, 1.0, 0.5)
    before = delay.now()
    machine.set(ROOT, 2.5, 4.5, children="200 300 ")
    machine.set(200, 2.25)
    assert delay.seconds_since(before) == 1.75
    machine.set(300, 1.0, 0.5, children="400")
    machine.set(400, 3.0)  # started meanwhile, by a process that was started
    assert delay.seconds_since(before) == 4.75


def test_a_kernel_that_counts_nothing_puts_nothing_off(tmp_path: Path) -> None:
    delay = ProcessorDelay(ROOT, proc=tmp_path)
    assert delay.seconds_since(delay.now()) == 0
    (tmp_path / str(ROOT) / "task" / str(ROOT)).mkdir(parents=True)
    (tmp_path / str(ROOT) / "task" / str(ROOT) / "schedstat").write_text("0 0 0 0\n")
    assert delay.seconds_since(delay.now()) == 0


def test_a_deadline_is_put_off_by_the_delay_so_far(machine: Machine, delay: ProcessorDelay) -> None:
    clock = AdvanceableClock()
    deadline = Deadline(clock, 100.0, delay)
    machine.set(ROOT, 30.0)
    assert not deadline.is_over()
    clock.advance(101.0)
    assert not deadline.is_over()
    assert 28.0 < deadline.remaining < 30.0
    machine.set(ROOT, 40.0)
    clock.advance(30.0)
    assert not deadline.is_over()
    assert 8.0 < deadline.remaining < 10.0
    clock.advance(10.0)
    assert deadline.is_over()


def test_a_deadline_is_not_put_off_without_end(machine: Machine, delay: ProcessorDelay) -> None:
    clock = AdvanceableClock()
    deadline = Deadline(clock, 100.0, delay)
    machine.set(ROOT, 10_000.0)
    clock.advance(101.0)
    assert not deadline.is_over()
    assert deadline.remaining < 100.0 * MOST
    clock.advance(100.0 * MOST)
    assert deadline.is_over()


@pytest.mark.skipif(not (PROC / "self/schedstat").exists(), reason="this kernel does not count delays")
def test_a_process_that_shares_a_processor_has_waited_for_it() -> None:
    cpu = min(os.sched_getaffinity(0))
    busy = f"import os; os.sched_setaffinity(0, {{{cpu}}})\nfor _ in range(10**7): pass\ninput()"
    both = [
        subprocess.Popen([sys.executable, "-c", busy], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) for _ in "ab"
    ]
    try:
        delay = ProcessorDelay()
        before = {os.getpid(): delay.now()[os.getpid()]}
        assert {one.pid for one in both} <= delay.now().keys()
        while not delay.seconds_since(before):
            pass
    finally:
        for one in both:
            one.communicate(b"\n")
