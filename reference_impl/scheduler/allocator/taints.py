"""Device taints and tolerations (KEP-5055): which taints keep a request away from a device.

Pure functions; nothing is kept.

Source: k8s.io/dynamic-resource-allocation/resourceclaim ToleratesTaint and the allocators' taint check (v0.36);
rules DRA-213 to DRA-220.
"""

from __future__ import annotations

from collections.abc import Sequence

from dra_api.objects import Obj
from reference_impl import tolerations
from reference_impl.scheduler.allocator.model import Device, SubRequest, Taint

BLOCKING_EFFECTS = frozenset({"NoSchedule", "NoExecute"})


def blocks_allocation(taint: Taint) -> bool:
    """Return whether a taint keeps untolerating requests away; `None` and effects of the future do not (DRA-215)."""
    return taint.effect in BLOCKING_EFFECTS


def tolerates(toleration: Obj, taint: Taint) -> bool:
    """Return whether one toleration covers `taint` (DRA-217, DRA-218)."""
    return tolerations.covers(toleration, key=taint.key, value=taint.value, effect=taint.effect)


def tolerated(held: Sequence[Obj], taint: Taint) -> bool:
    """Return whether any of the `held` tolerations covers `taint`."""
    return any(tolerates(toleration, taint) for toleration in held)


def untolerated(device: Device, request: SubRequest) -> Taint | None:
    """Return the first taint of `device` that keeps `request` away, or None: all must be tolerated (DRA-216).

    Admin access does not bypass taints (DRA-219).
    """
    for taint in device.taints:
        if blocks_allocation(taint) and not tolerated(request.tolerations, taint):
            return taint
    return None
