"""uvicorn's HTTP protocol with limits for slow and large requests, as Go's server has them.

uvicorn limits neither the size of a header nor the time that a client takes for a request.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEADER: Final = 1 << 20
"""Bytes of the request line and all headers (net/http, DefaultMaxHeaderBytes)."""

REQUEST_TIMEOUT_S: Final = 32.0
"""For a request after the handshake or its first byte (k8s.io/apiserver, ReadHeaderTimeout)."""

MAX_CONNECTIONS: Final = 1_000


class LimitedProtocol(HttpToolsProtocol):
    """One connection; its deadline ends with each complete request."""

    _deadline: asyncio.TimerHandle | None = None
    _header = 0
    """Bytes that arrived before the end of the headers."""
    _in_body = False

    def connection_made(self, transport: Any) -> None:
        """Refuse a connection above the limit, and start the deadline of the first request."""
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
            return
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
