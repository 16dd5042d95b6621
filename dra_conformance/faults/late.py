"""Watches that report every change a fixed time after the API server has sent it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator

from dra_api.clock import Clock
from dra_api.transport import Stream, TransportError

Lag = Callable[[str], float]
"""Returns the delay in seconds of one more watch of a resource (plural name)."""


def no_lag(resource: str) -> float:
    """Return 0: watches are not delayed."""
    return 0.0


class LateStream:
    """A watch whose events arrive `delay` seconds late, each after its own arrival.

    A thread reads the inner watch from the first iteration until the watch ends. `clock` is real time.
    """

    def __init__(self, inner: Stream, delay: float, *, clock: Clock) -> None:
        self._inner = inner
        self._delay = delay
        self._clock = clock
        self._closed = threading.Event()
        self._events: queue.SimpleQueue[tuple[float, bytes | TransportError | None]] = queue.SimpleQueue()

    def __iter__(self) -> Iterator[bytes]:
        threading.Thread(target=self._read, name="late-watch", daemon=True).start()
        while True:
            due, event = self._events.get()
            if self._closed.is_set() or event is None:
                return
            if isinstance(event, TransportError):
                raise event
            if self._clock.wait_until(self._closed, due):
                return
            yield event

    def close(self) -> None:
        """End the watch; events that are held back are lost."""
        self._closed.set()
        self._inner.close()
        self._events.put((0.0, None))

    def _read(self) -> None:
        end: TransportError | None = None
        try:
            for event in self._inner:
                self._events.put((self._clock.monotonic() + self._delay, event))
        except TransportError as error:
            end = error
        self._events.put((0.0, end))
