"""The call log of a node: which process called which NVML function, on which GPU, and when.

The C library appends one line for each call to the file `calls` beside the state while logging is on (`note` in
src/calls/call_log.c). `start` creates the file; it is removed with the node.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FILE: Final = "calls"


@dataclass(frozen=True, slots=True)
class Call:
    """One call. `time` is in seconds of the monotonic clock; `gpu` None for a call on no GPU; `implemented` False for
    a function that the fake only answers Not Supported or Function Not Found to.
    """

    time: float
    pid: int
    function: str
    gpu: int | None
    implemented: bool
    program: str


def start(path: Path) -> None:
    """Make the log, empty; only this user may read it."""
    # O_NOFOLLOW: a link in the folder must not redirect the log.
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))


def read(path: Path) -> list[Call]:
    """The calls logged so far; none when no log was started. A line that is being written is left out."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    return [_call(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def _call(line: str) -> Call:
    time, pid, function, gpu, mark, *program = line.split(" ", 5)
    return Call(
        time=int(time) / 1e9,
        pid=int(pid),
        function=function,
        gpu=int(gpu) if int(gpu) >= 0 else None,
        implemented=mark != "missing",
        program=program[0] if program else "",
    )


def counts(calls: Iterable[Call]) -> dict[tuple[str, str], int]:
    """How often each program called each function, most frequent first."""
    found: dict[tuple[str, str], int] = {}
    for call in calls:
        key = (call.program, call.function)
        found[key] = found.get(key, 0) + 1
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))
