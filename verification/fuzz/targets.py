"""The parsers that are fuzzed: how to call each one, and the errors that it may raise.

Imports of parsers are inside the functions, so that a run instruments only the code of its own target.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from verification.fuzz import answers
from verification.fuzz.target import Finding, Read, Target

PROGRAM = "DRA_FUZZ_PROGRAM"
"""Environment variable of a process that fuzzes: the program by which libFuzzer starts it again."""

DEVICE = {
    "driver": "gpu.example.com",
    "attributes": {
        "model": {"string": "A100"},
        "index": {"int": 3},
        "version": {"version": "1.2.3"},
        "ok": {"bool": True},
    },
    "capacity": {"memory": {"value": "40Gi"}},
}
COST = 100_000
"""Cost limit of an expression, in cel-go's units: a tenth of Kubernetes' own, for more inputs a second."""


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _file(suffix: str) -> Path:
    """Return a file that this process alone writes, in the folder for temporary files, which the caller removes."""
    return Path(tempfile.mkdtemp(), f"input{suffix}")


def _of_file(suffix: str, read: Callable[[Path], Any], refused: tuple[type[Exception], ...]) -> Read:
    path = _file(suffix)

    def run(data: bytes) -> None:
        path.write_bytes(data)
        with contextlib.suppress(*refused):
            read(path)

    return run


def _yaml() -> Read:
    import yaml

    from dra_api import plain_yaml

    def run(data: bytes) -> None:
        with contextlib.suppress(yaml.YAMLError):
            plain_yaml.load_all(data)

    return run


def _quantity() -> Read:
    from dra_api.quantity import Quantity, QuantityError

    def run(data: bytes) -> None:
        with contextlib.suppress(QuantityError):
            found = Quantity.parse(_text(data))
            # Not read again: Kubernetes itself loses the suffix of amounts beyond E, and so does this text.
            _ = (str(found), found.value, found.milli_value)

    return run


def _semver() -> Read:
    from dra_api.semver import SemVer, SemVerError

    def run(data: bytes) -> None:
        try:
            found = SemVer.parse(_text(data))
        except SemVerError:
            return
        if SemVer.parse(str(found)) != found:
            raise Finding(f"{found} is another version when it is read again")

    return run


def _cel() -> Read:
    from dra_api.cel.device import DeviceView, compile_selector
    from dra_api.cel.errors import CelError

    device = DeviceView(DEVICE["driver"], DEVICE["attributes"], DEVICE["capacity"])  # type: ignore[arg-type]

    def run(data: bytes) -> None:
        with contextlib.suppress(CelError):
            compile_selector(_text(data)).evaluate(device, cost_limit=COST)

    return run


def _pattern() -> Read:
    from dra_api.cel.errors import CelError
    from dra_api.cel.patterns import compile_pattern

    def run(data: bytes) -> None:
        pattern, _, text = _text(data).partition("\n")
        with contextlib.suppress(CelError):
            found = compile_pattern(pattern)
            found.matches(text)
            list(found.spans(text))

    return run


def _kubeconfig() -> Read:
    import kubernetes.config  # otherwise the import is part of the first input  # noqa: F401

    from dra_api.kubeconfig import KubeconfigError
    from dra_api.transport import HttpTransport

    def read(path: Path) -> None:
        HttpTransport.from_kubeconfig(path).close()

    return _of_file(".yaml", read, (KubeconfigError,))


def _cdi() -> Read:
    from dra_conformance.kubelet.cdi import CDIRegistry

    def read(path: Path) -> None:
        found = CDIRegistry.read([path.parent])
        for device in list(found.devices)[:3]:
            found.resolve([device])

    return _of_file(".json", read, ())


def _checkpoint() -> Read:
    from dra_conformance.kubelet import device_checkpoint

    return _of_file("", device_checkpoint.read, ())


def _inventory() -> Read:
    from fake_nvml import Inventory
    from fake_nvml.errors import InventoryError

    return _of_file(".yaml", Inventory.load, (InventoryError,))


def _dump() -> Read:
    from dra_conformance.core.errors import UsageError
    from dra_conformance.oracle import Case, Settings, check, could_be_allocated, double_offers, double_uses, dumps

    def read(path: Path) -> None:
        # What `dra-conformance check` does with it.
        cluster = dumps.read([str(path)]).cluster
        for claim in cluster.claims:
            case = Case(cluster, claim, Settings(fresh=False))
            check(case)
            could_be_allocated(case, budget=200)
        double_offers(cluster)
        double_uses(cluster)

    return _of_file(".json", read, (UsageError,))


def _simulate() -> Read:
    from dra_conformance.cli import node_groups, simulation
    from dra_conformance.core.errors import UsageError
    from dra_conformance.oracle import dumps

    def read(path: Path) -> None:
        # What `dra-conformance simulate` does with it, with one more node like each.
        dump = dumps.read([str(path)])
        batch = simulation.pending(dump, pods=(), claims=())
        objects = simulation.restricted(simulation.completed(dump), ())
        simulation.Simulation(objects).run(batch)
        for node in dump.cluster.nodes[:2]:
            more = node_groups.one_more(objects, node.metadata.name)
            simulation.Simulation([*objects, *more]).run(batch)

    return _of_file(".json", read, (UsageError,))


def _kubectl_dra() -> Read:
    from dra_conformance.cli.kubectl_dra import conflicts, pools, users, why
    from dra_conformance.core.errors import UsageError
    from dra_conformance.oracle import dumps

    def read(path: Path) -> None:
        dump = dumps.read([str(path)])
        for rows in (users.users(dump.cluster), pools.rows(dump.cluster), conflicts.conflicts(dump.cluster)):
            list(rows)
        for pod in dump.cluster.pods:
            with contextlib.suppress(UsageError):  # of one pod, such as a template that is missing
                why.explain(dump, pod.metadata.name, pod.metadata.namespace or "default")

    return _of_file(".json", read, (UsageError,))


def _log() -> Read:
    from dra_conformance.core.errors import UsageError
    from dra_conformance.report import files, verify

    folder = _file("").parent
    path = folder / files.EVENTS

    def run(data: bytes) -> None:
        path.write_bytes(data)
        for read in (files.from_folder, verify.verify):
            with contextlib.suppress(UsageError):
                read(folder)

    return run


def _report() -> Read:
    from dra_conformance.core.errors import UsageError
    from dra_conformance.report import stored

    return _of_file(".json", stored.read, (UsageError,))


def _configuration() -> Read:
    from dra_conformance.core.configuration import config_file, options_of
    from dra_conformance.core.errors import UsageError

    return _of_file(".toml", lambda path: options_of(config_file(path)), (UsageError,))


def _feature() -> Read:
    from dra_conformance.core import features
    from dra_conformance.core.errors import SuiteError

    return _of_file(".feature", features.read_file, (SuiteError,))


def _selectors() -> Read:
    from apiserver_emulator import selectors
    from dra_api.status import StatusError

    labels = {"a": "b", "dra.test/rack": "r1"}

    def run(data: bytes) -> None:
        with contextlib.suppress(StatusError):
            match = selectors.label_selector(_text(data))
            if match is not None:
                match(labels)
        with contextlib.suppress(StatusError):
            selectors.parse_fields(_text(data))

    return run


def _protobuf() -> Read:
    from apiserver_emulator.protobuf import envelope
    from apiserver_emulator.protobuf.errors import ProtobufError

    def run(data: bytes) -> None:
        with contextlib.suppress(ProtobufError):
            envelope.encode(envelope.decode(data))

    return run


def _grpc() -> Read:
    import msgspec
    from google.protobuf.message import DecodeError

    from dra_api.rpc import PluginInfo, codec
    from dra_api.rpc.device_plugin import Registration
    from dra_api.rpc.device_plugin import codec as device_plugins
    from dra_conformance.core.events import KubeletCall
    from dra_conformance.core.events.log import encode
    from dra_conformance.kubelet import device_plugins as manager
    from dra_conformance.kubelet import plugins
    from dra_conformance.kubelet.errors import RegistrationRefused

    decoders: tuple[Callable[[bytes], Any], ...] = (
        *(each.decode_prepared for each in codec.DRA_CODECS.values()),
        *(each.decode_unprepared for each in codec.DRA_CODECS.values()),
        *(each.decode for each in codec.HEALTH_CODECS.values()),
        codec.decode_info,
        codec.decode_nothing,
        device_plugins.decode_options,
        device_plugins.decode_registration,
        device_plugins.decode_devices,
        device_plugins.decode_allocated,
        device_plugins.decode_preferred,
    )

    def run(data: bytes) -> None:
        # The first byte chooses one of the messages.
        try:
            found = decoders[(data[0] if data else 0) % len(decoders)](data[1:])
        except DecodeError:
            return
        if isinstance(found, PluginInfo):
            with contextlib.suppress(RegistrationRefused):
                plugins.choose_version(found.supported_versions)
            plugins.choose_health(found.supported_versions)
        if isinstance(found, Registration):
            manager.is_extended_resource(found.resource_name)
        # What a driver answers is recorded, and the log must be readable.
        call = KubeletCall(
            driver="d",
            endpoint="e",
            service="s",
            method="m",
            request={},
            code="OK",
            seconds=0.0,
            response={"is": found},
        )
        msgspec.json.decode(encode(call), type=KubeletCall)

    return run


def _webhook() -> Read:
    from apiserver_emulator import webhook_answers, webhooks

    def run(data: bytes) -> None:
        with contextlib.suppress(webhook_answers.CallError):
            answer = webhook_answers.read(data, api_version="admission.k8s.io/v1", uid="u")
            webhooks.denial("w", answer.status).body()

    return run


_PATHS = (
    ("POST", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims", "application/json"),
    ("POST", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates", "application/json"),
    ("POST", "/apis/resource.k8s.io/v1/resourceslices", "application/json"),
    ("POST", "/apis/resource.k8s.io/v1/deviceclasses", "application/json"),
    ("POST", "/apis/resource.k8s.io/v1beta1/namespaces/default/resourceclaims", "application/yaml"),
    ("POST", "/apis/resource.k8s.io/v1/devicetaintrules", "application/json"),
    ("POST", "/api/v1/namespaces/default/pods", "application/json"),
    ("POST", "/api/v1/nodes", "application/json"),
    ("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/json"),
    ("PUT", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/kept", "application/json"),
    ("PUT", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/kept/status", "application/json"),
    ("PATCH", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/kept", "application/merge-patch+json"),
    ("PATCH", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/kept", "application/json-patch+json"),
    ("PATCH", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/kept/status", "application/merge-patch+json"),
    ("PATCH", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/applied", "application/apply-patch+yaml"),
    ("PATCH", "/api/v1/namespaces/default/pods/kept", "application/strategic-merge-patch+json"),
    ("POST", "/api/v1/namespaces/default/events", "application/vnd.kubernetes.protobuf"),
)
"""A key "request" of the input chooses one of these; the key "query" adds a query. Both are removed from the body."""

KEPT = {
    "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims": {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "kept"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}},
    },
    "/api/v1/namespaces/default/pods": {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "kept", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    },
}
_ROUNDS = 400
"""Requests after which the server starts again, so that its objects do not fill the memory."""


def _api_server() -> Read:
    import orjson

    from apiserver_emulator.emulator import ApiServerEmulator
    from dra_api.transport import Transport

    folder = _file("").parent
    state: dict[str, Any] = {"left": 0}

    def fresh() -> None:
        if "plane" in state:
            state["plane"].stop()
        plane = state["plane"] = ApiServerEmulator(directory=folder, seed=1, https=False)
        plane.start()
        transport: Transport = plane.transport()
        for path, obj in KEPT.items():
            transport.request("POST", path, body=orjson.dumps(obj))
        state.update(transport=transport, left=_ROUNDS)

    def run(data: bytes) -> None:
        if not state["left"]:
            fresh()
        state["left"] -= 1
        which, query, body = len(data), [], data
        with contextlib.suppress(orjson.JSONDecodeError, TypeError, ValueError):
            found = orjson.loads(data)
            if isinstance(found, dict):
                which = int(found.pop("request", 0))
                query = [(str(name)[:60], str(value)[:60]) for name, value in dict(found.pop("query", {})).items()]
                body = orjson.dumps(found.pop("body", found))
        method, path, content_type = _PATHS[which % len(_PATHS)]
        if method == "PATCH":
            query.append(("fieldManager", "fuzz"))
        state["transport"].request(method, path, query=query, body=body, content_type=content_type)
        if failures := state["plane"].take_failures():
            raise Finding(f"{method} {path}: {failures[0].error}\n{failures[0].traceback}")

    return run


class _Sink:
    """The side of a connection to which a server writes; nothing reads it."""

    def __init__(self) -> None:
        self.closed = False

    def write(self, _data: bytes) -> None:
        pass

    def close(self) -> None:
        self.closed = True

    abort = close

    def is_closing(self) -> bool:
        return self.closed

    def get_extra_info(self, _name: str, default: Any = None) -> Any:
        return default

    def pause_reading(self) -> None:
        pass

    resume_reading = pause_reading


def _http() -> Read:
    import asyncio

    import uvicorn
    from uvicorn.server import ServerState

    from apiserver_emulator.emulator import ApiServerEmulator
    from apiserver_emulator.https_endpoint import Application
    from apiserver_emulator.limited_protocol import LimitedProtocol

    plane = ApiServerEmulator(directory=_file("").parent, seed=1, https=False)
    plane.start()
    loop = asyncio.new_event_loop()
    config = uvicorn.Config(Application(plane.server), ws="none", lifespan="off", log_config=None, access_log=False)
    config.load()

    async def connection(data: bytes) -> None:
        state, sink = ServerState(), _Sink()
        protocol = LimitedProtocol(config, server_state=state, app_state={})
        protocol.connection_made(sink)
        # In two parts: a request can arrive in any number of packets.
        for part in (data[: len(data) // 2], data[len(data) // 2 :]):
            if not sink.closed:
                protocol.data_received(part)
                await asyncio.sleep(0)
        protocol.connection_lost(None)
        if state.tasks:
            await asyncio.wait(state.tasks, timeout=5)
        if state.tasks:
            raise Finding("a request goes on after its connection has ended")

    def run(data: bytes) -> None:
        loop.run_until_complete(connection(data))
        if failures := plane.take_failures():
            raise Finding(f"{failures[0].error}\n{failures[0].traceback}")

    return run


_CLIENT = ("dra_api.client", "dra_api.http1", "dra_api.informer", "dra_api.transport", "dra_api.versions")
_SIMULATION = ("dra_conformance.oracle", "reference_impl.scheduler")
TARGETS = {
    one.name: one
    for one in (
        Target("api-server", _api_server, ("apiserver_emulator", "dra_api"), trees=True),
        Target("cdi", _cdi, ("dra_conformance.kubelet",), trees=True),
        Target("cel", _cel, ("dra_api.cel",), longest=512),
        Target("checkpoint", _checkpoint, ("dra_conformance.kubelet",), trees=True),
        Target("configuration", _configuration, ("dra_conformance.core",)),
        Target("dump", _dump, ("dra_conformance.oracle", "dra_api"), trees=True),
        Target("fault-proxy", answers.fault_proxy, ("dra_conformance.faults", "dra_api.request")),
        Target("feature", _feature, ("dra_conformance.core",)),
        Target("grpc", _grpc, ("dra_api.rpc", "dra_conformance.kubelet", "dra_conformance.core.events")),
        Target("http", _http, ("apiserver_emulator.limited_protocol", "apiserver_emulator.https_endpoint", "uvicorn")),
        Target("inventory", _inventory, ("fake_nvml",), trees=True),
        Target("kubeconfig", _kubeconfig, ("dra_api",), trees=True),
        Target("kubectl-dra", _kubectl_dra, (*_SIMULATION, "dra_conformance.cli.kubectl_dra"), trees=True),
        Target("log", _log, ("dra_conformance.core.events", "dra_conformance.report")),
        Target("pattern", _pattern, ("dra_api.cel",), longest=128),
        Target("pod-resources", answers.pod_resources, ("dra_api.rpc", "dra_conformance.steps.pod_resources")),
        Target("protobuf", _protobuf, ("apiserver_emulator.protobuf",)),
        Target("quantity", _quantity, ("dra_api.quantity",), longest=64),
        Target("registration", answers.registration, ("dra_api.rpc", "dra_conformance.kubelet")),
        Target("report", _report, ("dra_conformance.report",), trees=True),
        Target("selectors", _selectors, ("apiserver_emulator.selectors",), longest=256),
        Target("semver", _semver, ("dra_api.semver",), longest=64),
        Target("simulate", _simulate, (*_SIMULATION, "dra_conformance.cli.simulation"), trees=True),
        Target("watch", answers.watch, _CLIENT, trees=True),
        Target("webhook", _webhook, ("apiserver_emulator.webhook_answers", "apiserver_emulator.webhooks"), trees=True),
        Target("yaml", _yaml, ("dra_api.plain_yaml",)),
    )
}
