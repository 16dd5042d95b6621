"""The transport protocol between client and API server, and its HTTPS implementation.

The `kubernetes` package provides kubeconfig, exec and token authentication, urllib3 connects, and `http1` sends
requests; bodies are not changed. A transport owns its connection pool: its creator calls `close`.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypedDict, TypeVar, Unpack, runtime_checkable
from urllib.parse import urlencode, urlsplit

from urllib3.util.ssl_ import create_urllib3_context

from dra_api.http1 import FAILURES, Answer, Connections, Lines
from dra_api.kubeconfig import KubeconfigError, loaded

JSON = "application/json"
NO_HEADERS: Mapping[str, str] = {}


class TransportError(Exception):
    """The server could not be reached, or the connection broke before the response."""


@dataclass(frozen=True, slots=True)
class Response:
    """One response: HTTP status, headers (lower-case names), body."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@runtime_checkable
class Stream(Protocol):
    """A watch: JSON documents, one at a time."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield documents until the server ends the watch or `close` is called."""
        ...

    def close(self) -> None:
        """End the stream from any thread."""
        ...


class StreamOptions(TypedDict, total=False):
    """Optional arguments of `Transport.stream`. `timeout`: seconds."""

    query: Sequence[tuple[str, str]]
    headers: Mapping[str, str]
    timeout: float | None


class RequestOptions(StreamOptions, total=False):
    """Optional arguments of `Transport.request`; `content_type` (default: JSON) is that of `body`."""

    body: bytes | None
    content_type: str


@runtime_checkable
class Transport(Protocol):
    """Sends requests of one user to one API server."""

    def request(self, method: str, path: str, **options: Unpack[RequestOptions]) -> Response:
        """Send one request; `timeout` in seconds. Raises TransportError if there is no response."""
        ...

    def stream(self, path: str, **options: Unpack[StreamOptions]) -> Stream | Response:
        """Open a watch. If the server returns an error, return a Response instead of a Stream."""
        ...

    def close(self) -> None:
        """Close all connections."""
        ...


class TransportAround:
    """A transport that passes everything on to an inner one; closing it closes the inner one.

    Subclasses that record or change requests override one method.
    """

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    def request(self, method: str, path: str, **options: Unpack[RequestOptions]) -> Response:
        """Forward a request."""
        return self._inner.request(method, path, **options)

    def stream(self, path: str, **options: Unpack[StreamOptions]) -> Stream | Response:
        """Forward a watch."""
        return self._inner.stream(path, **options)

    def close(self) -> None:
        """Close the inner transport."""
        self._inner.close()


T = TypeVar("T", bound=Transport)


class OpenTransports(Generic[T]):
    """The transports that their owner closes together; used from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: list[T] = []

    def add(self, transport: T) -> T:
        """Keep a transport, and return it."""
        with self._lock:
            self._open.append(transport)
        return transport

    def close(self) -> None:
        """Close all transports that were added since the last call."""
        with self._lock:
            found, self._open = self._open, []
        for transport in found:
            transport.close()


class WithHeaders(TransportAround):
    """Replaces the headers of each request by the result of `headers`."""

    def __init__(self, inner: Transport, headers: Callable[[Mapping[str, str]], Mapping[str, str]]) -> None:
        super().__init__(inner)
        self._headers = headers

    def request(self, method: str, path: str, **options: Unpack[RequestOptions]) -> Response:
        """Forward a request with the new headers."""
        options["headers"] = self._headers(options.get("headers", NO_HEADERS))
        return super().request(method, path, **options)

    def stream(self, path: str, **options: Unpack[StreamOptions]) -> Stream | Response:
        """Forward a watch with the new headers."""
        options["headers"] = self._headers(options.get("headers", NO_HEADERS))
        return super().stream(path, **options)


def _tls(configuration: Any) -> ssl.SSLContext:
    context = create_urllib3_context(cert_reqs=ssl.CERT_REQUIRED if configuration.verify_ssl else ssl.CERT_NONE)
    try:
        if configuration.ssl_ca_cert:
            context.load_verify_locations(configuration.ssl_ca_cert)
        elif configuration.verify_ssl:
            context.load_default_certs()
        if configuration.cert_file:
            context.load_cert_chain(configuration.cert_file, configuration.key_file)
    except OSError as error:  # a missing file, or a file without a certificate
        raise KubeconfigError(f"cannot use the certificates for {configuration.host}: {error}") from error
    return context


class HttpTransport:
    """HTTPS with a configuration of the `kubernetes` package."""

    def __init__(self, configuration: Any, *, pool_size: int = 32) -> None:
        """Use a `kubernetes.client.Configuration`; `pool_size` connections are kept open.

        Its certificate files are read once, now. Raises KubeconfigError for an invalid certificate.
        """
        self._configuration = configuration
        self._base = str(configuration.host).rstrip("/")
        self._prefix = urlsplit(self._base).path
        tls = _tls(configuration) if self._base.startswith("https") else None
        self._connections = Connections(self._base, tls=tls, proxy=configuration.proxy, size=pool_size)

    @classmethod
    def from_kubeconfig(cls, path: Path | str | None = None, *, context: str | None = None) -> HttpTransport:
        """Read a kubeconfig (default: KUBECONFIG, then ~/.kube/config); exec and token auth included.

        Raises KubeconfigError with the file's name and a hint.
        """
        with loaded(path, context=context) as configuration:
            return cls(configuration)

    @classmethod
    def in_cluster(cls) -> HttpTransport:
        """Use the service account of the current pod. Raises KubeconfigError outside a pod."""
        from kubernetes import client, config  # deferred: the import takes a third of a second

        configuration = client.Configuration()
        try:
            config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        except config.ConfigException as error:
            raise KubeconfigError(f"not in a pod: {error}") from error
        return cls(configuration)

    @property
    def server(self) -> str:
        """The server's address, for messages and reports."""
        return self._base

    def _headers(self, extra: Mapping[str, str]) -> dict[str, str]:
        headers = {"Accept": JSON}
        # get_api_key_with_prefix calls the refresh hook, which renews exec credentials.
        token = self._configuration.get_api_key_with_prefix("authorization") or (
            self._configuration.get_api_key_with_prefix("BearerToken")
        )
        if token:
            headers["Authorization"] = token
        elif self._configuration.username:
            headers["Authorization"] = self._configuration.get_basic_auth_token()
        headers.update(extra)
        return headers

    def _target(self, path: str, query: Sequence[tuple[str, str]]) -> str:
        return f"{self._prefix}{path}?{urlencode(query)}" if query else self._prefix + path

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
        """Send one request; `timeout` in seconds (default 30)."""
        sent = self._headers(headers)
        if body is not None:
            sent["Content-Type"] = content_type
        try:
            answer = self._connections.request(
                method, self._target(path, query), headers=sent, body=body, timeout=timeout or 30.0
            )
        except FAILURES as error:
            raise TransportError(f"{method} {self._base}{path}: {error}") from error
        return _response(answer)

    def stream(
        self,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] = NO_HEADERS,
        timeout: float | None = None,
    ) -> Stream | Response:
        """Open a watch."""
        try:
            found = self._connections.stream(self._target(path, query), headers=self._headers(headers), timeout=timeout)
        except FAILURES as error:
            raise TransportError(f"watch {self._base}{path}: {error}") from error
        return _HttpStream(found, f"watch {self._base}{path}") if isinstance(found, Lines) else _response(found)

    def close(self) -> None:
        """Close all pooled connections."""
        self._connections.close()


def _response(answer: Answer) -> Response:
    return Response(answer.status, answer.headers, b"".join(answer.body))


class _HttpStream:
    def __init__(self, lines: Lines, what: str) -> None:
        self._lines = lines
        self._what = what

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._lines
        except FAILURES as error:
            raise TransportError(f"{self._what} broke: {error}") from error

    def close(self) -> None:
        self._lines.close()
