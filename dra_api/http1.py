"""HTTP/1.1 over persistent connections to one server; httptools parses the responses.

urllib3 opens the connections (addresses, TLS, proxies). Its work for each request (URLs, header objects, the `email`
parser, a separate packet for the body) took most of the CPU time of scheduler and binder: 600 to 900 us per request.
Here it is 140 us, measured with the same API server.

`Connections` owns all connections until `close`; a stream has one for itself.
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
LONGEST_LINE = 16 << 20
"""Bytes of one line of a stream. The largest object of an API server is 3 MiB."""
LARGEST_HEADERS = 1 << 20
"""Bytes of the headers of a response with the interim responses before it, and of what follows its body."""
LARGEST_BODY = 1 << 30
"""Bytes of a response without a stream: more than the list of all pods of the largest clusters."""
_REPEATABLE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
FAILURES = (OSError, urllib3.exceptions.HTTPError, httptools.HttpParserError)
"""Exceptions of a request or stream without a complete response."""


class Answer:
    """One response during parsing; httptools calls the methods that begin with `on_`."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body: list[bytes] = []
        self.begun = self.complete = self.keep = False
        self._beside_body = self._body_bytes = 0
        self._parser = httptools.HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        """Parse more data. Raises HttpParserError for invalid HTTP, ConnectionError for an incomplete response."""
        if data:
            # The parser keeps a header, also one after a body in chunks, until its end.
            self._beside_body += len(data)
            self._parser.feed_data(data)
            if self._beside_body > LARGEST_HEADERS:
                raise ConnectionError(f"the headers of the response are larger than {LARGEST_HEADERS} bytes")
        elif self.begun and not self.keep and not {"content-length", "transfer-encoding"} & self.headers.keys():
            self.complete = True  # the body ends with the connection
        else:
            raise ConnectionError("the connection was closed in the middle of a response")

    def on_message_begin(self) -> None:
        """Begin a response. Raises ValueError for a second one; the parser converts it to its own error."""
        if self.complete:
            raise ValueError("the server sent a response without a request")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header; values of a repeated name (Warning) are joined with commas (RFC 9110, 5.3)."""
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        self.headers[key] = f"{self.headers[key]}, {text}" if key in self.headers else text

    def on_headers_complete(self) -> None:
        """Store the status."""
        self.status = int(self._parser.get_status_code())
        self.keep = bool(self._parser.should_keep_alive())
        self.begun = self.status >= 200

    def on_body(self, piece: bytes) -> None:
        """Add a part of the body. Raises ValueError over the limit; the parser converts it to its own error."""
        self._beside_body = 0
        self._body_bytes += len(piece)
        if self._body_bytes > LARGEST_BODY:
            raise ValueError(f"the response is larger than {LARGEST_BODY} bytes")
        self.body.append(piece)

    def take(self) -> bytes:
        """Return the part of the body that has arrived since the last call."""
        found = b"".join(self.body)
        self.body.clear()
        self._body_bytes = 0
        return found

    def on_message_complete(self) -> None:
        """Mark the response as complete, unless it is an interim response (1xx)."""
        self.complete = self.begun
        if not self.begun:
            self.headers.clear()


class Connections:
    """Connections to one server, for any number of threads. At most `size` idle connections are kept.

    Args:
        base: scheme, host and port; a path is ignored.
        tls: for https.
        proxy: URL of an HTTP proxy, if any.
    """

    def __init__(self, base: str, *, tls: ssl.SSLContext | None, proxy: str | None, size: int) -> None:
        options: dict[str, Any] = {"ssl_context": tls} if tls is not None else {}
        manager = urllib3.ProxyManager(proxy, **options) if proxy else urllib3.PoolManager(**options)
        self._factory = manager.connection_from_url(base)
        address = urlsplit(base)
        self._host = address.netloc.rpartition("@")[2]
        # A proxy needs the whole URL, except with TLS, when CONNECT has already named the server (RFC 9112, 3.2.2).
        self._before_target = f"http://{self._host}" if proxy and address.scheme == "http" else ""
        self._lock = threading.Lock()
        self._idle: deque[socket.socket] = deque()
        self._size = size
        self._closed = False
        # The deque and not `self`: a reference to `self` would keep the object alive.
        weakref.finalize(self, _close_all, self._idle)

    def request(
        self, method: str, target: str, *, headers: Mapping[str, str], body: bytes | None, timeout: float
    ) -> Answer:
        """Send one request and read the whole response; `timeout` in seconds for each wait. Raises `FAILURES`."""
        sock, answer = self._send(method, target, headers, body, timeout=timeout, patience=timeout)
        try:
            while not answer.complete:
                answer.feed(sock.recv(_PIECE))
        # Half a response is left in the connection after any interruption, so it cannot be used again.
        except BaseException:
            sock.close()
            raise
        self._give_back(sock, answer)
        return answer

    def stream(self, target: str, *, headers: Mapping[str, str], timeout: float | None) -> Lines | Answer:
        """Open a stream of lines, or return an error response. `timeout`: seconds between reads. Raises `FAILURES`."""
        sock, answer = self._send("GET", target, headers, None, timeout=10.0, patience=timeout)
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
        """Close the idle connections now and the others after their request."""
        self._closed = True
        _close_all(self._idle)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _send(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes | None,
        *,
        timeout: float,
        patience: float | None,
    ) -> tuple[socket.socket, Answer]:
        """Send a request and read the first bytes of the response within `patience` seconds."""
        lines = [f"{method} {self._before_target}{target} HTTP/1.1", f"Host: {self._host}", "Accept-Encoding: identity"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        if any("\r" in line or "\n" in line for line in lines) or " " in target:
            raise ValueError(
                f"a request line or header of {method} {target!r} contains a line break or other white space"
            )
        data = "\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b"")
        sock = self._kept()
        kept = sock is not None
        while True:
            sock = sock or self._new(timeout)
            answer, sent = Answer(), 0
            try:
                sock.settimeout(timeout)
                # `send` first, because after a failed `sendall` it is unknown whether any byte left.
                sent = sock.send(data)
                if sent < len(data):
                    sock.sendall(memoryview(data)[sent:])
                sock.settimeout(patience)
                answer.feed(sock.recv(_PIECE))
                return sock, answer
            except BaseException as error:
                sock.close()
                closed = isinstance(error, OSError) and not isinstance(error, TimeoutError)
                # The server may close an idle connection at any time; one repetition on a new connection is safe only
                # for a request that was not sent at all, or that changes nothing.
                if not (kept and closed and (not sent or method in _REPEATABLE)):
                    raise
            sock, kept = None, False

    def _kept(self) -> socket.socket | None:
        """Return an idle connection that is not known to be closed, or None."""
        while self._idle:
            with contextlib.suppress(IndexError):  # another thread was faster
                sock = self._idle.pop()
                if not wait_for_read(sock, timeout=0.0):
                    return sock
                sock.close()  # readable while idle: the server has closed it
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
    """A response body of lines without a known end. The caller closes it."""

    def __init__(self, sock: socket.socket, answer: Answer) -> None:
        self._sock = sock
        self._answer = answer
        self._closed = False

    def __iter__(self) -> Iterator[bytes]:
        """Yield lines until `close` is called. Raises `FAILURES` when the connection breaks or a line is too long."""
        begun: list[bytes] = []  # the parts of a line without its end; joined once, for a line in many parts
        length = 0
        try:
            while True:
                if self._answer.body:
                    first, *others = self._answer.take().split(b"\n")
                    begun.append(first)
                    length += len(first)
                    if others:
                        lines = [b"".join(begun), *others]
                        begun = [lines.pop()]
                        length = len(begun[0])
                        yield from (line for line in lines if line)
                    if length > LONGEST_LINE:
                        raise ConnectionError(f"the server sent a line of more than {LONGEST_LINE} bytes")
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
