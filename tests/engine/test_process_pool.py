"""Tests of work in forked processes: a failing child affects no other."""

from __future__ import annotations

import multiprocessing
import os
import time

from dra_conformance.core.process_pool import each


def _work(item: object) -> object:
    match item:
        case "raise":
            raise ValueError("so")
        case "exit":
            os._exit(3)
        case "hang":
            time.sleep(600)
        case _:
            return [item]
    return None


def test_a_failing_child_does_not_affect_the_others() -> None:
    limit = lambda item: 1.0 if item == "hang" else 60.0  # noqa: E731
    done = dict(each(["a", "raise", "exit", "hang", "b"], _work, jobs=3, limit=limit))
    assert done == {
        "a": ["a"],
        "b": ["b"],
        "raise": "failed outside the scenarios: ValueError: so",
        "exit": "its process ended with exit code 3 and no result",
        "hang": "took more than 1 s",
    }


def test_children_end_with_their_caller() -> None:
    running = each(["a", "hang"], _work, jobs=2, limit=60.0)
    assert next(running) == ("a", ["a"])
    assert multiprocessing.active_children()
    running.close()
    assert not multiprocessing.active_children()
