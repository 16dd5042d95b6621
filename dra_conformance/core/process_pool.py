"""Runs a function on many pieces of work, each in a forked process of its own, a few at a time.

Unlike the pools of the standard library it survives a child that dies or hangs: what a mutant does to its process is
not known beforehand. Children are ended with the caller, whatever happens to it.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Any, Generic, TypeVar

W = TypeVar("W")
A = TypeVar("A")
_GRACE = 5.0  # seconds between SIGTERM and SIGKILL


@dataclass(frozen=True, slots=True)
class _Child(Generic[W]):
    work: W
    process: ForkProcess
    answer: Connection
    deadline: float


def each(work: Sequence[W], function: Callable[[W], A], *, jobs: int, limit: float) -> Iterator[tuple[W, A | str]]:
    """`function(piece)` for every piece, `jobs` at a time, as they come in.

    The answer is a text telling why there is none where the child died, raised, or took more than `limit` seconds.
    """
    fork = multiprocessing.get_context("fork")
    waiting = list(reversed(work))
    running: list[_Child[W]] = []
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                piece = waiting.pop()
                ours, theirs = fork.Pipe(duplex=False)
                process = fork.Process(target=_child, args=(function, piece, theirs))
                process.start()
                theirs.close()
                running.append(_Child(piece, process, ours, time.monotonic() + limit))
            soonest = min(child.deadline for child in running) - time.monotonic()
            ready = wait([child.answer for child in running], timeout=max(soonest, 0.0))
            for child in list(running):
                if child.answer in ready:
                    running.remove(child)
                    yield child.work, _answer(child)
                elif time.monotonic() >= child.deadline:
                    running.remove(child)
                    _end(child)
                    yield child.work, f"took more than {limit:.0f} s"
    finally:
        for child in running:
            _end(child)


def _answer(child: _Child[Any]) -> Any:
    try:
        ok, value = child.answer.recv()
    except EOFError:
        child.process.join(_GRACE)
        return f"its process ended with exit code {child.process.exitcode} and no answer"
    child.process.join(_GRACE)
    _end(child)
    return value if ok else f"failed outside the scenarios: {value}"


def _end(child: _Child[Any]) -> None:
    """SIGTERM lets the run in the child end what it started; SIGKILL for one that does not listen."""
    if child.process.is_alive():
        child.process.terminate()
        child.process.join(_GRACE)
    if child.process.is_alive():
        child.process.kill()
        child.process.join()
    child.answer.close()


def _child(function: Callable[[Any], Any], piece: Any, answer: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the caller, which ends us
    quiet = os.open(os.devnull, os.O_WRONLY)  # what children say would tangle with what the caller says
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    try:
        told: tuple[bool, Any] = (True, function(piece))
    except Exception as error:
        told = (False, f"{type(error).__name__}: {error}")
    with contextlib.suppress(BrokenPipeError):
        answer.send(told)
    answer.close()
