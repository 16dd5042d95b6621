"""The HTTPS endpoint: an ASGI application on uvicorn, in a thread of its own.

The event loop serves requests that cannot block; those that may (admission webhooks) get a worker thread. A watch is
a coroutine that sleeps until the store wakes it. `HttpsEndpoint.stop` ends the loop, all connections and the thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

import uvicorn

from apiserver_emulator.limited_protocol import LimitedListener, LimitedProtocol
from apiserver_emulator.protobuf_responses import Answer, ProtobufStream
from apiserver_emulator.server import MAX_BODY, ApiServer
from apiserver_emulator.watch_stream import ErrorStream, WatchStream
from dra_api.request import Request
from dra_api.threads import started
from dra_api.transport import Response

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

STOP_TIMEOUT_S = 5.0
HANG_UP_AFTER_S = 0.02  # time for the last lines of watches to be sent
WORKERS = 16


class Application:
    """The ASGI application over one server."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="apiserver-request")

    def close(self) -> None:
        """End the worker threads."""
        # Without waiting: a thread may still be in a call of a webhook.
        self._workers.shutdown(wait=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request. Errors are recorded: uvicorn would only log them."""
        if scope["type"] != "http":
            return
        try:
            await self._answer(scope, receive, send)
        except Exception as error:
            self._server.failures.record(f"HTTPS request {scope['method']} {scope['path']}", error)
            raise

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._server.serving():
            answer = await self._handled(scope, receive)
            if isinstance(answer, Response):
                await _respond(send, answer)
                return
        # Not counted as a request: a watch has no end, and the store reports whether its events are delivered.
        await self._stream(answer, receive, send)

    async def _handled(self, scope: Scope, receive: Receive) -> Answer:
        body = await _read_body(receive)
        headers: dict[str, str] = {}
        for raw_name, raw_value in scope["headers"]:
            name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
            # A client impersonates a user with several groups by one header for each.
            headers[name] = f"{headers[name]},{value}" if name in headers else value
        request = Request(
            scope["method"],
            unquote(scope["raw_path"].decode("ascii", "replace")) if scope.get("raw_path") else scope["path"],
            parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True),
            headers,
            body,
        )
        return await self._serve(request)

    async def _serve(self, request: Request) -> Answer:
        if self._server.may_block(request):
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._workers, self._server.handle, request)
        return self._server.handle(request)

    async def _stream(self, stream: WatchStream | ErrorStream | ProtobufStream, receive: Receive, send: Send) -> None:
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()

        def wake() -> None:
            try:
                loop.call_soon_threadsafe(ready.set)
            except RuntimeError:
                stream.ended = True  # the loop is closed, and so is the connection

        # Wakes the loop below when the client disconnects: an idle watch sends nothing that could fail.
        gone = asyncio.ensure_future(_disconnected(receive, ready))
        # Before the first poll: an event after it must find the waker.
        stream.set_waker(wake)
        try:
            await send(
                {
                    "type": "http.response.start",
                    "status": 200,
                    "headers": [(b"content-type", stream.content_type.encode())],
                }
            )
            await send({"type": "http.response.body", "body": b"", "more_body": True})
            while True:
                # Before the poll: an event that arrives during the poll sets it again.
                ready.clear()
                lines = stream.poll()
                if lines:
                    body = stream.line_end.join(lines) + stream.line_end
                    await send({"type": "http.response.body", "body": body, "more_body": True})
                if stream.ended or gone.done():
                    break
                if not lines:
                    try:
                        await asyncio.wait_for(ready.wait(), stream.seconds_to_next())
                    except TimeoutError:
                        continue  # a bookmark or the end is due
            if not gone.done():
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            stream.close()
            gone.cancel()


async def _disconnected(receive: Receive, ready: asyncio.Event) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    ready.set()


async def _read_body(receive: Receive) -> bytes:
    """Return the body, cut just above the limit: the server refuses it because of its length."""
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return b""
        chunk = message.get("body", b"")
        size += len(chunk)
        if size - len(chunk) <= MAX_BODY:
            chunks.append(chunk)
        if not message.get("more_body"):
            return b"".join(chunks)


async def _respond(send: Send, answer: Response) -> None:
    headers = [(name.encode("latin-1"), value.encode()) for name, value in answer.headers.items()]
    headers.append((b"content-length", str(len(answer.body)).encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body, "more_body": False})


class HttpsEndpoint:
    """The listening socket, the loop and its thread."""

    def __init__(
        self, server: ApiServer, *, certificate: Path, key: Path, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        self._application = Application(server)
        self._server = server
        self._certificate = certificate
        self._key = key
        self._host = host
        self._port = port
        self._uvicorn: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None
        self._socket: socket.socket | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._failure: BaseException | None = None
        self._stopping = False
        self.url = ""

    def start(self) -> None:
        """Listen on the given port, or on a free one. Return when connections are accepted."""
        sock = LimitedListener()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((self._host, self._port))
        sock.listen(512)
        self._socket = sock
        self.url = f"https://{self._host}:{sock.getsockname()[1]}"
        config = uvicorn.Config(
            self._application,
            http=LimitedProtocol,
            loop="asyncio",
            ws="none",
            lifespan="off",
            log_level="critical",
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            ssl_certfile=str(self._certificate),
            ssl_keyfile=str(self._key),
            timeout_keep_alive=90,
            timeout_graceful_shutdown=1,
        )
        config.load()
        self._uvicorn = uvicorn.Server(config)
        self._thread = started(self._run, name="apiserver-https")
        # uvicorn has no event for this, only a flag.
        pause = threading.Event()
        while not self._uvicorn.started:
            if self._failure is not None or not self._thread.is_alive():
                raise RuntimeError(f"the API server's HTTPS endpoint did not open: {self._failure}")
            pause.wait(0.002)

    def _run(self) -> None:
        if self._uvicorn is None or self._socket is None:
            return
        try:
            asyncio.run(self._serve(self._uvicorn, self._socket))
        except BaseException as error:  # SystemExit too: uvicorn raises it when its start fails
            self._failure = error
        if not self._stopping:
            # This thread has no caller: without a record, clients would only see refused connections.
            self._server.failures.record("HTTPS endpoint", self._failure or "the event loop ended by itself")

    async def _serve(self, server: uvicorn.Server, sock: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        await server.serve(sockets=[sock])

    def _hang_up(self) -> None:
        """Abort the remaining connections: an orderly TLS close would wait for an idle client."""
        if self._uvicorn is not None:
            for connection in list(self._uvicorn.server_state.connections):
                transport = getattr(connection, "transport", None)
                if transport is not None:
                    transport.abort()

    def stop(self) -> None:
        """Close all connections and end the thread. Idempotent."""
        self._stopping = True
        if self._uvicorn is not None:
            self._uvicorn.should_exit = True
        if self._loop is not None and not self._loop.is_closed():
            # `call_later` is not thread-safe, hence both calls.
            with contextlib.suppress(RuntimeError):  # the loop may close between the check and the call
                self._loop.call_soon_threadsafe(self._loop.call_later, HANG_UP_AFTER_S, self._hang_up)
        if self._thread is not None:
            self._thread.join(STOP_TIMEOUT_S)
            self._thread = None
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self._application.close()
