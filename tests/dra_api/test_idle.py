"""A clock is idle when all its activities are idle."""

from __future__ import annotations

import gc
import threading

from dra_api.clock import SOON, AdvanceableClock
from dra_api.workqueue import WorkQueue


def test_a_queue_is_idle_when_no_key_is_ready_or_in_work() -> None:
    clock = AdvanceableClock()
    queue: WorkQueue[str] = WorkQueue(clock)
    assert clock.is_idle()
    queue.add("a")
    assert not clock.is_idle()
    assert queue.get() == "a"
    assert not clock.is_idle()
    queue.done("a")
    assert clock.is_idle()


def test_work_that_is_due_soon_waits_and_later_work_does_not() -> None:
    clock = AdvanceableClock()
    queue: WorkQueue[str] = WorkQueue(clock)
    queue.add_after("later", 60)
    assert clock.is_idle()
    clock.advance(60 - SOON / 2)
    assert not clock.is_idle()


def test_a_shut_down_queue_is_idle_when_its_last_key_is_done() -> None:
    clock = AdvanceableClock()
    queue: WorkQueue[str] = WorkQueue(clock)
    queue.add("a")
    queue.get()
    queue.add("b")
    queue.shut_down()
    assert not clock.is_idle()
    queue.done("a")
    assert clock.is_idle()


def test_a_call_in_flight_is_not_idle() -> None:
    clock = AdvanceableClock()
    with clock.in_flight():
        assert not clock.is_idle()
        with clock.in_flight(open_ended=True):
            assert (clock.calls, clock.open_ended_calls) == (2, 1)
    assert clock.is_idle()
    assert (clock.calls, clock.open_ended_calls) == (0, 0)


def test_a_deleted_activity_does_not_count() -> None:
    clock = AdvanceableClock()
    WorkQueue(clock).add("a")
    gc.collect()
    assert clock.is_idle()


def test_activities_may_register_during_a_check() -> None:
    clock = AdvanceableClock()
    stop = threading.Event()

    def register_and_delete() -> None:
        while not stop.is_set():
            WorkQueue(clock)

    thread = threading.Thread(target=register_and_delete)
    thread.start()
    assert all(clock.is_idle() for _ in range(2000))
    stop.set()
    thread.join()


class Passing:
    """One of two activities that share one item of work. The first idle check moves the item to the checked one."""

    def __init__(self, work: set[Passing]) -> None:
        self.work = work
        self.passes = True

    def is_idle(self) -> bool:
        idle = self not in self.work
        if idle and self.passes and self.work:
            self.passes = next(iter(self.work)).passes = False
            self.work.clear()
            self.work.add(self)
        return idle


def test_work_that_moves_during_the_check_is_found() -> None:
    # The order of the checks is random, so each of the two has the item first once.
    for first in (0, 1):
        clock, work = AdvanceableClock(), set[Passing]()
        activities = [Passing(work), Passing(work)]
        for activity in activities:
            clock.register(activity)
        work.add(activities[first])
        assert not clock.is_idle()
