"""Fault points: scenarios hook into requests before they are served.

Hooks belong to whoever added them, until `remove`; they run on the request's thread and must be quick.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from dra_conformance.control_plane.embedded.request import Request, RequestInfo
from dra_conformance.control_plane.embedded.status import StatusError


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to a request: wait `delay_s`, then answer `error`, or break the connection, or go on."""

    error: StatusError | None = None
    delay_s: float = 0.0
    drop: bool = False


class ConnectionDroppedError(Exception):
    """The server hangs up without an answer."""


Hook = Callable[[RequestInfo, Request], Fault | None]


class FaultPoints:
    """The hooks of one server."""

    def __init__(self) -> None:
        self._hooks: tuple[Hook, ...] = ()
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._hooks)

    def add(self, hook: Hook) -> Callable[[], None]:
        """Add a hook and return what removes it."""
        with self._lock:
            self._hooks = (*self._hooks, hook)
        return lambda: self.remove(hook)

    def remove(self, hook: Hook) -> None:
        """Remove a hook; unknown ones are ignored."""
        with self._lock:
            self._hooks = tuple(h for h in self._hooks if h is not hook)

    def decide(self, info: RequestInfo, request: Request) -> Fault | None:
        """The first fault that a hook wants."""
        for hook in self._hooks:
            fault = hook(info, request)
            if fault is not None:
                return fault
        return None
