"""Watches that report changes late, for each resource by its own delay, through both endpoints."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from apiserver_emulator import ApiServerEmulator
from dra_api.client import KubeClient
from dra_api.clock import RealClock
from dra_api.objects import CONFIG_MAPS, NAMESPACES, NODES
from dra_api.transport import HttpTransport, Transport, TransportError
from dra_conformance.faults import FaultPoints, FaultyTransport
from dra_conformance.faults.late import LateStream
from dra_conformance.faults.proxy import FaultProxy

LAG = 1.0
COUNT = 20
FOR_EVER = 600.0


def lag(resource: str) -> float:
    """Delay ConfigMaps, and namespaces for longer than a test takes."""
    return {"configmaps": LAG, "namespaces": FOR_EVER}.get(resource, 0.0)


@pytest.fixture(params=["in-process", "proxy"])
def late(
    request: pytest.FixtureRequest, plane: ApiServerEmulator, points: FaultPoints, tmp_path: Path
) -> Iterator[Transport]:
    """A transport whose watches of ConfigMaps are late."""
    if request.param == "in-process":
        found: Transport = FaultyTransport(plane.transport(), points, component="late", clock=RealClock(), lag=lag)
        yield found
        found.close()
        return
    proxy = FaultProxy(points, folder=tmp_path / "late", lag=lag)
    proxy.start()
    found = HttpTransport.from_kubeconfig(proxy.open("late", plane.kubeconfig))
    yield found
    found.close()
    proxy.stop()


def test_each_event_of_the_resource_is_late_by_itself(late: Transport, plane: ApiServerEmulator) -> None:
    client, writer = KubeClient(late), KubeClient(plane.transport())
    version = client.list(CONFIG_MAPS, "default").resource_version
    watch = client.watch(CONFIG_MAPS, "default", resource_version=version)
    began = time.monotonic()
    for number in range(COUNT):
        writer.create(CONFIG_MAPS, {"metadata": {"name": f"c{number}", "namespace": "default"}})
    arrived = [time.monotonic() for _ in zip(range(COUNT), watch, strict=False)]
    assert all(moment - began >= LAG for moment in arrived)
    # Not one delay after the other.
    assert arrived[-1] - began < COUNT * LAG
    watch.close()


def test_a_resource_without_a_delay_is_not_late(late: Transport, plane: ApiServerEmulator) -> None:
    client, writer = KubeClient(late), KubeClient(plane.transport())
    version = client.list(NODES).resource_version
    nodes = client.watch(NODES, resource_version=version)
    namespaces = client.watch(NAMESPACES, resource_version=version)
    arrived: list[object] = []
    reader = threading.Thread(target=lambda: arrived.extend(namespaces), daemon=True)
    reader.start()
    writer.create(NAMESPACES, {"metadata": {"name": "late"}})
    writer.create(NODES, {"metadata": {"name": "n"}, "spec": {}})
    assert next(iter(nodes)).object["metadata"]["name"] == "n"
    assert not arrived
    namespaces.close()
    reader.join(60)
    assert not reader.is_alive()
    nodes.close()


def test_a_late_watch_ends_with_the_error_of_the_watch_behind_it() -> None:
    class Broken:
        def __iter__(self) -> Iterator[bytes]:
            yield b"{}"
            raise TransportError("the connection broke")

        def close(self) -> None:
            """Nothing to close."""

    lines = iter(LateStream(Broken(), 0.01, clock=RealClock()))
    assert next(lines) == b"{}"
    with pytest.raises(TransportError, match="the connection broke"):
        next(lines)


def test_a_late_watch_that_is_closed_ends_at_once() -> None:
    ended = threading.Event()

    class Open:
        def __iter__(self) -> Iterator[bytes]:
            yield b"{}"
            ended.wait(60)

        def close(self) -> None:
            """End the iteration."""
            ended.set()

    stream = LateStream(Open(), FOR_EVER, clock=RealClock())
    threading.Timer(0.05, stream.close).start()
    began = time.monotonic()
    list(stream)
    assert time.monotonic() - began < 60
