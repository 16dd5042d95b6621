"""The kubelet plugin for `gpu.nvidia.com`: the modules of this folder, started in order.

It owns the NVML initialisation, its threads and its two sockets between `start` and `stop`. Slices, checkpoint and CDI
specs of prepared claims stay when it stops, so that running pods keep their devices (rule NV-014).
"""

from __future__ import annotations

import logging
import re
import threading
from contextlib import ExitStack
from dataclasses import replace
from types import ModuleType

from dra_api.client import ApiError, KubeClient
from dra_api.clock import Clock
from dra_api.objects import Obj
from dra_api.rpc import HealthFeed
from dra_api.transport import TransportError
from reference_impl.errors import ComponentError
from reference_impl.kubelet_plugin import fabric
from reference_impl.kubelet_plugin.configs import EnabledSharing
from reference_impl.kubelet_plugin.devices import AnyDevice, Vfio, full_gpu, to_slice_device
from reference_impl.kubelet_plugin.discovery import Found, Nvml
from reference_impl.kubelet_plugin.driver_root import DriverRoot
from reference_impl.kubelet_plugin.health import DeviceHealthBook, HealthMonitor
from reference_impl.kubelet_plugin.limiter import Limiter
from reference_impl.kubelet_plugin.mig import MigInstances
from reference_impl.kubelet_plugin.mps import Mps
from reference_impl.kubelet_plugin.node_service import ClaimStorage, publish, serve, slice_publisher, wait_published
from reference_impl.kubelet_plugin.options import KubeletPluginOptions
from reference_impl.kubelet_plugin.passthrough import Passthrough
from reference_impl.kubelet_plugin.persistence import PersistenceMode
from reference_impl.kubelet_plugin.prepare import ClaimPreparer, DeviceFeatures, NodeDevices
from reference_impl.kubelet_plugin.service import DriverService, HealthyDriverService
from reference_impl.kubelet_plugin.shares import ShareMode
from reference_impl.kubelet_plugin.sharing import NvidiaSmi, TimeSlicing
from reference_impl.kubelet_plugin.slices import SliceContent, layout, partitioned_layout

log = logging.getLogger(__name__)


class KubeletPlugin:
    """A DRA driver on one node.

    Arguments:
        client: used under the user agent `gpu-kubelet-plugin`.
        clock: every wait of the plugin but NVML's own.
        nvml: a module with pynvml's names; the plugin initialises it and gives it back.
        options: names and paths of the plugin.

    One instance starts once; a restart is a new instance over the same folders.
    """

    def __init__(self, client: KubeClient, *, clock: Clock, nvml: ModuleType, options: KubeletPluginOptions) -> None:
        self.name = f"kubelet-plugin {options.driver_name} on {options.node_name}"
        self.options = options
        self._clock = clock
        self._client = client.as_agent("gpu-kubelet-plugin")
        self._nvml = Nvml(nvml, numa_lists=options.gates.DRAListTypeAttributes)
        self._root = DriverRoot(options.driver_root)
        self._found: Found
        self._raw_driver_version: str
        self._counters_apart: bool
        self._shares = ShareMode.parse(options.consumable_shares)
        self._stopping = threading.Event()
        # From the devices to the publication: several threads publish, and the newest state must be the last.
        self._publishing = threading.Lock()
        self._ending: ExitStack | None = None
        storage = ClaimStorage.of(self._client, options, clock=clock)
        self._claims = storage.claims
        gates, smi = options.gates, NvidiaSmi(self._root.nvidia_smi)
        mps = Mps(options.data_dir / "mps", binary=self._root.mps_control, smi=smi)
        self._passthrough = (
            Passthrough(
                self._root,
                processes=self._nvml.processes,
                found=lambda: self._found,
                persistence=PersistenceMode(self._nvml),
                numa_lists=gates.DRAListTypeAttributes,
            )
            if gates.PassthroughSupport
            else None
        )
        limiter = Limiter(options.limiter_path) if self._shares.limited else None
        self.preparer = ClaimPreparer(
            driver=options.driver_name,
            storage=storage,
            devices=NodeDevices(
                found=lambda: self._found,
                raw_driver_version=lambda: self._raw_driver_version,
                root=self._root,
                on_change=self._twins_changed,
            ),
            features=DeviceFeatures(
                sharing=EnabledSharing(time_slicing=gates.TimeSlicingSettings, mps=gates.MPSSupport),
                settings=(
                    *(TimeSlicing(run=smi), mps),
                    *(one for one in (self._passthrough, limiter) if one is not None),
                ),
                shares=self._shares,
                mig=MigInstances(self._nvml) if gates.DynamicMIG else None,
                mps=mps if gates.MPSSupport else None,
                limiter=limiter,
                passthrough=self._passthrough,
            ),
        )
        self.publisher = slice_publisher(self._client, options, clock=clock)
        self._book: DeviceHealthBook | None = None
        self._monitor: HealthMonitor | None = None

    # -- life ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Find the devices, repair what a killed predecessor left, serve, register and publish.

        Returns once the slices are in the API server, or after 10 s without; then publishing goes on behind.
        Raises ComponentError when there is no NVML or the checkpoint cannot be trusted.
        """
        options = self.options
        with ExitStack() as ending:
            options.make_data_dir()
            self._nvml.open()
            ending.callback(self._nvml.close)
            if options.gates.FabricManagerPartitioning:
                fabric.check(self._root)
            if self._passthrough is not None:
                self._passthrough.check()
            self._found = self._discover()
            self._counters_apart = options.gates.DynamicMIG and self._server_keeps_counters_apart()
            self._raw_driver_version = self._nvml.raw_driver_version()
            self.preparer.repair()
            service = self._service(ending)
            serve(service, options, ending, clock=self._clock)
            with self._publishing:
                publish(self.publisher, self.slices(), ending)
            cleaner = threading.Thread(target=self._clean_up, name="claim-cleanup", daemon=True)
            cleaner.start()
            ending.callback(cleaner.join)
            if self._monitor is not None:
                ending.callback(self._monitor.quit)  # its wait for NVML ends while the rest is stopped
            # Runs first at the end (last in, first out): it wakes the cleaner, which is joined later.
            ending.callback(self._stopping.set)
            self._ending = ending.pop_all()
        wait_published(self.publisher, self.name)

    def stop(self) -> None:
        """Leave the kubelet and end all threads; prepared claims and slices stay. Idempotent."""
        ending, self._ending = self._ending, None
        if ending is not None:
            ending.close()

    # -- devices ---------------------------------------------------------------------------------------------------

    def _discover(self) -> Found:
        found = self._nvml.discover(self._root.sysfs, dynamic_mig=self.options.gates.DynamicMIG)
        return replace(found, passthrough=self._passthrough.discover(found)) if self._passthrough is not None else found

    def publish(self) -> None:
        """Publish the devices as they are now."""
        with self._publishing:
            self.publisher.publish(self.slices())

    def slices(self) -> list[SliceContent]:
        """Return the content of the pool: every device, unhealthy ones with their taints (rules NV-020, NV-038,
        NV-118).
        """
        if not any(gpu.partitioning for gpu in self._found.gpus):
            taken = self.preparer.hidden_twins()
            return layout([self.slice_device(device) for device in self._found.all if device.name not in taken])
        return partitioned_layout(
            [
                (
                    gpu.partitioning.counter_set(gpu.minor) if gpu.partitioning is not None else None,
                    [self.slice_device(device) for device in self._found.devices if full_gpu(device) is gpu],
                )
                # A stable order, because slices are matched by their index.
                for gpu in sorted(self._found.gpus, key=lambda gpu: gpu.pci_bus_id)
            ],
            counters_apart=self._counters_apart,
        )

    def _server_keeps_counters_apart(self) -> bool:
        """Return whether counters belong into slices of their own: from Kubernetes 1.35 on (NV-038, NV-039)."""
        try:
            version = self._client.version()
            # Some distributions report a minor such as `35+`.
            return (int(version["major"]), int(re.sub(r"\D.*", "", version["minor"]))) >= (1, 35)
        except (ApiError, TransportError, OSError, KeyError, ValueError) as error:
            raise ComponentError(
                f"the API server does not report its version, on which slices depend: {error}"
            ) from error

    def slice_device(self, device: AnyDevice) -> Obj:
        """Return one device with its taints. A passed-through device is never shared."""
        if isinstance(device, Vfio):
            return to_slice_device(device)
        entry = self._shares.entry(to_slice_device(device))
        taints = self._book.taints(device.name) if self._book is not None else []
        return {**entry, "taints": taints} if taints else entry

    # -- inside ----------------------------------------------------------------------------------------------------

    def _service(self, ending: ExitStack) -> DriverService:
        if not self.options.gates.NVMLDeviceHealthCheck:
            return DriverService(claims=self._claims, preparer=self.preparer)
        feed = HealthFeed()
        book = self._book = DeviceHealthBook(
            self._found,
            driver=self.options.driver_name,
            ignored_xids=self.options.ignored_xids,
            on_change=lambda: self._health_changed(monitor),
        )
        monitor = self._monitor = HealthMonitor(
            self._nvml, self._found, book, feed, pool=self.options.node_name, clock=self._clock
        )
        monitor.start()
        ending.callback(monitor.stop)
        return HealthyDriverService(claims=self._claims, preparer=self.preparer, feed=feed)

    def _twins_changed(self) -> None:
        if len(self._found.gpus) < len(self._found.passthrough):
            self._found = self._discover()  # NVML shows no GPU that vfio-pci had at start; it may be back
        self.publish()

    def _health_changed(self, monitor: HealthMonitor) -> None:
        self.publish()
        monitor.report()

    def _clean_up(self) -> None:
        while True:
            try:
                self.preparer.clean_stale()
            except Exception:
                log.exception("%s: cleaning up stale claims failed", self.name)
            if self._clock.wait(self._stopping, self.options.cleanup_interval):
                return
