"""The servers of the two sides: a plugin's DevicePlugin service, and the kubelet's Registration service.

Each owns its socket between `start` and `stop`, see `dra_api.rpc.server.SocketServer`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import grpc

from dra_api.rpc.device_plugin import codec
from dra_api.rpc.device_plugin.types import (
    ContainerAllocation,
    PluginDevice,
    PluginOptions,
    PreferenceRequest,
    Registration,
)
from dra_api.rpc.server import SocketServer, answered, decoded, handlers, streamed


class DevicePlugin(Protocol):
    """The five calls of a device plugin. An exception fails a call; its message is the kubelet's error."""

    def options(self) -> PluginOptions:
        """Return what the plugin wants to be called for."""
        ...

    def watch_devices(self) -> Iterator[Sequence[PluginDevice]]:
        """Yield the complete list of devices, now and after every change."""
        ...

    def allocate(self, containers: Sequence[Sequence[str]]) -> Sequence[ContainerAllocation]:
        """Return what each container gets for its device ids."""
        ...

    def preferred_allocation(self, containers: Sequence[PreferenceRequest]) -> Sequence[Sequence[str]]:
        """Return the preferred ids for each container."""
        ...

    def pre_start(self, ids: Sequence[str]) -> None:
        """Prepare devices for the start of their container."""
        ...


class DevicePluginServer:
    """Serves a device plugin on `socket`."""

    def __init__(self, plugin: DevicePlugin, socket: Path | str, *, name: str) -> None:
        self._plugin = plugin
        self._server = SocketServer(socket, [self._handler()], name=name)

    @property
    def socket(self) -> Path:
        """The path of the plugin's socket."""
        return self._server.socket

    def start(self) -> None:
        """Listen; return when clients can connect. A stale socket is replaced."""
        self._server.start()

    def stop(self) -> None:
        """Remove the socket and end all calls. Idempotent."""
        self._server.stop(grace=0.2)

    def _handler(self) -> grpc.GenericRpcHandler[Any, Any]:
        plugin = self._plugin

        def options(_: bytes, context: grpc.ServicerContext) -> bytes:
            return answered(context, lambda: codec.encode_options(plugin.options()))

        def watch(_: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
            return streamed(context, plugin.watch_devices(), codec.encode_devices)

        def allocate(data: bytes, context: grpc.ServicerContext) -> bytes:
            containers = decoded(context, lambda: codec.decode_allocate(data))
            return answered(context, lambda: codec.encode_allocated(plugin.allocate(containers)))

        def preferred(data: bytes, context: grpc.ServicerContext) -> bytes:
            containers = decoded(context, lambda: codec.decode_preference(data))
            return answered(context, lambda: codec.encode_preferred(plugin.preferred_allocation(containers)))

        def pre_start(data: bytes, context: grpc.ServicerContext) -> bytes:
            ids = decoded(context, lambda: codec.decode_pre_start(data))

            def start() -> bytes:
                plugin.pre_start(ids)
                return b""

            return answered(context, start)

        return handlers(
            codec.PLUGIN_SERVICE,
            {
                "GetDevicePluginOptions": grpc.unary_unary_rpc_method_handler(options),
                "ListAndWatch": grpc.unary_stream_rpc_method_handler(watch),
                "Allocate": grpc.unary_unary_rpc_method_handler(allocate),
                "GetPreferredAllocation": grpc.unary_unary_rpc_method_handler(preferred),
                "PreStartContainer": grpc.unary_unary_rpc_method_handler(pre_start),
            },
        )


class RegistrationServer:
    """Serves the kubelet's Registration service on `socket`.

    `on_register` raises an exception to refuse a plugin. `give` changes the owner of the socket.
    """

    def __init__(
        self,
        socket: Path | str,
        on_register: Callable[[Registration], None],
        *,
        give: Callable[[Path], None] | None = None,
    ) -> None:
        def register(data: bytes, context: grpc.ServicerContext) -> bytes:
            registration = decoded(context, lambda: codec.decode_registration(data))

            def accept() -> bytes:
                on_register(registration)
                return b""

            return answered(context, accept)

        self._server = SocketServer(
            socket,
            [handlers(codec.REGISTRATION_SERVICE, {"Register": grpc.unary_unary_rpc_method_handler(register)})],
            name="kubelet",
            give=give,
        )

    def start(self) -> None:
        """Listen; return when plugins can connect. A stale socket is replaced."""
        self._server.start()

    def stop(self) -> None:
        """Remove the socket and end all calls. Idempotent."""
        self._server.stop(grace=0.2)
