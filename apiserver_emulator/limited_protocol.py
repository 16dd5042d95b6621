"""uvicorn's HTTP protocol with limits for slow and large requests, as Go's server has them, and for connections.

uvicorn limits neither the size of a header nor the time that a client takes for a request, and asyncio does not count
connections.
"""

from __future__ import annotations

import asyncio
import socket
import weakref
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEADER: Final = 1 << 20
"""Bytes of the request line and all headers (net/http, DefaultMaxHeaderBytes)."""

REQUEST_TIMEOUT_S: Final = 32.0
"""For a request after the handshake or its first byte (k8s.io/apiserver, ReadHeaderTimeout)."""

MAX_CONNECTIONS: Final = 1_000
"""Open connections, also those whose TLS handshake is not complete."""


class LimitedListener(socket.socket):
    """A listening socket that closes new connections while the limit is reached."""

    def __init__(self) -> None:
        # The protocol must be named: asyncio disables Nagle's algorithm only for sockets created with IPPROTO_TCP.
        super().__init__(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._accepted: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection below the limit; raises BlockingIOError if there is none."""
        while True:
            connection, address = super().accept()
            if sum(one.fileno() >= 0 for one in self._accepted) < MAX_CONNECTIONS:
                self._accepted.add(connection)
                return connection, address
            connection.close()


class LimitedProtocol(HttpToolsProtocol):
    """One connection; its deadline ends with each complete request."""

    _deadline: asyncio.TimerHandle | None = None
    _header = 0
    """Bytes that arrived before the end of the headers."""
    _in_body = False

    def connection_made(self, transport: Any) -> None:
        """Start the deadline of the first request."""
        super().connection_made(transport)
        self._start()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the deadline."""
        self._end()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Refuse a header above the limit."""
        if not self._in_body:
            self._header += len(data)
            if self._header - len(data) > MAX_HEADER:
                self._end()
                self.transport.abort()
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        """Start the deadline of the next request on the connection."""
        self._start()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Begin the body, whose size the server limits."""
        self._in_body = True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """End the deadline: the rest is up to the server."""
        self._end()
        self._in_body, self._header = False, 0
        super().on_message_complete()

    def _start(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_TIMEOUT_S, self._late)

    def _end(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _late(self) -> None:
        self._deadline = None
        self.transport.abort()
