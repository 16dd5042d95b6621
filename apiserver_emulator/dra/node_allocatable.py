"""What a device uses of its node's allocatable resources (gate DRANodeAllocatableResources). Pure functions.

Source: pkg/apis/resource/validation/validation.go, release 1.36 (nodeAllocatableResourceMappings) and 1.37
(nodeAllocatableResources, with mapping and overhead); rules DRA-425 to DRA-430.
"""

from __future__ import annotations

from typing import Any

from apiserver_emulator.dra.attributes import NO_VALUE, SEVERAL_VALUES
from dra_api.quantity import Quantity
from dra_api.status import FieldError, invalid, not_found_field, required

Obj = dict[str, Any]

_HUGE_PAGES = "hugepages-"
_UNION = ("capacityKey", "deviceMultiplier")


def is_allocatable(name: str) -> bool:
    """Return whether a node has this resource itself: cpu, memory, and huge pages of a size."""
    return name in ("cpu", "memory") or name.startswith(_HUGE_PAGES)


def validate_mappings(device: Obj, path: str) -> list[FieldError]:
    """The mappings of 1.36."""
    found: list[FieldError] = []
    for name, mapped in sorted((device.get("nodeAllocatableResourceMappings") or {}).items()):
        here = f"{path}.nodeAllocatableResourceMappings[{name}]"
        if "/" in name and "kubernetes.io/" not in name:
            found.append(invalid(here, name, "must be a node allocatable resource name"))
        found += _positive(mapped, "allocationMultiplier", here)
        found += _capacity_key(mapped, device, here)
    return found


def validate_resources(device: Obj, path: str) -> list[FieldError]:
    """The resources of 1.37."""
    found: list[FieldError] = []
    for name, used in sorted((device.get("nodeAllocatableResources") or {}).items()):
        here = f"{path}.nodeAllocatableResources[{name}]"
        if not is_allocatable(name):
            found.append(invalid(here, name, "must be a node allocatable resource name"))
        mapped, overhead = used.get("mapping"), used.get("overhead")
        if mapped is None and overhead is None:
            found.append(required(here, "at least one of mapping or overhead must be set"))
        if mapped is not None:
            found += _mapping(mapped, device, f"{here}.mapping")
        if overhead is not None:
            found += overhead_errors(overhead, f"{here}.overhead")
    return found


def _mapping(mapped: Obj, device: Obj, path: str) -> list[FieldError]:
    key, multiplier = mapped.get("capacityKey"), mapped.get("capacityMultiplier")
    found = _capacity_key(mapped, device, path)
    if key is not None and multiplier is None:
        text = "capacityMultiplier is required when capacityKey is set"
        found.append(required(f"{path}.capacityMultiplier", text))
    elif key is not None:
        found += _positive(mapped, "capacityMultiplier", path)
    elif multiplier is not None:
        found.append(required(f"{path}.capacityKey", "capacityKey is required when capacityMultiplier is set"))
    return found + _positive(mapped, "deviceMultiplier", path) + _one_of(mapped, path)


def _one_of(mapped: Obj, path: str) -> list[FieldError]:
    names = ", ".join(f"`{name}`" for name in _UNION)
    present = [name for name in _UNION if name in mapped]
    if not present:
        return [invalid(path, "", f"{NO_VALUE} {names}")]
    if len(present) > 1:
        return [invalid(path, f"{{{', '.join(present)}}}", f"{SEVERAL_VALUES} {names}")]
    return []


def _capacity_key(mapped: Obj, device: Obj, path: str) -> list[FieldError]:
    key = mapped.get("capacityKey")
    if key == "":
        return [invalid(f"{path}.capacityKey", "", "capacityKey must not be an empty string")]
    if key is not None and key not in (device.get("capacity") or {}):
        return [not_found_field(f"{path}.capacityKey", key)]
    return []


def _positive(mapped: Obj, name: str, path: str) -> list[FieldError]:
    value = mapped.get(name)
    if value is None or Quantity.parse(value).sign > 0:
        return []
    return [invalid(f"{path}.{name}", value, "must be positive")]


def overhead_errors(overhead: Obj, path: str) -> list[FieldError]:
    """Return the errors in an overhead: it has an amount for each pod or for each container, and none is negative."""
    amounts = {name: overhead[name] for name in ("perPod", "perContainer") if overhead.get(name) is not None}
    if not amounts:
        return [invalid(path, "", "at least one of perPod or perContainer must be set")]
    return [
        invalid(f"{path}.{name}", value, "must be non-negative")
        for name, value in amounts.items()
        if Quantity.parse(value).sign < 0
    ]
