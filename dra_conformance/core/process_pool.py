"""Calls a function for many items, each call in a forked process, a few at a time.

Unlike the pools of the standard library, it survives a child that dies or hangs, as a mutant may do. The children end
with the caller.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
import warnings
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
    item: W
    process: ForkProcess
    result: Connection
    deadline: float
    limit: float


def each(
    items: Sequence[W], function: Callable[[W], A], *, jobs: int, limit: float | Callable[[W], float]
) -> Iterator[tuple[W, A | str]]:
    """Yield every item with the result of `function(item)`, in the order of completion.

    The result is an error text if the child died, raised an exception or exceeded the time limit.

    Args:
        items: the arguments of the calls.
        function: called in a forked process.
        jobs: the number of processes at a time.
        limit: the time limit of one call, in seconds, or a function that returns it for an item.
    """
    fork = multiprocessing.get_context("fork")
    waiting = list(reversed(items))
    running: list[_Child[W]] = []
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                item = waiting.pop()
                receiver, sender = fork.Pipe(duplex=False)
                process = fork.Process(target=_child, args=(function, item, sender))
                with warnings.catch_warnings():
                    # Python 3.12 warns of forks beside threads. NVIDIA's library has some, and a child that uses it
                    # initialises it anew.
                    warnings.simplefilter("ignore", DeprecationWarning)
                    process.start()
                sender.close()  # so that the end of the child closes the pipe
                seconds = limit(item) if callable(limit) else limit
                running.append(_Child(item, process, receiver, time.monotonic() + seconds, seconds))
            soonest = min(child.deadline for child in running) - time.monotonic()
            ready = wait([child.result for child in running], timeout=max(soonest, 0.0))
            for child in list(running):
                if child.result in ready:
                    running.remove(child)
                    yield child.item, _result(child)
                elif time.monotonic() >= child.deadline:
                    running.remove(child)
                    _end(child)
                    yield child.item, f"took more than {child.limit:.0f} s"
    finally:
        for child in running:
            _end(child)


def _result(child: _Child[Any]) -> Any:
    try:
        ok, value = child.result.recv()
    except EOFError:
        child.process.join(_GRACE)
        return f"its process ended with exit code {child.process.exitcode} and no result"
    child.process.join(_GRACE)
    _end(child)  # a child that has sent its result may still hang when it exits
    return value if ok else f"failed outside the scenarios: {value}"


def _end(child: _Child[Any]) -> None:
    """Send SIGTERM, so that a run in the child can stop its programs, and SIGKILL after the grace period."""
    if child.process.is_alive():
        child.process.terminate()
        child.process.join(_GRACE)
    if child.process.is_alive():
        child.process.kill()
        child.process.join()
    child.result.close()


def _child(function: Callable[[Any], Any], item: Any, result: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the caller, which ends its children
    # The output of several children would interleave with the caller's.
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    try:
        outcome: tuple[bool, Any] = (True, function(item))
    except Exception as error:
        outcome = (False, f"{type(error).__name__}: {error}")
    with contextlib.suppress(BrokenPipeError):
        result.send(outcome)
    result.close()
