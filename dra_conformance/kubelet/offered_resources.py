"""The extended resources that device plugins offer on a node: devices by their last list, and what the Node shows.

Pure state over a clock; thread-safe, starts no thread.

Source: k8s.io/kubernetes v1.37.2, pkg/kubelet/cm/devicemanager/manager.go (genericDeviceUpdateCallback, GetCapacity,
markResourceUnhealthy) and types.go (endpointStopGracePeriod).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dra_api.clock import Clock
from dra_api.rpc.device_plugin import HEALTHY, UNHEALTHY, PluginDevice

GRACE_SECONDS = 300.0
"""Seconds from the end of a resource's last plugin until the resource is forgotten (rule DP-035)."""


@dataclass(frozen=True, slots=True)
class Count:
    """The number of devices of a resource in the Node object."""

    capacity: int
    allocatable: int


@dataclass(frozen=True, slots=True)
class _Offered:
    """`devices`: the last list by id. `usable`: ids that can be allocated. `gone_at`: when the last plugin ended."""

    devices: Mapping[str, PluginDevice] = field(default_factory=dict)
    usable: tuple[str, ...] = ()
    gone_at: float | None = None


class OfferedResources:
    """The resources of one node. `grace` is in seconds of the clock."""

    def __init__(self, clock: Clock, *, grace: float = GRACE_SECONDS) -> None:
        self._clock = clock
        self._grace = grace
        self._lock = threading.Lock()
        self._resources: dict[str, _Offered] = {}

    def restore(self, names: Iterable[str]) -> None:
        """Add resources of an earlier life of the kubelet, without devices until a plugin lists them (DP-043)."""
        with self._lock:
            self._resources.update({name: _Offered(gone_at=self._clock.monotonic()) for name in names})

    def connect(self, resource: str) -> None:
        """A plugin registered: its resource, if known, is not forgotten any more."""
        with self._lock:
            if resource in self._resources:
                self._resources[resource] = replace(self._resources[resource], gone_at=None)

    def take(self, resource: str, devices: Sequence[PluginDevice]) -> None:
        """Replace all devices of a resource (DP-019). An id that is listed as Unhealthy too is not usable (DP-022)."""
        found: dict[str, PluginDevice] = {}
        for device in devices:
            if device.id not in found or device.health != HEALTHY:
                found[device.id] = device
        usable = tuple(device.id for device in found.values() if device.health == HEALTHY)
        with self._lock:
            self._resources[resource] = _Offered(devices=found, usable=usable)

    def disconnect(self, resource: str) -> None:
        """The last plugin of a resource ended: no device is usable, and the grace period begins (DP-034)."""
        with self._lock:
            if resource in self._resources:
                self._resources[resource] = replace(
                    self._resources[resource], usable=(), gone_at=self._clock.monotonic()
                )

    def counts(self) -> dict[str, Count]:
        """Return the counts of all resources; those whose grace period is over have 0 and are forgotten (DP-035)."""
        with self._lock:
            over = [name for name, one in self._resources.items() if self._is_over(one)]
            found = {name: Count(len(one.devices), len(one.usable)) for name, one in self._resources.items()}
            for name in over:
                found[name] = Count(0, 0)
                del self._resources[name]
            return found

    def next_end(self) -> float | None:
        """Return the clock's time at which a resource is forgotten; None if all have a plugin."""
        with self._lock:
            ends = [one.gone_at + self._grace for one in self._resources.values() if one.gone_at is not None]
        return min(ends, default=None)

    def names(self) -> list[str]:
        """Return the names of all known resources."""
        with self._lock:
            return sorted(self._resources)

    def usable(self, resource: str) -> tuple[str, ...] | None:
        """Return the ids that can be allocated, in the order of the list; None for an unknown resource."""
        with self._lock:
            return self._resources[resource].usable if resource in self._resources else None

    def devices(self, resource: str) -> Mapping[str, PluginDevice]:
        """Return the devices of the last list by id, whatever their health; none for an unknown resource."""
        with self._lock:
            return self._resources[resource].devices if resource in self._resources else {}

    def device(self, resource: str, device_id: str) -> PluginDevice | None:
        """Return a device of the last list."""
        with self._lock:
            return self._resources[resource].devices.get(device_id) if resource in self._resources else None

    def health(self, resource: str, device_id: str) -> str:
        """Return the health that a pod's status shows; a device that is in no list any more is shown as Healthy."""
        device = self.device(resource, device_id)
        return HEALTHY if device is None or device.health == HEALTHY else UNHEALTHY

    def all_usable(self) -> list[tuple[str, PluginDevice]]:
        """Return every device that can be allocated, in use or not, with its resource."""
        with self._lock:
            return [(name, one.devices[i]) for name, one in sorted(self._resources.items()) for i in one.usable]

    def _is_over(self, one: _Offered) -> bool:
        return one.gone_at is not None and self._clock.monotonic() - one.gone_at >= self._grace
