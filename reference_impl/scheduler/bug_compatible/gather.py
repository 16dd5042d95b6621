"""Pools as a release sees them from one node.

Pure functions over decoded slices. Deviations: older-generation-survives, contradictory-slice-counts,
counters-concern-every-node. Unlike the reference's `allocator/pools`, what a node sees of a pool decides first, and the
rest of the pool is looked at only where that does not suffice.

Source: GatherPools of k8s.io/dynamic-resource-allocation v0.36.6.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from reference_impl.scheduler.allocator import pools
from reference_impl.scheduler.allocator.model import Device, Features, PoolId, Slice
from reference_impl.scheduler.allocator.pools import PoolState
from reference_impl.scheduler.bug_compatible.variants import Variant, slice_as_read
from reference_impl.scheduler.node_match import NodeFacts


@dataclass(frozen=True, slots=True, eq=False)
class SeenPool:
    """One pool from one node.

    `devices` are those of slices for this node, also the devices of such slices that are for other nodes; `elsewhere`
    are devices of other slices, known only where the pool was looked through; `counters` are totals in billionths.
    """

    id: PoolId
    state: PoolState
    devices: tuple[Device, ...] = ()
    elsewhere: tuple[Device, ...] = ()
    counters: Mapping[tuple[str, str], int] = field(default_factory=dict)


def gather(
    pools_by_id: Iterable[Sequence[Slice]], node: NodeFacts, features: Features, variant: Variant
) -> list[SeenPool]:
    """The pools that concern `node`, in the order in which they are tried."""
    found = [
        pool
        for slices in pools_by_id
        if (pool := see([slice_as_read(piece, variant) for piece in slices], node, features, variant)) is not None
    ]
    if variant == "stable":
        return found  # its order is that of a Go map: chance
    return sorted(found, key=lambda pool: (any(device.binding_conditions for device in pool.devices), pool.id))


def see(slices: Sequence[Slice], node: NodeFacts, features: Features, variant: Variant) -> SeenPool | None:
    """One pool, or None where it does not concern the node or is being replaced."""
    relevant = newest(list(concerning(slices, node, features, variant)))
    if not relevant:
        return None
    believed = relevant[0].slice_count  # contradictory-slice-counts: nobody compares it with the others'
    whole: list[Slice] = relevant
    if len(relevant) != believed:
        # older-generation-survives: only here is it asked whether there is a newer one elsewhere.
        if any(piece.generation > relevant[0].generation for piece in slices):
            return None
        whole = [piece for piece in slices if piece.generation == relevant[0].generation]
        if len(whole) != believed:
            return SeenPool(relevant[0].pool, "incomplete")
    if variant != "stable":
        relevant = sorted(relevant, key=lambda piece: piece.name)
    return build(relevant, [piece for piece in whole if piece not in relevant], features)


def concerning(slices: Sequence[Slice], node: NodeFacts, features: Features, variant: Variant) -> Iterator[Slice]:
    """The slices that concern a node, the node's own before shared ones but in the stable variant.

    One with counters concerns every node (counters-concern-every-node).
    """
    readable = [piece for piece in slices if pools.usable_features(piece, features)]
    if variant != "stable":
        readable.sort(key=lambda piece: not piece.node_name or bool(piece.counter_sets))
    for piece in readable:
        if piece.counter_sets or pools.offered_to(piece, node):
            yield piece


def newest(slices: Sequence[Slice]) -> list[Slice]:
    """The slices of the highest generation among them."""
    return [piece for piece in slices if piece.generation == max(one.generation for one in slices)]


def build(relevant: Sequence[Slice], others: Sequence[Slice], features: Features) -> SeenPool:
    """A complete pool, or an invalid one: names count among the node's slices, counters among all that are known."""
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
        {
            (name, counter): value
            for piece in relevant
            for name, values in piece.counter_sets
            for counter, value in values.items()
        },
    )
