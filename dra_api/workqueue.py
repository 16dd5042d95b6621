"""A work queue with client-go's semantics: one worker at a time handles a key, and no key is lost.

A key that is added while a worker handles it is handled again afterwards. Delays and back-off use the given clock. The
queue starts no thread.

Source: client-go util/workqueue v0.36 (queue.go, delaying_queue.go, default_rate_limiters.go).
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections import OrderedDict, deque
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from dra_api.clock import SOON, Clock

K = TypeVar("K", bound=Hashable)

# One of this many handled keys may be an idle key whose time is over: it makes progress, and delays the others little.
_IDLE_TURN = 4


class WorkQueue(Generic[K]):
    """Keys to reconcile.

    `base_delay` and `max_delay` are the exponential back-off of `add_rate_limited`, in seconds.
    """

    def __init__(self, clock: Clock, *, base_delay: float = 0.005, max_delay: float = 60.0) -> None:
        self._clock = clock
        self._base_delay = base_delay
        self._max_delay = max_delay
        self._condition = threading.Condition()
        self._queue: deque[K] = deque()
        self._dirty: set[K] = set()
        self._processing: set[K] = set()
        self._failures: dict[K, int] = {}
        self._later: list[tuple[float, int, K]] = []
        self._due: dict[K, float] = {}
        self._idle: OrderedDict[K, float] = OrderedDict()
        self._since_idle = 0
        self._sequence = itertools.count()
        self._closed = False
        clock.register(self)

    def add(self, key: K) -> None:
        """Queue `key` for the next free worker."""
        with self._condition:
            self._add(key)

    def add_after(self, key: K, seconds: float) -> None:
        """Queue `key` in `seconds`; if it is already due earlier, that time is kept."""
        if seconds <= 0:
            self.add(key)
            return
        with self._condition:
            due = self._clock.monotonic() + seconds
            if self._closed or self._due.get(key, float("inf")) <= due:
                return
            self._due[key] = due
            # The sequence number breaks ties: keys need not be comparable.
            heapq.heappush(self._later, (due, next(self._sequence), key))
            self._condition.notify()

    def add_idle(self, key: K, *, within: float) -> None:
        """Queue `key` until no other key is ready, or after `within` seconds in turns with the others.

        After `within` seconds one key in four is such an idle key, so that they make progress and delay ready keys
        little. If the key is added in another way before, it is handled once, then.
        """
        with self._condition:
            if self._closed or key in self._dirty or key in self._idle:
                return
            self._idle[key] = self._clock.monotonic() + within
            self._condition.notify()

    def add_rate_limited(self, key: K) -> float:
        """Queue `key` after its back-off and return the seconds until then."""
        with self._condition:
            failures = self._failures.get(key, 0)
            self._failures[key] = failures + 1
        # The exponent is capped because 2.0 ** 1024 overflows.
        delay = min(self._base_delay * 2.0 ** min(failures, 40), self._max_delay)
        self.add_after(key, delay)
        return delay

    def failures(self, key: K) -> int:
        """Return how often `key` was added with back-off since `forget`."""
        with self._condition:
            return self._failures.get(key, 0)

    def forget(self, key: K) -> None:
        """Reset the back-off of `key` after success."""
        with self._condition:
            self._failures.pop(key, None)

    def get(self, timeout: float | None = None) -> K | None:
        """Return the next key, or None after shutdown or `timeout` seconds. The worker calls `done` after work."""
        deadline = None if timeout is None else self._clock.monotonic() + timeout
        with self._condition:
            while True:
                self._release_due()
                for key in self._ready():
                    self._processing.add(key)
                    return key
                if self._closed:
                    return None
                times = [self._later[0][0]] if self._later else []
                if deadline is not None:
                    if self._clock.monotonic() >= deadline:
                        return None
                    times.append(deadline)
                self._clock.condition_wait_until(self._condition, min(times, default=None))

    def done(self, key: K) -> None:
        """Mark `key` as handled."""
        with self._condition:
            self._processing.discard(key)
            # It was added again while in work; `_add` left the queueing to this call.
            if key in self._dirty:
                self._queue.append(key)
                self._condition.notify()
            elif key in self._idle:
                self._condition.notify()

    def shut_down(self) -> None:
        """Wake all workers; `get` returns None when the queue is empty."""
        with self._condition:
            self._closed = True
            self._queue.clear()
            self._later.clear()
            self._idle.clear()
            self._condition.notify_all()

    def is_idle(self) -> bool:
        """Whether no key is in work, ready, or due within `SOON` seconds."""
        with self._condition:
            if self._processing:
                return False
            if self._closed:
                return True
            return (
                not self._queue
                and not self._idle
                and not (self._later and self._later[0][0] <= self._clock.monotonic() + SOON)
            )

    def __len__(self) -> int:
        with self._condition:
            return len(self._queue)

    def _add(self, key: K) -> None:
        if self._closed or key in self._dirty:
            return
        self._dirty.add(key)
        self._idle.pop(key, None)
        # Two workers never handle the same key at once.
        if key not in self._processing:
            self._queue.append(key)
            self._condition.notify()

    def _ready(self) -> Iterator[K]:
        """Yield and remove the key to be handled next, if any."""
        idle = next((key for key in self._idle if key not in self._processing), None)
        if idle is not None and (not self._queue or self._is_its_turn(idle)):
            del self._idle[idle]
            self._since_idle = 0
            yield idle
        elif self._queue:
            key = self._queue.popleft()
            self._dirty.discard(key)
            self._since_idle += 1
            yield key

    def _is_its_turn(self, idle: K) -> bool:
        return self._since_idle >= _IDLE_TURN - 1 and self._idle[idle] <= self._clock.monotonic()

    def _release_due(self) -> None:
        now = self._clock.monotonic()
        while self._later and self._later[0][0] <= now:
            due, _, key = heapq.heappop(self._later)
            # Otherwise the entry was superseded by an earlier one of the same key.
            if self._due.get(key) == due:
                del self._due[key]
                self._add(key)
