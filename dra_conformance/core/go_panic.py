"""Finds the cause of a Go panic in the output of a program: the message, and where it happened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

HEADS = ("panic: ", "fatal error: ")
_FRAMES = 2
"""Frames of the stack, at most; each has two lines."""
_FIRST_PLACE = 2
"""The line of an excerpt with the place of its first frame."""


def excerpt(lines: Sequence[str]) -> list[str]:
    """Return the message of the last panic in a program's output, and the frames that caused it; empty without one.

    The Go runtime prints the stack of the goroutine that panicked first. Its frames are a line with the function and a
    line with the place. Those before the frame `panic(...)` belong to handlers that ran because of the panic, such as
    the gRPC interceptor of Kubernetes' helper for drivers; those after it caused it.
    """
    start = next((at for at in reversed(range(len(lines))) if lines[at].startswith(HEADS)), None)
    if start is None:
        return []
    frames = list(_frames(lines[start + 1 :]))
    panicked = [at for at, (function, _) in enumerate(frames) if function.startswith("panic(")]
    causes = frames[panicked[-1] + 1 :] if panicked else frames
    own = (frame for frame in causes if not frame[0].startswith(("runtime.", "internal/")))
    return [lines[start], *(line for frame in islice(own, _FRAMES) for line in frame)]


def place(lines: Sequence[str]) -> str:
    """Return file and line of the frame that caused the last panic, such as `v1/validate.go:69`; empty without one."""
    found = excerpt(lines)
    # The name of the function, then the path, the line and an offset. The folders above the last differ by build.
    return "/".join(found[_FIRST_PLACE].split()[0].split("/")[-2:]) if len(found) > _FIRST_PLACE else ""


def _frames(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield function and place of each frame of the first stack."""
    started = False
    for function, place in pairwise(lines):
        if started and not function:
            return
        if function.startswith("goroutine "):
            started = True
        elif started and place.startswith("\t"):
            yield function, place
