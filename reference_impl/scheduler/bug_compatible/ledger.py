"""Shared counters as a release keeps account of them.

Deviations: overcommitted-counters; in 1.36.2 and before also counters-by-pool-name and rejected-keeps-counters; until
1.35 shares-free-counters, in 1.34 counters-of-one-slice. `Available` lives as long as one pod is tried on all nodes, a
`Ledger` for one attempt on one node. Amounts are in billionths.

Source: checkAvailableCounters and its callers in k8s.io/dynamic-resource-allocation v0.34.13 to v0.37.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from reference_impl.scheduler.allocator.model import Device, Features
from reference_impl.scheduler.allocator.taken import Taken
from reference_impl.scheduler.bug_compatible.deviations import Release
from reference_impl.scheduler.bug_compatible.gather import SeenPool

Counter: TypeAlias = tuple[str, str]
Account: TypeAlias = tuple[str, ...]


def account_of(pool: SeenPool, device: Device, release: Release) -> Account:
    """Return the account of the counters of a device."""
    if release.has("counters-of-one-slice"):
        return (pool.slice_of(device).name,)
    return (pool.id.pool,) if release.has("counters-by-pool-name") else pool.id


class Available:
    """The rest of each counter after earlier allocations, computed on first use of a pool."""

    def __init__(self, release: Release, features: Features) -> None:
        self._release = release
        # With the feature disabled, a share uses the whole device.
        self._shares_are_free = release.has("shares-free-counters") and features.consumable_capacity
        self._left: dict[Account, dict[Counter, int]] = {}

    def of(self, pool: SeenPool, device: Device, taken: Taken) -> Mapping[Counter, int]:
        """Return the rest of the counters that a device consumes; cached by account."""
        account = account_of(pool, device, self._release)
        known = self._left.get(account)
        if known is None:
            known = self._left[account] = dict(self._totals(pool, device))
            used = set(taken.exclusive.get(pool.id, ()))
            if not self._shares_are_free:
                used |= set(taken.names(pool.id))
            for other in self._others(pool, device):
                if other.id.device in used:
                    for counter, value in other.counters.items():
                        if counter in known:
                            known[counter] -= value
        return known

    def _totals(self, pool: SeenPool, device: Device) -> Mapping[Counter, int]:
        if not self._release.has("counters-of-one-slice"):
            return pool.counters
        sets = pool.slice_of(device).counter_sets
        return {(name, counter): value for name, values in sets for counter, value in values.items()}

    def _others(self, pool: SeenPool, device: Device) -> Sequence[Device]:
        if self._release.has("counters-of-one-slice"):
            return pool.slice_of(device).devices
        return (*pool.devices, *pool.elsewhere)


class Ledger:
    """The consumption of the picks of one attempt."""

    def __init__(self, available: Available, taken: Taken, release: Release) -> None:
        self._available = available
        self._taken = taken
        self._release = release
        self._spent: dict[Account, dict[Counter, int]] = {}

    def charge(self, pool: SeenPool, device: Device) -> bool:
        """Charge a device; False, with nothing charged, if the account has too little.

        All counters of the account are compared, also those that the device does not take from
        (overcommitted-counters).
        """
        spent = self._spent.setdefault(account_of(pool, device, self._release), {})
        self._add(spent, device, 1)
        left = self._available.of(pool, device, self._taken)
        if any(amount < spent.get(counter, 0) for counter, amount in left.items()):
            self._add(spent, device, -1)
            return False
        return True

    def refuse(self, pool: SeenPool, device: Device) -> None:
        """Release a charged device that another check refused (rejected-keeps-counters: it stays charged)."""
        if not self._release.has("rejected-keeps-counters"):
            self.give_back(pool, device)

    def give_back(self, pool: SeenPool, device: Device) -> None:
        """Release a charged device."""
        self._add(self._spent[account_of(pool, device, self._release)], device, -1)

    @staticmethod
    def _add(spent: dict[Counter, int], device: Device, sign: int) -> None:
        for counter, value in device.counters.items():
            spent[counter] = spent.get(counter, 0) + sign * value
