"""DeviceTaintRules (KEP-5055): taints that an administrator adds to published devices.

Pure functions; the devices that a rule selects are copied with its taint.

Source: resource.k8s.io DeviceTaintRuleSpec (v1beta2 of 1.36): "The empty selector matches all devices. Without a
selector, no devices are matches." Eviction keeps to it; the slice tracker of 1.36 (resourceslice/tracker) reads an
absent selector as an empty one, but its scheduler never gets that far (DRA-226c). Rules DRA-226b, DRA-226d.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dra_api.objects import Obj, name_of
from reference_impl.scheduler.allocator.model import Device, DeviceId, Slice, Taint


@dataclass(frozen=True, slots=True)
class TaintRule:
    """One DeviceTaintRule; an empty field selects every value, no selector at all (not `selective`) nothing."""

    name: str
    driver: str
    pool: str
    device: str
    taint: Taint
    selective: bool = True

    @classmethod
    def decode(cls, obj: Obj) -> TaintRule:
        """Read a DeviceTaintRule."""
        spec = obj.get("spec") or {}
        selector = spec.get("deviceSelector") or {}
        return cls(
            name=name_of(obj),
            driver=str(selector.get("driver") or ""),
            pool=str(selector.get("pool") or ""),
            device=str(selector.get("device") or ""),
            taint=Taint.decode(spec.get("taint") or {}),
            selective=spec.get("deviceSelector") is not None,
        )


def selects(rule: TaintRule, device: DeviceId) -> bool:
    """Return whether `rule` taints `device`."""
    return (
        rule.selective
        and rule.driver in ("", device.driver)
        and rule.pool in ("", device.pool)
        and rule.device in ("", device.device)
    )


def apply(item: Slice, rules: Sequence[TaintRule]) -> Slice:
    """Return the slice with the taints of all rules that select its devices."""
    return replace(item, devices=tuple(with_taints(device, rules) for device in item.devices))


def with_taints(device: Device, rules: Sequence[TaintRule]) -> Device:
    """Return the device with the taints of all rules that select it."""
    extra = tuple(rule.taint for rule in rules if selects(rule, device.id))
    return replace(device, taints=(*device.taints, *extra)) if extra else device
