"""Which calls the parts of a run made: who, which verb, which resource. Reads too, but no bodies and no names.

The event log gets them once a scenario. The access table (`dra_conformance.rbac`) is checked against them: what a
run asks for must be what `dra-conformance rbac` prints. What an API server refused for want of a right is kept too: a
scenario that does not pass says so, for a part that may not do its work looks like one that does it wrong.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence

from dra_api.request import Request, request_info
from dra_api.transport import JSON, NO_HEADERS, Response, Stream, Transport, TransportAround

Call = tuple[str, str, str, str]
"""User agent, verb, API group, resource (with `/subresource`)."""

_REFUSED = re.compile(r'cannot (\S+) resource \\?"([^"\\]+)\\?" in API group \\?"([^"\\]*)\\?"')
"""What an RBAC authorizer says (kube-apiserver, endpoints/handlers/responsewriters/errors.go), as it stands in JSON."""


class Calls:
    """The calls since the last `take`. Thread-safe."""

    def __init__(self) -> None:
        self._seen: set[Call] = set()
        self._refused: set[Call] = set()
        self._lock = threading.Lock()

    def note(self, method: str, path: str, query: Sequence[tuple[str, str]], headers: Mapping[str, str]) -> None:
        """Remember one request; what is not about a resource (discovery, /version) needs no right."""
        info = request_info(Request(method, path, query))
        if not info.is_resource:
            return
        resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
        call = (headers.get("User-Agent", "?"), info.verb, info.group, resource)
        if "Impersonate-User" in headers:  # asked in another name: the right to do so is all that the caller needs
            call = (call[0], "impersonate", "", "users")
        with self._lock:
            self._seen.add(call)

    def refuse(self, answer: Response, headers: Mapping[str, str]) -> None:
        """Remember which right an answer says is missing. 422 too: rights on a status are asked for with its fields."""
        if answer.status not in (403, 422) or "Impersonate-User" in headers:
            return
        if found := _REFUSED.search(answer.body.decode(errors="replace")):
            verb, resource, group = found.groups()
            with self._lock:
                self._refused.add((headers.get("User-Agent", "?"), verb, group, resource))

    def take(self) -> list[Call]:
        """The calls, in order; they are forgotten."""
        with self._lock:
            seen, self._seen = self._seen, set()
        return sorted(seen)

    def take_refused(self) -> list[Call]:
        """The calls that lacked a right, in order; they are forgotten."""
        with self._lock:
            refused, self._refused = self._refused, set()
        return sorted(refused)


class CallsTransport(TransportAround):
    """Notes each request."""

    def __init__(self, inner: Transport, calls: Calls) -> None:
        super().__init__(inner)
        self._calls = calls

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
        """Pass the request on."""
        self._calls.note(method, path, query, headers)
        answer = super().request(
            method, path, query=query, body=body, content_type=content_type, headers=headers, timeout=timeout
        )
        self._calls.refuse(answer, headers)
        return answer

    def stream(
        self,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] = NO_HEADERS,
        timeout: float | None = None,
    ) -> Stream | Response:
        """Pass the watch on."""
        self._calls.note("GET", path, query, headers)
        opened = super().stream(path, query=query, headers=headers, timeout=timeout)
        if isinstance(opened, Response):
            self._calls.refuse(opened, headers)
        return opened
