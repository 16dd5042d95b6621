"""Pools as a release sees them from one node.

Pure functions over decoded slices. Deviations: older-generation-survives, contradictory-slice-counts,
counters-concern-every-node; until 1.35 pools-in-any-order; in 1.34 also incomplete-pools-are-used and
slices-of-other-nodes-are-missed. Unlike the reference's `allocator/pools`, what a node
sees of a pool decides first, and the rest of the pool is looked at only where that does not suffice.

Source: GatherPools of k8s.io/dynamic-resource-allocation v0.34.13, v0.35.10 and v0.36.6.
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
    are devices of other slices, known only where the pool was looked through; `counters` are totals in billionths.
    `slices` are those that the devices stand in, where that matters.
    """

    id: PoolId
    state: PoolState
    devices: tuple[Device, ...] = ()
    elsewhere: tuple[Device, ...] = ()
    counters: Mapping[tuple[str, str], int] = field(default_factory=dict)
    slices: tuple[Slice, ...] = ()

    def slice_of(self, device: Device) -> Slice:
        """Return the slice that a device stands in."""
        return next(piece for piece in self.slices if any(device is one for one in piece.devices))


def gather(
    pools_by_id: Iterable[Sequence[Slice]], node: NodeFacts, features: Features, variant: Variant, release: Release
) -> list[SeenPool]:
    """The pools that concern `node`, in the order in which they are tried."""
    found = [
        pool
        for slices in pools_by_id
        if (pool := see([slice_as_read(piece, variant, release) for piece in slices], node, features, variant, release))
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
    """One pool, or None if it does not concern the node or is being replaced."""
    relevant = newest(list(concerning(slices, node, features, variant, release)))
    if not relevant:
        return None
    believed = relevant[0].slice_count  # contradictory-slice-counts: nobody compares it with the others'
    if release.has("slices-of-other-nodes-are-missed"):
        return half_seen(relevant, complete=len(relevant) == believed)
    whole: list[Slice] = relevant
    if len(relevant) != believed:
        # older-generation-survives: only here is it asked whether there is a newer one elsewhere.
        if any(piece.generation > relevant[0].generation for piece in slices):
            return None
        whole = [piece for piece in slices if piece.generation == relevant[0].generation]
        if len(whole) != believed:
            return SeenPool(relevant[0].pool, "incomplete")
    if variant != "stable" and not release.has("pools-in-any-order"):
        relevant = sorted(relevant, key=lambda piece: piece.name)
    return build(relevant, [piece for piece in whole if piece not in relevant], features)


def half_seen(relevant: Sequence[Slice], *, complete: bool) -> SeenPool:
    """Return a pool of 1.34: nothing of other nodes is known, and counters are each slice's own.

    Devices of an incomplete pool are there to be picked (incomplete-pools-are-used).
    """
    devices = tuple(device for piece in relevant for device in piece.devices)
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
    readable = [piece for piece in slices if pools.usable_features(_countless(piece) if counted else piece, features)]
    if release.has("pools-in-any-order"):
        if variant == "experimental":
            readable.sort(key=lambda piece: needs_conditions(piece.devices))
    elif variant != "stable":
        readable.sort(key=lambda piece: not piece.node_name or bool(piece.counter_sets))
    everywhere = release.has("counters-concern-every-node") and not counted
    for piece in readable:
        if (piece.counter_sets and everywhere) or pools.offered_to(piece, node):
            yield piece


def _countless(piece: Slice) -> Slice:
    return replace(piece, counter_sets=())


def newest(slices: Sequence[Slice]) -> list[Slice]:
    """Return the slices of the highest generation among them."""
    return [piece for piece in slices if piece.generation == max(one.generation for one in slices)]


def build(relevant: Sequence[Slice], others: Sequence[Slice], features: Features) -> SeenPool:
    """Return a complete pool, or an invalid one: names count among the node's slices, counters among all that are
    known.
    """
    identity = relevant[0].pool
    offering = [piece for piece in relevant if not (features.partitionable_devices and piece.counter_sets)]
    devices = tuple(device for piece in offering for device in piece.devices)
    known = (*relevant, *others)
    if pools.problem_in(known, devices, features):
        return SeenPool(identity, "invalid")
    if not features.partitionable_devices:
        return SeenPool(identity, "complete", devices)
    return SeenPool(
        identity,
        "complete",
        devices,
        tuple(device for piece in others for device in piece.devices),
        totals(relevant),
    )


def totals(slices: Iterable[Slice]) -> dict[tuple[str, str], int]:
    """What the counters of some slices hold, in billionths."""
    return {
        (name, counter): value
        for piece in slices
        for name, values in piece.counter_sets
        for counter, value in values.items()
    }
