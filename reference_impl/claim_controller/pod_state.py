"""The claims that a pod needs, from its own object. Pure functions.

Source: kube-controller-manager v1.36 pkg/controller/resourceclaim/controller.go (isPodDone, needsWork).
"""

from __future__ import annotations

from collections.abc import Iterator

from dra_api.objects import Obj, controller_of, meta, uid_of

POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"


def is_done(pod: Obj) -> bool:
    """Return whether the pod uses its claims no more: finished, or deleted before it was scheduled (DRA-108)."""
    return is_finished(pod) or (bool(meta(pod).get("deletionTimestamp")) and not is_scheduled(pod))


def is_finished(pod: Obj) -> bool:
    """Return whether the pod's phase is terminal."""
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def is_scheduled(pod: Obj) -> bool:
    """Return whether the pod has a node."""
    return bool(pod.get("spec", {}).get("nodeName"))


def pod_claims(pod: Obj) -> list[Obj]:
    """Return `pod.spec.resourceClaims`."""
    return list(pod.get("spec", {}).get("resourceClaims") or ())


def recorded(pod: Obj) -> dict[str, str | None]:
    """Return `pod.status.resourceClaimStatuses` as a mapping; None if no claim is needed (DRA-107)."""
    return {
        str(item.get("name")): item.get("resourceClaimName")
        for item in pod.get("status", {}).get("resourceClaimStatuses") or ()
    }


def claim_names(pod: Obj) -> Iterator[str]:
    """Return the names of all claim objects that the pod is known to use, extended resources included."""
    for name, _ in named_claims(pod):
        yield name


def named_claims(pod: Obj) -> Iterator[tuple[str, bool]]:
    """Return the same names, each with whether the pod or its PodGroup has to own the claim."""
    held = recorded(pod)
    for entry in pod_claims(pod):
        if direct := entry.get("resourceClaimName"):
            yield str(direct), False
        elif generated := held.get(str(entry.get("name"))):
            yield str(generated), True
    extended = pod.get("status", {}).get("extendedResourceClaimStatus") or {}
    if name := extended.get("resourceClaimName"):
        yield str(name), True


def template_names(pod: Obj) -> set[str]:
    """Return the names of the templates that the pod refers to."""
    return {
        str(entry["resourceClaimTemplateName"]) for entry in pod_claims(pod) if entry.get("resourceClaimTemplateName")
    }


def is_owned_by(claim: Obj, pod: Obj) -> bool:
    """Return whether the claim's controller owner is this very pod."""
    owner = controller_of(claim)
    return owner is not None and owner.get("uid") == uid_of(pod)


def is_reserved_for(claim: Obj, pod: Obj) -> bool:
    """Return whether the claim's `reservedFor` names this very pod."""
    return any(entry["uid"] == uid_of(pod) for entry in (claim.get("status") or {}).get("reservedFor") or ())
