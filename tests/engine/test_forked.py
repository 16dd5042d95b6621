"""Work in forked processes: what children do to themselves reaches nobody else."""

from __future__ import annotations

import multiprocessing
import os
import time

from dra_conformance.core.process_pool import each


def _work(piece: object) -> object:
    match piece:
        case "raise":
            raise ValueError("so")
        case "exit":
            os._exit(3)
        case "hang":
            time.sleep(60)
        case _:
            return [piece]
    return None


def test_forked_work_survives_what_children_do() -> None:
    done = dict(each(["a", "raise", "exit", "hang", "b"], _work, jobs=3, limit=1.0))
    assert done == {
        "a": ["a"],
        "b": ["b"],
        "raise": "failed outside the scenarios: ValueError: so",
        "exit": "its process ended with exit code 3 and no result",
        "hang": "took more than 1 s",
    }


def test_forked_work_ends_with_its_caller() -> None:
    running = each(["a", "hang"], _work, jobs=2, limit=60.0)
    assert next(running) == ("a", ["a"])
    assert multiprocessing.active_children()
    running.close()
    assert not multiprocessing.active_children()
