"""The kubelet's side of the sockets: calls to a driver and to its registration service.

A client owns one gRPC connection until `close()`; the DRA service and the health stream share it, as in the real
kubelet. Deadlines use the injected clock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import grpc
from google.protobuf.message import DecodeError

from dra_api.clock import Clock, RealClock
from dra_api.rpc import codec
from dra_api.rpc.types import (
    DRA_VERSIONS,
    HEALTH_V1,
    V1,
    ClaimRef,
    PluginInfo,
    PrepareResult,
    RegistrationStatus,
)
from dra_api.threads import report_exception

MAX_SOCKET_PATH = 107
"""Maximum length of the path of a Unix socket in bytes (sun_path is 108 with its final zero)."""

CHANNEL_OPTIONS: list[tuple[str, Any]] = [
    ("grpc.enable_http_proxy", 0),
    ("grpc.default_authority", "localhost"),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    # Despite its name this limits the time of one connection attempt, including the server's first frame: grpc-go's
    # minConnectTimeout, which the real kubelet has. With less, a driver on a loaded machine becomes UNAVAILABLE.
    ("grpc.min_reconnect_backoff_ms", 20_000),
    ("grpc.max_reconnect_backoff_ms", 1000),
]


class RpcError(Exception):
    """A gRPC call that did not succeed.

    `method` is the call's short name, `code` the gRPC status name (`UNAVAILABLE`, `DEADLINE_EXCEEDED`, `INTERNAL` for
    a response that is not a message of the service, …) and `details` the message of the other side.
    """

    def __init__(self, method: str, code: str, details: str, socket: str) -> None:
        super().__init__(f"{method} on {socket}: {code}: {details}")
        self.method = method
        self.code = code
        self.details = details
        self.socket = socket


def check_socket_path(path: Path) -> None:
    """Raise ValueError if a path is too long for a Unix socket."""
    size = len(str(path).encode())
    if size > MAX_SOCKET_PATH:
        raise ValueError(
            f"socket path is {size} bytes long, Linux allows {MAX_SOCKET_PATH}: {path}; choose a shorter folder"
        )


class SocketChannel:
    """One gRPC connection over a Unix socket, with deadlines of a clock.

    `socket`: path of the socket; it need not exist yet. `clock`: the clock for timeouts. `eager`: connect now,
    reconnect whenever the connection is lost, and track whether it is established; otherwise calls connect as needed.
    """

    def __init__(self, socket: Path | str, *, clock: Clock | None = None, eager: bool = False) -> None:
        self.socket = Path(socket)
        check_socket_path(self.socket)
        self._clock: Clock = clock or RealClock()
        self._lock = threading.Lock()
        self._ready = threading.Event()
        self._connected = False
        self._listener: Callable[[bool], None] | None = None
        self._channel = grpc.insecure_channel(f"unix:{self.socket}", options=CHANNEL_OPTIONS)
        self._eager = eager
        self._closed = False
        self._calls: set[Any] = set()
        if eager:
            self._channel.subscribe(self._on_state, try_to_connect=True)

    @property
    def connected(self) -> bool:
        """Whether the connection is established now."""
        return self._connected

    def on_connection(self, listener: Callable[[bool], None]) -> None:
        """Call `listener(connected)` now, and on every change from a thread of gRPC."""
        with self._lock:
            self._listener = listener
            now = self._connected
        listener(now)

    def wait_connected(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds for the connection."""
        return self._clock.wait(self._ready, timeout)

    def call(
        self, service: str, method: str, request: bytes, decode: Callable[[bytes], Any], timeout: float | None
    ) -> Any:
        """Make one unary call. Raises RpcError; a passed deadline is code DEADLINE_EXCEEDED."""
        with self._clock.in_flight(open_ended=True):
            return self._call(service, method, request, decode, timeout)

    def _call(
        self, service: str, method: str, request: bytes, decode: Callable[[bytes], Any], timeout: float | None
    ) -> Any:
        unary = self._channel.unary_unary(
            f"/{service}/{method}", request_serializer=_as_is, response_deserializer=_as_is
        )
        done = threading.Event()
        # The deadline starts before the call is sent, so that time advanced during the call counts too.
        deadline = None if timeout is None else self._clock.monotonic() + timeout
        try:
            with self._lock:
                if self._closed:
                    raise ValueError("the connection was closed on our side")
                future = unary.future(request)
                self._calls.add(future)
        except ValueError as closed:  # gRPC raises this for a closed channel
            raise RpcError(method, "CANCELLED", str(closed), str(self.socket)) from None
        future.add_done_callback(lambda _: done.set())
        ended = done.wait() if deadline is None else self._clock.wait_until(done, deadline)
        self._forget(future)
        if not ended:
            future.cancel()  # type: ignore[no-untyped-call]
            raise RpcError(method, "DEADLINE_EXCEEDED", f"no answer within {timeout:g} s", str(self.socket))
        try:
            return _decoded(future.result(), decode, method, self.socket)
        except grpc.FutureCancelledError:
            raise RpcError(method, "CANCELLED", "the call was cancelled", str(self.socket)) from None
        except grpc.RpcError as error:
            raise self._error(method, error) from None

    def stream(self, service: str, method: str, decode: Callable[[bytes], Any]) -> ServerStream:
        """Open a server stream without a deadline."""
        opened = self._channel.unary_stream(
            f"/{service}/{method}", request_serializer=_as_is, response_deserializer=_as_is
        )
        try:
            with self._lock:
                if self._closed:
                    raise ValueError("the connection was closed on our side")
                call = opened(b"")
                self._calls.add(call)
            if not call.add_callback(lambda: self._forget(call)):
                self._forget(call)
            return ServerStream(
                call,
                lambda data: _decoded(data, decode, method, self.socket),
                lambda error: self._error(method, error),
            )
        except ValueError as closed:
            raise RpcError(method, "CANCELLED", str(closed), str(self.socket)) from None

    def close(self) -> None:
        """Close the connection; calls in progress end with CANCELLED. Idempotent."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            calls, self._listener = list(self._calls), None
        if not self._eager:
            self._channel.close()
            return
        self._channel.unsubscribe(self._on_state)
        for call in calls:
            call.cancel()
        # grpcio's connectivity thread raises an exception when the channel is closed; it ends by itself within
        # two rounds of 0.2 s after the last subscriber left (grpc/_channel.py, _poll_connectivity).
        later = threading.Timer(1.0, self._channel.close)
        later.daemon = True
        later.start()

    def _forget(self, call: Any) -> None:
        with self._lock:
            self._calls.discard(call)

    def _error(self, method: str, error: grpc.RpcError) -> RpcError:
        call: Any = error  # every error of grpc's own channels is a grpc.Call too
        code = call.code().name if call.code() else "UNKNOWN"
        details = call.details()
        return RpcError(method, code, details or "", str(self.socket))

    def _on_state(self, state: grpc.ChannelConnectivity) -> None:
        connected = state is grpc.ChannelConnectivity.READY
        with self._lock:
            if self._closed:
                return
            changed = connected != self._connected
            self._connected = connected
            listener = self._listener
        if connected:
            self._ready.set()
        else:
            self._ready.clear()
        if changed and listener is not None:
            try:
                listener(connected)
            except Exception as error:  # gRPC would only log it
                report_exception(error)
        if state is grpc.ChannelConnectivity.IDLE:
            self._dial_again()

    def _dial_again(self) -> None:
        """Reconnect an idle channel, as a kubelet does: gRPC reconnects only when a new subscriber requests it."""

        def nothing(_: grpc.ChannelConnectivity) -> None:
            return None

        try:
            self._channel.subscribe(nothing, try_to_connect=True)
            self._channel.unsubscribe(nothing)
        except ValueError:
            return  # the channel has been closed


class ServerStream:
    """Messages of a server stream; iteration ends when the server ends it or `close` is called from any thread.

    A broken stream or an invalid message raises RpcError.
    """

    def __init__(
        self, call: Any, decode: Callable[[bytes], Any], to_error: Callable[[grpc.RpcError], RpcError]
    ) -> None:
        self._call = call
        self._decode = decode
        self._to_error = to_error
        self._closed = False

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            data = next(self._call)
        except grpc.RpcError as error:
            if self._closed:
                raise StopIteration from None
            raise self._to_error(error) from None
        try:
            return self._decode(data)
        except RpcError:
            self.close()
            raise

    def close(self) -> None:
        """Cancel the stream."""
        self._closed = True
        self._call.cancel()


class DRAPluginClient:
    """Calls to one driver instance by one version of the DRAPlugin service.

    Arguments:
        socket: the driver's service socket.
        version: `v1.DRAPlugin` or `v1beta1.DRAPlugin`.
        clock: the clock for timeouts; default: real time.

    Raises ValueError for another version or a socket path that is too long.
    """

    def __init__(self, socket: Path | str, version: str = V1, *, clock: Clock | None = None) -> None:
        if version not in codec.DRA_CODECS:
            raise ValueError(f"unknown DRA service {version!r}; known: {', '.join(DRA_VERSIONS)}")
        self.version = version
        self._codec = codec.DRA_CODECS[version]
        self.channel = SocketChannel(socket, clock=clock, eager=True)

    def prepare(self, claims: Sequence[ClaimRef], *, timeout: float | None = 45.0) -> dict[str, PrepareResult]:
        """Call NodePrepareResources; return the results by claim UID, exactly as received. Raises RpcError."""
        request = self._codec.encode_claims(claims, unprepare=False)
        decode = self._codec.decode_prepared
        answer: dict[str, PrepareResult] = self.channel.call(
            self._codec.service, "NodePrepareResources", request, decode, timeout
        )
        return answer

    def unprepare(self, claims: Sequence[ClaimRef], *, timeout: float | None = 45.0) -> dict[str, str]:
        """Call NodeUnprepareResources; return error texts by claim UID, exactly as received. Raises RpcError."""
        request = self._codec.encode_claims(claims, unprepare=True)
        decode = self._codec.decode_unprepared
        answer: dict[str, str] = self.channel.call(
            self._codec.service, "NodeUnprepareResources", request, decode, timeout
        )
        return answer

    def watch_health(self, version: str = HEALTH_V1) -> ServerStream:
        """Call NodeWatchResources; return an iterator of `tuple[DeviceHealth, ...]` with `close()`.

        `version` is one of `HEALTH_VERSIONS`. UNIMPLEMENTED (an RpcError while iterating) means that the driver does
        not serve it or has no health to report.
        """
        health = codec.HEALTH_CODECS[version]
        return self.channel.stream(health.service, "NodeWatchResources", health.decode)

    def close(self) -> None:
        """Close the connection."""
        self.channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class RegistrationClient:
    """Calls to a plugin's registration service on `socket`."""

    def __init__(self, socket: Path | str, *, clock: Clock | None = None) -> None:
        self.channel = SocketChannel(socket, clock=clock)

    def get_info(self, *, timeout: float | None = 1.0) -> PluginInfo:
        """Call GetInfo. The kubelet's timeout is one second. Raises RpcError."""
        answer: PluginInfo = self.channel.call(codec.REGISTRATION_SERVICE, "GetInfo", b"", codec.decode_info, timeout)
        return answer

    def notify(self, status: RegistrationStatus, *, timeout: float | None = 1.0) -> None:
        """Call NotifyRegistrationStatus. Raises RpcError."""
        self.channel.call(
            codec.REGISTRATION_SERVICE,
            "NotifyRegistrationStatus",
            codec.encode_status(status),
            codec.decode_nothing,
            timeout,
        )

    def close(self) -> None:
        """Close the connection."""
        self.channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _as_is(data: bytes) -> bytes:
    return data


def _decoded(data: bytes, decode: Callable[[bytes], Any], method: str, socket: Path) -> Any:
    """Decode after the call, not inside gRPC, which writes a traceback to stderr for an invalid message."""
    try:
        return decode(data)
    except DecodeError as error:
        problem = f"the response of {len(data)} bytes is not a message of this service: {error}"
        raise RpcError(method, "INTERNAL", problem, str(socket)) from None
