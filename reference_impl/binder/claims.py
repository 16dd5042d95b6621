"""Writes of the binder to a ResourceClaim: allocation, reservation for the pod, and their rollback.

Claims are read from the API server, and every write carries the resource version that it was decided on. The client
stays the caller's.

Differences from KAI 0.17, which leaves a hazard (`kai-scheduler/KAI-Scheduler` pkg/binder/plugins/k8s-plugins/
dynamicresources/dra.go):

- KAI-110: the finalizer `resource.kubernetes.io/delete-protection` is added before the allocation, as kube-scheduler
  does; without it a claim could vanish while its devices are in use, and no component would deallocate it.
- KAI-113: an allocation that is there already must be the requested one. KAI keeps whatever it finds and binds the pod
  to its own node, where the devices may not be.
- A claim made for another pod (DRA-106) and an allocation whose node selector refuses the node are failures.
- Everything is checked before anything is written, so that a claim that cannot work leaves its siblings untouched.
"""

from __future__ import annotations

from dra_api.allocations import results_of_allocation
from dra_api.client import Conflict, KubeClient
from dra_api.clock import Clock, timestamp
from dra_api.objects import RESOURCE_CLAIMS, Obj, controller_of, meta, name_of, namespace_of, uid_of
from reference_impl import node_selector
from reference_impl.binder.failure import BindFailure
from reference_impl.binder.options import BinderOptions
from reference_impl.node_selector import NodeFacts

DELETE_PROTECTION = "resource.kubernetes.io/delete-protection"


def consumer(pod: Obj) -> Obj:
    """Return the `reservedFor` entry of a pod (KAI-107)."""
    return {"resource": "pods", "name": name_of(pod), "uid": uid_of(pod)}


def is_reserved_for(claim: Obj, pod: Obj) -> bool:
    """Return whether the claim's `reservedFor` names this very pod."""
    return any(entry["uid"] == uid_of(pod) for entry in status_of(claim).get("reservedFor") or ())


def status_of(claim: Obj) -> Obj:
    """Return the claim's status; an empty dict if it has none."""
    return claim.get("status") or {}


def allocation_of(claim: Obj) -> Obj | None:
    """Return `status.allocation`, or None."""
    return status_of(claim).get("allocation")


def pod_claim(pod: Obj, name: str) -> Obj | None:
    """Return the entry of `pod.spec.resourceClaims` with this name."""
    for entry in pod.get("spec", {}).get("resourceClaims") or ():
        if entry.get("name") == name:
            return dict(entry)
    return None


def claim_name(pod: Obj, entry: Obj) -> str | None:
    """Return the name of the claim object behind one entry of `pod.spec.resourceClaims`.

    None when the pod's status says that no claim is needed (DRA-107). Raises BindFailure when the claim of a template
    is not recorded yet (KAI-153).
    """
    if direct := entry.get("resourceClaimName"):
        return str(direct)
    for status in pod.get("status", {}).get("resourceClaimStatuses") or ():
        if status.get("name") == entry["name"]:
            generated = status.get("resourceClaimName")
            return str(generated) if generated else None
    raise BindFailure(
        f"claim {entry['name']!r} comes from a template and pod.status.resourceClaimStatuses does not name it yet; "
        "the claim controller has not made it"
    )


def same_allocation(one: Obj, other: Obj) -> bool:
    """Return whether two allocations give the same devices to the same requests, with the same configuration."""
    return _devices(one) == _devices(other)


def _devices(allocation: Obj) -> tuple[list[tuple[str | None, ...]], list[Obj]]:
    fields = ("request", "driver", "pool", "device", "shareID")
    results = [tuple(result.get(field) for field in fields) for result in results_of_allocation(allocation)]
    return results, (allocation.get("devices") or {}).get("config") or []


class ClaimWriter:
    """Writes allocation and reservation of claims, one pod at a time. Each decision is a method of its own."""

    def __init__(self, client: KubeClient, *, options: BinderOptions, clock: Clock) -> None:
        self._client = client
        self._options = options
        self._clock = clock

    def find(self, name: str, namespace: str) -> Obj:
        """Return the claim of that name. Raises BindFailure when there is none (KAI-152)."""
        found = self._client.find(RESOURCE_CLAIMS, name, namespace)
        if found is None:
            raise BindFailure(f"ResourceClaim {namespace}/{name} does not exist")
        return found

    # -- decisions -------------------------------------------------------------------------------------------------

    def check(self, claim: Obj, pod: Obj, node: Obj, allocation: Obj | None, *, generated: bool) -> None:
        """Refuse what cannot work, before anything is written. Raises BindFailure."""
        self.check_owner(claim, pod, generated=generated)
        self.check_usable(claim)
        held = allocation_of(claim)
        if allocation is None:
            self.check_allocated(claim)
        elif held is not None:
            self.check_same_allocation(claim, held, allocation)
        self.check_node(claim, held or allocation, node)

    def check_owner(self, claim: Obj, pod: Obj, *, generated: bool) -> None:
        """Require that the claim of a template belongs to this pod, by uid (DRA-106)."""
        if not generated:
            return
        owner = controller_of(claim)
        if owner is None or owner.get("uid") != uid_of(pod):
            raise BindFailure(f"ResourceClaim {_ref(claim)} was not made for this pod (it is not its controller owner)")

    def check_allocated(self, claim: Obj) -> None:
        """Require an allocation of a claim that has no entry: no component allocates it after binding (DRA-119)."""
        if allocation_of(claim) is None:
            raise BindFailure(f"ResourceClaim {_ref(claim)} is not allocated, and the BindRequest has no entry for it")

    def check_same_allocation(self, claim: Obj, held: Obj, wanted: Obj) -> None:
        """Require that an existing allocation equals the requested one."""
        if not same_allocation(held, wanted):
            raise BindFailure(
                f"ResourceClaim {_ref(claim)} is already allocated to {describe(held)}, "
                f"the BindRequest requests {describe(wanted)}"
            )

    def check_node(self, claim: Obj, allocation: Obj | None, node: Obj) -> None:
        """Require that the selected node can use the devices."""
        selector = (allocation or {}).get("nodeSelector")
        if not node_selector.matches_if_valid(selector, NodeFacts.of(node)):
            raise BindFailure(f"the allocation of ResourceClaim {_ref(claim)} cannot be used on node {name_of(node)}")

    def check_usable(self, claim: Obj) -> None:
        """Refuse a claim that is being deleted, reserved or not (KAI-158b); the API server refuses one that is full."""
        if meta(claim).get("deletionTimestamp"):
            raise BindFailure(f"ResourceClaim {_ref(claim)} is being deleted")

    def new_status(self, claim: Obj, pod: Obj, allocation: Obj | None) -> Obj | None:
        """Return the status that the claim needs for this pod, or None when it has it already."""
        status = dict(status_of(claim))
        if allocation is not None and not status.get("allocation"):
            status["allocation"] = self._with_time(allocation)
        if not is_reserved_for(claim, pod):
            status["reservedFor"] = [*(status.get("reservedFor") or ()), consumer(pod)]
        return status if status != status_of(claim) else None

    def _with_time(self, allocation: Obj) -> Obj:
        """Return the allocation, with a timestamp if it has binding conditions: their timeout starts there."""
        results = results_of_allocation(allocation)
        if allocation.get("allocationTimestamp") or not any(result.get("bindingConditions") for result in results):
            return allocation
        return {**allocation, "allocationTimestamp": timestamp(self._clock.now())}

    def needs_finalizer(self, claim: Obj) -> bool:
        """Return whether delete protection is to be added before this claim is allocated or reserved."""
        return DELETE_PROTECTION not in (meta(claim).get("finalizers") or ())

    # -- writing ---------------------------------------------------------------------------------------------------

    def commit(self, claim: Obj, pod: Obj, node: Obj, allocation: Obj | None, *, generated: bool) -> Obj:
        """Allocate `claim` if it is not allocated yet, and reserve it for `pod`; return the claim as stored.

        A conflict is retried on a fresh copy, checks included; any other error is raised at once (KAI-157). Raises
        BindFailure after too many conflicts (KAI-155).
        """
        for _ in range(self._options.conflict_tries):
            try:
                return self._write(claim, pod, allocation)
            except Conflict:
                claim = self.find(name_of(claim), namespace_of(claim))
                self.check(claim, pod, node, allocation, generated=generated)
        raise BindFailure(
            f"ResourceClaim {_ref(claim)} was changed by others in each of {self._options.conflict_tries} tries"
        )

    def release(self, claim: Obj, pod: Obj) -> None:
        """Undo `commit`: remove the pod's reservation and, if it was the last, the allocation and the finalizer.

        Raises Conflict if the claim changes meanwhile: the claim controller then ends the reservation with the pod.
        """
        if not is_reserved_for(claim, pod):
            return
        status = dict(status_of(claim))
        status["reservedFor"] = [entry for entry in status["reservedFor"] if entry["uid"] != uid_of(pod)]
        if status["reservedFor"]:
            self._client.update_status(RESOURCE_CLAIMS, {**claim, "status": status})
            return
        # The entry's own allocation: a claim with another one was refused before it was reserved.
        del status["allocation"]
        # The status first: a claim must not lose its protection while it is allocated.
        claim = self._client.update_status(RESOURCE_CLAIMS, {**claim, "status": status})
        self._client.update(RESOURCE_CLAIMS, without_finalizer(claim))

    def _write(self, claim: Obj, pod: Obj, allocation: Obj | None) -> Obj:
        status = self.new_status(claim, pod, allocation)
        if status is None:
            return claim
        if self.needs_finalizer(claim):
            # Protection first: a crash between the writes must not leave an allocated claim without it.
            claim = self._client.update(RESOURCE_CLAIMS, with_finalizer(claim))
        return self._client.update_status(RESOURCE_CLAIMS, {**claim, "status": status})


def with_finalizer(claim: Obj) -> Obj:
    """Return the claim with delete protection."""
    return _with_finalizers(claim, [*(meta(claim).get("finalizers") or ()), DELETE_PROTECTION])


def without_finalizer(claim: Obj) -> Obj:
    """Return the claim without delete protection."""
    return _with_finalizers(claim, [item for item in meta(claim).get("finalizers") or () if item != DELETE_PROTECTION])


def _with_finalizers(claim: Obj, finalizers: list[str]) -> Obj:
    return {**claim, "metadata": {**meta(claim), "finalizers": finalizers}}


def describe(allocation: Obj) -> str:
    """Return the devices of an allocation in a few words."""
    results = results_of_allocation(allocation)
    return ", ".join(f"{item['driver']}/{item['pool']}/{item['device']}" for item in results) or "no device"


def _ref(claim: Obj) -> str:
    return f"{namespace_of(claim)}/{name_of(claim)}"
