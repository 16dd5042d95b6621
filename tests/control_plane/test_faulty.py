"""Fault points in front of a server that has none: the same hooks, the same answers."""

from __future__ import annotations

import pytest

from dra_api.client import Conflict, KubeClient
from dra_api.clock import RealClock
from dra_api.objects import NODES
from dra_api.transport import NO_HEADERS, Response, TransportError
from dra_conformance.control_plane.embedded.faults import Fault, FaultPoints
from dra_conformance.control_plane.embedded.request import Request, RequestInfo
from dra_conformance.control_plane.embedded.status import StatusError
from dra_conformance.control_plane.faulty import FaultyTransport


class Silent:
    """A server that says an empty object to everything and counts."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.closed = False

    def request(self, method: str, path: str, **_: object) -> Response:
        self.asked.append(f"{method} {path}")
        return Response(200, NO_HEADERS, b"{}")

    def stream(self, path: str, **_: object) -> Response:
        self.asked.append(f"WATCH {path}")
        return Response(200, NO_HEADERS, b"{}")

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def server() -> Silent:
    return Silent()


@pytest.fixture
def points() -> FaultPoints:
    return FaultPoints()


@pytest.fixture
def transport(server: Silent, points: FaultPoints) -> FaultyTransport:
    return FaultyTransport(server, points, RealClock())


def refuse_updates(info: RequestInfo, request: Request) -> Fault | None:
    if info.verb == "update" and info.resource == "nodes" and request.user_agent == "victim":
        return Fault(error=StatusError(409, "Conflict", "not now"))
    return None


def test_a_refused_request_never_reaches_the_server(
    server: Silent, points: FaultPoints, transport: FaultyTransport
) -> None:
    remove = points.add(refuse_updates)
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
    with pytest.raises(Conflict, match="not now"):
        KubeClient(transport, user_agent="victim").update(NODES, node)
    assert server.asked == []
    KubeClient(transport, user_agent="other").update(NODES, node)
    assert server.asked == ["PUT /api/v1/nodes/n1"]
    remove()
    KubeClient(transport, user_agent="victim").update(NODES, node)
    assert len(server.asked) == 2


def test_a_dropped_connection_is_an_error_of_the_transport(
    server: Silent, points: FaultPoints, transport: FaultyTransport
) -> None:
    points.add(lambda info, request: Fault(drop=True))
    with pytest.raises(TransportError, match="closed the connection"):
        transport.request("GET", "/api/v1/nodes")
    with pytest.raises(TransportError, match="closed the connection"):
        transport.stream("/api/v1/nodes")
    assert server.asked == []


def test_a_delay_alone_lets_the_request_through(
    server: Silent, points: FaultPoints, transport: FaultyTransport
) -> None:
    points.add(lambda info, request: Fault(delay_s=0.001))
    assert transport.request("GET", "/api/v1/nodes").status == 200
    transport.close()
    assert server.closed
