"""The attribute that names the type of a partition (1.37, gate DRAPartitionableDevicesType). Pure function.

Source: pkg/apis/resource/validation/validation.go (validatePartitionTypeAttribute), release 1.37; rules DRA-411 to
DRA-415.
"""

from __future__ import annotations

from typing import Any

from apiserver_emulator.dra.checks import fully_qualified_name
from dra_api.status import FieldError, invalid, required

Obj = dict[str, Any]

_FIELD = "spec.partitionTypeAttribute"


def validate_partition_type(spec: Obj) -> list[FieldError]:
    """The attribute of a slice spec, which each of its devices that consume counters has as a string."""
    name: str | None = spec.get("partitionTypeAttribute")
    if name is None:
        return []
    malformed = fully_qualified_name(name, _FIELD)
    devices: list[Obj] = spec.get("devices") or []
    if not any(device.get("consumesCounters") for device in devices):
        text = "may only be set on a slice which declares devices that consume counters"
        return [*malformed, invalid(_FIELD, name, text)]
    # No device can have a malformed name: an error for each would hide the cause.
    if malformed:
        return malformed
    found: list[FieldError] = []
    for at, device in enumerate(devices):
        if device.get("consumesCounters"):
            found += _check(_attribute(device, name, spec["driver"]), f"spec.devices[{at}].attributes[{name}]")
    return found


def _attribute(device: Obj, name: str, driver: str) -> Obj | None:
    # A name without domain is in that of the driver; the qualified one comes first if a device has both.
    attributes = device.get("attributes") or {}
    attribute: Obj | None = attributes.get(name)
    return attributes.get(name.removeprefix(f"{driver}/")) if attribute is None else attribute


def _check(attribute: Obj | None, path: str) -> list[FieldError]:
    if attribute is None:
        text = "device consumes counters and `partitionTypeAttribute` names this attribute, so it must be set"
        return [required(path, text)]
    if "string" not in attribute:
        text = "must be a string value because `partitionTypeAttribute` names this attribute"
        return [invalid(path, attribute, text)]
    return []
