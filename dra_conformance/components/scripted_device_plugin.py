"""A device plugin that a scenario scripts: the other end of the socket when the kubelet is the target.

It offers devices of one resource, records all calls and answers them, unless scripted to fail or to answer otherwise.
The scenario ends it with `stop`; its CDI file is in the node's folder and is removed with it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from dra_api.clock import Clock
from dra_api.rpc import (
    DEVICE_PLUGIN_TYPE,
    PluginInfo,
    RegistrationStatus,
    RpcError,
    SocketServer,
    registration_handler,
)
from dra_api.rpc.device_plugin import (
    KUBELET_SOCKET,
    VERSION,
    ContainerAllocation,
    DevicePluginServer,
    DeviceSpec,
    Mount,
    PluginDevice,
    PluginOptions,
    PreferenceRequest,
    Registration,
    register,
)
from dra_api.rpc.health_feed import Feed, Subscription

REGISTER_SECONDS = 20.0
"""Seconds that the plugin waits for the kubelet's answer to Register."""


class ScriptedFailure(Exception):
    """The failure of a call that the scenario asked for."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the kubelet. `ids` are sorted; `preference` is the request of GetPreferredAllocation."""

    method: str
    ids: tuple[str, ...] = ()
    containers: int = 1
    preference: PreferenceRequest | None = None


@dataclass(slots=True)
class Behaviour:
    """How the plugin answers until a scenario changes it.

    `failing`: methods whose next call fails. `always_failing`: methods whose calls fail. `answers_nothing`: the next
    Allocate has no response for its container. `answered_ids`: every Allocate is answered with these devices, whatever
    it is for. `answers_more`: every answer of Allocate has one response too many, for a device that is not offered.
    `cdi_device`: a CDI device in every answer of Allocate. `preferred`: the answer of GetPreferredAllocation; None: the
    first available devices. `shared_name`: the name of a variable, a device file, a mount and a CDI device that the
    answers of several plugins have in common.
    """

    failing: set[str] = field(default_factory=set)
    always_failing: set[str] = field(default_factory=set)
    answers_nothing: bool = False
    answered_ids: tuple[str, ...] | None = None
    answers_more: bool = False
    cdi_device: str | None = None
    preferred: tuple[str, ...] | None = None
    shared_name: str = ""


class _Stream:
    """The lists of one ListAndWatch stream. `ended` is called when either side has ended it, once or more."""

    def __init__(self, lists: Subscription[PluginDevice], ended: Callable[[_Stream], None]) -> None:
        self._lists = lists
        self._ended = ended

    def __iter__(self) -> Iterator[Sequence[PluginDevice]]:
        return self

    def __next__(self) -> Sequence[PluginDevice]:
        return next(self._lists)

    def close(self) -> None:
        """End the stream. The server calls this when the call is over."""
        self._lists.close()
        self._ended(self)


class ScriptedDevicePlugin:
    """One device plugin on one node.

    Args:
        alias: the scenario's name of the plugin, also that of its socket.
        resource: the resource that it registers.
        folder: the kubelet's folder of device plugins.
        registry: the kubelet's folder of registration sockets, another way to register.
        cdi_root: the folder for its CDI file.
        clock: clock of the deadline of Register.
        poke: called after every call, to wake waiters.
    """

    def __init__(
        self,
        *,
        alias: str,
        resource: str,
        folder: Path,
        registry: Path,
        cdi_root: Path,
        clock: Clock,
        poke: Callable[[], None],
    ) -> None:
        self.alias = alias
        self.resource = resource
        self.options_answer = PluginOptions()
        self.behaviour = Behaviour()
        self.calls: list[Call] = []
        self.statuses: list[RegistrationStatus] = []
        """What the kubelet has reported by NotifyRegistrationStatus."""
        self._devices: tuple[PluginDevice, ...] = ()
        self._folder = folder
        self._registry = registry
        self._watched: SocketServer | None = None
        self._cdi_root = cdi_root
        self._clock = clock
        self._poke = poke
        self._feed: Feed[PluginDevice] = Feed()
        self._streams: set[_Stream] = set()
        self._lock = threading.Lock()
        self._server: DevicePluginServer | None = None

    @property
    def endpoint(self) -> str:
        """The name of the plugin's socket."""
        return f"{self.alias}.sock"

    @property
    def open_streams(self) -> int:
        """The number of ListAndWatch streams that neither side has ended."""
        with self._lock:
            return len(self._streams)

    @property
    def variable(self) -> str:
        """The name of the variable with the ids of a container's devices."""
        return f"{self.alias.upper()}_DEVICES"

    # -- life ------------------------------------------------------------------------------------------------------

    def serve(self) -> None:
        """Listen on a new socket, with streams that are open."""
        self._feed = Feed()
        if self._devices:
            self._feed.publish(self._devices)
        self._server = DevicePluginServer(self, self._folder / self.endpoint, name=self.alias)
        self._server.start()

    def register(
        self, *, version: str = VERSION, resource: str | None = None, options: PluginOptions | None = None
    ) -> str:
        """Call Register. Return the error of a refusal, empty if the kubelet accepts."""
        registration = Registration(
            version=version,
            endpoint=self.endpoint,
            resource_name=self.resource if resource is None else resource,
            options=self.options_answer if options is None else options,
        )
        try:
            register(self._folder / KUBELET_SOCKET, registration, clock=self._clock, timeout=REGISTER_SECONDS)
        except RpcError as error:
            return f"{error.code}: {error.details}"
        return ""

    def appear(self, *, version: str = VERSION, resource: str | None = None) -> None:
        """Create a socket in `plugins_registry`, where the kubelet finds it."""
        info = PluginInfo(
            DEVICE_PLUGIN_TYPE,
            self.resource if resource is None else resource,
            str(self._folder / self.endpoint),
            (version,),
        )
        self._watched = SocketServer(
            self._registry / f"{self.alias}-reg.sock",
            [registration_handler(lambda: info, notified=self._take_status)],
            name=f"{self.alias}-reg",
        )
        self._watched.start()

    def disappear(self) -> None:
        """Remove the socket in `plugins_registry`; the plugin goes on serving. Idempotent."""
        watched, self._watched = self._watched, None
        if watched is not None:
            watched.stop()

    def _take_status(self, status: RegistrationStatus) -> None:
        self.statuses.append(status)
        self._poke()

    def stop(self) -> None:
        """Remove the sockets and end all streams. Idempotent."""
        self.disappear()
        self._feed.close()
        server, self._server = self._server, None
        if server is not None:
            server.stop()

    def end_streams(self) -> None:
        """End the ListAndWatch streams; the socket stays."""
        self._feed.close()

    def offer(self, devices: Sequence[PluginDevice]) -> None:
        """Send a new list of devices."""
        self._devices = tuple(devices)
        self._feed.publish(self._devices)

    def write_spec(self) -> None:
        """Write a CDI specification with every device; answers name CDI devices from now on."""
        name = self.behaviour.shared_name
        devices = [{"name": name, "containerEdits": {"env": [f"CDI_{name.upper()}=yes"]}}]
        spec = {"cdiVersion": "0.6.0", "kind": "dra.test/shared", "devices": devices}
        self._cdi_root.mkdir(parents=True, exist_ok=True, mode=0o700)
        (self._cdi_root / "scripted-device-plugin.json").write_bytes(orjson.dumps(spec))

    # -- the service -----------------------------------------------------------------------------------------------

    def options(self) -> PluginOptions:
        """Return the scripted options."""
        self._note(Call("GetDevicePluginOptions"))
        return self.options_answer

    def watch_devices(self) -> Iterator[Sequence[PluginDevice]]:
        """Yield the list now, and after every change."""
        self._note(Call("ListAndWatch"))
        stream = _Stream(self._feed.watch(), self._forget)
        with self._lock:
            self._streams.add(stream)
        return stream

    def _forget(self, stream: _Stream) -> None:
        with self._lock:
            self._streams.discard(stream)
        self._poke()

    def allocate(self, containers: Sequence[Sequence[str]]) -> Sequence[ContainerAllocation]:
        """Return what each container gets: its ids in a variable, a device file, a mount and an annotation."""
        ids = tuple(sorted(i for container in containers for i in container))
        self._note(Call("Allocate", ids, len(containers)))
        with self._lock:
            nothing, self.behaviour.answers_nothing = self.behaviour.answers_nothing, False
        given = [self.behaviour.answered_ids or container for container in containers]
        more = [("nothing-of-this-name",)] if self.behaviour.answers_more else []
        return [] if nothing else [self._answer(ids) for ids in (*given, *more)]

    def preferred_allocation(self, containers: Sequence[PreferenceRequest]) -> Sequence[Sequence[str]]:
        """Return the scripted preference."""
        for one in containers:
            self._note(Call("GetPreferredAllocation", tuple(sorted(one.available)), len(containers), one))
        preferred = self.behaviour.preferred
        return [one.available[: one.size] if preferred is None else preferred for one in containers]

    def pre_start(self, ids: Sequence[str]) -> None:
        """Record the start of a container."""
        self._note(Call("PreStartContainer", tuple(sorted(ids))))

    def _note(self, call: Call) -> None:
        with self._lock:
            self.calls.append(call)
            fails = call.method in self.behaviour.failing | self.behaviour.always_failing
            self.behaviour.failing.discard(call.method)
        self._poke()
        if fails:
            raise ScriptedFailure(f"scripted failure of {call.method}")

    def _answer(self, ids: Sequence[str]) -> ContainerAllocation:
        names = ",".join(sorted(ids))
        shared = self.behaviour.shared_name
        both = [shared] if shared else []
        odd = self.behaviour.cdi_device
        return ContainerAllocation(
            envs={self.variable: names, **{f"{name.upper()}_OWNER": self.alias for name in both}},
            mounts=tuple(Mount(f"/run/{name}", f"/var/lib/{self.alias}/{name}", True) for name in (self.alias, *both)),
            devices=tuple(DeviceSpec(f"/dev/{name}", "/dev/null", "rw") for name in (*sorted(ids), *both)),
            annotations={f"dra.test/{self.alias}": names},
            cdi_devices=(*(f"dra.test/shared={name}" for name in both), *([] if odd is None else [odd])),
        )
