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
