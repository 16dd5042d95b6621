"""Complete lists that a plugin publishes and any number of kubelets watch, such as the health of devices.

A feed keeps only the newest list. A new watcher receives it at once and then every later one; a slow watcher skips to
the newest. The plugin owns the feed and ends it with `close`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

from dra_api.rpc.types import DeviceHealth

T = TypeVar("T")


class Feed(Generic[T]):
    """The newest complete list, and its watchers."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._devices: tuple[T, ...] | None = None
        self._generation = 0
        self._closed = False

    def publish(self, devices: Sequence[T]) -> None:
        """Send a new complete list to all watchers."""
        with self._changed:
            self._devices = tuple(devices)
            self._generation += 1
            self._changed.notify_all()

    def watch(self) -> Subscription[T]:
        """Return a new watcher; it starts with the newest list, if any."""
        return Subscription(self)

    def close(self) -> None:
        """End all watchers."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class Subscription(Generic[T]):
    """One watcher of a feed: an iterator that `close` ends from any thread."""

    def __init__(self, feed: Feed[T]) -> None:
        self._feed = feed
        self._seen = 0
        self._closed = False

    def __iter__(self) -> Iterator[Sequence[T]]:
        return self

    def __next__(self) -> Sequence[T]:
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


class HealthFeed(Feed[DeviceHealth]):
    """The newest complete list of device health, and its watchers."""

    def watch_health(self) -> Subscription[DeviceHealth]:
        """Return a new watcher; it starts with the newest list, if any."""
        return self.watch()


HealthSubscription = Subscription[DeviceHealth]
