"""HTTP/1.1 to one server over kept connections: a request goes out in one piece, httptools reads the answer.

urllib3 makes the connections (addresses, TLS, proxies). What it does around each request (URLs, header objects, `email`
as parser, the body in a packet of its own) took most of a scheduler's and binder's processor time: 600 to 900 us a
request; here it is 140 us, measured on the same API server.

Connections belong to the `Connections` that made them until `close`; a stream keeps the one that it was given.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import weakref
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import httptools
import urllib3
from urllib3.util import wait_for_read

_PIECE = 65536
_REPEATABLE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
FAILURES = (OSError, urllib3.exceptions.HTTPError, httptools.HttpParserError)
"""What a request or a stream raises when no whole answer comes."""


class Answer:
    """One answer while it is read; httptools calls the methods that begin with `on_`."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body: list[bytes] = []
        self.begun = self.complete = self.keep = False
        self._parser = httptools.HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        """Read on. Raises HttpParserError for what is no HTTP, ConnectionError for an end in the middle."""
        if data:
            self._parser.feed_data(data)
        elif self.begun and not self.keep and not {"content-length", "transfer-encoding"} & self.headers.keys():
            self.complete = True  # the body ends with the connection
        else:
            raise ConnectionError("the connection ended in the middle of an answer")

    def on_message_begin(self) -> None:
        """An answer. Raises ValueError, which the parser turns into an error of its own, for a second one."""
        if self.complete:
            raise ValueError("the server answers more than was asked")

    def on_header(self, name: bytes, value: bytes) -> None:
        """A name that comes several times (Warning) is joined with commas (RFC 9110, 5.3)."""
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        self.headers[key] = f"{self.headers[key]}, {text}" if key in self.headers else text

    def on_headers_complete(self) -> None:
        """Status and headers are known."""
        self.status = int(self._parser.get_status_code())
        self.keep = bool(self._parser.should_keep_alive())
        self.begun = self.status >= 200

    def on_body(self, piece: bytes) -> None:
        """A piece of the body."""
        self.body.append(piece)

    def on_message_complete(self) -> None:
        """The end, unless it was that of an interim answer (1xx)."""
        self.complete = self.begun
        if not self.begun:
            self.headers.clear()


class Connections:
    """Connections to one server. Any number of threads may ask at once; `size` idle connections are kept.

    Args:
        base: scheme, host and port; a path is left out.
        tls: for https.
        proxy: URL of an HTTP proxy, if one is between.
    """

    def __init__(self, base: str, *, tls: ssl.SSLContext | None, proxy: str | None, size: int) -> None:
        options: dict[str, Any] = {"ssl_context": tls} if tls is not None else {}
        manager = urllib3.ProxyManager(proxy, **options) if proxy else urllib3.PoolManager(**options)
        self._factory = manager.connection_from_url(base)
        address = urlsplit(base)
        self._host = address.netloc.rpartition("@")[2]
        # A proxy is told the whole URL, unless TLS hides it and CONNECT has named the server before (RFC 9112, 3.2.2).
        self._before_target = f"http://{self._host}" if proxy and address.scheme == "http" else ""
        self._lock = threading.Lock()
        self._idle: deque[socket.socket] = deque()
        self._size = size
        self._closed = False
        weakref.finalize(self, _close_all, self._idle)

    def request(
        self, method: str, target: str, *, headers: Mapping[str, str], body: bytes | None, timeout: float
    ) -> Answer:
        """Send one request and read the whole answer; `timeout` in seconds for each wait. Raises `FAILURES`."""
        sock, answer = self._ask(method, target, headers, body, timeout=timeout, patience=timeout)
        try:
            while not answer.complete:
                answer.feed(sock.recv(_PIECE))
        except BaseException:
            sock.close()
            raise
        self._give_back(sock, answer)
        return answer

    def stream(self, target: str, *, headers: Mapping[str, str], timeout: float | None) -> Lines | Answer:
        """Open a stream of lines; a refusal is read whole. `timeout`: seconds between two pieces. Raises `FAILURES`."""
        sock, answer = self._ask("GET", target, headers, None, timeout=10.0, patience=timeout)
        try:
            while not answer.begun:
                answer.feed(sock.recv(_PIECE))
            if answer.status == 200:
                return Lines(sock, answer)
            while not answer.complete:
                answer.feed(sock.recv(_PIECE))
        except BaseException:
            sock.close()
            raise
        self._give_back(sock, answer)
        return answer

    def close(self) -> None:
        """Close the idle connections, and each other one when it comes back."""
        self._closed = True
        _close_all(self._idle)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _ask(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes | None,
        *,
        timeout: float,
        patience: float | None,
    ) -> tuple[socket.socket, Answer]:
        """Send a request and read the first bytes of its answer, for which it waits `patience` seconds."""
        lines = [f"{method} {self._before_target}{target} HTTP/1.1", f"Host: {self._host}", "Accept-Encoding: identity"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        if any("\r" in line or "\n" in line for line in lines) or " " in target:
            raise ValueError(f"a request line or header of {method} {target!r} has white space that ends it")
        data = "\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b"")
        sock = self._kept()
        kept = sock is not None
        while True:
            sock = sock or self._new(timeout)
            answer, sent = Answer(), 0
            try:
                sock.settimeout(timeout)
                sent = sock.send(data)
                if sent < len(data):
                    sock.sendall(memoryview(data)[sent:])
                sock.settimeout(patience)
                answer.feed(sock.recv(_PIECE))
                return sock, answer
            except BaseException as error:
                sock.close()
                closed = isinstance(error, OSError) and not isinstance(error, TimeoutError)
                if not (kept and closed and (not sent or method in _REPEATABLE)):
                    raise
            sock, kept = None, False

    def _kept(self) -> socket.socket | None:
        """A connection that was kept and is still open, as far as is known here."""
        while self._idle:
            with contextlib.suppress(IndexError):  # another thread was faster
                sock = self._idle.pop()
                if not wait_for_read(sock, timeout=0.0):
                    return sock
                sock.close()  # the server has closed it meanwhile: nothing else comes unasked
        return None

    def _new(self, timeout: float) -> socket.socket:
        connection: Any = self._factory._new_conn()
        connection.timeout = timeout
        if self._factory.proxy is not None and self._factory.scheme == "https":
            self._factory._prepare_proxy(connection)
        else:
            connection.connect()
        made: socket.socket = connection.sock
        return made

    def _give_back(self, sock: socket.socket, answer: Answer) -> None:
        if not answer.keep or self._closed:
            sock.close()
            return
        with self._lock:
            self._idle.append(sock)
            oldest = self._idle.popleft() if len(self._idle) > self._size else None
        if oldest is not None:
            oldest.close()


def _close_all(idle: deque[socket.socket]) -> None:
    while idle:
        with contextlib.suppress(IndexError):
            idle.pop().close()


class Lines:
    """A body of lines that comes as long as the server has some. Whoever asked for it closes it."""

    def __init__(self, sock: socket.socket, answer: Answer) -> None:
        self._sock = sock
        self._answer = answer
        self._closed = False

    def __iter__(self) -> Iterator[bytes]:
        """Raises `FAILURES` when the connection breaks; closing it from another thread ends the lines."""
        rest = b""
        try:
            while True:
                if self._answer.body:
                    lines = (rest + b"".join(self._answer.body)).split(b"\n")
                    self._answer.body.clear()
                    rest = lines.pop()
                    yield from (line for line in lines if line)
                if self._answer.complete:
                    return
                self._answer.feed(self._sock.recv(_PIECE))
        except FAILURES:
            if not self._closed:
                raise
        finally:
            self._sock.close()

    def close(self) -> None:
        """End the stream, from any thread."""
        self._closed = True
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)  # wakes a reader that is blocked in recv; close alone does not
        with contextlib.suppress(OSError):
            self._sock.close()
