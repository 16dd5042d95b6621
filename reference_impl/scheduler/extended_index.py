"""Index of the cluster view for extended resources: the class of each resource, and claims by pod.

Fed by the view with classes and claims, under its lock; what was derived from classes is dropped when one changes.

Source: k8s.io/dynamic-resource-allocation/deviceclass extendedresourcecache (v0.36); rules DRA-243, DRA-247.
"""

from __future__ import annotations

from collections.abc import Mapping

from dra_api.informer import Change
from dra_api.objects import Obj, controller_of, key_of, meta, uid_of
from reference_impl.scheduler import extended_resources
from reference_impl.scheduler.allocator import DeviceClass
from reference_impl.scheduler.claim_ledger import ClaimKey


class ExtendedIndex:
    """Classes by resource and claims by pod. `classes` and `claims` are the view's own."""

    def __init__(self, classes: Mapping[str, DeviceClass], claims: Mapping[ClaimKey, Obj]) -> None:
        self._classes = classes
        self._claims = claims
        self._class_of: extended_resources.ClassOf | None = None
        self._by_owner: dict[str, set[ClaimKey]] = {}

    def classes_changed(self) -> None:
        """Drop the mapping of resources to classes."""
        self._class_of = None

    def class_of(self, resource: str) -> str | None:
        """Return the class of an extended resource, if any (DRA-240, DRA-243)."""
        if self._class_of is None:
            self._class_of = extended_resources.resolver([*self._classes.values()])
        return self._class_of(resource)

    def note(self, change: Change) -> None:
        """Handle a change of a claim."""
        claim = change.object
        owner = str((controller_of(claim) or {}).get("uid") or "")
        if not owner or (meta(claim).get("annotations") or {}).get(extended_resources.ANNOTATION) != "true":
            return
        held = self._by_owner.setdefault(owner, set())
        if change.type == "DELETED":
            held.discard(key_of(claim))
        else:
            held.add(key_of(claim))
        if not held:
            del self._by_owner[owner]

    def claim_of(self, pod: Obj) -> Obj | None:
        """Return the claim behind the pod's extended resources that an earlier attempt made, if it is there."""
        for key in sorted(self._by_owner.get(uid_of(pod), ())):
            claim = self._claims.get(key)
            if claim is not None and extended_resources.is_claim_of(claim, pod):
                return claim
        return None
