"""A local copy that stays true: resumes, lists again after 410, backs off, never goes back behind its own writes."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from polling import wait_until
from scripted import Feed, Scripted, pod, pods, refusal

from dra_api.client import KubeClient
from dra_api.clock import SOON, AdvanceableClock
from dra_api.informer import REFUSED_S, Change, Informer
from dra_api.objects import PODS, Obj, name_of
from dra_api.transport import Response, Stream, TransportError

GONE = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}


@pytest.fixture
def reported(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The exceptions that threads report."""
    found: list[str] = []
    monkeypatch.setattr(threading, "excepthook", lambda arguments: found.append(str(arguments.exc_value)))
    return found


@contextmanager
def informer(
    lists: Sequence[Response | Exception], feeds: Sequence[Stream | Response | Exception], **backoff: float
) -> Iterator[tuple[Informer, Scripted, list[Change], AdvanceableClock]]:
    transport = Scripted(lists, feeds)
    clock = AdvanceableClock()
    made = Informer(KubeClient(transport), PODS, clock=clock, namespace="ns", **backoff)
    changes: list[Change] = []
    made.on_change(changes.append)
    made.start()
    try:
        yield made, transport, changes, clock
    finally:
        made.stop()


def delivered(changes: Sequence[Change]) -> list[tuple[str, str]]:
    return [(change.type, change.object["metadata"]["name"]) for change in changes]


def versions(transport: Scripted) -> list[str]:
    return [query["resourceVersion"] for method, _, query in transport.asked if method == "WATCH"]


def lists_made(transport: Scripted) -> int:
    return sum(method == "GET" for method, _, _ in transport.asked)


def test_a_list_and_then_what_changes() -> None:
    feed = Feed().say("ADDED", pod("b", 11)).say("MODIFIED", pod("a", 12, x=1)).say("DELETED", pod("b", 13))
    with informer([pods(10, pod("a", 5))], [feed]) as (made, transport, changes, _):
        assert made.wait_synced(60)
        assert made.wait_for(lambda: made.resource_version == "13", 60)
        assert delivered(changes) == [("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]
        assert changes[2].old == pod("a", 5) | {"apiVersion": "v1", "kind": "Pod"}
        assert [obj["metadata"]["name"] for obj in made.list()] == ["a"]
        assert made.get("a", "ns") == pod("a", 12, x=1)
        assert made.list("other") == []
        assert versions(transport) == ["10"]


def test_a_watch_that_ends_is_resumed_where_it_stopped() -> None:
    feeds = [Feed().say("ADDED", pod("a", 11)).end(), Feed().say("BOOKMARK", pod("", 40)).end(), Feed()]
    with informer([pods(10)], feeds) as (_, transport, changes, _clock):
        transport.wait(lambda asked: sum(m == "WATCH" for m, _, _ in asked) == 3)
        assert versions(transport) == ["10", "11", "40"]
        assert lists_made(transport) == 1
        assert delivered(changes) == [("ADDED", "a")]


def test_410_lists_again_at_once_and_reports_the_differences() -> None:
    feeds = [Feed().say("ERROR", GONE), Feed()]
    lists = [pods(10, pod("a", 5), pod("b", 6), pod("c", 7)), pods(50, pod("a", 5), pod("b", 44), pod("d", 45))]
    with informer(lists, feeds) as (made, transport, changes, _clock):
        transport.wait(lambda asked: versions(transport) == ["10", "50"])
        assert delivered(changes)[3:] == [("DELETED", "c"), ("MODIFIED", "b"), ("ADDED", "d")]
        assert made.get("c", "ns") is None


def test_410_as_an_answer_does_the_same() -> None:
    with informer([pods(10), pods(20)], [refusal(410, "Expired"), Feed()]) as (_, transport, _changes, _clock):
        transport.wait(lambda asked: versions(transport) == ["10", "20"])


FAR = {"min_backoff": 100.0, "max_backoff": 100.0}
NEAR = {"min_backoff": SOON, "max_backoff": SOON}


def test_failures_back_off_on_the_clock_and_then_heal() -> None:
    broken = TransportError("connection refused")
    lists = [broken, broken, refusal(500, "InternalError"), pods(10)]
    with informer(lists, [Feed()], **FAR) as (made, transport, _, clock):

        def attempts() -> int:
            clock.advance(10)
            return len(transport.asked)

        for attempt in range(1, 4):
            transport.wait(lambda asked, attempt=attempt: len(asked) >= attempt)  # type: ignore[misc]
            assert not made.synced
            # More than once: the informer may begin to wait after the first jump.
            wait_until(lambda attempt=attempt: attempts() > attempt)  # type: ignore[misc]
        assert made.wait_synced(60)


def test_is_not_idle_if_the_next_attempt_is_near() -> None:
    with informer([TransportError("connection refused")], [Feed()], **NEAR) as (_, transport, _changes, clock):
        transport.wait(lambda asked: len(asked) >= 1)
        assert not any(clock.is_idle() for _ in range(100))


def test_is_idle_while_its_watch_is_open_and_while_the_next_attempt_is_far() -> None:
    broken = TransportError("connection refused")
    with informer([broken] * 5 + [pods(10)], [Feed()], **FAR) as (made, transport, _, clock):
        transport.wait(lambda asked: len(asked) >= 1)
        wait_until(clock.is_idle)
        assert not made.synced
        wait_until(lambda: clock.advance(10) and made.synced)
        wait_until(clock.is_idle)


def test_a_watch_that_ends_at_once_and_empty_is_no_hot_loop() -> None:
    empty = [Feed().end() for _ in range(50)]
    with informer([pods(10)], [*empty, Feed()]) as (made, transport, _, _clock):
        assert made.wait_synced(60)
        threading.Event().wait(0.3)
        assert len(versions(transport)) <= 6


def test_a_line_that_breaks_is_taken_up_again() -> None:
    feeds = [Feed().say("ADDED", pod("a", 11)).break_off(), Feed()]
    with informer([pods(10)], feeds) as (_, transport, _changes, clock):
        transport.wait(lambda asked: len(versions(transport)) >= 1)
        clock.advance(10)
        transport.wait(lambda asked: versions(transport) == ["10", "11"])
        assert lists_made(transport) == 1


def test_own_writes_are_seen_before_the_watch_brings_them_and_never_undone() -> None:
    feed = Feed()
    with informer([pods(10, pod("a", 5))], [feed]) as (made, _, changes, _clock):
        assert made.wait_synced(60)
        made.assume(pod("a", 20, mine=True))
        assert made.get("a", "ns") == pod("a", 20, mine=True)
        feed.say("MODIFIED", pod("a", 15, mine=False)).say("MODIFIED", pod("a", 20, mine=True))
        feed.say("ADDED", pod("z", 21))
        assert made.wait_for(lambda: made.get("z", "ns") is not None, 60)
        assert made.get("a", "ns") == pod("a", 20, mine=True)
        assert delivered(changes) == [("ADDED", "a"), ("MODIFIED", "a"), ("ADDED", "z")]


def test_what_was_deleted_meanwhile_is_not_brought_back_by_an_old_answer() -> None:
    feed = Feed().say("ADDED", pod("a", 11)).say("DELETED", pod("a", 12))
    with informer([pods(10)], [feed]) as (made, _, _changes, _clock):
        assert made.wait_for(lambda: made.resource_version == "12", 60)
        made.assume(pod("a", 11))
        assert made.get("a", "ns") is None
        made.assume(pod("a", 13, uid="new"))
        assert made.get("a", "ns") is not None


def test_a_new_object_of_an_old_name_replaces_it() -> None:
    feed = Feed()
    with informer([pods(10)], [feed]) as (made, _, changes, _clock):
        assert made.wait_synced(60)
        made.assume(pod("a", 30))
        feed.say("DELETED", pod("a", 31)).say("ADDED", pod("a", 32, uid="new"))
        assert made.wait_for(lambda: made.resource_version == "32", 60)
        assert made.get("a", "ns") == pod("a", 32, uid="new")
        assert delivered(changes) == [("ADDED", "a"), ("DELETED", "a"), ("ADDED", "a")]


def test_a_new_list_shows_a_replaced_object_as_a_deletion_and_an_addition() -> None:
    old, new = pod("a", 5, uid="old"), pod("a", 20, uid="new")
    lists = [pods(10, old), pods(21, new)]
    with informer(lists, [Feed().say("ERROR", GONE), Feed()]) as (made, _, changes, _clock):
        assert made.wait_for(lambda: made.resource_version == "21", 60)
        assert delivered(changes) == [("ADDED", "a"), ("DELETED", "a"), ("ADDED", "a")]
        assert [change.object["metadata"]["uid"] for change in changes] == ["old-a", "old-a", "new-a"]
        assert changes[2].old is None


def test_an_index_follows_its_objects() -> None:
    feed = Feed()
    with informer([pods(10, pod("a", 5, node="x"))], [feed]) as (made, _, _changes, _clock):
        assert made.wait_synced(60)
        made.add_index("node", lambda obj: [obj["node"]] if "node" in obj else [])
        assert [obj["metadata"]["name"] for obj in made.by_index("node", "x")] == ["a"]
        feed.say("MODIFIED", pod("a", 11, node="y"))
        assert made.wait_for(lambda: bool(list(made.by_index("node", "y"))), 60)
        assert list(made.by_index("node", "x")) == []


def test_a_failing_handler_is_reported_and_does_not_affect_other_handlers(reported: list[str]) -> None:
    feed = Feed()
    with informer([pods(10, pod("a", 5))], [feed]) as (made, _, changes, _clock):
        assert made.wait_synced(60)

        def bad(change: Change) -> None:
            raise RuntimeError(change.type)

        made._handlers.insert(0, bad)
        late: list[Change] = []
        made.on_change(late.append)
        feed.say("ADDED", pod("b", 11))
        assert made.wait_for(lambda: len(late) == 2, 60)
        assert delivered(late) == [("ADDED", "a"), ("ADDED", "b")] == delivered(changes)
    assert reported == ["ADDED"]


def test_an_unexpected_exception_is_reported_and_the_informer_lists_again(reported: list[str]) -> None:
    feed = Feed()
    script = [pods(10, pod("a", 5)), pods(12, pod("a", 5), pod("b", 11))]
    with informer(script, [feed, Feed()]) as (made, _, _changes, _clock):
        assert made.wait_synced(60)
        failing = True

        def index(obj: Obj) -> list[str]:
            nonlocal failing
            if failing and obj["metadata"]["name"] == "b":
                failing = False
                raise RuntimeError("a bug")
            return []

        made.add_index("node", index)
        feed.say("ADDED", pod("b", 11))
        assert made.wait_for(lambda: made.resource_version == "12", 60)
        assert sorted(name_of(obj) for obj in made.list()) == ["a", "b"]
    assert reported == ["a bug"]


def test_stopping_ends_thread_and_watch_also_twice_and_before_the_start() -> None:
    feed = Feed()
    with informer([pods(10)], [feed]) as (made, transport, _, _clock):
        transport.wait(lambda asked: len(asked) == 2)
        made.stop()
        made.stop()
        assert feed.closed.is_set()
        assert made._thread is not None
        assert not made._thread.is_alive()
    Informer(KubeClient(Scripted()), PODS, clock=AdvanceableClock()).stop()


FORBIDDEN = "Forbidden"


@pytest.mark.parametrize(("lists", "what"), [([], "list"), ([pods(10)], "watch")])
def test_a_server_that_refuses_and_refuses_has_answered(lists: list[Response | Exception], what: str) -> None:
    refused = [refusal(403, FORBIDDEN) for _ in range(100)]
    with informer([*lists, *refused], [*refused]) as (made, transport, _, clock):
        transport.wait(lambda asked: len(asked) >= len(lists) + 2)
        clock.advance(REFUSED_S + 1)
        said = made.wait_served(60)
        assert said.startswith(f"cannot {what} {PODS} within 5 s: ")
        assert "403 Forbidden" in said


def test_a_server_that_refuses_at_first_serves_in_the_end() -> None:
    with informer([refusal(403, FORBIDDEN), pods(10)], [refusal(403, FORBIDDEN), Feed()]) as (
        made,
        transport,
        _,
        clock,
    ):
        for asked_before in (1, 3):
            transport.wait(lambda asked, least=asked_before: len(asked) >= least)  # type: ignore[misc]
            clock.advance(1)
        assert made.wait_served(60) == ""


def test_other_watch_failures_end_the_wait() -> None:
    broken = [refusal(500, "InternalError") for _ in range(100)]
    with informer([pods(10)], broken) as (made, _, _changes, _clock):
        assert made.wait_served(60) == ""
