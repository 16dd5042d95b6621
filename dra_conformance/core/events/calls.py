"""Collects the API calls of components: user agent, verb and resource, without bodies and object names.

They are logged once for each scenario. A test compares them with the permissions that `dra-conformance rbac` prints.
Calls that the API server denied are collected too, because a component without permission looks like a faulty one: a
scenario that does not pass reports them.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from typing import Unpack

from dra_api.request import Request, request_info
from dra_api.transport import (
    NO_HEADERS,
    RequestOptions,
    Response,
    Stream,
    StreamOptions,
    Transport,
    TransportAround,
)

Call = tuple[str, str, str, str]
"""User agent, verb, API group, resource (with `/subresource`)."""

_DENIED = re.compile(r'cannot (\S+) resource \\?"([^"\\]+)\\?" in API group \\?"([^"\\]*)\\?"')
"""The message of kube-apiserver (endpoints/handlers/responsewriters/errors.go), with quotes escaped as in JSON."""


class Calls:
    """The calls since the last `take`, and the denied ones since the last `take_denied`. Thread-safe."""

    def __init__(self) -> None:
        self._made: set[Call] = set()
        self._denied: set[Call] = set()
        self._lock = threading.Lock()

    def add(self, method: str, path: str, query: Sequence[tuple[str, str]], headers: Mapping[str, str]) -> None:
        """Add a request. Requests without a resource (discovery, /version) need no permission and are left out."""
        info = request_info(Request(method, path, query))
        if not info.is_resource:
            return
        resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
        call = (headers.get("User-Agent", "?"), info.verb, info.group, resource)
        if "Impersonate-User" in headers:  # the caller needs the permission to impersonate, and no other
            call = (call[0], "impersonate", "", "users")
        with self._lock:
            self._made.add(call)

    def add_denied(self, answer: Response, headers: Mapping[str, str]) -> None:
        """Add the permission that a response reports as missing.

        A status of 422 may report one too: permissions on a status are checked together with its fields.
        """
        if answer.status not in (403, 422) or "Impersonate-User" in headers:
            return
        if found := _DENIED.search(answer.body.decode(errors="replace")):
            verb, resource, group = found.groups()
            with self._lock:
                self._denied.add((headers.get("User-Agent", "?"), verb, group, resource))

    def take(self) -> list[Call]:
        """Return the calls, sorted, and clear them."""
        with self._lock:
            made, self._made = self._made, set()
        return sorted(made)

    def take_denied(self) -> list[Call]:
        """Return the denied calls, sorted, and clear them."""
        with self._lock:
            denied, self._denied = self._denied, set()
        return sorted(denied)


class CallsTransport(TransportAround):
    """A transport that adds its requests to `calls`."""

    def __init__(self, inner: Transport, calls: Calls) -> None:
        super().__init__(inner)
        self._calls = calls

    def request(self, method: str, path: str, **options: Unpack[RequestOptions]) -> Response:
        """Add the request and pass it on."""
        headers = options.get("headers", NO_HEADERS)
        self._calls.add(method, path, options.get("query", ()), headers)
        answer = super().request(method, path, **options)
        self._calls.add_denied(answer, headers)
        return answer

    def stream(self, path: str, **options: Unpack[StreamOptions]) -> Stream | Response:
        """Add the watch and pass it on."""
        headers = options.get("headers", NO_HEADERS)
        self._calls.add("GET", path, options.get("query", ()), headers)
        opened = super().stream(path, **options)
        if isinstance(opened, Response):
            self._calls.add_denied(opened, headers)
        return opened
