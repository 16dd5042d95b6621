"""The claim that a template and a pod make. Pure; the caller creates it.

Source: kube-controller-manager v1.36 pkg/controller/resourceclaim/controller.go (handleClaim); DRA-100, DRA-102.
"""

from __future__ import annotations

from copy import deepcopy

from dra_api.objects import Obj, meta, name_of, namespace_of, owner_reference
from reference_impl.claim_controller.pod_state import POD_CLAIM_NAME

# Five random characters are added to generateName, and a name has at most 63 characters; one is left for a hyphen.
_MAX_BASE = 57


def generate_name(pod_name: str, claim_name: str) -> str:
    """`<pod>-<claim>-`; if that is over 57 characters, both are cut in proportion (DRA-102)."""
    full = f"{pod_name}-{claim_name}-"
    if len(full) <= _MAX_BASE:
        return full
    return "-".join(part[: len(part) * _MAX_BASE // len(full)] for part in (pod_name, claim_name))


def claim_from(template: Obj, pod: Obj, claim_name: str) -> Obj:
    """Return the claim object for one entry of `spec.resourceClaims`, in the template's API version.

    Its owner is a pod, or a PodGroup with apiVersion and kind.
    """
    spec = template.get("spec") or {}
    template_meta = spec.get("metadata") or {}
    metadata: Obj = {
        "generateName": generate_name(name_of(pod), claim_name),
        "namespace": namespace_of(pod),
        "annotations": {**(template_meta.get("annotations") or {}), POD_CLAIM_NAME: claim_name},
        "ownerReferences": [owner_reference({"apiVersion": "v1", "kind": "Pod", **pod}, controller=True)],
    }
    if labels := template_meta.get("labels"):
        metadata["labels"] = dict(labels)
    return {
        "apiVersion": template["apiVersion"],
        "kind": "ResourceClaim",
        "metadata": metadata,
        "spec": deepcopy(spec.get("spec") or {}),
    }


def is_claim_for(claim: Obj, claim_name: str) -> bool:
    """Return whether an owned claim was made for this entry of `pod.spec.resourceClaims` (DRA-105)."""
    found = meta(claim)
    return (found.get("annotations") or {}).get(POD_CLAIM_NAME) == claim_name and not found.get("deletionTimestamp")
