"""Time, as a thing that is passed in.

Every wait of the project goes through a `Clock`, so that a scenario can let thirty seconds pass at once. A clock owns
no thread; whoever made it may drop it.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Protocol, runtime_checkable
from weakref import WeakSet


class Party(Protocol):
    """Something that works by itself and can tell when it has nothing to do: a queue, a watch."""

    def at_rest(self) -> bool:
        """Whether nothing waits to be done, now or within `SOON` seconds. Must not block for long."""
        ...


SOON = 0.1
"""Seconds within which a delayed piece of work counts as waiting."""


@runtime_checkable
class Clock(Protocol):
    """What parts may ask of time."""

    def monotonic(self) -> float:
        """Seconds since an arbitrary start; never goes back."""
        ...

    def now(self) -> datetime:
        """Wall time, aware, in UTC."""
        ...

    def wait(self, event: threading.Event, timeout: float | None) -> bool:
        """Wait until `event` is set or `timeout` seconds of this clock have passed; True when it is set."""
        ...

    def condition_wait(self, condition: threading.Condition, timeout: float | None) -> bool:
        """Like `Condition.wait` (the lock is held), in this clock's seconds. May wake early."""
        ...

    def enlist(self, party: Party) -> None:
        """Count `party`, as long as it lives, among those that work by this clock."""
        ...


class RealClock:
    """The machine's own time."""

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

    def enlist(self, party: Party) -> None:
        """Nobody asks the machine's time who works by it."""


class AdvanceableClock:
    """Real time plus an offset that a test can raise: time flows by itself, and `advance` lets more of it pass at once.

    Parts that wait with a timeout wake when the advanced time passes it. Programs outside this process do not see the
    jump, which is why steps only use it where every component concerned runs in process. It also knows who works by it, and
    so whether all of them are at rest (the idea of trio's autojump clock).
    """

    def __init__(self) -> None:
        self._offset = 0.0
        self._lock = threading.Lock()
        self._waiting: Counter[threading.Condition] = Counter()  # several threads may wait on one condition
        self._parties: WeakSet[Party] = WeakSet()

    def monotonic(self) -> float:
        """Seconds since an arbitrary start, jumps included."""
        return time.monotonic() + self._offset

    def now(self) -> datetime:
        """Wall time plus all jumps."""
        return datetime.now(UTC) + timedelta(seconds=self._offset)

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass at once. Raises ValueError when negative: time never goes back."""
        if seconds < 0:
            raise ValueError(f"time cannot go back by {-seconds} s")
        with self._lock:
            self._offset += seconds
            waiting = list(self._waiting)
        for condition in waiting:
            with condition:
                condition.notify_all()

    def enlist(self, party: Party) -> None:
        """Ask `party` from now on, as long as it lives, whether it is at rest."""
        with self._lock:
            self._parties.add(party)

    def at_rest(self) -> bool:
        """Whether everybody who works by this clock has nothing to do.

        All are asked twice: what goes from one to another while they are asked was with neither at its turn, and is
        with the second then.
        """
        with self._lock:
            parties = list(self._parties)
        return all(party.at_rest() for _ in range(2) for party in parties)

    def wait(self, event: threading.Event, timeout: float | None) -> bool:
        """Wait for `event`, at most `timeout` seconds of this clock."""
        if timeout is None or event.is_set():
            return event.wait(timeout)
        # Every CPython Event is built on a Condition of this name; waiting on it lets both set() and advance() wake us.
        condition: threading.Condition = event._cond  # type: ignore[attr-defined]
        deadline = self.monotonic() + timeout
        with condition:
            while not event.is_set():
                if self.monotonic() >= deadline:
                    return False
                self._wait_registered(condition, deadline)
        return True

    def condition_wait(self, condition: threading.Condition, timeout: float | None) -> bool:
        """Wait for a notification, at most `timeout` seconds of this clock. May wake early."""
        if timeout is None:
            return condition.wait()
        deadline = self.monotonic() + timeout
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
    """RFC 3339 with seconds, as metav1.Time is written."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_timestamp(moment: datetime) -> str:
    """RFC 3339 with microseconds, as metav1.MicroTime is written."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_timestamp(text: str) -> datetime:
    """Read a metav1.Time or MicroTime. Raises ValueError when it is neither."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
