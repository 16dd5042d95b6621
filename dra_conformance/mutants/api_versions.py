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
