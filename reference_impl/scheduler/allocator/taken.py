"""Devices in use: the sum of all allocations that count, updated by adding and removing them.

The component that follows the cluster owns a `Taken` and is its only writer; the allocator only reads it.

Source: k8s.io/kubernetes pkg/scheduler/framework/plugins/dynamicresources/dra_manager.go and allocateddevices.go
(v1.36): results with admin access do not count, results with a share count by what they consume; rules DRA-133,
DRA-211, DRA-212, DRA-234.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from dra_api.objects import Obj
from reference_impl.scheduler.allocator.model import PoolId, amount


@dataclass(slots=True)
class Shares:
    """The number of results that share one device, and their total consumption of each capacity, in billionths."""

    count: int = 0
    amounts: dict[str, int] = field(default_factory=dict)


def counts(result: Obj) -> bool:
    """Return whether an allocation result keeps others from its device: one with admin access does not (DRA-234)."""
    return not result.get("adminAccess")


class Taken:
    """Devices in use, by pool and name."""

    def __init__(self) -> None:
        self.exclusive: dict[PoolId, dict[str, int]] = {}
        self.shared: dict[PoolId, dict[str, Shares]] = {}
        # Rises with every change of a pool, so that what was derived from it can be kept meanwhile.
        self.versions: dict[PoolId, int] = {}

    def add(self, results: Iterable[Obj]) -> None:
        """Count the results (`allocation.devices.results`) of one claim."""
        for result in filter(counts, results):
            pool = PoolId(result["driver"], result["pool"])
            self.versions[pool] = self.versions.get(pool, 0) + 1
            if result.get("shareID"):
                shares = self.shared.setdefault(pool, {}).setdefault(result["device"], Shares())
                shares.count += 1
                for name, value in (result.get("consumedCapacity") or {}).items():
                    shares.amounts[name] = shares.amounts.get(name, 0) + amount(value)
            else:
                names = self.exclusive.setdefault(pool, {})
                names[result["device"]] = names.get(result["device"], 0) + 1

    def remove(self, results: Iterable[Obj]) -> None:
        """Undo `add`."""
        for result in filter(counts, results):
            pool = PoolId(result["driver"], result["pool"])
            self.versions[pool] = self.versions.get(pool, 0) + 1
            if result.get("shareID"):
                shares = self.shared[pool][result["device"]]
                shares.count -= 1
                for name, value in (result.get("consumedCapacity") or {}).items():
                    shares.amounts[name] -= amount(value)
                if shares.count == 0:
                    del self.shared[pool][result["device"]]
            else:
                names = self.exclusive[pool]
                names[result["device"]] -= 1
                if names[result["device"]] == 0:
                    del names[result["device"]]

    def names(self, pool: PoolId) -> Iterator[str]:
        """Return the devices of `pool` that anyone uses, shared ones too."""
        yield from self.exclusive.get(pool, ())
        yield from self.shared.get(pool, ())
