"""An embedded control plane behind each of the two doors for faults."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dra_api.clock import RealClock
from dra_api.transport import HttpTransport, Transport
from dra_conformance.control_plane.embedded import EmbeddedControlPlane
from dra_conformance.faults import FaultPoints, FaultyTransport
from dra_conformance.faults.proxy import FaultProxy


@pytest.fixture
def points() -> FaultPoints:
    return FaultPoints()


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[EmbeddedControlPlane]:
    with EmbeddedControlPlane(directory=tmp_path / "plane", seed=1) as found:
        yield found


@pytest.fixture
def proxy(points: FaultPoints, tmp_path: Path) -> Iterator[FaultProxy]:
    found = FaultProxy(points, folder=tmp_path / "proxy")
    found.start()
    yield found
    found.stop()


Enter = Callable[[str], Transport]


@pytest.fixture(params=["in-process", "proxy"])
def enter(request: pytest.FixtureRequest, plane: EmbeddedControlPlane, points: FaultPoints) -> Iterator[Enter]:
    """Makes the transport of a seat, through either door."""
    made: list[Transport] = []

    def find(seat: str) -> Transport:
        if request.param == "in-process":
            found: Transport = FaultyTransport(plane.transport(), points, seat=seat, clock=RealClock())
        else:
            proxy: FaultProxy = request.getfixturevalue("proxy")
            found = HttpTransport.from_kubeconfig(proxy.open(seat, plane.kubeconfig))
        made.append(found)
        return found

    yield find
    for transport in made:
        transport.close()
