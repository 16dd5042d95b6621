"""Events on objects, written in the background so that they never delay the work that they report.

Each call of `event` becomes a core/v1 Event in the object's namespace. An event that repeats an earlier one of this
process increments its count, as client-go's recorder does. The recorder owns one thread between `start` and `stop`;
`stop` writes what is still queued.

Source: client-go tools/record v0.36 (event.go, events_cache.go): names, counts, dropping when the queue is full.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict, deque
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from dra_api.client import KubeClient, NotFound
from dra_api.clock import Clock, timestamp
from dra_api.objects import EVENTS, Obj, name_of, namespace_of, uid_of
from dra_api.threads import started
from reference_impl.errors import log_failed

log = logging.getLogger(__name__)

EventType = Literal["Normal", "Warning"]

_REMEMBERED = 4096
_MESSAGE_LIMIT = 1024


@dataclass(frozen=True, slots=True)
class _Event:
    regarding: Obj
    type: EventType
    reason: str
    message: str
    at: str

    @property
    def key(self) -> tuple[str, ...]:
        where = self.regarding
        return (
            where["kind"],
            where.get("namespace", ""),
            where["name"],
            where.get("uid", ""),
            self.reason,
            self.message,
        )


class EventRecorder:
    """Writes events as one component.

    `component` is the events' source; `capacity` is how many events may wait before new ones are dropped.
    """

    def __init__(self, client: KubeClient, *, component: str, clock: Clock, capacity: int = 10_000) -> None:
        self.component = component
        self._client = client
        self._clock = clock
        self._capacity = capacity
        self._condition = threading.Condition()
        self._queue: deque[_Event] = deque()
        self._written: OrderedDict[tuple[str, ...], tuple[str, int]] = OrderedDict()
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._last_stamp = 0
        self._writing = False
        clock.register(self)

    def is_idle(self) -> bool:
        """Return whether every event has been written."""
        with self._condition:
            return not self._queue and not self._writing

    def start(self) -> None:
        """Begin to write."""
        if self._thread is None:
            self._thread = started(self._run, name=f"events-{self.component}")

    def stop(self) -> None:
        """Write what is queued, then end the thread. Idempotent."""
        with self._condition:
            self._stopping = True
            self._condition.notify_all()
        if self._thread is not None:
            self._thread.join(timeout=10)

    def event(self, pod: Obj, type_: EventType, reason: str, message: str, *, at: datetime | None = None) -> None:
        """Record an event on a pod, or on another object with apiVersion and kind. Never blocks or raises.

        `at` is the time of the event; None means now.
        """
        regarding: Obj = {
            "apiVersion": pod.get("apiVersion") or "v1",
            "kind": pod.get("kind") or "Pod",
            "name": name_of(pod),
            "namespace": namespace_of(pod),
            "uid": uid_of(pod),
            "resourceVersion": pod["metadata"].get("resourceVersion", ""),
        }
        regarding = {key: value for key, value in regarding.items() if value}
        stamp = timestamp(at or self._clock.now())
        with self._condition:
            if len(self._queue) >= self._capacity:
                log.warning("%s: too many events are waiting; dropped %s: %s", self.component, reason, message)
                return
            self._queue.append(_Event(regarding, type_, reason, message[:_MESSAGE_LIMIT], stamp))
            self._condition.notify_all()

    # -- inside ----------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            with self._condition:
                while not self._queue:
                    if self._stopping:
                        return
                    self._condition.wait()
                event = self._queue.popleft()
                self._writing = True
            try:
                self._write(event)
            except Exception as error:  # even a bug must cost one event, not all later ones
                log_failed(log, f"{self.component}: event {event.reason}", error, level=logging.DEBUG)
            finally:
                with self._condition:
                    self._writing = False

    def _write(self, event: _Event) -> None:
        known = self._written.get(event.key)
        if known is not None:
            name, count = known
            try:
                self._client.patch(
                    EVENTS, name, {"count": count + 1, "lastTimestamp": event.at}, event.regarding.get("namespace")
                )
            except NotFound:  # expired or removed: begin a new one
                self._written.pop(event.key, None)
            else:
                self._remember(event.key, name, count + 1)
                return
        name = self._name(event.regarding["name"])
        self._client.create(
            EVENTS,
            {
                "metadata": {"name": name, "namespace": event.regarding.get("namespace") or "default"},
                "involvedObject": event.regarding,
                "reason": event.reason,
                "message": event.message,
                "type": event.type,
                "source": {"component": self.component},
                "reportingComponent": self.component,
                "reportingInstance": "",
                "firstTimestamp": event.at,
                "lastTimestamp": event.at,
                "eventTime": None,
                "count": 1,
            },
        )
        self._remember(event.key, name, 1)

    def _remember(self, key: tuple[str, ...], name: str, count: int) -> None:
        self._written[key] = (name, count)
        self._written.move_to_end(key)
        while len(self._written) > _REMEMBERED:
            self._written.popitem(last=False)

    def _name(self, regarding: str) -> str:
        # As in client-go: the object's name and the time in nanoseconds, here made strictly increasing.
        stamp = max(int(self._clock.now().timestamp() * 1e9), self._last_stamp + 1)
        self._last_stamp = stamp
        # Cut, so that the name with its suffix stays within the limit of 253 characters.
        return f"{regarding[:230]}.{stamp:x}"
