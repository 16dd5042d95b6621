"""Shared counters and their consumption (DRA-065 to DRA-067). Pure functions.

Source: pkg/apis/resource/validation/validation.go, releases 1.34 (limits over a whole slice, references checked) and
1.36 (limits over a set, references left to the allocator).
"""

from __future__ import annotations

from typing import Any

from apiserver_emulator.dra.checks import label, mapping, unique
from apiserver_emulator.dra.rules import Rules
from dra_api.status import FieldError, invalid, required

Obj = dict[str, Any]

SETS_MAX = 8
COUNTERS_PER_SET_MAX = 32
CONSUMPTIONS_MAX = 2
COUNTERS_PER_CONSUMPTION_MAX = 32
COMPATIBILITY_GROUPS_MAX = 2
OLD_SLICE_COUNTERS_MAX = 32
OLD_DEVICE_COUNTERS_MAX = 32
OLD_CONSUMED_COUNTERS_MAX = 1024
_LABEL_MAX = 63


def default_counters(holder: Obj) -> None:
    """The values of one set's counters, which are not omitted if they are empty."""
    for counter in (holder.get("counters") or {}).values():
        counter.setdefault("value", "0")


def validate_counter_sets(sets: list[Obj], path: str, rules: Rules) -> list[FieldError]:
    """The shared counters of a slice."""
    found: list[FieldError] = []
    if rules.minor < 35:
        total = sum(len(counter_set.get("counters") or {}) for counter_set in sets)
        if total > OLD_SLICE_COUNTERS_MAX:
            text = f"the total number of shared counters must not exceed {OLD_SLICE_COUNTERS_MAX}"
            found.append(invalid(path, total, text))
    return found + unique(
        sets,
        path,
        SETS_MAX if rules.minor >= 35 else -1,
        lambda counter_set, at: _counter_set(counter_set, at, rules),
        key=lambda counter_set: counter_set.get("name", ""),
        key_field="name",
        rules=rules,
        whole=True,
    )


def _counter_set(counter_set: Obj, path: str, rules: Rules) -> list[FieldError]:
    name = counter_set.get("name", "")
    found = label(name, f"{path}.name") if name else [required(f"{path}.name")]
    return found + _counters(counter_set, path, COUNTERS_PER_SET_MAX, rules)


def _counters(holder: Obj, path: str, limit: int, rules: Rules) -> list[FieldError]:
    counters = holder.get("counters") or {}
    if not counters:
        return [required(f"{path}.counters")]
    return mapping(
        counters,
        f"{path}.counters",
        limit if rules.minor >= 35 else -1,
        rules=rules,
        check_key=label,
        check=lambda counter, at: [],  # any quantity is valid, negative ones too
        shown=_LABEL_MAX,
    )


def validate_consumption(consumed: list[Obj], path: str, rules: Rules) -> list[FieldError]:
    """Return the errors in the counters that a device consumes."""
    return unique(
        consumed,
        path,
        CONSUMPTIONS_MAX if rules.minor >= 35 else -1,
        lambda entry, at: _consumption(entry, at, rules),
        key=lambda entry: entry.get("counterSet", ""),
        key_field="counterSet",
        rules=rules,
        whole=True,
    )


def _consumption(entry: Obj, path: str, rules: Rules) -> list[FieldError]:
    name = entry.get("counterSet", "")
    found: list[FieldError] = []
    if not name:
        found.append(required(f"{path}.counterSet"))
    elif rules.minor >= 35:
        found += label(name, f"{path}.counterSet")
    found += _counters(entry, path, COUNTERS_PER_CONSUMPTION_MAX, rules)
    groups = entry.get("compatibilityGroups") or []
    here = f"{path}.compatibilityGroups"
    return found + unique(groups, here, COMPATIBILITY_GROUPS_MAX, label, key=str, key_field="", rules=rules)


def validate_references(device: Obj, path: str, sets: list[Obj]) -> list[FieldError]:
    """1.34: a device's counters must be declared in the same slice, and be few."""
    names = {counter_set.get("name", ""): counter_set.get("counters") or {} for counter_set in sets}
    consumed = device.get("consumesCounters") or []
    found: list[FieldError] = []
    total = sum(len(entry.get("counters") or {}) for entry in consumed)
    if total > OLD_DEVICE_COUNTERS_MAX:
        text = f"the total number of counters must not exceed {OLD_DEVICE_COUNTERS_MAX}"
        found.append(invalid(path, total, text))
    for at, entry in enumerate(consumed):
        here = f"{path}.consumesCounters[{at}]"
        declared = names.get(entry.get("counterSet", ""))
        if declared is None:
            text = "must reference a counterSet defined in the ResourceSlice sharedCounters"
            found.append(invalid(f"{here}.counterSet", entry.get("counterSet", ""), text))
            continue
        text = "must reference a counter defined in the ResourceSlice sharedCounters"
        found += [
            invalid(f"{here}.counters", name, text)
            for name in sorted(entry.get("counters") or {})
            if name not in declared
        ]
    return found
