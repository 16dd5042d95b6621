"""Fault points in front of a control plane that has none of its own: a real API server.

The same hooks as those of the embedded server decide on each request of a reference part before it is sent, so that a
scenario's refusals mean the same on every control plane. Programs outside this process do not pass through here.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

import orjson

from dra_api.clock import Clock
from dra_api.transport import JSON, NO_HEADERS, Response, Stream, Transport, TransportError
from dra_conformance.control_plane.embedded.faults import FaultPoints
from dra_conformance.control_plane.embedded.request import Request, request_info


class FaultyTransport:
    """A transport whose requests meet the faults of `points` first. Closing it closes the inner one."""

    def __init__(self, inner: Transport, points: FaultPoints, clock: Clock) -> None:
        self._inner = inner
        self._points = points
        self._clock = clock

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        body: bytes | None = None,
        content_type: str = JSON,
        headers: Mapping[str, str] = NO_HEADERS,
        timeout: float | None = None,
    ) -> Response:
        """Send one request, unless a fault answers it."""
        answer = self._fault(method, path, query, body, headers)
        return answer or self._inner.request(
            method, path, query=query, body=body, content_type=content_type, headers=headers, timeout=timeout
        )

    def stream(
        self,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] = NO_HEADERS,
        timeout: float | None = None,
    ) -> Stream | Response:
        """Open a watch, unless a fault answers it."""
        answer = self._fault("GET", path, query, None, headers)
        return answer or self._inner.stream(path, query=query, headers=headers, timeout=timeout)

    def close(self) -> None:
        """Close the inner transport."""
        self._inner.close()

    def _fault(
        self,
        method: str,
        path: str,
        query: Sequence[tuple[str, str]],
        body: bytes | None,
        headers: Mapping[str, str],
    ) -> Response | None:
        if not self._points:
            return None
        lower = {name.lower(): value for name, value in headers.items()}
        request = Request(method, path, query, lower, body or b"")
        fault = self._points.decide(request_info(request), request)
        if fault is None:
            return None
        if fault.delay_s:
            self._clock.wait(threading.Event(), fault.delay_s)
        if fault.drop:
            raise TransportError(f"{method} {path}: the server closed the connection")
        if fault.error is None:
            return None
        return Response(fault.error.code, {"content-type": JSON}, orjson.dumps(fault.error.body()))
