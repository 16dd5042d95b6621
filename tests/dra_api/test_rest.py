"""Whether everybody who works by a clock is at rest."""

from __future__ import annotations

import gc
import threading

from dra_api.clock import SOON, AdvanceableClock
from dra_api.workqueue import WorkQueue


def test_a_queue_is_at_rest_when_no_key_is_ready_or_in_work() -> None:
    clock = AdvanceableClock()
    queue: WorkQueue[str] = WorkQueue(clock)
    assert clock.at_rest()
    queue.add("a")
    assert not clock.at_rest()
    assert queue.get() == "a"
    assert not clock.at_rest()
    queue.done("a")
    assert clock.at_rest()


def test_work_that_is_due_soon_waits_and_later_work_does_not() -> None:
    clock = AdvanceableClock()
    queue: WorkQueue[str] = WorkQueue(clock)
    queue.add_after("later", 60)
    assert clock.at_rest()
    clock.advance(60 - SOON / 2)
    assert not clock.at_rest()


def test_a_queue_that_was_shut_down_is_at_rest_when_its_last_key_is_done() -> None:
    clock = AdvanceableClock()
    queue: WorkQueue[str] = WorkQueue(clock)
    queue.add("a")
    queue.get()
    queue.add("b")
    queue.shut_down()
    assert not clock.at_rest()
    queue.done("a")
    assert clock.at_rest()


def test_who_is_gone_is_not_asked() -> None:
    clock = AdvanceableClock()
    WorkQueue(clock).add("a")
    gc.collect()
    assert clock.at_rest()


def test_parties_may_come_while_rest_is_asked_for() -> None:
    clock = AdvanceableClock()
    stop = threading.Event()

    def come_and_go() -> None:
        while not stop.is_set():
            WorkQueue(clock)

    thread = threading.Thread(target=come_and_go)
    thread.start()
    assert all(clock.at_rest() for _ in range(2000))
    stop.set()
    thread.join()


class Passing:
    """One of two between whom a piece of work lies; who is asked without it gets it from the other, once."""

    def __init__(self, work: set[Passing]) -> None:
        self.work = work
        self.passes = True

    def at_rest(self) -> bool:
        rest = self not in self.work
        if rest and self.passes and self.work:
            self.passes = next(iter(self.work)).passes = False
            self.work.clear()
            self.work.add(self)
        return rest


def test_work_that_goes_from_one_to_another_while_they_are_asked_is_seen() -> None:
    # Whom the clock asks first is chance, so that either has it at the beginning.
    for first in (0, 1):
        clock, work = AdvanceableClock(), set[Passing]()
        parties = [Passing(work), Passing(work)]
        for party in parties:
            clock.enlist(party)
        work.add(parties[first])
        assert not clock.at_rest()
