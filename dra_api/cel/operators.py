"""Arithmetic, order, membership and conversions: the functions behind CEL's operators and type names.

Pure functions of their arguments. int64 and uint64 overflow are errors, division truncates, doubles follow IEEE 754.
Source: cel-go 0.26 common/types (int.go, uint.go, double.go, overflow.go, duration.go, timestamp.go, string.go).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from .errors import CelRuntimeError, CostExceeded
from .values import (
    INT_MAX,
    INT_MIN,
    MAX_TIMESTAMP,
    MIN_TIMESTAMP,
    UINT_MAX,
    Cidr,
    Duration,
    Ip,
    Timestamp,
    TypeValue,
    Uint,
    checked_int,
    compare,
    contains,
    find_key,
    no_overload,
    type_value,
)

__all__ = ["CONVERSIONS", "OPERATORS", "explain", "parse_duration", "parse_timestamp"]

# Maximum length of a new list; cel-go shares list storage and needs no such limit.
MAX_LIST: Final = 10_000_000


def _checked_uint(value: int) -> Uint:
    if 0 <= value <= UINT_MAX:
        return Uint(value)
    raise CelRuntimeError("unsigned integer overflow")


def add(left: Any, right: Any) -> Any:
    kind, other = left.__class__, right.__class__
    if kind is int and other is int:
        return checked_int(left + right)
    if kind is other and kind in (str, float, bytes):
        return left + right
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        if len(left) + len(right) > MAX_LIST:
            raise CostExceeded("operation cancelled: actual cost limit exceeded")
        return [*left, *right]
    if kind is Uint and other is Uint:
        return _checked_uint(int(left) + int(right))
    if kind is Duration and other is Duration:
        return Duration(left.nanos + right.nanos)
    if kind is Duration and other is Timestamp:
        return Timestamp(left.nanos + right.nanos, right.offset)
    if kind is Timestamp and other is Duration:
        return Timestamp(left.nanos + right.nanos, left.offset)
    raise no_overload()


def subtract(left: Any, right: Any) -> Any:
    kind, other = left.__class__, right.__class__
    if kind is int and other is int:
        return checked_int(left - right)
    if kind is float and other is float:
        return left - right
    if kind is Uint and other is Uint:
        return _checked_uint(int(left) - int(right))
    if kind is Duration and other is Duration:
        return Duration(left.nanos - right.nanos)
    if kind is Timestamp and other is Duration:
        return Timestamp(left.nanos - right.nanos, left.offset)
    if kind is Timestamp and other is Timestamp:
        return Duration(left.nanos - right.nanos)
    raise no_overload()


def multiply(left: Any, right: Any) -> Any:
    kind = left.__class__
    if kind is not right.__class__:
        raise no_overload()
    if kind is int:
        return checked_int(left * right)
    if kind is float:
        return left * right
    if kind is Uint:
        return _checked_uint(int(left) * int(right))
    raise no_overload()


def divide(left: Any, right: Any) -> Any:
    kind = left.__class__
    if kind is not right.__class__:
        raise no_overload()
    if kind is float:
        # Python raises for a division by zero; CEL follows IEEE 754.
        if right != 0.0:
            return left / right
        if left == 0.0 or math.isnan(left):
            return math.nan
        return math.copysign(math.inf, left) * math.copysign(1.0, right)
    if kind is not int and kind is not Uint:
        raise no_overload()
    if right == 0:
        raise CelRuntimeError("division by zero")
    # CEL truncates toward zero, Python rounds down.
    quotient = abs(left) // abs(right)
    if kind is Uint:
        return Uint(quotient)
    return checked_int(quotient if (left < 0) == (right < 0) else -quotient)


def modulo(left: Any, right: Any) -> Any:
    kind = left.__class__
    if kind is not right.__class__ or kind not in (int, Uint):
        raise no_overload()
    if right == 0:
        raise CelRuntimeError("modulus by zero")
    # The remainder is 0, but cel-go reports the overflow of the quotient.
    if kind is int and left == INT_MIN and right == -1:
        raise CelRuntimeError("integer overflow")
    # In CEL the remainder has the sign of the dividend, in Python that of the divisor.
    remainder = abs(left) % abs(right)
    if kind is Uint:
        return Uint(remainder)
    return -remainder if left < 0 else remainder


def negate(value: Any) -> Any:
    kind = value.__class__
    if kind is int:
        return checked_int(-value)
    if kind is float:
        return -value
    if kind is Duration:
        return Duration(-value.nanos)
    raise no_overload()


def logical_not(value: Any) -> bool:
    if value is True:
        return False
    if value is False:
        return True
    raise no_overload()


def less(left: Any, right: Any) -> bool:
    return compare(left, right) < 0


def less_equals(left: Any, right: Any) -> bool:
    return compare(left, right) <= 0


def greater(left: Any, right: Any) -> bool:
    return compare(left, right) > 0


def greater_equals(left: Any, right: Any) -> bool:
    return compare(left, right) >= 0


def member_of(value: Any, items: Any) -> bool:
    if isinstance(items, (list, tuple)):
        return contains(items, value)
    if isinstance(items, dict):
        return find_key(items, value)[0]
    raise no_overload()


OPERATORS: Final[dict[str, Callable[..., Any]]] = {
    "_+_": add,
    "_-_": subtract,
    "_*_": multiply,
    "_/_": divide,
    "_%_": modulo,
    "-_": negate,
    "!_": logical_not,
    "_<_": less,
    "_<=_": less_equals,
    "_>_": greater,
    "_>=_": greater_equals,
    "@in": member_of,
}

# Left operands for which an operator exists; for any other, the error names the operator.
_TRAITS: Final[dict[str, frozenset[type]]] = {
    "_+_": frozenset({bytes, float, Duration, int, list, str, Timestamp, Uint}),
    "_-_": frozenset({float, Duration, int, Timestamp, Uint}),
    "_*_": frozenset({float, int, Uint}),
    "_/_": frozenset({float, int, Uint}),
    "_%_": frozenset({int, Uint}),
    "-_": frozenset({bool, float, Duration, int}),
    "size": frozenset({str, bytes, list, dict}),
    **dict.fromkeys(
        ("_<_", "_<=_", "_>_", "_>=_"), frozenset({bool, int, Uint, float, str, bytes, Timestamp, Duration})
    ),
    "sort": frozenset(),
}


_RECEIVERS: Final = frozenset({str, Timestamp, Duration})


def explain(error: CelRuntimeError, function: str, args: tuple[Any, ...]) -> CelRuntimeError:
    """Return a ``no such overload`` error with cel-go's text for this function and these arguments."""
    if error.message != "no such overload":
        return error
    traits = _TRAITS.get(function)
    if traits is not None:
        known = args[0].__class__ in traits or args[0].__class__ in _RECEIVERS
        return error if known else CelRuntimeError(f"no such overload: {function}")
    if function in OPERATORS or function in ("contains", "endsWith", "startsWith", "matches", "containsIP"):
        return error
    names = ", ".join(type_value(arg).name for arg in args)
    return CelRuntimeError(f"no such overload: {function}({names})")


# --- conversions

_DURATION: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_UNITS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_TIMESTAMP: Final = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})T(\d{1,2}):(\d{2}):(\d{2})(?:[.,](\d+))?(Z|[+-]\d{2}:\d{2})", re.ASCII
)
_DECIMAL: Final = re.compile(r"[+-]?[0-9]+")
_FLOAT: Final = re.compile(
    r"[+-]?(?:[0-9][0-9_]*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?:inf|infinity)|nan", re.IGNORECASE
)


def parse_duration(text: str) -> Duration:
    """Parse Go's duration notation, ``1h30m``, ``-1.5s``."""
    body = text[1:] if text[:1] in ("+", "-") else text
    total, pos = 0, 0
    if body == "0":
        return Duration(0)
    # A longer text is refused below; its digits would be too many for int().
    while pos < len(body) <= 200:
        found = _DURATION.match(body, pos)
        if found is None or not (found[1] or found[2]):
            break
        unit = _UNITS[found[3]]
        total += int(found[1] or 0) * unit
        if found[2]:
            # Go too ignores digits that do not fit into an int64 (time, leadingFraction).
            total += int(found[2][:20]) * unit // 10 ** len(found[2][:20])
        pos = found.end()
    if not body or pos != len(body) or len(body) > 200:
        raise _convert_error(text, "google.protobuf.Duration")
    # The magnitude of the least int64 is one more than that of the largest.
    if total > INT_MAX + text.startswith("-"):
        raise _convert_error(text, "google.protobuf.Duration")
    return Duration(-total if text.startswith("-") else total)


def parse_timestamp(text: str) -> Timestamp:
    """Parse RFC 3339 with any number of fraction digits; nanoseconds are kept."""
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        raise _convert_error(text, "google.protobuf.Timestamp")
    try:
        moment = datetime(*(int(found[i]) for i in range(1, 7)), tzinfo=UTC)  # type: ignore[misc,arg-type]
    except ValueError:
        raise _convert_error(text, "google.protobuf.Timestamp") from None
    seconds = int((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())
    zone, offset = found[8], 0
    if zone != "Z":
        hours, minutes = int(zone[1:3]), int(zone[4:6])
        # As wide as Go's time.Parse, which accepts the offsets 24:00 and 00:60.
        if hours > 24 or minutes > 60:
            raise _convert_error(text, "google.protobuf.Timestamp")
        offset = (hours * 60 + minutes) * (1 if zone[0] == "+" else -1)
        seconds -= offset * 60
    # Go cuts digits after the ninth.
    nanos = seconds * 10**9 + int((found[7] or "0")[:9].ljust(9, "0"))
    if not MIN_TIMESTAMP <= nanos <= MAX_TIMESTAMP:
        raise CelRuntimeError("timestamp overflow")
    return Timestamp(nanos, offset)


def _convert_error(value: Any, target: str) -> CelRuntimeError:
    return CelRuntimeError(f"type conversion error from '{type_value(value).name}' to '{target}'")


def to_int(value: Any) -> int:
    kind = value.__class__
    if kind is int:
        return int(value)
    if kind is Uint:
        return checked_int(int(value))
    if kind is float:
        # Both limits are excluded, as in cel-go (overflow.go): as a double the upper one is 2^63.
        if not -9223372036854775808.0 < value < 9223372036854775807.0:
            raise CelRuntimeError("integer overflow")
        return int(value)
    if kind is Duration:
        return int(value.nanos)
    if kind is Timestamp:
        return int(value.nanos // 10**9)
    if kind is str:
        if not _DECIMAL.fullmatch(value):
            raise _convert_error(value, "int")
        # int() refuses more than 4,300 digits, and leading zeros count.
        digits = value.lstrip("+-0") or "0"
        number = int(digits[:20]) * (-1 if value[0] == "-" else 1)
        if not INT_MIN <= number <= INT_MAX:
            raise _convert_error(value, "int")
        return number
    raise no_overload()


def to_uint(value: Any) -> Uint:
    kind = value.__class__
    if kind is Uint:
        return Uint(value)
    if kind is int:
        return _checked_uint(value)
    if kind is float:
        if math.isnan(value) or not 0 <= value < 18446744073709551616.0:
            raise CelRuntimeError("unsigned integer overflow")
        return Uint(int(value))
    if kind is str:
        if not (value.isascii() and value.isdigit()):
            raise _convert_error(value, "uint")
        number = int(value.lstrip("0")[:21] or "0")
        if number > UINT_MAX:
            raise _convert_error(value, "uint")
        return Uint(number)
    raise no_overload()


def to_double(value: Any) -> float:
    kind = value.__class__
    if kind in (int, Uint, float):
        return float(value)
    if kind is str:
        if not _FLOAT.fullmatch(value) or "_" in value:
            raise _convert_error(value, "double")
        result = float(value)
        # Go reads inf and infinity, but refuses 1e999.
        if math.isinf(result) and "n" not in value.lower():
            raise _convert_error(value, "double")
        return result
    raise no_overload()


def format_double(value: float) -> str:
    """Go's strconv 'g' form with the shortest digits, as string(double) returns it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if value == 0:
        return "-0" if math.copysign(1.0, value) < 0 else "0"
    shortest = repr(value)
    mantissa, _, power = shortest.partition("e")
    negative = mantissa.startswith("-")
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(power or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0") or "0"
    exponent = point - 1
    sign = "-" if negative else ""
    # The limits of strconv.FormatFloat with format 'g' and the shortest precision.
    if exponent < -4 or exponent >= 6:
        tail = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{tail}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    if point >= len(digits):
        return f"{sign}{digits}{'0' * (point - len(digits))}"
    return f"{sign}{digits[:point]}.{digits[point:]}"


def to_string(value: Any) -> str:
    kind = value.__class__
    if kind is str:
        return str(value)
    if kind is bool:
        return "true" if value else "false"
    if kind in (int, Uint):
        return str(int(value))
    if kind is float:
        return format_double(value)
    if kind is bytes:
        try:
            return str(value.decode())
        except UnicodeDecodeError:
            raise CelRuntimeError("invalid UTF-8 in bytes, cannot convert to string") from None
    if kind in (Duration, Timestamp):
        return str(value)
    if kind is Ip:
        return str(value.address)
    if kind is Cidr:
        return f"{value.interface.ip}/{value.interface.network.prefixlen}"
    if kind is TypeValue:
        return str(value.name)
    raise no_overload()


def to_bool(value: Any) -> bool:
    if value is True or value is False:
        return bool(value)
    if value.__class__ is str:
        if value in ("1", "t", "T", "true", "TRUE", "True"):
            return True
        if value in ("0", "f", "F", "false", "FALSE", "False"):
            return False
        raise _convert_error(value, "bool")
    raise no_overload()


def to_bytes(value: Any) -> bytes:
    if value.__class__ is bytes:
        return bytes(value)
    if value.__class__ is str:
        return str(value).encode("utf-8", "surrogatepass")
    raise no_overload()


def to_duration(value: Any) -> Duration:
    kind = value.__class__
    if kind is Duration:
        return Duration(value.nanos)
    if kind is str:
        return parse_duration(value)
    if kind is int:
        return Duration(value)
    raise no_overload()


def to_timestamp(value: Any) -> Timestamp:
    kind = value.__class__
    if kind is Timestamp:
        return Timestamp(value.nanos, value.offset)
    if kind is str:
        return parse_timestamp(value)
    if kind is int:
        return Timestamp(value * 10**9)
    raise no_overload()


def to_dyn(value: Any) -> Any:
    return value


CONVERSIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "bool": to_bool,
    "bytes": to_bytes,
    "double": to_double,
    "duration": to_duration,
    "dyn": to_dyn,
    "int": to_int,
    "string": to_string,
    "timestamp": to_timestamp,
    "type": type_value,
    "uint": to_uint,
}
