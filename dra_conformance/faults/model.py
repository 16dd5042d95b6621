"""Injected faults: their types, the hooks that decide about them, and the open watches.

Hooks run on the request's thread before the request is forwarded, and may change the cluster themselves. The caller of
`add` removes its hook. Proxy and transport register open watches until they end.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import orjson

from dra_api.request import Request, RequestInfo, request_info
from dra_api.status import StatusError
from dra_api.transport import JSON, Response

_REASONS: Mapping[int, str] = {
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}

_READS = frozenset({"get", "list", "watch"})

Cut = Literal["break", "gone"]
"""How a watch ends: the connection breaks, or the server reports that the version is too old (410)."""


@dataclass(frozen=True, slots=True)
class Call:
    """The attributes of one request of a component."""

    component: str
    info: RequestInfo

    @classmethod
    def of(cls, component: str, method: str, path: str, query: Sequence[tuple[str, str]]) -> Call:
        """Return the attributes of method, decoded path and query."""
        return cls(component, request_info(Request(method, path, query)))

    @property
    def is_read(self) -> bool:
        """Whether the request changes nothing."""
        return self.info.verb in _READS

    @property
    def is_watch(self) -> bool:
        """Whether the request opens a watch."""
        return self.info.verb == "watch"

    def __str__(self) -> str:
        info = self.info
        what = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
        return " ".join(part for part in (self.component, info.verb, what or info.path, info.name) if part)


class Silence:
    """The time in which requests get no response. `end` breaks their connections and ends it for later ones."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self._lock = threading.Lock()
        self._met = 0
        self._waiting: dict[object, Callable[[], None]] = {}

    @property
    def met(self) -> int:
        """The number of requests that have come in it so far."""
        return self._met

    @property
    def waiting(self) -> int:
        """The number of requests that wait for a response now."""
        return len(self._waiting)

    @contextmanager
    def wait(self, on_end: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Count a request as waiting. `on_end` is called from another thread, or at once if the time is over."""
        token = object()
        with self._lock:
            self._met += 1
            self._waiting[token] = on_end
            over = self.over.is_set()
        try:
            if over:
                on_end()
            yield
        finally:
            with self._lock:
                del self._waiting[token]

    def end(self) -> None:
        """End the silence. Idempotent."""
        with self._lock:
            self.over.set()
            callbacks = list(self._waiting.values())
        for on_end in callbacks:
            on_end()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """The fault of one request.

    `code` returns that HTTP status without forwarding the request; `retry_after_s` adds a Retry-After header (whole
    seconds). `lost` breaks the connection: `request` before the server has handled it, `answer` after; with `code`, the
    lost answer is replaced by one of that status. `delay_s` delays the response by that many seconds. `silence` keeps
    the connection open without forwarding the request, until the client gives up or the silence ends; not for watches.
    `then` is called after the fault.
    """

    code: int = 0
    retry_after_s: int = 0
    lost: Literal["", "request", "answer"] = ""
    delay_s: float = 0.0
    silence: Silence | None = None
    then: Callable[[], None] | None = None

    @property
    def forwards(self) -> bool:
        """Whether the server handles the request."""
        return self.lost == "answer" or not (self.lost or self.code or self.silence)

    def __str__(self) -> str:
        if self.silence:
            return "not answered"
        if self.lost and self.code:
            return f"carried out and answered {self.code}"
        if self.lost:
            return f"the {self.lost} is lost"
        return f"answered {self.code}" if self.code else f"answered {self.delay_s:g} s late"

    def answer(self, call: Call) -> Response:
        """Return the error response in the API server's format."""
        details: dict[str, object] = {"retryAfterSeconds": self.retry_after_s} if self.retry_after_s else {}
        headers = {"Retry-After": str(self.retry_after_s)} if self.retry_after_s else {}
        error = StatusError(
            self.code,
            _REASONS.get(self.code, "InternalError"),
            f"the scenario refuses this request ({call})",
            details=details,
            headers=headers,
        )
        lower = {name.lower(): value for name, value in headers.items()}
        return Response(self.code, {"content-type": JSON, **lower}, orjson.dumps(error.body()))


Hook = Callable[[Call], Fault | None]


@dataclass(slots=True, eq=False)
class OpenWatch:
    """An open watch. `cut` ends it from any thread."""

    call: Call
    cut: Callable[[Cut], None]


def expired() -> bytes:
    """Return the event with which an API server ends a watch of a too old version (410 Expired), as one line."""
    error = StatusError(410, "Expired", "The resourceVersion for the provided watch is too old.")
    return orjson.dumps({"type": "ERROR", "object": error.body()})


@dataclass(slots=True, eq=False)
class FaultPoints:
    """The hooks of one run and the watches of its components. `on_fault` is called for every injected fault."""

    on_fault: Callable[[Call, str], None] = lambda call, what: None
    # Replaced and never changed: `decide` reads it without the lock, and hooks may add and remove hooks.
    _hooks: tuple[Hook, ...] = ()
    _watches: list[OpenWatch] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __bool__(self) -> bool:
        return bool(self._hooks)

    def add(self, hook: Hook) -> Callable[[], None]:
        """Add a hook and return a function that removes it."""
        with self._lock:
            self._hooks = (*self._hooks, hook)
        return lambda: self.remove(hook)

    def remove(self, hook: Hook) -> None:
        """Remove a hook; unknown ones are ignored."""
        with self._lock:
            self._hooks = tuple(h for h in self._hooks if h is not hook)

    def decide(self, call: Call) -> Fault | None:
        """Return the first fault of a hook, and report it."""
        for hook in self._hooks:
            fault = hook(call)
            if fault is not None:
                self.on_fault(call, str(fault))
                return fault
        return None

    # -- watches ---------------------------------------------------------------------------------------------------

    def opened(self, watch: OpenWatch) -> Callable[[], None]:
        """Register an open watch and return a function that marks it as ended."""
        with self._lock:
            self._watches.append(watch)

        def ended() -> None:
            with self._lock:
                # A stream marks its end twice if it is closed.
                if watch in self._watches:
                    self._watches.remove(watch)

        return ended

    def watches(self, wanted: Callable[[Call], bool]) -> list[OpenWatch]:
        """Return the open watches whose calls match."""
        with self._lock:
            return [watch for watch in self._watches if wanted(watch.call)]

    def cut_watches(self, wanted: Callable[[Call], bool], how: Cut = "break") -> int:
        """End the matching open watches and return their number."""
        found = self.watches(wanted)
        for watch in found:
            # Logged first, because the component reacts to the cut at once.
            self.on_fault(watch.call, "the watch breaks" if how == "break" else "the watch ends with 410")
            watch.cut(how)
        return len(found)
