"""Time that can be advanced wakes everybody who waits for it, and nobody else."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest

from dra_api.clock import AdvanceableClock, Clock, RealClock, micro_timestamp, parse_timestamp, timestamp
from dra_api.workqueue import WorkQueue

PATIENCE = 60.0  # seconds of real time after which a test gives up; nothing below waits that long


def in_thread(function: Callable[[], object]) -> tuple[threading.Thread, list[object]]:
    answers: list[object] = []
    thread = threading.Thread(target=lambda: answers.append(function()), daemon=True)
    thread.start()
    return thread, answers


def waiting(clock: AdvanceableClock, count: int) -> None:
    """Until so many threads are registered as waiting; reads the clock's own book, so that no test sleeps."""
    never = threading.Event()
    for _ in range(int(PATIENCE / 0.001)):
        with clock._lock:
            if clock._waiting.total() >= count:
                return
        never.wait(0.001)
    raise AssertionError("nobody waits")


@pytest.mark.parametrize("clock", [RealClock(), AdvanceableClock()])
def test_both_clocks_are_clocks(clock: Clock) -> None:
    assert isinstance(clock, Clock)
    assert clock.now().tzinfo is UTC
    event = threading.Event()
    assert clock.wait(event, 0) is False
    event.set()
    assert clock.wait(event, 0) is True
    assert clock.wait(event, None) is True
    condition = threading.Condition()
    with condition:
        assert clock.condition_wait(condition, 0) is False


def test_advancing_moves_both_times() -> None:
    clock = AdvanceableClock()
    before, wall = clock.monotonic(), clock.now()
    clock.advance(3600)
    assert clock.monotonic() - before >= 3600
    assert clock.now() - wall >= timedelta(hours=1)


def test_time_never_goes_back() -> None:
    with pytest.raises(ValueError, match="cannot go back"):
        AdvanceableClock().advance(-1)


def test_every_waiter_whose_time_came_wakes_and_the_others_sleep_on() -> None:
    clock = AdvanceableClock()
    shared = threading.Event()
    short = [in_thread(lambda: clock.wait(shared, 30)) for _ in range(5)]
    own = threading.Event()
    long = in_thread(lambda: clock.wait(own, 300))
    waiting(clock, 6)
    clock.advance(31)
    for thread, answers in short:
        thread.join(PATIENCE)
        assert answers == [False]
    assert long[0].is_alive()
    own.set()
    long[0].join(PATIENCE)
    assert long[1] == [True]


def test_an_event_that_is_set_wakes_before_the_time() -> None:
    clock = AdvanceableClock()
    event = threading.Event()
    thread, answers = in_thread(lambda: clock.wait(event, 3600))
    waiting(clock, 1)
    event.set()
    thread.join(PATIENCE)
    assert answers == [True]


def test_a_waiter_without_a_deadline_is_not_moved_by_time() -> None:
    clock = AdvanceableClock()
    event = threading.Event()
    thread, answers = in_thread(lambda: clock.wait(event, None))
    clock.advance(1e9)
    assert not answers
    event.set()
    thread.join(PATIENCE)
    assert answers == [True]


def test_small_steps_add_up() -> None:
    clock = AdvanceableClock()
    thread, answers = in_thread(lambda: clock.wait(threading.Event(), 100))
    waiting(clock, 1)
    for _ in range(9):
        clock.advance(10)
    assert thread.is_alive()
    clock.advance(11)
    thread.join(PATIENCE)
    assert answers == [False]


def test_a_notification_wakes_all_threads_of_a_condition() -> None:
    clock = AdvanceableClock()
    condition = threading.Condition()

    def wait() -> bool:
        deadline = clock.monotonic() + 60
        with condition:
            while clock.monotonic() < deadline:
                clock.condition_wait_until(condition, deadline)
        return True

    threads = [in_thread(wait) for _ in range(4)]
    waiting(clock, 4)
    clock.advance(61)
    for thread, answers in threads:
        thread.join(PATIENCE)
        assert answers == [True]
    assert not clock._waiting, "nobody is left in the book"


class JumpingClock(AdvanceableClock):
    """A clock that another thread advances by an hour just after its time has been read for the n-th time."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0

    def monotonic(self) -> float:
        found = super().monotonic()
        self.reads -= 1
        if self.reads == 0:
            before = self._offset
            threading.Thread(target=self.advance, args=(3600,), daemon=True).start()
            while self._offset == before:  # the thread then waits for the lock of the waiter
                threading.Event().wait(0.001)
        return found


@pytest.mark.parametrize("reads", [1, 2])
def test_time_that_is_advanced_just_before_a_wait_counts(reads: int) -> None:
    clock = JumpingClock()
    work: WorkQueue[str] = WorkQueue(clock)
    work.add_after("key", 1800)
    clock.reads = reads
    thread, answers = in_thread(work.get)
    thread.join(PATIENCE)
    assert answers == ["key"]


def test_a_wait_until_a_time_ends_at_it() -> None:
    clock = JumpingClock()
    due = clock.monotonic() + 1800
    clock.reads = 1
    event, condition = threading.Event(), threading.Condition()
    thread, answers = in_thread(lambda: clock.wait_until(event, due))
    thread.join(PATIENCE)
    assert answers == [False]
    assert clock.wait_until(event, due) is False
    with condition:
        assert clock.condition_wait_until(condition, due) is False
    assert RealClock().wait_until(event, RealClock().monotonic() - 1) is False


def test_timestamps_as_kubernetes_writes_them() -> None:
    moment = datetime(2026, 6, 1, 14, 0, 5, 120_000, tzinfo=timezone(timedelta(hours=2)))
    assert timestamp(moment) == "2026-06-01T12:00:05Z"
    assert micro_timestamp(moment) == "2026-06-01T12:00:05.120000Z"
    assert parse_timestamp("2026-06-01T12:00:05.120000Z") == moment
    with pytest.raises(ValueError, match="soon"):
        parse_timestamp("soon")
