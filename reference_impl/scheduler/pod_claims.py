"""The ResourceClaims of a pod, and whether they are usable.

Pure functions over the pod, its status, and a way to look a claim up.

Source: k8s.io/dynamic-resource-allocation/resourceclaim Name, IsForPod; dynamicresources plugin PreEnqueue and
PreFilter (v1.36); rules DRA-106, DRA-107, DRA-122, DRA-123, KAI-042, KAI-043, KAI-049.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dra_api.objects import Obj, controller_of, meta, name_of, namespace_of, uid_of
from reference_impl.pod_groups import group_name, is_group, is_group_owner

MAX_RESERVED_FOR = 256

FindClaim = Callable[[str, str], Obj | None]


@dataclass(frozen=True, slots=True)
class PodClaim:
    """One entry of `pod.spec.resourceClaims` with its claim; `reference` is the pod-local name."""

    reference: str
    claim: Obj


class NotReady(Exception):
    """A claim of the pod cannot be used yet.

    `reported` is False for a state that ends by itself, such as a template claim that is about to be generated.
    """

    def __init__(self, message: str, *, reported: bool = True) -> None:
        super().__init__(message)
        self.reported = reported


def references(pod: Obj) -> list[Obj]:
    """Return the pod's claim entries."""
    return list((pod.get("spec") or {}).get("resourceClaims") or ())


def recorded(pod: Obj, reference: str) -> Obj | None:
    """Return the status entry for one of the pod's template claims; None before the claim controller wrote it."""
    for status in (pod.get("status") or {}).get("resourceClaimStatuses") or ():
        if status.get("name") == reference:
            return dict(status)
    return None


def needs_no_claim(status: Obj) -> bool:
    """Return whether the status records a template claim without a name: the pod needs none (DRA-107)."""
    return not status.get("resourceClaimName")


def belongs_to(claim: Obj, pod: Obj) -> bool:
    """Return whether a generated claim was generated for this very pod, or for its PodGroup (DRA-106)."""
    owner = controller_of(claim)
    if owner is not None and is_group_owner(owner, pod):
        return True
    return owner is not None and owner.get("kind") == "Pod" and owner.get("uid") == uid_of(pod)


def claim_names(pod: Obj) -> set[str]:
    """Return the names of the pod's claims, as far as they are known."""
    names = (
        entry.get("resourceClaimName") or (recorded(pod, str(entry["name"])) or {}).get("resourceClaimName")
        for entry in references(pod)
    )
    return {str(name) for name in names if name}


def reference_to(pod: Obj, claim: str) -> str:
    """Return the pod's own name for a claim, empty if the claim is not one of the pod's."""
    for entry in references(pod):
        reference = str(entry["name"])
        named = entry.get("resourceClaimName") or (recorded(pod, reference) or {}).get("resourceClaimName")
        if named == claim:
            return reference
    return ""


def consumers_left(claim: Obj, pod: Obj) -> bool:
    """Return whether the claim has room for the pod among its consumers (KAI-049)."""
    reserved = (claim.get("status") or {}).get("reservedFor") or ()
    group = group_name(pod)
    if group and any(is_group(entry) and entry.get("name") == group for entry in reserved):
        return True
    return len(reserved) < MAX_RESERVED_FOR or any(entry.get("uid") == uid_of(pod) for entry in reserved)


def resolve(pod: Obj, find: FindClaim) -> list[PodClaim]:
    """Return the claims of `pod`, in the order of its entries. Raises NotReady with what is missing."""
    namespace = namespace_of(pod)
    found: list[PodClaim] = []
    for entry in references(pod):
        reference = str(entry["name"])
        name = entry.get("resourceClaimName")
        generated = not name
        if generated:
            status = recorded(pod, reference)
            if status is None:
                raise NotReady(f"resourceclaim for entry {reference} has not been created yet", reported=False)
            if needs_no_claim(status):
                continue
            name = status["resourceClaimName"]
        claim = find(namespace, str(name))
        if claim is None:
            # A generated claim may be in the pod's status before our copy of the claims has it.
            raise NotReady(f'resourceclaim "{name}" not found', reported=not generated)
        if generated and not belongs_to(claim, pod):
            raise NotReady(f'resourceclaim "{name}" was not created for pod {namespace}/{name_of(pod)}')
        if meta(claim).get("deletionTimestamp"):
            raise NotReady(f'resourceclaim "{name}" is being deleted')
        if not consumers_left(claim, pod):
            raise NotReady(f'resourceclaim "{name}" has {MAX_RESERVED_FOR} consumers, which is all it can have')
        found.append(PodClaim(reference, claim))
    return found
