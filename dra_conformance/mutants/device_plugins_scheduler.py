"""Mutants of the scheduler on nodes that move between a device plugin and a DRA driver."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.scheduler import pod_resources

_SCHEDULER = "reference_impl.scheduler"
_EXTENDED = f"{_SCHEDULER}.extended_resources"


@mutant("resource-of-a-gone-plugin-left-to-it", rule="DP-109")
def _(patch: Patch) -> None:
    """A node that names the resource is served by a device plugin, whatever the number of devices."""
    patch.replace(
        f"{_EXTENDED}:by_devices",
        lambda resources, allocatable: frozenset(name for name in resources if name not in (allocatable or {})),
    )


@mutant("empty-claim-on-a-node-whose-plugin-restarts", rule="DP-113")
def _(patch: Patch) -> None:
    """On a node that shows 0 devices the claim of a pod has no request."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def for_node(self: Any, attempt: Any, state: Any) -> Any:
            gone = {name for name in attempt.extended if (state.allocatable or {}).get(name) == 0}
            if not gone:
                return original(self, attempt, state)
            rest = {name: one for name, one in attempt.extended.items() if name not in gone}
            kept, attempt.extended, attempt.by_resources = attempt.extended, rest, {}
            try:
                return original(self, attempt, state)
            finally:
                attempt.extended, attempt.by_resources = kept, {}

        return for_node

    patch.wrap(f"{_SCHEDULER}.cycle:Cycle._for_node", make)


@mutant("pod-bound-while-the-plugin-restarts", rule="DP-113")
def _(patch: Patch) -> None:
    """A node that shows 0 devices of a resource needs no claim for it and has room for any number."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def for_node(self: Any, attempt: Any, state: Any) -> Any:
            if any((state.allocatable or {}).get(name) == 0 for name in attempt.extended):
                return None, None
            return original(self, attempt, state)

        return for_node

    patch.wrap(f"{_SCHEDULER}.cycle:Cycle._for_node", make)


@mutant("pods-tried-again-only-if-a-number-has-grown", rule="DP-114")
def _(patch: Patch) -> None:
    """A change of a node in which no allocatable resource grows wakes no pod."""

    def amounts(node: Mapping[str, Any]) -> dict[str, int]:
        return pod_resources.amounts((node.get("status") or {}).get("allocatable"))

    def none_has_grown(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
        old = amounts(before)
        return all(value <= old.get(name, 0) for name, value in amounts(after).items())

    patch.replace(f"{_SCHEDULER}.cluster_view:_same_for_pods", none_has_grown)


@mutant("devices-of-claims-free-for-the-plugin", rule="DP-125")
def _(patch: Patch) -> None:
    """A pod whose resource a claim serves uses none of the node's devices."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def used(self: Any, node: str) -> dict[str, int]:
            found = dict(original(self, node))
            for pod in self.pods.values():
                if (pod.get("spec") or {}).get("nodeName") != node:
                    continue
                status = (pod.get("status") or {}).get("extendedResourceClaimStatus") or {}
                for name in {one["resourceName"] for one in status.get("requestMappings") or ()}:
                    found[name] = found.get(name, 0) - self.pod_needs(pod).get(name, 0)
            return found

        return used

    patch.wrap(f"{_SCHEDULER}.cluster_view:ClusterView.used", make)
