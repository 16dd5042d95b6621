"""Decodes API objects of any served version, or names the field that is wrong.

Pure functions. Errors name fields of the v1 types, as messages of the API server do.

Source: k8s.io/api resource/v1, v1beta2, v1beta1, v1alpha3 types.go (v0.36).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

import msgspec

from dra_api import versions
from dra_api.objects import Obj
from dra_api.quantity import Quantity, QuantityError
from dra_conformance.oracle import well_formed
from dra_conformance.oracle.schema import (
    Claim,
    DecodedObject,
    DeviceClass,
    Node,
    Pod,
    Quota,
    ResourceSlice,
    TaintRule,
    Template,
)
from dra_conformance.oracle.well_formed import Malformed

_GROUP = "resource.k8s.io"
_VERSIONS = {_GROUP: ("v1", "v1beta2", "v1beta1", "v1alpha3"), "": ("v1",)}
_KINDS: dict[str, tuple[str, type[DecodedObject]]] = {
    "ResourceSlice": (_GROUP, ResourceSlice),
    "DeviceClass": (_GROUP, DeviceClass),
    "ResourceClaim": (_GROUP, Claim),
    "ResourceClaimTemplate": (_GROUP, Template),
    "DeviceTaintRule": (_GROUP, TaintRule),
    "Node": ("", Node),
    "Pod": ("", Pod),
    "ResourceQuota": ("", Quota),
}
KINDS = frozenset(_KINDS)
"""The kinds that are read."""


def decode(obj: Obj) -> DecodedObject | None:
    """Return the decoded object, or None for a kind that the checker does not read. Raises Malformed."""
    found = validated(obj)
    return found[1] if found is not None else None


def validated(obj: Obj) -> tuple[Obj, DecodedObject] | None:
    """Return an object as a dict in v1, without nulls, and decoded; None for a kind that the checker does not read.

    The dict has the types of the decoded object, so code that reads the API's dicts can read it without checks of its
    own. Raises Malformed.
    """
    group, kind = _KINDS.get(str(obj.get("kind")), ("", None))
    api_version = str(obj.get("apiVersion") or "")
    its_group, _, version = api_version.rpartition("/")
    if kind is None or (its_group != group and not _of_kubernetes(its_group)):
        return None
    if its_group != group or version not in _VERSIONS[group]:
        known = ", ".join(f"{group}/{one}".lstrip("/") for one in _VERSIONS[group])
        problem = "is an unknown version" if its_group == group else f"has no {obj['kind']}"
        raise Malformed("apiVersion", f"{api_version or repr('')} {problem}; known are {known}")
    try:
        shaped = versions.in_v1(_cleaned(obj))
    except RecursionError:
        raise Malformed("", "is nested too deeply") from None
    try:
        found: DecodedObject = msgspec.convert(shaped, kind, dec_hook=_read)
    except msgspec.ValidationError as error:
        raise _malformed(str(error), shaped, kind) from None
    well_formed.check(found)
    return shaped, found


def _of_kubernetes(group: str) -> bool:
    """Whether no third party can serve a group: the core group, and names that are reserved for Kubernetes."""
    return "." not in group or group.endswith((".k8s.io", ".kubernetes.io"))


def _cleaned(value: Any) -> Any:
    """Return a copy without nulls and with times as text: the YAML loader turns some times into datetime objects."""
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_cleaned(inner) for inner in value]
    if isinstance(value, str):
        # JSON can have halves of surrogate pairs, which are no text.
        return value if value.isascii() else value.encode(errors="replace").decode()
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    return value


def _read(kind: type, value: Any) -> Any:
    if kind is Quantity:
        # A bool is an int in Python.
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError(f"expected a quantity such as 40Gi, got {value!r}")
        try:
            return Quantity.parse(str(value))
        except QuantityError as error:
            raise ValueError(f"{value!r} is not a quantity: {error}") from None
    raise NotImplementedError(kind)  # msgspec expects this for a type that the hook does not decode


# -- which field -----------------------------------------------------------------------------------------------------

_AT = re.compile(r" - at (`key` in )?`\$\.?(.*)`$")
_MISSING = re.compile(r"missing required field `(\w+)`")
_ANY_KEY = "[...]"


def _malformed(message: str, obj: Any, kind: type[DecodedObject]) -> Malformed:
    found = _AT.search(message)
    problem = message[: found.start()] if found else message
    field = found[2] if found else ""
    if found and found[1]:
        return Malformed(field, f"has a key that is not text ({problem})")
    if _ANY_KEY in field:
        field = _with_keys(field, obj, kind)
    if missing := _MISSING.search(message):
        field, problem = f"{field}.{missing[1]}".lstrip("."), "is missing"
    return Malformed(field, problem)


def _with_keys(field: str, obj: Any, kind: type[DecodedObject]) -> str:
    """Return the path with the key of the wrong map entry in place of each `[...]`.

    msgspec does not report the key, so each entry is decoded alone until one fails.
    """
    before, _, after = field.partition(_ANY_KEY)
    entries = _at(obj, before)
    if not isinstance(entries, dict):
        return field
    whole = dict(entries)
    for key, value in whole.items():
        entries.clear()
        entries[key] = value
        try:
            msgspec.convert(obj, kind, dec_hook=_read)
        except msgspec.ValidationError as error:
            if f"`$.{before}{_ANY_KEY}" in str(error):
                rest = f"[{key}]{after}"
                return _with_keys(f"{before}{rest}", obj, kind) if _ANY_KEY in rest else f"{before}{rest}"
        finally:
            entries.clear()
            entries.update(whole)
    return field


def _at(obj: Any, path: str) -> Any:
    """Return the value at a path such as `spec.devices[1].capacity`; text in brackets is a map key."""
    for step in _steps(path):
        try:
            obj = obj[int(step)] if isinstance(obj, list) else obj[step]
        except (KeyError, IndexError, TypeError, ValueError):
            return None
    return obj


def _steps(path: str) -> Iterator[str]:
    for name, key in re.findall(r"([^.\[\]]+)|\[([^\]]*)\]", path):
        yield name or key
