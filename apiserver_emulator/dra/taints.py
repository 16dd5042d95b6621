"""Device taints, of devices in slices and of DeviceTaintRules (DRA-070, DRA-071, DRA-230). Pure functions.

Source: pkg/apis/resource/validation/validation.go (validateDeviceTaint), release 1.36.
"""

from __future__ import annotations

from typing import Any

from apiserver_emulator.dra.checks import label_name, label_value
from apiserver_emulator.dra.requests import EFFECTS
from apiserver_emulator.dra.rules import Rules
from dra_api.clock import timestamp
from dra_api.status import FieldError, not_supported, required

Obj = dict[str, Any]


def default_taint(taint: Obj, rules: Rules) -> None:
    """A taint without a time gets now, in seconds, on every write."""
    if "timeAdded" not in taint:
        taint["timeAdded"] = timestamp(rules.now())


def validate_taint(taint: Obj, path: str, *, old: Obj | None, rules: Rules) -> list[FieldError]:
    """One taint; an unknown effect that is already stored passes since 1.35."""
    found = label_name(taint.get("key", ""), f"{path}.key")
    if taint.get("value"):
        found += label_value(taint["value"], f"{path}.value")
    effect = taint.get("effect", "")
    if old is not None and old.get("effect", "") == effect and rules.minor >= 35:
        return found
    if not effect:
        found.append(required(f"{path}.effect"))
    elif effect not in EFFECTS:
        found.append(not_supported(f"{path}.effect", effect, EFFECTS))
    return found
