"""Writes of the binder to a ResourceClaim: allocation, reservation for the pod, and their rollback.

Claims come from the binder's informer or, after a conflict, from the API server; every write carries the resource
version that it was decided on. The client stays the caller's.

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

import threading

from dra_api.allocations import results_of_allocation
from dra_api.client import Conflict, KubeClient
from dra_api.clock import Clock, timestamp
from dra_api.informer import Informer
from dra_api.objects import Obj, controller_of, meta, name_of, namespace_of, uid_of
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
    """Writes allocation and reservation of claims, one pod at a time.

    `stopping` ends waits between tries. Each decision is a method of its own.
    """

    def __init__(
        self,
        client: KubeClient,
        informer: Informer,
        *,
        options: BinderOptions,
        clock: Clock,
        stopping: threading.Event,
    ) -> None:
        self.resource = informer.resource
        self._client = client
        self._informer = informer
        self._options = options
        self._clock = clock
        self._stopping = stopping

    def find(self, name: str, namespace: str, *, live: bool = False) -> Obj:
        """Return the claim of that name, `live` from the server. Raises BindFailure when there is none (KAI-152)."""
        found = None if live else self._informer.get(name, namespace)
        found = found or self._client.find(self.resource, name, namespace)
        if found is None:
            raise BindFailure(f"ResourceClaim {namespace}/{name} does not exist")
        return found

    # -- decisions -------------------------------------------------------------------------------------------------

    def check(self, claim: Obj, pod: Obj, node: Obj, allocation: Obj | None, *, generated: bool) -> None:
        """Refuse what cannot work, before anything is written. Raises BindFailure."""
        self.check_owner(claim, pod, generated=generated)
        held = allocation_of(claim)
        if held is not None and allocation is not None:
            self.check_same_allocation(claim, held, allocation)
        self.check_node(claim, held or allocation, node)
        if not is_reserved_for(claim, pod):
            self.check_reservable(claim)

    def check_owner(self, claim: Obj, pod: Obj, *, generated: bool) -> None:
        """Require that the claim of a template belongs to this pod, by uid (DRA-106)."""
        if not generated:
            return
        owner = controller_of(claim)
        if owner is None or owner.get("uid") != uid_of(pod):
            raise BindFailure(f"ResourceClaim {_ref(claim)} was not made for this pod (it is not its controller owner)")

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

    def check_reservable(self, claim: Obj) -> None:
        """Refuse a claim that is being deleted; the API server refuses a consumer too many (KAI-158)."""
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
        found = meta(claim)
        return DELETE_PROTECTION not in list(found.get("finalizers") or ())

    # -- writing ---------------------------------------------------------------------------------------------------

    def commit(self, claim: Obj, pod: Obj, node: Obj, allocation: Obj | None, *, generated: bool) -> Obj:
        """Allocate `claim` if it is not allocated yet, and reserve it for `pod`; return the claim as stored.

        A conflict is retried on a fresh copy, checks included; any other error is raised at once (KAI-157). Raises
        BindFailure after too many conflicts (KAI-155).
        """
        uid = uid_of(claim)
        for attempt in range(self._options.conflict_tries):
            self._clock.wait(self._stopping, self._options.conflict_delay * attempt)
            if attempt or self.new_status(claim, pod, allocation) is None:
                # After a conflict, and if the cached copy needs no change: the cache may be stale, so read it live.
                claim = self._reread(claim, uid)
                self.check(claim, pod, node, allocation, generated=generated)
            try:
                return self._write(claim, pod, allocation)
            except Conflict:
                continue
        raise BindFailure(
            f"ResourceClaim {_ref(claim)} was changed by others in each of {self._options.conflict_tries} tries"
        )

    def release(self, claim: Obj, pod: Obj) -> None:
        """Undo `commit`: remove the pod's reservation and, if it was the last, the allocation and the finalizer."""
        for _ in range(self._options.conflict_tries):
            current = self._client.find(self.resource, name_of(claim), namespace_of(claim))
            if current is None or uid_of(current) != uid_of(claim) or not is_reserved_for(current, pod):
                return
            status = dict(status_of(current))
            remaining = [entry for entry in status["reservedFor"] if entry["uid"] != uid_of(pod)]
            status["reservedFor"] = remaining
            if deallocate := not remaining:
                # The entry's own allocation: a claim with another one was refused before it was reserved.
                status.pop("allocation", None)
            try:
                current = self._client.update_status(self.resource, {**current, "status": status})
                # After the status: a claim must not lose its protection while it is allocated.
                if deallocate:
                    current = self._client.update(self.resource, without_finalizer(current))
            except Conflict:
                continue
            self._informer.assume(current)
            return

    def _reread(self, claim: Obj, uid: str) -> Obj:
        found = self._client.find(self.resource, name_of(claim), namespace_of(claim))
        if found is None or uid_of(found) != uid:
            raise BindFailure(f"ResourceClaim {_ref(claim)} was deleted meanwhile")
        return found

    def _write(self, claim: Obj, pod: Obj, allocation: Obj | None) -> Obj:
        status = self.new_status(claim, pod, allocation)
        if status is None:
            return claim
        if self.needs_finalizer(claim):
            # Protection first: a crash between the writes must not leave an allocated claim without it.
            claim = self._client.update(self.resource, with_finalizer(claim))
        claim = self._client.update_status(self.resource, {**claim, "status": status})
        self._informer.assume(claim)
        return claim


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
