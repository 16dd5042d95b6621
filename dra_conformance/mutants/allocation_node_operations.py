"""Faults with slices that skip node operations (alpha in Kubernetes 1.37)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.scheduler.allocator import node_operations

_ALLOCATOR = "reference_impl.scheduler.allocator"
_OPERATIONS = f"{_ALLOCATOR}.node_operations"
_RESULT = f"{_ALLOCATOR}.results:device_result"
_SKIPPED: dict[str, Any] = {"kubernetes_version": "1.37", "feature_gates": ("DRAOptionalNodeOperations=true",)}


def _result(patch: Patch, change: Callable[[list[str]], list[str]]) -> None:
    """Change the operations that a result skips; an empty list is left out."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def device_result(request: Any, device: Any, **how: Any) -> Any:
            found = original(request, device, **how)
            operations = change(found.pop("skipNodeOperations", []))
            return {**found, "skipNodeOperations": operations} if operations else found

        return device_result

    patch.wrap(_RESULT, make)


@mutant("results-skip-no-operations", rule="DRA-517", **_SKIPPED)
def _(patch: Patch) -> None:
    """Results have no skipNodeOperations."""
    _result(patch, lambda operations: [])


@mutant("results-skip-one-operation", rule="DRA-517", **_SKIPPED)
def _(patch: Patch) -> None:
    """Of several operations, a result skips the first only."""
    _result(patch, lambda operations: operations[:1] if "NodePrepareResources" not in operations else operations[-1:])


@mutant("results-of-plain-slices-skip-operations", rule="DRA-517", **_SKIPPED)
def _(patch: Patch) -> None:
    """A result skips all operations although its slice skips none."""
    _result(patch, lambda operations: operations or ["*"])


def _by_slices(patch: Patch, counts: Callable[[bool, bool], bool]) -> None:
    """An allocation skips operations if `counts(its results do, the slices of its devices do)`."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def attempt(self: Any, attempt: Any, state: Any) -> Any:
            inventory = self._view.inventory(state.facts.name)
            skipping = {tuple(device.id) for device in inventory.devices if device.skipped_operations}
            kept = attempt.held
            attempt.held = {key: _amended(allocation, skipping, counts) for key, allocation in kept.items()}
            try:
                return original(self, attempt, state)
            finally:
                attempt.held = kept

        return attempt

    patch.wrap("reference_impl.scheduler.cycle:Cycle._try", make)


def _amended(allocation: Any, skipping: set[tuple[str, ...]], counts: Callable[[bool, bool], bool]) -> Any:
    results = []
    for result in allocation["devices"]["results"]:
        own = bool(result.get("skipNodeOperations"))
        now = (result["driver"], result["pool"], result["device"]) in skipping
        results.append({**result, "skipNodeOperations": ["*"] if counts(own, now) else []})
    return {**allocation, "devices": {**allocation["devices"], "results": results}}


@mutant("slices-that-cease-to-skip-count", rule="DRA-518", **_SKIPPED)
def _(patch: Patch) -> None:
    """An allocation whose slice has ceased to skip operations can be used on every node."""
    _by_slices(patch, lambda own, now: own and now)


@mutant("slices-that-begin-to-skip-count", rule="DRA-518", **_SKIPPED)
def _(patch: Patch) -> None:
    """An allocation whose slice has begun to skip operations can be used on nodes with the feature only."""
    _by_slices(patch, lambda own, now: own or now)


@mutant("skipped-on-every-node", rule="DRA-519", **_SKIPPED)
def _(patch: Patch) -> None:
    """The features of the node are not looked at when a device is allocated."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def init(self: Any, node: Any, node_pools: Any, features: Any) -> None:
            original(self, node, node_pools, features)
            for position, device in enumerate(self.devices):
                if device.skipped_operations:
                    self.barred &= ~(1 << position)

        return init

    patch.wrap(f"{_ALLOCATOR}.inventory:NodeInventory.__init__", make)


@mutant("any-declared-feature-will-do", rule="DRA-519", **_SKIPPED)
def _(patch: Patch) -> None:
    """A node with any declared feature counts as one that does without calls."""
    patch.replace(f"{_OPERATIONS}:optional_on", lambda node: bool(node.declared))


@mutant("no-node-skips", rule="DRA-519", **_SKIPPED)
def _(patch: Patch) -> None:
    """Devices whose operations are skipped are allocated on no node."""
    patch.replace(f"{_OPERATIONS}:optional_on", lambda node: False)


@mutant("declared-features-of-the-first-look", rule="DRA-723", **_SKIPPED)
def _(patch: Patch) -> None:
    """The features that a node declares are those that it had when the scheduler saw it first."""
    first: dict[str, Any] = {}

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda node: original(first.setdefault(node.name, node))

    patch.wrap(f"{_OPERATIONS}:optional_on", make)


@mutant("declared-features-wake-no-pod", rule="DRA-725", **_SKIPPED)
def _(patch: Patch) -> None:
    """A pod that waits is not tried again when its node declares another feature."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def without(node: Any) -> Any:
            return {**node, "status": {**(node.get("status") or {}), "declaredFeatures": None}}

        return lambda before, after: original(without(before), without(after))

    patch.wrap("reference_impl.scheduler.cluster_view:_same_for_pods", make)


@mutant("skipped-devices-are-none-of-all", rule="DRA-519", **_SKIPPED)
def _(patch: Patch) -> None:
    """On a node without the feature, a request for all devices gets those that skip no operations."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def matching(self: Any, request: Any, device_class: Any, claim: Any) -> Any:
            found = original(self, request, device_class, claim)
            return dataclasses.replace(found, mask=found.mask & ~self.barred)

        return matching

    patch.wrap(f"{_ALLOCATOR}.inventory:NodeInventory.matching", make)


@mutant("shared-allocations-on-every-node", rule="DRA-520", **_SKIPPED)
def _(patch: Patch) -> None:
    """A pod that shares an allocation is placed whatever operations its results skip."""
    patch.replace(f"{_OPERATIONS}:usable_on", lambda allocation, node: True)


@mutant("only-the-first-result-counts", rule="DRA-520", **_SKIPPED)
def _(patch: Patch) -> None:
    """Of an allocation, only the first result decides which nodes can use it."""

    def usable_on(allocation: Any, node: Any) -> bool:
        first = allocation["devices"]["results"][0]
        return node_operations.optional_on(node) or not first.get("skipNodeOperations")

    patch.replace(f"{_OPERATIONS}:usable_on", usable_on)


@mutant("only-all-operations-count", rule="DRA-520", **_SKIPPED)
def _(patch: Patch) -> None:
    """An allocation that does not skip all operations can be used on every node."""

    def usable_on(allocation: Any, node: Any) -> bool:
        skipped = [result.get("skipNodeOperations") or () for result in allocation["devices"]["results"]]
        return node_operations.optional_on(node) or not any("*" in operations for operations in skipped)

    patch.replace(f"{_OPERATIONS}:usable_on", usable_on)
