"""Records every write of a component, with its response, in the event log.

Reads are not recorded. Secrets and token requests are recorded without their bodies.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Unpack

import orjson

from dra_api.transport import NO_HEADERS, RequestOptions, Response, Transport, TransportAround
from dra_conformance.core.events.kinds import ApiWrite
from dra_conformance.core.events.log import EventLog

_SECRET = re.compile(r"/secrets(/|$)|/token$|tokenreviews")
_BODY_LIMIT = 4000


class RecordingTransport(TransportAround):
    """A transport that records the writes that pass through it."""

    def __init__(self, inner: Transport, log: EventLog) -> None:
        super().__init__(inner)
        self._log = log

    def request(self, method: str, path: str, **options: Unpack[RequestOptions]) -> Response:
        """Pass the request on, and record it if it is a write."""
        answer = super().request(method, path, **options)
        if method != "GET":
            self._record(method, path, options.get("body"), options.get("headers", NO_HEADERS), answer)
        return answer

    def _record(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], answer: Response) -> None:
        shown = b"" if body is None or _SECRET.search(path) else body
        reason, message = _refusal(answer) if answer.status >= 400 else ("", "")
        self._log.emit(
            ApiWrite(
                agent=headers.get("User-Agent", "?"),
                method=method,
                path=path,
                status=answer.status,
                body=shown.decode(errors="replace") if len(shown) <= _BODY_LIMIT else "",
                body_bytes=len(shown) if len(shown) > _BODY_LIMIT else 0,
                reason=reason,
                message=message,
            )
        )


def _refusal(answer: Response) -> tuple[str, str]:
    """Return reason and message of an error response."""
    try:
        status = orjson.loads(answer.body)
        return str(status.get("reason") or ""), str(status.get("message", ""))[:600]
    except (orjson.JSONDecodeError, AttributeError):
        return "", answer.body[:200].decode(errors="replace")
