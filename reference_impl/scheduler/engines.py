"""The choice of allocator: the reference's own, or one with the known deviations of a Kubernetes release.

An `Engine` creates the inventory of a node (`inventory`) and the allocator for the claims of a pod (`allocator`), which
is applied to inventories. Stateless.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from reference_impl.node_selector import NodeFacts
from reference_impl.scheduler.allocator import Allocator, Claim, NodeInventory, Outcome, Slice, Taken
from reference_impl.scheduler.allocator.model import Classes, Features
from reference_impl.scheduler.bug_compatible import CompatibleAllocator, NodePools, Release


class PodAllocator(Protocol):
    """The claims of one pod against any number of nodes. An inventory comes from the engine that made the allocator."""

    max_steps: int

    def on(self, inventory: Any, taken: Taken) -> Outcome:
        """Try one node. Raises AllocationError."""
        ...

    def why_not(self, inventory: Any, taken: Taken) -> str:
        """Return why a node is unsuitable, in one sentence."""
        ...


class Engine(Protocol):
    """A way to allocate."""

    def inventory(self, node: NodeFacts, slices_by_pool: Iterable[Sequence[Slice]], features: Features) -> Any:
        """Return the inventory of `node`, from all slices of every pool that may concern it."""
        ...

    def home_of(self, item: Slice) -> str:
        """Return the only node that a slice concerns; empty when it may concern several."""
        ...

    def allocator(
        self, claims: Sequence[Claim], classes: Classes, *, features: Features, max_steps: int
    ) -> PodAllocator:
        """Return an allocator for a pod's claims. Raises AllocationError for claims that no node can satisfy."""
        ...


class Correct:
    """The reference's own allocator."""

    def inventory(self, node: NodeFacts, slices_by_pool: Iterable[Sequence[Slice]], features: Features) -> Any:
        """See Engine."""
        return NodeInventory.build(node, [*slices_by_pool], features)

    def home_of(self, item: Slice) -> str:
        """See Engine."""
        return item.local_to

    def allocator(
        self, claims: Sequence[Claim], classes: Classes, *, features: Features, max_steps: int
    ) -> PodAllocator:
        """See Engine."""
        return Allocator(claims, classes, features=features, max_steps=max_steps)


class Compatible:
    """An allocator with the deviations of `release`."""

    def __init__(self, release: Release) -> None:
        self._release = release

    def inventory(self, node: NodeFacts, slices_by_pool: Iterable[Sequence[Slice]], features: Features) -> Any:
        """See Engine."""
        return NodePools.build(node, slices_by_pool, features, self._release)

    def home_of(self, item: Slice) -> str:
        """See Engine; a slice with counters concerns every node (counters-concern-every-node)."""
        return "" if item.counter_sets else item.local_to

    def allocator(
        self, claims: Sequence[Claim], classes: Classes, *, features: Features, max_steps: int
    ) -> PodAllocator:
        """See Engine."""
        return CompatibleAllocator(claims, classes, release=self._release, features=features, max_steps=max_steps)


def engine_for(release: Release | None) -> Engine:
    """Return the engine with the deviations of a release, or the correct one."""
    return Correct() if release is None else Compatible(release)
