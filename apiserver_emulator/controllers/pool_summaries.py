"""What a pool status says about partitions and about shared devices (1.37). Pure functions.

Source: pkg/controller/resourcepoolstatusrequest/views.go, release 1.37; k8s.io/api resource/v1alpha3 types.go.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dra_api.quantity import Quantity

Obj = dict[str, Any]
Counters = dict[tuple[str, str], Quantity]

ENTRIES_MAX = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    devices: list[PoolDevice]
    cost: Counters


@dataclass(frozen=True, slots=True)
class PoolDevice:
    """A device of a pool. `type_attribute` is the attribute that names its type of partition; empty if none does."""

    raw: Obj
    driver: str
    type_attribute: str

    @property
    def name(self) -> str:
        """Its name in the pool."""
        return str(self.raw["name"])

    @property
    def cost(self) -> Counters:
        """The counters that it consumes, by set and name."""
        return _amounts(self.raw.get("consumesCounters") or (), "counterSet")

    @property
    def partition_type(self) -> str | None:
        """The value of the attribute; a name without domain is in that of the driver."""
        attributes = self.raw.get("attributes") or {}
        bare = self.type_attribute.removeprefix(f"{self.driver}/")
        attribute = attributes.get(self.type_attribute) or attributes.get(bare) or {}
        value = attribute.get("string")
        return None if value is None else str(value)


def partition_summary(
    devices: Iterable[PoolDevice], sets: Iterable[Obj], used: Collection[str], *, pool: str
) -> tuple[list[Obj], str]:
    """Return how many partitions of each type a pool has and how many more can be allocated, or what is wrong.

    Each type is counted as if only its own partitions were allocated beside those in `used`.
    """
    typed = [device for device in devices if device.type_attribute]
    free = _amounts(sets, "name")
    if typed and not free:
        return [], f"PartitionTypeMissing: pool {pool} has partition types, but no sharedCounters"
    groups: dict[tuple[str, str], _Group] = {}
    for device in typed:
        if not (cost := device.cost):
            continue
        if (kind := device.partition_type) is None:
            return [], f"PartitionTypeMissing: device {device.name} of pool {pool} has no {device.type_attribute}"
        group = groups.setdefault((device.type_attribute, kind), _Group(devices=[], cost=cost))
        if group.cost != cost:
            return [], f"PartitionCostMismatch: partitions of type {kind} of pool {pool} consume different counters"
        group.devices.append(device)
        if device.name in used:
            _subtract(free, cost)
    if len(groups) > ENTRIES_MAX:
        return [], f"PartitionSummaryOverCap: pool {pool} has {len(groups)} types of partitions"
    return [_entry(attribute, kind, groups[attribute, kind], free, used) for attribute, kind in sorted(groups)], ""


def _entry(attribute: str, kind: str, group: _Group, free: Counters, used: Collection[str]) -> Obj:
    left = dict(free)
    fitting = 0
    for device in group.devices:
        if device.name not in used and all(left.get(key, Quantity(0)) >= amount for key, amount in group.cost.items()):
            _subtract(left, group.cost)
            fitting += 1
    return {"attribute": attribute, "type": kind, "total": len(group.devices), "allocatable": fitting}


def shareable_summary(devices: Iterable[PoolDevice], used: Mapping[str, list[Obj]]) -> Obj | None:
    """Return how much of the capacity of shared devices is consumed; None if a pool has no such device."""
    shared = [device for device in devices if device.raw.get("allowMultipleAllocations")]
    if not shared:
        return None
    total: dict[str, Quantity] = {}
    for device in shared:
        for name, capacity in (device.raw.get("capacity") or {}).items():
            total[name] = total.get(name, Quantity(0)) + Quantity.parse(str(capacity["value"]))
    consumed: dict[str, Quantity] = {}
    for result in (result for device in shared for result in used.get(device.name, ())):
        for name, amount in (result.get("consumedCapacity") or {}).items():
            consumed[name] = consumed.get(name, Quantity(0)) + Quantity.parse(str(amount))
    partly = sum(device.name in used for device in shared)
    summary: Obj = {"fullyAvailableDevices": len(shared) - partly, "partiallyAvailableDevices": partly}
    if total:
        summary["capacity"] = [_capacity(name, total[name], consumed.get(name, Quantity(0))) for name in sorted(total)]
    return summary


def _capacity(name: str, total: Quantity, consumed: Quantity) -> Obj:
    available = max(total - consumed, Quantity(0))
    return {"name": name, "total": str(total), "consumed": str(consumed), "available": str(available)}


def _amounts(entries: Iterable[Obj], key: str) -> Counters:
    return {
        (entry[key], name): Quantity.parse(str(counter["value"]))
        for entry in entries
        for name, counter in (entry.get("counters") or {}).items()
    }


def _subtract(left: Counters, cost: Counters) -> None:
    for key, amount in cost.items():
        if key in left:
            left[key] = left[key] - amount
