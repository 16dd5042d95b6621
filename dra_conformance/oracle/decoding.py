"""From an object, of any served version, to a fact; or to the field that is wrong.

Pure functions. Fields of errors are those of the v1 shape, as in Kubernetes' own messages.

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
from dra_conformance.oracle.schema import Claim, DeviceClass, Fact, Node, Pod, Slice, TaintRule, Template
from dra_conformance.oracle.well_formed import Malformed

_GROUP = "resource.k8s.io"
_VERSIONS = {_GROUP: ("v1", "v1beta2", "v1beta1", "v1alpha3"), "": ("v1",)}
_KINDS: dict[str, tuple[str, type[Fact]]] = {
    "ResourceSlice": (_GROUP, Slice),
    "DeviceClass": (_GROUP, DeviceClass),
    "ResourceClaim": (_GROUP, Claim),
    "ResourceClaimTemplate": (_GROUP, Template),
    "DeviceTaintRule": (_GROUP, TaintRule),
    "Node": ("", Node),
    "Pod": ("", Pod),
}


def decode(obj: Obj) -> Fact | None:
    """The fact in an object of any version, or None for a kind that the judge does not need. Raises Malformed."""
    group, fact = _KINDS.get(str(obj.get("kind")), ("", None))
    api_version = str(obj.get("apiVersion") or "")
    its_group, _, version = api_version.rpartition("/")
    if fact is None or its_group != group:
        return None
    if version not in _VERSIONS[group]:
        known = ", ".join(f"{group}/{one}".lstrip("/") for one in _VERSIONS[group])
        raise Malformed("apiVersion", f"{api_version} is a version that is not known here; known are {known}")
    try:
        shaped = versions.in_v1(_cleaned(obj))
    except RecursionError:
        raise Malformed("", "is nested too deeply") from None
    try:
        found: Fact = msgspec.convert(shaped, fact, dec_hook=_read)
    except msgspec.ValidationError as error:
        raise _malformed(str(error), shaped, fact) from None
    well_formed.check(found)
    return found


def _cleaned(value: Any) -> Any:
    """A copy in which null means absent and times are texts, whatever the loader made of them."""
    if isinstance(value, dict):
        return {key: _cleaned(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_cleaned(inner) for inner in value]
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    return value


def _read(kind: type, value: Any) -> Any:
    if kind is Quantity:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError(f"expected a quantity such as 40Gi, got {value!r}")
        try:
            return Quantity.parse(str(value))
        except QuantityError as error:
            raise ValueError(f"{value!r} is no quantity: {error}") from None
    raise NotImplementedError(kind)  # as msgspec asks of a hook: a fact with another type of its own cannot be read


# -- which field -----------------------------------------------------------------------------------------------------

_AT = re.compile(r" - at (`key` in )?`\$\.?(.*)`$")
_MISSING = re.compile(r"missing required field `(\w+)`")
_ANY_KEY = "[...]"


def _malformed(message: str, obj: Any, fact: type[Fact]) -> Malformed:
    found = _AT.search(message)
    problem = message[: found.start()] if found else message
    field = found[2] if found else ""
    if found and found[1]:
        return Malformed(field, f"has a key that is no text ({problem})")
    if _ANY_KEY in field:
        field = _with_keys(field, obj, fact)
    if missing := _MISSING.search(message):
        field, problem = f"{field}.{missing[1]}".lstrip("."), "is missing"
    return Malformed(field, problem)


def _with_keys(field: str, obj: Any, fact: type[Fact]) -> str:
    """A path in which every `[...]`, some entry of a map, is the wrong entry: found by leaving the others out."""
    before, _, after = field.partition(_ANY_KEY)
    entries = _at(obj, before)
    if not isinstance(entries, dict):
        return field
    whole = dict(entries)
    for key, value in whole.items():
        entries.clear()
        entries[key] = value
        try:
            msgspec.convert(obj, fact, dec_hook=_read)
        except msgspec.ValidationError as error:
            if f"`$.{before}{_ANY_KEY}" in str(error):
                rest = f"[{key}]{after}"
                return _with_keys(f"{before}{rest}", obj, fact) if _ANY_KEY in rest else f"{before}{rest}"
        finally:
            entries.clear()
            entries.update(whole)
    return field


def _at(obj: Any, path: str) -> Any:
    """What stands at `spec.devices[1].capacity`; a key in brackets is one of a map."""
    for step in _steps(path):
        try:
            obj = obj[int(step)] if isinstance(obj, list) else obj[step]
        except (KeyError, IndexError, TypeError, ValueError):
            return None
    return obj


def _steps(path: str) -> Iterator[str]:
    for name, key in re.findall(r"([^.\[\]]+)|\[([^\]]*)\]", path):
        yield name or key
