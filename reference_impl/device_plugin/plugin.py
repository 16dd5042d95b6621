"""The device plugin as a component: one socket for each resource, registered with the kubelet as long as it runs.

The plugin looks at the folder of the kubelet ten times a second. A new `kubelet.sock` is a kubelet that has restarted
and has removed all sockets, so every resource is served on a fresh socket and registered again. A removed socket of the
plugin itself is made again too. A registration that fails is repeated.

Source: k8s.io/kubelet v0.37.2, pkg/apis/deviceplugin/v1beta1; k8s.io/kubernetes v1.37.2,
pkg/kubelet/cm/devicemanager/plugin/v1beta1 (stub.go).
"""

from __future__ import annotations

import logging
import threading
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from dra_api.clock import Clock
from dra_api.rpc import HealthFeed, RpcError
from dra_api.rpc.device_plugin import KUBELET_SOCKET, VERSION, DevicePluginServer, Registration, register
from reference_impl.device_plugin.answers import Answers
from reference_impl.device_plugin.offers import Existing, Resource, by_name, resources
from reference_impl.device_plugin.options import DevicePluginOptions
from reference_impl.device_plugin.service import ResourceService
from reference_impl.errors import ComponentError
from reference_impl.kubelet_plugin.discovery import Found, Nvml
from reference_impl.kubelet_plugin.driver_root import DriverRoot
from reference_impl.kubelet_plugin.health import DeviceHealthBook, HealthMonitor

log = logging.getLogger(__name__)

_LOOK = 0.1
_RETRY = 1.0
_REGISTER_SECONDS = 15.0
"""Longer than the kubelet waits for the plugin while it registers."""


class Endpoint:
    """The socket of one resource, and its registration with the kubelet of the folder."""

    def __init__(self, service: ResourceService, folder: Path, clock: Clock) -> None:
        self.service = service
        name = service.resource.name.partition("/")[2]
        self._server = DevicePluginServer(service, folder / f"nvidia-{name}.sock", name=name)
        self._kubelet = folder / KUBELET_SOCKET
        self._clock = clock
        self._own: tuple[int, int] | None = None
        self._registered_with: tuple[int, int] | None = None
        self._not_before = 0.0

    def look(self) -> None:
        """Serve, and be registered with the kubelet that is there."""
        kubelet = identity(self._kubelet)
        if self._own is None or identity(self._server.socket) != self._own:
            self._serve()
        if kubelet is None or kubelet == self._registered_with or self._clock.monotonic() < self._not_before:
            return
        if self._registered_with is not None:
            self._serve()  # the kubelet may be about to remove the old socket
        self._register(kubelet)

    def stop(self) -> None:
        """Remove the socket and end all calls."""
        self._server.stop()

    def _serve(self) -> None:
        self._server.stop()
        self._server.start()
        self._own = identity(self._server.socket)
        self._registered_with = None

    def _register(self, kubelet: tuple[int, int]) -> None:
        resource = self.service.resource.name
        request = Registration(
            version=VERSION,
            endpoint=self._server.socket.name,
            resource_name=resource,
            options=self.service.options(),
        )
        try:
            register(self._kubelet, request, clock=self._clock, timeout=_REGISTER_SECONDS)
        except RpcError as error:
            log.warning("%s is not registered: %s", resource, error)
            self._not_before = self._clock.monotonic() + _RETRY
            return
        self._registered_with = kubelet


class GpuDevicePlugin:
    """A device plugin on one node.

    Arguments:
        clock: every wait of the plugin but NVML's own.
        nvml: a module with pynvml's names; the plugin initialises it and gives it back.
        options: names and paths of the plugin.

    One instance starts once; a restart is a new instance over the same folders.
    """

    def __init__(self, *, clock: Clock, nvml: ModuleType, options: DevicePluginOptions) -> None:
        self.name = "device-plugin"
        self._options = options
        self._clock = clock
        self._nvml = Nvml(nvml)
        self._root = DriverRoot(options.driver_root)
        self._endpoints: list[Endpoint] = []
        self._book: DeviceHealthBook
        self._stopping = threading.Event()
        self._ending: ExitStack | None = None

    def start(self) -> None:
        """Find the devices, watch their health, serve and register.

        Returns after the first attempt to register; without a kubelet it goes on trying. Raises ComponentError if there
        is no NVML, or if the MIG strategy does not fit the GPUs.
        """
        options = self._options
        if not options.plugins_dir.is_dir():
            raise ComponentError(f"there is no folder {options.plugins_dir}: does a kubelet run on this node?")
        with ExitStack() as ending:
            self._nvml.open()
            ending.callback(self._nvml.close)
            discovered = self._nvml.discover(self._root.sysfs)
            # What is offered differs by strategy from what the DRA driver publishes.
            devices = [one for named in by_name(discovered, options.mig_strategy).values() for one in named]
            found = replace(discovered, devices=tuple(devices))
            offered = resources(discovered, options.mig_strategy, options.time_slicing)
            answers = Answers(options, self._root)
            answers.write_spec(devices, self._nvml.raw_driver_version())
            self._watch_health(found, ending)
            self._endpoints = [self._endpoint(resource, answers) for resource in offered]
            for endpoint in self._endpoints:
                ending.callback(endpoint.stop)
                ending.callback(endpoint.service.close)
            for endpoint in self._endpoints:
                endpoint.look()
            watcher = threading.Thread(target=self._watch_folder, name="device-plugin", daemon=True)
            watcher.start()
            ending.callback(watcher.join)
            # Runs first at the end (last in, first out).
            ending.callback(self._stopping.set)
            self._ending = ending.pop_all()

    def stop(self) -> None:
        """End all streams, remove the sockets and release NVML. Idempotent."""
        ending, self._ending = self._ending, None
        if ending is not None:
            ending.close()

    # -- inside ----------------------------------------------------------------------------------------------------

    def _endpoint(self, resource: Resource, answers: Answers) -> Endpoint:
        return Endpoint(ResourceService(resource, answers, self._is_healthy), self._options.plugins_dir, self._clock)

    def _is_healthy(self, device: Existing) -> bool:
        return not self._book.problem(device.name)

    def _watch_health(self, found: Found, ending: ExitStack) -> None:
        self._book = DeviceHealthBook(
            found, driver="nvidia.com", ignored_xids=frozenset(), on_change=self._health_changed
        )
        monitor = HealthMonitor(self._nvml, found, self._book, HealthFeed(), pool="", clock=self._clock)
        monitor.start()
        ending.callback(monitor.stop)

    def _health_changed(self) -> None:
        for endpoint in self._endpoints:
            endpoint.service.refresh()

    def _watch_folder(self) -> None:
        while not self._clock.wait(self._stopping, _LOOK):
            for endpoint in self._endpoints:
                try:
                    endpoint.look()
                except Exception:  # such as a folder that a kubelet makes anew
                    log.exception("%s cannot be served", endpoint.service.resource.name)


def identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from a later one of the same name; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    # A file system may give a new file the number of a removed one.
    return found.st_ino, found.st_ctime_ns
