"""Device capacity with request policies (DRA-072 to DRA-075). Pure functions.

Source: pkg/apis/resource/validation/validation.go (validateRequestPolicy and below), releases 1.36 and 1.37. With
DRAFractionalCapacityRange, which 1.37 has, a policy with fractions is computed in thousandths (DRA-420 to DRA-423). One
difference: steps that a server up to 1.36 cannot compute with are refused as 1.37 refuses them. The real server divides
by zero there, or decides by numbers that have overflowed (kubernetes/kubernetes#139698, #140666; DRA-074b).
"""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise
from typing import Any

from apiserver_emulator.dra.checks import unique
from apiserver_emulator.dra.rules import Rules
from dra_api.quantity import Quantity
from dra_api.status import FieldError, forbidden_field, invalid, required

Obj = dict[str, Any]

VALID_VALUES_MAX = 10
_INT64_MAX = (1 << 63) - 1
_FRACTIONS = "DRAFractionalCapacityRange"


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
        return _range(span, Quantity.parse(policy["default"]), limit, f"{here}.validRange", rules)
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

    key = _decimal_text if rules.on(_FRACTIONS) else _whole_text
    found += unique(values, path, VALID_VALUES_MAX, check, key=key, key_field="", rules=rules)
    if len(values) > VALID_VALUES_MAX or default not in values:
        found.append(invalid(path, str(default), "default value is not valid according to the requestPolicy"))
    return found


def _whole_text(value: Quantity) -> str:
    """Return the value rounded up to an integer, by which values are compared: 1100m equals 2 (DRA-073)."""
    return str(value.value)


def _decimal_text(value: Quantity) -> str:
    """Return the text of Go's inf.Dec, by which values are compared with fractions: 0.1 does not equal 0.100."""
    places = max(0, -value.parts()[1])
    number = Decimal(value.scaled_value(-places)).as_tuple()
    # Exact for any number of digits, unlike Decimal's arithmetic.
    return f"{Decimal((number.sign, number.digits, -places)):f}"


def _range(span: Obj, default: Quantity, limit: Quantity, path: str, rules: Rules) -> list[FieldError]:
    if "min" not in span:
        return [required(f"{path}.min", "required when validRange is defined")]
    low = Quantity.parse(span["min"])
    # Errors about the default name the bound that it violates up to 1.36.
    own_field = rules.minor >= 37
    found: list[FieldError] = []
    if low > limit:
        found.append(invalid(f"{path}.min", str(low), f"min is larger than capacity value: {limit}"))
    if default < low:
        field = "default" if own_field else "min"
        found.append(invalid(f"{path}.{field}", str(default), f"default is less than min: {low}"))
    high = Quantity.parse(span["max"]) if "max" in span else None
    if high is not None:
        if low > high:
            found.append(invalid(f"{path}.max", str(low), f"min is larger than max: {high}"))
        if high > limit:
            found.append(invalid(f"{path}.max", str(high), f"max is larger than capacity value: {limit}"))
        if default > high:
            field = "default" if own_field else "max"
            found.append(invalid(f"{path}.{field}", str(default), f"default is more than max: {high}"))
    step = Quantity.parse(span["step"]) if "step" in span else None
    numbers = {"default": default, "min": low, "max": high, "step": step}
    fractions = rules.on(_FRACTIONS) and any(value is not None and _is_fraction(value) for value in numbers.values())
    if fractions:
        too_fine = [
            invalid(f"{path}.{name}", str(value), "value cannot be represented as a milli value")
            for name, value in numbers.items()
            if value is not None and not _has_thousandths(value)
        ]
        if too_fine:
            return found + too_fine
    if step is not None:
        found += _steps(low, high, step, default, limit=limit, path=path, rules=rules, fractions=fractions)
    return found


def _is_multiple_of(scale: int, value: Quantity) -> bool:
    """Whether the value is a multiple of ``10**scale``. A parsed quantity has at most nine decimal places."""
    unscaled, own, _, _ = value.parts()
    return own >= scale or unscaled % 10 ** (scale - own) == 0


def _is_fraction(value: Quantity) -> bool:
    return not _is_multiple_of(0, value)


def _has_thousandths(value: Quantity) -> bool:
    """Whether the value is a number of thousandths that fits into 64 bits."""
    least, most = Quantity(-_INT64_MAX - 1, scale=-3), Quantity(_INT64_MAX, scale=-3)
    return least <= value <= most and _is_multiple_of(-3, value)


def _steps(
    low: Quantity,
    high: Quantity | None,
    step: Quantity,
    default: Quantity,
    *,
    limit: Quantity,
    path: str,
    rules: Rules,
    fractions: bool,
) -> list[FieldError]:
    """Return the errors about the steps of a range; `fractions`: they are counted in thousandths."""
    here = f"{path}.step"
    negative = rules.minor >= 37
    if step.sign == 0 or (negative and step.sign < 0):
        return [invalid(here, str(step), "must be greater than zero")]
    found: list[FieldError] = []
    added = low + step
    if added > limit:
        found.append(invalid(here, str(step), f"one step {added} is larger than capacity value: {limit}"))
    numbers = {"default": default, "min": low, "max": high, "step": step}
    uncountable = [
        invalid(f"{path}.{name}", str(value), text)
        for name, value in numbers.items()
        if value is not None and not fractions and (text := _uncountable(value, negative=negative))
    ]
    if uncountable:
        return found + uncountable
    unit = -3 if fractions else 0
    for value in (default, high):
        if value is None:
            continue
        if (value.scaled_value(unit) - low.scaled_value(unit)) % abs(step.scaled_value(unit)) != 0:
            text = f"value is not a multiple of a given step ({step}) from ({low})"
            found.append(invalid(here, str(value), text))
    return found


def _uncountable(value: Quantity, *, negative: bool) -> str:
    """Return why steps cannot be counted with this quantity, which the server reads as a 64-bit integer; or nothing."""
    if negative and value.sign < 0:
        return "must be greater than or equal to 0"
    return f"must not be larger than {_INT64_MAX}" if value > Quantity(_INT64_MAX) else ""
