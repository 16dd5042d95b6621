"""The in-process endpoint: a `Transport` that calls the server directly, with the same bytes as over HTTPS.

A transport authenticates as one user. It owns the watches that were opened through it; `close` ends them.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping, Sequence

from apiserver_emulator.protobuf_responses import ProtobufStream
from apiserver_emulator.server import ApiServer
from apiserver_emulator.watch_stream import ErrorStream, WatchStream
from dra_api.request import Request, User
from dra_api.transport import NO_HEADERS, Response, Stream, TransportError


class InProcessTransport:
    """Sends requests as one user, without sockets."""

    def __init__(self, server: ApiServer, user: User) -> None:
        self._server = server
        self._user = user
        # Weak: a stream that its client has dropped need not live until `close`.
        self._streams: weakref.WeakSet[WatchStream | ErrorStream | ProtobufStream] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._closed = False

    def _request(
        self,
        method: str,
        path: str,
        query: Sequence[tuple[str, str]],
        body: bytes | None,
        content_type: str,
        headers: Mapping[str, str],
    ) -> Request:
        if self._closed:
            raise TransportError(f"{method} {path}: the transport is closed")
        if self._server.down:
            raise TransportError(f"{method} {path}: connection refused")
        sent = {name.lower(): value for name, value in headers.items()}
        sent.setdefault("accept", "application/json")
        sent["content-type"] = content_type
        return Request(method, path, query, sent, body or b"", self._user)

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        body: bytes | None = None,
        content_type: str = "application/json",
        headers: Mapping[str, str] = NO_HEADERS,
        timeout: float | None = None,
    ) -> Response:
        """Serve one request on the caller's thread. Raises TransportError while the server is down."""
        answer = self._server.handle(self._request(method, path, query, body, content_type, headers))
        if isinstance(answer, Response):
            return answer
        answer.close()
        raise TransportError(f"{method} {path}: this is a watch; use stream")

    def stream(
        self,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] = NO_HEADERS,
        timeout: float | None = None,
    ) -> Stream | Response:
        """Open a watch. Raises TransportError while the server is down."""
        answer = self._server.handle(self._request("GET", path, query, None, "application/json", headers))
        if not isinstance(answer, Response):
            with self._lock:
                self._streams.add(answer)
            # `close` or the end of the server may have listed the watches just before this one was there.
            if self._closed or self._server.down:
                answer.close()
                raise TransportError(f"GET {path}: the connection was closed")
        return answer

    def close(self) -> None:
        """End all watches of this transport."""
        self._closed = True
        with self._lock:
            streams = list(self._streams)
        for stream in streams:
            stream.close()
