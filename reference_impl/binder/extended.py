"""The claim behind extended resources (KEP-5004): created, allocated and reserved by the binder, recorded in the pod.

The claim belongs to its pod (controller owner); the garbage collector or the claim controller ends it. A crash at any
point leaves a claim that the next attempt finds by its owner and annotation (KAI-118, KAI-119).

Differences from KAI 0.17 (`dynamicresources/dra.go`):

- A claim that is terminating is never reused (its reservation would be refused), and on roll-back the finalizer is
  removed with the allocation, so that the deleted claim does not linger.
- A claim left by an earlier attempt whose requests or allocation differ from the BindRequest is replaced (DRA-247).
"""

from __future__ import annotations

from dra_api.client import KubeClient
from dra_api.objects import (
    PODS,
    RESOURCE_CLAIMS,
    Obj,
    controller_of,
    meta,
    name_of,
    namespace_of,
    owner_reference,
    uid_of,
)
from reference_impl.binder.claims import (
    DELETE_PROTECTION,
    ClaimWriter,
    allocation_of,
    same_allocation,
    without_finalizer,
)
from reference_impl.binder.failure import BindFailure

EXTENDED_RESOURCE_CLAIM = "resource.kubernetes.io/extended-resource-claim"


def is_extended_resource_claim(claim: Obj) -> bool:
    """Return whether the claim was made for extended resources."""
    return (meta(claim).get("annotations") or {}).get(EXTENDED_RESOURCE_CLAIM) == "true"


def _with_defaults(request: Obj) -> Obj:
    """Return a device request as the API server stores it."""
    exactly = {"allocationMode": "ExactCount", **(request.get("exactly") or {})}
    if exactly["allocationMode"] == "ExactCount":
        exactly.setdefault("count", 1)
    return {**request, "exactly": exactly}


class ExtendedClaims:
    """Makes and removes extended resource claims."""

    def __init__(self, client: KubeClient, writer: ClaimWriter) -> None:
        self._client = client
        self._writer = writer

    def find(self, pod: Obj) -> Obj | None:
        """Return the pod's extended resource claim that is not going away, if there is one (KAI-119).

        Read from the API server: the claim's name is generated, so a second creation would not be refused.
        """
        for claim in self._client.list(RESOURCE_CLAIMS, namespace_of(pod)).items:
            owner = controller_of(claim)
            if owner is None or owner["uid"] != uid_of(pod) or not is_extended_resource_claim(claim):
                continue
            if not meta(claim).get("deletionTimestamp"):
                return claim
        return None

    def commit(self, pod: Obj, node: Obj, entry: Obj) -> Obj:
        """Make (or find), allocate and reserve the claim, record it in the pod's status, and return it.

        Raises BindFailure if the entry of the BindRequest has no allocation.
        """
        allocation = entry.get("allocation")
        if not allocation:
            raise BindFailure("extendedResourceClaimAllocation has no allocation")
        claim = self.find(pod)
        if claim is not None and not self.fits(claim, entry):
            self._remove(claim)
            claim = None
        if claim is None:
            claim = self._client.create(RESOURCE_CLAIMS, self.claim_for(pod, entry))
        claim = self._writer.commit(claim, pod, node, allocation, generated=True)
        self._record(
            pod, {"resourceClaimName": name_of(claim), "requestMappings": entry.get("containerMappings") or []}
        )
        return claim

    def roll_back(self, pod: Obj) -> None:
        """Remove the pod's claim and forget it in the pod's status (KAI-162)."""
        claim = self.find(pod)
        if claim is None:
            return
        self._remove(claim)
        self._record(pod, None)

    def fits(self, claim: Obj, entry: Obj) -> bool:
        """Return whether a claim of an earlier attempt matches the BindRequest."""
        held = allocation_of(claim)
        requests = [_with_defaults(item) for item in claim.get("spec", {}).get("devices", {}).get("requests") or ()]
        wanted = [_with_defaults(item) for item in entry.get("deviceRequests") or ()]
        return requests == wanted and (held is None or same_allocation(held, entry["allocation"]))

    def claim_for(self, pod: Obj, entry: Obj) -> Obj:
        """Return the claim object as it is created."""
        return {
            "apiVersion": RESOURCE_CLAIMS.api_version,
            "kind": "ResourceClaim",
            "metadata": {
                # A pod's name may have 253 characters, and the API server validates the prefix like a name.
                "generateName": f"{name_of(pod)[:220]}-extended-resources-",
                "namespace": namespace_of(pod),
                "annotations": {EXTENDED_RESOURCE_CLAIM: "true"},
                "finalizers": [DELETE_PROTECTION],
                "ownerReferences": [
                    owner_reference(
                        {"apiVersion": "v1", "kind": "Pod", **pod}, controller=True, block_owner_deletion=True
                    )
                ],
            },
            "spec": {"devices": {"requests": entry.get("deviceRequests") or []}},
        }

    def _remove(self, claim: Obj) -> None:
        # In this order: a claim that is allocated, or has the finalizer, would stay after its deletion.
        claim = self._client.update_status(RESOURCE_CLAIMS, {**claim, "status": {}})
        self._client.update(RESOURCE_CLAIMS, without_finalizer(claim))
        self._client.delete(RESOURCE_CLAIMS, name_of(claim), namespace_of(claim), uid=uid_of(claim))

    def _record(self, pod: Obj, status: Obj | None) -> None:
        patch = {"metadata": {"uid": uid_of(pod)}, "status": {"extendedResourceClaimStatus": status}}
        self._client.patch(PODS, name_of(pod), patch, namespace_of(pod), subresource="status")
