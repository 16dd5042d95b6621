"""grpc.health.v1 over TCP for liveness probes: server and client.

The server owns its port between `start` and `stop`, and calls `is_alive` for every request. Probes come from other
processes, so their deadlines use real time.

Source: grpc/grpc-proto, grpc/health/v1/health.proto; cmd/gpu-kubelet-plugin health.go of
kubernetes-sigs/dra-driver-nvidia-gpu at 95932046; rule NV-013.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import grpc
from google.protobuf.message import DecodeError

from dra_api.rpc._generated.grpc_health_v1 import api_pb2
from dra_api.rpc.client import RpcError

SERVICE: Final = "grpc.health.v1.Health"
LIVENESS_SERVICES: Final = ("", "liveness")
"""The services of a driver: the server as a whole, and the name that its probes use."""
_WORKERS = 4


class LivenessServer:
    """Serves Check on a TCP port of every address: the kubelet sends probes to the pod's address.

    `is_alive` is called from gRPC's threads, for each of `services`; another service gets NOT_FOUND.
    """

    def __init__(
        self, port: int, is_alive: Callable[[], bool], *, services: Collection[str] = LIVENESS_SERVICES
    ) -> None:
        self.port = port
        self._is_alive = is_alive
        self._services = services
        self._server: grpc.Server | None = None

    def start(self) -> None:
        """Listen. Raises OSError if the port is in use."""
        pool = ThreadPoolExecutor(max_workers=_WORKERS, thread_name_prefix="grpc-liveness")
        handlers = {"Check": grpc.unary_unary_rpc_method_handler(self._check)}
        server = grpc.server(
            pool,
            handlers=[grpc.method_handlers_generic_handler(SERVICE, handlers)],
            options=[("grpc.so_reuseport", 0)],
        )
        try:
            server.add_insecure_port(f"[::]:{self.port}")
        except RuntimeError as error:
            server.stop(None)
            raise OSError(f"cannot listen on port {self.port}: {error}") from error
        server.start()
        self._server = server

    def stop(self, *, grace: float = 1.0) -> None:
        """Let running calls finish for `grace` seconds, then end them. Idempotent."""
        server, self._server = self._server, None
        if server is not None:
            server.stop(grace).wait()

    def _check(self, data: bytes, context: grpc.ServicerContext) -> bytes:
        try:
            service = api_pb2.HealthCheckRequest.FromString(data).service
        except DecodeError as error:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"the request is not a message of this service: {error}")
        if not self.knows(service):
            context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
        status = "SERVING" if self._is_alive() else "NOT_SERVING"
        return api_pb2.HealthCheckResponse(status=status).SerializeToString()

    def knows(self, service: str) -> bool:
        """Whether this server reports the health of the service."""
        return service in self._services


def check_liveness(port: int, service: str, *, timeout: float = 5.0) -> str:
    """Return the health of a service on a local port: SERVING, NOT_SERVING or another value of the protocol.

    `timeout` is in seconds. Raises RpcError: NOT_FOUND for an unknown service.
    """

    def as_is(data: bytes) -> bytes:
        return data

    where = f"port {port}"
    with grpc.insecure_channel(f"localhost:{port}", options=[("grpc.enable_http_proxy", 0)]) as channel:
        call = channel.unary_unary(f"/{SERVICE}/Check", request_serializer=as_is, response_deserializer=as_is)
        try:
            data = call(api_pb2.HealthCheckRequest(service=service).SerializeToString(), timeout=timeout)
        except grpc.RpcError as error:
            failed: Any = error  # every error of grpc's own channels is a grpc.Call too
            raise RpcError("Check", failed.code().name, failed.details() or "", where) from None
    return status_in(data, where)


def status_in(data: bytes, where: str) -> str:
    """Return the status in a response of Check. Raises RpcError, with `where` as the socket, for other data."""
    try:
        return str(api_pb2.HealthCheckResponse.ServingStatus.Name(api_pb2.HealthCheckResponse.FromString(data).status))
    except (DecodeError, ValueError) as error:
        raise RpcError("Check", "INTERNAL", f"the response is not a message of this service: {error}", where) from None
