"""PodGroups of scheduling.k8s.io: which group a pod names, which claims they share, and who reserves these. Pure.

Source: k8s.io/dynamic-resource-allocation/resourceclaim v0.37 (BindTo, IsForPod, IsReservedForPod); rules DRA-549,
DRA-550, DRA-552.
"""

from __future__ import annotations

from dra_api.objects import SCHEDULING_POD_GROUPS, Obj, name_of, uid_of

_GROUP, _RESOURCE = SCHEDULING_POD_GROUPS.group, SCHEDULING_POD_GROUPS.plural
_REFERENCES = ("resourceClaimName", "resourceClaimTemplateName")


def group_name(pod: Obj) -> str:
    """Return the name of the pod's PodGroup, empty if it has none."""
    return str((pod.get("spec", {}).get("schedulingGroup") or {}).get("podGroupName") or "")


def is_entry_of(group: Obj, entry: Obj) -> bool:
    """Return whether an entry of a pod equals one of the group in name and reference; the name is not enough."""
    wanted = (entry.get("name"), *(entry.get(field) for field in _REFERENCES))
    return any(
        wanted == (own.get("name"), *(own.get(field) for field in _REFERENCES))
        for own in group.get("spec", {}).get("resourceClaims") or ()
    )


def typed(group: Obj) -> Obj:
    """Return a group with apiVersion and kind, which items of a list lack."""
    return {**group, "apiVersion": SCHEDULING_POD_GROUPS.api_version, "kind": SCHEDULING_POD_GROUPS.kind}


def consumer_of(user: Obj) -> Obj:
    """Return the `reservedFor` entry of a pod or of a group: one for all pods of the group."""
    if user.get("kind") == SCHEDULING_POD_GROUPS.kind:
        return {"apiGroup": _GROUP, "resource": _RESOURCE, "name": name_of(user), "uid": uid_of(user)}
    return {"resource": "pods", "name": name_of(user), "uid": uid_of(user)}


def is_group(entry: Obj) -> bool:
    """Return whether a `reservedFor` entry names a PodGroup."""
    return (entry.get("apiGroup"), entry.get("resource")) == (_GROUP, _RESOURCE)


def is_reserved_for_group(claim: Obj, pod: Obj) -> bool:
    """Return whether a claim is reserved for the PodGroup that the pod names; pods do not have its uid."""
    reserved = (claim.get("status") or {}).get("reservedFor") or ()
    return bool(group_name(pod)) and any(is_group(one) and one.get("name") == group_name(pod) for one in reserved)


def is_group_owner(owner: Obj, pod: Obj) -> bool:
    """Return whether an owner reference names the pod's PodGroup; pods do not have its uid."""
    is_kind = str(owner.get("apiVersion")).partition("/")[0] == _GROUP and owner.get("kind") == "PodGroup"
    return is_kind and bool(group_name(pod)) and owner.get("name") == group_name(pod)
