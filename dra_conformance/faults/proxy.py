"""Fault injection for other programs: an HTTPS proxy in front of an API server.

Each component has an endpoint with its own port, kubeconfig (0600) and token. The proxy replaces that token by the
identity of the original kubeconfig, so that the API server sees the program's real user, authenticated by token or
client certificate. Requests with another token, or none, are forwarded unchanged over connections without a client
certificate. `start` creates a thread with one event loop; `stop` ends it and all connections. The caller owns the
folder of the files.

Not supported: HTTP/2, and upgraded connections (exec, attach, port-forward).
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import re
import secrets
import ssl
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote

import aiohttp
import orjson
import yaml
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from dra_api import certificates
from dra_api.private_file import write_private
from dra_api.status import StatusError
from dra_api.threads import report_exception, started
from dra_api.transport import JSON, Response
from dra_conformance.faults.late import Lag, no_lag
from dra_conformance.faults.model import Call, Cut, Fault, FaultPoints, OpenWatch, Silence, expired
from dra_conformance.faults.upstream import Upstream

T = TypeVar("T")

_LOOPBACK = "127.0.0.1"
_MAX_BODY = 16 << 20  # larger than the API server's limit, so that the server rejects too large bodies
_CALL_TIMEOUT_S = 10.0
# RFC 9110 7.6.1: headers of one connection; Host and length are set again.
_HOP_BY_HOP = frozenset(
    {
        "connection",
        "content-length",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
# Parsers accept these characters in the value of a header, writers do not (RFC 9110 5.5).
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
# aiohttp adds these headers to requests that lack them.
_NOT_ADDED = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")

# aiohttp logs what it cannot parse, with a traceback; the program gets 400. Other exceptions are reported below.
_QUIET = logging.getLogger(f"{__name__}.http")
_QUIET.addHandler(logging.NullHandler())
_QUIET.propagate = False

_HANGS_UP = (aiohttp.ClientError, OSError, web.HTTPException)


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """The endpoint of one component."""

    component: str
    upstream: Upstream
    token: str
    own: aiohttp.ClientSession
    others: aiohttp.ClientSession
    runner: web.AppRunner


class FaultProxy:
    """A proxy with the faults of `points`. It writes certificates and kubeconfigs into `folder` (0700).

    `lag` delays the events of watches.
    """

    def __init__(self, points: FaultPoints, *, folder: Path, lag: Lag = no_lag) -> None:
        self._points = points
        self._lag = lag
        self._folder = folder
        self._endpoints: list[_Endpoint] = []
        self._gone: set[tuple[str, str, str]] = set()
        self._serving = 0  # requests without a response, and watch events not forwarded yet; the loop alone changes it
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._tls: ssl.SSLContext | None = None
        self._authority = b""

    def start(self) -> None:
        """Create certificates and start the thread. Idempotent. Raises CertificateError."""
        if self._loop is not None:
            return
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = certificates.make(self._folder)
        self._authority = made.authority.read_bytes()
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(made.certificate, made.key)
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(_report)
        self._thread = started(self._loop.run_forever, name="fault-proxy")

    def stop(self) -> None:
        """Close all endpoints and end the thread. Idempotent."""
        if self._loop is None or self._thread is None:
            return
        with contextlib.suppress(TimeoutError):
            self._call(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CALL_TIMEOUT_S)
        self._loop.close()
        self._loop = self._thread = None

    def open(self, component: str, behind: Path) -> Path:
        """Open an endpoint for a component, and return its kubeconfig. `behind` is the kubeconfig of the API server.

        Raises KubeconfigError if `behind` cannot be used.
        """
        upstream = Upstream(behind)
        token = secrets.token_urlsafe(24)
        port = self._call(self._open(component, upstream, token))
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": "faults",
                    "cluster": {
                        "server": f"https://{_LOOPBACK}:{port}",
                        "certificate-authority-data": base64.b64encode(self._authority).decode(),
                    },
                }
            ],
            "users": [{"name": component, "user": {"token": token}}],
            "contexts": [{"name": "faults", "context": {"cluster": "faults", "user": component}}],
            "current-context": "faults",
        }
        path = self._folder / f"{component}-{len(self._endpoints)}.kubeconfig"
        write_private(path, yaml.safe_dump(config).encode())
        return path

    def is_idle(self) -> bool:
        """Return whether every request has its response and every received watch event has been forwarded."""
        return not self._serving

    # -- in the loop -----------------------------------------------------------------------------------------------

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            work.close()
            raise RuntimeError("the proxy is not started")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_CALL_TIMEOUT_S)

    async def _open(self, component: str, upstream: Upstream, token: str) -> int:
        application = web.Application(client_max_size=_MAX_BODY)
        # A watch has no end of its own: cancel its handler when the component disconnects.
        runner = web.AppRunner(
            application,
            access_log=None,
            logger=_QUIET,
            handle_signals=False,
            handler_cancellation=True,
            shutdown_timeout=0,
        )
        sessions = _session(upstream.tls), _session(upstream.tls_for_others)
        endpoint = _Endpoint(component, upstream, token, *sessions, runner)

        async def serve(request: web.Request) -> web.StreamResponse:
            try:
                return await self._serve(endpoint, request)
            except _HANGS_UP:
                raise  # the client or the server closed its connection
            except Exception as error:  # aiohttp would answer 500, which would look like the API server's answer
                report_exception(error)
                raise

        application.router.add_route("*", "/{path:.*}", serve)
        await runner.setup()
        site = web.TCPSite(runner, _LOOPBACK, 0, ssl_context=self._tls)
        await site.start()
        self._endpoints.append(endpoint)
        return int(runner.addresses[0][1])

    async def _close(self) -> None:
        for endpoint in self._endpoints:
            for connection in list(endpoint.runner.server.connections) if endpoint.runner.server is not None else ():
                if connection.transport is not None:
                    connection.transport.abort()
            await endpoint.runner.cleanup()
            await endpoint.own.close()
            await endpoint.others.close()
        self._endpoints.clear()

    @contextlib.contextmanager
    def _in_work(self) -> Iterator[None]:
        self._serving += 1
        try:
            yield
        finally:
            self._serving -= 1

    async def _serve(self, endpoint: _Endpoint, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        if not request.raw_path.startswith("/"):  # `http://…` or `*`, which would become part of the server's name
            return _refuse(_bad_request(f"the request target is no path: {request.raw_path[:100]!r}"))
        path, _, query = request.raw_path.partition("?")
        call = Call.of(endpoint.component, request.method, unquote(path), parse_qsl(query, keep_blank_values=True))
        # A watch and a log have no end; `_stream` counts the events of a watch.
        with contextlib.nullcontext() if call.is_watch or call.info.subresource == "log" else self._in_work():
            return await self._forward(endpoint, request, call, body)

    async def _forward(self, endpoint: _Endpoint, request: web.Request, call: Call, body: bytes) -> web.StreamResponse:
        fault = await self._decide(call)
        if fault is not None and fault.silence is not None:
            await self._keep_waiting(fault.silence)
            return _hang_up(request)
        if fault is not None and not fault.forwards:
            await _struck(fault)
            return _hang_up(request) if fault.lost else _refuse(fault.answer(call))
        if call.is_watch and (key := _key(call)) in self._gone:
            # One 410 is enough: the component then lists and opens a new watch.
            self._gone.discard(key)
            return _refuse(Fault(code=410).answer(call))
        try:
            headers, session = _forwarded(request, endpoint)
            async with session.request(
                request.method,
                # Not parsed, so that escapes in paths and selectors stay as the component sent them.
                URL(endpoint.upstream.url + request.raw_path, encoded=True),
                data=body or None,
                headers=headers,
                # The component decides whether it follows a redirect.
                allow_redirects=False,
            ) as answer:
                if not _writable(answer.headers):
                    return _hang_up(request)
                if call.is_watch and answer.status == 200:
                    if fault is not None and fault.delay_s:
                        await asyncio.sleep(fault.delay_s)
                    return await self._stream(call, request, answer)
                if call.info.subresource == "log":
                    return await _pass_on(request, answer)
                content = await answer.read()
        except (aiohttp.ClientError, OSError):
            return _hang_up(request)  # the server is gone: so is this connection
        if fault is not None:
            await asyncio.sleep(fault.delay_s)
            await _struck(fault)
            if fault.lost:
                return _refuse(fault.answer(call)) if fault.code else _hang_up(request)
        return web.Response(status=answer.status, headers=_returned(answer), body=content)

    async def _keep_waiting(self, silence: Silence) -> None:
        """Wait for the end of the silence. The request is not in work meanwhile; its client may give up."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()

        def end() -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended: so has the connection
                loop.call_soon_threadsafe(ended.set)

        self._serving -= 1
        try:
            with silence.wait(end):
                await ended.wait()
        finally:
            self._serving += 1

    async def _decide(self, call: Call) -> Fault | None:
        if not self._points:
            return None
        # Hooks may act on the cluster themselves: not in the loop.
        return await asyncio.get_running_loop().run_in_executor(None, self._points.decide, call)

    async def _stream(self, call: Call, request: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        """Forward a watch until either side ends it or a fault cuts it."""
        loop = asyncio.get_running_loop()
        cuts: list[Cut] = []

        def end(how: Cut) -> None:
            cuts.append(how)
            answer.close()

        def cut(how: Cut) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended: so have its watches
                loop.call_soon_threadsafe(end, how)

        sent = web.StreamResponse(status=answer.status, headers=_returned(answer))
        ended = self._points.opened(OpenWatch(call, cut))
        at_line_start = True
        try:
            await sent.prepare(request)
            chunks = _late(answer.content, self._lag(call.info.resource), self._in_work)
            async with contextlib.aclosing(chunks):
                with contextlib.suppress(aiohttp.ClientError, OSError):
                    async for chunk in chunks:
                        if cuts:
                            break
                        await sent.write(chunk)
                        at_line_start = chunk.endswith(b"\n")
                    else:
                        if not cuts:
                            await sent.write_eof()
                            return sent
            # Not only in `finally`: the component may open its next watch as soon as it receives the error event.
            ended()
            if "gone" in cuts and at_line_start and "json" in answer.headers.get("Content-Type", ""):
                await sent.write(expired() + b"\n")
                await sent.write_eof()
                return sent
            if "gone" in cuts:  # no event fits into this stream: the next watch gets 410
                self._gone.add(_key(call))
        finally:
            ended()
        return _hang_up(request, sent)


async def _late(
    content: aiohttp.StreamReader, delay: float, in_work: Callable[[], AbstractContextManager[None]]
) -> AsyncGenerator[bytes]:
    """Yield the chunks of a response, each `delay` seconds after its arrival.

    Each chunk is `in_work` from its arrival until the consumer requests the next one.
    """
    if not delay:
        async for chunk in content.iter_any():
            with in_work():
                yield chunk
        return
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[tuple[float, bytes | Exception | None]] = asyncio.Queue()
    waiting = contextlib.ExitStack()  # of the chunks that have not been forwarded

    async def read() -> None:
        end: Exception | None = None
        try:
            async for chunk in content.iter_any():
                waiting.enter_context(in_work())
                arrived.put_nowait((loop.time() + delay, chunk))
        except (aiohttp.ClientError, OSError) as error:
            end = error
        arrived.put_nowait((loop.time(), end))

    # A task of its own: chunks that arrive during a delay are not delayed by the one before.
    reader = loop.create_task(read())
    try:
        while True:
            due, part = await arrived.get()
            if part is None:
                return
            if isinstance(part, Exception):
                raise part
            await asyncio.sleep(max(due - loop.time(), 0.0))
            yield part
            if arrived.empty():
                waiting.close()
    finally:
        reader.cancel()
        waiting.close()


def _report(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report an exception of the event loop, except lost connections, which are normal here."""
    error = context.get("exception")
    if isinstance(error, Exception) and not isinstance(error, _HANGS_UP):
        report_exception(error)


async def _struck(fault: Fault) -> None:
    if fault.then is not None:
        await asyncio.get_running_loop().run_in_executor(None, fault.then)


def _key(call: Call) -> tuple[str, str, str]:
    return (call.component, call.info.group, call.info.resource)


def _session(tls: ssl.SSLContext | None) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        # No limit, because every watch occupies a connection.
        connector=aiohttp.TCPConnector(limit=0, ssl=tls if tls is not None else True),
        # Bodies are forwarded as they are, with their Content-Encoding.
        auto_decompress=False,
        # A session serves many requests, which must not share cookies.
        cookie_jar=aiohttp.DummyCookieJar(),
        # No total time: a watch may last as long as the run.
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CALL_TIMEOUT_S),
        skip_auto_headers=_NOT_ADDED,
    )


def _forwarded(request: web.Request, endpoint: _Endpoint) -> tuple[list[tuple[str, str]], aiohttp.ClientSession]:
    """Return the forwarded headers and the session: the endpoint's token is replaced by the original identity."""
    headers = [(name, value) for name, value in request.headers.items() if name.lower() not in _HOP_BY_HOP]
    given = request.headers.get("Authorization", "")
    # Bytes that are no UTF-8 are surrogates here.
    if not secrets.compare_digest(given.encode(errors="surrogateescape"), f"Bearer {endpoint.token}".encode()):
        return headers, endpoint.others
    headers = [(name, value) for name, value in headers if name.lower() != "authorization"]
    if (authorization := endpoint.upstream.authorization) is not None:
        headers.append(("Authorization", authorization))
    return headers, endpoint.own


def _returned(answer: aiohttp.ClientResponse) -> CIMultiDict[str]:
    """Return the response headers for the component."""
    found = answer.headers.copy()
    for name in _HOP_BY_HOP:
        found.popall(name, None)
    return found


def _writable(headers: Mapping[str, str]) -> bool:
    return not any(_CONTROL.search(value) for value in headers.values())


def _bad_request(problem: str) -> Response:
    error = StatusError(400, "BadRequest", problem)
    return Response(400, {"content-type": JSON}, orjson.dumps(error.body()))


def _refuse(answer: Response) -> web.Response:
    return web.Response(status=answer.status, headers=answer.headers, body=answer.body)


def _hang_up(request: web.Request, sent: web.StreamResponse | None = None) -> web.StreamResponse:
    """Break the component's connection without sending more."""
    if request.transport is not None:
        request.transport.abort()
    return sent if sent is not None else web.Response(status=502)


async def _pass_on(request: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
    """Forward a body in parts: a followed log has no end."""
    sent = web.StreamResponse(status=answer.status, headers=_returned(answer))
    await sent.prepare(request)
    async for chunk in answer.content.iter_any():
        await sent.write(chunk)
    await sent.write_eof()
    return sent
