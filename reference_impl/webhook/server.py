"""The webhook's HTTPS server: reviews on `/validate-resource-claim-parameters`, and `/readyz`.

An ASGI application on uvicorn, in a thread of its own between `start` and `stop`. One event loop serves all
connections, so that a client that is slow or sends nothing does not delay the others.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import uvicorn

from dra_api import threads
from reference_impl.errors import ComponentError
from reference_impl.kubelet_plugin.configs import EnabledSharing
from reference_impl.webhook import document, review

PATH = "/validate-resource-claim-parameters"
JSON, _TEXT = b"application/json", b"text/plain"
_BODY_LIMIT = 8 * 1024 * 1024

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookOptions:
    """Settings of the webhook. `port` 0 takes a free one; without a certificate it speaks plain HTTP (tests only)."""

    host: str
    port: int
    certificate: Path | None
    key: Path | None
    gates: EnabledSharing


class Webhook:
    """Answers AdmissionReviews. `address` is (host, port) once it is started."""

    name = "webhook"
    address: tuple[str, int]

    def __init__(self, *, options: WebhookOptions) -> None:
        self.options = options
        self._ending = ExitStack()

    def start(self) -> None:
        """Listen. Raises ComponentError if the address or the certificate is unusable."""
        options = self.options
        # Python's default is TLS 1.2 or newer. The log is that of the program, which uvicorn would configure again.
        config = uvicorn.Config(
            _application(options.gates),
            ssl_certfile=options.certificate,
            ssl_keyfile=options.key,
            lifespan="off",
            log_config=None,
        )
        try:
            config.load()
        except OSError as error:
            raise ComponentError(
                f"cannot use the certificate {options.certificate} with key {options.key}: {error}"
            ) from error
        try:
            listening = socket.create_server((options.host, options.port))
        except OSError as error:
            raise ComponentError(f"the webhook cannot listen on {options.host}:{options.port}: {error}") from error
        # Head and body are two writes; the second would wait 40 ms for the first's ACK. Connections inherit this;
        # asyncio sets it only for sockets that name the protocol TCP, which accepted ones do not.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.address = (options.host, int(listening.getsockname()[1]))
        server = uvicorn.Server(config)
        thread = threads.started(lambda: server.run([listening]), name="webhook")

        def end() -> None:
            server.should_exit = server.force_exit = True
            thread.join(timeout=10)

        self._ending.callback(end)

    def stop(self) -> None:
        """Close the socket and all connections, and join the thread. Idempotent."""
        self._ending.close()


def _application(gates: EnabledSharing) -> Callable[[Message, Receive, Send], Awaitable[None]]:
    async def serve(scope: Message, receive: Receive, send: Send) -> None:
        content_type = dict(scope["headers"]).get(b"content-type", b"")
        status, text, kind = response(scope["path"], content_type, await _body(receive), gates)
        headers = [(b"content-type", kind), (b"content-length", str(len(text)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": text})

    return serve


async def _body(receive: Receive) -> bytes | None:
    """Return the body of a request, or None if it is too large."""
    body, more = bytearray(), True
    while more:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > _BODY_LIMIT:
            return None
        more = bool(message.get("more_body"))
    return bytes(body)


def response(path: str, content_type: bytes, body: bytes | None, gates: EnabledSharing) -> tuple[int, bytes, bytes]:
    """Return the HTTP status, the body and its content type for a request of any method. `body` None is too large."""
    if path == "/readyz":
        return 200, b"ok", _TEXT
    if path != PATH:
        return 404, b"not found", _TEXT
    if body is None:
        return 413, b"the body is too large", _TEXT
    if content_type != JSON:
        return 415, b"the Content-Type must be application/json", _TEXT
    try:
        return 200, orjson.dumps(review.answer(document.read(body), gates=gates)), JSON
    except ValueError as error:  # no JSON, or MalformedReview
        return 400, str(error).encode(), _TEXT
