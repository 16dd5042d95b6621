"""Clocks as arguments: real time, or time that a scenario can advance.

Every wait of the project goes through a `Clock`, so that a scenario can advance time by thirty seconds at once. A clock
owns no thread and needs no cleanup.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from typing import Protocol, runtime_checkable
from weakref import WeakSet


class Activity(Protocol):
    """A source of background work that reports whether it is idle, such as a work queue or a watch."""

    def is_idle(self) -> bool:
        """Whether no work is pending, in progress, or due within `SOON` seconds. Must not block for long."""
        ...


SOON = 0.1
"""Seconds within which delayed work counts as pending."""


@runtime_checkable
class Clock(Protocol):
    """The time functions that components use."""

    def monotonic(self) -> float:
        """Seconds since an arbitrary start; never goes back."""
        ...

    def now(self) -> datetime:
        """Wall time, aware, in UTC."""
        ...

    def wait(self, event: threading.Event, timeout: float | None) -> bool:
        """Wait until `event` is set or `timeout` seconds of this clock have passed; return whether it is set."""
        ...

    def condition_wait(self, condition: threading.Condition, timeout: float | None) -> bool:
        """Like `Condition.wait` (the lock is held), in this clock's seconds. May wake early."""
        ...

    def wait_until(self, event: threading.Event, deadline: float) -> bool:
        """Like `wait`, to a time of `monotonic`.

        Use it for deadlines. If a caller computes the remaining seconds and then calls `wait`, time that is advanced in
        between does not count, and the wait is too long.
        """
        ...

    def condition_wait_until(self, condition: threading.Condition, deadline: float | None) -> bool:
        """Like `condition_wait`, to a time of `monotonic`; see `wait_until`."""
        ...

    def register(self, activity: Activity) -> None:
        """Include `activity` in idle checks as long as it is referenced elsewhere."""
        ...

    def in_flight(self, *, open_ended: bool = False) -> AbstractContextManager[None]:
        """Mark the time of a call to another program: its deadline must not pass by a jump of this clock.

        `open_ended`: the program may leave the call unanswered, as a driver that waits for something else does.
        """
        ...


class RealClock:
    """The machine's time."""

    def monotonic(self) -> float:
        """Seconds since an arbitrary start."""
        return time.monotonic()

    def now(self) -> datetime:
        """Wall time, aware, in UTC."""
        return datetime.now(UTC)

    def wait(self, event: threading.Event, timeout: float | None) -> bool:
        """Wait for `event`, at most `timeout` seconds."""
        return event.wait(timeout)

    def condition_wait(self, condition: threading.Condition, timeout: float | None) -> bool:
        """Wait for a notification, at most `timeout` seconds."""
        return condition.wait(timeout)

    def wait_until(self, event: threading.Event, deadline: float) -> bool:
        """Wait for `event` until `deadline`."""
        return event.wait(max(deadline - time.monotonic(), 0.0))

    def condition_wait_until(self, condition: threading.Condition, deadline: float | None) -> bool:
        """Wait for a notification until `deadline`."""
        return condition.wait(None if deadline is None else max(deadline - time.monotonic(), 0.0))

    def register(self, activity: Activity) -> None:
        """Do nothing: real time has no idle check."""

    def in_flight(self, *, open_ended: bool = False) -> AbstractContextManager[None]:
        """Do nothing: real time does not jump."""
        return nullcontext()


class AdvanceableClock:
    """Real time plus an offset: time passes by itself, and `advance` adds to it.

    A wait with a timeout ends when the advanced time reaches it. Other processes do not see the offset, so steps
    advance time only if every component concerned runs in this process. The clock also knows all registered activities,
    and so whether everything is idle (the idea of trio's autojump clock).
    """

    def __init__(self) -> None:
        self._offset = 0.0
        self._lock = threading.Lock()
        self._waiting: Counter[threading.Condition] = Counter()  # several threads may wait on one condition
        self._activities: WeakSet[Activity] = WeakSet()
        self._calls = 0
        self._open_ended = 0

    def monotonic(self) -> float:
        """Seconds since an arbitrary start, jumps included."""
        return time.monotonic() + self._offset

    def now(self) -> datetime:
        """Wall time plus all jumps."""
        return datetime.now(UTC) + timedelta(seconds=self._offset)

    def advance(self, seconds: float, *, calls: int | None = None) -> bool:
        """Advance time by `seconds`, and return whether time has advanced.

        With `calls`, time advances only if at most so many calls are in flight: another program works in real time,
        and would miss a deadline of this clock. Raises ValueError for a negative number of seconds.
        """
        if seconds < 0:
            raise ValueError(f"time cannot go back by {-seconds} s")
        with self._lock:
            # Checked under the lock: a call that begins later reads its deadline after the jump.
            if calls is not None and self._calls > calls:
                return False
            self._offset += seconds
            waiting = list(self._waiting)
        for condition in waiting:
            with condition:
                condition.notify_all()
        return True

    @property
    def calls(self) -> int:
        """The number of calls in flight."""
        return self._calls

    @property
    def open_ended_calls(self) -> int:
        """The number of calls in flight that may stay unanswered."""
        return self._open_ended

    @contextmanager
    def in_flight(self, *, open_ended: bool = False) -> Iterator[None]:
        """Count a call as in flight. Enter before its deadline is computed."""
        with self._lock:
            self._calls += 1
            self._open_ended += open_ended
        try:
            yield
        finally:
            with self._lock:
                self._calls -= 1
                self._open_ended -= open_ended

    def register(self, activity: Activity) -> None:
        """Include `activity` in `is_idle` as long as it is referenced elsewhere."""
        with self._lock:
            self._activities.add(activity)

    def is_idle(self) -> bool:
        """Whether all registered activities are idle and no call is in flight.

        Every activity is checked twice. Work may move from one activity to another between their checks, for example
        from a watch to a queue, and the first round misses it. The second round finds it where it arrived.
        """
        with self._lock:
            activities = list(self._activities)
            if self._calls:
                return False
        return all(activity.is_idle() for _ in range(2) for activity in activities) and not self._calls

    def wait(self, event: threading.Event, timeout: float | None) -> bool:
        """Wait for `event`, at most `timeout` seconds of this clock."""
        if timeout is None:
            return event.wait()
        return self.wait_until(event, self.monotonic() + timeout)

    def wait_until(self, event: threading.Event, deadline: float) -> bool:
        """Wait for `event` until `deadline`."""
        # A CPython Event is built on a Condition of this name; a wait on it ends on both set() and advance().
        condition: threading.Condition = event._cond  # type: ignore[attr-defined]
        with condition:
            while not event.is_set():
                if self.monotonic() >= deadline:
                    return False
                self._wait_registered(condition, deadline)
        return True

    def condition_wait(self, condition: threading.Condition, timeout: float | None) -> bool:
        """Wait for a notification, at most `timeout` seconds of this clock. May wake early."""
        return self.condition_wait_until(condition, None if timeout is None else self.monotonic() + timeout)

    def condition_wait_until(self, condition: threading.Condition, deadline: float | None) -> bool:
        """Wait for a notification until `deadline`."""
        if deadline is None:
            return condition.wait()
        self._wait_registered(condition, deadline)
        return self.monotonic() < deadline

    def _wait_registered(self, condition: threading.Condition, deadline: float) -> None:
        with self._lock:
            self._waiting[condition] += 1
        try:
            # An advance between the caller's check and here cannot be lost: it needs the condition's lock to notify,
            # and the remaining time is read again after registration.
            remaining = deadline - self.monotonic()
            if remaining > 0:
                condition.wait(remaining)
        finally:
            with self._lock:
                self._waiting[condition] -= 1
                if not self._waiting[condition]:
                    del self._waiting[condition]


def timestamp(moment: datetime) -> str:
    """Return RFC 3339 text with seconds, the format of metav1.Time."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_timestamp(moment: datetime) -> str:
    """Return RFC 3339 text with microseconds, the format of metav1.MicroTime."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_timestamp(text: str) -> datetime:
    """Parse a metav1.Time or MicroTime. Raises ValueError for other text."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
