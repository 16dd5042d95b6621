"""Components that do nothing, and how each takes the place of a reference component in this process.

From outside, such a component looks like a program that reads its kubeconfig and then sleeps. In process, the scenarios
that advance time run too, and the harness observes at once that the component is idle.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dra_api.rpc import ClaimRef, PluginServer, PrepareResult, RpcError
from dra_api.rpc.device_plugin import (
    KUBELET_SOCKET,
    VERSION,
    ContainerAllocation,
    DevicePluginServer,
    PluginDevice,
    PluginOptions,
    PreferenceRequest,
    Registration,
    register,
)
from dra_api.rpc.health_feed import Feed
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.mutation import Patch

_BUILD = "dra_conformance.components.reference:build"
_NODE = "dra_conformance.components.node:ScenarioNode"


class Nothing:
    """A component that starts, does nothing and stops."""

    def __init__(self, name: str) -> None:
        self.name = name

    def start(self) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Do nothing."""


class EmptyDriver:
    """A driver that registers, publishes no slice and answers every call with an empty response.

    `options` are those of the reference driver on the same node.
    """

    def __init__(self, options: Any) -> None:
        self.name = options.driver_name
        self._ended = threading.Event()
        self._server = PluginServer(
            self,
            options.driver_name,
            options.plugins_dir / options.driver_name / "dra.sock",
            options.registrar_dir / f"{options.driver_name}-reg.sock",
        )

    def start(self) -> None:
        """Serve and register."""
        self._server.start()

    def stop(self) -> None:
        """End both sockets."""
        self._ended.set()
        self._server.stop()

    def prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, PrepareResult]:
        """Return no result for any claim."""
        return {}

    def unprepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, str]:
        """Return no result for any claim."""
        return {}

    def watch_health(self) -> Iterator[Any]:
        """Report no device until the driver stops."""
        self._ended.wait()
        yield from ()


class EmptyDevicePlugin:
    """A device plugin that registers once, lists no device and answers every call with an empty response.

    `options` are those of the reference plugin on the same node.
    """

    def __init__(self, *, clock: Any, nvml: Any, options: Any) -> None:
        self.name = "device-plugin"
        self._folder = options.plugins_dir
        self._feed: Feed[PluginDevice] = Feed()
        self._feed.publish(())
        self._server = DevicePluginServer(self, self._folder / "empty.sock", name="empty")

    def start(self) -> None:
        """Serve and register."""
        self._server.start()
        registration = Registration(version=VERSION, endpoint="empty.sock", resource_name="example.com/nothing")
        with contextlib.suppress(RpcError):
            register(self._folder / KUBELET_SOCKET, registration, timeout=5.0)

    def stop(self) -> None:
        """End the socket."""
        self._feed.close()
        self._server.stop()

    def options(self) -> PluginOptions:
        """Want no calls."""
        return PluginOptions()

    def watch_devices(self) -> Iterator[Sequence[PluginDevice]]:
        """List no device."""
        return self._feed.watch()

    def allocate(self, containers: Sequence[Sequence[str]]) -> Sequence[ContainerAllocation]:
        """Return no response for any container."""
        return ()

    def preferred_allocation(self, containers: Sequence[PreferenceRequest]) -> Sequence[Sequence[str]]:
        """Return no response for any container."""
        return ()

    def pre_start(self, ids: Sequence[str]) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class DeadTarget:
    """A component that does nothing.

    `description` completes the sentence "It ..." in the result table; `met` are the MUST rules that the target
    really meets, because it does a little.
    """

    name: str
    component: str
    description: str
    apply: Callable[[Patch], None]
    met: frozenset[str] = frozenset()


def _built(component: str) -> Callable[[Patch], None]:
    """Return a patch that builds `component` as one that does nothing."""

    def apply(patch: Patch) -> None:
        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def build(wanted: str, client: Any, clock: Any, **options: Any) -> Any:
                return Nothing(wanted) if wanted == component else original(wanted, client, clock, **options)

            return build

        patch.wrap(_BUILD, make)

    return apply


def _domain_plugin(patch: Patch) -> None:
    def start_fabric_plugin(self: Any, flags: Sequence[str] = ()) -> None:
        raise Untestable("the ComputeDomain driver is not registered")

    patch.replace(f"{_NODE}.start_fabric_plugin", start_fabric_plugin)


def _domain_daemons(patch: Patch) -> None:
    patch.replace("dra_conformance.components.daemon_programs:ReferenceProgram.start", lambda self: None)


def _silent_driver(patch: Patch) -> None:
    def start_reference(self: Any) -> None:
        self._parts[self.driver_name] = Nothing(self.driver_name)

    def start_process(
        self: Any, name: str, command: Sequence[str], env: Mapping[str, str], *, target: str = ""
    ) -> None:
        self._parts[name] = Nothing(name)

    patch.replace(f"{_NODE}._start_reference", start_reference)
    patch.replace(f"{_NODE}._start_process", start_process)


def _empty_driver(patch: Patch) -> None:
    def start(self: Any, name: str) -> None:
        driver = EmptyDriver(self._plugin_options(self.driver_name))
        driver.start()
        self._parts[name] = driver

    def start_reference(self: Any) -> None:
        start(self, self.driver_name)

    def start_process(
        self: Any, name: str, command: Sequence[str], env: Mapping[str, str], *, target: str = ""
    ) -> None:
        start(self, name)

    patch.replace(f"{_NODE}._start_reference", start_reference)
    patch.replace(f"{_NODE}._start_process", start_process)


_DEVICE_PLUGIN = "reference_impl.device_plugin"


def _silent_device_plugin(patch: Patch) -> None:
    patch.replace(f"{_DEVICE_PLUGIN}:GpuDevicePlugin.start", lambda self: None)
    patch.replace(f"{_NODE}.start_program", _start_nothing)


def _empty_device_plugin(patch: Patch) -> None:
    patch.replace(f"{_DEVICE_PLUGIN}:GpuDevicePlugin", EmptyDevicePlugin)
    patch.replace(f"{_NODE}.start_program", _start_nothing)


def _start_nothing(self: Any, component: str, command: Sequence[str]) -> None:
    self._parts[component] = Nothing(component)


def _silent_webhook(patch: Patch) -> None:
    patch.replace("reference_impl.webhook:Webhook.start", lambda self: None)


def _empty_webhook(patch: Patch) -> None:
    patch.replace("reference_impl.webhook.server:response", _empty_response)


def _empty_response(path: str, content_type: bytes, body: bytes | None, gates: object) -> tuple[int, bytes, bytes]:
    return 200, b"{}", b"application/json"


def _kubelet(patch: Patch) -> None:
    patch.replace("dra_conformance.kubelet.kubelet:_Life.start", lambda self: None)
    patch.replace("dra_conformance.kubelet.kubelet:_Life.stop", lambda self: None)


TARGETS: tuple[DeadTarget, ...] = (
    *(
        DeadTarget(name, name, "starts and does nothing", _built(name))
        for name in ("claim-controller", "scheduler", "binder", "taint-eviction", "compute-domain-controller")
    ),
    DeadTarget("compute-domain-plugin", "compute-domain-plugin", "never registers", _domain_plugin),
    DeadTarget("compute-domain-daemon", "compute-domain-daemon", "does not start", _domain_daemons),
    DeadTarget("driver", "driver", "starts and does nothing", _silent_driver),
    DeadTarget(
        "driver that registers",
        "driver",
        "registers and returns empty responses",
        _empty_driver,
        met=frozenset({"DRA-351", "NV-001", "NV-001b"}),
    ),
    DeadTarget("device-plugin", "device-plugin", "starts and does nothing", _silent_device_plugin),
    DeadTarget(
        "device plugin that registers",
        "device-plugin",
        "registers once, lists no device and returns empty responses",
        _empty_device_plugin,
        met=frozenset({"DP-001", "DP-003a", "DP-004a", "DP-008a", "DP-017"}),
    ),
    DeadTarget("webhook", "webhook", "does not listen", _silent_webhook),
    DeadTarget("webhook that listens", "webhook", "returns `{}` for every request", _empty_webhook),
    DeadTarget(
        "kubelet", "kubelet", "creates its Node object and does nothing else", _kubelet, met=frozenset({"DRA-285b"})
    ),
)
