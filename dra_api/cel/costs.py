"""Runtime costs of function calls.

Pure data and functions. Source: cel-go 0.29 (Kubernetes 1.37) and 0.26 (before) interpreter/runtimecost.go costCall,
ext/lists.go and ext/sets.go cost trackers, and k8s.io/apiserver/pkg/cel/library/cost.go 0.37 CallCost, which comes
first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from ..quantity import Quantity
from ..semver import SemVer
from .values import Cidr, Ip, NamedFormat, QuantitySum, Url, size_of

__all__ = ["Charge", "call_cost", "tenths"]

Charge = Callable[[tuple[Any, ...], Any], int]


def tenths(size: int) -> int:
    """Return one unit per ten characters, rounded up: the cost of one pass over a string."""
    return math.ceil(size * 0.1)


def _regex(args: tuple[Any, ...], _: Any) -> int:
    return math.ceil((1.0 + size_of(args[0])) * 0.1) * math.ceil(size_of(args[1]) * 0.25)


def _walk(args: tuple[Any, ...], _: Any) -> int:
    return tenths(size_of(args[0]))


def _walk_second(args: tuple[Any, ...], _: Any) -> int:
    return tenths(size_of(args[1]))


def _walk_twice(args: tuple[Any, ...], _: Any) -> int:
    return math.ceil(size_of(args[0]) * 2 * 0.1)


def _join(_: tuple[Any, ...], result: Any) -> int:
    return math.ceil(size_of(result) * 2 * 0.1)


def _traversal(value: Any) -> int:
    if value.__class__ is str:
        return int(len(value.encode("utf-8", "surrogatepass")) * 0.1)
    if value.__class__ is bytes:
        return int(len(value) * 0.1)
    if isinstance(value, (list, tuple)):
        return int(sum(map(_traversal, value)))
    if isinstance(value, dict):
        return int(sum(_traversal(key) + _traversal(item) for key, item in value.items()))
    return 1


def _traverse(args: tuple[Any, ...], _: Any) -> int:
    return _traversal(args[0])


def _contains_ip(args: tuple[Any, ...], _: Any) -> int:
    size = size_of(args[0])
    return math.ceil((size + size) * 0.1)


def _contains_ip_text(args: tuple[Any, ...], result: Any) -> int:
    return _contains_ip(args, result) + tenths(size_of(args[1]))


def _contains_cidr(args: tuple[Any, ...], result: Any) -> int:
    return _contains_ip(args, result) + tenths(size_of(args[0])) + 1


def _contains_cidr_text(args: tuple[Any, ...], result: Any) -> int:
    return _contains_cidr(args, result) + tenths(size_of(args[1]))


def _validate(args: tuple[Any, ...], _: Any) -> int:
    return int(math.ceil((1.0 + size_of(args[1])) * 0.1) * math.ceil(args[0].regex_size * 0.25))


def _smaller(args: tuple[Any, ...], _: Any) -> int:
    return tenths(min(size_of(args[0]), size_of(args[1])))


_UNIT_EQUALITY: Final = frozenset({Quantity, QuantitySum, Ip, Cidr, NamedFormat, Url, SemVer})


def _equals(args: tuple[Any, ...], result: Any) -> int:
    return 1 if args[0].__class__ in _UNIT_EQUALITY else _smaller(args, result)


def _both(args: tuple[Any, ...], _: Any) -> int:
    return math.ceil((size_of(args[0]) + size_of(args[1])) * 0.1)


def _contains(args: tuple[Any, ...], _: Any) -> int:
    return tenths(size_of(args[0])) * tenths(size_of(args[1]))


def _in_list(args: tuple[Any, ...], _: Any) -> int:
    return size_of(args[1])


def _output(_: tuple[Any, ...], result: Any) -> int:
    return 11 + size_of(result)


# Calls that cost one unit for all arguments, in the estimate and at run time.
UNIT_FUNCTIONS: Final = [
    "masked",
    "prefixLength",
    "family",
    "isUnspecified",
    "isLoopback",
    "isLinkLocalMulticast",
    "isLinkLocalUnicast",
    "isGlobalUnicast",
    "format.named",
    "sign",
    "asInteger",
    "isInteger",
    "asApproximateFloat",
    "isGreaterThan",
    "isLessThan",
    "compareTo",
    "add",
    "sub",
    "major",
    "minor",
    "patch",
    "getScheme",
    "getHostname",
    "getHost",
    "getPort",
    "getEscapedPath",
    "getQuery",
]

# By function name, which Kubernetes' estimator checks first.
_BY_FUNCTION: Final[dict[str, int | Charge]] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _traverse),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), _walk),
    **dict.fromkeys(("replace", "split"), _walk_twice),
    "join": _join,
    **dict.fromkeys(("find", "findAll"), _regex),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "ip"), _walk),
    "ip.isCanonical": _walk_twice,
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver"), _walk),
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": _validate,
    **dict.fromkeys(UNIT_FUNCTIONS, 1),
    "_==_": _equals,
}

_BY_OVERLOAD: Final[dict[str, int | Charge]] = {
    **dict.fromkeys(
        (
            "string_to_bytes",
            "bytes_to_string",
            "strings_quote",
            "string_format",
        ),
        _walk,
    ),
    **dict.fromkeys(("starts_with_string", "ends_with_string"), _walk_second),
    "in_list": _in_list,
    **dict.fromkeys(
        (
            f"{relation}_{kind}"
            for relation in ("less", "greater", "less_equals", "greater_equals")
            for kind in ("string", "bytes")
        ),
        _smaller,
    ),
    "not_equals": _smaller,
    "add_string": _both,
    "add_bytes": _both,
    **dict.fromkeys(("matches", "matches_string"), _regex),
    "contains_string": _contains,
}


def _allocating(factor: float, size: int) -> int:
    return 11 + int(size * factor)


def _flatten(args: tuple[Any, ...], _: Any) -> int:
    return _allocating(float(args[1]) if len(args) == 2 else 1.0, size_of(args[0]))


def _self_compare(items: Any) -> int:
    size = size_of(items)
    factor = 2.1 if size and items[0].__class__ in (str, bytes) else 2.0
    return _allocating(factor, size * size)


def _product(factor: int) -> Charge:
    def charge(args: tuple[Any, ...], _: Any) -> int:
        return 1 + size_of(args[0]) * size_of(args[1]) * factor

    return charge


_COMPARABLE: Final = [
    "int",
    "uint",
    "double",
    "bool",
    "google.protobuf.Duration",
    "google.protobuf.Timestamp",
    "string",
    "bytes",
    "duration",
    "timestamp",
]

# Overloads whose cost takes precedence over that of the function.
_FIRST: Final[dict[str, int | Charge]] = {
    **dict.fromkeys(("list_slice", "lists_range", "list_reverse"), _output),
    **dict.fromkeys(("list_flatten", "list_flatten_int"), _flatten),
    **{f"list_{kind}_sort": lambda args, _: _self_compare(args[0]) for kind in _COMPARABLE},
    **{f"list_{kind}_sortByAssociatedKeys": lambda args, _: _self_compare(args[1]) for kind in _COMPARABLE},
    "list_distinct": lambda args, _: _self_compare(args[0]),
    "list_sets_contains_list": _product(1),
    "list_sets_intersects_list": _product(1),
    "list_sets_equivalent_list": _product(2),
    "cidr_ip": 1,
    "cidr_contains_ip_string": _contains_ip_text,
    "cidr_contains_cidr_string": _contains_cidr_text,
    "list_includes_dyn_dyn": _traverse,
}

_BEFORE_1_37: Final[dict[str, int | Charge]] = {"starts_with_string": _walk, "ends_with_string": _walk, "matches": 1}


def call_cost(function: str, overload: str, *, before_1_37: bool = False) -> int | Charge:
    """Return the fixed cost of a call, or the function that computes it from arguments and result.

    ``overload`` is empty if the checker could not decide which overload runs.
    """
    if before_1_37 and overload in _BEFORE_1_37:
        return _BEFORE_1_37[overload]
    for table, key in ((_FIRST, overload), (_BY_FUNCTION, function), (_BY_OVERLOAD, overload)):
        found = table.get(key)
        if found is not None:
            return found
    return 1
