"""An emulated control plane behind each of the two fault injection endpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from apiserver_emulator import ApiServerEmulator
from dra_api.clock import RealClock
from dra_api.transport import HttpTransport, Transport
from dra_conformance.faults import FaultPoints, FaultyTransport
from dra_conformance.faults.proxy import FaultProxy


@pytest.fixture
def points() -> FaultPoints:
    return FaultPoints()


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[ApiServerEmulator]:
    with ApiServerEmulator(directory=tmp_path / "plane", seed=1) as found:
        # The controllers first create the root certificate in each namespace.
        assert found.server.controllers.wait_idle(10.0)
        yield found


@pytest.fixture
def proxy(points: FaultPoints, tmp_path: Path) -> Iterator[FaultProxy]:
    found = FaultProxy(points, folder=tmp_path / "proxy")
    found.start()
    yield found
    found.stop()


Enter = Callable[[str], Transport]


@pytest.fixture(params=["in-process", "proxy"])
def enter(request: pytest.FixtureRequest, plane: ApiServerEmulator, points: FaultPoints) -> Iterator[Enter]:
    """Makes the transport of a component, through either door."""
    made: list[Transport] = []

    def find(component: str) -> Transport:
        if request.param == "in-process":
            found: Transport = FaultyTransport(plane.transport(), points, component=component, clock=RealClock())
        else:
            proxy: FaultProxy = request.getfixturevalue("proxy")
            found = HttpTransport.from_kubeconfig(proxy.open(component, plane.kubeconfig))
        made.append(found)
        return found

    yield find
    for transport in made:
        transport.close()
