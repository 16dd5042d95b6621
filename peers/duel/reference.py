"""The reference allocator's answers, in the form of upstream's."""

from __future__ import annotations

from dataclasses import dataclass

from dra_api.objects import Obj
from reference_impl.scheduler.allocator import (
    AllocationError,
    Allocator,
    Claim,
    DeviceClass,
    Features,
    NodeInventory,
    Slice,
    Taken,
    decode_claim,
    decode_slice,
)
from reference_impl.scheduler.allocator.model import PoolId
from reference_impl.scheduler.allocator.search import SearchLimit
from reference_impl.scheduler.node_match import NodeFacts


@dataclass(frozen=True, slots=True)
class Fact:
    """What came of one node: `allocated`, `unallocatable`, `error` or `timeout` (upstream may also `panic`)."""

    node: str
    outcome: str
    message: str = ""
    allocations: tuple[Obj, ...] = ()


def features_of(case: Obj) -> Features:
    """The case's features in the reference's words."""
    on = case.get("features") or {}
    return Features(
        admin_access=bool(on.get("AdminAccess")),
        prioritized_list=bool(on.get("PrioritizedList")),
        partitionable_devices=bool(on.get("PartitionableDevices")),
        device_taints=bool(on.get("DeviceTaints")),
        binding_conditions=bool(on.get("DeviceBindingAndStatus")),
        consumable_capacity=bool(on.get("ConsumableCapacity")),
        list_attributes=bool(on.get("ListTypeAttributes")),
    )


def ask(case: Obj) -> list[Fact]:
    """What the reference makes of a case, node by node."""
    features = features_of(case)
    pools: dict[PoolId, list[Slice]] = {}
    for obj in case["slices"]:
        piece = decode_slice(obj)
        pools.setdefault(piece.pool, []).append(piece)
    classes = {name: DeviceClass.decode(obj) for obj in case["classes"] for name in [obj["metadata"]["name"]]}
    claims = [decode_claim(obj) for obj in case["claims"]]
    taken = Taken()
    taken.add(case["taken"])
    return [_one(node, pools, classes, claims, taken, features) for node in map(NodeFacts.of, case["nodes"])]


def _one(
    node: NodeFacts,
    pools: dict[PoolId, list[Slice]],
    classes: dict[str, DeviceClass],
    claims: list[Claim],
    taken: Taken,
    features: Features,
) -> Fact:
    try:
        inventory = NodeInventory.build(node, [*pools.values()], features)
        outcome = Allocator(claims, classes, features=features).on(inventory, taken, why=False)
    except SearchLimit as error:
        return Fact(node.name, "timeout", str(error))
    except AllocationError as error:
        return Fact(node.name, "unallocatable" if error.on_node_only else "error", str(error))
    if outcome.allocations is None:
        return Fact(node.name, "unallocatable")
    return Fact(node.name, "allocated", allocations=tuple(entry.result for entry in outcome.allocations))
