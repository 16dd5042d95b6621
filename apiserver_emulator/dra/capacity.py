"""Device capacity with request policies (DRA-072 to DRA-075). Pure functions.

Source: pkg/apis/resource/validation/validation.go (validateRequestPolicy and below), release 1.36.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from apiserver_emulator.dra.checks import unique
from apiserver_emulator.dra.rules import Rules
from dra_api.quantity import Quantity
from dra_api.status import FieldError, forbidden_field, internal_error, invalid, required

Obj = dict[str, Any]

VALID_VALUES_MAX = 10
_INT64 = 1 << 63


def validate_capacity(capacity: Obj, path: str, *, shared: bool, rules: Rules) -> list[FieldError]:
    """Return the errors in one capacity; `shared`: the device allows several allocations."""
    policy = capacity.get("requestPolicy")
    if policy is None:
        return []
    here = f"{path}.requestPolicy"
    if not shared:
        return [forbidden_field(here, "allowMultipleAllocations must be true")]
    values, span = policy.get("validValues") or [], policy.get("validRange")
    if values and span is not None:
        text = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
        return [forbidden_field(here, text)]
    limit = Quantity.parse(capacity["value"])
    if values:
        if "default" not in policy:
            return [required(f"{here}.default", "required when validValues is defined")]
        parsed = [Quantity.parse(value) for value in values]
        return _values(parsed, Quantity.parse(policy["default"]), limit, f"{here}.validValues", rules)
    if span is not None:
        if "default" not in policy:
            return [required(f"{here}.default", "required when validRange is defined")]
        return _range(span, Quantity.parse(policy["default"]), limit, f"{here}.validRange")
    return []


def _values(values: list[Quantity], default: Quantity, limit: Quantity, path: str, rules: Rules) -> list[FieldError]:
    found = [
        invalid(f"{path}[{at + 1}]", str(after), "values must be sorted in ascending order")
        for at, (before, after) in enumerate(pairwise(values))
        if before > after
    ]

    def check(value: Quantity, here: str) -> list[FieldError]:
        if value > limit:
            return [invalid(here, str(value), f"option is larger than capacity value: {limit}")]
        return []

    # Uniqueness is by the value rounded up to an integer: 1100m equals 2 (DRA-073).
    found += unique(values, path, VALID_VALUES_MAX, check, key=lambda v: str(v.value), key_field="", rules=rules)
    if len(values) > VALID_VALUES_MAX or default not in values:
        found.append(invalid(path, str(default), "default value is not valid according to the requestPolicy"))
    return found


def _range(span: Obj, default: Quantity, limit: Quantity, path: str) -> list[FieldError]:
    if "min" not in span:
        return [required(f"{path}.min", "required when validRange is defined")]
    low = Quantity.parse(span["min"])
    found: list[FieldError] = []
    if low > limit:
        found.append(invalid(f"{path}.min", str(low), f"min is larger than capacity value: {limit}"))
    if default < low:
        found.append(invalid(f"{path}.min", str(default), f"default is less than min: {low}"))
    high = Quantity.parse(span["max"]) if "max" in span else None
    if high is not None:
        if low > high:
            found.append(invalid(f"{path}.max", str(low), f"min is larger than max: {high}"))
        if high > limit:
            found.append(invalid(f"{path}.max", str(high), f"max is larger than capacity value: {limit}"))
        if default > high:
            found.append(invalid(f"{path}.max", str(default), f"default is more than max: {high}"))
    if "step" in span:
        step = Quantity.parse(span["step"])
        here = f"{path}.step"
        added = low + step
        if added > limit:
            text = f"one step {added} is larger than capacity value: {limit}"
            found.append(invalid(here, str(step), text))
        for value in (default, high):
            if value is not None and _off_step(value, low, step):
                text = f"value is not a multiple of a given step ({step}) from ({low})"
                found.append(invalid(here, str(value), text))
    return found


def _off_step(value: Quantity, low: Quantity, step: Quantity) -> bool:
    divisor = _int64(step.value)
    if divisor == 0:
        # A real server up to 1.36 panics here and drops the connection (kubernetes issues 139653 and 140472); an
        # response with that text is the closest that a client can still read.
        raise internal_error("runtime error: integer divide by zero (validRange.step)")
    # Go's remainder has another sign, but only zero matters.
    return _int64(value.value - low.value) % abs(divisor) != 0


def _int64(value: int) -> int:
    # Go's int64 overflows without an error.
    return (value + _INT64) % (2 * _INT64) - _INT64
