"""Opaque driver configuration in claims, classes and allocations (DRA-026, DRA-027). Pure functions.

Source: pkg/apis/resource/validation/validation.go (validateDeviceConfiguration), release 1.36.
"""

from __future__ import annotations

from typing import Any

from apiserver_emulator.dra.checks import config_driver_name, raw_object
from apiserver_emulator.dra.rules import Rules
from dra_api.status import FieldError, required

Obj = dict[str, Any]

CONFIG_MAX = 32
PARAMETERS_MAX = 10 * 1024


def validate_configuration(config: Obj, path: str, rules: Rules, *, stored: bool = False) -> list[FieldError]:
    """One configuration: opaque parameters are its only form. `stored` lifts the size limit."""
    opaque = config.get("opaque")
    if opaque is None:
        return [required(f"{path}.opaque")]
    found = config_driver_name(opaque.get("driver", ""), f"{path}.opaque.driver", rules)
    parameters = opaque.get("parameters")
    return found + raw_object(parameters, f"{path}.opaque.parameters", limit=PARAMETERS_MAX, stored=stored)
