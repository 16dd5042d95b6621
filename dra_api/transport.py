"""How bytes reach an API server: one small protocol, and its HTTPS implementation.

The `kubernetes` package does what it is good at (kubeconfig, exec and token auth), urllib3 connects, `http1` carries
requests; bodies pass through untouched.
A transport owns its connection pool: whoever made it calls `close`.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable
from urllib.parse import urlencode, urlsplit

from urllib3.util.ssl_ import create_urllib3_context

from dra_api.http1 import FAILURES, Answer, Connections, Lines
from dra_api.kubeconfig import KubeconfigError, loaded

JSON = "application/json"
NO_HEADERS: Mapping[str, str] = {}


class TransportError(Exception):
    """The server could not be reached, or the connection broke before an answer came."""


@dataclass(frozen=True, slots=True)
class Response:
    """One answer: HTTP status, headers (lower-case names), body."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@runtime_checkable
class Stream(Protocol):
    """A watch: JSON documents, one at a time."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield one document after the other; ends when the server ends the watch or `close` is called."""
        ...

    def close(self) -> None:
        """End the stream from any thread."""
        ...


@runtime_checkable
class Transport(Protocol):
    """Carries requests to one API server as one user."""

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
        """Send one request; `timeout` in seconds. Raises TransportError when no answer comes."""
        ...

    def stream(
        self,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] = NO_HEADERS,
        timeout: float | None = None,
    ) -> Stream | Response:
        """Open a watch. A server that refuses it answers a Response instead of a Stream."""
        ...

    def close(self) -> None:
        """Give back all connections."""
        ...


class TransportAround:
    """A transport around another one, to which it passes everything on; closing it closes the inner one.

    What sees or changes the requests of a component is a subclass with the one method that it is about.
    """

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

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
        """Pass a request on."""
        return self._inner.request(
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
        """Pass a watch on."""
        return self._inner.stream(path, query=query, headers=headers, timeout=timeout)

    def close(self) -> None:
        """Close the inner transport."""
        self._inner.close()


class WithHeaders(TransportAround):
    """Puts other headers in the place of those that a request has: what `headers` makes of them."""

    def __init__(self, inner: Transport, headers: Callable[[Mapping[str, str]], Mapping[str, str]]) -> None:
        super().__init__(inner)
        self._headers = headers

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
        """Pass a request on with the other headers."""
        return super().request(
            method,
            path,
            query=query,
            body=body,
            content_type=content_type,
            headers=self._headers(headers),
            timeout=timeout,
        )

    def stream(
        self,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] = NO_HEADERS,
        timeout: float | None = None,
    ) -> Stream | Response:
        """Pass a watch on with the other headers."""
        return super().stream(path, query=query, headers=self._headers(headers), timeout=timeout)


def _tls(configuration: Any) -> ssl.SSLContext:
    context = create_urllib3_context(cert_reqs=ssl.CERT_REQUIRED if configuration.verify_ssl else ssl.CERT_NONE)
    try:
        if configuration.ssl_ca_cert:
            context.load_verify_locations(configuration.ssl_ca_cert)
        elif configuration.verify_ssl:
            context.load_default_certs()
        if configuration.cert_file:
            context.load_cert_chain(configuration.cert_file, configuration.key_file)
    except OSError as error:  # no such file, or no certificate in it
        raise KubeconfigError(f"cannot use the certificates for {configuration.host}: {error}") from error
    return context


class HttpTransport:
    """HTTPS by a configuration of the `kubernetes` package."""

    def __init__(self, configuration: Any, *, pool_size: int = 32) -> None:
        """Use a `kubernetes.client.Configuration`; `pool_size` connections are kept open.

        Its certificate files are read now, and not again. Raises KubeconfigError for one that is no certificate.
        """
        self._configuration = configuration
        self._base = str(configuration.host).rstrip("/")
        self._prefix = urlsplit(self._base).path
        tls = _tls(configuration) if self._base.startswith("https") else None
        self._connections = Connections(self._base, tls=tls, proxy=configuration.proxy, size=pool_size)

    @classmethod
    def from_kubeconfig(cls, path: Path | str | None = None, *, context: str | None = None) -> HttpTransport:
        """Read a kubeconfig (default: KUBECONFIG, then ~/.kube/config); exec and token auth included.

        Raises KubeconfigError with the file's name and what to do.
        """
        with loaded(path, context=context) as configuration:
            return cls(configuration)

    @classmethod
    def in_cluster(cls) -> HttpTransport:
        """Use the service account of the pod that this runs in. Raises KubeconfigError outside a pod."""
        from kubernetes import client, config

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
        # get_api_key_with_prefix runs the refresh hook: exec credentials renew themselves here.
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
