"""Health updates that a driver publishes and any number of kubelets watch.

The feed keeps only the newest complete list. A new watcher receives it at once and then every later one; a slow watcher
skips to the newest. The driver owns the feed and ends it with `close`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

from dra_api.rpc.types import DeviceHealth


class HealthFeed:
    """The newest complete list of device health, and its watchers."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._devices: tuple[DeviceHealth, ...] | None = None
        self._generation = 0
        self._closed = False

    def publish(self, devices: Sequence[DeviceHealth]) -> None:
        """Send a new complete list to all watchers."""
        with self._changed:
            self._devices = tuple(devices)
            self._generation += 1
            self._changed.notify_all()

    def watch_health(self) -> HealthSubscription:
        """Return a new watcher; it starts with the newest list, if any."""
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
