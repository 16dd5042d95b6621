"""Toleration matching (KEP-5055), shared by the scheduler and taint eviction. Pure functions.

Source: k8s.io/dynamic-resource-allocation/resourceclaim ToleratesTaint (v0.36); rules DRA-217, DRA-218.
"""

from __future__ import annotations

from dra_api.objects import Obj


def covers(toleration: Obj, *, key: str, value: str, effect: str) -> bool:
    """Return whether a toleration covers a taint; a toleration without effect or key covers each of them."""
    if toleration.get("effect") and toleration["effect"] != effect:
        return False
    if toleration.get("key") and toleration["key"] != key:
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Exists":
        return True
    return bool(operator == "Equal" and (toleration.get("value") or "") == value)
