"""Faults of the conversion between versions of resource.k8s.io."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dra_conformance.engine.mutation import Patch, mutant

_CONVERSION = "apiserver_emulator.dra.conversion:ResourceConversion"


def _loses(patch: Patch, method: str, change: Callable[[Any], None]) -> None:
    """Change the converted devices of claims."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def convert(self: Any, obj: Any, version: str) -> Any:
            found = original(self, obj, version)
            devices = (found.get("spec") or {}).get("devices")
            if found.get("kind") == "ResourceClaim" and isinstance(devices, dict):
                change(devices)
            return found

        return convert

    patch.wrap(f"{_CONVERSION}.{method}", make)


@mutant("conversion-loses-admin-access", rule="DRA-044")
def _(patch: Patch) -> None:
    """A v1beta1 claim loses adminAccess when it is stored."""

    def change(devices: Any) -> None:
        for request in devices.get("requests") or ():
            (request.get("exactly") or {}).pop("adminAccess", None)

    _loses(patch, "to_storage", change)


@mutant("conversion-loses-the-second-alternative", rule="DRA-044")
def _(patch: Patch) -> None:
    """A claim reads in v1beta1 with the first alternative of each request only."""

    def change(devices: Any) -> None:
        for request in devices.get("requests") or ():
            if "firstAvailable" in request:
                request["firstAvailable"] = request["firstAvailable"][:1]

    _loses(patch, "from_storage", change)


def _slices_lose(patch: Patch, method: str, *fields: str) -> None:
    """Drop fields of the converted devices of slices, and of their capacities."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def convert(self: Any, obj: Any, version: str) -> Any:
            found = original(self, obj, version)
            if found.get("kind") == "ResourceSlice" and "v1beta1" in (version, str(obj.get("apiVersion"))[-7:]):
                for device in (found.get("spec") or {}).get("devices") or ():
                    basic = device.get("basic", device)
                    for holder in (basic, *(basic.get("capacity") or {}).values()):
                        for field in fields:
                            holder.pop(field, None)
            return found

        return convert

    patch.wrap(f"{_CONVERSION}.{method}", make)


@mutant("conversion-loses-binding-conditions", rule="DRA-044b")
def _(patch: Patch) -> None:
    """A slice reads in v1beta1 without binding conditions."""
    _slices_lose(patch, "from_storage", "bindsToNode", "bindingConditions", "bindingFailureConditions")


@mutant("conversion-loses-sharing", rule="DRA-044b")
def _(patch: Patch) -> None:
    """A v1beta1 slice is stored without its sharing and the policies of its capacities."""
    _slices_lose(patch, "to_storage", "allowMultipleAllocations", "requestPolicy")


@mutant("conversion-loses-counters", rule="DRA-044b")
def _(patch: Patch) -> None:
    """A v1beta1 slice is stored without the counters of its devices."""
    _slices_lose(patch, "to_storage", "consumesCounters")


@mutant("v1beta2-has-the-form-of-v1beta1", rule="DRA-044c")
def _(patch: Patch) -> None:
    """Claims of v1beta2 are converted like those of v1beta1."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def convert(self: Any, obj: Any, version: str) -> Any:
            found = original(self, obj, "v1beta1" if version == "v1beta2" else version)
            return {**found, "apiVersion": f"resource.k8s.io/{version}"}

        return convert

    patch.wrap(f"{_CONVERSION}.from_storage", make)


@mutant("v1beta2-is-not-defaulted", rule="DRA-044c")
def _(patch: Patch) -> None:
    """Claims of v1beta2 are stored without the counts of their requests."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def convert(self: Any, obj: Any, version: str) -> Any:
            found = original(self, obj, version)
            if version == "v1beta2" and found.get("kind") == "ResourceClaim":
                for request in found["spec"]["devices"].get("requests") or ():
                    (request.get("exactly") or {}).pop("count", None)
            return found

        return convert

    patch.wrap(f"{_CONVERSION}.to_storage", make)


def _unselected(patch: Patch, field: str, *versions: str) -> None:
    """Ignore the selectors of lists of slices that have a field, in some versions."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def predicate(self: Any, resource: Any, request: Any, info: Any) -> Any:
            found = original(self, resource, request, info)
            here = resource.key == ("resource.k8s.io", "resourceslices") and any(
                f"/{v}/" in request.path for v in versions
            )
            return None if here and field in str(request.query) else found

        return predicate

    patch.wrap("apiserver_emulator.handlers.read:Reader.predicate", make)


@mutant("older-versions-list-slices-of-all-nodes", rule="DRA-079b")
def _(patch: Patch) -> None:
    """The field spec.nodeName is ignored in v1beta1."""
    _unselected(patch, "spec.nodeName", "v1beta1")


@mutant("older-versions-list-slices-of-all-pools", rule="DRA-400b")
def _(patch: Patch) -> None:
    """The field spec.pool.name is ignored in v1beta2."""
    _unselected(patch, "spec.pool.name", "v1beta2")
