"""Whether everybody who works by a clock is at rest."""

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
