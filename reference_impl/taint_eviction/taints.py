"""Taints of devices, their tolerations, and the time of eviction. Pure functions.

Source: kube-controller-manager v1.36 pkg/controller/devicetainteviction/device_taint_eviction.go; rules DRA-214 to
DRA-227.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from dra_api.clock import parse_timestamp
from dra_api.objects import Obj, name_of
from reference_impl import tolerations

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
    """Return the device of an allocation result."""
    return DeviceId(str(result.get("driver")), str(result.get("pool")), str(result.get("device")))


def newest(slices: Iterable[Obj]) -> list[Obj]:
    """Return the slices of one pool's newest generation."""
    found = list(slices)
    generation = max((_generation(item) for item in found), default=0)
    return [item for item in found if _generation(item) == generation]


def _generation(item: Obj) -> int:
    return int((item.get("spec", {}).get("pool") or {}).get("generation") or 0)


def devices_in(slices: Iterable[Obj]) -> Iterator[tuple[DeviceId, Obj]]:
    """Return all devices that slices publish, with their definition."""
    for item in slices:
        spec = item.get("spec") or {}
        driver, pool = str(spec.get("driver")), str((spec.get("pool") or {}).get("name"))
        for device in spec.get("devices") or ():
            yield DeviceId(driver, pool, str(device.get("name"))), device


def slice_taints(slices: Iterable[Obj], device: DeviceId) -> Iterator[FoundTaint]:
    """Return the NoExecute taints that the pool's newest slices put on a device."""
    for found, definition in devices_in(newest(slices)):
        if found == device:
            yield from (FoundTaint(taint) for taint in definition.get("taints") or () if evicts(taint))


def rule_taints(rules: Iterable[Obj], device: DeviceId) -> Iterator[FoundTaint]:
    """Return the NoExecute taints that DeviceTaintRules put on a device."""
    for rule in rules:
        taint = rule.get("spec", {}).get("taint") or {}
        if evicts(taint) and selects(rule, device):
            yield FoundTaint(taint, name_of(rule))


def evicts(taint: Obj) -> bool:
    """Return whether a taint evicts running pods: only NoExecute does (DRA-213, DRA-215)."""
    return taint.get("effect") == NO_EXECUTE


def selects(rule: Obj, device: DeviceId) -> bool:
    """Return whether a rule's selector matches a device: none matches nothing, an empty one everything (DRA-226)."""
    selector = rule.get("spec", {}).get("deviceSelector")
    if selector is None:
        return False
    return all(
        selector.get(field) in (None, value)
        for field, value in (("driver", device.driver), ("pool", device.pool), ("device", device.device))
    )


def tolerates(toleration: Obj, taint: Obj) -> bool:
    """Return whether a toleration of an allocation result prevents eviction by this taint.

    Its effect must be literally NoExecute: with an empty effect the pod is scheduled, but does not stay (DRA-223).
    """
    return toleration.get("effect") == NO_EXECUTE and tolerations.covers(
        toleration,
        key=str(taint.get("key") or ""),
        value=str(taint.get("value") or ""),
        effect=str(taint.get("effect") or ""),
    )


def eviction_time(taint: Obj, held: Iterable[Obj], *, now: datetime) -> datetime | None:
    """Return when a pod is evicted because of one taint; None if it may stay.

    Without toleration: when the taint was added. With tolerations: after the smallest `tolerationSeconds` (negative
    counts as 0), or never if one matching toleration has none (DRA-221, DRA-222). `now` replaces a missing
    timeAdded; the API server sets it in every taint (DRA-071).
    """
    added = parse_timestamp(taint["timeAdded"]) if taint.get("timeAdded") else now
    seconds: list[int] = []
    for toleration in held:
        if tolerates(toleration, taint):
            if toleration.get("tolerationSeconds") is None:
                return None
            seconds.append(max(int(toleration["tolerationSeconds"]), 0))
    return added + timedelta(seconds=min(seconds, default=0))
