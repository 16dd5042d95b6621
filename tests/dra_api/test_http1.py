"""Requests over kept connections, against a server that answers with the bytes that a test gives it."""

from __future__ import annotations

import contextlib
import gc
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from apiserver_emulator.emulator import ApiServerEmulator
from dra_api import http1
from dra_api.client import KubeClient
from dra_api.http1 import FAILURES, Answer, Connections, Lines
from dra_api.objects import NAMESPACES
from dra_api.transport import HttpTransport

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
HANG_UP = b""
READ_AND_HANG_UP = b"(read and hang up)"
SILENCE = b"(silence)"


class Scripted:
    """A server that answers each request with the next bytes of its script; `HANG_UP` ends the connection.

    `READ_AND_HANG_UP` for an answer: the request is read and the connection ended; `SILENCE`: nothing comes.
    """

    def __init__(self, script: list[bytes]) -> None:
        self.script = script
        self.received: list[bytes] = []
        self.accepted = 0
        self.idle = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            self._open.append(sock)
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        with sock:
            while self.script:
                data = sock.recv(65536)
                if not data:
                    return
                self.received.append(data)
                while self.script:
                    answer = self.script.pop(0)
                    if answer in (HANG_UP, READ_AND_HANG_UP):
                        return
                    if answer == SILENCE:
                        self.idle.wait(60)
                        return
                    sock.sendall(answer)
                    if not self.script or self.script[0] != HANG_UP:
                        break
            self.idle.wait(60)

    def close(self) -> None:
        self.idle.set()
        self._listener.close()


@pytest.fixture
def scripted() -> Iterator[list[Scripted]]:
    made: list[Scripted] = []
    yield made
    for server in made:
        server.close()


def connect(made: list[Scripted], *script: bytes, size: int = 4) -> tuple[Scripted, Connections]:
    server = Scripted(list(script))
    made.append(server)
    return server, Connections(server.address, tls=None, proxy=None, size=size)


def ask(connections: Connections, body: bytes | None = None) -> Answer:
    return connections.request("POST" if body else "GET", "/x?a=b", headers={"Accept": "y"}, body=body, timeout=60)


@pytest.mark.parametrize(
    ("sent", "body"),
    [
        ([OK], b"hi"),
        ([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nh\r\n1\r\ni\r\n0\r\n\r\n"], b"hi"),
        ([b"HTTP/1.1 100 Continue\r\nX: y\r\n\r\n" + OK], b"hi"),
        ([b"HTTP/1.1 200 OK\r\n\r\nuntil the end", HANG_UP], b"until the end"),
        ([b"HTTP/1.1 204 No Content\r\n\r\n"], b""),
    ],
    ids=["length", "chunks", "interim answer", "until the end", "no body"],
)
def test_bodies_of_all_shapes(scripted: list[Scripted], sent: list[bytes], body: bytes) -> None:
    _, connections = connect(scripted, *sent)
    answer = ask(connections)
    assert b"".join(answer.body) == body
    assert "x" not in answer.headers
    connections.close()


def test_a_request_goes_out_in_one_piece(scripted: list[Scripted]) -> None:
    server, connections = connect(scripted, OK)
    ask(connections, b"{}")
    host = server.address.removeprefix("http://")
    assert server.received == [
        b"POST /x?a=b HTTP/1.1\r\nHost: " + host.encode() + b"\r\nAccept-Encoding: identity\r\nAccept: y\r\n"
        b"Content-Length: 2\r\n\r\n{}"
    ]


def test_a_proxy_receives_the_whole_url(scripted: list[Scripted]) -> None:
    proxy, direct = connect(scripted, OK)
    direct.close()
    connections = Connections("http://cluster.test:8080", tls=None, proxy=proxy.address, size=1)
    ask(connections)
    assert proxy.received[0].startswith(b"GET http://cluster.test:8080/x?a=b HTTP/1.1\r\nHost: cluster.test:8080\r\n")
    connections.close()


def test_connections_are_kept_and_headers_joined(scripted: list[Scripted]) -> None:
    twice = b"HTTP/1.1 200 OK\r\nWarning: one\r\nwarning: two\r\nContent-Length: 0\r\n\r\n"
    server, connections = connect(scripted, OK, twice, OK)
    ask(connections)
    assert ask(connections).headers["warning"] == "one, two"
    ask(connections)
    assert server.accepted == 1


def test_a_connection_that_the_server_closed_is_not_reused(scripted: list[Scripted]) -> None:
    server, connections = connect(scripted, OK.replace(b"Content", b"Connection: close\r\nContent"), OK)
    ask(connections)
    ask(connections)
    assert server.accepted == 2


def test_a_kept_connection_that_the_server_has_closed_is_replaced(scripted: list[Scripted]) -> None:
    server, connections = connect(scripted, OK, HANG_UP, OK)
    ask(connections)
    kept = connections._idle[0]
    kept.settimeout(60)
    assert kept.recv(1, socket.MSG_PEEK) == b""  # its end has arrived
    assert ask(connections).status == 200
    assert server.accepted == 2


def test_a_reader_does_not_notice_that_its_kept_connection_was_just_closed(scripted: list[Scripted]) -> None:
    server, connections = connect(scripted, OK, READ_AND_HANG_UP, OK, READ_AND_HANG_UP, OK, OK)
    ask(connections)
    assert ask(connections).status == 200
    lines = connections.stream("/w", headers={}, timeout=60)
    assert isinstance(lines, Lines)
    lines.close()
    assert server.accepted == 3
    assert [data.split(b" ")[:2] for data in server.received] == [[b"GET", b"/x?a=b"]] * 3 + [[b"GET", b"/w"]] * 2


def test_a_write_that_was_sent_is_not_sent_twice(scripted: list[Scripted]) -> None:
    server, connections = connect(scripted, OK, READ_AND_HANG_UP, OK)
    ask(connections)
    with pytest.raises(FAILURES):
        ask(connections, b"{}")
    assert len(server.received) == 2


def test_a_write_of_which_nothing_was_sent_goes_out_on_a_new_connection(scripted: list[Scripted]) -> None:
    class Broken(socket.socket):
        def send(self, *_: object) -> int:
            raise BrokenPipeError

    server, connections = connect(scripted, OK)
    ours, theirs = socket.socketpair()
    with theirs:
        connections._idle.append(Broken(ours.family, ours.type, ours.proto, ours.detach()))
        assert ask(connections, b"{}").status == 200
    assert len(server.received) == 1


def test_a_reader_retries_exactly_once(scripted: list[Scripted]) -> None:
    server, connections = connect(scripted, OK, READ_AND_HANG_UP, READ_AND_HANG_UP, OK)
    ask(connections)
    with pytest.raises(ConnectionError):
        ask(connections)
    assert len(server.received) == 3


def test_a_silent_kept_connection_is_not_reused(scripted: list[Scripted]) -> None:
    server, connections = connect(scripted, OK, SILENCE, OK)
    ask(connections)
    with pytest.raises(TimeoutError):
        connections.request("GET", "/", headers={}, body=None, timeout=0.05)
    assert server.accepted == 1


@pytest.mark.parametrize(
    "script",
    [[HANG_UP], [b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhi", HANG_UP], [b"no HTTP at all\r\n\r\n"], [OK + OK]],
    ids=["no answer", "half an answer", "garbage", "two answers"],
)
def test_what_is_no_answer_fails(scripted: list[Scripted], script: list[bytes]) -> None:
    _, connections = connect(scripted, *script)
    with pytest.raises(FAILURES):
        ask(connections)
    assert not connections._idle


def test_a_silent_server_is_a_timeout(scripted: list[Scripted]) -> None:
    _, connections = connect(scripted, b"HTTP/1.1 200 OK\r\n", OK)
    with pytest.raises(TimeoutError):
        connections.request("GET", "/", headers={}, body=None, timeout=0.05)


@pytest.mark.parametrize(("target", "header"), [("/a b", "y"), ("/a\r\nX: y", "y"), ("/", "y\r\nX: z")])
def test_nothing_is_smuggled_into_a_request(scripted: list[Scripted], target: str, header: str) -> None:
    server, connections = connect(scripted, OK)
    with pytest.raises(ValueError, match="white space"):
        connections.request("GET", target, headers={"Accept": header}, body=None, timeout=60)
    assert not server.received


def test_lines_come_as_they_are_sent(scripted: list[Scripted]) -> None:
    begin = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    _, connections = connect(scripted, begin + b"4\r\na\nb\n\r\n2\r\n\nc\r\n1\r\n\n\r\n0\r\n\r\n")
    lines = connections.stream("/w", headers={}, timeout=60)
    assert isinstance(lines, Lines)
    assert list(lines) == [b"a", b"b", b"c"]


def test_a_stream_that_breaks_says_so_unless_it_was_closed(scripted: list[Scripted]) -> None:
    begin = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na\n\r\n"
    _, connections = connect(scripted, begin, HANG_UP, begin, HANG_UP)
    for close in (False, True):
        lines = connections.stream("/w", headers={}, timeout=60)
        assert isinstance(lines, Lines)
        found = iter(lines)
        assert next(found) == b"a"
        if close:
            lines.close()
            assert list(found) == []
        else:
            with pytest.raises(ConnectionError, match="middle"):
                next(found)


def test_a_refused_stream_is_an_answer(scripted: list[Scripted]) -> None:
    server, connections = connect(scripted, b"HTTP/1.1 410 Gone\r\nContent-Length: 3\r\n\r\nold", OK)
    answer = connections.stream("/w", headers={}, timeout=60)
    assert isinstance(answer, Answer)
    assert (answer.status, b"".join(answer.body)) == (410, b"old")
    ask(connections)
    assert server.accepted == 1


def test_idle_connections_are_as_many_as_was_said(scripted: list[Scripted]) -> None:
    _, connections = connect(scripted, *[OK] * 8, size=2)
    barrier = threading.Barrier(4)

    def work() -> None:
        barrier.wait(60)
        ask(connections)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert 1 <= len(connections._idle) <= 2
    connections.close()
    assert not connections._idle


def test_idle_connections_end_with_their_owner(scripted: list[Scripted]) -> None:
    _, connections = connect(scripted, OK)
    ask(connections)
    kept = connections._idle[0]
    del connections
    gc.collect()
    assert kept.fileno() == -1


def test_a_cluster_behind_a_proxy_is_reached_through_it(tmp_path: Path) -> None:
    tunnels: list[bytes] = []

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with source, sink, contextlib.suppress(OSError):  # the other direction may have ended both
            while data := source.recv(65536):
                sink.sendall(data)

    def serve(listener: socket.socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            head = b""
            while b"\r\n\r\n" not in head:
                head += near.recv(65536)
            tunnels.append(head.split(b"\r\n")[0])
            host, port = head.split()[1].decode().rsplit(":", 1)
            far = socket.create_connection((host, int(port)))
            near.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            threading.Thread(target=pump, args=(near, far), daemon=True).start()
            threading.Thread(target=pump, args=(far, near), daemon=True).start()

    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, args=(listener,), daemon=True).start()
    with listener, ApiServerEmulator(directory=tmp_path / "api") as plane:
        config = yaml.safe_load(plane.kubeconfig.read_text())
        cluster = config["clusters"][0]["cluster"]
        cluster["proxy-url"] = f"http://127.0.0.1:{listener.getsockname()[1]}"
        (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
        transport = HttpTransport.from_kubeconfig(tmp_path / "kubeconfig")
        client = KubeClient(transport)
        assert client.get(NAMESPACES, "default")
        assert client.get(NAMESPACES, "kube-system")
        transport.close()
        assert [line.split()[:2] for line in tunnels] == [[b"CONNECT", cluster["server"][8:].encode()]]


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def read_lines(connections: Connections) -> list[bytes]:
    lines = connections.stream("/x", headers={}, timeout=60)
    assert isinstance(lines, Lines)
    return list(lines)


def test_lines_are_joined_from_their_parts(scripted: list[Scripted]) -> None:
    parts = [b"a", b"b\n\nc", b"", b"d", b"\ne\nf\n", b"rest"]
    _, connections = connect(scripted, CHUNKED + b"".join(chunk(part) for part in parts if part) + chunk(b""))
    assert read_lines(connections) == [b"ab", b"cd", b"e", b"f"]
    connections.close()


@pytest.mark.parametrize("limit", ["LONGEST_LINE", "LARGEST_HEADERS", "LARGEST_BODY"])
def test_an_answer_without_end_is_a_failure(
    scripted: list[Scripted], monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(http1, limit, 1000)
    long = b"x" * 2000
    sent = b"HTTP/1.1 200 OK\r\nX: " + long if limit == "LARGEST_HEADERS" else CHUNKED + chunk(long)
    _, connections = connect(scripted, sent)
    read = ask if limit != "LONGEST_LINE" else read_lines
    with pytest.raises(FAILURES):
        read(connections)
    connections.close()


@pytest.mark.parametrize("trailer", [b"X: " + b"x" * 400_000, b"X: x\r\n" * 60_000])
def test_headers_after_a_body_have_the_same_limit(
    scripted: list[Scripted], monkeypatch: pytest.MonkeyPatch, trailer: bytes
) -> None:
    monkeypatch.setattr(http1, "LARGEST_HEADERS", 100_000)
    _, connections = connect(scripted, CHUNKED + chunk(b"ab\n") + b"0\r\n" + trailer)
    with pytest.raises(ConnectionError, match="larger than 100000 bytes"):
        ask(connections)
    connections.close()


def test_a_stream_may_be_longer_than_a_body(scripted: list[Scripted], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http1, "LARGEST_BODY", 100_000)
    _, connections = connect(scripted, CHUNKED + chunk(b"x" * 999 + b"\n") * 300 + chunk(b""))
    assert len(read_lines(connections)) == 300
    connections.close()
