"""Device health as drivers stream it, and how a pod's status shows it.

`HealthWatcher` owns one thread and one stream for each registered instance, from `add` to `remove`. The cache is in
memory only: after a restart of the kubelet every device is Unknown until the driver's first message.

Source: pkg/kubelet/cm/dra/manager.go (HandleWatchResourcesStream, UpdateAllocatedResourcesStatus), healthinfo.go and
plugin/dra_plugin_manager.go (add), v1.37; rules DRA-295 to DRA-302, DRA-573 to DRA-575.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dra_api.clock import Clock
from dra_api.rpc import DeviceHealth, HealthStatus, PreparedDevice, RpcError
from dra_conformance.core.events import KubeletHealth
from dra_conformance.kubelet.calls import PluginInstance
from dra_conformance.kubelet.claim_cache import ClaimRecord
from dra_conformance.kubelet.gates import Gates, Timing
from dra_conformance.kubelet.joining import join
from dra_conformance.kubelet.record import Record

MESSAGE_LIMIT = 1024
"""Bytes of a health message in a pod's status."""

_NAMES = {HealthStatus.HEALTHY: "Healthy", HealthStatus.UNHEALTHY: "Unhealthy", HealthStatus.UNKNOWN: "Unknown"}

DeviceKey = tuple[str, str]
"""Pool and device name."""


def cut_message(message: str) -> str:
    """A message over 1024 bytes is cut to 1021 and `...` (rule DRA-299); no character is cut in two."""
    data = message.encode()
    if len(data) <= MESSAGE_LIMIT:
        return message
    return data[: MESSAGE_LIMIT - 3].decode(errors="ignore") + "..."


@dataclass(frozen=True, slots=True)
class _Known:
    health: HealthStatus
    message: str
    received: float
    timeout: float
    determined: int  # Unix time in seconds, as the driver says


class HealthCache:
    """The newest health of every device, by driver. Thread-safe."""

    def __init__(self, clock: Clock, default_timeout: float) -> None:
        self._clock = clock
        self._default_timeout = default_timeout
        self._lock = threading.Lock()
        self._drivers: dict[str, dict[DeviceKey, _Known]] = {}

    def update(self, driver: str, devices: Sequence[DeviceHealth]) -> None:
        """Store a complete list.

        The time of arrival counts, not the driver's `last_updated`. Devices that the list lacks keep their last state
        until it times out.
        """
        now = self._clock.monotonic()
        with self._lock:
            known = self._drivers.setdefault(driver, {})
            for device in devices:
                timeout = float(device.timeout_seconds) if device.timeout_seconds > 0 else self._default_timeout
                key = (device.pool_name, device.device_name)
                known[key] = _Known(device.health, cut_message(device.message), now, timeout, device.last_updated)

    def known(self, driver: str) -> set[DeviceKey]:
        """Return the devices that a driver's stream has reported."""
        with self._lock:
            return set(self._drivers.get(driver, ()))

    def determined(self, driver: str) -> dict[DeviceKey, int]:
        """Return the time of each device's last report that the driver gives (Unix seconds)."""
        with self._lock:
            return {key: known.determined for key, known in self._drivers.get(driver, {}).items()}

    def reported(self, driver: str) -> dict[DeviceKey, str]:
        """Return the health of each device in its last report: `Healthy`, `Unhealthy` or `Unknown`."""
        with self._lock:
            return {key: _NAMES[known.health] for key, known in self._drivers.get(driver, {}).items()}

    def clear(self, driver: str) -> None:
        """Forget all devices of a driver: its stream ended (rule DRA-298)."""
        with self._lock:
            self._drivers.pop(driver, None)

    def get(self, driver: str, pool: str, device: str) -> tuple[str, str]:
        """Health (`Healthy`, `Unhealthy`, `Unknown`) and message; Unknown when unreported or stale (rule DRA-297)."""
        with self._lock:
            known = self._drivers.get(driver, {}).get((pool, device))
        if known is None or self._clock.monotonic() - known.received > known.timeout:
            return "Unknown", ""
        return _NAMES[known.health], known.message

    def holds(self, driver: str, pool: str, device: str) -> float | None:
        """Return the seconds until the latest report of a device expires, or None if none can expire."""
        with self._lock:
            known = self._drivers.get(driver, {}).get((pool, device))
        if known is None:
            return None
        left = known.timeout - (self._clock.monotonic() - known.received)
        return left if left >= 0 else None


class HealthWatcher:
    """Watches the health stream of every registered instance that has a health service.

    `on_change(driver)` is called when the state of the driver's devices may have changed. Expiry is up to the caller:
    `HealthCache.holds` returns the time. `retries_unimplemented`: also retry a stream that the driver answers with
    UNIMPLEMENTED, as a kubelet of 1.36 does; since 1.37 such a driver has no further stream (rule DRA-575).
    """

    def __init__(
        self,
        *,
        clock: Clock,
        timing: Timing,
        record: Record,
        on_change: Callable[[str], None],
        retries_unimplemented: bool = False,
    ) -> None:
        self.cache = HealthCache(clock, timing.health)
        self._retries_unimplemented = retries_unimplemented
        self._clock = clock
        self._retry = timing.health_retry
        self._record = record
        self._on_change = on_change
        self._lock = threading.Lock()
        self._threads: dict[int, threading.Thread] = {}

    def add(self, instance: PluginInstance) -> None:
        """Follow an instance, unless it announces no health service (rule DRA-574)."""
        if not instance.health:
            return
        thread = threading.Thread(target=self._follow, args=(instance,), name=f"health-{instance.driver}", daemon=True)
        with self._lock:
            self._threads[id(instance)] = thread
        thread.start()

    def remove(self, instance: PluginInstance) -> None:
        """Stop following it; the instance must be closed already, which ends its stream."""
        with self._lock:
            thread = self._threads.pop(id(instance), None)
        if thread is not None:
            join(thread)

    def stop(self) -> None:
        """Stop all remaining watches; their instances must be closed already."""
        with self._lock:
            threads = list(self._threads.values())
            self._threads.clear()
        for thread in threads:
            join(thread)

    def _follow(self, instance: PluginInstance) -> None:
        reported = ""
        while not instance.stopping.is_set():
            error, received, supported = self._one_stream(instance)
            # Counted from the end of the stream; time that a scenario advances meanwhile counts too.
            due = self._clock.monotonic() + self._retry
            if (received or error != reported) and not instance.stopping.is_set():
                # A kubelet of 1.36 retries every 5 s even if there is no health service; log that once.
                self._record(KubeletHealth(step="stream ended", driver=instance.driver, reason=error))
                reported = error
            if not supported and not self._retries_unimplemented:
                return
            self._clock.wait_until(instance.stopping, due)

    def _one_stream(self, instance: PluginInstance) -> tuple[str, bool, bool]:
        """Read one stream to its end; return why it ended, whether it ever sent a report, and whether it is served."""
        received = False
        try:
            for devices in instance.client.watch_health(instance.health):
                received = True
                self._take(instance.driver, devices)
        except RpcError as error:
            return f"{error.code}: {error.details}", received, error.code != "UNIMPLEMENTED"
        finally:
            self.cache.clear(instance.driver)
            # Without a report nothing was known, so nothing has changed.
            if received and not instance.stopping.is_set():
                self._on_change(instance.driver)
        return "the driver ended the stream", received, True

    def _take(self, driver: str, devices: Sequence[DeviceHealth]) -> None:
        self.cache.update(driver, devices)
        self._record(KubeletHealth(step="received", driver=driver, devices=tuple(_shown(device) for device in devices)))
        self._on_change(driver)


def _shown(device: DeviceHealth) -> dict[str, Any]:
    return {**asdict(device), "health": device.health.name}


def allocated_resources_status(
    container: Mapping[str, Any],
    records: Mapping[str, ClaimRecord],
    cache: HealthCache,
    gates: Gates,
) -> list[dict[str, Any]] | None:
    """`allocatedResourcesStatus` of one regular container; None when there is nothing to show.

    `records` are claim records by the pod's name for the claim. Entries are called `claim:<name>` or
    `claim:<name>/<request>` (rules DRA-295, DRA-296), and a resource id appears once (rule DRA-300).
    """
    if not gates.resource_health_status:
        return None
    entries: dict[str, list[dict[str, Any]]] = {}
    for use in (container.get("resources") or {}).get("claims") or ():
        record = records.get(use["name"])
        if record is None:
            continue
        request = use.get("request") or ""
        name = f"claim:{use['name']}/{request}" if request else f"claim:{use['name']}"
        resources: dict[str, dict[str, Any]] = {}
        for driver, device in record.devices(request):
            resource_id = _resource_id(driver, device)
            if resource_id in resources:
                continue
            health, message = cache.get(driver, device.pool_name, device.device_name)
            resources[resource_id] = {"resourceID": resource_id, "health": health}
            if message and gates.resource_health_status_message:
                resources[resource_id]["message"] = message
        if resources:
            entries[name] = list(resources.values())
    return [{"name": name, "resources": resources} for name, resources in entries.items()] or None


def _resource_id(driver: str, device: PreparedDevice) -> str:
    return device.cdi_device_ids[0] if device.cdi_device_ids else f"{driver}/{device.pool_name}/{device.device_name}"
