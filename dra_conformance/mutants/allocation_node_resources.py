"""Faults with devices that use resources of their node (alpha in Kubernetes 1.37)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dra_api.objects import name_of, uid_of
from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.scheduler import node_allocatable
from reference_impl.scheduler.pod_claims import claim_names

_SCHEDULER = "reference_impl.scheduler"
_NODE = f"{_SCHEDULER}.node_allocatable"
_STATUSES = f"{_NODE}:statuses"
_ON: dict[str, Any] = {"kubernetes_version": "1.37", "feature_gates": ("DRANodeAllocatableResources=true",)}
_GROUPS: dict[str, Any] = {
    "kubernetes_version": "1.37",
    "feature_gates": ("DRANodeAllocatableResources=true,GenericWorkload=true,DRAWorkloadResourceClaims=true",),
}


def _status(patch: Patch, change: Callable[[Any, dict[str, Any]], dict[str, Any]]) -> None:
    """Change each entry of the status of a pod: `change(pod, entry)`."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda pod, claims, device_of: [change(pod, entry) for entry in original(pod, claims, device_of)]

    patch.wrap(_STATUSES, make)


@mutant("node-resources-are-not-charged", rule="DRA-528", **_ON)
def _(patch: Patch) -> None:
    """What devices use is recorded, and not charged."""
    patch.replace(f"{_NODE}:charged", lambda entries: {})


@mutant("node-resources-are-not-recorded", rule="DRA-528", **_ON)
def _(patch: Patch) -> None:
    """What devices use is charged until the pod is bound, and not recorded."""
    patch.replace(f"{_SCHEDULER}.publish:DirectPublisher._record_uses", lambda self, decision: None)


@mutant("node-resources-are-forgotten-once-bound", rule="DRA-528", **_ON)
def _(patch: Patch) -> None:
    """What the devices of bound pods use is not charged any more."""
    patch.replace(f"{_SCHEDULER}.cluster_view:ClusterView._uses_of", lambda self, pod, seen: {})


@mutant("mappings-are-charged-for-each-container", rule="DRA-528", **_ON)
def _(patch: Patch) -> None:
    """A mapping is charged once for each container that references the claim."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def charged(entries: Any) -> Any:
            return original(
                [
                    {**entry, "mapping": entry.get("mapping", []) * max(len(entry.get("containers") or ()), 1)}
                    for entry in entries
                ]
            )

        return charged

    patch.wrap(f"{_NODE}:charged", make)


@mutant("mappings-of-the-first-device", rule="DRA-528", **_ON)
def _(patch: Patch) -> None:
    """Of several devices of a claim, the first is charged."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda allocation, device_of: list(original(allocation, device_of))[:1]

    patch.wrap(f"{_NODE}:_devices", make)


@mutant("new-devices-have-room-everywhere", rule="DRA-528", **_ON)
def _(patch: Patch) -> None:
    """Devices are allocated whatever the node has left for them."""
    patch.replace(f"{_SCHEDULER}.cycle:Cycle._with_room", lambda self, attempt, state, allocations: allocations)


@mutant("shares-use-the-whole-capacity", rule="DRA-529", **_ON)
def _(patch: Patch) -> None:
    """A share is charged for the capacity of its device."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def devices(allocation: Any, device_of: Any) -> Any:
            for result, device in original(allocation, device_of):
                whole = {one.name: str(one.value) for one in device.capacity.values()}
                yield {**result, "consumedCapacity": whole}, device

        return devices

    patch.wrap(f"{_NODE}:_devices", make)


@mutant("capacity-multiplier-is-ignored", rule="DRA-529", **_ON)
def _(patch: Patch) -> None:
    """A share is charged for what it consumes, without the multiplier."""
    patch.replace(f"{_NODE}:_product", lambda one, other: one)


def _overhead(patch: Patch, times: Callable[[list[str]], int]) -> None:
    """Charge perContainer `times(containers that reference the claim)`."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda entries: original(
            [{**entry, "containers": ["x"] * times(entry.get("containers") or [])} for entry in entries]
        )

    patch.wrap(f"{_NODE}:charged", make)


@mutant("overhead-of-one-container", rule="DRA-530", **_ON)
def _(patch: Patch) -> None:
    """The overhead for containers is charged once."""
    _overhead(patch, lambda containers: min(len(containers), 1))


@mutant("overhead-of-all-containers", rule="DRA-530", **_ON)
def _(patch: Patch) -> None:
    """The overhead for containers is charged for each container of the pod."""
    _status(patch, lambda pod, entry: {**entry, "containers": [one["name"] for one in pod["spec"]["containers"]]})


@mutant("overhead-for-the-pod-is-ignored", rule="DRA-530", **_ON)
def _(patch: Patch) -> None:
    """The overhead for the pod is not charged."""

    def change(pod: Any, entry: dict[str, Any]) -> dict[str, Any]:
        kept = [{name: value for name, value in one.items() if name != "perPod"} for one in entry.get("overhead") or ()]
        return {**entry, "overhead": kept}

    _status(patch, change)


@mutant("unreferenced-claims-use-nothing", rule="DRA-531", **_ON)
def _(patch: Patch) -> None:
    """A claim that no container references is not charged."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda pod, claims, device_of: [
            entry for entry in original(pod, claims, device_of) if entry.get("containers")
        ]

    patch.wrap(_STATUSES, make)


@mutant("unreferenced-claims-have-a-container", rule="DRA-531", **_ON)
def _(patch: Patch) -> None:
    """The overhead for a container is charged although none references the claim."""
    _overhead(patch, lambda containers: max(len(containers), 1))


@mutant("mapped-claims-are-shared", rule="DRA-532", **_ON)
def _(patch: Patch) -> None:
    """A claim with a mapped device is used by several pods."""
    patch.replace(f"{_NODE}:is_mapped", lambda allocation, device_of: False)


@mutant("second-mapped-claim-is-shared", rule="DRA-532", **_ON)
def _(patch: Patch) -> None:
    """Of the claims of a pod, only the first is not shared if its device is mapped."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, attempt, state: original(self, replace(attempt, claims=attempt.claims[:1]), state)

    patch.wrap(f"{_SCHEDULER}.cycle:Cycle._shared_mapping", make)


@mutant("mapped-claims-of-one-name-in-any-namespace", rule="DRA-721", **_ON)
def _(patch: Patch) -> None:
    """A claim with a mapped device is refused to its pod while a pod of any namespace uses a claim of that name."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def others_use(self: Any, claim: Any, pod: Any) -> bool:
            used = (other for other in self.placed_pods() if uid_of(other) != uid_of(pod))
            return original(self, claim, pod) or any(name_of(claim) in claim_names(other) for other in used)

        return others_use

    patch.wrap(f"{_SCHEDULER}.cluster_view:ClusterView.others_use", make)


@mutant("node-resources-of-one-name-of-a-claim", rule="DRA-722", **_ON)
def _(patch: Patch) -> None:
    """Of the names that a pod has for a claim, one counts."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda pod, claims, device_of: original(
            pod, [used._replace(references=used.references[:1]) for used in claims], device_of
        )

    patch.wrap(_STATUSES, make)


@mutant("claims-with-overhead-are-not-shared", rule="DRA-533", **_ON)
def _(patch: Patch) -> None:
    """A claim whose devices have overhead only is used by one pod."""
    patch.replace(f"{_NODE}:is_mapped", lambda allocation, device_of: True)


@mutant("mapped-claims-are-shared-in-a-gang", rule="DRA-534", **_GROUPS)
def _(patch: Patch) -> None:
    """A claim with a mapped device is refused to a pod only if it is reserved for another."""

    def others_use(self: Any, claim: Any, pod: Any) -> bool:
        return any(
            entry.get("resource") == "pods" and entry.get("uid") != pod["metadata"]["uid"]
            for entry in (claim.get("status") or {}).get("reservedFor") or ()
        )

    patch.replace(f"{_SCHEDULER}.cluster_view:ClusterView.others_use", others_use)


@mutant("gangs-share-no-claims-with-overhead", rule="DRA-534", **_GROUPS)
def _(patch: Patch) -> None:
    """The pods of a gang do not share a claim whose devices have overhead only."""
    patch.replace(f"{_NODE}:is_mapped", lambda allocation, device_of: True)


@mutant("devices-beyond-the-requests-of-the-pod", rule="DRA-535", **_ON)
def _(patch: Patch) -> None:
    """What devices use is not compared with the requests of the pod as a whole."""
    patch.replace(f"{_NODE}:beyond_own_requests", lambda pod, entries: "")


@mutant("requests-of-the-pod-need-room-for-devices-only", rule="DRA-535", **_ON)
def _(patch: Patch) -> None:
    """The requests of the containers are not added to what the devices use."""
    patch.replace(f"{_SCHEDULER}.pod_resources:containers_requests", lambda pod: {})


@mutant("requests-of-the-pod-in-addition-to-its-containers", rule="DRA-535b", **_ON)
def _(patch: Patch) -> None:
    """A pod is charged with its own requests and those of its devices."""
    patch.replace(f"{_NODE}:charged_for", lambda pod, entries: node_allocatable.charged(entries))


@mutant("requests-of-the-pod-are-not-charged", rule="DRA-535b", **_ON)
def _(patch: Patch) -> None:
    """A pod is charged with the requests of its containers although it has its own."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def requests(pod: Any) -> Any:
            spec = {name: value for name, value in pod["spec"].items() if name != "resources"}
            return original({**pod, "spec": spec})

        return requests

    patch.wrap(f"{_SCHEDULER}.pod_resources:pod_requests", make)


def _new_only(patch: Patch) -> None:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def uses(self: Any, attempt: Any, state: Any, allocations: Any) -> Any:
            found = original(self, attempt, state, allocations)
            return [] if attempt.held else found

        return uses

    patch.wrap(f"{_SCHEDULER}.cycle:Cycle._uses", make)


@mutant("overhead-of-the-first-pod", rule="DRA-533", **_ON)
def _(patch: Patch) -> None:
    """The overhead is charged for the pod for which the claim is allocated."""
    _new_only(patch)


@mutant("allocated-claims-use-nothing", rule="DRA-536", **_ON)
def _(patch: Patch) -> None:
    """Only what newly allocated devices use counts."""
    _new_only(patch)


@mutant("no-retry-for-node-resources", rule="DRA-536b", **_ON)
def _(patch: Patch) -> None:
    """A pod that ends wakes no pod that waits for what its devices would use."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def place(self: Any, pod: Any) -> bool:
            return bool(original(self, pod)) and not self._charges_devices

        return place

    patch.wrap(f"{_SCHEDULER}.cluster_view:ClusterView._place", make)


@mutant("node-resources-stay-recorded", rule="DRA-528b", **_ON)
def _(patch: Patch) -> None:
    """A pod whose device failed keeps the record of what it would have used."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def write(self: Any, pod: Any, uses: Any) -> None:
            if uses:
                original(self, pod, uses)

        return write

    patch.wrap(f"{_SCHEDULER}.publish:DirectPublisher._write_uses", make)


@mutant("node-resources-of-the-first-claim", rule="DRA-528", **_ON)
def _(patch: Patch) -> None:
    """Of several claims of a pod, what the devices of one use is recorded and charged."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda pod, claims, device_of: original(pod, claims, device_of)[:1]

    patch.wrap(_STATUSES, make)


@mutant("node-resources-of-init-containers-are-not-recorded", rule="DRA-528", **_ON)
def _(patch: Patch) -> None:
    """Init containers that reference a claim are not recorded."""

    def change(pod: Any, entry: dict[str, Any]) -> dict[str, Any]:
        init = {one["name"] for one in pod["spec"].get("initContainers") or ()}
        return {**entry, "containers": [name for name in entry.get("containers") or () if name not in init]}

    _status(patch, change)


@mutant("huge-pages-of-devices-are-not-charged", rule="DRA-528", **_ON)
def _(patch: Patch) -> None:
    """Of what devices use, cpu and memory are charged."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda entries: {
            name: amount for name, amount in original(entries).items() if not name.startswith("hugepages-")
        }

    patch.wrap(f"{_NODE}:charged", make)


@mutant("node-resources-are-charged-to-bound-pods", rule="DRA-528", **_ON)
def _(patch: Patch) -> None:
    """What devices use is charged from the binding of their pod on, and not while it waits."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, pod, node, allocations, *, share=None, uses=(): original(
            self, pod, node, allocations, share=share
        )

    patch.wrap(f"{_SCHEDULER}.cluster_view:ClusterView.assume", make)


@mutant("node-resources-of-a-gang-one-by-one", rule="DRA-528", **_GROUPS)
def _(patch: Patch) -> None:
    """What the devices of a gang's pods use is compared pod by pod with what the node has left."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def together(self: Any, *arguments: Any) -> Any:
            view = self._view

            class View:
                def __getattr__(self, name: str) -> Any:
                    return getattr(view, name)

                def assume(self, pod: Any, node: Any, allocations: Any, *, share: Any, uses: Any) -> None:
                    del uses
                    view.assume(pod, node, allocations, share=share)

            self._view = View()
            try:
                return original(self, *arguments)
            finally:
                self._view = view

        return together

    patch.wrap(f"{_SCHEDULER}.gangs:Gangs._together", make)


@mutant("node-resources-of-the-first-share", rule="DRA-529", **_ON)
def _(patch: Patch) -> None:
    """Of several shares of a device in a claim, the first is charged."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def devices(allocation: Any, device_of: Any) -> Any:
            seen = set()
            for result, device in original(allocation, device_of):
                if device.id not in seen:
                    seen.add(device.id)
                    yield result, device

        return devices

    patch.wrap(f"{_NODE}:_devices", make)


@mutant("overhead-of-the-last-device", rule="DRA-530", **_ON)
def _(patch: Patch) -> None:
    """Of several devices of a claim, the overhead of one is recorded and charged."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def status(pod: Any, used: Any, device_of: Any) -> Any:
            whole = original(pod, used, device_of)
            for result in used.allocation["devices"]["results"]:
                alone = {"devices": {"results": [result]}}
                if one := original(pod, used._replace(allocation=alone), device_of):
                    whole = {**whole, "overhead": one.get("overhead") or []}
            return whole

        return status

    patch.wrap(f"{_NODE}:_status", make)


@mutant("memory-beyond-the-requests-of-the-pod", rule="DRA-535", **_ON)
def _(patch: Patch) -> None:
    """Of the requests of the pod as a whole, cpu is compared with what containers and devices use."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def beyond(pod: Any, entries: Any) -> str:
            found = str(original(pod, entries))
            return "" if found == "memory" else found

        return beyond

    patch.wrap(f"{_NODE}:beyond_own_requests", make)


@mutant("requests-of-the-pod-cover-every-resource", rule="DRA-535b", **_ON)
def _(patch: Patch) -> None:
    """A pod with any request of its own is not charged with what its devices use."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda pod, entries: (
            {} if (pod["spec"].get("resources") or {}).get("requests") else original(pod, entries)
        )

    patch.wrap(f"{_NODE}:charged_for", make)


@mutant("allocated-claims-use-nothing-beside-new-ones", rule="DRA-536", **_ON)
def _(patch: Patch) -> None:
    """For a pod with allocated claims and new ones, what the new devices use counts."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def uses(self: Any, attempt: Any, state: Any, allocations: Any) -> Any:
            found = original(self, attempt, state, allocations)
            held = {name for _, name in attempt.held}
            new = [entry for entry in found if entry["resourceClaimName"] not in held]
            return new or found

        return uses

    patch.wrap(f"{_SCHEDULER}.cycle:Cycle._uses", make)
