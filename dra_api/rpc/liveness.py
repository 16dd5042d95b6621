"""grpc.health.v1 over TCP, as liveness probes ask for it: the server that answers, and a client that asks.

The server owns its port between `start` and `stop`. What it answers is asked of `is_alive` at every call; nothing is
remembered. Probes come from outside, so their deadlines are in the machine's own time.

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
"""The services that a driver is asked about: itself, and by the name that its probes use."""
_WORKERS = 4


class LivenessServer:
    """Answers Check on a TCP port of every address: a probe comes from the node to the pod's own address.

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
        """Listen. Raises OSError when the port is taken."""
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
            raise OSError(f"port {self.port} cannot be listened on: {error}") from error
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
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"the request is no message of this service: {error}")
        if not self.knows(service):
            context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
        status = "SERVING" if self._is_alive() else "NOT_SERVING"
        return api_pb2.HealthCheckResponse(status=status).SerializeToString()

    def knows(self, service: str) -> bool:
        """Whether the service is one that this server speaks for."""
        return service in self._services


def check_liveness(port: int, service: str, *, timeout: float = 5.0) -> str:
    """Ask this machine's `port` about a service: SERVING, NOT_SERVING or what else the protocol has.

    `timeout` is in seconds. Raises RpcError: NOT_FOUND for a service that the server does not know.
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
    try:
        return str(api_pb2.HealthCheckResponse.ServingStatus.Name(api_pb2.HealthCheckResponse.FromString(data).status))
    except (DecodeError, ValueError) as error:
        raise RpcError("Check", "INTERNAL", f"the answer is no message of this service: {error}", where) from None
