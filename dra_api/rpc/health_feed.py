"""A health source that a driver can write to and any number of kubelets can watch.

The feed keeps only the newest complete list: each watcher sees it on arrival and then every later one, and a slow
watcher skips to the newest. The driver owns the feed and ends it with `close`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

from dra_api.rpc.types import DeviceHealth


class HealthFeed:
    """The newest complete list of device healths, and its watchers."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._devices: tuple[DeviceHealth, ...] | None = None
        self._generation = 0
        self._closed = False

    def publish(self, devices: Sequence[DeviceHealth]) -> None:
        """Give all watchers a new complete list."""
        with self._changed:
            self._devices = tuple(devices)
            self._generation += 1
            self._changed.notify_all()

    def watch_health(self) -> HealthSubscription:
        """A new watcher; it starts with the newest list, if there is one."""
        return HealthSubscription(self)

    def close(self) -> None:
        """End all watchers."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class HealthSubscription:
    """One watcher of a feed: an iterator that `close` ends from any thread."""

    def __init__(self, feed: HealthFeed) -> None:
        self._feed = feed
        self._seen = 0
        self._closed = False

    def __iter__(self) -> Iterator[Sequence[DeviceHealth]]:
        return self

    def __next__(self) -> Sequence[DeviceHealth]:
        feed = self._feed
        with feed._changed:
            feed._changed.wait_for(lambda: self._closed or feed._closed or feed._generation != self._seen)
            if self._closed or feed._closed or feed._devices is None:
                raise StopIteration
            self._seen = feed._generation
            return feed._devices

    def close(self) -> None:
        """End this watcher; idempotent."""
        with self._feed._changed:
            self._closed = True
            self._feed._changed.notify_all()
