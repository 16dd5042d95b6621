"""Checks of a BindRequest and its pod before anything is written.

Pure functions over objects that the caller has read. Each raises the failure that is reported. The checks of claims are
in `claims`.
"""

from __future__ import annotations

from collections.abc import Mapping

from dra_api.objects import Obj, meta, name_of, namespace_of, uid_of
from reference_impl.binder import claims, pods
from reference_impl.binder.failure import BindFailure, InvalidBindRequest, StaleBindRequest


def spec_of(request: Obj) -> Obj:
    """Return the spec; an empty dict if there is none."""
    return request.get("spec") or {}


def owner_uid(request: Obj) -> str:
    """Return the uid of the pod that owns the request; empty when no pod does."""
    owners = (item for item in meta(request).get("ownerReferences") or () if item["kind"] == "Pod")
    return next((str(item["uid"]) for item in owners), "")


def fresh_enough(request: Obj, pod: Obj) -> bool:
    """Return whether a cached pod can be the one meant: same uid, and every template's claim recorded."""
    if owner_uid(request) not in ("", uid_of(pod)):
        return False
    recorded = {item.get("name") for item in pod.get("status", {}).get("resourceClaimStatuses") or ()}
    return all(
        entry.get("resourceClaimName") or entry.get("name") in recorded
        for entry in pod.get("spec", {}).get("resourceClaims") or ()
    )


def check_identity(request: Obj, pod: Obj) -> None:
    """Require the pod that the request was made for (KAI-139). Raises StaleBindRequest."""
    if owner_uid(request) not in ("", uid_of(pod)):
        raise StaleBindRequest(
            f'the BindRequest was made for Pod "{namespace_of(pod)}/{name_of(pod)}" with uid '
            f"{owner_uid(request)}; the pod of that name now has uid {uid_of(pod)}"
        )


def check_pod(pod: Obj) -> None:
    """Refuse a pod that is being deleted or finished (KAI-137)."""
    if meta(pod).get("deletionTimestamp"):
        raise BindFailure("the pod is being deleted")
    if pods.is_finished(pod):
        raise BindFailure(f"the pod has finished (phase {pod['status']['phase']})")


def check_resource_type(request: Obj) -> None:
    """Refuse GPU fractions (KAI-202)."""
    spec = spec_of(request)
    if spec.get("receivedResourceType") != "Fraction":
        return
    if not spec.get("selectedGPUGroups"):
        raise InvalidBindRequest("receivedResourceType is Fraction and selectedGPUGroups is empty")
    raise BindFailure("GPU fractions need KAI's reservation pods; this binder binds whole devices and DRA claims")


def check_entries(pod: Obj, entries: Mapping[str, Obj]) -> None:
    """Require that every entry names a claim of the pod and carries an allocation (KAI-150, KAI-151)."""
    for name, entry in entries.items():
        if claims.pod_claim(pod, name) is None:
            raise BindFailure(f"the BindRequest allocates claim {name!r}, which pod.spec.resourceClaims lacks")
        if not entry.get("allocation"):
            raise BindFailure(f"the BindRequest has no allocation for claim {name!r}")


def check_uncovered(wanted: Obj, claim: Obj) -> None:
    """Require an allocation of a claim that has no entry: no component allocates it after binding (DRA-119)."""
    if claims.allocation_of(claim) is None:
        raise BindFailure(
            f"the BindRequest says nothing about claim {wanted['name']!r} and ResourceClaim {name_of(claim)} is "
            "not allocated"
        )
