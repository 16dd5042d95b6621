"""The devices of one node, prepared for searching: in order, one bit each, with masks of those that match.

Built from the node's pools; immutable except for its caches. Bit i of a mask is the i-th
device.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from dra_api.quantity import Quantity
from reference_impl.node_selector import NodeFacts
from reference_impl.scheduler.allocator import (
    capacity,
    constraints,
    counters,
    node_operations,
    pools,
    selectors,
    taints,
)
from reference_impl.scheduler.allocator.model import (
    AttributeValue,
    Claim,
    Device,
    DeviceClass,
    DeviceId,
    Features,
    PoolId,
    Slice,
    SubRequest,
)
from reference_impl.scheduler.allocator.pools import NodePool
from reference_impl.scheduler.allocator.taken import Taken

Wanted: TypeAlias = tuple[tuple[str, Quantity], ...]  # capacity.requests of a request
# So many different requests' figures are kept for a node before they are forgotten.
MAX_KEPT = 256


def bits(mask: int) -> Iterator[int]:
    """Return the set bits of `mask`, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


class Taking(NamedTuple):
    """The consumption of one capacity by a request: its name, the amount and the device's total in billionths, and as
    text.
    """

    name: str
    amount: int
    total: int
    text: str


class Consumption(dict[int, tuple[Taking, ...]]):
    """The consumption of the capacities of each shared device by one request, computed on first use."""

    def __init__(self, devices: Sequence[Device], request: SubRequest) -> None:
        super().__init__()
        self._devices = devices
        self._request = request

    def __missing__(self, position: int) -> tuple[Taking, ...]:
        device = self._devices[position]
        taken = capacity.consumed_by(device, self._request)
        found = tuple(
            Taking(one.name, taken[one.name].scaled_value(-9), one.value.scaled_value(-9), str(taken[one.name]))
            for one in device.capacity.values()
        )
        self[position] = found
        return found


@dataclass(frozen=True, slots=True)
class Matched:
    """Devices that pass all selectors, and those on which a selector failed."""

    mask: int
    failed: int


class NodeInventory:
    """The devices that one node offers."""

    def __init__(self, node: NodeFacts, node_pools: Sequence[NodePool], features: Features) -> None:
        self.node = node
        self.features = features
        self.pools = pools.order(node_pools)
        self.devices: list[Device] = []
        self.pool_of: list[NodePool] = []
        self.index: dict[tuple[int, str], int] = {}
        self.shareable = 0
        self.tainted = 0
        # Devices that count as devices, but cannot be had: partitions while the feature is off (DRA-199), and those
        # whose node operations are skipped if that feature is off or the node's kubelet lacks it (DRA-519, DRA-521).
        self.barred = 0
        calls_optional = features.optional_node_operations and node_operations.optional_on(node)
        # Devices of which taking one can bear on another.
        self.entangled = 0
        for number, pool in enumerate(self.pools):
            for device in pool.devices:
                bit = 1 << len(self.devices)
                self.index[number, device.id.device] = len(self.devices)
                if capacity.shareable(device, enabled=features.consumable_capacity):
                    self.shareable |= bit
                if (device.skipped_operations and not calls_optional) or (
                    device.counters and not features.partitionable_devices
                ):
                    self.barred |= bit
                if device.counters or self.shareable & bit:
                    self.entangled |= bit
                if device.taints:
                    self.tainted |= bit
                self.devices.append(device)
                self.pool_of.append(pool)
        self.everything = (1 << len(self.devices)) - 1
        self._matched: dict[object, Matched] = {}
        self._values: dict[str, dict[constraints.Values, int]] = {}
        self._having: dict[str, dict[AttributeValue, int]] = {}
        self._too_small: dict[Wanted, int] = {}
        self._consumption: dict[Wanted, Consumption] = {}
        self._least: dict[int, tuple[PoolId, dict[str, int]] | None] = {}
        self._busy: tuple[Taken, tuple[int, ...], int] | None = None
        # The sets that have a counter of each name, pool by pool.
        self.counters_named: dict[PoolId, dict[str, list[tuple[str, str]]]] = {}
        for pool in self.pools:
            named = self.counters_named.setdefault(pool.id, {})
            for key in pool.counters:
                named.setdefault(key[1], []).append(key)

    @classmethod
    def build(cls, node: NodeFacts, slices_by_pool: Sequence[Sequence[Slice]], features: Features) -> NodeInventory:
        """Prepare `node` from all slices of every pool that may concern it."""
        seen = (pools.view_pool(slices, node, features) for slices in slices_by_pool if slices)
        return cls(node, [pool for pool in seen if pool is not None], features)

    def device(self, id_: DeviceId) -> Device | None:
        """Return a device of the node by driver, pool and name, or None."""
        for number, pool in enumerate(self.pools):
            if pool.id == id_.pool_id and (position := self.index.get((number, id_.device))) is not None:
                return self.devices[position]
        return None

    def unusable(self, state: pools.PoolState) -> NodePool | None:
        """Return the first pool in `state`, if any."""
        return next((pool for pool in self.pools if pool.state == state), None)

    def in_use(self, taken: Taken) -> int:
        """Return the mask of devices in exclusive use, including devices with shares that can no longer be shared."""
        # Only allocations from this node's own pools invalidate its mask.
        versions = tuple([taken.versions.get(pool.id, 0) for pool in self.pools])
        if self._busy is not None and self._busy[0] is taken and self._busy[1] == versions:
            return self._busy[2]
        mask = 0
        for number, pool in enumerate(self.pools):
            mask |= self._mask(number, taken.exclusive.get(pool.id, ()))
            mask |= self._mask(number, taken.shared.get(pool.id, ())) & ~self.shareable
        self._busy = (taken, versions, mask)
        return mask

    def _mask(self, pool: int, names: Iterable[str]) -> int:
        found = 0
        for name in names:
            position = self.index.get((pool, name))
            if position is not None:
                found |= 1 << position
        return found

    def matching(self, request: SubRequest, device_class: DeviceClass, claim: Claim) -> Matched:
        """Return devices that pass the selectors of class and request, whether free or not."""
        key = (device_class.name, device_class.selectors, request.selectors)
        known = self._matched.get(key)
        if known is None:
            mask = failed = 0
            for position, device in enumerate(self.devices):
                try:
                    if selectors.matches(device, request, device_class, claim, self.features):
                        mask |= 1 << position
                # Recorded only: it is an error of the claim if the search reaches this device.
                except selectors.SelectorError:
                    failed |= 1 << position
            known = self._matched[key] = Matched(mask, failed)
        return known

    def repelling(self, request: SubRequest) -> int:
        """Return the devices whose taints `request` does not tolerate."""
        mask = 0
        if self.tainted and self.features.device_taints:
            for position in bits(self.tainted):
                if taints.untolerated(self.devices[position], request) is not None:
                    mask |= 1 << position
        return mask

    def too_small(self, request: SubRequest) -> int:
        """Return the devices whose total capacity is too small for `request`."""
        known = self._too_small.get(request.capacity)
        if known is None:
            known = 0
            for position in bits(self.everything if request.capacity else self.shareable):
                shared = bool(self.shareable >> position & 1)
                if not capacity.acceptable(self.devices[position], request, shared=shared):
                    known |= 1 << position
            if len(self._too_small) > MAX_KEPT:
                self._too_small.clear()
            self._too_small[request.capacity] = known
        return known

    def consumption(self, request: SubRequest) -> Consumption:
        """Return the consumption of shared devices by `request`."""
        known = self._consumption.get(request.capacity)
        if known is None:
            if len(self._consumption) > MAX_KEPT:
                self._consumption.clear()
            known = self._consumption[request.capacity] = Consumption(self.devices, request)
        return known

    def least_counters(self, mask: int) -> tuple[PoolId, dict[str, int]] | None:
        """Return the least that any device of `mask` consumes of its pool's counters; None for several pools, or for
        none.
        """
        if mask not in self._least:
            devices = [self.devices[position] for position in bits(mask)]
            homes = {device.id.pool_id for device in devices}
            least = counters.least_needed(devices) if len(homes) == 1 else {}
            if len(self._least) > MAX_KEPT:
                self._least.clear()
            self._least[mask] = (homes.pop(), least) if least else None
        return self._least[mask]

    def by_value(self, attribute: str) -> dict[constraints.Values, int]:
        """Return devices by their values of a constrained attribute; those without it are in none."""
        known = self._values.get(attribute)
        if known is None:
            known = self._values[attribute] = {}
            for position, device in enumerate(self.devices):
                values = constraints.values(device, attribute, self.features)
                if values is not None:
                    known[values] = known.get(values, 0) | 1 << position
        return known

    def having(self, attribute: str) -> Mapping[AttributeValue, int]:
        """Return the devices that have each single value of a constrained attribute."""
        known = self._having.get(attribute)
        if known is None:
            known = self._having[attribute] = {}
            for values, mask in self.by_value(attribute).items():
                for value in values:
                    known[value] = known.get(value, 0) | mask
        return known
