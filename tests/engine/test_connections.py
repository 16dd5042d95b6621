"""Tests of the connections of a run that several threads open at the same time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from dra_api.clock import RealClock
from dra_api.transport import OpenTransports
from dra_conformance.components.connections import Connections
from dra_conformance.core.events import EventLog

THREADS = 4


class Closable:
    """A transport that is only closed."""

    def __init__(self) -> None:
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


def test_threads_share_one_connection_which_is_closed(tmp_path: Path) -> None:
    opened: list[Any] = []
    never = threading.Event()

    def connect() -> Any:
        opened.append(Closable())
        never.wait(0.1)  # another thread gets here in the meantime, unless it waits for this one
        return opened[-1]

    connections = Connections(
        object(),  # type: ignore[arg-type]
        connect=connect,
        in_flight=nullcontext,
        own_clock=RealClock,
        log=EventLog(),
        folder=tmp_path,
        by_proxy=(),
    )
    with ThreadPoolExecutor(THREADS) as threads:
        found = list(threads.map(connections.transport, ["scheduler", "binder"] * (THREADS // 2)))
    assert len({id(one) for one in found}) == 2
    connections.stop()
    assert len(opened) == 1
    assert opened[0].closed


def test_a_transport_that_is_opened_during_the_end_is_closed_by_the_next_one() -> None:
    transports = OpenTransports[Any]()
    late = Closable()

    class Last(Closable):
        def close(self) -> None:
            super().close()
            transports.add(late)

    last = transports.add(Last())
    transports.close()
    assert (last.closed, late.closed) == (1, 0)
    transports.close()
    assert (last.closed, late.closed) == (1, 1)
