"""Devices of a ResourceSlice: limits, attributes, capacity, counters, node selection, taints. Pure functions.

Source: pkg/apis/resource/validation/validation.go (validateDevice), release 1.36; rules DRA-056 to DRA-076.
"""

from __future__ import annotations

from typing import Any

from apiserver_emulator.dra import canonical
from apiserver_emulator.dra.attributes import has_list, validate_attribute, value_count
from apiserver_emulator.dra.binding_conditions import validate_binding_conditions
from apiserver_emulator.dra.canonical import same
from apiserver_emulator.dra.capacity import validate_capacity
from apiserver_emulator.dra.checks import each, label, mapping, qualified_name, subdomain, unique
from apiserver_emulator.dra.counters import (
    OLD_CONSUMED_COUNTERS_MAX,
    default_counters,
    validate_consumption,
    validate_references,
)
from apiserver_emulator.dra.node_allocatable import validate_mappings, validate_resources
from apiserver_emulator.dra.node_selector import validate_node_selector
from apiserver_emulator.dra.rules import Rules
from apiserver_emulator.dra.taints import validate_taint
from dra_api.status import FieldError, invalid, required

Obj = dict[str, Any]

DEVICES_MAX = 128
DEVICES_WITH_EXTRAS_MAX = 64
ENTRIES_MAX = 32
VALUES_MAX = 48
TAINTS_MAX = 16
OLD_TAINTS_MAX = 4
NODE_FIELDS = ("nodeName", "nodeSelector", "allNodes")
_NODE_TEXT = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true "
    "in the ResourceSlice spec"
)


def default_device(device: Obj) -> None:
    """Quantities that are not omitted if they are empty, and canonical times."""
    for capacity in (device.get("capacity") or {}).values():
        capacity.setdefault("value", "0")
    for entry in device.get("consumesCounters") or ():
        default_counters(entry)
    canonical.times(device.get("taints") or (), "timeAdded")
    for mapped in (device.get("nodeAllocatableResourceMappings") or {}).values():
        mapped.setdefault("allocationMultiplier", "1")


def validate_devices(spec: Obj, old: Obj | None, rules: Rules) -> list[FieldError]:
    """All devices of a slice spec; `old` is the stored spec of an update."""
    devices = spec.get("devices") or []
    # Reversed, so that the first of devices with one name remains.
    before = {device.get("name", ""): device for device in reversed((old or {}).get("devices") or [])}
    found = unique(
        devices,
        "spec.devices",
        _limit(devices, rules),
        lambda device, at: _device(device, before.get(device.get("name", "")), at, spec, rules),
        key=lambda device: device.get("name", ""),
        key_field="name",
        rules=rules,
    )
    if rules.minor < 35:
        total = sum(len(c.get("counters") or {}) for d in devices for c in d.get("consumesCounters") or ())
        if total > OLD_CONSUMED_COUNTERS_MAX:
            text = f"the total number of counters in devices must not exceed {OLD_CONSUMED_COUNTERS_MAX}"
            found.append(invalid("spec.devices", total, text))
    return found


def _limit(devices: list[Obj], rules: Rules) -> int:
    if rules.minor < 35:
        return DEVICES_MAX
    for device in devices:
        if device.get("taints") or device.get("consumesCounters"):
            return DEVICES_WITH_EXTRAS_MAX
        if rules.minor >= 36 and any(has_list(a) for a in (device.get("attributes") or {}).values()):
            return DEVICES_WITH_EXTRAS_MAX
    return DEVICES_MAX


def _device(device: Obj, old: Obj | None, path: str, spec: Obj, rules: Rules) -> list[FieldError]:
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    found = label(device.get("name", ""), f"{path}.name")
    entries = len(attributes) + len(capacity)
    if entries > ENTRIES_MAX:
        text = f"the total number of attributes and capacities must not exceed {ENTRIES_MAX}"
        found.append(invalid(path, entries, text))
    values = value_count(attributes)
    if values > VALUES_MAX and rules.minor >= 36:
        found.append(invalid(path, values, f"the total number of attribute values must not exceed {VALUES_MAX}"))
    found += mapping(
        attributes,
        f"{path}.attributes",
        -1,
        rules=rules,
        check_key=qualified_name,
        check=lambda attribute, at: validate_attribute(attribute, at, rules),
    )
    shared = bool(device.get("allowMultipleAllocations"))
    if not unchanged_capacity(device, old, rules):
        found += mapping(
            capacity,
            f"{path}.capacity",
            -1,
            rules=rules,
            check_key=qualified_name,
            check=lambda entry, at: validate_capacity(entry, at, shared=shared, rules=rules),
        )
    taints = device.get("taints") or []
    # Unchanged taints are not validated again: an effect that this release does not define is kept.
    if old is None or rules.minor < 35 or not same(old.get("taints"), taints):
        found += each(
            taints,
            f"{path}.taints",
            TAINTS_MAX if rules.minor >= 35 else OLD_TAINTS_MAX,
            lambda taint, at: validate_taint(taint, at, old=None, rules=rules),
        )
    found += validate_consumption(device.get("consumesCounters") or [], f"{path}.consumesCounters", rules)
    if rules.minor < 35:
        found += validate_references(device, path, spec.get("sharedCounters") or [])
    found += _nodes(device, path, per_device=bool(spec.get("perDeviceNodeSelection")))
    found += validate_binding_conditions(device, path)
    return found + validate_mappings(device, path) + validate_resources(device, path)


def unchanged_capacity(device: Obj, old: Obj | None, rules: Rules) -> bool:
    """Return whether the capacity map is not validated again: since 1.37 if it is the stored one (DRA-424)."""
    return rules.minor >= 37 and old is not None and same(old.get("capacity"), device.get("capacity"))


def _nodes(device: Obj, path: str, *, per_device: bool) -> list[FieldError]:
    if not per_device:
        if any(name in device for name in NODE_FIELDS):
            text = (
                "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true "
                "in the ResourceSlice spec"
            )
            return [invalid(path, None, text)]
        return []
    found: list[FieldError] = []
    chosen: list[str] = []
    name = device.get("nodeName")
    if name:
        chosen.append("`nodeName`")
        found += subdomain(name, f"{path}.nodeName")
    elif name is not None:
        found.append(invalid(f"{path}.nodeName", name, "must not be empty"))
    selector = device.get("nodeSelector")
    if selector is not None:
        chosen.append("`nodeSelector`")
        found += validate_node_selector(selector, f"{path}.nodeSelector")
    everywhere = device.get("allNodes")
    if everywhere:
        chosen.append("`allNodes`")
    elif everywhere is not None:
        found.append(invalid(f"{path}.allNodes", everywhere, "must be either unset or set to true"))
    if not chosen:
        found.append(required(path, _NODE_TEXT))
    elif len(chosen) > 1:
        found.append(invalid(path, "{" + ", ".join(chosen) + "}", _NODE_TEXT))
    return found
