"""Conversion between v1 (stored), v1beta2 and v1beta1: `dra_api.versions`, plus the effects of Go's types.

Stateless. Source: pkg/apis/resource/v1beta1/{conversion,defaults}.go, release 1.36; rule DRA-044.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apiserver_emulator.dra.canonical import Undefaulted
from dra_api import versions

Obj = dict[str, Any]


class ResourceConversion:
    """The conversion of one kind. `claim_spec` returns the claim spec inside an object, None for kinds without one."""

    def __init__(self, kind: str, *, claim_spec: tuple[str, ...] | None = None) -> None:
        self._kind = kind
        self._claim_spec = claim_spec

    def to_storage(self, obj: Obj, version: str) -> Obj:
        """From a served version to v1."""
        found = versions.to_v1(self._kind, obj, version)
        if version == "v1beta1":
            for request in self._requests(found):
                exactly = request.get("exactly")
                if exactly and not exactly.get("deviceClassName") and "allocationMode" not in exactly:
                    # v1beta1 defaults the mode only of a request that names a class.
                    exactly["allocationMode"] = Undefaulted()
        return found

    def from_storage(self, obj: Obj, version: str) -> Obj:
        """From v1 to a served version."""
        found = versions.from_v1(self._kind, obj, version)
        if version == "v1beta1":
            for request in self._requests(found):
                request.setdefault("deviceClassName", "")  # a plain string in Go, so JSON always has it
        return found

    def _requests(self, obj: Obj) -> Iterator[Obj]:
        if self._claim_spec is None:
            return
        spec: Any = obj
        for name in self._claim_spec:
            spec = (spec or {}).get(name)
        for request in ((spec or {}).get("devices") or {}).get("requests") or []:
            if isinstance(request, dict):
                yield request


CLAIM = ResourceConversion("ResourceClaim", claim_spec=("spec",))
TEMPLATE = ResourceConversion("ResourceClaimTemplate", claim_spec=("spec", "spec"))
SLICE = ResourceConversion("ResourceSlice")
CLASS = ResourceConversion("DeviceClass")
