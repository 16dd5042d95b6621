"""The work queue: one worker a key, nothing lost, back-off on the clock that it is given."""

from __future__ import annotations

import threading

from hypothesis import given, settings
from hypothesis import strategies as st

from dra_api.clock import AdvanceableClock
from dra_api.workqueue import WorkQueue


def queue(**options: float) -> tuple[WorkQueue[str], AdvanceableClock]:
    clock = AdvanceableClock()
    return WorkQueue(clock, **options), clock


def drain(work: WorkQueue[str]) -> list[str]:
    found = []
    while (key := work.get(timeout=0)) is not None:
        found.append(key)
        work.done(key)
    return found


def test_keys_come_in_order_and_once() -> None:
    work, _ = queue()
    for key in "abcab":
        work.add(key)
    assert len(work) == 3
    assert drain(work) == ["a", "b", "c"]


def test_a_key_added_while_it_is_handled_is_handled_once_more() -> None:
    work, _ = queue()
    work.add("a")
    assert work.get(timeout=0) == "a"
    work.add("a")
    work.add("a")
    assert work.get(timeout=0) is None, "one worker a key"
    work.done("a")
    assert drain(work) == ["a"]


def test_what_can_wait_comes_after_all_that_is_ready_and_once() -> None:
    work, _ = queue()
    work.add_idle("late", within=5)
    work.add("a")
    work.add_idle("a", within=5)
    work.add("b")
    work.add_idle("asked for", within=5)
    work.add("asked for")
    assert not work.is_idle()
    assert drain(work) == ["a", "b", "asked for", "late"]
    assert work.is_idle()


def test_what_has_waited_as_long_as_was_said_gets_one_turn_in_four() -> None:
    work, clock = queue()
    for key in ("1", "2", "3"):
        work.add_idle(key, within=5)
    for key in "abcdefgh":
        work.add(key)
    clock.advance(4.9)
    assert [work.get(timeout=0) for _ in range(4)] == ["a", "b", "c", "d"], "there is time yet"
    clock.advance(0.1)
    work.add_idle("4", within=5)
    assert drain(work) == ["1", "e", "f", "g", "2", "h", "3", "4"]


def test_what_can_wait_does_not_take_turns_before_its_time() -> None:
    work, clock = queue()
    work.add_idle("first", within=5)
    work.add_idle("second", within=60)
    clock.advance(6)
    for key in "abcdefgh":
        work.add(key)
    assert drain(work) == ["a", "b", "c", "first", *"defgh", "second"]


def test_what_can_wait_is_not_handled_while_its_key_is() -> None:
    work, _ = queue()
    work.add("a")
    assert work.get(timeout=0) == "a"
    work.add_idle("a", within=0)
    assert work.get(timeout=0) is None
    work.done("a")
    assert drain(work) == ["a"]


def test_delays_run_on_the_clock() -> None:
    work, clock = queue()
    work.add_after("late", 60)
    work.add_after("later", 120)
    work.add_after("now", 0)
    assert drain(work) == ["now"]
    clock.advance(61)
    assert drain(work) == ["late"]
    clock.advance(60)
    assert drain(work) == ["later"]


def test_the_earliest_wish_for_a_key_wins() -> None:
    work, clock = queue()
    work.add_after("a", 60)
    work.add_after("a", 10)
    work.add_after("a", 90)
    clock.advance(11)
    assert drain(work) == ["a"]
    clock.advance(100)
    assert drain(work) == []


def test_back_off_doubles_up_to_its_limit_and_starts_again() -> None:
    work, _ = queue(base_delay=1.0, max_delay=5.0)
    assert [work.add_rate_limited("a") for _ in range(5)] == [1.0, 2.0, 4.0, 5.0, 5.0]
    assert work.failures("a") == 5
    assert work.add_rate_limited("b") == 1.0
    work.forget("a")
    assert (work.failures("a"), work.add_rate_limited("a")) == (0, 1.0)


def test_back_off_survives_many_failures() -> None:
    work, _ = queue()
    for _ in range(5000):
        delay = work.add_rate_limited("a")
    assert delay == 60.0


def test_a_waiting_worker_wakes_for_new_work_for_time_and_for_the_end() -> None:
    work, clock = queue()
    answers: list[str | None] = []

    def worker() -> None:
        while (key := work.get()) is not None:
            answers.append(key)
            work.done(key)
        answers.append(None)

    thread = threading.Thread(target=worker, daemon=True)
    thread.start()
    work.add_after("timed", 3600)
    work.add("a")
    clock.advance(3601)
    for _ in range(6000):
        if len(answers) == 2:
            break
        thread.join(0.01)
    work.shut_down()
    thread.join(60)
    assert answers == ["a", "timed", None]


def test_after_the_end_nothing_comes_in() -> None:
    work, clock = queue()
    work.add("a")
    work.add_after("b", 1)
    work.shut_down()
    work.add("c")
    work.add_after("d", 0.1)
    clock.advance(10)
    assert work.get(timeout=0) is None


def test_a_deadline_is_kept() -> None:
    work, _ = queue()
    assert work.get(timeout=0.001) is None


@settings(derandomize=True, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["add", "after", "get", "done", "advance"]), st.sampled_from("abc"))))
def test_no_key_is_lost_or_processed_twice_at_once(story: list[tuple[str, str]]) -> None:
    work, clock = queue()
    asked: set[str] = set()  # wished for at once and not yet handed out since
    later: set[str] = set()  # wished for after a delay that has not passed, perhaps
    held: list[str] = []
    for act, key in story:
        match act:
            case "add":
                work.add(key)
                asked.add(key)
            case "after":
                work.add_after(key, 5)
                later.add(key)
            case "advance":
                clock.advance(10)
                asked |= later
                later.clear()
            case "get":
                found = work.get(timeout=0)
                if found is not None:
                    assert found not in held, "two workers on one key"
                    assert found in asked, "a key that nobody asked for"
                    held.append(found)
                    asked.discard(found)
            case _ if key in held:
                held.remove(key)
                work.done(key)
    clock.advance(10)
    asked |= later
    for key in held:
        work.done(key)
    rest: list[str] = []
    while (found := work.get(timeout=0)) is not None:
        rest.append(found)
        work.done(found)
    assert set(rest) == asked
    assert len(rest) == len(set(rest))
