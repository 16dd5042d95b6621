"""Requests that would crash the server, fill its memory or keep its connections are refused."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest

from apiserver_emulator import limited_protocol
from apiserver_emulator.emulator import ApiServerEmulator
from dra_api.transport import Transport

MAPS = "/api/v1/namespaces/default/configmaps"
YAML, JSON = "application/yaml", "application/json"
BOMB = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 20))
DEEP = {
    "brackets": (YAML, "[" * 200_000),
    "dashes": (YAML, "- " * 100_000 + "x"),
    "question marks": (YAML, "? " * 100_000 + "x"),
    "aliases": (YAML, BOMB),
    "yaml as json": (JSON, "- " * 100_000),
    "json": (JSON, '{"a":' * 100_000),
    "json that the parser accepts": (JSON, '{"data":' + "[" * 900 + "]" * 900 + "}"),
}


@pytest.mark.parametrize("case", DEEP)
def test_a_body_over_a_limit_is_a_bad_request(plane: ApiServerEmulator, transport: Transport, case: str) -> None:
    content_type, body = DEEP[case]
    answer = transport.request("POST", MAPS, body=body.encode(), content_type=content_type)
    assert answer.status == 400, answer.body
    assert plane.take_failures() == []


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
    ],
)
def test_a_patch_over_a_limit_is_a_bad_request(
    plane: ApiServerEmulator, transport: Transport, content_type: str
) -> None:
    transport.request("POST", MAPS, body=b'{"metadata": {"name": "deep"}}')
    for body in ('{"data":' + "[" * 900 + "]" * 900 + "}", "[" * 100_000):
        query = [("fieldManager", "m")]
        answer = transport.request("PATCH", f"{MAPS}/deep", body=body.encode(), content_type=content_type, query=query)
        assert answer.status == 400, answer.body
    transport.request("DELETE", f"{MAPS}/deep")
    assert plane.take_failures() == []


def test_copies_of_copies_in_a_json_patch_are_limited(plane: ApiServerEmulator, transport: Transport) -> None:
    made = {"metadata": {"name": "copied", "annotations": {"a": "x" * 100_000}}, "data": {"a": "y" * 1000}}
    assert transport.request("POST", MAPS, body=json.dumps(made).encode()).status == 201
    doubling = [{"op": "copy", "from": "/metadata", "path": f"/metadata/x{n}"} for n in range(40)]
    nesting = [{"op": "add", "path": "/data" + "/a" * n, "value": {}} for n in range(1, 400)]
    for operations in (doubling, nesting):
        body = json.dumps(operations).encode()
        answer = transport.request("PATCH", f"{MAPS}/copied", body=body, content_type="application/json-patch+json")
        assert answer.status == 422, answer.body
    once = json.dumps([{"op": "copy", "from": "/data/a", "path": "/data/b"}]).encode()
    answer = transport.request("PATCH", f"{MAPS}/copied", body=once, content_type="application/json-patch+json")
    assert answer.status == 200, answer.body
    transport.request("DELETE", f"{MAPS}/copied")
    assert plane.take_failures() == []


# -- connections -------------------------------------------------------------------------------------------------------


@pytest.fixture
def connect(https_plane: ApiServerEmulator) -> Callable[[], ssl.SSLSocket]:
    """Return a function that opens a connection."""
    address = urlsplit(https_plane.url)
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE

    def made() -> ssl.SSLSocket:
        plain = socket.create_connection((address.hostname, address.port), timeout=30)
        return context.wrap_socket(plain)

    return made


def closed(connection: ssl.SSLSocket) -> bool:
    """Wait for the end of a connection."""
    try:
        return connection.recv(100) == b""
    except (ssl.SSLError, ConnectionError):
        return True


def test_a_header_without_end_is_refused(connect: Callable[[], ssl.SSLSocket]) -> None:
    with connect() as connection:
        sent = 0
        try:
            connection.sendall(b"GET /version HTTP/1.1\r\nHost: a\r\nX: ")
            while sent < 30 << 20:
                sent += connection.send(b"x" * 65536)
        except (ssl.SSLError, ConnectionError):
            assert sent < 30 << 20
        assert closed(connection)


def test_many_requests_on_one_connection_are_served(connect: Callable[[], ssl.SSLSocket]) -> None:
    # Their headers together exceed the limit of one.
    request = b"GET /version HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 60_000 + b"\r\n\r\n"
    with connect() as connection:
        for _ in range(20):
            connection.sendall(request)
            answer = connection.recv(16384)
            while not answer.endswith(b"}"):
                more = connection.recv(16384)
                assert more, answer
                answer += more
            assert answer.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "sent", [b"", b"GET /version HTTP/1.1\r\n", b"POST /api HTTP/1.1\r\nContent-Length: 9\r\n\r\n1"]
)
def test_a_request_that_does_not_end_is_given_up(
    connect: Callable[[], ssl.SSLSocket], monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(limited_protocol, "REQUEST_TIMEOUT_S", 0.2)
    with connect() as connection:
        connection.sendall(sent)
        assert closed(connection)


def test_connections_above_the_limit_are_refused(
    connect: Callable[[], ssl.SSLSocket], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Other clients of this server have connections, too.
    monkeypatch.setattr(limited_protocol, "MAX_CONNECTIONS", 40)

    def some(number: int) -> None:
        with contextlib.ExitStack() as opened:
            for _ in range(number):
                opened.enter_context(connect())

    with pytest.raises((ssl.SSLError, ConnectionError)):
        some(50)


def test_a_closed_connection_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limited_protocol, "MAX_CONNECTIONS", 1)
    with contextlib.ExitStack() as opened:
        listener = opened.enter_context(limited_protocol.LimitedListener())
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.setblocking(False)

        def connected() -> socket.socket:
            return opened.enter_context(socket.create_connection(listener.getsockname(), timeout=30))

        connected()
        first, _ = listener.accept()
        second = connected()
        with pytest.raises(BlockingIOError):
            listener.accept()
        assert second.recv(1) == b""
        first.close()
        connected()
        listener.accept()[0].close()


def test_connections_without_a_handshake_count(https_plane: ApiServerEmulator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limited_protocol, "MAX_CONNECTIONS", 40)
    address = urlsplit(https_plane.url)
    with contextlib.ExitStack() as opened:
        for _ in range(60):
            made = socket.create_connection((address.hostname, address.port), timeout=30)
            opened.enter_context(made)
        # The last one is closed at once, not after the 60 s of a handshake.
        assert made.recv(1) == b""
