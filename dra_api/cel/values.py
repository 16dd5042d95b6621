"""Run-time values, their equality and their order.

None, bool, int, float, str, bytes, list and dict represent themselves; uint, duration, timestamp, optional, URL, IP,
CIDR, named formats and type names have classes here. Source of the rules: cel-go 0.26 common/types and
k8s.io/apiserver/pkg/cel 0.36.

Maps are dicts. In Python ``True == 1``, in CEL not, so bool keys are stored as BoolKey; all other key types compare
across int, uint and double as in CEL.
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import SplitResult

from ..quantity import Quantity
from ..semver import SemVer
from .errors import CelRuntimeError

__all__ = [
    "INT_MAX",
    "INT_MIN",
    "NONE",
    "UINT_MAX",
    "Cidr",
    "Duration",
    "Ip",
    "NamedFormat",
    "Optional",
    "QuantitySum",
    "Timestamp",
    "TypeValue",
    "Uint",
    "Url",
    "checked_int",
    "compare",
    "equal",
    "find_key",
    "from_key",
    "no_overload",
    "not_equal",
    "size_of",
    "to_key",
    "type_value",
]

INT_MAX: Final = 2**63 - 1
INT_MIN: Final = -(2**63)
UINT_MAX: Final = 2**64 - 1

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# 0001-01-01T00:00:00Z and 9999-12-31T23:59:59.999999999Z, the range of a protobuf Timestamp.
MIN_TIMESTAMP: Final = -62135596800 * 10**9
MAX_TIMESTAMP: Final = 253402300799 * 10**9 + 999_999_999


class Uint(int):
    """An unsigned 64-bit integer; equal to the int of the same value."""

    __slots__ = ()


class QuantitySum(Quantity):
    """The result of quantity add() or sub().

    Kubernetes returns a pointer here (library/quantity.go quantityAdd), which its Equal does not accept on the right
    side of ``==``; the class preserves that behaviour.
    """

    __slots__ = ()

    @classmethod
    def of(cls, amount: Quantity) -> QuantitySum:
        """Mark ``amount`` as a sum."""
        unscaled, scale, format_, big = amount.parts()
        return cls(unscaled, scale=scale, format=format_, big=big)


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A span in nanoseconds, within int64."""

    nanos: int

    def __post_init__(self) -> None:
        if not INT_MIN <= self.nanos <= INT_MAX:
            raise CelRuntimeError("duration overflow")

    def __str__(self) -> str:
        seconds, nanos = divmod(abs(self.nanos), 10**9)
        fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
        return f"{'-' if self.nanos < 0 else ''}{seconds}{fraction}s"


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A moment in nanoseconds since 1970-01-01T00:00:00Z, years 1 to 9999.

    ``offset``, in minutes, is its original zone; only string() shows it.
    """

    nanos: int
    offset: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        if not MIN_TIMESTAMP <= self.nanos <= MAX_TIMESTAMP:
            raise CelRuntimeError("timestamp overflow")

    def utc(self) -> datetime:
        """The moment to the microsecond, cut."""
        return _EPOCH + timedelta(microseconds=self.nanos // 1000)

    def __str__(self) -> str:
        nanos = self.nanos % 10**9
        fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
        try:
            local = self.utc() + timedelta(minutes=self.offset)
        except OverflowError:
            raise CelRuntimeError("timestamp overflow") from None
        zone = "Z"
        if self.offset:
            hours, minutes = divmod(abs(self.offset), 60)
            zone = f"{'-' if self.offset < 0 else '+'}{hours:02d}:{minutes:02d}"
        # strftime does not pad years before 1000.
        return f"{local:%Y-%m-%dT%H:%M:%S}".rjust(19, "0") + fraction + zone


@dataclass(frozen=True, slots=True, eq=False)
class Optional:
    """optional.of(value), or optional.none() when ``present`` is false."""

    value: Any
    present: bool = True


NONE: Final = Optional(None, False)


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type as a value, as in ``type(x) == int``."""

    name: str


@dataclass(frozen=True, slots=True)
class Url:
    """A parsed URL; equal when the text is."""

    text: str
    parts: SplitResult


@dataclass(frozen=True, slots=True)
class Ip:
    """An IP address without zone, never IPv4 in IPv6."""

    address: ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Cidr:
    """A network prefix with its host bits."""

    interface: ipaddress.IPv4Interface | ipaddress.IPv6Interface


@dataclass(frozen=True, slots=True)
class NamedFormat:
    """A string format of the format library; ``regex_size`` decides the cost of validate()."""

    name: str
    validate: Callable[[str], list[str]]
    regex_size: int


class BoolKey:
    """A bool as a map key, distinct from 0 and 1."""

    __slots__ = ("value",)

    def __init__(self, value: bool) -> None:
        self.value = value


_TRUE_KEY: Final = BoolKey(True)
_FALSE_KEY: Final = BoolKey(False)


def to_key(value: Any) -> Any:
    """Return the dict key of a value."""
    if value is True:
        return _TRUE_KEY
    if value is False:
        return _FALSE_KEY
    return value


def from_key(key: Any) -> Any:
    """Return the value of a dict key."""
    return key.value if key.__class__ is BoolKey else key


_MISSING: Final = object()


def find_key(mapping: Mapping[Any, Any], key: Any) -> tuple[bool, Any]:
    """Return whether the map has ``key``, by CEL's equality, and its value."""
    if key is True or key is False:
        key = to_key(key)
    # No key of CEL. Some of these values, such as lists, cannot even be hashed.
    elif key.__class__ not in _KEY_CLASSES:
        return False, None
    value = mapping.get(key, _MISSING)
    return (False, None) if value is _MISSING else (True, value)


_KEY_CLASSES: Final = frozenset({str, int, Uint, float})


def no_overload() -> CelRuntimeError:
    """The error for operands that no overload takes."""
    return CelRuntimeError("no such overload")


def checked_int(value: int) -> int:
    """``value`` if it is an int64."""
    if INT_MIN <= value <= INT_MAX:
        return value
    raise CelRuntimeError("integer overflow")


# Exact classes, not isinstance: a bool is an int in Python and no number in CEL.
_NUMBERS: Final = frozenset({int, Uint, float})
_SAME_CLASS: Final = frozenset({str, int, float, bool, bytes, Uint, Duration, Timestamp, TypeValue, NamedFormat})
_STRICT: Final[dict[type, type]] = {
    Quantity: Quantity,
    QuantitySum: Quantity,
    SemVer: SemVer,
    Ip: Ip,
    Cidr: Cidr,
    Url: Url,
    NamedFormat: NamedFormat,
}


def equal(left: Any, right: Any) -> bool:
    """Return CEL's ``==``. Raises CelRuntimeError for Kubernetes types that cannot be compared with another type."""
    kind, other = left.__class__, right.__class__
    if kind is other and kind in _SAME_CLASS:
        return bool(left == right)
    if left is None or right is None:
        return left is right
    if kind in _NUMBERS:
        return other in _NUMBERS and bool(left == right)
    wanted = _STRICT.get(kind)
    if wanted is not None:
        if other is not wanted:
            raise no_overload()
        return bool(left == right)
    if isinstance(left, (list, tuple)):
        return isinstance(right, (list, tuple)) and _equal_lists(left, right)
    if isinstance(left, dict):
        return isinstance(right, dict) and _equal_maps(left, right)
    if kind is Optional:
        if other is not Optional or left.present is not right.present:
            return False
        return not left.present or equal(left.value, right.value)
    return False


def not_equal(left: Any, right: Any) -> bool:
    """Return CEL's ``!=``: true also for values that cannot be compared (cel-go interpretable.go evalNe)."""
    try:
        return not equal(left, right)
    except CelRuntimeError:
        return True


def _equal_lists(left: Any, right: Any) -> bool:
    return len(left) == len(right) and all(map(_not_unequal, left, right))


def _not_unequal(left: Any, right: Any) -> bool:
    """Return whether elements are equal or cannot be compared (cel-go list.go, map.go Equal)."""
    try:
        return equal(left, right)
    except CelRuntimeError:
        return True


def _equal_maps(left: dict[Any, Any], right: dict[Any, Any]) -> bool:
    if len(left) != len(right):
        return False
    for key, value in left.items():
        found = right.get(key, _MISSING)
        if found is _MISSING or not _not_unequal(value, found):
            return False
    return True


_ORDERED: Final = frozenset({bool, str, bytes, Duration, Timestamp})


def compare(left: Any, right: Any) -> int:
    """Return -1, 0 or 1. Raises CelRuntimeError for values without an order."""
    kind, other = left.__class__, right.__class__
    if kind in _NUMBERS and other in _NUMBERS:
        if (kind is float and math.isnan(left)) or (other is float and math.isnan(right)):
            raise CelRuntimeError("NaN values cannot be ordered")
    elif kind is not other or kind not in _ORDERED:
        raise no_overload()
    return int(left > right) - int(left < right)


def contains(items: Iterable[Any], value: Any) -> bool:
    """Return whether a list contains ``value``; elements of another type are not an error."""
    for item in items:
        # `equal` raises an error for such a pair, but membership skips it.
        if item.__class__ in _STRICT and value.__class__ is not _STRICT[item.__class__]:
            continue
        if equal(item, value):
            return True
    return False


def size_of(value: Any) -> int:
    """Return the size for costs: code points, bytes, elements or entries; 1 for all other values."""
    kind = value.__class__
    if kind is str or kind is bytes or isinstance(value, (list, dict, tuple)):
        return len(value)
    if kind is Ip:
        return 4 if value.address.version == 4 else 16
    if kind is Cidr:
        return -(-int(value.interface.network.prefixlen) // 8)
    if kind is Optional and value.present:
        return size_of(value.value)
    return 1


_TYPE_NAMES: Final[dict[type, str]] = {
    type(None): "null_type",
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    tuple: "list",
    dict: "map",
    Duration: "google.protobuf.Duration",
    Timestamp: "google.protobuf.Timestamp",
    Optional: "optional_type",
    TypeValue: "type",
    Quantity: "kubernetes.Quantity",
    QuantitySum: "kubernetes.Quantity",
    SemVer: "kubernetes.Semver",
    Url: "kubernetes.URL",
    NamedFormat: "kubernetes.NamedFormat",
    Ip: "net.IP",
    Cidr: "net.CIDR",
}


def type_value(value: Any) -> TypeValue:
    """type(value)."""
    name = _TYPE_NAMES.get(value.__class__)
    if name is None:
        name = "map" if isinstance(value, dict) else "list"
    return TypeValue(name)
