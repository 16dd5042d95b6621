"""Wait for another program, with a deadline."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from dra_api.clock import RealClock

T = TypeVar("T")
_LONGEST, _TURN = 40.0, 0.1


def until(look: Callable[[], T | None], *, what: str, within: float = _LONGEST) -> T:
    """Return the first true result of `look`. Raises AssertionError naming `what` after `within` seconds."""
    clock, never = RealClock(), threading.Event()
    deadline = clock.monotonic() + within
    while (found := look()) is None or found is False:
        if clock.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {within:.0f} s")
        clock.wait(never, _TURN)
    return found
