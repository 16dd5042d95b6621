"""Calls of the two sides: a kubelet's to a device plugin, and a plugin's to the kubelet's registration service."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dra_api.clock import Clock
from dra_api.rpc.client import ServerStream, SocketChannel
from dra_api.rpc.device_plugin import codec
from dra_api.rpc.device_plugin.types import ContainerAllocation, PluginOptions, PreferenceRequest, Registration

PRE_START_SECONDS = 30.0
"""The kubelet's deadline of PreStartContainer."""


class DevicePluginClient:
    """Calls to the device plugin at `socket`, over one connection until `close`.

    `timeout` of a call is in seconds of the clock. Every call raises RpcError. Raises ValueError for a socket path that
    is too long.
    """

    def __init__(self, socket: Path | str, *, clock: Clock | None = None) -> None:
        self.channel = SocketChannel(socket, clock=clock)

    def options(self, *, timeout: float | None = None) -> PluginOptions:
        """Call GetDevicePluginOptions."""
        found: PluginOptions = self.channel.call(
            codec.PLUGIN_SERVICE, "GetDevicePluginOptions", b"", codec.decode_options, timeout
        )
        return found

    def list_and_watch(self) -> ServerStream:
        """Call ListAndWatch; return an iterator of `tuple[PluginDevice, ...]` with `close()`."""
        return self.channel.stream(codec.PLUGIN_SERVICE, "ListAndWatch", codec.decode_devices)

    def allocate(
        self, containers: Sequence[Sequence[str]], *, timeout: float | None = None
    ) -> tuple[ContainerAllocation, ...]:
        """Call Allocate for the device ids of each container."""
        found: tuple[ContainerAllocation, ...] = self.channel.call(
            codec.PLUGIN_SERVICE, "Allocate", codec.encode_allocate(containers), codec.decode_allocated, timeout
        )
        return found

    def preferred_allocation(
        self, containers: Sequence[PreferenceRequest], *, timeout: float | None = None
    ) -> tuple[tuple[str, ...], ...]:
        """Call GetPreferredAllocation; return the ids of each container."""
        request = codec.encode_preference(containers)
        found: tuple[tuple[str, ...], ...] = self.channel.call(
            codec.PLUGIN_SERVICE, "GetPreferredAllocation", request, codec.decode_preferred, timeout
        )
        return found

    def pre_start(self, ids: Sequence[str], *, timeout: float | None = PRE_START_SECONDS) -> None:
        """Call PreStartContainer."""
        self.channel.call(
            codec.PLUGIN_SERVICE, "PreStartContainer", codec.encode_pre_start(ids), codec.decode_nothing, timeout
        )

    def close(self) -> None:
        """Close the connection; calls and streams end."""
        self.channel.close()


def register(
    socket: Path | str, registration: Registration, *, clock: Clock | None = None, timeout: float | None = None
) -> None:
    """Call Register on the kubelet's socket. Raises RpcError with the kubelet's reason."""
    channel = SocketChannel(socket, clock=clock)
    try:
        channel.call(
            codec.REGISTRATION_SERVICE,
            "Register",
            codec.encode_registration(registration),
            codec.decode_nothing,
            timeout,
        )
    finally:
        channel.close()
