"""Which taints a device has, what tolerates them, and when a pod must go. Pure functions; the caller owns the objects.

Source: kube-controller-manager v1.36 pkg/controller/devicetainteviction/device_taint_eviction.go; rules DRA-214 to
DRA-227.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from dra_api.clock import parse_timestamp
from dra_api.objects import Obj, name_of

NO_EXECUTE = "NoExecute"


@dataclass(frozen=True, slots=True)
class DeviceId:
    """One device, as an allocation names it."""

    driver: str
    pool: str
    device: str


@dataclass(frozen=True, slots=True)
class FoundTaint:
    """A NoExecute taint on a device. `rule` is the DeviceTaintRule that it comes from, empty for a ResourceSlice."""

    taint: Obj
    rule: str = ""


def device_of(result: Obj) -> DeviceId:
    """The device of an allocation result."""
    return DeviceId(str(result.get("driver")), str(result.get("pool")), str(result.get("device")))


def results_of(claim: Obj) -> list[Obj]:
    """The allocation results of a claim; empty while it is not allocated."""
    allocation = (claim.get("status") or {}).get("allocation") or {}
    return list((allocation.get("devices") or {}).get("results") or ())


def newest(slices: Iterable[Obj]) -> list[Obj]:
    """The slices of one pool's newest generation."""
    found = list(slices)
    generation = max((_generation(item) for item in found), default=0)
    return [item for item in found if _generation(item) == generation]


def _generation(item: Obj) -> int:
    return int((item.get("spec", {}).get("pool") or {}).get("generation") or 0)


def devices_in(slices: Iterable[Obj]) -> Iterator[tuple[DeviceId, Obj]]:
    """All devices that slices publish, with their definition."""
    for item in slices:
        spec = item.get("spec") or {}
        driver, pool = str(spec.get("driver")), str((spec.get("pool") or {}).get("name"))
        for device in spec.get("devices") or ():
            yield DeviceId(driver, pool, str(device.get("name"))), device


def slice_taints(slices: Iterable[Obj], device: DeviceId) -> Iterator[FoundTaint]:
    """The NoExecute taints that the pool's newest slices put on a device."""
    for found, definition in devices_in(newest(slices)):
        if found == device:
            yield from (FoundTaint(taint) for taint in definition.get("taints") or () if evicts(taint))


def rule_taints(rules: Iterable[Obj], device: DeviceId) -> Iterator[FoundTaint]:
    """The NoExecute taints that DeviceTaintRules put on a device."""
    for rule in rules:
        taint = rule.get("spec", {}).get("taint") or {}
        if evicts(taint) and selects(rule, device):
            yield FoundTaint(taint, name_of(rule))


def evicts(taint: Obj) -> bool:
    """Whether a taint makes running pods leave: NoExecute alone does (DRA-213, DRA-215)."""
    return taint.get("effect") == NO_EXECUTE


def selects(rule: Obj, device: DeviceId) -> bool:
    """Whether a rule's selector matches a device: none matches nothing, an empty one everything (DRA-226)."""
    selector = rule.get("spec", {}).get("deviceSelector")
    if selector is None:
        return False
    return all(
        selector.get(field) in (None, value)
        for field, value in (("driver", device.driver), ("pool", device.pool), ("device", device.device))
    )


def tolerates(toleration: Obj, taint: Obj) -> bool:
    """Whether a toleration of an allocation result keeps pods from eviction by this taint.

    Its effect must be literally NoExecute: an effect-less one lets the pod be scheduled but not stay (DRA-223).
    """
    if toleration.get("effect") != NO_EXECUTE:
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    if toleration.get("operator") == "Exists":
        return True
    return (toleration.get("value") or "") == (taint.get("value") or "")


def eviction_time(taint: Obj, tolerations: Iterable[Obj], *, first_seen: datetime) -> datetime | None:
    """When a pod must leave because of one taint; None when it may stay.

    Untolerated: when the taint was added. Tolerated: after the smallest `tolerationSeconds` (negative counts as 0),
    or never where one matching toleration has none (DRA-221, DRA-222). `first_seen` stands in for a missing timeAdded.
    """
    added = parse_timestamp(taint["timeAdded"]) if taint.get("timeAdded") else first_seen
    seconds: list[int] = []
    for toleration in tolerations:
        if tolerates(toleration, taint):
            if toleration.get("tolerationSeconds") is None:
                return None
            seconds.append(max(int(toleration["tolerationSeconds"]), 0))
    return added + timedelta(seconds=min(seconds, default=0))
