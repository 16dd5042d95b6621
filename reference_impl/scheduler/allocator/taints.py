"""Device taints and tolerations (KEP-5055): which taints keep a request away from a device.

Pure functions; nothing is kept.

Source: k8s.io/dynamic-resource-allocation/resourceclaim ToleratesTaint and the allocators' taint check (v0.36);
rules DRA-213 to DRA-220.
"""

from __future__ import annotations

from collections.abc import Sequence

from dra_api.objects import Obj
from reference_impl.scheduler.allocator.model import Device, SubRequest, Taint

BLOCKING_EFFECTS = frozenset({"NoSchedule", "NoExecute"})


def blocks_allocation(taint: Taint) -> bool:
    """Whether a taint keeps untolerating requests away; `None` and effects of the future do not (DRA-215)."""
    return taint.effect in BLOCKING_EFFECTS


def tolerates(toleration: Obj, taint: Taint) -> bool:
    """Whether one toleration covers `taint`: an empty effect or key covers every one (DRA-217, DRA-218)."""
    if toleration.get("effect") and toleration["effect"] != taint.effect:
        return False
    if toleration.get("key") and toleration["key"] != taint.key:
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Exists":
        return True
    return bool(operator == "Equal" and (toleration.get("value") or "") == taint.value)


def tolerated(tolerations: Sequence[Obj], taint: Taint) -> bool:
    """Whether any of `tolerations` covers `taint`."""
    return any(tolerates(toleration, taint) for toleration in tolerations)


def untolerated(device: Device, request: SubRequest) -> Taint | None:
    """The first taint of `device` that keeps `request` away, or None: all must be tolerated (DRA-216).

    Admin access does not bypass taints (DRA-219).
    """
    for taint in device.taints:
        if blocks_allocation(taint) and not tolerated(request.tolerations, taint):
            return taint
    return None
