"""The named functions and methods: strings, lists, sets, optionals, regex, time, quantities and versions.

FUNCTIONS maps (name, is method) to one Python function. It dispatches on the classes of its arguments, because the type
of a dyn value is known only at run time. Pure; errors are CelRuntimeError with Kubernetes' messages. Sources: cel-go
0.26 ext/strings.go, ext/lists.go, ext/sets.go, cel/library.go; k8s.io/apiserver/pkg/cel/library 0.36 lists.go,
regex.go, quantity.go, semverlib.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cmp_to_key
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ..gotext import ESCAPES
from ..quantity import Format, Quantity, QuantityError
from ..semver import SemVer, SemVerError
from . import formats, network, text_format
from .errors import CelRuntimeError, CostExceeded
from .operators import CONVERSIONS, MAX_LIST, OPERATORS, add
from .patterns import compile_pattern
from .qualify import key_text
from .values import (
    NONE,
    Cidr,
    Duration,
    Ip,
    NamedFormat,
    Optional,
    QuantitySum,
    Timestamp,
    Uint,
    compare,
    contains,
    equal,
    no_overload,
    to_key,
    type_value,
)

__all__ = ["FUNCTIONS", "FUNCTIONS_BEFORE_1_37", "includes"]


def _text(*values: Any) -> None:
    for value in values:
        if value.__class__ is not str:
            raise no_overload()


# Exact classes, here and below: in Python bool and Uint are subclasses of int, in CEL they are other types.
def _int(*values: Any) -> None:
    for value in values:
        if value.__class__ is not int:
            raise no_overload()


def _items(value: Any) -> Any:
    if not isinstance(value, (list, tuple)):
        raise no_overload()
    return value


# --- size and strings


def size(value: Any) -> int:
    if value.__class__ in (str, bytes) or isinstance(value, (list, dict, tuple)):
        return len(value)
    if value.__class__ is Ip or value.__class__ is Cidr:
        return network.byte_size(value)
    raise no_overload()


def contains_text(value: Any, part: Any) -> bool:
    _text(value, part)
    return bool(part in value)


def ends_with(value: Any, part: Any) -> bool:
    _text(value, part)
    return bool(value.endswith(part))


def starts_with(value: Any, part: Any) -> bool:
    _text(value, part)
    return bool(value.startswith(part))


def char_at(value: Any, index: Any) -> str:
    _text(value)
    _int(index)
    if not 0 <= index <= len(value):
        raise CelRuntimeError(f"index out of range: {index}")
    return str(value[index : index + 1])


def index_of(value: Any, part: Any, offset: Any = 0) -> int:
    if isinstance(value, (list, tuple)):
        # `contains` skips elements of other types, which `equal` may refuse to compare.
        return next((i for i, item in enumerate(value) if contains((item,), part)), -1)
    _text(value, part)
    _int(offset)
    if offset < 0:
        raise CelRuntimeError(f"index out of range: {offset}")
    return min(offset, len(value)) if part == "" else int(value.find(part, offset))


def index_of_before_1_37(value: Any, part: Any, offset: Any = 0) -> int:
    # ext/strings.go returned the offset for an empty text before it checked the offset.
    if part == "" and value.__class__ is str and offset.__class__ is int:
        return int(offset)
    return index_of(value, part, offset)


def last_index_of(value: Any, part: Any, offset: Any = None) -> int:
    if isinstance(value, (list, tuple)):
        return next((i for i in range(len(value) - 1, -1, -1) if contains((value[i],), part)), -1)
    _text(value, part)
    if offset is None:
        return len(value) if part == "" else int(value.rfind(part))
    _int(offset)
    if offset < 0:
        raise CelRuntimeError(f"index out of range: {offset}")
    if part == "":
        return int(min(offset, len(value)))
    if offset >= len(value):
        return -1
    # The offset limits the start of the match, the last argument of rfind its end.
    return int(value.rfind(part, 0, offset + len(part)))


def last_index_of_before_1_37(value: Any, part: Any, offset: Any = None) -> int:
    if part == "" and value.__class__ is str and offset.__class__ is int:
        return int(offset)
    return last_index_of(value, part, offset)


def lower_ascii(value: Any) -> str:
    _text(value)
    # Not value.lower(), which also changes letters outside ASCII.
    return "".join(ch.lower() if ch.isascii() else ch for ch in value)


def upper_ascii(value: Any) -> str:
    _text(value)
    return "".join(ch.upper() if ch.isascii() else ch for ch in value)


def replace(value: Any, old: Any, new: Any, count: Any = -1) -> str:
    _text(value, old, new)
    _int(count)
    return str(value.replace(old, new, count))


def split(value: Any, separator: Any, count: Any = -1) -> list[str]:
    _text(value, separator)
    _int(count)
    if count == 0:
        return []
    # Python rejects an empty separator; Go splits into characters.
    if separator:
        # Go counts the parts, Python the cuts.
        return list(value.split(separator, count - 1 if count > 0 else -1))
    if not value or count < 0 or count >= len(value):
        return list(value)
    return [*value[: count - 1], value[count - 1 :]]


def substring(value: Any, start: Any, end: Any = None) -> str:
    _text(value)
    _int(start)
    if end is None:
        if not 0 <= start <= len(value):
            raise CelRuntimeError(f"index out of range: {start}")
        return str(value[start:])
    _int(end)
    if start > end:
        raise CelRuntimeError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, end):
        if not 0 <= index <= len(value):
            raise CelRuntimeError(f"index out of range: {index}")
    return str(value[start:end])


# Go's unicode.IsSpace; Python's strip() would also remove the file and group separators.
_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


def trim(value: Any) -> str:
    _text(value)
    return str(value.strip(_SPACE))


def join(value: Any, separator: Any = "") -> str:
    _text(separator)
    for item in _items(value):
        _text(item)
    return str(separator.join(value))


def quote(value: Any) -> str:
    _text(value)
    # Unlike strconv.Quote, cel-go's quote() keeps characters that cannot be printed.
    return '"' + "".join(ESCAPES.get(ch, ch) for ch in value) + '"'


# --- regex


def matches(value: Any, pattern: Any) -> bool:
    _text(value, pattern)
    return compile_pattern(pattern).matches(value)


def find(value: Any, pattern: Any) -> str:
    _text(value, pattern)
    start, end = next(compile_pattern(pattern, prefix="Illegal regex: ").spans(value), (0, 0))
    return str(value[start:end])


def find_all(value: Any, pattern: Any, count: Any = -1) -> list[str]:
    _text(value, pattern)
    _int(count)
    out: list[str] = []
    last = -1
    for start, end in compile_pattern(pattern, prefix="Illegal regex: ").spans(value):
        if 0 <= count <= len(out):
            break
        # Go drops an empty match right after a match; Python reports it.
        if start == end == last:
            continue
        last = end
        out.append(value[start:end])
    return out


# --- lists and sets


def list_slice(value: Any, start: Any, end: Any) -> Any:
    items = _items(value)
    _int(start, end)
    if start < 0 or end < 0:
        raise CelRuntimeError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise CelRuntimeError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if len(items) < end:
        raise CelRuntimeError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def flatten(value: Any, depth: Any = 1) -> list[Any]:
    _int(depth)
    if depth < 0:
        raise CelRuntimeError("level must be non-negative")
    out: list[Any] = []
    for item in _items(value):
        if depth and isinstance(item, (list, tuple)):
            out += flatten(item, depth - 1)
        else:
            out.append(item)
    return out


_ORDERED: Final = (int, Uint, float, bool, str, bytes, Duration, Timestamp)


def sort_by_keys(value: Any, keys: Any) -> list[Any]:
    items, order = _items(value), _items(keys)
    if len(items) != len(order):
        raise CelRuntimeError(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list,"
            f" but got {len(items)} and {len(order)} elements respectively"
        )
    if not order:
        return list(items)
    if order[0].__class__ not in _ORDERED:
        raise CelRuntimeError("list elements must be comparable")
    if any(key.__class__ is not order[0].__class__ for key in order):
        raise CelRuntimeError("list elements must have the same type")
    # Not by Python's <, which orders NaN somehow; `compare` refuses it.
    ranked = sorted(range(len(items)), key=cmp_to_key(lambda a, b: compare(order[a], order[b])))
    return [items[index] for index in ranked]


def sort(value: Any) -> list[Any]:
    return sort_by_keys(value, value)


_MAX_RANGE: Final = 1_000_000


def list_range(count: Any) -> list[int]:
    """Source: cel-go 0.29 ext/lists.go genRange."""
    _int(count)
    if count < 0:
        raise CelRuntimeError(f"lists.range: size must be non-negative, got {count}")
    if count > _MAX_RANGE:
        raise CelRuntimeError(f"lists.range: size {count} exceeds maximum allowed ({_MAX_RANGE})")
    return list(range(count))


def list_range_before_1_37(count: Any) -> list[int]:
    _int(count)
    if count > MAX_LIST:
        raise CostExceeded("operation cancelled: actual cost limit exceeded")
    return list(range(count))


def reverse(value: Any) -> list[Any]:
    return list(reversed(_items(value)))


def distinct(value: Any) -> list[Any]:
    out: list[Any] = []
    for item in _items(value):
        if not contains(out, item):
            out.append(item)
    return out


def is_sorted(value: Any) -> bool:
    items = _items(value)
    return all(_compare_or_none(items[i], items[i + 1]) != 1 for i in range(len(items) - 1))


def total(value: Any) -> Any:
    items = _items(value)
    if not items:
        return 0
    # The first element decides the type of the zero; the sum of an empty list is an int.
    result = {Duration: Duration(0), float: 0.0, Uint: Uint(0)}.get(items[0].__class__, 0)
    for item in items:
        result = add(result, item)
    return result


def largest(value: Any) -> Any:
    return _extreme(value, "max", 1)


def smallest(value: Any) -> Any:
    return _extreme(value, "min", -1)


def _extreme(value: Any, name: str, wanted: int) -> Any:
    items = _items(value)
    if not items:
        raise CelRuntimeError(f"{name} called on empty list")
    best = items[0]
    if best.__class__ not in _ORDERED:
        raise no_overload()
    for item in items[1:]:
        if _compare_or_none(item, best) == wanted:
            best = item
    return best


def _compare_or_none(left: Any, right: Any) -> int | None:
    """Return the order of two elements, or None for elements without one, which library/lists.go ignores."""
    try:
        return compare(left, right)
    except CelRuntimeError:
        return None


def sets_contains(first: Any, second: Any) -> bool:
    return all(contains(_items(first), item) for item in _items(second))


def sets_equivalent(first: Any, second: Any) -> bool:
    return sets_contains(first, second) and sets_contains(second, first)


def sets_intersects(first: Any, second: Any) -> bool:
    return any(contains(_items(second), item) for item in _items(first))


MAX_INCLUDES: Final = 48


def includes(target: Any, value: Any) -> bool:
    """``target.includes(value)``: equal to a scalar, or among the values of a list.

    Source: k8s.io/apiserver/pkg/cel/library/lists.go includes (Kubernetes 1.37).
    """
    return contains(target if isinstance(target, (list, tuple)) else (target,), value)


def includes_1_36(target: Any, value: Any) -> bool:
    """As `includes`, but of a list of at most 48 values.

    Source: dynamic-resource-allocation/cel/compile.go includesFunc (Kubernetes 1.36, DRAListTypeAttributes).
    """
    if not isinstance(target, (list, tuple)):
        return contains((target,), value)
    # A match among the first values counts, even if the list is too long.
    if contains(target[:MAX_INCLUDES], value):
        return True
    if len(target) > MAX_INCLUDES:
        raise CelRuntimeError(f"'includes' function cannot be applied to lists longer than {MAX_INCLUDES} values")
    return False


# --- optionals


def optional_of(value: Any) -> Optional:
    return Optional(value)


def optional_non_zero(value: Any) -> Optional:
    empty = value is None or (
        (value.__class__ in (bool, int, Uint, float, str, bytes) or isinstance(value, (list, dict, tuple)))
        and not value
    )
    if value.__class__ is Duration:
        empty = value.nanos == 0
    if value.__class__ is Optional:
        empty = not value.present
    return NONE if empty else Optional(value)


def optional_none() -> Optional:
    return NONE


def optional_value(value: Any) -> Any:
    if value.__class__ is not Optional:
        raise no_overload()
    if not value.present:
        raise CelRuntimeError("optional.none() dereference")
    return value.value


def has_value(value: Any) -> bool:
    if value.__class__ is not Optional:
        raise no_overload()
    return bool(value.present)


def last(value: Any) -> Optional:
    items = _items(value)
    return Optional(items[-1]) if items else NONE


def first(value: Any) -> Optional:
    items = _items(value)
    return Optional(items[0]) if items else NONE


def unwrap(value: Any) -> list[Any]:
    out = []
    for item in _items(value):
        if item.__class__ is not Optional:
            raise CelRuntimeError(f"value {key_text(item)} is not optional")
        if item.present:
            out.append(item.value)
    return out


def map_insert(target: Any, key: Any, value: Any = None) -> dict[Any, Any]:
    """Return the result of cel.@mapInsert outside a loop; in a loop, the planner updates the map in place."""
    if not isinstance(target, dict):
        raise no_overload()
    entries = key.items() if isinstance(key, dict) else ((to_key(key), value),)
    out = dict(target)
    for stored, item in entries:
        if stored in out:
            raise CelRuntimeError(f"insert failed: key {key_text(stored)} already exists")
        out[stored] = item
    return out


# --- time


_TWO_DIGITS: Final = re.compile("[0-9]{1,2}")


def _zone(name: str) -> tzinfo:
    if not name or name == "UTC":
        return UTC
    if ":" in name:
        sign = -1 if name[0] == "-" else 1
        # Without leading zeros, because int() refuses more than 4,300 digits.
        hours, minutes = (part.lstrip("0") or part[-1:] for part in name.lstrip("+-").partition(":")[::2])
        if _TWO_DIGITS.fullmatch(hours) and _TWO_DIGITS.fullmatch(minutes) and int(hours) < 24 and int(minutes) < 60:
            return timezone(sign * timedelta(hours=int(hours), minutes=int(minutes)))
        raise CelRuntimeError(f"unknown time zone {name}")
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise CelRuntimeError(f"unknown time zone {name}") from None


def _clock(part: Callable[[datetime], int]) -> Callable[..., int]:
    def get(value: Any, zone: Any = "") -> int:
        _text(zone)
        if value.__class__ is not Timestamp:
            raise no_overload()
        try:
            return part(value.utc().astimezone(_zone(zone)))
        except OverflowError:
            raise CelRuntimeError("timestamp overflow") from None

    return get


def _clock_or_span(part: Callable[[datetime], int], unit: int) -> Callable[..., int]:
    clock = _clock(part)

    def get(value: Any, zone: Any = "") -> int:
        if value.__class__ is Duration:
            # Go truncates toward zero, Python's // rounds down.
            return (abs(value.nanos) // unit) * (1 if value.nanos >= 0 else -1)
        return clock(value, zone)

    return get


# --- quantities and versions


def quantity(value: Any) -> Quantity:
    _text(value)
    try:
        return Quantity.parse(value)
    except QuantityError as err:
        raise CelRuntimeError(str(err)) from None


def is_quantity(value: Any) -> bool:
    _text(value)
    return Quantity.is_valid(value)


def semver(value: Any, normalize: Any = False) -> SemVer:
    _text(value)
    if normalize.__class__ is not bool:
        raise no_overload()
    try:
        return SemVer.parse(value, normalize=normalize)
    except SemVerError as err:
        raise CelRuntimeError(str(err)) from None


def is_semver(value: Any, normalize: Any = False) -> bool:
    _text(value)
    if normalize.__class__ is not bool:
        raise no_overload()
    return SemVer.is_valid(value, normalize=normalize)


def _ordering(left: Any, right: Any) -> int:
    if isinstance(left, Quantity) and isinstance(right, Quantity):
        return left.compare(right)
    if left.__class__ is SemVer and right.__class__ is SemVer:
        return int(left.compare(right))
    raise no_overload()


def is_greater(left: Any, right: Any) -> bool:
    return _ordering(left, right) > 0


def is_less(left: Any, right: Any) -> bool:
    return _ordering(left, right) < 0


def _quantity(value: Any) -> Quantity:
    if not isinstance(value, Quantity):
        raise no_overload()
    return value


def sign(value: Any) -> int:
    return _quantity(value).sign


def as_integer(value: Any) -> int:
    result = _quantity(value).as_int64()
    if result is None:
        raise CelRuntimeError("cannot convert value to integer")
    return result


def is_integer(value: Any) -> bool:
    return _quantity(value).as_int64() is not None


def as_float(value: Any) -> float:
    return _quantity(value).as_approximate_float()


def _operand(value: Any) -> Quantity:
    # The format that library/quantity.go gives to an int operand.
    return Quantity(value, format=Format.DECIMAL_EXPONENT) if value.__class__ is int else _quantity(value)


def quantity_add(left: Any, right: Any) -> Quantity:
    return QuantitySum.of(_quantity(left) + _operand(right))


def quantity_sub(left: Any, right: Any) -> Quantity:
    return QuantitySum.of(_quantity(left) - _operand(right))


def _version_part(name: str) -> Callable[[Any], int]:
    def get(value: Any) -> int:
        if value.__class__ is not SemVer:
            raise no_overload()
        return int(getattr(value, name))

    return get


# --- formats


def validate(value: Any, text: Any) -> Optional:
    _text(text)
    if value.__class__ is not NamedFormat:
        raise no_overload()
    problems = value.validate(text)
    return Optional(problems) if problems else NONE


def format_named(name: Any) -> Optional:
    _text(name)
    found = formats.FORMATS.get(name)
    return NONE if found is None else Optional(found)


def _named(value: NamedFormat) -> Callable[[], NamedFormat]:
    return lambda: value


def string_format(value: Any, args: Any) -> str:
    _text(value)
    return text_format.format_text(value, list(_items(args)))


FUNCTIONS: Final[dict[tuple[str, bool], Callable[..., Any]]] = {
    **{(name, False): function for name, function in OPERATORS.items()},
    **{(name, False): function for name, function in CONVERSIONS.items()},
    ("type", False): type_value,
    ("_==_", False): equal,
    ("size", False): size,
    ("size", True): size,
    ("contains", True): contains_text,
    ("endsWith", True): ends_with,
    ("startsWith", True): starts_with,
    ("matches", False): matches,
    ("matches", True): matches,
    ("charAt", True): char_at,
    ("indexOf", True): index_of,
    ("lastIndexOf", True): last_index_of,
    ("lowerAscii", True): lower_ascii,
    ("upperAscii", True): upper_ascii,
    ("replace", True): replace,
    ("split", True): split,
    ("substring", True): substring,
    ("trim", True): trim,
    ("join", True): join,
    ("format", True): string_format,
    ("strings.quote", False): quote,
    ("find", True): find,
    ("findAll", True): find_all,
    ("slice", True): list_slice,
    ("flatten", True): flatten,
    ("sort", True): sort,
    ("@sortByAssociatedKeys", True): sort_by_keys,
    ("lists.range", False): list_range,
    ("reverse", True): reverse,
    ("distinct", True): distinct,
    ("isSorted", True): is_sorted,
    ("sum", True): total,
    ("max", True): largest,
    ("min", True): smallest,
    ("sets.contains", False): sets_contains,
    ("sets.equivalent", False): sets_equivalent,
    ("sets.intersects", False): sets_intersects,
    ("includes", True): includes,
    ("optional.of", False): optional_of,
    ("optional.ofNonZeroValue", False): optional_non_zero,
    ("optional.none", False): optional_none,
    ("optional.unwrap", False): unwrap,
    ("unwrapOpt", True): unwrap,
    ("value", True): optional_value,
    ("hasValue", True): has_value,
    ("first", True): first,
    ("last", True): last,
    ("cel.@mapInsert", False): map_insert,
    # In CEL, months and days count from 0; only getDate counts from 1, and the week begins with Sunday.
    ("getFullYear", True): _clock(lambda t: t.year),
    ("getMonth", True): _clock(lambda t: t.month - 1),
    ("getDayOfYear", True): _clock(lambda t: t.timetuple().tm_yday - 1),
    ("getDayOfMonth", True): _clock(lambda t: t.day - 1),
    ("getDate", True): _clock(lambda t: t.day),
    ("getDayOfWeek", True): _clock(lambda t: t.isoweekday() % 7),
    ("getHours", True): _clock_or_span(lambda t: t.hour, 3600 * 10**9),
    ("getMinutes", True): _clock_or_span(lambda t: t.minute, 60 * 10**9),
    ("getSeconds", True): _clock_or_span(lambda t: t.second, 10**9),
    ("getMilliseconds", True): _clock_or_span(lambda t: t.microsecond // 1000, 10**6),
    ("quantity", False): quantity,
    ("isQuantity", False): is_quantity,
    ("sign", False): sign,
    ("isGreaterThan", True): is_greater,
    ("isLessThan", True): is_less,
    ("compareTo", True): _ordering,
    ("asApproximateFloat", True): as_float,
    ("asInteger", True): as_integer,
    ("isInteger", True): is_integer,
    ("add", True): quantity_add,
    ("sub", True): quantity_sub,
    ("semver", False): semver,
    ("isSemver", False): is_semver,
    ("major", True): _version_part("major"),
    ("minor", True): _version_part("minor"),
    ("patch", True): _version_part("patch"),
    ("validate", True): validate,
    ("format.named", False): format_named,
    **{(f"format.{name}", False): _named(value) for name, value in formats.FORMATS.items()},
    **network.FUNCTIONS,
}

FUNCTIONS_BEFORE_1_37: Final[dict[tuple[str, bool], Callable[..., Any]]] = {
    **FUNCTIONS,
    ("indexOf", True): index_of_before_1_37,
    ("lastIndexOf", True): last_index_of_before_1_37,
    ("lists.range", False): list_range_before_1_37,
    ("includes", True): includes_1_36,
}
"""The functions of the CEL library of Kubernetes 1.36 and before (cel-go 0.26)."""
