"""Derived attributes of requests: values that CEL expressions compute for constraints, for each device (1.37).

A derived attribute hides the published one of its name, in its request only. It is evaluated when a constraint needs
it, for a device that everything else allows. An expression that fails ends the attempt. Results stay with the device.

Source: resource.k8s.io/v1 DeviceDerivedAttribute and allocator_experimental.go lookupAttribute (v0.37, gate
DRADerivedAttributes); rules DRA-509 to DRA-516.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dra_api import cel
from reference_impl.scheduler.allocator import constraints, selectors
from reference_impl.scheduler.allocator.model import AllocationError, Attribute, Device, Features, SubRequest


def values(
    device: Device, request: SubRequest, attribute: str, features: Features
) -> constraints.Values | AllocationError | None:
    """Return what constraints compare of a device that serves a request, or the error of a derived attribute.

    None makes the device unusable under a constraint (DRA-169).
    """
    expression = request.derived.get(attribute)
    if expression is None:
        return constraints.values(device, attribute, features)
    lists = features.list_attributes
    key = ("derived", lists, lists or features.readable_lists, expression)
    known: Attribute | str | None = device.verdicts.get(key)
    if known is None:
        known = device.verdicts[key] = _evaluate(device, expression, features)
    if isinstance(known, str):
        where = f"request {request.name}: derived attribute {attribute}"
        return AllocationError(f"{where}{selectors.shown(expression)}: {known} (on device {device.id})")
    if known.is_list and not features.list_attributes:
        return None
    return frozenset(known.values) or None


def fails(devices: Iterable[Device], request: SubRequest, attributes: Iterable[str], features: Features) -> bool:
    """Return whether one of the attributes is derived by a request, and its evaluation fails on one of the devices."""
    needed = [attribute for attribute in attributes if attribute in request.derived]
    return bool(needed) and any(
        isinstance(values(device, request, attribute, features), AllocationError)
        for device in devices
        for attribute in needed
    )


def _evaluate(device: Device, expression: str, features: Features) -> Attribute | str:
    lists = features.list_attributes
    try:
        view = selectors.view_of(device, lists=lists or features.readable_lists)
        found: dict[str, Any] = cel.derive_attribute(expression, view, list_type_attributes=lists)
    except cel.CelCompileError as error:
        return f"CEL compile error: {error}"
    except cel.CelError as error:
        return f"CEL runtime error: {error}"
    return Attribute.decode(found)
