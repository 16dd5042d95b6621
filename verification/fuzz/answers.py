"""The fuzzed readers of answers: watches, PodResources, drivers that register, and both sides of the fault proxy.

They read from connections. Each target puts a connection in memory at the place of the socket or gRPC channel, and
calls the code above it. Imports of parsers are inside the functions, as in `targets`.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from verification.fuzz.target import Finding, Read

SEPARATOR = b"\xff\xfe"
"""Between the messages of an input. No UTF-8 has it, and few protobuf messages do."""


@contextlib.contextmanager
def _reported() -> Iterator[None]:
    """Raise a finding for an exception that a thread or callback would report and survive."""
    found: list[BaseException] = []

    def keep(arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_value is not None:
            found.append(arguments.exc_value)

    with mock.patch.object(threading, "excepthook", keep):
        yield
    if found:
        raise Finding(repr(found[0])) from found[0]


# -- a watch of an API server ------------------------------------------------------------------------------------------


class _Socket:
    """The side of a connection that reads parts of an answer, and then its end."""

    def __init__(self, parts: Sequence[bytes]) -> None:
        self._parts = list(reversed(parts))

    def settimeout(self, _seconds: float | None) -> None:
        pass

    def send(self, data: bytes) -> int:
        return len(data)

    def recv(self, _size: int) -> bytes:
        return self._parts.pop() if self._parts else b""

    def shutdown(self, _how: int) -> None:
        pass

    def close(self) -> None:
        self._parts.clear()


_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


def _in_parts(data: bytes) -> list[bytes]:
    """Return the packets of an input: a whole response, or the body of one in chunks of a size that the input has."""
    size = 1 + len(data) * 7 % 101
    parts = [data[at : at + size] for at in range(0, len(data), size)]
    if data.startswith(b"HTTP/"):
        return parts
    return [_HEAD, *(b"%x\r\n%s\r\n" % (len(part), part) for part in parts), b"0\r\n\r\n"]


def _lines(data: bytes) -> bytes:
    """Return a JSON list as lines, one for each item, and other data as it is."""
    import orjson

    with contextlib.suppress(orjson.JSONDecodeError, TypeError):
        found = orjson.loads(data)
        if isinstance(found, list):
            return b"".join(orjson.dumps(each) + b"\n" for each in found)
    return data


def watch() -> Read:
    """Read an answer as a watch, and as a list, with a client and with an informer."""
    from kubernetes import client as kubernetes

    from dra_api.client import ApiError, KubeClient
    from dra_api.clock import RealClock
    from dra_api.informer import Informer
    from dra_api.objects import PODS, RESOURCE_SLICES, Resource
    from dra_api.transport import HttpTransport, TransportError

    configuration: Any = kubernetes.Configuration()
    configuration.host = "http://localhost"

    def run(data: bytes) -> None:
        parts = _in_parts(_lines(data))
        transport = HttpTransport(configuration, pool_size=0)
        with (
            mock.patch.object(transport._connections, "_new", side_effect=lambda _timeout: _Socket(parts)),
            _reported(),
        ):
            client = KubeClient(transport)
            with contextlib.suppress(ApiError, TransportError):
                client.served("resource.k8s.io")
            with contextlib.suppress(ApiError, TransportError):
                client.serves(PODS)
            client._served["resource.k8s.io"] = ["v1beta1"]
            for resource in (PODS, RESOURCE_SLICES):
                _follow(client, resource)

    def _follow(client: KubeClient, resource: Resource) -> None:
        informer = Informer(client, resource, clock=RealClock())
        # A second watch resumes with the state of the first.
        for read in (informer._follow, informer._follow, informer._relist):
            with contextlib.suppress(ApiError, TransportError):
                read()
        for obj in informer.list():
            informer.assume(obj)
        informer.wait_served(0.0)

    return run


# -- gRPC ------------------------------------------------------------------------------------------------------------


class _Call:
    """A call that has its answers already: the future of a unary call, and the iterator of a stream."""

    def __init__(self, answers: Sequence[bytes]) -> None:
        self._answers = iter(answers)

    def add_done_callback(self, callback: Any) -> None:
        callback(self)

    def add_callback(self, _callback: Any) -> bool:
        return False

    def result(self) -> bytes:
        return next(self._answers, b"")

    def __next__(self) -> bytes:
        return next(self._answers)

    def cancel(self) -> None:
        self._answers = iter(())


class _Channel:
    """A gRPC channel whose calls are answered with the messages of an input, by the method's name."""

    def __init__(self, answers: Mapping[str, Sequence[bytes]]) -> None:
        self._answers = answers

    def _call(self, method: str) -> _Call:
        return _Call(self._answers.get(method.rpartition("/")[2], ()))

    def unary_unary(self, method: str, **_: Any) -> Any:
        return mock.Mock(future=lambda _request: self._call(method))

    def unary_stream(self, method: str, **_: Any) -> Any:
        return lambda _request: self._call(method)

    def subscribe(self, _callback: Any, **_: Any) -> None:
        pass

    unsubscribe = subscribe

    def close(self) -> None:
        pass


@contextlib.contextmanager
def _answering(answers: Mapping[str, Sequence[bytes]]) -> Iterator[None]:
    """Answer all gRPC calls of this process. The timer of a closed channel does not start."""
    import grpc

    with (
        mock.patch.object(grpc, "insecure_channel", return_value=_Channel(answers)),
        mock.patch.object(threading, "Timer"),
        _reported(),
    ):
        yield


class _World:
    """The part of a world that steps about PodResources use. `eventually` looks once."""

    def __init__(self) -> None:
        from dra_api.clock import RealClock

        self.namespace = "ns"
        self.clock = RealClock()
        self._states: dict[type, Any] = {}

    def name(self, name: str) -> str:
        return name

    def node(self, _name: str) -> Any:
        return mock.Mock(kubelet=mock.Mock(pod_resources_socket=Path("/pod-resources.sock")))

    def state(self, kind: type) -> Any:
        return self._states.setdefault(kind, kind())

    def eventually(self, _what: str, look: Any, *, expected: object) -> None:
        from dra_conformance.engine.world import in_words

        done, seen = look()
        if not isinstance(done, bool):
            raise Finding(f"the look returned {done!r}")
        in_words(seen), in_words(expected)


_FIELDS = {
    "node": "n",
    "pods": "p",
    "pod": "p",
    "claim": "c",
    "ids": "a.com/b=0",
    "containers": "c",
    "namespace": "ns",
    "datatable": [["pod", "container", "devices", "claims"], ["p", "c", "", ""]],
}
_METHODS = ("List", "GetAllocatableResources", "Get")


def pod_resources() -> Read:
    """Read the answers to List, GetAllocatableResources and Get with the steps about PodResources."""
    import inspect

    from dra_conformance.core.errors import Untestable
    from dra_conformance.engine.vocabulary import DEFINITIONS
    from dra_conformance.steps import pod_resources as steps

    functions = []
    for step in getattr(steps, DEFINITIONS):
        wanted = set(inspect.signature(step.function).parameters) - {"world"}
        # The other steps compare with what a scripted driver has sent.
        if wanted <= set(_FIELDS):
            functions.append((step.function, {name: _FIELDS[name] for name in wanted}))

    def run(data: bytes) -> None:
        messages = data.split(SEPARATOR)
        # Each method gets each message in turn, so that a corpus for one serves all.
        answers = {name: [messages[at % len(messages)]] for at, name in enumerate(_METHODS)}
        world = _World()
        with _answering(answers):
            for function, fields in functions:
                with contextlib.suppress(Untestable):
                    function(world, **fields)

    return run


def registration() -> Read:
    """Register a plugin with the kubelet of the harness, read its health stream and its liveness service."""
    import socket

    from dra_api.clock import RealClock
    from dra_api.objects import RESOURCE_SLICES
    from dra_api.rpc import RpcError, liveness
    from dra_conformance.kubelet.errors import RegistrationRefused
    from dra_conformance.kubelet.gates import Timing
    from dra_conformance.kubelet.health import HealthWatcher
    from dra_conformance.kubelet.plugins import PluginManager
    from dra_conformance.kubelet.record import recorder, silent

    folder = Path(tempfile.mkdtemp(prefix="r"))
    path = folder / "d-reg.sock"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))

    def run(data: bytes) -> None:
        info, notified, *health = data.split(SEPARATOR) if SEPARATOR in data else (data, b"")
        # The first of the other messages is also the answer of the liveness service.
        answers = {"GetInfo": [info], "NotifyRegistrationStatus": [notified], "NodeWatchResources": health}
        record = recorder(silent, "n")
        watcher = HealthWatcher(clock=RealClock(), timing=Timing(), record=record, on_change=lambda _driver: None)
        with _answering(answers):
            manager = PluginManager(
                client=mock.Mock(),
                slices=RESOURCE_SLICES,
                clock=RealClock(),
                node="n",
                folder=folder,
                timing=Timing(),
                record=record,
                on_instance=lambda _instance, _added: None,
                wipe_at_start=False,
                shown_at={Path("/plugins"): folder},
            )
            with contextlib.suppress(RegistrationRefused):
                manager._sync_socket(path)
            for driver in manager.drivers():
                instance = manager.get(driver)
                if instance.health:
                    watcher._one_stream(instance)
                manager.explain(driver)
            manager.stop()
        for message in health[:1]:
            with contextlib.suppress(RpcError):
                liveness.status_in(message, "port 1")

    return run


# -- the proxy for faults --------------------------------------------------------------------------------------------


class _Pipe:
    """One side of a connection in memory: what a protocol writes goes to `written`."""

    def __init__(self, protocol: Any, written: Any) -> None:
        self._protocol = protocol
        self._written = written
        self.data = bytearray()
        self.closed = False

    def write(self, data: bytes) -> None:
        self.data += data
        if not self.closed:
            self._written(bytes(data))

    def writelines(self, several: Sequence[bytes]) -> None:
        self.write(b"".join(several))

    def close(self) -> None:
        self.closed = True

    abort = close

    def is_closing(self) -> bool:
        return self.closed

    def get_extra_info(self, _name: str, default: Any = None) -> Any:
        return default

    def set_write_buffer_limits(self, *_: Any) -> None:
        pass

    def pause_reading(self) -> None:
        pass

    resume_reading = pause_reading


_TURNS = 60
"""Of the event loop: more than any exchange in memory needs."""
_REQUEST = b"GET /api/v1/pods?watch=true HTTP/1.1\r\nHost: h\r\n\r\n"


def fault_proxy() -> Read:
    """Forward a request to an answer: the input has both, with a separator between them.

    Its length chooses the fault: none, an error, a lost answer, or a watch that is cut.
    """
    import asyncio
    from concurrent.futures import Future, ThreadPoolExecutor

    import aiohttp
    import yaml

    from dra_conformance.faults.model import Fault, FaultPoints
    from dra_conformance.faults.proxy import FaultProxy
    from dra_conformance.faults.upstream import Upstream

    class AtOnce(ThreadPoolExecutor):
        def submit(self, call: Any, /, *args: Any, **more: Any) -> Future[Any]:
            done: Future[Any] = Future()
            try:
                done.set_result(call(*args, **more))
            except Exception as error:
                done.set_exception(error)
            return done

    folder = Path(tempfile.mkdtemp())
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                "users": [{"name": "u", "user": {"token": "t"}}],
                "current-context": "c",
            }
        )
    )
    loop = asyncio.new_event_loop()
    loop.set_default_executor(AtOnce(1))
    state: dict[str, Any] = {"answer": b"", "fault": None, "errors": []}
    points = FaultPoints()
    points.add(lambda _call: state["fault"])
    proxy = FaultProxy(points, folder=folder)

    class Memory(aiohttp.BaseConnector):
        async def _create_connection(self, *_: Any, **__: Any) -> Any:
            protocol = aiohttp.client_proto.ResponseHandler(loop)
            begun = False

            def answer(_data: bytes) -> None:
                nonlocal begun
                if not begun:
                    begun = True
                    loop.call_soon(send)

            def send() -> None:
                data = state["answer"]
                for part in (data[: len(data) // 2], data[len(data) // 2 :]):
                    if not pipe.closed:
                        protocol.data_received(part)
                loop.call_soon(protocol.connection_lost, None)

            pipe = _Pipe(protocol, answer)
            made: Any = pipe
            protocol.connection_made(made)
            return protocol

    async def prepare() -> Any:
        await proxy._open("component", Upstream(kubeconfig), "token")
        endpoint = proxy._endpoints[0]
        for session in (endpoint.own, endpoint.others):
            await session.connector.close()  # type: ignore[union-attr]
            session._connector = Memory(force_close=True)
        return endpoint.runner.server

    server = loop.run_until_complete(prepare())
    loop.set_exception_handler(lambda _, context: state["errors"].append(context.get("exception") or context))

    async def turns() -> None:
        for _ in range(_TURNS):
            await asyncio.sleep(0)

    async def exchange(request: bytes, which: int) -> bytes:
        before = asyncio.all_tasks()
        protocol = server()
        pipe = _Pipe(protocol, lambda _data: None)
        protocol.connection_made(pipe)
        for part in (request[: len(request) // 2], request[len(request) // 2 :]):
            if not pipe.closed:
                protocol.data_received(part)
            await asyncio.sleep(0)
        if which == 3:
            points.cut_watches(lambda call: True, "gone")
        await turns()
        protocol.connection_lost(None)
        await turns()
        if left := asyncio.all_tasks() - before:
            for task in left:
                task.cancel()
            raise Finding(f"a request goes on after its connection has ended: {left}")
        if not proxy.is_idle():
            raise Finding("the proxy counts a request that has ended")
        return bytes(pipe.data)

    faults = (None, Fault(code=409, retry_after_s=1), Fault(lost="answer"), None)

    def run(data: bytes) -> None:
        request, found, answer = data.partition(SEPARATOR)
        state["answer"] = answer if found else request
        which = len(data) % len(faults)
        state["fault"] = faults[which]
        state["errors"].clear()
        with _reported():
            loop.run_until_complete(exchange(request if found else _REQUEST, which))
        if state["errors"]:
            raise Finding(f"in the event loop: {state['errors'][0]!r}")

    return run
