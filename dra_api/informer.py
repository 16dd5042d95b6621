"""A local copy of one API collection, kept current by list and watch.

The informer lists, then watches from the list's resource version. A broken watch resumes from the last version, 410
Gone leads to a new list, and failures lead to a back-off with jitter. The informer owns one thread between `start` and
`stop`. Objects in the store are shared: readers must not change them.

Source: client-go tools/cache reflector.go and shared_informer.go v0.36 (resume, relist and bookmark behaviour).
"""

from __future__ import annotations

import contextlib
import logging
import random
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from dra_api.client import ApiError, Forbidden, Gone, KubeClient, NotFound, Watch
from dra_api.clock import SOON, Clock
from dra_api.objects import Obj, Resource, key_of
from dra_api.threads import report_exception, started
from dra_api.transport import TransportError

log = logging.getLogger(__name__)

ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]
IndexFunction = Callable[[Obj], Iterable[str]]

REFUSED_S = 5.0
"""Seconds of 403 responses after which `wait_served` reports them.

A starting API server, or one that has not yet observed new roles, returns 403 for a shorter time.
"""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one object. `old` is the stored object before it, if any; both have the same uid.

    An object that replaces another of its name is a deletion and an addition, also if a new list shows it.
    """

    type: ChangeType
    object: Obj
    old: Obj | None = None


class Informer:
    """Watches one resource.

    Handlers run on the informer's thread, one change at a time, after the store is updated. `min_backoff` and
    `max_backoff` are the seconds between attempts after failures.
    """

    def __init__(
        self,
        client: KubeClient,
        resource: Resource,
        *,
        clock: Clock,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        min_backoff: float = 0.1,
        max_backoff: float = 10.0,
    ) -> None:
        self.resource = resource
        self._client = client
        self._clock = clock
        self._namespace = namespace
        self._label_selector = label_selector
        self._field_selector = field_selector
        self._min_backoff = min_backoff
        self._max_backoff = max_backoff
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._store: dict[tuple[str, str], Obj] = {}
        self._indexers: dict[str, IndexFunction] = {}
        self._indices: dict[str, dict[str, set[tuple[str, str]]]] = {}
        self._handlers: list[Callable[[Change], None]] = []
        self._synced = threading.Event()
        self._answered = threading.Event()
        self._refused_since: float | None = None
        self._refused = False
        self._missing = False
        self._trouble = "no answer"
        self._stopping = threading.Event()
        self._watch: Watch | None = None
        self._thread: threading.Thread | None = None
        self._version = ""
        self._following = False
        self._next_attempt: float | None = None
        # Seeded with a constant, so that runs are repeatable.
        self._random = random.Random(resource.plural)  # noqa: S311 - jitter, not a secret
        clock.register(self)

    # -- set up ----------------------------------------------------------------------------------------------------

    def on_change(self, handler: Callable[[Change], None]) -> None:
        """Call `handler` for every change, and now with ADDED for every object in the store."""
        with self._lock:
            # Under the lock, so that no change can fall between the replay and the first live change.
            self._handlers.append(handler)
            for obj in self._store.values():
                handler(Change("ADDED", obj))

    def add_index(self, name: str, function: IndexFunction) -> None:
        """Add an index; `function` returns the index values of an object."""
        with self._lock:
            self._indexers[name] = function
            index = self._indices[name] = {}
            for key, obj in self._store.items():
                for value in function(obj):
                    index.setdefault(value, set()).add(key)

    def start(self) -> None:
        """Start the thread that lists and watches."""
        if self._thread is not None:
            return
        self._thread = started(self._run, name=f"informer-{self._client.user_agent}-{self.resource.plural}")

    def stop(self) -> None:
        """End the watch and join the thread. The store remains readable."""
        self._stopping.set()
        with self._lock:
            watch = self._watch
        if watch is not None:
            watch.close()
        # A handler may call `stop`; a thread cannot join itself.
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=10)

    def is_idle(self) -> bool:
        """Whether the watch is open, or the next attempt is not due within `SOON` seconds.

        The server of the watch reports whether its events are delivered.
        """
        if self._thread is None or self._stopping.is_set():
            return True
        due = self._next_attempt
        return self._following or (due is not None and due > self._clock.monotonic() + SOON)

    def wait_synced(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds for the first complete list."""
        return self._clock.wait(self._synced, timeout)

    def wait_served(self, timeout: float) -> str:
        """Wait at most `timeout` seconds for the first list and the first attempt to watch; return the failure, or "".

        403 for `REFUSED_S` seconds is a failure of the list and of the watch: a component that can list but not watch
        would work with stale data. A watch that fails for another reason is retried in the background.
        """
        answered = self._clock.wait(self._answered, timeout)
        with self._lock:
            if answered and self.synced and not self._refused:
                return ""
            after = f"{REFUSED_S:g}" if answered else f"{timeout:g}"
            return f"cannot {'watch' if self.synced else 'list'} {self.resource} within {after} s: {self._trouble}"

    # -- reading ---------------------------------------------------------------------------------------------------

    @property
    def synced(self) -> bool:
        """Whether the first complete list is in the store."""
        return self._synced.is_set()

    @property
    def resource_version(self) -> str:
        """The resource version of the store."""
        with self._lock:
            return self._version

    def get(self, name: str, namespace: str = "") -> Obj | None:
        """Return one object from the store, or None."""
        with self._lock:
            return self._store.get((namespace, name))

    def list(self, namespace: str | None = None) -> list[Obj]:
        """Return all objects in the store, or those of one namespace."""
        with self._lock:
            if namespace is None:
                return [*self._store.values()]
            return [obj for (where, _), obj in self._store.items() if where == namespace]

    def by_index(self, name: str, value: str) -> Iterable[Obj]:
        """Return all objects whose index `name` has `value`."""
        with self._lock:
            return [self._store[key] for key in self._indices[name].get(value, ())]

    def wait_for(self, predicate: Callable[[], bool], timeout: float) -> bool:
        """Wait at most `timeout` seconds until `predicate` is true; it is evaluated after every change."""
        deadline = self._clock.monotonic() + timeout
        with self._changed:
            while not predicate():
                if self._clock.monotonic() >= deadline or self._stopping.is_set():
                    return predicate()
                self._clock.condition_wait_until(self._changed, deadline)
            return True

    def assume(self, obj: Obj) -> None:
        """Store the result of a write, so that a component sees its own writes before the watch delivers them.

        A version older than the stored one is ignored. So is an object that is not stored although the watch has
        passed its version: it has been deleted since.
        """
        with self._lock:
            held = self._store.get(key_of(obj))
            reached = int(self._version) if self._version.isdecimal() else 0
            if _version(obj) > (_version(held) if held is not None else reached):
                self._apply("MODIFIED" if held else "ADDED", obj)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        failures = 0
        need_list = True
        while not self._stopping.is_set():
            try:
                if need_list:
                    self._relist()
                    need_list = False
                if self._follow():
                    failures = 0
                    continue
                failures += 1
            except Gone:
                need_list = True
                failures += 1
                # The first 410 is normal after compaction: list again at once. Repeated ones wait.
                if failures == 1:
                    continue
            except (ApiError, TransportError, OSError) as error:
                if self._stopping.is_set():
                    return
                failures += 1
                self._failed(error)
                log.debug("%s: %s", self.resource, error)
            except Exception as error:  # a bug; a dead thread would let readers wait in vain
                if self._stopping.is_set():
                    return
                failures += 1
                need_list = True
                report_exception(error)
            finally:
                self._following = False
            delay = min(self._min_backoff * 2.0 ** min(failures - 1, 20), self._max_backoff)
            delay *= self._random.uniform(0.5, 1.0)
            self._next_attempt = self._clock.monotonic() + delay
            self._clock.wait_until(self._stopping, self._next_attempt)
            self._next_attempt = None

    def _failed(self, error: Exception) -> None:
        now = self._clock.monotonic()
        with self._lock:
            self._trouble = str(error)
            if isinstance(error, Forbidden):
                self._refused_since = now if self._refused_since is None else self._refused_since
                self._refused = now - self._refused_since >= REFUSED_S
            else:
                self._refused_since, self._refused = None, False
            if self._refused or (self.synced and self._refused_since is None):
                self._answered.set()
        # Once: a CRD that was removed may stay away for long.
        if isinstance(error, NotFound) and self.synced and not self._missing:
            self._missing = True
            log.warning(
                "the API server no longer serves %s (%s): objects of before are used; install its CRD again, which is "
                "noticed within %g s",
                self.resource,
                error,
                self._max_backoff,
            )

    def _relist(self) -> None:
        listed = self._client.list(
            self.resource,
            self._namespace,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
        )
        with self._lock:
            present = {key_of(obj): obj for obj in listed.items}
            for key in [key for key in self._store if key not in present]:
                self._apply("DELETED", self._store[key])
            for key, obj in present.items():
                held = self._store.get(key)
                if held is None:
                    self._apply("ADDED", obj)
                elif held["metadata"].get("resourceVersion") != obj["metadata"].get("resourceVersion"):
                    self._apply("MODIFIED", obj)
            self._version = listed.resource_version
            self._changed.notify_all()
        self._synced.set()

    def _follow(self) -> bool:
        """Follow one watch to its end; return False if it ended at once without events, which requires a back-off."""
        began = self._clock.monotonic()
        events = 0
        watch = self._client.watch(
            self.resource,
            self._namespace,
            resource_version=self._version,
            timeout_seconds=300,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
        )
        with self._lock:
            # `stop` ran during the request and found no watch to close.
            if self._stopping.is_set():
                watch.close()
                return True
            self._watch = watch
            self._refused_since, self._refused, self._missing = None, False, False
            self._following = True
        self._answered.set()
        with contextlib.closing(watch):
            for event in watch:
                if self._stopping.is_set():
                    return True
                events += 1
                with self._lock:
                    self._version = event.object["metadata"]["resourceVersion"]
                    # A bookmark only carries a newer version to resume from.
                    if event.type == "BOOKMARK":
                        continue
                    obj = event.object
                    held = self._store.get(key_of(obj))
                    if event.type == "DELETED":
                        if held is not None:
                            self._apply("DELETED", obj)
                    elif held is None:
                        self._apply("ADDED", obj)
                    elif held["metadata"].get("resourceVersion") != self._version and not (
                        _version(held) > _version(obj)  # assume() was ahead of this event
                        and held["metadata"].get("uid") == obj["metadata"].get("uid")
                    ):
                        self._apply("MODIFIED", obj)
        return events > 0 or self._clock.monotonic() - began >= 1.0

    def _apply(self, kind: ChangeType, obj: Obj) -> None:
        key = key_of(obj)
        old = self._store.get(key)
        if kind == "MODIFIED" and old is not None and old["metadata"].get("uid") != obj["metadata"].get("uid"):
            self._apply("DELETED", old)
            kind, old = "ADDED", None
        if old is not None and self._indexers:
            for name, function in self._indexers.items():
                for value in function(old):
                    self._indices[name].get(value, set()).discard(key)
        if kind == "DELETED":
            self._store.pop(key, None)
        else:
            self._store[key] = obj
            for name, function in self._indexers.items():
                for value in function(obj):
                    self._indices[name].setdefault(value, set()).add(key)
        change = Change(kind, obj, old)
        self._changed.notify_all()
        for handler in self._handlers:
            try:
                handler(change)
            except Exception as error:  # one bad handler must not end the watch for all others
                report_exception(error)


def _version(obj: Obj) -> int:
    try:
        return int(obj["metadata"]["resourceVersion"])
    except (KeyError, TypeError, ValueError):
        return 0
