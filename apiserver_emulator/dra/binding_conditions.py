"""Binding conditions of devices and allocation results (DRA-076). Pure functions.

Source: pkg/apis/resource/validation/validation.go (validateDeviceBindingParameters), release 1.36.
"""

from __future__ import annotations

from typing import Any

from apiserver_emulator.dra.checks import each, label_name
from dra_api.status import FieldError, duplicate, invalid

Obj = dict[str, Any]

CONDITIONS_MAX = 4


def validate_binding_conditions(holder: Obj, path: str) -> list[FieldError]:
    """Both lists or neither; at most four label names each; no duplicates; disjoint."""
    binding: list[str] = holder.get("bindingConditions") or []
    failure: list[str] = holder.get("bindingFailureConditions") or []
    binding_path, failure_path = f"{path}.bindingConditions", f"{path}.bindingFailureConditions"
    found = each(binding, binding_path, CONDITIONS_MAX, label_name)
    found += each(failure, failure_path, CONDITIONS_MAX, label_name)
    for at, condition in enumerate(binding):
        if condition in binding[:at]:
            found.append(duplicate(f"{binding_path}[{at}]", condition))
    for at, condition in enumerate(failure):
        if condition in failure[:at]:
            found.append(duplicate(f"{failure_path}[{at}]", condition))
        if condition in binding:
            text = "bindingFailureConditions must not overlap with bindingConditions"
            found.append(invalid(f"{failure_path}[{at}]", condition, text))
    if failure and not binding:
        found.append(invalid(binding_path, None, "bindingConditions are required to use bindingFailureConditions"))
    if binding and not failure:
        found.append(invalid(failure_path, None, "bindingFailureConditions are required to use bindingConditions"))
    return found
