"""Tests of a helper process of a scenario: its output, its end, and that it does not outlive its owner."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator

import pytest

from dra_conformance.components.nvml_child import NOTHING, Child

Start = Callable[[str], Child]

WAIT = 30.0


@pytest.fixture
def start() -> Iterator[Start]:
    made: list[Child] = []

    def child(code: str) -> Child:
        made.append(Child(sys.executable, code, (), dict(os.environ)))
        assert made[-1].began
        return made[-1]

    yield child
    for one in made:
        one.kill()
        one.kill()


def test_lines_go_in_and_come_out(start: Start) -> None:
    child = start("for line in __import__('sys').stdin: print('heard', line.strip(), flush=True)")
    for word in ("one", "two"):
        child.say(word)
        assert child.line(WAIT) == f"heard {word}"
    assert child.line(0.0) == NOTHING


def test_lines_that_arrive_together_are_separated(start: Start) -> None:
    child = start("print('one\\ntwo\\nthree', flush=True); input(); print('four')")
    assert [child.line(WAIT) for _ in range(3)] == ["one", "two", "three"]
    assert child.line(0.0) == NOTHING
    child.say("go on")
    assert child.words(WAIT) == ["four"]


def test_the_output_or_the_exit_status_is_returned(start: Start) -> None:
    assert start("print(1, 2); print(3)").words(WAIT) == ["1", "2", "3"]
    assert start("raise SystemExit('so it is')").words(WAIT) == ["ended with 1: so it is"]
    assert start("import os; os.kill(os.getpid(), 9)").words(WAIT) == ["ended with -9: "]
    assert start("import threading; threading.Event().wait()").words(0.2) == ["no end after 0.2 s"]


def test_writing_to_an_ended_process_has_no_effect(start: Start) -> None:
    child = start("")
    assert child.line(WAIT) == ""
    assert child.line(WAIT) == ""
    child.say("hello")
