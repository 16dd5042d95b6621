"""v1 (stored) to and from v1beta2 and v1beta1.

v1beta2 has the shape of v1. v1beta1 writes an exact request flat into the request, wraps a device's content in
`basic`, and has plain instead of optional node fields. Stateless.
Source: pkg/apis/resource/v1beta1/{conversion,defaults}.go, release 1.36; rule DRA-044.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dra_conformance.control_plane.embedded.resource.canonical import Undefaulted

Obj = dict[str, Any]

GROUP = "resource.k8s.io"
STORAGE = "v1"
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


class ResourceConversion:
    """Conversion of one kind; `flatten` and `lift` are its v1beta1 steps, None where the shapes are alike."""

    def __init__(self, *, lift: Callable[[Obj], None] | None, flatten: Callable[[Obj], None] | None) -> None:
        self._lift = lift
        self._flatten = flatten

    def to_storage(self, obj: Obj, version: str) -> Obj:
        """From a served version to v1."""
        if version == "v1beta1" and self._lift is not None:
            self._lift(obj)
        obj["apiVersion"] = f"{GROUP}/{STORAGE}"
        return obj

    def from_storage(self, obj: Obj, version: str) -> Obj:
        """From v1 to a served version."""
        if version == "v1beta1" and self._flatten is not None:
            self._flatten(obj)
        obj["apiVersion"] = f"{GROUP}/{version}"
        return obj


def _requests(spec: Any) -> list[Obj]:
    devices = (spec or {}).get("devices") or {}
    found: list[Obj] = devices.get("requests") or []
    return [request for request in found if isinstance(request, dict)]


def _lift_requests(spec: Any) -> None:
    for request in _requests(spec):
        exactly = {name: request.pop(name) for name in _FLAT if name in request}
        exactly = {name: value for name, value in exactly.items() if value is not None and value not in ("",)}
        if exactly.get("count") == 0:
            del exactly["count"]
        if not exactly:
            continue
        if not exactly.get("deviceClassName") and "allocationMode" not in exactly:
            # v1beta1 defaults the mode only of a request that names a class.
            exactly["allocationMode"] = Undefaulted()
        request["exactly"] = exactly


def _flatten_requests(spec: Any) -> None:
    for request in _requests(spec):
        exactly = request.pop("exactly", None)
        request["deviceClassName"] = ""
        if exactly is not None:
            request.update(exactly)


def _lift_devices(spec: Any) -> None:
    for device in (spec or {}).get("devices") or ():
        basic = device.pop("basic", None)
        if basic:
            device.update(basic)
    for name in ("nodeName", "allNodes"):
        if spec and not spec.get(name):
            spec.pop(name, None)


def _flatten_devices(spec: Any) -> None:
    for device in (spec or {}).get("devices") or ():
        basic = {name: device.pop(name) for name in list(device) if name != "name"}
        device["basic"] = basic


CLAIM = ResourceConversion(
    lift=lambda obj: _lift_requests(obj.get("spec")), flatten=lambda obj: _flatten_requests(obj.get("spec"))
)
TEMPLATE = ResourceConversion(
    lift=lambda obj: _lift_requests((obj.get("spec") or {}).get("spec")),
    flatten=lambda obj: _flatten_requests((obj.get("spec") or {}).get("spec")),
)
SLICE = ResourceConversion(
    lift=lambda obj: _lift_devices(obj.get("spec")), flatten=lambda obj: _flatten_devices(obj.get("spec"))
)
CLASS = ResourceConversion(lift=None, flatten=None)
