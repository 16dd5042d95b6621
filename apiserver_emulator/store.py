"""The store: all objects in memory, one resource version counter, a bounded history, and the watchers.

Only the operations in `registry` write to it. A stored object is never mutated: each write makes a new `Record`, so
that readers need no lock once they have one. Reads and commits take one lock for microseconds; nothing that blocks
(admission webhooks, sockets of watchers) runs under it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

Obj = dict[str, Any]
TypeKey = tuple[str, str]
"""(group, plural)."""
Key = tuple[str, str]
"""(namespace, name); the namespace of a cluster-scoped object is empty."""

HISTORY = 20_000
"""Events kept per resource type."""

HISTORY_BYTES = 2 << 20
"""Bytes of JSON kept for the events of all types; the type with most of them loses its oldest events first.

A watch that starts before the oldest event gets 410, as after etcd's compaction.
"""


class Record:
    """One stored version of an object: the dict (shared, read-only), its JSON, its resource version.

    A version that was replaced keeps its JSON only: dicts are five times the size.
    """

    __slots__ = ("_encoded", "_obj", "raw", "rv")

    def __init__(self, obj: Obj, raw: bytes, rv: int) -> None:
        self._obj: Obj | None = obj
        self.raw = raw
        self.rv = rv
        self._encoded: dict[str, bytes] | None = None

    @property
    def obj(self) -> Obj:
        """The object; shared, never to be changed."""
        # Read once: a writer may retire the record between a check and a second read.
        found = self._obj
        return self.copy() if found is None else found

    def retire(self) -> None:
        """Drop the dict: the version was replaced."""
        self._obj = self._encoded = None

    def copy(self) -> Obj:
        """A private copy of the object."""
        copied: Obj = orjson.loads(self.raw)
        return copied

    def encoded(self, version: str, convert: Callable[[Obj], Obj] | None) -> bytes:
        """The JSON in a served version; `convert` None means the storage version. Cached."""
        if convert is None:
            return self.raw
        # No lock: two readers may convert at once, which costs only time; `retire` leaves the local dict alone.
        cache = self._encoded
        if cache is None:
            cache = self._encoded = {}
        found = cache.get(version)
        if found is None:
            found = cache[version] = orjson.dumps(convert(self.copy()))
        return found


@dataclass(frozen=True, slots=True)
class Event:
    """One change. `record` is the new state (for DELETED: the last one, with the deletion's resource version)."""

    type: str
    key: Key
    record: Record
    old: Record | None
    rv: int


class StaleWriteError(Exception):
    """The object changed between read and commit."""


class ExistsError(Exception):
    """There is an object with this key."""


class CompactedError(Exception):
    """The history does not reach back to the requested resource version."""

    def __init__(self, requested: int, oldest: int) -> None:
        super().__init__(f"too old resource version: {requested} ({oldest})")
        self.requested = requested
        self.oldest = oldest


@dataclass(slots=True)
class Collection:
    """All objects of one resource type, with their recent history and their watchers."""

    records: dict[Key, Record] = field(default_factory=dict)
    order: list[Key] | None = None
    events: deque[Event] = field(default_factory=deque)
    history_bytes: int = 0
    compacted: int = 0
    watchers: tuple[Watcher, ...] = ()


class Watcher:
    """One watch: a queue of matching events, filled by writers, drained by one consumer.

    `match` returns whether an object is in the watched set; a change that moves an object into or out of the set
    becomes ADDED or DELETED. `waker` is called after each event, on the writer's thread and under the store lock; it
    must only signal.
    """

    __slots__ = (
        "_collection_key",
        "_match",
        "_namespace",
        "_store",
        "closed",
        "condition",
        "drained",
        "initial",
        "queue",
        "waker",
    )

    def __init__(
        self,
        store: Store,
        key: TypeKey,
        namespace: str,
        match: Callable[[Obj], bool] | None,
    ) -> None:
        self._store = store
        self._collection_key = key
        self._namespace = namespace
        self._match = match
        self.queue: deque[tuple[str, Record, int]] = deque()
        self.condition = threading.Condition(threading.Lock())
        self.waker: Callable[[], None] | None = None
        self.closed = False
        self.drained = True
        """Whether the consumer came back for more and found nothing: it has processed all events."""
        self.initial = 0
        """The number of objects that were queued when the watch was opened, before any event."""

    def offer(self, event: Event) -> None:
        """Queue the event if it concerns this watch."""
        if self._namespace and event.key[0] != self._namespace:
            return
        kind, record = event.type, event.record
        match = self._match
        if match is not None:
            now = kind != "DELETED" and match(record.obj)
            before = event.old is not None and match(event.old.obj)
            if now:
                kind = "MODIFIED" if before else "ADDED"
            elif before:
                if kind != "DELETED":
                    record = _departed(event)
                kind = "DELETED"
            else:
                return
        self.push(kind, record, event.rv)

    def push(self, kind: str, record: Record, rv: int) -> None:
        """Queue one item and wake the consumer."""
        with self.condition:
            self.drained = False
            self.queue.append((kind, record, rv))
            self.condition.notify()
        if self.waker is not None:
            self.waker()

    def close(self) -> None:
        """End the watch, from any thread; the consumer still gets the queued events."""
        # Not under the condition: writers take the store lock first and the condition second.
        self._store.detach(self._collection_key, self)
        with self.condition:
            self.closed = True
            self.condition.notify_all()
        if self.waker is not None:
            self.waker()


def _departed(event: Event) -> Record:
    """Return the old state with the new resource version, which a watch gets when an object leaves its selector."""
    obj = (event.old or event.record).copy()
    obj["metadata"]["resourceVersion"] = str(event.rv)
    return Record(obj, orjson.dumps(obj), event.rv)


def etcd_path(key: Key) -> str:
    """Return the key as a path, in whose order lists are.

    Objects of the namespace a-b come before those of a, because `-` comes before `/`.
    """
    return "/".join(key)


Listener = Callable[[TypeKey, Event], None]


class Store:
    """Objects of all types under one resource version counter."""

    def __init__(self, *, history: int = HISTORY) -> None:
        # Reentrant: `registry` holds it around a check and the commit that depends on it.
        self.lock = threading.RLock()
        self._history = history
        self._history_bytes = 0
        self._rv = 1
        self._collections: dict[TypeKey, Collection] = {}
        self._listeners: tuple[Listener, ...] = ()
        self._dependents: dict[str, set[tuple[TypeKey, Key]]] = {}

    @property
    def revision(self) -> int:
        """The resource version of the last write."""
        return self._rv

    def delivered_revision(self) -> int:
        """Return a revision whose events, and all earlier ones, are in the queues of their watchers."""
        with self.lock:  # a commit raises the revision first and offers its event then
            return self._rv

    def on_commit(self, listener: Listener) -> None:
        """Call `listener(type key, event)` under the lock, in order of commit; it must not block."""
        self._listeners = (*self._listeners, listener)

    def _collection(self, key: TypeKey) -> Collection:
        found = self._collections.get(key)
        if found is None:
            # `setdefault` checks again: two readers may meet a new type at the same time.
            with self.lock:
                found = self._collections.setdefault(key, Collection(compacted=0))
        return found

    # --- reads -------------------------------------------------------------------------------------------------

    def get(self, kind: TypeKey, key: Key) -> Record | None:
        """The current record of one object."""
        # No lock: one dict lookup is atomic, and a record never changes.
        return self._collection(kind).records.get(key)

    def snapshot(self, kind: TypeKey, namespace: str = "", *, at: int | None = None) -> tuple[list[Record], int]:
        """Return all records in key order, and their revision; `at` reads an earlier revision from the history.

        Raises CompactedError if the history does not reach back to `at`.
        """
        with self.lock:
            found = self._collection(kind)
            if at is not None and at < self._rv:
                return self._past(found, namespace, at), at
            # Updates keep the order: only creates and deletes reset it.
            if found.order is None:
                found.order = sorted(found.records, key=etcd_path)
            records = found.records
            if namespace:
                return [records[k] for k in found.order if k[0] == namespace], self._rv
            return [records[k] for k in found.order], self._rv

    def _past(self, found: Collection, namespace: str, at: int) -> list[Record]:
        if at < found.compacted:
            raise CompactedError(at, found.compacted)
        records: dict[Key, Record] = dict(found.records)
        # Undo later events, newest first, so that the oldest change decides.
        for event in reversed(found.events):
            if event.rv <= at:
                break
            if event.old is None:
                records.pop(event.key, None)
            else:
                records[event.key] = event.old
        return [records[k] for k in sorted(records, key=etcd_path) if not namespace or k[0] == namespace]

    def kinds(self) -> list[TypeKey]:
        """Types that have or had objects."""
        with self.lock:
            return list(self._collections)

    def dependents(self, uid: str) -> list[tuple[TypeKey, Key]]:
        """Objects with an owner reference to `uid`."""
        with self.lock:
            return sorted(self._dependents.get(uid, ()))

    # --- writes ------------------------------------------------------------------------------------------------

    def create(self, kind: TypeKey, key: Key, obj: Obj) -> Record:
        """Store a new object; takes ownership of `obj`. Raises ExistsError."""
        with self.lock:
            if key in self._collection(kind).records:
                raise ExistsError(key)
            return self._commit(kind, "ADDED", key, obj, None)

    def update(self, kind: TypeKey, key: Key, obj: Obj, expected: Record) -> Record:
        """Replace `expected` by `obj`, of which it takes ownership. Raises StaleWriteError."""
        with self.lock:
            if self._collection(kind).records.get(key) is not expected:
                raise StaleWriteError(key)
            return self._commit(kind, "MODIFIED", key, obj, expected)

    def delete(self, kind: TypeKey, key: Key, expected: Record, final: Obj | None = None) -> Record:
        """Remove `expected`; `final` is the last state if it differs. Raises StaleWriteError."""
        with self.lock:
            if self._collection(kind).records.get(key) is not expected:
                raise StaleWriteError(key)
            # A copy: `_commit` writes the deletion's resource version into it.
            return self._commit(kind, "DELETED", key, final or expected.copy(), expected)

    def _commit(self, kind: TypeKey, change: str, key: Key, obj: Obj, old: Record | None) -> Record:
        found = self._collection(kind)
        rv = self._rv + 1
        obj["metadata"]["resourceVersion"] = str(rv)
        record = Record(obj, orjson.dumps(obj), rv)
        self._rv = rv
        if change == "DELETED":
            del found.records[key]
            found.order = None
        else:
            found.records[key] = record
            if old is None:
                found.order = None
        self._index_owners(kind, key, obj if change != "DELETED" else None, old)
        event = Event(change, key, record, old, rv)
        found.events.append(event)
        found.history_bytes += len(record.raw)
        self._history_bytes += len(record.raw)
        # One event was added, so one at most goes; the limit in bytes may need several.
        if len(found.events) > self._history:
            self._drop_oldest(found)
        while self._history_bytes > HISTORY_BYTES:
            self._drop_oldest(max(self._collections.values(), key=lambda held: held.history_bytes))
        # Under the lock: every watcher gets events in order of commit.
        for watcher in found.watchers:
            watcher.offer(event)
        for listener in self._listeners:
            listener(kind, event)
        # Last: selectors and listeners above read these dicts; later readers parse the JSON again.
        if old is not None:
            old.retire()
        if change == "DELETED":
            record.retire()
        return record

    def _drop_oldest(self, found: Collection) -> None:
        dropped = found.events.popleft()
        # A watch from this very revision still works: it needs later events only.
        found.compacted = dropped.rv
        found.history_bytes -= len(dropped.record.raw)
        self._history_bytes -= len(dropped.record.raw)

    def _index_owners(self, kind: TypeKey, key: Key, obj: Obj | None, old: Record | None) -> None:
        new = obj["metadata"].get("ownerReferences") if obj else None
        before = old.obj["metadata"].get("ownerReferences") if old else None
        if new == before:
            return
        for reference in before or ():
            held = self._dependents.get(reference.get("uid", ""))
            if held is not None:
                held.discard((kind, key))
                if not held:
                    del self._dependents[reference["uid"]]
        for reference in new or ():
            self._dependents.setdefault(reference.get("uid", ""), set()).add((kind, key))

    def drop(self, kind: TypeKey) -> None:
        """End all watches of a type that is no longer served; its objects must have been deleted."""
        for watcher in self._collection(kind).watchers:
            watcher.close()

    def reread(self, kind: TypeKey, change: Callable[[Key, Record], Obj | None]) -> None:
        """Replace how objects read, without a change of their resource versions; None leaves an object as it is.

        For a server that reads the objects of another one. Watches must be closed, and the history is dropped.
        """
        with self.lock:
            found = self._collection(kind)
            for key, record in list(found.records.items()):
                if (obj := change(key, record)) is not None:
                    found.records[key] = Record(obj, orjson.dumps(obj), record.rv)

    def compact(self) -> int:
        """Drop the whole history, as etcd's compaction does; open watches continue. Return the revision."""
        with self.lock:
            for found in self._collections.values():
                found.events.clear()
                found.history_bytes = 0
                found.compacted = self._rv
            self._history_bytes = 0
            return self._rv

    # --- watches -----------------------------------------------------------------------------------------------

    def watch(
        self,
        kind: TypeKey,
        *,
        namespace: str = "",
        match: Callable[[Obj], bool] | None = None,
        since: int | None = None,
        initial: bool = False,
    ) -> tuple[Watcher, int]:
        """Open a watch and return it with the revision at which it starts.

        `since` replays history after that revision; None starts now. `initial` queues the present objects as ADDED
        first. Raises CompactedError.
        """
        watcher = Watcher(self, kind, namespace, match)
        # One critical section: no commit falls between the replay and the registration.
        with self.lock:
            found = self._collection(kind)
            if initial:
                for record in self.snapshot(kind, namespace)[0]:
                    if match is None or match(record.obj):
                        # No condition needed: the watcher is not shared before it is attached below.
                        watcher.drained = False
                        watcher.queue.append(("ADDED", record, record.rv))
                watcher.initial = len(watcher.queue)
            elif since is not None and since < self._rv:
                if since < found.compacted:
                    raise CompactedError(since, found.compacted)
                for event in self._after(found, since):
                    watcher.offer(event)
            # A new tuple, never a changed one: `drop` iterates without the lock.
            found.watchers = (*found.watchers, watcher)
            return watcher, self._rv

    @staticmethod
    def _after(found: Collection, since: int) -> Iterable[Event]:
        newer: list[Event] = []
        for event in reversed(found.events):
            if event.rv <= since:
                break
            newer.append(event)
        return reversed(newer)

    def detach(self, kind: TypeKey, watcher: Watcher) -> None:
        """Detach a watcher."""
        with self.lock:
            found = self._collection(kind)
            found.watchers = tuple(w for w in found.watchers if w is not watcher)

    def watchers(self, kind: TypeKey | None = None) -> Iterator[Watcher]:
        """All open watches, or those of one type."""
        with self.lock:
            kinds = [kind] if kind is not None else list(self._collections)
            # A list, not a generator: callers close watches while they iterate.
            open_watches = [w for k in kinds for w in self._collection(k).watchers]
        return iter(open_watches)
