"""Mutants of the harness's own kubelet on a node that moves from a device plugin to a DRA driver."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.kubelet.errors import DeviceStartFailed
from dra_conformance.mutants.device_plugins_kubelet import admit_running_pods

ALLOCATOR = "dra_conformance.kubelet.device_allocation:DeviceAllocator"


def without_claim(pod: Mapping[str, Any]) -> dict[str, Any]:
    """Return a pod whose status names no claim for extended resources."""
    return {**pod, "status": {}}


def refuse_starts(patch: Patch, problem_of: Callable[[Any, Any, Any, str], str]) -> None:
    """A container does not start if one of its resources has a problem, also if a claim serves the resource.

    `problem_of` gets the allocator, the pod, the container and the resource.
    """

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def start(self: Any, pod: Any, container: Any) -> Any:
            for resource, _ in self._limits(without_claim(pod), container):
                if problem := problem_of(self, pod, container, resource):
                    raise DeviceStartFailed(problem)
            return original(self, pod, container)

        return start

    patch.wrap(f"{ALLOCATOR}.start_container", make)


@mutant("container-of-a-claim-needs-devices-of-the-plugin", rule="DP-116")
def _(patch: Patch) -> None:
    """A container whose resource a claim serves does not start without devices of a plugin that is known."""

    def problem(allocator: Any, pod: Any, container: Any, resource: str) -> str:
        held = {one.resource for one in allocator.held(pod["metadata"]["uid"], container["name"])}
        if allocator.offered.usable(resource) is None or resource in held:
            return ""
        return f"no devices found allocated in local cache for resource {resource}"

    refuse_starts(patch, problem)


@mutant("container-of-a-claim-needs-the-plugin", rule="DP-117")
def _(patch: Patch) -> None:
    """A container whose resource a claim serves does not start if the plugin of the resource was forgotten."""

    def problem(allocator: Any, pod: Any, container: Any, resource: str) -> str:
        known = allocator.offered.usable(resource) is not None
        return "" if known else f"endpoint not found in cache for a registered resource: {resource}"

    refuse_starts(patch, problem)


@mutant("resource-of-a-claim-aligned-too", rule="DP-118")
def _(patch: Patch) -> None:
    """The topology manager also reads the resources that claims serve."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def align(self: Any, counts: Any, users: Any, reusable: Any) -> Any:
            every = dict(counts)
            for pod, container in users:
                every |= dict(self._limits(without_claim(pod), container))
            return original(self, every, users, reusable)

        return align

    patch.wrap(f"{ALLOCATOR}._align", make)


@mutant("pod-of-a-claim-admitted-again-with-its-resource", rule="DP-156")
def _(patch: Patch) -> None:
    """After a restart, a pod that runs with devices of a claim is admitted as if a plugin served its resource."""

    def admitted(pod: Mapping[str, Any]) -> dict[str, Any] | None:
        by_claim = (pod.get("status") or {}).get("extendedResourceClaimStatus")
        return without_claim(pod) if by_claim else None

    admit_running_pods(patch, admitted)
