"""Converts objects of resource.k8s.io between v1 and v1beta2 or v1beta1.

v1beta2 has the same fields as v1. v1beta1 has the fields of an exact request in the request itself, a device's content
in `basic`, and plain instead of optional node fields. Pure functions: arguments are never changed. A result may share
parts with its argument, so it must not be changed either. Unknown fields are kept.

The client and the API server emulator convert with these functions.
Source: pkg/apis/resource/v1beta1/{conversion,defaults}.go, release 1.36; rule DRA-044.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dra_api.objects import (
    DEVICE_CLASSES,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Obj,
    Resource,
)

GROUP = RESOURCE_CLAIMS.group
VERSIONS = ("v1", "v1beta2", "v1beta1")  # best first

# Fields of an exact request of v1beta1, without its name.
_FLAT = (
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
    "derivedAttributes",
)
_V1 = f"{GROUP}/v1"
_CONVERTED = (DEVICE_CLASSES, RESOURCE_CLAIMS, RESOURCE_CLAIM_TEMPLATES, RESOURCE_SLICES)
_KINDS = frozenset(each.kind for each in _CONVERTED)
# Path of the list whose items differ between v1 and v1beta1, by kind.
_DIFFERENT = {
    RESOURCE_CLAIMS.kind: ("spec", "devices", "requests"),
    RESOURCE_CLAIM_TEMPLATES.kind: ("spec", "spec", "devices", "requests"),
    RESOURCE_SLICES.kind: ("spec", "devices"),
}


class ConversionError(ValueError):
    """A patch without an equivalent in the served version."""


def is_converted(resource: Resource) -> bool:
    """Whether this is v1 of a resource that the functions below convert."""
    return resource in _CONVERTED


def from_v1(kind: str, obj: Obj, version: str) -> Obj:
    """Return a v1 object of `kind` in `version`, with its apiVersion; partial objects remain partial."""
    found = _items(kind, obj, _flatten_device if kind == RESOURCE_SLICES.kind else _flatten_request, version)
    return {**found, "apiVersion": f"{GROUP}/{version}"}


def to_v1(kind: str, obj: Obj, version: str) -> Obj:
    """Return an object of `kind` in `version` as v1."""
    if kind == RESOURCE_SLICES.kind and version == "v1beta1":
        obj = _changed(obj, ("spec",), _without_empty_places)
    found = _items(kind, obj, _lift_device if kind == RESOURCE_SLICES.kind else _lift_request, version)
    return {**found, "apiVersion": _V1}


def in_v1(obj: Obj) -> Obj:
    """Return an object of any version as v1; objects of other kinds and groups are unchanged."""
    group, _, version = str(obj.get("apiVersion") or "").rpartition("/")
    kind = str(obj.get("kind"))
    if group != GROUP or version not in VERSIONS[1:] or kind not in _KINDS:
        return obj
    return to_v1(kind, obj, version)


def patch_from_v1(kind: str, patch: Any, version: str) -> Any:
    """Return a merge, strategic, apply or JSON patch (a list) of a v1 object as a patch of the object in `version`.

    Merge and strategic patches replace the differing lists as a whole, so a patch is converted like an object. Raises
    ConversionError for the only JSON patch without an equivalent: one of a request's whole `exactly`.
    """
    if isinstance(patch, list):
        return [_operation(kind, each, version) if isinstance(each, dict) else each for each in patch]
    if not isinstance(patch, dict):
        return patch
    found = from_v1(kind, patch, version)
    if patch.get("apiVersion") != _V1:
        found.pop("apiVersion")
        if "apiVersion" in patch:
            found["apiVersion"] = patch["apiVersion"]
    return found


def with_references(obj: Obj, version: str) -> Obj:
    """Return an object of any kind whose references to v1 objects of resource.k8s.io have `version` instead.

    Readers of owner references and of an Event's involved object use the version in it, so it must be served.
    """
    found = obj
    metadata = obj.get("metadata")
    owners = metadata.get("ownerReferences") if isinstance(metadata, dict) else None
    if isinstance(owners, list) and any(_names_v1(owner) for owner in owners):
        named = [_renamed(owner, version) for owner in owners]
        found = {**found, "metadata": {**(metadata or {}), "ownerReferences": named}}
    for field in ("involvedObject", "regarding", "related"):
        if _names_v1(found.get(field)):
            found = {**found, field: _renamed(found[field], version)}
    return found


def names_v1(obj: Obj) -> bool:
    """Whether `with_references` would change the object."""
    metadata = obj.get("metadata")
    owners = metadata.get("ownerReferences") if isinstance(metadata, dict) else None
    return (isinstance(owners, list) and any(_names_v1(owner) for owner in owners)) or any(
        _names_v1(obj.get(field)) for field in ("involvedObject", "regarding", "related")
    )


# -- inside ------------------------------------------------------------------------------------------------------------


def _names_v1(reference: Any) -> bool:
    return isinstance(reference, dict) and reference.get("apiVersion") == _V1 and reference.get("kind") in _KINDS


def _renamed(reference: Obj, version: str) -> Obj:
    return {**reference, "apiVersion": f"{GROUP}/{version}"} if _names_v1(reference) else reference


def _changed(value: Any, path: Sequence[str], change: Callable[[Any], Any]) -> Any:
    """Return `value` with the value at `path` changed (if there is one); only the path is copied."""
    if not path:
        return change(value)
    if not isinstance(value, dict) or value.get(path[0]) is None:
        return value
    return {**value, path[0]: _changed(value[path[0]], path[1:], change)}


def _each(change: Callable[[Obj], Obj]) -> Callable[[Any], Any]:
    def over(items: Any) -> Any:
        if not isinstance(items, list):
            return items
        return [change(item) if isinstance(item, dict) else item for item in items]

    return over


def _items(kind: str, obj: Obj, change: Callable[[Obj], Obj], version: str) -> Obj:
    path = _DIFFERENT.get(kind)
    if path is None or version != "v1beta1":
        return obj
    found: Obj = _changed(obj, path, _each(change))
    return found


def _flatten_request(request: Obj) -> Obj:
    exactly = request.get("exactly")
    rest = {name: value for name, value in request.items() if name != "exactly"}
    return {**exactly, **rest} if isinstance(exactly, dict) else rest


def _lift_request(request: Obj) -> Obj:
    exactly = {
        name: request[name]
        for name in _FLAT
        # A v1beta1 request with alternatives has an empty class. Only zero values mean that it is not an exact request.
        if request.get(name) not in (None, "") and not (name == "count" and request[name] == 0)
    }
    rest = {name: value for name, value in request.items() if name not in _FLAT}
    return {**rest, "exactly": exactly} if exactly else rest


def _flatten_device(device: Obj) -> Obj:
    name = {"name": device["name"]} if "name" in device else {}
    return {**name, "basic": {field: value for field, value in device.items() if field != "name"}}


def _lift_device(device: Obj) -> Obj:
    basic = device.get("basic")
    rest = {field: value for field, value in device.items() if field != "basic"}
    return {**rest, **basic} if isinstance(basic, dict) else rest


def _without_empty_places(spec: Any) -> Any:
    if not isinstance(spec, dict):
        return spec
    return {field: value for field, value in spec.items() if value or field not in ("nodeName", "allNodes")}


def _operation(kind: str, operation: Obj, version: str) -> Obj:
    """Return one operation of a JSON patch with path and value converted."""
    path = _DIFFERENT.get(kind)
    found = dict(operation)
    for field in ("path", "from"):
        if path is not None and version == "v1beta1" and isinstance(operation.get(field), str):
            found[field] = _pointer(kind, operation[field], path)
    if "value" not in operation:
        return found
    steps = str(operation.get("path") or "").split("/")[1:]
    if steps == ["apiVersion"] and operation["value"] == _V1:
        found["value"] = f"{GROUP}/{version}"
    elif path is not None and version == "v1beta1":
        change = _flatten_device if kind == RESOURCE_SLICES.kind else _flatten_request
        if steps == list(path[: len(steps)]):
            found["value"] = _changed(operation["value"], path[len(steps) :], _each(change))
        elif len(steps) == len(path) + 1 and isinstance(operation["value"], dict):
            found["value"] = change(operation["value"]) if steps[:-1] == list(path) else operation["value"]
    return found


def _pointer(kind: str, pointer: str, path: tuple[str, ...]) -> str:
    steps = pointer.split("/")[1:]
    at = len(path) + 1
    if len(steps) <= at or steps[: len(path)] != list(path):
        return pointer
    if kind == RESOURCE_SLICES.kind:
        return pointer if steps[at] == "name" else "/".join(["", *steps[:at], "basic", *steps[at:]])
    if steps[at] != "exactly":
        return pointer
    if len(steps) == at + 1:
        raise ConversionError(
            f"{pointer}: the server serves v1beta1 only, where a request has no `exactly`; patch the fields in it"
        )
    return "/".join(["", *steps[:at], *steps[at + 1 :]])
