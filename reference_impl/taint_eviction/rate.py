"""How many pods are evicted in a time: a token bucket, in which a pod that has to wait keeps its place.

kube-controller-manager has no such limit for device taints; its client has one for all requests (`--kube-api-qps`).
"""

from __future__ import annotations

import threading

from dra_api.clock import Clock


class EvictionRate:
    """A limit of `per_second` pods a second after the first `burst` pods; 0 a second is no limit. Thread-safe."""

    def __init__(self, clock: Clock, *, per_second: float, burst: int) -> None:
        self._clock = clock
        self._interval = 1 / per_second if per_second > 0 else 0.0
        self._head_start = (max(burst, 1) - 1) * self._interval
        self._lock = threading.Lock()
        self._next = clock.monotonic()
        self._places: dict[str, float] = {}
        """When each waiting pod may be evicted, by uid."""

    def wait(self, uid: str) -> float:
        """Return the seconds until this pod may be evicted; 0 ends its wait."""
        if not self._interval:
            return 0.0
        now = self._clock.monotonic()
        with self._lock:
            place = self._places.pop(uid, None)
            if place is None:
                begin = max(self._next, now)
                self._next = begin + self._interval
                place = begin - self._head_start
            if place <= now:
                return 0.0
            self._places[uid] = place
        return place - now

    def forget(self, uid: str) -> None:
        """Give up the place of a pod that is not to be evicted any more. The pods behind it keep theirs."""
        with self._lock:
            self._places.pop(uid, None)
