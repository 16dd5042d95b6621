"""Claims of a Prepare call: read from the API server and checked against the request of the kubelet.

Nothing is cached: a plugin that prepared from an old copy would use devices that were deallocated.

Source: k8s.io/dynamic-resource-allocation/kubeletplugin v0.36.0 (draplugin.go); rules DRA-284, NV-053 to NV-058,
NV-068.
"""

from __future__ import annotations

from dataclasses import dataclass

from dra_api.allocations import results_of_status
from dra_api.client import ApiError, KubeClient
from dra_api.objects import RESOURCE_CLAIMS, Obj, uid_of
from dra_api.rpc import ClaimRef
from dra_api.transport import TransportError

POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"
"""The annotation of a claim from a template with the pod's name for it."""


class ClaimRefusedError(Exception):
    """The whole call must fail: a claim cannot be read, differs from the requested one, or is not allocated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One of the claim's allocation results that is this driver's."""

    request: str
    pool: str
    device: str
    admin_access: bool
    share_id: str | None
    consumed: Obj

    @property
    def request_name(self) -> str:
        """Return the request's own name; a subrequest's is the part before the slash (rule NV-068)."""
        return self.request.partition("/")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocatedClaim:
    """A claim that may be prepared. `pod_claim` is the pod's name for a claim from a template; empty for others."""

    uid: str
    name: str
    namespace: str
    status: Obj
    pod_claim: str = ""

    @property
    def allocation(self) -> Obj:
        """Return `status.allocation`."""
        allocation: Obj = self.status["allocation"]
        return allocation

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}:{self.uid}"


class ClaimReader:
    """Reads claims for one plugin."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    def fetch(self, reference: ClaimRef) -> AllocatedClaim:
        """Return the allocated claim that the kubelet means. Raises ClaimRefusedError (rules NV-053 to NV-055)."""
        where = f"{reference.namespace}/{reference.name}"
        try:
            claim = self._client.get(RESOURCE_CLAIMS, reference.name, reference.namespace)
        except (ApiError, TransportError, OSError) as error:
            raise ClaimRefusedError(f"retrieve claim {where}: {error}") from error
        # The claim may have been deleted and created again since the kubelet read it.
        self.check_uid(reference, claim)
        self.check_allocated(reference, claim)
        return AllocatedClaim(
            uid=reference.uid,
            name=reference.name,
            namespace=reference.namespace,
            status=claim["status"],
            pod_claim=(claim["metadata"].get("annotations") or {}).get(POD_CLAIM_NAME, ""),
        )

    def check_uid(self, reference: ClaimRef, claim: Obj) -> None:
        """Refuse another claim of the same name."""
        if uid_of(claim) != reference.uid:
            raise ClaimRefusedError(
                f"claim {reference.namespace}/{reference.name} got replaced: "
                f"asked for uid {reference.uid}, found {uid_of(claim)}"
            )

    def check_allocated(self, reference: ClaimRef, claim: Obj) -> None:
        """Refuse a claim without devices."""
        if not (claim.get("status") or {}).get("allocation"):
            raise ClaimRefusedError(f"claim {reference.namespace}/{reference.name} not allocated")

    def exists(self, *, namespace: str, name: str, uid: str) -> bool | None:
        """Return whether the claim with this uid is still in the API; None if the API server does not answer."""
        try:
            claim = self._client.find(RESOURCE_CLAIMS, name, namespace)
        except (ApiError, TransportError, OSError):
            return None
        # Another claim may have the name by now.
        return claim is not None and uid_of(claim) == uid


def own_results(claim_status: Obj, driver: str) -> list[Result]:
    """Return the allocation results of `driver`, in order (rule NV-057)."""
    results = results_of_status(claim_status)
    return [
        Result(
            request=result.get("request") or "",
            pool=result.get("pool") or "",
            device=result.get("device") or "",
            admin_access=bool(result.get("adminAccess")),
            share_id=result.get("shareID"),
            consumed=result.get("consumedCapacity") or {},
        )
        for result in results
        if result.get("driver") == driver
    ]
