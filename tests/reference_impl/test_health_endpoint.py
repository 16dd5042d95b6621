"""The endpoint for probes of a reference component."""

from __future__ import annotations

import argparse
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPConnection

import pytest

from dra_api.clock import RealClock
from reference_impl.errors import ComponentError
from reference_impl.health_endpoint import HealthEndpoint, address
from reference_impl.runtime import run_until_stopped


@pytest.fixture
def endpoint() -> Iterator[HealthEndpoint]:
    made = HealthEndpoint(("127.0.0.1", 0))
    yield made
    made.stop()


def answer(endpoint: HealthEndpoint, path: str) -> int:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{endpoint.port}{path}", timeout=10) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_it_is_alive_at_once_and_ready_when_the_component_is(endpoint: HealthEndpoint) -> None:
    endpoint.start()
    assert [answer(endpoint, path) for path in ("/healthz", "/readyz", "/readyz?verbose", "/x")] == [200, 503, 503, 404]
    endpoint.set_ready(True)
    assert answer(endpoint, "/readyz") == 200
    endpoint.set_ready(False)
    assert answer(endpoint, "/readyz") == 503


def test_a_component_that_starts_slowly_is_alive_and_not_ready_meanwhile(endpoint: HealthEndpoint) -> None:
    seen: dict[str, list[int]] = {}
    stopped = threading.Event()

    class Slow:
        name = "slow"

        def start(self) -> None:
            seen["starting"] = [answer(endpoint, "/healthz"), answer(endpoint, "/readyz")]
            stopped.set()

        def stop(self) -> None:
            seen["stopping"] = [answer(endpoint, "/healthz"), answer(endpoint, "/readyz")]

    run_until_stopped(Slow(), stopped=stopped, clock=RealClock(), health=endpoint)
    assert seen == {"starting": [200, 503], "stopping": [200, 503]}
    assert endpoint.port == 0


def test_a_client_that_says_nothing_does_not_block_the_others(endpoint: HealthEndpoint) -> None:
    endpoint.start()
    silent = HTTPConnection("127.0.0.1", endpoint.port)
    silent.connect()
    try:
        assert answer(endpoint, "/healthz") == 200
    finally:
        silent.close()


def test_an_address_in_use_is_an_error_of_the_option(endpoint: HealthEndpoint) -> None:
    endpoint.start()
    with pytest.raises(ComponentError, match="--health-probe-bind-address"):
        HealthEndpoint(("127.0.0.1", endpoint.port)).start()


@pytest.mark.parametrize("host", ["", "::1", "127.0.0.1"])
def test_hosts(host: str) -> None:
    made = HealthEndpoint((host, 0))
    try:
        made.start()
    except ComponentError as error:
        assert host == "::1"
        pytest.skip(f"no IPv6 here: {error}")
    assert made.port
    made.stop()


def test_addresses() -> None:
    assert [address(text) for text in (":8081", "127.0.0.1:0", "[::1]:80")] == [
        ("", 8081),
        ("127.0.0.1", 0),
        ("::1", 80),
    ]
    for text in ("8081", ":", ":x", ":65536", ":-1", ":²"):
        with pytest.raises(argparse.ArgumentTypeError, match="HOST:PORT"):
            address(text)
