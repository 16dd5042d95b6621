"""Objects in the form of a typed server: without empty optional fields, with canonical times.

Go decodes a body into structs, so that `count: 0` or `tolerations: []` have vanished before validation.
These functions do the same to plain objects, in place.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import orjson

Obj = dict[str, Any]

# Raw JSON that belongs to drivers; never looked into.
_OPAQUE = frozenset({"parameters", "data", "metadata"})
# Pointers in Go, for which an empty string is a value of its own, and fields that are always serialized.
_KEPT = frozenset(
    {
        "nodeName",
        "string",
        "version",
        "extendedResourceName",
        "shareID",
        "matchAttribute",
        "distinctAttribute",
        "driver",
        "pool",
        "device",
        "poolName",
        "capacityKey",
        "partitionTypeAttribute",
        "defaultPartitionTypeAttribute",
        "name",
        "expression",
        "message",
        "reason",
    }
)
# Lists whose mere presence counts.
_LISTS = frozenset({"devices", "sharedCounters", "nodeSelectorTerms", "ints", "bools", "strings", "versions"})


class Undefaulted(str):
    """An empty string that defaulting does not replace: the mode of a v1beta1 request without deviceClassName."""

    __slots__ = ()


# Lists of strings; `requests` is one too, except right under `devices`.
_STRING_LISTS = frozenset(
    {
        "requests",
        "ips",
        "values",
        "validValues",
        "strings",
        "versions",
        "bindingConditions",
        "bindingFailureConditions",
        "skipNodeOperations",
        "compatibilityGroups",
    }
)


def prune(value: Any, *, name: str = "", parent: str = "") -> None:
    """Drop nulls, empty lists, and the empty strings and zero counts that Go omits in JSON.

    A null in a list becomes the zero value of its type, as in Go. `value` is the field `name` of `parent`.
    """
    if isinstance(value, list):
        for at, item in enumerate(value):
            if item is None:
                value[at] = _zero(name, parent)
            prune(value[at], name=name, parent=parent)
        return
    if not isinstance(value, dict):
        return
    for key in list(value):
        sub = value[key]
        if sub is not None and key in _OPAQUE:
            continue
        if (
            sub is None
            or (sub == [] and key not in _LISTS)
            or (isinstance(sub, str) and not sub and key not in _KEPT and not isinstance(sub, Undefaulted))
            or (key == "count" and sub == 0 and not isinstance(sub, bool))
        ):
            del value[key]
        else:
            prune(sub, name=key, parent=name)


def _zero(name: str, parent: str) -> Any:
    if name == "ints":
        return 0
    if name == "bools":
        return False
    if name in _STRING_LISTS and not (name == "requests" and parent == "devices"):
        return ""
    return {}


def same(one: Any, other: Any) -> bool:
    """Return semantic equality: absent, empty list and empty map are equal; numbers and booleans are not."""
    return _essence(one) == _essence(other)


_MAPS = frozenset({"attributes", "capacity", "counters", "labels", "annotations", "consumedCapacity", "requests"})


def _essence(value: Any) -> bytes:
    return orjson.dumps(_without_empty(value), option=orjson.OPT_SORT_KEYS)


def _without_empty(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_empty(item) for item in value]
    if isinstance(value, dict):
        return {
            # Raw JSON of drivers is compared as it is.
            name: sub if name in ("parameters", "data") else _without_empty(sub)
            for name, sub in value.items()
            if sub is not None and sub != [] and not (sub == {} and name in _MAPS)
        }
    return value


def time(holder: Obj, key: str) -> None:
    """Rewrite one time, whose format has been checked, as UTC seconds."""
    value = holder.get(key)
    if value is None:
        return
    holder[key] = datetime.fromisoformat(value).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def times(holders: Iterable[Obj], key: str) -> None:
    """Rewrite a time in each of some objects."""
    for holder in holders:
        time(holder, key)
