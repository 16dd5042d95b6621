"""Lookups of the cluster view for extended resources: the class of each resource, and the claim of a pod.

Used under the view's lock; what was derived from classes is dropped when one changes.

Source: k8s.io/dynamic-resource-allocation/deviceclass extendedresourcecache (v0.36); rules DRA-243, DRA-247.
"""

from __future__ import annotations

from collections.abc import Mapping

from dra_api.objects import Obj
from reference_impl.scheduler import extended_resources
from reference_impl.scheduler.allocator import DeviceClass
from reference_impl.scheduler.claim_ledger import ClaimKey


class ExtendedIndex:
    """Classes by resource, and claims of pods. `classes` and `claims` are the view's own."""

    def __init__(self, classes: Mapping[str, DeviceClass], claims: Mapping[ClaimKey, Obj]) -> None:
        self._classes = classes
        self._claims = claims
        self._class_of: extended_resources.ClassOf | None = None

    def classes_changed(self) -> None:
        """Drop the mapping of resources to classes."""
        self._class_of = None

    def class_of(self, resource: str) -> str | None:
        """Return the class of an extended resource, if any (DRA-240, DRA-243)."""
        if self._class_of is None:
            self._class_of = extended_resources.resolver([*self._classes.values()])
        return self._class_of(resource)

    def claim_of(self, pod: Obj) -> Obj | None:
        """Return the claim behind the pod's extended resources that an earlier attempt made, if it is there."""
        return next((claim for claim in self._claims.values() if extended_resources.is_claim_of(claim, pod)), None)
