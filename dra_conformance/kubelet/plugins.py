"""The plugins of a node: the registration folder, handshakes, instances of drivers, and the deletion of slices.

Sockets appear and disappear in the registration folder. The manager calls GetInfo on each, validates the response, and
reports the outcome with NotifyRegistrationStatus. Device plugins are left to the device manager. `PluginManager` owns
the watch of the folder, one worker thread, one thread that deletes slices, and the connections to all instances,
between `start` and `stop`.

Source: pkg/kubelet/pluginmanager (handshake, retry), pkg/kubelet/cm/dra/plugin/dra_plugin_manager.go (version choice,
health service, several instances, wiping), v1.37; rules DRA-257 to DRA-262, DRA-273, DRA-285 to DRA-287, DRA-573,
DRA-574.
"""

from __future__ import annotations

import stat
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dra_api.client import ApiError, KubeClient
from dra_api.clock import Clock
from dra_api.objects import Obj, Resource, name_of, uid_of
from dra_api.rpc import (
    DEVICE_PLUGIN_TYPE,
    DRA_PLUGIN_TYPE,
    DRA_VERSIONS,
    HEALTH_V1ALPHA1,
    HEALTH_VERSIONS,
    PluginInfo,
    RegistrationClient,
    RegistrationStatus,
    RpcError,
)
from dra_api.threads import report_exception
from dra_api.transport import TransportError
from dra_api.workqueue import WorkQueue
from dra_conformance.core.events import KubeletConnection, KubeletProblem, KubeletRegistration, KubeletSlices
from dra_conformance.kubelet.calls import PluginInstance
from dra_conformance.kubelet.device_plugins import ConnectedPlugin, DeviceManager
from dra_conformance.kubelet.errors import DriverNotRegistered, RegistrationRefused
from dra_conformance.kubelet.folder_watch import FolderWatch
from dra_conformance.kubelet.gates import Timing
from dra_conformance.kubelet.joining import join
from dra_conformance.kubelet.record import Record

SUPPORTED = DRA_VERSIONS
"""The DRA services that a kubelet of 1.34 and later can call."""
_SOON = (0.02, 0.04, 0.08)
"""Seconds of the clock between the first attempts to connect to a new socket that refuses connections."""


def choose_version(versions: tuple[str, ...]) -> str:
    """Return the first entry of the plugin's list that the kubelet supports; the plugin's order counts (rule DRA-258).

    Raises RegistrationRefused if the list is empty or has no supported entry (rule DRA-259).
    """
    if not versions:
        raise RegistrationRefused("empty list of supported gRPC services (aka supported versions)")
    for version in versions:
        if version in SUPPORTED:
            return version
    raise RegistrationRefused(
        f"none of the services supported by the plugin ({', '.join(versions)}) "
        f"are supported by the kubelet ({', '.join(SUPPORTED)})"
    )


def choose_health(versions: tuple[str, ...]) -> str:
    """Return the newest health service that the plugin announces, whatever its order; empty if it announces none."""
    return next((version for version in HEALTH_VERSIONS if version in versions), "")


@dataclass(slots=True)
class _Socket:
    """A socket in the registration folder: its file (to notice a successor of the same name) and how it fared.

    `instance` or `device_plugin`: what was registered. `refused`: how often the connection was refused and tried again
    soon.
    """

    inode: tuple[int, int]
    instance: PluginInstance | None = None
    device_plugin: ConnectedPlugin | None = None
    info: PluginInfo | None = None
    error: str = ""
    refused: int = 0


class _NotListening(RegistrationRefused):
    """The socket refuses connections: no process listens yet."""


class PluginManager:
    """Registers the plugins of one node.

    Args:
        client: deletes ResourceSlices of the node.
        node: the node's name.
        folder: the registration folder, which exists.
        wipe_at_start: delete the node's slices first, as every kubelet does when it starts (rule DRA-285).
        negotiates_health: choose among the announced health services, as since 1.37 (rules DRA-573, DRA-574). Without
            it every plugin is called with v1alpha1, as by a kubelet of 1.36.
        shown_at: folders of the node by the path at which a program in a mount namespace sees them; an endpoint below
            such a path is called in the folder.
        on_instance: called with every new instance, and with every removed one (second argument False).
        device_manager: takes device plugins; None if the kubelet serves none.
    """

    def __init__(
        self,
        *,
        client: KubeClient,
        slices: Resource,
        clock: Clock,
        node: str,
        folder: Path,
        timing: Timing,
        record: Record,
        on_instance: Callable[[PluginInstance, bool], None],
        wipe_at_start: bool,
        negotiates_health: bool = True,
        shown_at: Mapping[Path, Path] | None = None,
        device_manager: DeviceManager | None = None,
    ) -> None:
        self._client = client
        self._device_manager = device_manager
        self._shown_at = dict(shown_at or {})
        self._slices = slices
        self._clock = clock
        self._node = node
        self.folder = folder
        self._timing = timing
        self._record = record
        self._on_instance = on_instance
        self._wipe_at_start = wipe_at_start
        self._negotiates_health = negotiates_health
        # Reentrant: `wait_registered` calls `explain` while it holds the lock.
        self._lock = threading.RLock()
        self.changed = threading.Condition(self._lock)
        self._sockets: dict[Path, _Socket] = {}
        self._instances: dict[str, list[PluginInstance]] = {}
        self._wipe_due: dict[str, float] = {}
        self._queue: WorkQueue[Path] = WorkQueue(
            clock, base_delay=timing.registration_backoff, max_delay=timing.registration_backoff_max
        )
        self._wipes: WorkQueue[str] = WorkQueue(clock, base_delay=1.0, max_delay=300.0)
        self._watch = FolderWatch(folder, self._scan)
        self._threads: list[threading.Thread] = []
        self._stopped = False

    # -- life ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Delete the node's slices (rule DRA-285), then register the sockets in the folder."""
        if self._wipe_at_start:
            # Before anything can register, so that no slice of a registered driver is deleted.
            self._wipe("")
        self._watch.start()
        for name, work in (("plugins", self._register_all), ("wipes", self._wipe_all)):
            thread = threading.Thread(target=work, name=f"kubelet-{self._node}-{name}", daemon=True)
            thread.start()
            self._threads.append(thread)
        # Last: a socket that appeared before the watch began causes no event.
        self._scan()

    def stop(self) -> None:
        """Close all connections and join the threads. Plugins are not notified, as when a kubelet is killed."""
        with self._lock:
            self._stopped = True
        self._watch.stop()
        self._queue.shut_down()
        self._wipes.shut_down()
        self._close_instances()
        for thread in self._threads:
            join(thread)
        self._threads.clear()
        # Again: a driver may have registered until its thread ended.
        self._close_instances()
        with self.changed:
            self.changed.notify_all()

    def _close_instances(self) -> None:
        with self._lock:
            instances = [instance for several in self._instances.values() for instance in several]
            self._instances.clear()
            self._sockets.clear()
        # Without the lock, which the callbacks of the connections take.
        for instance in instances:
            instance.close()

    # -- for the kubelet -----------------------------------------------------------------------------------------

    def get(self, driver: str) -> PluginInstance:
        """Return the instance to call: the newest that is connected, else the newest (rule DRA-261).

        Raises DriverNotRegistered (rule DRA-273).
        """
        with self._lock:
            instances = self._instances.get(driver) or []
            for instance in reversed(instances):
                if instance.connected:
                    return instance
            if instances:
                return instances[-1]
        raise DriverNotRegistered(f"DRA driver {driver} is not registered")

    def instances(self, driver: str) -> list[PluginInstance]:
        """All registered instances of a driver, oldest first."""
        with self._lock:
            return list(self._instances.get(driver) or ())

    def drivers(self) -> list[str]:
        """The names of all registered drivers."""
        with self._lock:
            return sorted(self._instances)

    def wait_registered(self, driver: str, timeout: float, *, instances: int) -> None:
        """Wait until `instances` endpoints of `driver` are registered, at most `timeout` seconds.

        Raises DriverNotRegistered with the contents of the registration folder.
        """
        deadline = self._clock.monotonic() + timeout
        with self.changed:
            while self._settled(driver) < instances:
                if self._clock.monotonic() >= deadline or self._stopped:
                    raise DriverNotRegistered(f"{self.explain(driver)} (waited {timeout:g} s)")
                self._clock.condition_wait_until(self.changed, deadline)

    def _settled(self, driver: str) -> int:
        """How many instances have their handshake behind them."""
        # An instance is in `_instances` before its plugin has been notified; here it counts only after that.
        settled = [known.instance for known in self._sockets.values() if known.instance is not None]
        return sum(1 for instance in settled if instance.driver == driver)

    def explain(self, driver: str) -> str:
        """Return why a driver is not registered, with the contents of the registration folder."""
        with self._lock:
            sockets = {
                path.name: known.error or (known.info.name if known.info else "GetInfo pending")
                for path, known in self._sockets.items()
            }
        found = {path.name: "no socket" for path in self.folder.iterdir()} | sockets
        listed = ", ".join(f"{name} ({state})" for name, state in sorted(found.items()))
        return f"DRA driver {driver} is not registered; {self.folder} has {listed or 'no file'}"

    # -- the folder ------------------------------------------------------------------------------------------------

    def _scan(self) -> None:
        with self._lock:
            if self._stopped:
                return
            known = set(self._sockets)
        # Also sockets that have disappeared: their plugins are removed. Hidden files are ignored as in pluginwatcher.
        for path in known.union(self.folder.iterdir()):
            if not path.name.startswith("."):
                self._queue.add(path)

    def _register_all(self) -> None:
        while (path := self._queue.get()) is not None:
            try:
                self._sync_socket(path)
            except RegistrationRefused as error:
                self._record(KubeletProblem(about="registration", socket=path.name, message=str(error)))
                with self.changed:
                    if path in self._sockets:
                        self._sockets[path].error = str(error)
                    self.changed.notify_all()
                self._try_again(path, error)
            except Exception as error:  # without this thread no driver registers any more
                report_exception(error)
                self._queue.add_rate_limited(path)
            else:
                self._queue.forget(path)
            finally:
                self._queue.done(path)

    def _try_again(self, path: Path, error: RegistrationRefused) -> None:
        with self._lock:
            socket = self._sockets.get(path)
        if isinstance(error, _NotListening) and socket is not None and socket.refused < len(_SOON):
            # A program binds its socket first and listens then. This kubelet sees the file in between more often than a
            # real one, which looks once a second.
            self._queue.add_after(path, _SOON[socket.refused])
            socket.refused += 1
        else:
            self._queue.add_rate_limited(path)

    def _sync_socket(self, path: Path) -> None:
        inode = _socket_inode(path)
        with self._lock:
            known = self._sockets.get(path)
        # Another file with the same name: the plugin behind the old one is gone.
        if known is not None and known.inode != inode:
            self._forget_socket(path, known)
            known = None
        if inode is None or (known is not None and (known.instance or known.device_plugin) is not None):
            return
        with self._lock:
            if self._stopped:
                return
            known = self._sockets.setdefault(path, _Socket(inode))
        self._register(path, known)

    def _register(self, path: Path, socket: _Socket) -> None:
        record = self._record
        record(KubeletRegistration(step="found", socket=path.name))
        with RegistrationClient(path, clock=self._clock) as plugin:
            try:
                info = plugin.get_info(timeout=self._timing.registration)
            except RpcError as error:
                kind = _NotListening if error.code == "UNAVAILABLE" else RegistrationRefused
                raise kind(f"{path.name} did not answer GetInfo: {error.code}: {error.details}") from None
            socket.info = info
            record(
                KubeletRegistration(
                    step="GetInfo",
                    socket=path.name,
                    type=info.type,
                    driver=info.name,
                    endpoint=info.endpoint,
                    versions=tuple(info.supported_versions),
                )
            )
            try:
                registered = self._admit_any(info, path)
            except RegistrationRefused as error:
                self._notify(plugin, path, RegistrationStatus(False, str(error)))
                raise
            try:
                self._notify(plugin, path, RegistrationStatus(True))
            except RegistrationRefused:
                self._remove_any(registered)
                raise
        with self.changed:
            if isinstance(registered, ConnectedPlugin):
                socket.device_plugin = registered
            else:
                socket.instance = registered
            socket.error = ""
            self.changed.notify_all()

    def _notify(self, plugin: RegistrationClient, path: Path, status: RegistrationStatus) -> None:
        failed = ""
        try:
            plugin.notify(status, timeout=self._timing.registration)
        except RpcError as error:
            failed = f"{error.code}: {error.details}"
            # A plugin that was refused is not registered, whether it has received the reason or not.
            if status.registered:
                raise RegistrationRefused(
                    f"{path.name} did not take NotifyRegistrationStatus: {error.code}: {error.details}"
                ) from None
        finally:
            self._record(
                KubeletRegistration(
                    step="NotifyRegistrationStatus",
                    socket=path.name,
                    registered=status.registered,
                    error=status.error,
                    failed=failed,
                )
            )

    def _admit_any(self, info: PluginInfo, path: Path) -> PluginInstance | ConnectedPlugin:
        """Register a driver or a device plugin (DP-014). Raises RegistrationRefused."""
        if info.type == DEVICE_PLUGIN_TYPE and self._device_manager is not None:
            endpoint = Path(self._on_node(info.endpoint)) if info.endpoint else path
            return self._device_manager.connect(info.name, endpoint, info.supported_versions)
        return self._admit(info, path)

    def _remove_any(self, registered: PluginInstance | ConnectedPlugin) -> None:
        if not isinstance(registered, ConnectedPlugin):
            self._remove(registered)
        elif self._device_manager is not None:
            self._device_manager.disconnect(registered)

    def _admit(self, info: PluginInfo, path: Path) -> PluginInstance:
        if info.type != DRA_PLUGIN_TYPE:
            raise RegistrationRefused(f"no handler registered for plugin type: {info.type} at socket {path}")
        # An empty endpoint means that registration and service share a socket.
        endpoint = self._on_node(info.endpoint) if info.endpoint else str(path)
        try:
            version = choose_version(info.supported_versions)
        except RegistrationRefused as error:
            raise RegistrationRefused(
                f"invalid supported gRPC versions of DRA driver plugin {info.name}: {error}"
            ) from None
        with self._lock:
            if any(other.endpoint == endpoint for other in self._instances.get(info.name) or ()):
                message = f"endpoint {endpoint} already registered for DRA driver plugin {info.name}"
                raise RegistrationRefused(message)
            try:
                instance = PluginInstance(
                    driver=info.name,
                    endpoint=endpoint,
                    version=version,
                    health=choose_health(info.supported_versions) if self._negotiates_health else HEALTH_V1ALPHA1,
                    registration_socket=path,
                    clock=self._clock,
                    record=self._record,
                    timeout=self._timing.call,
                )
            except ValueError as error:  # the path is too long for a socket
                raise RegistrationRefused(str(error)) from None
            self._instances.setdefault(info.name, []).append(instance)
        self._record(
            KubeletRegistration(
                step="registered", driver=info.name, endpoint=endpoint, service=version, health=instance.health
            )
        )
        instance.client.channel.on_connection(lambda connected: self._on_connection(instance, connected))
        self._on_instance(instance, True)
        return instance

    def _on_node(self, endpoint: str) -> str:
        """Return the path of an endpoint on the node for a path that a program sees."""
        for shown, folder in self._shown_at.items():
            if Path(endpoint).is_relative_to(shown):
                return str(folder / Path(endpoint).relative_to(shown))
        return endpoint

    def _forget_socket(self, path: Path, socket: _Socket) -> None:
        with self.changed:
            self._sockets.pop(path, None)
        if registered := socket.instance or socket.device_plugin:
            self._remove_any(registered)
        with self.changed:
            self.changed.notify_all()

    def _remove(self, instance: PluginInstance) -> None:
        with self.changed:
            several = self._instances.get(instance.driver) or []
            if instance in several:
                several.remove(instance)
            if not several:
                self._instances.pop(instance.driver, None)
            self._plan_wipe(instance.driver)
            self.changed.notify_all()
        instance.close()
        self._on_instance(instance, False)
        self._record(KubeletRegistration(step="deregistered", driver=instance.driver, endpoint=instance.endpoint))

    # -- connections and slices ------------------------------------------------------------------------------------

    def _on_connection(self, instance: PluginInstance, connected: bool) -> None:
        with self.changed:
            if self._stopped or instance not in (self._instances.get(instance.driver) or ()):
                return
            self._plan_wipe(instance.driver)
            self.changed.notify_all()
        self._record(KubeletConnection(driver=instance.driver, endpoint=instance.endpoint, connected=connected))

    def _usable(self, driver: str) -> bool:
        return any(instance.connected for instance in self._instances.get(driver) or ())

    def _plan_wipe(self, driver: str) -> None:
        if self._stopped:
            return
        if self._usable(driver):
            self._wipe_due.pop(driver, None)
        elif driver not in self._wipe_due:
            # A second loss of the connection does not extend the delay.
            self._wipe_due[driver] = self._clock.monotonic() + self._timing.wipe
            self._wipes.add_after(driver, self._timing.wipe)

    def _wipe_all(self) -> None:
        while (driver := self._wipes.get()) is not None:
            due = self._due(driver)
            if due is None:
                self._wipes.forget(driver)
            else:
                remaining = due - self._clock.monotonic() if driver else 0.0
                # The driver came back and was lost again after this entry was queued.
                if remaining > 0:
                    self._wipes.add_after(driver, remaining)
                else:
                    try:
                        self._wipe(driver, due)
                    except Exception as error:  # without this thread no slice of a lost driver is deleted any more
                        report_exception(error)
                        self._wipes.add_rate_limited(driver)
            self._wipes.done(driver)

    def _due(self, driver: str) -> float | None:
        """Return when the slices of a driver are to be deleted; None if the driver has come back, or after `stop`."""
        with self._lock:
            if self._stopped:
                return None
            # A connection is usable before its callback has removed the entry.
            if self._usable(driver):
                self._wipe_due.pop(driver, None)
            # The empty name stands for a failed deletion at the start, which is always due.
            return self._wipe_due.get(driver) if driver else 0.0

    def _wipe(self, driver: str, due: float = 0.0) -> None:
        """Delete the node's slices of one driver, or (empty name) of all; failures are retried with back-off.

        `due` identifies the loss of the driver: if it comes back, the slices that are not deleted yet stay.
        """
        wiped: list[Obj] = []
        came_back = False
        try:
            for item in self._list_slices(driver):
                if came_back := self._due(driver) != due:
                    break
                # The UID protects a newer slice with the same name.
                self._client.delete(self._slices, name_of(item), uid=uid_of(item))
                wiped.append(item)
        except (ApiError, TransportError) as error:
            self._record(KubeletProblem(about="slices", driver=driver, message=f"slices were not deleted: {error}"))
            self._wipes.add_rate_limited(driver)
            return
        self._wipes.forget(driver)
        with self._lock:
            # Another time is that of a later loss, after which slices are still to be deleted.
            if self._wipe_due.get(driver) == due:
                self._wipe_due.pop(driver)
        if wiped or not came_back:
            self._record(KubeletSlices(step="wiped", driver=driver, slices=tuple(map(name_of, wiped))))

    def _list_slices(self, driver: str) -> list[Obj]:
        selector = f"spec.nodeName={self._node}" + (f",spec.driver={driver}" if driver else "")
        return self._client.list(self._slices, field_selector=selector).items


def _socket_inode(path: Path) -> tuple[int, int] | None:
    """Return the inode that distinguishes a socket file from a later one of that name; None if there is none."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    # The modification time of a socket is that of its bind: neither chmod nor rename changes it, as they do its ctime.
    return (found.st_ino, found.st_mtime_ns) if stat.S_ISSOCK(found.st_mode) else None
