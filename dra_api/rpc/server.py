"""The driver's side of the sockets: DRA and health services on one socket, registration on another.

`PluginServer` owns both sockets between `start` and `stop`, and removes only sockets that it created. A socket is bound
under a hidden name and renamed when it listens and has mode 0600, so that no client connects too early.
"""

from __future__ import annotations

import logging
import secrets
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any, TypeVar

import grpc
from google.protobuf.message import DecodeError

from dra_api.clock import Clock, RealClock
from dra_api.rpc import codec
from dra_api.rpc.client import check_socket_path
from dra_api.rpc.types import (
    DRA_PLUGIN_TYPE,
    DRA_VERSIONS,
    HEALTH_VERSIONS,
    DRADriver,
    HealthNotSupported,
    HealthReporter,
    PluginInfo,
    RegistrationStatus,
)

LOG = logging.getLogger(__name__)
T = TypeVar("T")
WORKERS = 16
"""Concurrent calls of one socket; a health stream is one of them."""


class SocketServer:
    """A gRPC server on one Unix socket of mode 0600.

    `socket`: the path; its folder is created with mode 0700 if absent, and a stale socket is replaced. `give` is called
    with the socket before clients can see it, to change its owner. Raises ValueError for a path that is too long,
    FileExistsError if the path exists and is not a socket.
    """

    def __init__(
        self,
        socket: Path | str,
        handlers: Sequence[grpc.GenericRpcHandler[Any, Any]],
        *,
        name: str,
        give: Callable[[Path], None] | None = None,
    ) -> None:
        self.socket = Path(socket)
        self._give = give
        check_socket_path(self.socket)
        self._handlers = list(handlers)
        self._name = name
        self._server: grpc.Server | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._inode: int | None = None

    def start(self) -> None:
        """Listen; return when clients can connect."""
        folder = self.socket.parent
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self.socket.exists() and not stat.S_ISSOCK(self.socket.stat().st_mode):
            raise FileExistsError(f"{self.socket} exists and is not a socket; remove it, {self._name} listens there")
        hidden = folder / f".{secrets.token_hex(3)}"
        check_socket_path(hidden)
        pool = ThreadPoolExecutor(max_workers=WORKERS, thread_name_prefix=f"grpc-{self._name}")
        server = grpc.server(pool, handlers=self._handlers, options=[("grpc.so_reuseport", 0)])
        try:
            server.add_insecure_port(f"unix:{hidden}")
            hidden.chmod(0o600)
            if self._give is not None:
                self._give(hidden)
            server.start()
            self._inode = hidden.stat().st_ino
            hidden.rename(self.socket)
        except BaseException:
            server.stop(None)
            pool.shutdown(wait=False)
            hidden.unlink(missing_ok=True)
            raise
        self._server, self._pool = server, pool

    def stop(self, *, grace: float | None = 1.0) -> None:
        """Remove the socket, let running calls finish for `grace` seconds, then end them. Idempotent."""
        server, pool = self._server, self._pool
        self._server = self._pool = None
        if server is None or pool is None:
            return
        try:
            if self.socket.stat().st_ino == self._inode:
                self.socket.unlink()
        except FileNotFoundError:
            self._inode = None  # another process has removed it
        server.stop(grace).wait()
        # Not joined: a driver call that never returns must not block the stop.
        pool.shutdown(wait=False, cancel_futures=True)


class PluginServer:
    """A driver on its two sockets, with the lock of Kubernetes' kubeletplugin helper.

    Arguments:
        driver: its methods are called from gRPC's threads.
        driver_name: the name to register, for example `gpu.nvidia.com`.
        plugin_socket: the service socket, `…/plugins/<driver>/dra.sock`.
        registration_socket: in the kubelet's registration folder, `…/plugins_registry/<driver>-reg.sock`.
        versions: the DRA services to serve, in the order of registration: a kubelet uses the first that it knows
            (rule DRA-258).
        health_versions: the health services to serve after those if the driver reports health; a kubelet uses the
            newest that it knows (rule DRA-573).
        serialize: whether prepare and unprepare run one at a time (rule DRA-283).
        endpoint: the endpoint that GetInfo returns, if it is not the absolute path of `plugin_socket`.
        extra_versions: further version names to register without a service.

    Raises ValueError for an unknown version. The server ends with `stop()`.
    """

    def __init__(
        self,
        driver: DRADriver,
        driver_name: str,
        plugin_socket: Path | str,
        registration_socket: Path | str,
        *,
        versions: Sequence[str] = DRA_VERSIONS,
        health_versions: Sequence[str] = HEALTH_VERSIONS,
        serialize: bool = True,
        endpoint: str | None = None,
        extra_versions: Sequence[str] = (),
        clock: Clock | None = None,
    ) -> None:
        unknown = [version for version in versions if version not in codec.DRA_CODECS]
        if unknown:
            raise ValueError(f"unknown DRA service {unknown[0]!r}; known: {', '.join(DRA_VERSIONS)}")
        if strange := [version for version in health_versions if version not in codec.HEALTH_CODECS]:
            raise ValueError(f"unknown health service {strange[0]!r}; known: {', '.join(HEALTH_VERSIONS)}")
        self.name = f"plugin {driver_name}"
        self.driver = driver
        self._clock: Clock = clock or RealClock()
        self._lock = threading.Lock() if serialize else nullcontext()
        self.before_registration: Callable[[str], None] = lambda method: None
        """Called with the method of each registration call; an exception fails the call."""
        self.on_health_stream: Callable[[str], None] = lambda service: None
        """Called with the service of each health stream that a kubelet opens."""
        self._notified = threading.Event()
        self._status: RegistrationStatus | None = None
        plugin_path = Path(plugin_socket).absolute()
        supported = list(versions)
        services = [self._dra_handler(codec.DRA_CODECS[version]) for version in versions]
        if isinstance(driver, HealthReporter):
            supported += health_versions
            services += [self._health_handler(driver, codec.HEALTH_CODECS[version]) for version in health_versions]
        self.info = PluginInfo(
            DRA_PLUGIN_TYPE, driver_name, endpoint or str(plugin_path), (*supported, *extra_versions)
        )
        self._plugin = SocketServer(plugin_path, services, name=driver_name)
        self._registration = SocketServer(
            registration_socket, [self._registration_handler()], name=f"{driver_name}-reg"
        )

    @property
    def registration_status(self) -> RegistrationStatus | None:
        """The last status that a kubelet sent, or None."""
        return self._status

    def wait_notified(self, timeout: float) -> RegistrationStatus | None:
        """Wait at most `timeout` seconds for a kubelet's NotifyRegistrationStatus."""
        self._clock.wait(self._notified, timeout)
        return self._status

    def start(self) -> None:
        """Serve, then register: the registration socket is created when the driver serves."""
        self._notified.clear()
        self._status = None
        # If the registration socket cannot be created, the service must not stay behind without a kubelet.
        with ExitStack() as undo:
            self._plugin.start()
            undo.callback(self._plugin.stop)
            self._registration.start()
            undo.pop_all()

    def start_registration(self) -> None:
        """Register without a service, as a driver that is slow to listen; `start_service` serves."""
        self._registration.start()

    def stop(self, *, grace: float | None = 1.0) -> None:
        """Remove the registration socket first, then end the service. Idempotent."""
        self._registration.stop(grace=grace)
        self._plugin.stop(grace=grace)

    def stop_registration(self) -> None:
        """Remove the registration socket and continue to serve."""
        self._registration.stop()

    def stop_service(self) -> None:
        """End the service and stay registered, as a driver that hangs or crashes without removing its socket."""
        self._plugin.stop(grace=0.2)

    def start_service(self) -> None:
        """Serve after `stop_service` or `start_registration`."""
        self._plugin.start()

    def _dra_handler(self, version: codec.DRACodec) -> grpc.GenericRpcHandler[Any, Any]:
        def prepare(data: bytes, context: grpc.ServicerContext) -> bytes:
            claims = decoded(context, lambda: version.decode_claims(data, unprepare=False))
            with self._lock:
                return answered(context, lambda: version.encode_prepared(self.driver.prepare(claims)))

        def unprepare(data: bytes, context: grpc.ServicerContext) -> bytes:
            claims = decoded(context, lambda: version.decode_claims(data, unprepare=True))
            with self._lock:
                return answered(context, lambda: version.encode_unprepared(self.driver.unprepare(claims)))

        return handlers(
            version.service,
            {
                "NodePrepareResources": grpc.unary_unary_rpc_method_handler(prepare),
                "NodeUnprepareResources": grpc.unary_unary_rpc_method_handler(unprepare),
            },
        )

    def _health_handler(self, driver: HealthReporter, version: codec.HealthCodec) -> grpc.GenericRpcHandler[Any, Any]:
        def watch(_: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
            self.on_health_stream(version.service)
            try:
                yield from streamed(context, driver.watch_health(), version.encode)
            except HealthNotSupported as error:
                context.abort(grpc.StatusCode.UNIMPLEMENTED, str(error))

        return handlers(version.service, {"NodeWatchResources": grpc.unary_stream_rpc_method_handler(watch)})

    def _registration_handler(self) -> grpc.GenericRpcHandler[Any, Any]:
        return registration_handler(lambda: self.info, called=self._called, notified=self._take_status)

    def _take_status(self, status: RegistrationStatus) -> None:
        self._status = status
        self._notified.set()

    def _called(self, method: str) -> None:
        self.before_registration(method)


def registration_handler(
    info: Callable[[], PluginInfo],
    *,
    called: Callable[[str], None] = lambda method: None,
    notified: Callable[[RegistrationStatus], None],
) -> grpc.GenericRpcHandler[Any, Any]:
    """Return the handler of the service that a plugin in `plugins_registry` serves for the kubelet.

    `called` gets the method of each call before it is answered; an exception fails the call. `notified` gets the
    outcome of the registration.
    """

    def before(method: str) -> bytes:
        called(method)
        return b""

    def get_info(_: bytes, context: grpc.ServicerContext) -> bytes:
        answered(context, lambda: before("GetInfo"))
        return codec.encode_info(info())

    def notify(data: bytes, context: grpc.ServicerContext) -> bytes:
        answered(context, lambda: before("NotifyRegistrationStatus"))
        notified(decoded(context, lambda: codec.decode_status(data)))
        return b""

    return handlers(
        codec.REGISTRATION_SERVICE,
        {
            "GetInfo": grpc.unary_unary_rpc_method_handler(get_info),
            "NotifyRegistrationStatus": grpc.unary_unary_rpc_method_handler(notify),
        },
    )


def handlers(service: str, methods: dict[str, Any]) -> grpc.GenericRpcHandler[Any, Any]:
    """Return the handler of a service with these methods."""
    return grpc.method_handlers_generic_handler(service, methods)


def decoded(context: grpc.ServicerContext, decode: Callable[[], T]) -> T:
    """Return the decoded request; end the call with INVALID_ARGUMENT if it is no message of the service."""
    try:
        return decode()
    except DecodeError as error:
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"the request is not a message of this service: {error}")
        raise  # unreachable, since abort raises; for the type checker


def streamed(context: grpc.ServicerContext, source: Iterable[T], encode: Callable[[T], bytes]) -> Iterator[bytes]:
    """Yield the responses of a stream until its caller ends it. A source with `close` is closed then."""
    close = getattr(source, "close", None)
    # A generator is left out: Python refuses to close one from another thread while it runs.
    if close is not None and not hasattr(source, "gi_frame"):
        context.add_callback(close)
    for item in source:
        if not context.is_active():
            return
        yield encode(item)


def answered(context: grpc.ServicerContext, answer: Callable[[], bytes]) -> bytes:
    """Return the response; end the call with UNKNOWN and the error's text if there is none."""
    try:
        return answer()
    except Exception as error:
        # The kubelet receives the message; the traceback is logged for debugging only.
        LOG.warning("the driver failed: %s", error, exc_info=LOG.isEnabledFor(logging.DEBUG))
        context.abort(grpc.StatusCode.UNKNOWN, f"{type(error).__name__}: {error}")
        raise
