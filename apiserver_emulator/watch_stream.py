"""A watch as a stream of JSON lines, which both endpoints pass to the client.

A `WatchStream` drains one `Watcher`. A client in this process iterates it, blocking on a condition; the HTTPS endpoint
polls it when its waker fires. The consumer keeps the time of bookmarks and timeout, so that an idle watch needs no
thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import orjson

from apiserver_emulator.store import Record, Watcher
from dra_api.clock import Clock

Obj = dict[str, Any]

BOOKMARK_INTERVAL_S = 60.0
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class WatchStream:
    """One open watch, encoded for one client. `line_end` follows each line on a connection.

    `encode(record)` returns an object's JSON, `bookmark(rv, annotations)` the JSON of a bookmark object. The server
    ends the watch after `timeout_s` seconds. `initial_bookmark` is the revision of the list that `sendInitialEvents`
    starts with: the annotated bookmark follows its objects. `delay` is the time in seconds from a write to its event,
    for clients in this process. A watch keeps its delay, so that two watches of one client run apart.
    """

    line_end = b"\n"

    def __init__(
        self,
        watcher: Watcher,
        *,
        encode: Callable[[Record], bytes],
        bookmark: Callable[[int, Obj | None], bytes],
        revision: Callable[[], int],
        clock: Clock,
        timeout_s: float,
        bookmarks: bool,
        initial_bookmark: int | None = None,
        content_type: str = "application/json",
        delay: float = 0.0,
    ) -> None:
        self._watcher = watcher
        self._delay = delay
        self._encode = encode
        self._bookmark = bookmark
        self._revision = revision
        self._clock = clock
        self._deadline = clock.monotonic() + timeout_s
        self._bookmarks = bookmarks
        self._next_bookmark = clock.monotonic() + BOOKMARK_INTERVAL_S
        # Objects that still precede the annotated bookmark; -1 when none is to be sent. Not the length of the queue:
        # writers may have added events since the watch was opened.
        self._initial = watcher.initial if initial_bookmark is not None else -1
        self._initial_rv = initial_bookmark or 0
        self.content_type = content_type
        self.ended = False

    def set_waker(self, waker: Callable[[], None]) -> None:
        """Call `waker` from any thread whenever there may be something to poll."""
        self._watcher.waker = waker

    def seconds_to_next(self) -> float:
        """Return how long the consumer may sleep without missing a bookmark or the end."""
        return max(0.0, self._next_due() - self._clock.monotonic())

    def _next_due(self) -> float:
        return min(self._deadline, self._next_bookmark) if self._bookmarks else self._deadline

    def poll(self) -> list[bytes]:
        """Return all lines that are ready, without waiting; sets `ended` after the last one."""
        watcher = self._watcher
        lines: list[bytes] = []
        now = self._clock.monotonic()
        # Before the events are taken: a bookmark must not have the revision of an event that is still to be sent.
        revision = self._revision() if self._bookmarks and now >= self._next_due() else 0
        # The list is empty: nothing precedes its end.
        if self._initial == 0:
            lines.append(self._initial_end())
        with watcher.condition:
            items = list(watcher.queue)
            watcher.queue.clear()
            watcher.drained = not items
            closed = watcher.closed
        for kind, record, _ in items:
            lines.append(b'{"type":"%b","object":%b}' % (kind.encode(), self._encode(record)))
            if self._initial > 0:
                self._initial -= 1
                if self._initial == 0:
                    lines.append(self._initial_end())
        if self._bookmarks and not closed and now >= self._next_bookmark:
            self._next_bookmark = now + BOOKMARK_INTERVAL_S
            # Events carry a revision as well: only an idle watch needs a bookmark.
            if not items and self._initial < 0:
                lines.append(self._bookmark_line(revision))
        if closed or now >= self._deadline:
            # The last bookmark lets the client of an idle watch resume from here.
            if not closed and self._bookmarks and self._initial < 0 and not items:
                lines.append(self._bookmark_line(revision))
            self.ended = True
            if not closed:
                watcher.close()
        return lines

    def _initial_end(self) -> bytes:
        self._initial = -1
        body = self._bookmark(self._initial_rv, {INITIAL_EVENTS_END: "true"})
        return b'{"type":"BOOKMARK","object":%b}' % body

    def _bookmark_line(self, revision: int) -> bytes:
        return b'{"type":"BOOKMARK","object":%b}' % self._bookmark(revision, None)

    def __iter__(self) -> Iterator[bytes]:
        watcher = self._watcher
        while True:
            yield from self.poll()
            if self.ended:
                return
            with watcher.condition:
                # Checked again under the lock: an event may have arrived since `poll`.
                if not watcher.queue and not watcher.closed:
                    watcher.drained = True
                    self._clock.condition_wait_until(watcher.condition, self._next_due())
                if self._delay:
                    deadline = self._clock.monotonic() + self._delay
                    # Further events do not end the delay: they are delivered with the first one.
                    while not watcher.closed and self._clock.monotonic() < deadline:
                        self._clock.condition_wait_until(watcher.condition, deadline)

    def close(self) -> None:
        """End the watch from any thread."""
        self._watcher.close()


class ErrorStream:
    """A watch that was refused after its headers: one ERROR event, then the end."""

    content_type = "application/json"
    line_end = b"\n"

    def __init__(self, status: Obj) -> None:
        self._line = b'{"type":"ERROR","object":%b}' % orjson.dumps(status)
        self.ended = False

    def set_waker(self, waker: Callable[[], None]) -> None:
        """Do nothing: the one event is ready."""

    def seconds_to_next(self) -> float:
        """Return 0: the stream ends now."""
        return 0.0

    def poll(self) -> list[bytes]:
        """The error, once."""
        if self.ended:
            return []
        self.ended = True
        return [self._line]

    def __iter__(self) -> Iterator[bytes]:
        yield from self.poll()

    def close(self) -> None:
        """End the stream."""
        self.ended = True
