"""Shared counters of partitionable devices (KEP-4815): what is left of each, and whether a device still fits.

Pure functions over one pool. Amounts are integers in billionths.

Source: allocator_incubating.go checkAvailableCounters (v0.36) with the intended keys and roll-back of
kubernetes/kubernetes#140504 and #140431; rules DRA-189 to DRA-196.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from reference_impl.scheduler.allocator.model import Device, SubRequest
from reference_impl.scheduler.allocator.pools import NodePool

Amounts = Mapping[tuple[str, str], int]


def available(pool: NodePool, allocated_names: Iterable[str]) -> dict[tuple[str, str], int]:
    """Return the rest of each counter of `pool` while the devices `allocated_names` are in use, on any node.

    A shared device counts once (DRA-211). The rest of an over-used counter is zero. A counter that the pool does not
    define is skipped: with partitionable devices enabled, its pool is invalid (DRA-194).
    """
    left = dict(pool.counters)
    for name in set(allocated_names):
        device = pool.by_name.get(name)
        if device is not None:
            for counter, value in device.counters.items():
                if counter in left:
                    left[counter] -= value
    return left


def charged(request: SubRequest) -> bool:
    """Return whether a request's devices take from the counters: admin access only looks on (DRA-237)."""
    return not request.admin_access


def fits(device: Device, left: Amounts) -> bool:
    """Return whether every counter that `device` takes from has enough left (DRA-192)."""
    return all(value <= left.get(counter, 0) for counter, value in device.counters.items())


def take(device: Device, left: dict[tuple[str, str], int]) -> None:
    """Charge `device`."""
    for counter, value in device.counters.items():
        left[counter] -= value


def give_back(device: Device, left: dict[tuple[str, str], int]) -> None:
    """Undo `take`."""
    for counter, value in device.counters.items():
        left[counter] += value


def least_needed(devices: Sequence[Device]) -> dict[str, int]:
    """Return a lower bound of what any of `devices` consumes, by counter name over all sets of their pool.

    Sets of one pool are added up: what one partition takes from one GPU's set, another may take from the next GPU's,
    but the pool as a whole must have enough.
    """
    totals = [_by_name(device) for device in devices]
    names = set.intersection(*(set(total) for total in totals))
    return {name: min(total[name] for total in totals) for name in names}


def _by_name(device: Device) -> dict[str, int]:
    totals: dict[str, int] = {}
    for (_, name), value in device.counters.items():
        totals[name] = totals.get(name, 0) + value
    return totals
