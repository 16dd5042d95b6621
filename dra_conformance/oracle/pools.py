"""Pools: the current slices, whether they are complete, and whether they contradict each other.

A pool is built once per cluster and is immutable, except for cached results of selectors.

Source: KEP-4381 and k8s.io/dynamic-resource-allocation/structured (v0.36); rules DRA-145 to DRA-150, DRA-193, DRA-194.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dra_api.cel import CelError, DeviceView, compile_selector, derive_attribute
from dra_conformance.oracle.nodes import NodeAccess, NodeView, node_access
from dra_conformance.oracle.schema import Device, ResourceSlice, Taint

PoolId = tuple[str, str]
DeviceId = tuple[str, str, str]


@dataclass(frozen=True, eq=False)
class PoolDevice:
    """A device with the slice that lists it. `taints` are its own and those of DeviceTaintRules."""

    device: Device
    resource_slice: ResourceSlice
    taints: tuple[Taint, ...]
    _matches: dict[str, bool | str] = field(default_factory=dict, repr=False)
    _derived: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def driver(self) -> str:
        """The driver that publishes the device."""
        return self.resource_slice.spec.driver

    @cached_property
    def id(self) -> DeviceId:
        """Driver, pool and device."""
        return (self.driver, self.resource_slice.spec.pool.name, self.device.name)

    @cached_property
    def node_access(self) -> NodeAccess:
        """The nodes that can use the device."""
        return node_access(self.resource_slice, self.device)

    @cached_property
    def consumes(self) -> dict[tuple[str, str], int]:
        """Consumption of the pool's counters by the device, in billionths, by counter set and counter."""
        taken: dict[tuple[str, str], int] = {}
        for entry in self.device.consumes_counters:
            for name, counter in entry.counters.items():
                key = (entry.counter_set, name)
                taken[key] = taken.get(key, 0) + counter.value.scaled_value(-9)
        return taken

    def matches(self, expression: str) -> bool | str:
        """Return whether a CEL expression selects the device, or the message with which its evaluation fails."""
        known = self._matches.get(expression)
        if known is None:
            try:
                known = compile_selector(expression, stored=True).matches(self._view)
            except CelError as error:
                # A failed evaluation is stored too: it fails for every request with this selector.
                known = str(error)
            self._matches[expression] = known
        return known

    def derive(self, expression: str) -> dict[str, Any] | str:
        """Return the value of a derived attribute as a v1.DeviceAttribute, or why its evaluation fails."""
        if expression not in self._derived:
            try:
                self._derived[expression] = derive_attribute(expression, self._view)
            except CelError as error:
                self._derived[expression] = str(error)
        found: dict[str, Any] | str = self._derived[expression]
        return found

    @property
    def has_groups(self) -> bool:
        """Whether the device has compatibility groups on a counter set."""
        return any(entry.compatibility_groups for entry in self.device.consumes_counters)

    @cached_property
    def groups(self) -> dict[str, frozenset[str]]:
        """The compatibility groups of the device by counter set; without groups, a set of "" (no name of a group)."""
        return {
            entry.counter_set: frozenset(entry.compatibility_groups or [""]) for entry in self.device.consumes_counters
        }

    @cached_property
    def _view(self) -> DeviceView:
        return DeviceView(
            self.driver,
            self.device.attributes,
            {name: {"value": str(capacity.value)} for name, capacity in self.device.capacity.items()},
            self.device.allow_multiple_allocations,
        )


class Pool:
    """All slices of one pool of one driver; `current` are those of the newest generation, by name."""

    def __init__(self, pool_id: PoolId, slices: Iterable[ResourceSlice], pool_device: Iterable[PoolDevice]) -> None:
        self.id = pool_id
        self.slices = list(slices)
        self.generation = max(resource_slice.spec.pool.generation for resource_slice in self.slices)
        self.current = sorted(
            (
                resource_slice
                for resource_slice in self.slices
                if resource_slice.spec.pool.generation == self.generation
            ),
            key=lambda resource_slice: resource_slice.metadata.name,
        )
        self.by_name: dict[str, list[PoolDevice]] = {}
        for entry in pool_device:
            if entry.resource_slice.spec.pool.generation == self.generation:
                self.by_name.setdefault(entry.device.name, []).append(entry)

    @property
    def title(self) -> str:
        """Driver and pool for messages."""
        return "/".join(self.id)

    @cached_property
    def counts(self) -> frozenset[int]:
        """The values of resourceSliceCount in the current generation; several values contradict each other."""
        return frozenset(resource_slice.spec.pool.resource_slice_count for resource_slice in self.current)

    @property
    def complete(self) -> bool:
        """Whether all slices of the newest generation are published (DRA-146)."""
        return len(self.current) in self.counts

    def devices(self, node: NodeView) -> Iterator[PoolDevice]:
        """Yield the current devices that are known to be usable on a node."""
        for entries in self.by_name.values():
            for entry in entries:
                if entry.node_access.includes(node):
                    yield entry

    @cached_property
    def counters(self) -> dict[tuple[str, str], int]:
        """The pool's counters, in billionths, by set and counter (DRA-193)."""
        return {
            (found.name, name): counter.value.scaled_value(-9)
            for resource_slice in self.current
            for found in resource_slice.spec.shared_counters
            for name, counter in found.counters.items()
        }

    @cached_property
    def counter_problem(self) -> str:
        """The problem of the counters, or an empty text (DRA-194)."""
        names = [found.name for resource_slice in self.current for found in resource_slice.spec.shared_counters]
        for name in names:
            if names.count(name) > 1:
                return f"counter set {name} is defined twice"
        for entries in self.by_name.values():
            for entry in entries:
                for counter_set, counter in entry.consumes:
                    if (counter_set, counter) not in self.counters:
                        return f"device {entry.device.name} consumes the unknown counter {counter_set}/{counter}"
        return ""

    def problem(self, node: NodeView, *, partitionable: bool = True, grouped: bool = True) -> str:
        """Return why no device of the pool may be used on a node, or an empty text (DRA-146, DRA-149, DRA-194).

        Device names must be unique over all devices of the slices that the node can use, including devices that
        perDeviceNodeSelection assigns to other nodes: results refer to devices by pool and name alone. If
        `partitionable` is false, slices with perDeviceNodeSelection or counters are ignored, as the scheduler does. If
        `grouped` is false, a device with compatibility groups makes the pool incomplete (DRA-507).
        """
        if not grouped and any(entry.has_groups for found in self.by_name.values() for entry in found):
            return "a device has compatibility groups, which need DRADeviceCompatibilityGroups"
        if not self.complete:
            expected = max(self.counts)
            return f"{len(self.current)} of {expected} slices of generation {self.generation} are published"
        seen: set[str] = set()
        for resource_slice in self.current:
            spec = resource_slice.spec
            if not partitionable and (spec.per_device_node_selection or spec.shared_counters):
                continue
            if not any(node_access(resource_slice, device).includes(node) for device in spec.devices):
                continue
            for device in spec.devices:
                if device.name in seen:
                    return f"device {device.name} is listed twice"
                seen.add(device.name)
        return self.counter_problem if partitionable else ""
