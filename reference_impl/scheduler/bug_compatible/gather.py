"""Pools as a release sees them from one node.

Pure functions over decoded slices. Deviations: older-generation-survives, contradictory-slice-counts,
counters-concern-every-node (since 1.37 in the stable variant alone); until 1.35 pools-in-any-order; in 1.34 also
incomplete-pools-are-used and slices-of-other-nodes-are-missed. Unlike the reference's `allocator/pools`, the slices for
a node decide first, and the rest of the pool is read only if they are not sufficient.

Source: GatherPools of k8s.io/dynamic-resource-allocation v0.34.13, v0.35.10, v0.36.6 and v0.37.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from reference_impl.node_selector import NodeFacts
from reference_impl.scheduler.allocator import pools
from reference_impl.scheduler.allocator.model import Device, Features, PoolId, Slice
from reference_impl.scheduler.allocator.pools import PoolState
from reference_impl.scheduler.bug_compatible.deviations import Release
from reference_impl.scheduler.bug_compatible.variants import Variant, slice_as_read


@dataclass(frozen=True, slots=True, eq=False)
class SeenPool:
    """One pool from one node.

    `devices` are those of slices for this node, also the devices of such slices that are for other nodes; `elsewhere`
    are devices of other slices, known only if the whole pool was read; `counters` are totals in billionths.
    `slices` are those of the devices, if that matters.
    """

    id: PoolId
    state: PoolState
    devices: tuple[Device, ...] = ()
    elsewhere: tuple[Device, ...] = ()
    counters: Mapping[tuple[str, str], int] = field(default_factory=dict)
    slices: tuple[Slice, ...] = ()

    def slice_of(self, device: Device) -> Slice:
        """Return the slice that lists a device."""
        return next(item for item in self.slices if any(device is one for one in item.devices))


def gather(
    pools_by_id: Iterable[Sequence[Slice]], node: NodeFacts, features: Features, variant: Variant, release: Release
) -> list[SeenPool]:
    """Return the pools that concern `node`, in the order in which they are tried."""
    found = [
        pool
        for slices in pools_by_id
        if (pool := see([slice_as_read(item, variant, release) for item in slices], node, features, variant, release))
        is not None
    ]
    if variant == "stable":
        return found  # its order is that of a Go map: chance
    if release.has("pools-in-any-order"):
        return sorted(found, key=lambda pool: variant == "experimental" and needs_conditions(pool.devices))
    return sorted(found, key=lambda pool: (needs_conditions(pool.devices), pool.id))


def needs_conditions(devices: Iterable[Device]) -> bool:
    """Return whether any of the devices must be made ready before a pod is bound."""
    return any(device.binding_conditions for device in devices)


def see(
    slices: Sequence[Slice], node: NodeFacts, features: Features, variant: Variant, release: Release
) -> SeenPool | None:
    """Return one pool, or None if it does not concern the node or is being replaced."""
    relevant = newest(list(concerning(slices, node, features, variant, release)))
    if not relevant:
        return None
    believed = relevant[0].slice_count  # contradictory-slice-counts: it is not compared with the counts of the others
    if release.has("slices-of-other-nodes-are-missed"):
        return half_seen(relevant, complete=len(relevant) == believed)
    whole: list[Slice] = relevant
    if len(relevant) != believed:
        # older-generation-survives: only here a newer generation elsewhere is considered.
        if any(item.generation > relevant[0].generation for item in slices):
            return None
        whole = [item for item in slices if item.generation == relevant[0].generation]
        if len(whole) != believed:
            return SeenPool(relevant[0].pool, "incomplete")
    if variant != "stable" and not release.has("pools-in-any-order"):
        relevant = sorted(relevant, key=lambda item: item.name)
    return build(relevant, [item for item in whole if item not in relevant], features, release)


def half_seen(relevant: Sequence[Slice], *, complete: bool) -> SeenPool:
    """Return a pool of 1.34: nothing of other nodes is known, and counters are each slice's own.

    Devices of an incomplete pool are there to be picked (incomplete-pools-are-used).
    """
    devices = tuple(device for item in relevant for device in item.devices)
    twice = len({device.id.device for device in devices}) < len(devices)
    state: PoolState = "invalid" if twice else "complete" if complete else "incomplete"
    return SeenPool(relevant[0].pool, state, devices, counters=totals(relevant), slices=tuple(relevant))


def concerning(
    slices: Sequence[Slice], node: NodeFacts, features: Features, variant: Variant, release: Release
) -> Iterator[Slice]:
    """Return the slices that concern a node: since 1.36 its own before shared ones, but in the stable variant; before,
    in the experimental one, those with binding conditions last.

    One with counters concerns every node (counters-concern-every-node).
    """
    # Before 1.36, a slice with counters was one like any other to a variant that knew no counters of pools.
    counted = release.minor < 35 or (release.minor < 36 and variant == "stable")
    readable = [item for item in slices if pools.usable_features(_countless(item) if counted else item, features)]
    if release.has("pools-in-any-order"):
        if variant == "experimental":
            readable.sort(key=lambda item: needs_conditions(item.devices))
    elif variant != "stable":
        # Until 1.36, one with counters was among the shared ones.
        readable.sort(key=lambda item: not item.node_name or (release.minor < 37 and bool(item.counter_sets)))
    everywhere = release.has("counters-concern-every-node") and not counted
    if release.minor >= 37:
        everywhere = everywhere and variant == "stable"
    for item in readable:
        if (item.counter_sets and everywhere) or pools.offered_to(item, node):
            yield item


def _countless(item: Slice) -> Slice:
    return replace(item, counter_sets=())


def newest(slices: Sequence[Slice]) -> list[Slice]:
    """Return the slices of the highest generation among them."""
    return [item for item in slices if item.generation == max(one.generation for one in slices)]


def build(relevant: Sequence[Slice], others: Sequence[Slice], features: Features, release: Release) -> SeenPool:
    """Return a complete pool, or an invalid one: names count among the node's slices, counters among all that are
    known.
    """
    identity = relevant[0].pool
    offering = [item for item in relevant if not (features.partitionable_devices and item.counter_sets)]
    devices = tuple(device for item in offering for device in item.devices)
    known = (*relevant, *others)
    if pools.problem_in(known, devices, features):
        return SeenPool(identity, "invalid")
    if not features.partitionable_devices:
        return SeenPool(identity, "complete", devices)
    return SeenPool(
        identity,
        "complete",
        devices,
        tuple(device for item in others for device in item.devices),
        totals(known if release.minor >= 37 else relevant),
    )


def totals(slices: Iterable[Slice]) -> dict[tuple[str, str], int]:
    """Return the total of the counters of some slices, in billionths."""
    return {
        (name, counter): value
        for item in slices
        for name, values in item.counter_sets
        for counter, value in values.items()
    }
