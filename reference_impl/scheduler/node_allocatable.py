"""What the devices of a pod use of its node's cpu, memory and huge pages (KEP-5517; 1.37, alpha).

Devices publish it in `nodeAllocatableResources`: `mapping` is used once for each claim, `overhead` once for each pod,
and once more for each container that references the claim. The scheduler charges both to the node and records them in
`status.nodeAllocatableResourceClaimStatuses` of the pod. Pure functions.

Source: k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/dynamicresources/nodeallocatabledynamicresources.go,
k8s.io/component-helpers v0.37.2 resource/helpers.go (addDRANodeAllocatableClaimResources); rules DRA-528 to DRA-536.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from dra_api.allocations import results_of_allocation
from dra_api.objects import Obj, name_of
from dra_api.pod_requests import added
from dra_api.quantity import Quantity
from reference_impl.scheduler import pod_resources
from reference_impl.scheduler.allocator.model import Device, DeviceId

FIELD = "nodeAllocatableResourceClaimStatuses"
"""The field of a pod's status."""
DeviceOf = Callable[[DeviceId], Device | None]


class UsedClaim(NamedTuple):
    """One claim of a pod: the pod's own names for it, the claim, and its allocation."""

    references: list[str]
    claim: Obj
    allocation: Obj


def is_mapped(allocation: Obj, device_of: DeviceOf) -> bool:
    """Return whether a device of an allocation is mapped to resources of the node."""
    return any(
        used.get("mapping") for _, device in _devices(allocation, device_of) for used in _resources(device).values()
    )


def statuses(pod: Obj, claims: Iterable[UsedClaim], device_of: DeviceOf) -> list[Obj]:
    """Return `nodeAllocatableResourceClaimStatuses` of a pod: one entry for each claim whose devices use the node."""
    found = [_status(pod, used, device_of) for used in claims]
    return sorted((entry for entry in found if entry), key=lambda entry: str(entry["resourceClaimName"]))


def charged(entries: Iterable[Obj]) -> dict[str, int]:
    """Return what the statuses of a pod add to its requests, in thousandths."""
    total: dict[str, int] = {}

    def add(name: str, quantity: object, times: int = 1) -> None:
        if quantity is not None:
            total[name] = total.get(name, 0) + times * Quantity.parse(str(quantity)).milli_value

    for entry in entries:
        for mapping in entry.get("mapping") or ():
            add(mapping["name"], mapping.get("quantity"))
        for overhead in entry.get("overhead") or ():
            add(overhead["name"], overhead.get("perPod"))
            add(overhead["name"], overhead.get("perContainer"), len(entry.get("containers") or ()))
    return total


def charged_for(pod: Obj, entries: Iterable[Obj]) -> dict[str, int]:
    """Return what the statuses of a pod add to its requests: nothing where the pod as a whole has a request."""
    own = pod_resources.own_requests(pod)
    return {name: amount for name, amount in charged(entries).items() if name not in own}


def beyond_own_requests(pod: Obj, entries: Iterable[Obj]) -> str:
    """Return the first resource of which containers and devices use more than the pod as a whole requests, or ""."""
    own = pod_resources.own_requests(pod)
    used = added(pod_resources.containers_requests(pod), charged(entries))
    return next((name for name in own if used.get(name, 0) > own[name]), "")


def _status(pod: Obj, used: UsedClaim, device_of: DeviceOf) -> Obj | None:
    mapping: dict[str, Quantity] = {}
    overhead: dict[str, dict[str, Quantity]] = {}
    for result, device in _devices(used.allocation, device_of):
        for name, resource in _resources(device).items():
            amount = _mapped(resource.get("mapping") or {}, result)
            if amount is not None:
                mapping[name] = mapping[name] + amount if name in mapping else amount
            for each in ("perPod", "perContainer"):
                if (value := (resource.get("overhead") or {}).get(each)) is not None:
                    per = overhead.setdefault(name, {})
                    amount = Quantity.parse(str(value))
                    per[each] = per[each] + amount if each in per else amount
    if not mapping and not overhead:
        return None
    status: Obj = {"resourceClaimName": name_of(used.claim)}
    if containers := _containers(pod, used.references):
        status["containers"] = containers
    if mapping:
        status["mapping"] = [{"name": name, "quantity": str(mapping[name])} for name in sorted(mapping)]
    if overhead:
        status["overhead"] = [
            {"name": name, **{each: str(value) for each, value in overhead[name].items()}} for name in sorted(overhead)
        ]
    return status


def _mapped(mapping: Mapping[str, object], result: Obj) -> Quantity | None:
    """Return what one allocated device uses by its mapping; None if it uses nothing by it."""
    if key := mapping.get("capacityKey"):
        consumed = (result.get("consumedCapacity") or {}).get(key)
        if consumed is None:
            return None
        return _product(Quantity.parse(str(consumed)), Quantity.parse(str(mapping.get("capacityMultiplier") or "1")))
    times = mapping.get("deviceMultiplier")
    return None if times is None else Quantity.parse(str(times))


def _product(one: Quantity, other: Quantity) -> Quantity:
    unscaled, scale, format_, _ = one.parts()
    factor, factor_scale, _, _ = other.parts()
    return Quantity(unscaled * factor, scale=scale + factor_scale, format=format_)


def _containers(pod: Obj, references: Sequence[str]) -> list[str]:
    """Return the containers that reference the claim, init containers first; one that does it twice is listed once."""
    spec = pod.get("spec") or {}
    return [
        str(container["name"])
        for container in [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
        if any(one["name"] in references for one in (container.get("resources") or {}).get("claims") or ())
    ]


def _devices(allocation: Obj, device_of: DeviceOf) -> Iterable[tuple[Obj, Device]]:
    for result in results_of_allocation(allocation):
        device = device_of(DeviceId(result["driver"], result["pool"], result["device"]))
        if device is not None:
            yield result, device


def _resources(device: Device) -> Mapping[str, Obj]:
    return device.raw.get("nodeAllocatableResources") or {}
