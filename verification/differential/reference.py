"""The reference allocator's answers, in the form of upstream's."""

from __future__ import annotations

from dataclasses import dataclass

from dra_api.feature_gates import ALLOCATOR_FEATURES
from dra_api.objects import Obj
from reference_impl.node_selector import NodeFacts
from reference_impl.scheduler import options
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
from reference_impl.scheduler.allocator.model import Outcome, PoolId
from reference_impl.scheduler.allocator.search import SearchLimit
from reference_impl.scheduler.bug_compatible import CompatibleAllocator, NodePools, Panic, Release

# A search through all combinations is stopped early: effort is compared separately from the outcome.
WALK_STEPS = 400


@dataclass(frozen=True, slots=True)
class Fact:
    """The outcome of one node: `allocated`, `unallocatable`, `error` or `timeout` (upstream also `panic`)."""

    node: str
    outcome: str
    message: str = ""
    allocations: tuple[Obj, ...] = ()


def gates_off(case: Obj) -> frozenset[str]:
    """Return the gates of the features that the case does not have."""
    on = case.get("features") or {}
    return frozenset(gate for name, gates in ALLOCATOR_FEATURES.items() if not on.get(name) for gate in gates)


def features_of(case: Obj) -> Features:
    """Return the case's features as options of the reference allocator."""
    return options.features_of(dict.fromkeys(gates_off(case), False))


def allocate(case: Obj, release: Release | None = None) -> list[Fact]:
    """Return the reference's outcome of a case by node; with `release`, with the deviations of that release."""
    features = features_of(case)
    pools: dict[PoolId, list[Slice]] = {}
    for obj in case["slices"]:
        slice_ = decode_slice(obj)
        pools.setdefault(slice_.pool, []).append(slice_)
    classes = {name: DeviceClass.decode(obj) for obj in case["classes"] for name in [obj["metadata"]["name"]]}
    claims = [decode_claim(obj) for obj in case["claims"]]
    taken = Taken()
    taken.add(case["taken"])
    allocator = Deferred(claims, classes, features, release)
    return [_one(node, pools, allocator, taken) for node in map(NodeFacts.of, case["nodes"])]


class Deferred:
    """An allocator that is created at its first use, because errors in claims count as the outcome of a node here."""

    def __init__(
        self, claims: list[Claim], classes: dict[str, DeviceClass], features: Features, release: Release | None
    ) -> None:
        self._claims = claims
        self._classes = classes
        self._features = features
        self._release = release
        self._compatible: CompatibleAllocator | None = None

    def on(self, node: NodeFacts, pools: dict[PoolId, list[Slice]], taken: Taken) -> Outcome:
        """Allocate on one node. Raises AllocationError."""
        if self._release is None:
            inventory = NodeInventory.build(node, [*pools.values()], self._features)
            allocator = Allocator(self._claims, self._classes, features=self._features)
            outcome = allocator.on(inventory, taken)
            if outcome.allocations is None:
                # Not compared: the explanation must not fail if the allocation does not.
                allocator.why_not(inventory, taken)
            return outcome
        seen = NodePools.build(node, [*pools.values()], self._features, self._release)
        if self._compatible is None:  # one for all nodes: the state that it keeps of counters is part of the release
            self._compatible = CompatibleAllocator(
                self._claims, self._classes, release=self._release, features=self._features, max_steps=WALK_STEPS
            )
        return self._compatible.on(seen, taken)


def _one(node: NodeFacts, pools: dict[PoolId, list[Slice]], allocator: Deferred, taken: Taken) -> Fact:
    try:
        outcome = allocator.on(node, pools, taken)
    except SearchLimit as error:
        return Fact(node.name, "timeout", str(error))
    except Panic as error:
        return Fact(node.name, "panic", str(error))
    except AllocationError as error:
        return Fact(node.name, "unallocatable" if error.on_node_only else "error", str(error))
    if outcome.allocations is None:
        return Fact(node.name, "unallocatable")
    return Fact(node.name, "allocated", allocations=tuple(entry.result for entry in outcome.allocations))
