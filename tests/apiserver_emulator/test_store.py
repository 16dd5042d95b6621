"""The store: revisions, snapshots of the past, compaction, watchers, owners."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from apiserver_emulator.store import HISTORY_BYTES, CompactedError, Event, ExistsError, StaleWriteError, Store, TypeKey

Obj = dict[str, Any]
KIND: TypeKey = ("", "things")


def thing(name: str, *, owner: str = "", **fields: Any) -> Obj:
    meta: Obj = {"name": name, "namespace": "ns"}
    if owner:
        meta["ownerReferences"] = [{"uid": owner}]
    return {"metadata": meta, **fields}


def names(store: Store, **where: Any) -> list[str]:
    return [record.obj["metadata"]["name"] for record in store.snapshot(KIND, **where)[0]]


def test_each_write_has_its_own_revision_in_the_object() -> None:
    store = Store()
    first = store.create(KIND, ("ns", "a"), thing("a"))
    second = store.update(KIND, ("ns", "a"), thing("a", x=1), first)
    assert (first.rv + 1, str(second.rv)) == (second.rv, second.obj["metadata"]["resourceVersion"])
    assert first.obj["metadata"]["resourceVersion"] == str(first.rv)


def test_writes_need_the_current_record() -> None:
    store = Store()
    first = store.create(KIND, ("ns", "a"), thing("a"))
    with pytest.raises(ExistsError):
        store.create(KIND, ("ns", "a"), thing("a"))
    store.update(KIND, ("ns", "a"), thing("a", x=1), first)
    writes: list[Callable[[], object]] = [
        lambda: store.update(KIND, ("ns", "a"), thing("a"), first),
        lambda: store.delete(KIND, ("ns", "a"), first),
    ]
    for write in writes:
        with pytest.raises(StaleWriteError):
            write()


def test_the_past_is_readable_until_it_is_compacted() -> None:
    store = Store()
    store.create(KIND, ("ns", "b"), thing("b"))
    first = store.create(KIND, ("ns", "a"), thing("a", x=1))
    store.update(KIND, ("ns", "a"), thing("a", x=2), first)
    store.delete(KIND, ("ns", "b"), store.snapshot(KIND)[0][1])
    assert names(store, at=first.rv) == ["a", "b"]
    assert store.snapshot(KIND, at=first.rv)[0][0].obj["x"] == 1
    assert names(store) == ["a"]
    store.compact()
    with pytest.raises(CompactedError):
        store.snapshot(KIND, at=first.rv)


def test_history_is_bounded() -> None:
    store = Store(history=3)
    for at in range(6):
        store.create(KIND, ("ns", f"a{at}"), thing(f"a{at}"))
    newest = store.revision
    assert len(store.watch(KIND, since=newest - 3)[0].queue) == 3
    with pytest.raises(CompactedError, match=f"too old resource version: {newest - 4}"):
        store.watch(KIND, since=newest - 4)


def test_watchers_of_other_namespaces_are_left_alone() -> None:
    store = Store()
    watcher, _ = store.watch(KIND, namespace="other")
    store.create(KIND, ("ns", "a"), thing("a"))
    assert not watcher.queue
    watcher.close()
    assert list(store.watchers(KIND)) == []


def test_dependents_follow_owner_references() -> None:
    store = Store()
    record = store.create(KIND, ("ns", "a"), thing("a", owner="u1"))
    assert store.dependents("u1") == [(KIND, ("ns", "a"))]
    record = store.update(KIND, ("ns", "a"), thing("a", owner="u2"), record)
    assert (store.dependents("u1"), store.dependents("u2")) == ([], [(KIND, ("ns", "a"))])
    store.delete(KIND, ("ns", "a"), record)
    assert store.dependents("u2") == []


def test_listeners_receive_commits_in_order() -> None:
    store = Store()
    received: list[tuple[str, int]] = []

    def listen(kind: TypeKey, event: Event) -> None:
        received.append((event.type, event.rv))

    store.on_commit(listen)
    record = store.create(KIND, ("ns", "a"), thing("a"))
    store.delete(KIND, ("ns", "a"), record)
    assert received == [("ADDED", record.rv), ("DELETED", record.rv + 1)]


def test_history_is_bounded_in_bytes() -> None:
    store = Store()
    size = HISTORY_BYTES // 4
    first = store.create(KIND, ("ns", "a"), thing("a", filler="x" * size))
    held = first
    for _ in range(6):
        held = store.update(KIND, ("ns", "a"), thing("a", filler="y" * size), held)
    with pytest.raises(CompactedError):
        store.watch(KIND, since=first.rv)
    watcher, _ = store.watch(KIND, since=held.rv - 1)
    assert [rv for _, _, rv in watcher.queue] == [held.rv]


def test_replaced_records_can_still_be_read() -> None:
    store = Store()
    first = store.create(KIND, ("ns", "a"), thing("a", color="red"))
    second = store.update(KIND, ("ns", "a"), thing("a", color="blue"), first)
    store.delete(KIND, ("ns", "a"), second)
    assert first.obj["color"] == "red"
    assert second.obj["color"] == "blue"
    assert [record.obj["color"] for record in store.snapshot(KIND, at=first.rv)[0]] == ["red"]


def test_a_watch_is_drained_once_its_consumer_comes_back_for_more() -> None:
    store = Store()
    watcher, _ = store.watch(KIND)
    assert watcher.drained
    store.create(KIND, ("ns", "a"), thing("a"))
    assert not watcher.drained
