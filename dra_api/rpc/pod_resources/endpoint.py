"""The two sides of the PodResources service: the kubelet's server, and a client as monitoring agents have one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import grpc

from dra_api.clock import Clock
from dra_api.rpc.client import SocketChannel
from dra_api.rpc.pod_resources import codec
from dra_api.rpc.pod_resources.types import ContainerDevices, PodResources
from dra_api.rpc.server import SocketServer, answered, decoded, handlers

_SECONDS = 10.0


class PodResourcesLister(Protocol):
    """The three calls. An exception fails a call; its message is the error."""

    def list_pods(self) -> Sequence[PodResources]:
        """Return all pods that have not ended."""
        ...

    def get_pod(self, namespace: str, name: str) -> PodResources:
        """Return one pod."""
        ...

    def allocatable(self) -> Sequence[ContainerDevices]:
        """Return the devices that can be allocated, in use or not."""
        ...


class PodResourcesServer:
    """Serves a lister on `socket` between `start` and `stop`."""

    def __init__(self, lister: PodResourcesLister, socket: Path) -> None:
        def get(data: bytes, context: grpc.ServicerContext) -> bytes:
            namespace, name = decoded(context, lambda: codec.decode_get(data))
            return answered(context, lambda: codec.encode_pod(lister.get_pod(namespace, name)))

        def listed(_: bytes, context: grpc.ServicerContext) -> bytes:
            return answered(context, lambda: codec.encode_list(lister.list_pods()))

        def allocatable(_: bytes, context: grpc.ServicerContext) -> bytes:
            return answered(context, lambda: codec.encode_allocatable(lister.allocatable()))

        methods = {"List": listed, "Get": get, "GetAllocatableResources": allocatable}
        served = {name: grpc.unary_unary_rpc_method_handler(method) for name, method in methods.items()}
        self._server = SocketServer(socket, [handlers(codec.SERVICE, served)], name="pod-resources")

    def start(self) -> None:
        """Listen; return when clients can connect. A stale socket is replaced."""
        self._server.start()

    def stop(self) -> None:
        """Remove the socket and end all calls. Idempotent."""
        self._server.stop(grace=0.2)


class PodResourcesClient:
    """Calls to the PodResources service at `socket`, over one connection until `close`. Every call raises RpcError."""

    def __init__(self, socket: Path, *, clock: Clock | None = None) -> None:
        self._channel = SocketChannel(socket, clock=clock)

    def list_pods(self) -> tuple[PodResources, ...]:
        """Call List."""
        found: tuple[PodResources, ...] = self._channel.call(codec.SERVICE, "List", b"", codec.decode_list, _SECONDS)
        return found

    def get_pod(self, namespace: str, name: str) -> PodResources:
        """Call Get."""
        request = codec.encode_get(namespace, name)
        found: PodResources = self._channel.call(codec.SERVICE, "Get", request, codec.decode_pod, _SECONDS)
        return found

    def allocatable(self) -> tuple[ContainerDevices, ...]:
        """Call GetAllocatableResources."""
        found: tuple[ContainerDevices, ...] = self._channel.call(
            codec.SERVICE, "GetAllocatableResources", b"", codec.decode_allocatable, _SECONDS
        )
        return found

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()
