"""Checks of a BindRequest and its pod before anything is written.

Pure functions over objects that the caller has read. Each raises the failure that is reported. The checks of claims are
in `claims`.
"""

from __future__ import annotations

from collections.abc import Mapping

from dra_api.objects import Obj, meta, name_of, uid_of
from reference_impl.binder import claims, pods
from reference_impl.binder.failure import BindFailure, InvalidBindRequest


def spec_of(request: Obj) -> Obj:
    """Return the spec; an empty dict if there is none."""
    return request.get("spec") or {}


def check_identity(request: Obj, pod: Obj) -> None:
    """Require the pod that the request was made for (KAI-139); the garbage collector deletes the request of another."""
    owners = {item["uid"] for item in meta(request).get("ownerReferences") or () if item["kind"] == "Pod"}
    if owners and uid_of(pod) not in owners:
        raise BindFailure(f"the BindRequest was made for another pod than {name_of(pod)} with uid {uid_of(pod)}")


def check_pod(pod: Obj) -> None:
    """Refuse a pod that is being deleted or finished (KAI-137)."""
    if meta(pod).get("deletionTimestamp"):
        raise BindFailure("the pod is being deleted")
    if pods.is_finished(pod):
        raise BindFailure(f"the pod has finished (phase {pod['status']['phase']})")


def check_resource_type(request: Obj, *, shares: bool) -> None:
    """Refuse a share of GPUs without a group (KAI-202); `shares`: the binder has a reservation namespace."""
    spec = spec_of(request)
    if spec.get("receivedResourceType") != "Fraction":
        return
    if not spec.get("selectedGPUGroups"):
        raise InvalidBindRequest("receivedResourceType is Fraction and selectedGPUGroups is empty")
    if not shares:
        raise BindFailure("GPU fractions need reservation pods, and this binder has no reservation namespace")


def check_entries(pod: Obj, entries: Mapping[str, Obj]) -> None:
    """Require that every entry names a claim of the pod and carries an allocation (KAI-150, KAI-151)."""
    for name, entry in entries.items():
        if claims.pod_claim(pod, name) is None:
            raise BindFailure(f"the BindRequest allocates claim {name!r}, which pod.spec.resourceClaims lacks")
        if not entry.get("allocation"):
            raise BindFailure(f"the BindRequest has no allocation for claim {name!r}")
