"""The webhook's HTTPS server: `POST /validate-resource-claim-parameters`, `GET /readyz`.

The server owns its socket and threads between `start` and `stop`.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import ssl
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import orjson

from reference_impl.errors import ComponentError
from reference_impl.kubelet_plugin.configs import EnabledSharing
from reference_impl.webhook import document, review

log = logging.getLogger(__name__)

PATH = "/validate-resource-claim-parameters"
_BODY_LIMIT = 8 * 1024 * 1024
_READ_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookOptions:
    """Settings of the webhook. `port` 0 takes a free one; without a certificate it speaks plain HTTP (tests only)."""

    host: str = "127.0.0.1"
    port: int = 0
    certificate: Path | None = None
    key: Path | None = None
    gates: EnabledSharing


class Webhook:
    """Answers AdmissionReviews. `address` is (host, port) once it is started."""

    name = "webhook"

    def __init__(self, *, options: WebhookOptions) -> None:
        self.options = options
        self.address: tuple[str, int] | None = None
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Listen. Raises ComponentError if the address or the certificate is unusable."""
        options = self.options
        context = _tls(options)
        try:
            server = _Server((options.host, options.port), _handler(options.gates), context=context)
        except OSError as error:
            raise ComponentError(f"the webhook cannot listen on {options.host}:{options.port}: {error}") from error
        self._server = server
        self.address = (options.host, int(server.server_address[1]))
        # The poll interval (0.02 s) bounds the duration of `stop`.
        self._thread = threading.Thread(target=server.serve_forever, args=(0.02,), name="webhook", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Close the socket and join the thread. Idempotent."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()
            server.hang_up()
        if self._thread is not None:
            self._thread.join(timeout=10)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], handler: Any, *, context: ssl.SSLContext | None) -> None:
        self._context = context
        self._open: set[Any] = set()
        super().__init__(address, handler)

    def hang_up(self) -> None:
        """Close the connections that clients keep open, so that a stopped server answers no more."""
        for held in list(self._open):
            with contextlib.suppress(OSError):
                held.shutdown(socket.SHUT_RDWR)

    def finish_request(self, request: Any, client_address: Any) -> None:
        # In the connection's own thread: a client that never shakes hands must not hold up the others.
        request.settimeout(_READ_TIMEOUT)
        wrapped = request
        try:
            wrapped = self._context.wrap_socket(request, server_side=True) if self._context else request
            self._open.add(wrapped)
            super().finish_request(wrapped, client_address)
        except (ssl.SSLError, OSError) as error:
            log.debug("webhook: %s: %s", client_address, error)
        finally:
            self._open.discard(wrapped)
            if wrapped is not request:
                wrapped.close()


def _tls(options: WebhookOptions) -> ssl.SSLContext | None:
    if options.certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(options.certificate, options.key)
    except (OSError, ssl.SSLError) as error:
        raise ComponentError(
            f"cannot use the certificate {options.certificate} with key {options.key}: {error}"
        ) from error
    return context


def _handler(gates: EnabledSharing) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # head and body are two writes; the second would wait 40 ms for the first's ACK

        def do_GET(self) -> None:
            if self.path.partition("?")[0] == "/readyz":
                self._send(200, b"ok", "text/plain")
            else:
                self._send(404, b"not found", "text/plain")

        def do_POST(self) -> None:
            declared = self.headers.get("Content-Length") or ""
            length = int(declared) if declared.isdecimal() else -1
            if not 0 <= length <= _BODY_LIMIT:
                # The body stays unread, so no further request can be read from this connection.
                self.close_connection = True
                self._send(413, b"the body has no length, or is too large", "text/plain")
                return
            body = self.rfile.read(length)
            if self.path.partition("?")[0] != PATH:
                self._send(404, b"not found", "text/plain")
            elif self.headers.get("Content-Type") != "application/json":
                self._send(415, b"the Content-Type must be application/json", "text/plain")
            else:
                self._review(body)

        def _review(self, body: bytes) -> None:
            try:
                found = review.answer(document.read(body), gates=gates)
            except ValueError as error:  # no JSON, or MalformedReview
                self._send(400, str(error).encode(), "text/plain")
                return
            self._send(200, orjson.dumps(found), "application/json")

        def _send(self, status: int, body: bytes, content_type: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it
            log.debug("webhook: " + format, *args)

    return Handler
