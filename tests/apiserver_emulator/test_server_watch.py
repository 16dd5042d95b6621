"""Watches: order, resumption, bookmarks, streaming lists, history, selectors."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from apiserver_emulator import ApiServerEmulator
from apiserver_emulator.controllers.root_ca import ROOT_CA
from apiserver_emulator.store import Store
from apiserver_emulator.watch_stream import WatchStream
from dra_api.client import KubeClient
from dra_api.clock import AdvanceableClock, RealClock
from dra_api.objects import CONFIG_MAPS, PODS
from dra_api.request import Request
from dra_api.transport import HttpTransport, Response, Stream, Transport, TransportError

Obj = dict[str, Any]
PATH = "/api/v1/namespaces/default/configmaps"


def config_map(name: str, *, labels: dict[str, str] | None = None) -> Obj:
    return {"metadata": {"name": name, "namespace": "default", "labels": labels or {}}}


def open_watch(transport: Transport, *query: tuple[str, str], path: str = PATH) -> Stream:
    # Not the root certificate, which a controller creates in each namespace.
    others = ("fieldSelector", f"metadata.name!={ROOT_CA}")
    stream = transport.stream(path, query=[("watch", "true"), others, *query], timeout=60)
    assert not isinstance(stream, Response), stream
    return stream


def take(lines: Iterator[bytes], count: int) -> list[tuple[str, str]]:
    found = []
    for _ in range(count):
        event = json.loads(next(lines))
        found.append((event["type"], event["object"]["metadata"].get("name", "")))
    return found


def test_a_watch_starts_with_the_existing_objects(any_client: KubeClient, transport: Transport) -> None:
    any_client.create(CONFIG_MAPS, config_map("a"))
    stream = open_watch(transport)
    lines = iter(stream)
    assert take(lines, 1) == [("ADDED", "a")]
    any_client.create(CONFIG_MAPS, config_map("b"))
    any_client.patch(CONFIG_MAPS, "a", {"data": {"k": "v"}}, "default")
    any_client.delete(CONFIG_MAPS, "b", "default")
    assert take(lines, 3) == [("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]
    stream.close()


def test_a_watch_resumes_after_a_resource_version(any_client: KubeClient, transport: Transport) -> None:
    first = any_client.create(CONFIG_MAPS, config_map("a"))
    any_client.create(CONFIG_MAPS, config_map("b"))
    any_client.delete(CONFIG_MAPS, "a", "default")
    stream = open_watch(transport, ("resourceVersion", first["metadata"]["resourceVersion"]))
    assert take(iter(stream), 2) == [("ADDED", "b"), ("DELETED", "a")]
    stream.close()


def test_streaming_lists_end_with_an_annotated_bookmark(any_client: KubeClient, transport: Transport) -> None:
    any_client.create(CONFIG_MAPS, config_map("a"))
    stream = open_watch(
        transport,
        ("sendInitialEvents", "true"),
        ("resourceVersionMatch", "NotOlderThan"),
        ("allowWatchBookmarks", "true"),
    )
    lines = iter(stream)
    assert take(lines, 1) == [("ADDED", "a")]
    bookmark = json.loads(next(lines))
    assert bookmark["type"] == "BOOKMARK"
    assert bookmark["object"]["kind"] == "ConfigMap"
    assert bookmark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert bookmark["object"]["metadata"]["resourceVersion"] == any_client.list(CONFIG_MAPS).resource_version
    any_client.create(CONFIG_MAPS, config_map("b"))
    assert take(lines, 1) == [("ADDED", "b")]
    stream.close()


def test_events_after_the_initial_ones_follow_their_bookmark() -> None:
    store = Store()
    store.create(("", "configmaps"), ("default", "a"), config_map("a"))
    watcher, revision = store.watch(("", "configmaps"), initial=True)
    # A write between the opening of the watch and its first poll.
    store.create(("", "configmaps"), ("default", "b"), config_map("b"))
    stream = WatchStream(
        watcher,
        encode=lambda record: record.raw,
        bookmark=lambda rv, annotations: b"%d" % rv,
        revision=lambda: store.revision,
        clock=RealClock(),
        timeout_s=10.0,
        bookmarks=True,
        initial_bookmark=revision,
    )
    assert [json.loads(line)["type"] for line in stream.poll()] == ["ADDED", "BOOKMARK", "ADDED"]


def test_a_bookmark_is_not_newer_than_an_event_that_is_still_to_be_sent() -> None:
    store, clock = Store(), AdvanceableClock()
    watcher, _ = store.watch(("", "configmaps"))

    def revision_and_write() -> int:
        found = store.delivered_revision()
        store.create(("", "configmaps"), ("default", "late"), config_map("late"))
        return found

    stream = WatchStream(
        watcher,
        encode=lambda record: record.raw,
        bookmark=lambda rv, annotations: b"%d" % rv,
        revision=revision_and_write,
        clock=clock,
        timeout_s=10.0,
        bookmarks=True,
    )
    clock.advance(10.0)
    # The watch ends here: a client that resumes from its last line must not miss the write.
    assert [json.loads(line)["type"] for line in stream.poll()] == ["ADDED"]


def test_an_empty_streaming_list_has_its_bookmark_at_once(any_client: KubeClient, transport: Transport) -> None:
    query = (("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan"), ("allowWatchBookmarks", "true"))
    stream = open_watch(transport, *query)
    assert json.loads(next(iter(stream)))["type"] == "BOOKMARK"
    stream.close()


def test_old_resource_versions_get_410_after_compaction(plane: ApiServerEmulator, client: KubeClient) -> None:
    first = client.create(CONFIG_MAPS, config_map("a"))
    client.create(CONFIG_MAPS, config_map("b"))
    running = open_watch(plane.transport(), ("resourceVersion", first["metadata"]["resourceVersion"]))
    plane.server.compact()
    event = json.loads(
        next(iter(open_watch(plane.transport(), ("resourceVersion", first["metadata"]["resourceVersion"]))))
    )
    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")
    assert event["object"]["message"].startswith("too old resource version: ")
    assert take(iter(running), 1) == [("ADDED", "b")]


def test_selectors_turn_changes_into_arrivals_and_departures(plane: ApiServerEmulator, client: KubeClient) -> None:
    client.create(CONFIG_MAPS, config_map("a", labels={"on": "no"}))
    stream = open_watch(plane.transport(), ("labelSelector", "on=yes"))
    lines = iter(stream)
    client.patch(CONFIG_MAPS, "a", {"metadata": {"labels": {"on": "yes"}}}, "default")
    client.patch(CONFIG_MAPS, "a", {"data": {"x": "1"}}, "default")
    last = client.patch(CONFIG_MAPS, "a", {"metadata": {"labels": {"on": "no"}}}, "default")
    assert take(lines, 2) == [("ADDED", "a"), ("MODIFIED", "a")]
    left = json.loads(next(lines))
    assert left["type"] == "DELETED"
    assert left["object"]["metadata"]["labels"] == {"on": "yes"}
    assert left["object"]["metadata"]["resourceVersion"] == last["metadata"]["resourceVersion"]


def test_kubelets_list_their_own_pods(plane: ApiServerEmulator, client: KubeClient, pod: Callable[..., Obj]) -> None:
    stream = open_watch(plane.transport(), ("fieldSelector", "spec.nodeName=n1"), path="/api/v1/pods")
    made = client.create(PODS, pod("p"))
    client.bind(made, "n1")
    assert take(iter(stream), 1) == [("ADDED", "p")]


def test_timeouts_end_a_watch(plane: ApiServerEmulator, clock: AdvanceableClock) -> None:
    stream = open_watch(plane.transport(), ("timeoutSeconds", "30"))
    lines: list[bytes] = []
    reader = threading.Thread(target=lambda: lines.extend(stream))
    reader.start()
    clock.advance(31)
    reader.join(60)
    assert not reader.is_alive()
    assert lines == []


def test_a_short_timeout_ends_a_watch_over_https(https_plane: ApiServerEmulator) -> None:
    transport = HttpTransport.from_kubeconfig(https_plane.kubeconfig)
    assert list(open_watch(transport, ("timeoutSeconds", "1"))) == []
    transport.close()


def test_idle_watches_get_bookmarks(
    plane: ApiServerEmulator, client: KubeClient, clock: AdvanceableClock, pod: Callable[..., Obj]
) -> None:
    now = ("resourceVersion", client.list(CONFIG_MAPS).resource_version)
    stream = open_watch(plane.transport(), ("allowWatchBookmarks", "true"), ("timeoutSeconds", "600"), now)
    lines = iter(stream)
    client.create(
        PODS, {"metadata": {"name": "p", "namespace": "default"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    )
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(next(lines)))
    reader.start()
    clock.advance(61)
    reader.join(60)
    found = json.loads(got[0])
    assert found["type"] == "BOOKMARK"
    assert found["object"]["metadata"]["resourceVersion"] == client.list(CONFIG_MAPS).resource_version


def test_close_ends_a_blocked_reader(plane: ApiServerEmulator) -> None:
    stream = open_watch(plane.transport())
    reader = threading.Thread(target=lambda: list(stream))
    reader.start()
    stream.close()
    reader.join(60)
    assert not reader.is_alive()


def test_dropped_watches_end(transport: Transport, request: pytest.FixtureRequest) -> None:
    name = "plane" if "plane" in request.fixturenames and "in-process" in request.node.name else "https_plane"
    server = request.getfixturevalue(name).server
    stream = open_watch(transport)
    assert server.drop_watches("", "configmaps") == 1
    assert list(stream) == []


@pytest.mark.parametrize(
    "query",
    [
        [("resourceVersionMatch", "NotOlderThan")],
        [("sendInitialEvents", "true")],
        [("sendInitialEvents", "true"), ("resourceVersionMatch", "Exact")],
    ],
)
def test_contradictory_options_are_refused(plane: ApiServerEmulator, query: Sequence[tuple[str, str]]) -> None:
    answer = plane.transport().stream(PATH, query=[("watch", "true"), *query])
    assert isinstance(answer, Response)
    assert (answer.status, json.loads(answer.body)["reason"]) == (422, "Invalid")


def test_many_writers_and_watchers_see_one_order(plane: ApiServerEmulator) -> None:
    streams = [open_watch(plane.transport()) for _ in range(3)]
    writers = [
        threading.Thread(
            target=lambda w=worker: [
                KubeClient(plane.transport()).create(CONFIG_MAPS, config_map(f"w{w}-{i}")) for i in range(40)
            ]
        )
        for worker in range(4)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    seen = []
    for stream in streams:
        lines = iter(stream)
        events = [json.loads(next(lines))["object"]["metadata"] for _ in range(160)]
        versions = [int(meta["resourceVersion"]) for meta in events]
        assert versions == sorted(versions)
        seen.append([meta["name"] for meta in events])
    assert seen[0] == seen[1] == seen[2]


def test_a_watch_is_delayed_by_its_own_delay(tmp_path: Path, clock: AdvanceableClock) -> None:
    drawn = [0.0, 134.4, 0.0, 763.8, 255.1, 0.0, 495.4, 93.9]
    delays = iter(drawn)
    assert 0 < drawn.count(0.0) < 8
    assert all(delay == 0.0 or delay > 60 for delay in drawn), "longer than the test takes"
    delivered = [threading.Event() for _ in drawn]
    started = threading.Barrier(len(drawn) + 1)
    with ApiServerEmulator(
        directory=tmp_path, clock=clock, seed=1, https=False, watch_delay=lambda _: next(delays)
    ) as plane:
        client = KubeClient(plane.transport(), user_agent="tester/1")
        client.create(CONFIG_MAPS, config_map("first"))
        streams = [open_watch(plane.transport()) for _ in drawn]

        def read(stream: Stream, event: threading.Event) -> None:
            lines = iter(stream)
            assert take(lines, 1) == [("ADDED", "first")]  # existing objects are never delayed
            started.wait(60)
            assert take(lines, 1) == [("ADDED", "next")]
            event.set()

        readers = [
            threading.Thread(target=read, args=pair, daemon=True) for pair in zip(streams, delivered, strict=True)
        ]
        for reader in readers:
            reader.start()
        started.wait(60)
        client.create(CONFIG_MAPS, config_map("next"))
        prompt = [event for delay, event in zip(drawn, delivered, strict=True) if not delay]
        delayed = [event for delay, event in zip(drawn, delivered, strict=True) if delay]
        assert all(event.wait(60) for event in prompt)
        assert not any(event.is_set() for event in delayed)
        for event in delayed:
            for _ in range(1000):  # a reader that starts to wait later misses the earlier jumps
                clock.advance(1000)
                if event.wait(0.01):
                    break
            assert event.is_set()


@pytest.mark.parametrize("end", ["close", "kill"])
def test_a_watch_that_opens_while_the_connection_ends_is_closed(
    plane: ApiServerEmulator, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    transport = plane.transport()
    opened: list[Any] = []
    handle = plane.server.handle

    def served(request: Request) -> Any:
        found = handle(request)
        opened.append(found)
        (plane.kill if end == "kill" else transport.close)()
        return found

    monkeypatch.setattr(plane.server, "handle", served)
    with pytest.raises(TransportError, match="was closed"):
        open_watch(transport)
    assert list(opened[0]) == []
