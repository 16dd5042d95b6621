"""Pools: the slices that count, and the devices that they offer to one node.

Pure functions over decoded slices. A pool's slices may concern several nodes; generation, completeness and validity
are properties of the whole pool, the devices offered are one node's.

Source: k8s.io/dynamic-resource-allocation/structured/internal/incubating/pools_incubating.go (v0.36); rules DRA-141 to
DRA-152, DRA-193, DRA-194, DRA-197. One deviation: a newer generation anywhere makes older slices obsolete on every
node, even if it has no slice for that node yet (the intended reading of DRA-148; 1.36 has a defect for one-slice
pools).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from reference_impl import node_selector
from reference_impl.node_selector import NodeFacts
from reference_impl.scheduler.allocator.model import AllocationError, Device, Features, PoolId, Slice

PoolState = Literal["complete", "incomplete", "invalid"]


@dataclass(frozen=True, slots=True, eq=False)
class NodePool:
    """One pool from the point of view of one node.

    `devices` are those usable on the node, in slice and list order; `counters` are the pool's counter totals in
    billionths; `by_name` has every current device of the pool on any node, for the consumption of allocated ones.
    `has_binding_conditions` is true if a slice for the node has a device with binding conditions, even one that is not
    usable there: upstream orders its pools by this. `has_compatibility_groups`: a device of the pool, on any node, has
    some.
    """

    id: PoolId
    state: PoolState
    reason: str
    devices: tuple[Device, ...]
    counters: Mapping[tuple[str, str], int]
    by_name: Mapping[str, Device]
    has_binding_conditions: bool
    has_compatibility_groups: bool = False


def newest_generation(slices: Sequence[Slice]) -> int:
    """Return the generation that counts: the highest of all slices of the pool (DRA-145, DRA-148)."""
    return max(item.generation for item in slices)


def is_complete(slices: Sequence[Slice]) -> bool:
    """Return whether all slices of one generation are there: as many as any of them states (DRA-146)."""
    # Slices of one generation may state different counts while a driver writes them.
    return len(slices) in {item.slice_count for item in slices}


def offered_to(item: Slice, node: NodeFacts) -> bool:
    """Return whether a slice offers anything to `node`, by its form of node selection (DRA-141 to DRA-143)."""
    if item.node_name:
        return item.node_name == node.name
    if item.all_nodes:
        return True
    if item.node_selector is not None:
        return selects(item.node_selector, node, where=f"ResourceSlice {item.name}")
    if item.per_device:
        return any(device_offered_to(device, node) for device in item.devices)
    return False  # a form of node selection that a later release may add


def device_offered_to(device: Device, node: NodeFacts) -> bool:
    """Return whether a device of a perDeviceNodeSelection slice can be used on `node` (DRA-197, DRA-198)."""
    if not device.per_device_node:
        return True
    if device.node_name:
        return device.node_name == node.name
    if device.node_selector is not None:
        return selects(device.node_selector, node, where=f"device {device.id}")
    return device.all_nodes


def selects(selector: dict[str, object], node: NodeFacts, *, where: str) -> bool:
    """Return whether a node selector of a slice or device selects `node`. Raises AllocationError when it cannot be
    read.
    """
    try:
        return node_selector.matches(selector, node)
    except node_selector.NodeSelectorError as error:
        raise AllocationError(f"{where}: {error}") from error


def problem_in(slices: Sequence[Slice], devices: Sequence[Device], features: Features) -> str:
    """Return the reason why a complete pool is invalid, or an empty string (DRA-149, DRA-194).

    `slices` are all of the generation, `devices` those of slices that offer anything to the node.
    """
    names: set[str] = set()
    for device in devices:
        if device.id.device in names:
            return f"device {device.id.device} is listed twice"
        names.add(device.id.device)
    if not features.partitionable_devices:
        return ""
    counters: set[tuple[str, str]] = set()
    sets: set[str] = set()
    for item in slices:
        for name, values in item.counter_sets:
            if name in sets:
                return f"counter set {name} is defined twice"
            sets.add(name)
            counters.update((name, counter) for counter in values)
    for item in slices:
        for device in item.devices:
            for counter_set, counter in device.counters:
                if (counter_set, counter) not in counters:
                    what = "counter set" if counter_set not in sets else f"counter {counter} of counter set"
                    return f"device {device.id.device} consumes from unknown {what} {counter_set}"
    return ""


def usable_features(item: Slice, features: Features) -> bool:
    """Return whether the allocator may read a slice at all: partitioned ones need the feature (DRA-199)."""
    return features.partitionable_devices or not (item.per_device or item.counter_sets)


def counts(item: Slice, features: Features) -> bool:
    """Return whether a slice is one of its pool. While the feature is off, those with compatibility groups are not, and
    so the pool is incomplete (DRA-507).
    """
    return features.compatibility_groups or not item.has_compatibility_groups


def view_pool(slices: Sequence[Slice], node: NodeFacts, features: Features) -> NodePool | None:
    """Return one pool (all its slices, any generation) for `node`, or None if it offers nothing there."""
    generation = newest_generation(slices)
    current = sorted(
        (item for item in slices if item.generation == generation and counts(item, features)),
        key=lambda item: item.name,
    )
    offered = [item for item in current if usable_features(item, features) and offered_to(item, node)]
    if not offered:
        return None
    identity = slices[0].pool
    if not is_complete(current):
        wanted = max(item.slice_count for item in current)
        reason = f"{len(current)} of {wanted} slices of generation {generation} are published"
        if not all(counts(item, features) for item in slices if item.generation == generation):
            reason += " without compatibilityGroups, which need the feature gate DRADeviceCompatibilityGroups"
        return NodePool(identity, "incomplete", reason, (), {}, {}, has_binding_conditions=False)
    listed = [device for item in offered for device in item.devices]
    devices = tuple(device for device in listed if device_offered_to(device, node))
    # The devices of slices for this node, and not only those usable here, as upstream checks names.
    if reason := problem_in(current, listed, features):
        return NodePool(identity, "invalid", reason, (), {}, {}, has_binding_conditions=False)
    if not features.binding_conditions:
        devices = tuple(device for device in devices if not device.binding_conditions)
    counters = {
        (name, counter): value
        for item in current
        for name, values in item.counter_sets
        for counter, value in values.items()
    }
    # Only counters need devices of other nodes: an allocated one there consumes from them too.
    by_name = {device.id.device: device for item in current for device in item.devices} if counters else {}
    waits = any(device.binding_conditions for device in listed)
    groups = any(item.has_compatibility_groups for item in current)
    return NodePool(identity, "complete", "", devices, counters, by_name, waits, groups)


def order(pools: Iterable[NodePool]) -> list[NodePool]:
    """Return the order in which pools are tried: by driver and name, those with binding conditions last (DRA-151,
    DRA-152).
    """
    return sorted(pools, key=lambda pool: (pool.has_binding_conditions, pool.id))
