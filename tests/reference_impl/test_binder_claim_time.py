"""The time limit of the binder's requests for the claims of a pod."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dra_api.client import KubeClient
from dra_api.clock import AdvanceableClock
from dra_api.objects import PODS
from dra_api.transport import Response, Stream, TransportError
from reference_impl.binder.claim_time import ClaimTime
from reference_impl.binder.failure import BindFailure

POD = {"metadata": {"name": "train", "namespace": "default", "uid": "u"}}


class SlowServer:
    """Responds to each request after `takes` seconds, or not at all if its client gives up before."""

    def __init__(self, clock: AdvanceableClock) -> None:
        self._clock = clock
        self.takes = 0.0
        self.met = 0
        self.after: Callable[[], object] = lambda: None

    def request(self, method: str, path: str, **options: Any) -> Response:
        self.met += 1
        limit = options["timeout"]
        self._clock.advance(min(self.takes, limit))
        if self.takes >= limit:
            raise TransportError(f"{method} {path}: timed out")
        self.after()
        return Response(200, {}, b"{}")

    def stream(self, path: str, **options: Any) -> Stream | Response:
        raise NotImplementedError

    def close(self) -> None:
        return


@pytest.fixture
def clock() -> AdvanceableClock:
    return AdvanceableClock()


@pytest.fixture
def server(clock: AdvanceableClock) -> SlowServer:
    return SlowServer(clock)


@pytest.fixture
def claim_time(clock: AdvanceableClock, server: SlowServer) -> ClaimTime:
    return ClaimTime(KubeClient(server), clock=clock, seconds=120)


def requests(claim_time: ClaimTime, count: int) -> None:
    with claim_time.limited(POD):
        for number in range(count):
            claim_time.client.get(PODS, f"p{number}", "default")


def test_all_requests_of_an_attempt_have_one_limit(claim_time: ClaimTime, server: SlowServer) -> None:
    server.takes = 70
    with pytest.raises(
        BindFailure, match=r"default/train: the API server has not responded .* within 120 s: .*timed out"
    ):
        requests(claim_time, 2)


def test_each_attempt_has_its_own_time(claim_time: ClaimTime, server: SlowServer) -> None:
    server.takes = 70
    for _ in range(3):
        requests(claim_time, 1)


def test_a_connection_that_breaks_in_time_is_another_error(claim_time: ClaimTime) -> None:
    with pytest.raises(TransportError, match="refused"), claim_time.limited(POD):
        raise TransportError("connection refused")


def test_nothing_is_sent_when_the_time_is_over(
    claim_time: ClaimTime, server: SlowServer, clock: AdvanceableClock
) -> None:
    server.after = lambda: clock.advance(120)
    with pytest.raises(BindFailure, match="the time limit for claims has passed"):
        requests(claim_time, 2)
    assert server.met == 1


def test_a_request_outside_of_an_attempt_has_the_whole_time(claim_time: ClaimTime, server: SlowServer) -> None:
    server.takes = 119
    claim_time.client.get(PODS, "one", "default")
    server.takes = 121
    with pytest.raises(TransportError, match="timed out"):
        claim_time.client.get(PODS, "one", "default")
