"""Records what goes over a transport: every write of a component, with its answer, into the event log.

Reads are not recorded; secrets and token requests are recorded without their bodies.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from dra_api.transport import JSON, NO_HEADERS, Response, Transport, TransportAround
from dra_conformance.core.events.log import EventLog

_SECRET = re.compile(r"/secrets(/|$)|/token$|tokenreviews")
_BODY_LIMIT = 4000


class RecordingTransport(TransportAround):
    """Tells the log what was written through it."""

    def __init__(self, inner: Transport, log: EventLog) -> None:
        super().__init__(inner)
        self._log = log

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
        """Pass the request on; writes are recorded with their outcome."""
        answer = super().request(
            method, path, query=query, body=body, content_type=content_type, headers=headers, timeout=timeout
        )
        if method != "GET":
            self._record(method, path, body, headers, answer)
        return answer

    def _record(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], answer: Response) -> None:
        data: dict[str, Any] = {
            "agent": headers.get("User-Agent", "?"),
            "method": method,
            "path": path,
            "status": answer.status,
        }
        if body and not _SECRET.search(path):
            if len(body) <= _BODY_LIMIT:
                data["body"] = body.decode(errors="replace")
            else:
                data["bodyBytes"] = len(body)
        if answer.status >= 400:
            try:
                status = orjson.loads(answer.body)
                data["reason"] = status.get("reason", "")
                data["message"] = str(status.get("message", ""))[:600]
            except (orjson.JSONDecodeError, AttributeError):
                data["message"] = answer.body[:200].decode(errors="replace")
        self._log.emit("api", data)
