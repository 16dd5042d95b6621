"""Device health: NVML events become taints on devices and messages of the kubelet's health stream.

A thread waits for events between `start` and `stop`. Its results are in memory only and lost at a
restart, as upstream (rule NV-125). A device always stays published; a taint informs the scheduler, a health message the
kubelet.

Source: cmd/gpu-kubelet-plugin device_health.go at 95932046; rules NV-118 to NV-128. The health stream is this
reference's own addition: upstream has the taints only (rule NV-002). Its form is k8s.io/kubelet dra-health v1alpha1; a
kubelet takes a device that is not mentioned for 30 s as Unknown (rule DRA-297), so the list is repeated.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dra_api.clock import Clock
from dra_api.objects import Obj
from dra_api.rpc import DeviceHealth, HealthFeed, HealthStatus
from reference_impl.kubelet_plugin.devices import Device, Mig, full_gpu
from reference_impl.kubelet_plugin.discovery import Found, Nvml

log = logging.getLogger(__name__)

Effect = Literal["None", "NoSchedule", "NoExecute"]
HARMLESS_XIDS = frozenset({13, 31, 43, 45, 68, 109})
"""XIDs that an application causes or recovers from; they are published and exclude no request (rule NV-119)."""

WHOLE_GPU = 0xFFFFFFFF
"""GPU and compute instance id of an event that concerns a full GPU."""

_POLL_MS = 50  # bounds the duration of stop: only an event ends nvmlEventSetWait
_REPEAT = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Taint:
    """A device taint without its time, which the API server gives."""

    key: str
    value: str = ""
    effect: Effect

    def to_obj(self) -> Obj:
        """As an entry of a device's `taints`."""
        return {"key": self.key, **({"value": self.value} if self.value else {}), "effect": self.effect}


class DeviceHealthBook:
    """The health of each device. Thread-safe.

    `driver` is the domain of the taint keys; `on_change` is called after each event, without the lock.
    """

    def __init__(
        self, found: Found, *, driver: str, ignored_xids: frozenset[int], on_change: Callable[[], None]
    ) -> None:
        self._found = found
        self._driver = driver
        self._ignored = HARMLESS_XIDS | ignored_xids
        self._on_change = on_change
        self._lock = threading.Lock()
        self._taints: dict[str, dict[str, Taint]] = {}
        self._messages: dict[str, dict[str, str]] = {}
        """The message of each taint, by device and key."""

    def taints(self, device: str) -> list[Obj]:
        """Return the device's taints."""
        with self._lock:
            return [taint.to_obj() for taint in self._taints.get(device, {}).values()]

    def problem(self, device: str) -> str:
        """Return the problems of a device as text, without harmless events; empty if it is healthy."""
        with self._lock:
            bad = [key for key, taint in self._taints.get(device, {}).items() if taint.effect != "None"]
            return "; ".join(self._messages[device][key] for key in bad)

    def is_monitored(self, device: str) -> bool:
        """Return whether events of the device would be seen."""
        with self._lock:
            return f"{self._driver}/unmonitored" not in self._taints.get(device, {})

    def xid(self, uuid: str, gpu_instance: int, compute_instance: int, xid: int) -> None:
        """Record an XID on a GPU, or in an instance of it (rules NV-118 to NV-120, NV-124)."""
        concerned = [d for d in self._found.devices if self.concerns(d, uuid, gpu_instance, compute_instance)]
        if not concerned:
            log.warning("XID %d on %s (GI %d, CI %d): no such device", xid, uuid, gpu_instance, compute_instance)
        taint = Taint(key=f"{self._driver}/xid", value=str(xid), effect=self.effect(xid))
        self._set(concerned, taint, f"XID {xid} reported by NVML")

    def concerns(self, device: Device, uuid: str, gpu_instance: int, compute_instance: int) -> bool:
        """Return whether an event with these ids is about that device."""
        if full_gpu(device).uuid != uuid:
            return False
        if (gpu_instance, compute_instance) == (WHOLE_GPU, WHOLE_GPU):
            return True  # and so about every MIG device of it (rule NV-124b)
        return isinstance(device, Mig) and (device.gi_id, device.ci_id) == (gpu_instance, compute_instance)

    def effect(self, xid: int) -> Effect:
        """Return `NoSchedule` for an XID that harms the device, else `None`; never `NoExecute`, as upstream."""
        return "None" if xid in self._ignored else "NoSchedule"

    def lost(self) -> None:
        """Record that NVML lost a GPU without naming it: every device of the node is suspect (rule NV-121)."""
        self._set(
            self._found.devices,
            Taint(key=f"{self._driver}/gpu-lost", effect="NoSchedule"),
            "NVML lost a GPU of the node",
        )

    def unmonitored(self, uuid: str, reason: str) -> None:
        """Record that a GPU reports no events (rule NV-122)."""
        concerned = [device for device in self._found.devices if full_gpu(device).uuid == uuid]
        self._set(concerned, Taint(key=f"{self._driver}/unmonitored", effect="None"), reason)

    def _set(self, devices: Sequence[Device], taint: Taint, message: str) -> None:
        with self._lock:
            for device in devices:
                # One taint a key: a later event replaces the earlier one, even by a milder effect (rule NV-123).
                self._taints.setdefault(device.name, {})[taint.key] = taint
                self._messages.setdefault(device.name, {})[taint.key] = message
        self._on_change()


class HealthMonitor:
    """Watches NVML and keeps the book and the feed current.

    Arguments:
        nvml: an open library.
        pool: the pool name of health messages.
    """

    def __init__(
        self, nvml: Nvml, found: Found, book: DeviceHealthBook, feed: HealthFeed, *, pool: str, clock: Clock
    ) -> None:
        self._nvml = nvml
        self._found = found
        self._book = book
        self._feed = feed
        self._pool = pool
        self._clock = clock
        self._stopping = threading.Event()
        # From the reading of the book to the sending: two threads report, and the newer list must be the last.
        self._reporting = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._events: Any = None
        self._uuids = {nvml.identity(handle): gpu.uuid for gpu, handle in zip(found.gpus, nvml.handles(), strict=True)}

    def start(self) -> None:
        """Register for events, send the first list, and begin to wait."""
        self._register()
        self.report()
        self._threads = [
            threading.Thread(target=self._wait_for_events, name="nvml-events", daemon=True),
            threading.Thread(target=self._repeat, name="health-repeat", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def quit(self) -> None:
        """Signal the threads to end without waiting for them; `stop` does the rest."""
        self._stopping.set()

    def stop(self) -> None:
        """End the threads and the health streams. Idempotent."""
        self.quit()
        self._feed.close()
        for thread in self._threads:
            thread.join()
        self._threads = []
        if self._events is not None:
            # After the join: until then a thread waits on the event set.
            self._nvml.module.nvmlEventSetFree(self._events)
            self._events = None

    def report(self) -> None:
        """Send the newest complete list."""
        with self._reporting:
            now = int(self._clock.now().timestamp())
            self._feed.publish([self.health_of(device, now) for device in self._found.devices])

    def health_of(self, device: Device, now: int) -> DeviceHealth:
        """Return one device's line of the list."""
        problem = self._book.problem(device.name)
        if problem:
            status = HealthStatus.UNHEALTHY
        else:
            status = HealthStatus.HEALTHY if self._book.is_monitored(device.name) else HealthStatus.UNKNOWN
        return DeviceHealth(self._pool, device.name, status, last_updated=now, message=problem)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _register(self) -> None:
        module = self._nvml.module
        self._events = module.nvmlEventSetCreate()
        for gpu, handle in zip(self._found.gpus, self._nvml.handles(), strict=True):
            try:
                module.nvmlDeviceRegisterEvents(handle, module.nvmlEventTypeXidCriticalError, self._events)
            except module.NVMLError as error:
                log.warning("%s cannot be monitored: %s", gpu.name, error)
                self._book.unmonitored(gpu.uuid, f"NVML cannot report events: {error}")

    def _wait_for_events(self) -> None:
        module = self._nvml.module
        while not self._stopping.is_set():
            try:
                event = module.nvmlEventSetWait_v2(self._events, _POLL_MS)
            except module.NVMLError as error:
                if error.value == module.NVML_ERROR_TIMEOUT:
                    continue
                if error.value == module.NVML_ERROR_GPU_IS_LOST:
                    self._book.lost()
                else:
                    log.warning("waiting for NVML events: %s", error)
                # These errors return at once and may persist; without a pause the loop would spin.
                self._clock.wait(self._stopping, 1.0)
                continue
            self.handle(event)

    def handle(self, event: Any) -> None:
        """Take one XID; NVML reports no other events, because only these are registered (rule NV-127)."""
        # By handle: a GPU that fell off the bus has no uuid in NVML any more.
        uuid = self._uuids[self._nvml.identity(event.device)]
        self._book.xid(uuid, int(event.gpuInstanceId), int(event.computeInstanceId), int(event.eventData))

    def _repeat(self) -> None:
        while not self._clock.wait(self._stopping, _REPEAT):
            self.report()
