"""The kubelet's side of the device plugin API v1beta1: registration, lists of devices and calls to plugins.

A `DeviceManager` owns the folder with `kubelet.sock` and all connections to plugins between `start` and `stop`. It
behaves towards a plugin as the device manager of a real kubelet: it calls GetDevicePluginOptions while the plugin waits
for the response of Register, keeps one ListAndWatch stream, and removes all sockets of the folder when it starts. Pods
are admitted by `dra_conformance.kubelet.device_allocation`; to test a plugin, the harness itself calls Allocate.

Source: k8s.io/kubernetes v1.37.2, pkg/kubelet/cm/devicemanager (manager.go, plugin/v1beta1).
"""

from __future__ import annotations

import re
import stat
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from dra_api.clock import Clock
from dra_api.rpc import RpcError, ServerStream
from dra_api.rpc.device_plugin import (
    KUBELET_SOCKET,
    VERSION,
    ContainerAllocation,
    DevicePluginClient,
    PluginDevice,
    PluginOptions,
    PreferenceRequest,
    Registration,
    RegistrationServer,
)
from dra_api.threads import started
from dra_conformance.core.events import KubeletCall, KubeletDevicePlugin
from dra_conformance.kubelet.errors import RegistrationRefused
from dra_conformance.kubelet.joining import join
from dra_conformance.kubelet.record import Record

T = TypeVar("T")

DIAL_SECONDS = 10.0
"""Seconds that a kubelet waits for the connection to a plugin that registers."""

_DIAL_PAUSE = 0.1
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_QUALIFIED = re.compile(rf"(?P<domain>{_LABEL}(?:\.{_LABEL})*)/[A-Za-z0-9](?:[\w.-]{{0,61}}[A-Za-z0-9])?", re.ASCII)
_QUOTA_PREFIX = "requests."
_MAX_DOMAIN = 253


def is_extended_resource(name: str) -> bool:
    """Return whether a name is one of an extended resource: a domain that is not Kubernetes' own, and a name.

    Source: k8s.io/kubernetes v1.37.2, pkg/apis/core/v1/helper/helpers.go (IsExtendedResourceName).
    """
    found = _QUALIFIED.fullmatch(name)
    if found is None or name.startswith(_QUOTA_PREFIX):
        return False
    domain = found["domain"]
    # A quota on the resource is named requests.<name>, which must be a qualified name too.
    return not domain.endswith("kubernetes.io") and len(_QUOTA_PREFIX + domain) <= _MAX_DOMAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One call of Register.

    `error` is the reason of a refusal, empty if the plugin was accepted. `served_at_once`: the first call to the plugin
    was answered.
    """

    registration: Registration
    error: str = ""
    served_at_once: bool = False


class ConnectedPlugin:
    """One registered plugin: calls to it, recorded, and the lists that it has sent.

    The manager owns it and closes it. `options` is the response of GetDevicePluginOptions.
    """

    def __init__(
        self,
        registration: Registration,
        socket: Path,
        *,
        clock: Clock,
        record: Record,
        changed: Callable[[ConnectedPlugin], None] = lambda plugin: None,
    ) -> None:
        self.registration = registration
        self.options = PluginOptions()
        self.lists: tuple[tuple[PluginDevice, ...], ...] = ()
        self.ended: str | None = None
        """Why the ListAndWatch stream has ended; None while it is open."""
        self._client = DevicePluginClient(socket, clock=clock)
        self._clock = clock
        self._record = record
        self._changed = changed
        # The manager may stop while a plugin registers: the stream is then not opened after `close`.
        self._lock = threading.Lock()
        self._closed = False
        self._stream: ServerStream | None = None
        self._thread: threading.Thread | None = None

    @property
    def resource(self) -> str:
        """The resource that the plugin registered."""
        return self.registration.resource_name

    @property
    def devices(self) -> tuple[PluginDevice, ...]:
        """The devices of the last list; empty if the plugin has sent none."""
        return self.lists[-1] if self.lists else ()

    def get_options(self, timeout: float | None = None) -> PluginOptions:
        """Call GetDevicePluginOptions. Raises RpcError."""
        return self._recorded("GetDevicePluginOptions", {}, lambda: self._client.options(timeout=timeout), asdict)

    def allocate(self, *containers: Sequence[str], timeout: float | None = None) -> tuple[ContainerAllocation, ...]:
        """Call Allocate once for the device ids of each container. Raises RpcError."""
        return self._recorded(
            "Allocate",
            {"containers": [list(ids) for ids in containers]},
            lambda: self._client.allocate(containers, timeout=timeout),
            lambda answer: {"containers": [asdict(one) for one in answer]},
        )

    def prefer(self, *containers: PreferenceRequest, timeout: float | None = None) -> tuple[tuple[str, ...], ...]:
        """Call GetPreferredAllocation. Raises RpcError."""
        return self._recorded(
            "GetPreferredAllocation",
            {"containers": [asdict(one) for one in containers]},
            lambda: self._client.preferred_allocation(containers, timeout=timeout),
            lambda answer: {"containers": [list(ids) for ids in answer]},
        )

    def pre_start(self, ids: Sequence[str]) -> None:
        """Call PreStartContainer with the kubelet's deadline. Raises RpcError."""

        def call() -> Mapping[str, Any]:
            self._client.pre_start(ids)
            return {}

        self._recorded("PreStartContainer", {"devices": list(ids)}, call, dict)

    def open_list(self) -> ServerStream:
        """Open a further ListAndWatch stream; the caller closes it."""
        return self._client.list_and_watch()

    def watch(self) -> None:
        """Begin to read the lists of the plugin. Raises RpcError, also after `close`."""
        with self._lock:
            if self._closed:
                raise RpcError("ListAndWatch", "CANCELLED", "the connection was closed on our side", "")
            stream = self._stream = self._client.list_and_watch()
            self._thread = started(lambda: self._read(stream), name=f"list-{self.registration.endpoint}")

    def close(self) -> None:
        """End the connection and join the reader. Idempotent."""
        with self._lock:
            self._closed = True
            stream, thread = self._stream, self._thread
        if stream is not None:
            stream.close()
        self._client.close()
        if thread is not None:
            join(thread)

    def _read(self, stream: ServerStream) -> None:
        reason = "the plugin ended the stream"
        try:
            for devices in stream:
                self.lists += (devices,)
                self._changed(self)
                self._note("devices", devices={device.id: device.health for device in devices})
        except RpcError as error:
            reason = f"{error.code}: {error.details}"
        self.ended = reason
        self._changed(self)
        self._note("ended", error=reason)

    def _note(self, step: str, *, devices: Mapping[str, str] | None = None, error: str = "") -> None:
        self._record(
            KubeletDevicePlugin(
                step=step,
                resource=self.resource,
                endpoint=self.registration.endpoint,
                devices=dict(devices or {}),
                error=error,
            )
        )

    def _recorded(
        self, method: str, request: Mapping[str, Any], call: Callable[[], T], show: Callable[[T], Mapping[str, Any]]
    ) -> T:
        begun = self._clock.monotonic()
        made = KubeletCall(
            driver=self.resource,
            endpoint=self.registration.endpoint,
            service=VERSION,
            method=method,
            request=dict(request),
            code="OK",
            seconds=0.0,
        )

        def seconds() -> float:
            return round(self._clock.monotonic() - begun, 6)

        try:
            answer = call()
        except RpcError as error:
            self._record(msgspec.structs.replace(made, code=error.code, error=error.details, seconds=seconds()))
            raise
        self._record(msgspec.structs.replace(made, response=dict(show(answer)), seconds=seconds()))
        return answer


class DeviceManager:
    """The device manager of one node.

    Args:
        folder: the folder of device plugins; created with mode 0700 if absent.
        clock: clock of the deadlines.
        record: receives every registration, call and list.
        give: makes plugins the owner of the kubelet's socket and folder, if they run as another user.
        changed: called with a plugin when it has registered or sent a list, or when its stream has ended.
    """

    def __init__(
        self,
        folder: Path,
        *,
        clock: Clock,
        record: Record,
        give: Callable[[Path], None] = lambda path: None,
        changed: Callable[[ConnectedPlugin], None] = lambda plugin: None,
    ) -> None:
        self.folder = folder
        self._clock = clock
        self._record = record
        self._give = give
        self._changed = changed
        self._lock = threading.Lock()
        self._server: RegistrationServer | None = None
        self._life: object | None = None
        """What `start` set and `stop` ends: a plugin that registers belongs to the life in which it began."""
        self._attempts: tuple[Attempt, ...] = ()
        self._plugins: tuple[ConnectedPlugin, ...] = ()
        self._refusals = 0

    # -- life ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Remove all sockets of the folder, then serve `kubelet.sock`. Other files stay."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._give(self.folder)
        for path in self.sockets():
            path.unlink(missing_ok=True)
        server = RegistrationServer(self.folder / KUBELET_SOCKET, self._register, give=self._give)
        with self._lock:
            self._life = object()  # before a plugin can register
        try:
            server.start()
        except BaseException:
            with self._lock:
                self._life = None
            raise
        self._server = server
        self._record(KubeletDevicePlugin(step="started"))

    def stop(self) -> None:
        """Remove `kubelet.sock` and close all connections. Idempotent."""
        server, self._server = self._server, None
        if server is None:
            return
        with self._lock:
            self._life = None
        server.stop()
        with self._lock:
            plugins, self._plugins = self._plugins, ()
        for plugin in plugins:
            plugin.close()
        self._record(KubeletDevicePlugin(step="stopped"))

    def restart(self) -> None:
        """Stop and start again: the sockets of all plugins are removed, and none is registered."""
        self.stop()
        self.start()

    # -- plugins ---------------------------------------------------------------------------------------------------

    def refuse_next(self, count: int) -> None:
        """Refuse this many of the next calls of Register."""
        with self._lock:
            self._refusals = count

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """All calls of Register so far, also of earlier lives."""
        return self._attempts

    def plugins(self) -> list[ConnectedPlugin]:
        """Return the plugins that are registered in this life and whose stream is open."""
        return [plugin for plugin in self._plugins if plugin.ended is None]

    def accepted(self) -> list[ConnectedPlugin]:
        """Return what was registered in this life, also what has ended its stream."""
        return list(self._plugins)

    def serving(self, resource: str) -> ConnectedPlugin | None:
        """Return the plugin that is called for a resource: the newest whose stream is open (DP-011, DP-012)."""
        return next((one for one in reversed(self._plugins) if one.resource == resource and one.ended is None), None)

    def newest(self, resource: str) -> ConnectedPlugin | None:
        """Return the plugin that is called for a resource, or the last one that was."""
        found = [one for one in self._plugins if one.resource == resource]
        return self.serving(resource) or (found[-1] if found else None)

    def sockets(self) -> list[Path]:
        """Return the sockets in the folder."""
        return [path for path in _entries(self.folder) if stat.S_ISSOCK(_mode(path))]

    # -- plugins_registry ------------------------------------------------------------------------------------------

    def connect(self, resource: str, endpoint: Path, versions: Sequence[str]) -> ConnectedPlugin:
        """Connect to a plugin that has a socket in `plugins_registry` (DP-014). Raises RegistrationRefused."""
        if VERSION not in versions:
            raise RegistrationRefused(
                f"manager version, {VERSION}, is not among plugin supported versions {list(versions)}"
            )
        if not is_extended_resource(resource):
            raise RegistrationRefused(f'invalid name of device plugin socket: the ResourceName "{resource}" is invalid')
        registration = Registration(version=VERSION, endpoint=str(endpoint), resource_name=resource)
        plugin, _ = self._connect(registration)
        self._record(KubeletDevicePlugin(step="registered", resource=resource, endpoint=str(endpoint), version=VERSION))
        return plugin

    def disconnect(self, plugin: ConnectedPlugin) -> None:
        """End the connection to a plugin whose socket in `plugins_registry` is gone (DP-015)."""
        plugin.close()

    # -- inside ----------------------------------------------------------------------------------------------------

    def _register(self, registration: Registration) -> None:
        """Accept a plugin, or raise RegistrationRefused."""
        attempt = Attempt(registration=registration)
        try:
            attempt = replace(attempt, served_at_once=self._accept(registration))
        except RegistrationRefused as error:
            attempt = replace(attempt, error=str(error))
            raise
        finally:
            with self._lock:
                self._attempts += (attempt,)
            self._record(
                KubeletDevicePlugin(
                    step="refused" if attempt.error else "registered",
                    resource=registration.resource_name,
                    endpoint=registration.endpoint,
                    version=registration.version,
                    error=attempt.error,
                )
            )

    def _accept(self, registration: Registration) -> bool:
        """Check a call of Register and connect. Return whether the plugin answered the first call."""
        with self._lock:
            refused, self._refusals = self._refusals > 0, max(self._refusals - 1, 0)
        if refused:
            raise RegistrationRefused("the kubelet of this scenario refuses the registration")
        if registration.version != VERSION:
            raise RegistrationRefused(
                f"the API version {registration.version!r} is not supported; supported: {VERSION}"
            )
        if not is_extended_resource(registration.resource_name):
            raise RegistrationRefused(f"{registration.resource_name!r} is not the name of an extended resource")
        return self._connect(registration)[1] == 1

    def _connect(self, registration: Registration) -> tuple[ConnectedPlugin, int]:
        """Connect to a plugin and open its list. Return it with the number of calls until it answered.

        Raises RegistrationRefused.
        """
        socket = self.folder / registration.endpoint
        with self._lock:
            life = self._life
            self._check_new(registration, life)
        try:
            plugin = ConnectedPlugin(
                registration, socket, clock=self._clock, record=self._record, changed=self._changed
            )
        except ValueError as error:  # the path is too long for a socket
            raise RegistrationRefused(str(error)) from error
        try:
            calls = self._dial(plugin)
        except RpcError as error:
            plugin.close()
            raise RegistrationRefused(f"the device plugin at {socket} does not respond: {error}") from error
        try:
            with self._lock:
                # Again: the manager may have stopped, or the plugin registered a second time, during the call.
                self._check_new(registration, life)
                # Before its first list, after which pods may need it.
                self._plugins += (plugin,)
        except RegistrationRefused:
            plugin.close()
            raise
        self._changed(plugin)
        try:
            plugin.watch()
        except RpcError as error:
            plugin.ended = str(error)
            plugin.close()
            raise RegistrationRefused(f"the device plugin at {socket} does not respond: {error}") from error
        return plugin, calls

    def _check_new(self, registration: Registration, life: object | None) -> None:
        """Raise RegistrationRefused if `life` has ended or the plugin is connected. The lock is held."""
        if life is None or life is not self._life:
            raise RegistrationRefused("the kubelet has stopped")
        if any(
            one.ended is None and (one.resource, one.registration.endpoint) == _key(registration)
            for one in self._plugins
        ):
            socket = self.folder / registration.endpoint
            raise RegistrationRefused(f"the device plugin at {socket} is connected already")

    def _dial(self, plugin: ConnectedPlugin) -> int:
        """Call GetDevicePluginOptions until the plugin listens, at most for DIAL_SECONDS. Return the number of calls.

        Raises RpcError.
        """
        deadline = self._clock.monotonic() + DIAL_SECONDS
        calls = 0
        while True:
            calls += 1
            try:
                plugin.options = plugin.get_options(DIAL_SECONDS)
            except RpcError as error:
                if error.code != "UNAVAILABLE" or self._clock.monotonic() > deadline:
                    raise
                self._clock.wait(threading.Event(), _DIAL_PAUSE)
            else:
                return calls


def _key(registration: Registration) -> tuple[str, str]:
    return registration.resource_name, registration.endpoint


def _entries(folder: Path) -> Iterable[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else ()


def _mode(path: Path) -> int:
    try:
        return path.lstat().st_mode
    except FileNotFoundError:
        return 0  # removed in the meantime
