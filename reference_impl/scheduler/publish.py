"""Publication of a decision: in a BindRequest for a binder, or by binding as kube-scheduler does.

Publishers are thread-safe. A decision can be published again after a lost response: writes that succeeded already are
found and left as they are.

Source: KAI-Scheduler 0.17 pkg/scheduler/cache/cache.go Bind; kube-scheduler dynamicresources PreBind, Unreserve,
PostFilter (v1.36); rules DRA-128, DRA-129, DRA-131, DRA-139, KAI-010 to KAI-027.
"""

from __future__ import annotations

import copy
import logging
import random
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from dra_api.bind_request_crd import EXTENDED_CLAIM
from dra_api.client import AlreadyExists, ApiError, Conflict, KubeClient, NotFound
from dra_api.clock import Clock, timestamp
from dra_api.objects import BIND_REQUESTS, PODS, Obj, Resource, key_of, meta, name_of, namespace_of, uid_of
from dra_api.transport import TransportError
from reference_impl.pod_groups import consumer_of
from reference_impl.scheduler import bind_requests, extended_resources, node_allocatable, pod_resources
from reference_impl.scheduler.cycle import Decision, ExtendedDecision
from reference_impl.scheduler.options import Revision

log = logging.getLogger(__name__)

FINALIZER = "resource.kubernetes.io/delete-protection"
_CONFLICT_TRIES = 10


class PublishError(Exception):
    """The decision could not be written; the pod must be scheduled anew."""


def may_be_carried_out(error: Exception) -> bool:
    """Return whether a write that failed with this error may be stored: no response arrived, or the server failed.

    The devices then are not free until the object has been read.
    """
    return isinstance(error, (TransportError, OSError)) or (isinstance(error, ApiError) and error.status >= 500)


class Publisher(Protocol):
    """Writes decisions."""

    def publish(self, decision: Decision) -> None:
        """Write one decision. Raises ApiError, TransportError or PublishError if it failed.

        After an error that `may_be_carried_out` the same decision can be published again.
        """
        ...

    def forget(self, pod: Obj) -> None:
        """Drop the state of a decision that will not be published again."""
        ...


class BindRequestPublisher:
    """Writes BindRequests, and no claims or pods (KAI-025).

    `created` is called with each new BindRequest. `lacking` are the fields that the CRD does not have.
    """

    def __init__(
        self,
        client: KubeClient,
        *,
        revision: Revision,
        created: Callable[[Obj], None],
        seed: int | None = None,
        lacking: Sequence[str] = (),
    ) -> None:
        self._client = client
        self._lacking = lacking
        self._revision = revision
        self._created = created
        self._random = random.Random(seed)  # noqa: S311 - names, not secrets
        self._unanswered: dict[str, Obj] = {}
        """BindRequests that may have been created, by the uid of their pod: they are tried again under their name."""

    def publish(self, decision: Decision) -> None:
        """Create the BindRequest of `decision`, or find that an earlier try has created it."""
        if decision.extended is not None and EXTENDED_CLAIM in self._lacking:
            # The pod would be bound without its devices.
            raise PublishError(
                f"the CRD {BIND_REQUESTS} has no {EXTENDED_CLAIM}, which the extended resources of the pod need; "
                "install the CRD of KAI-Scheduler 0.17, then start the scheduler again"
            )
        uid = uid_of(decision.pod)
        earlier = self._unanswered.pop(uid, None)
        request = earlier or self._made(decision)
        try:
            stored = self._client.create(BIND_REQUESTS, request)
        except AlreadyExists:
            # Only after a lost response can the existing request be our own.
            found = self._client.find(BIND_REQUESTS, name_of(request), namespace_of(request)) if earlier else None
            if found is None or not bind_requests.same_decision(found, request):
                raise
            stored = found
        except (ApiError, TransportError, OSError) as error:
            if may_be_carried_out(error):
                self._unanswered[uid] = request
            raise
        self._created(stored)

    def _made(self, decision: Decision) -> Obj:
        return bind_requests.make(
            decision.pod,
            decision.node,
            [(entry.reference, allocation) for entry, allocation in decision.entries],
            pod_resources.pod_requests(decision.pod),
            self._revision,
            self._random,
            extended=extended_entry(decision),
            share=decision.share,
        )

    def forget(self, pod: Obj) -> None:
        """Drop the state of a decision that will not be published again."""
        self._unanswered.pop(uid_of(pod), None)


def extended_entry(decision: Decision) -> Obj | None:
    """Return the entry for the claim behind extended resources (KAI-064); None if there is none (KAI-065)."""
    if decision.extended is None:
        return None
    return {
        "deviceRequests": [*decision.extended.wanted.requests],
        "allocation": decision.extended.allocation,
        "containerMappings": [*decision.extended.wanted.mappings],
    }


class DirectPublisher:
    """Reserves claims in the API and binds the pod, as kube-scheduler does.

    `claims` is the ResourceClaim resource in the version that the server has; `updated` is called with each claim
    written, and `newest` returns the newest known state of a claim by name and namespace. `user_of` returns the object
    that an entry of a pod is reserved for, by default the pod.
    """

    def __init__(
        self,
        client: KubeClient,
        *,
        claims: Resource,
        updated: Callable[[Obj], None],
        clock: Clock,
        newest: Callable[[str, str], Obj | None] = lambda name, namespace: None,
        user_of: Callable[[Obj, str], Obj] | None = None,
    ) -> None:
        self._client = client
        self._claims = claims
        self._updated = updated
        self._newest = newest
        self._clock = clock
        self.user_of = user_of or (lambda pod, _: pod)
        # Locks of claims, which share them: pods of one claim would only make each other's writes conflict.
        self._turns = tuple(threading.Lock() for _ in range(64))
        # Created claims of extended resources whose pods are not bound yet, by uid of the pod.
        self._made: dict[str, Obj] = {}
        # Pods whose claim of extended resources may exist, by uid: the response was lost.
        self._unanswered: set[str] = set()

    def publish(self, decision: Decision) -> None:
        """Write finalizer, allocation and reservation of every claim, then bind; take reservations back on failure."""
        self.reserve(decision)
        self.bind(decision)

    def reserve(self, decision: Decision) -> None:
        """Write finalizer, allocation and reservation of every claim; take reservations back on failure."""
        reserved: list[Obj] = []
        try:
            for entry, allocation in decision.entries:
                user = self.user_of(decision.pod, entry.reference)
                self._reserve(entry.claim, allocation, user)
                # Other pods of a PodGroup may use its claim, so that its reservation stays (DRA-559).
                if user is decision.pod:
                    reserved.append(entry.claim)
            if decision.extended is not None:
                self._make_extended(decision.pod, decision.extended)
            self._record_uses(decision)
        except (ApiError, TransportError, PublishError, OSError) as error:
            # After a lost response the decision is published again, so its reservations stay.
            if not may_be_carried_out(error):
                for claim in reserved:
                    self.unreserve(claim, decision.pod)
                if (made := self._made.pop(uid_of(decision.pod), None)) is not None:
                    self.remove(made)
            raise

    def _make_extended(self, pod: Obj, extended: ExtendedDecision) -> None:
        """Create, allocate and reserve the claim behind extended resources, and record it (DRA-239, DRA-242)."""
        uid = uid_of(pod)
        claim = self._made.get(uid) or self._stored_extended(pod) or self._create_extended(pod, extended)
        self._made[uid] = claim
        try:
            self._reserve(claim, extended.allocation, pod)
            self._record(pod, {"resourceClaimName": name_of(claim), "requestMappings": [*extended.wanted.mappings]})
        except (ApiError, TransportError, PublishError, OSError) as error:
            if not may_be_carried_out(error):
                self._made.pop(uid, None)
                self.remove(claim)
            raise

    def _create_extended(self, pod: Obj, extended: ExtendedDecision) -> Obj:
        draft = {**extended.wanted.claim(pod), "apiVersion": self._claims.api_version}
        try:
            return self._client.create(self._claims, draft)
        except (ApiError, TransportError, OSError) as error:
            if may_be_carried_out(error):
                self._unanswered.add(uid_of(pod))
            raise

    def _stored_extended(self, pod: Obj) -> Obj | None:
        """Return the claim that a try without response has created; it is found by its owner."""
        if uid_of(pod) not in self._unanswered:
            return None
        stored = self._client.list(self._claims, namespace_of(pod)).items
        # Only now: if the list fails, the next try has to list again.
        self._unanswered.discard(uid_of(pod))
        return next((claim for claim in stored if extended_resources.is_claim_of(claim, pod)), None)

    def claims_of(self, decision: Decision) -> list[Obj]:
        """Return the claims that were reserved for a decision, with the one made for extended resources."""
        made = self._made.get(uid_of(decision.pod))
        return [*(entry.claim for entry, _ in decision.entries), *([made] if made else [])]

    def _record(self, pod: Obj, status: Obj | None) -> None:
        patch = {"metadata": {"uid": uid_of(pod)}, "status": {"extendedResourceClaimStatus": status}}
        self._client.patch(PODS, name_of(pod), patch, namespace_of(pod), subresource="status")

    def _record_uses(self, decision: Decision) -> None:
        """Record in the pod's status what its devices use of the node, in place of what an earlier attempt recorded."""
        pod = decision.pod
        if decision.uses or (pod.get("status") or {}).get(node_allocatable.FIELD):
            self._write_uses(pod, [*decision.uses])

    def _write_uses(self, pod: Obj, uses: list[Obj]) -> None:
        patch = {"metadata": {"uid": uid_of(pod)}, "status": {node_allocatable.FIELD: uses}}
        self._client.patch(PODS, name_of(pod), patch, namespace_of(pod), subresource="status")

    def remove(self, claim: Obj) -> None:
        """Delete the claim behind extended resources, finalizer and all (DRA-247)."""
        for _ in range(_CONFLICT_TRIES):
            current = self._client.find(self._claims, name_of(claim), namespace_of(claim))
            if current is None or uid_of(current) != uid_of(claim):
                return
            try:
                # Deallocate before the finalizer is removed: an allocated claim stays protected.
                if current.get("status"):
                    current = self._client.update_status(self._claims, {**current, "status": {}})
                if kept := meta(current).get("finalizers"):
                    left = [one for one in kept if one != FINALIZER]
                    metadata = {**current["metadata"], "finalizers": left}
                    current = self._client.update(self._claims, {**current, "metadata": metadata})
                self._client.delete(self._claims, name_of(claim), namespace_of(claim), uid=uid_of(claim))
                return
            except Conflict:
                continue
            except NotFound:
                return

    def bind(self, decision: Decision) -> None:
        """Bind the pod whose claims are reserved; release the reservations on failure.

        A pod that an earlier try has bound to its node is bound.
        """
        pod = decision.pod
        try:
            self._client.bind(pod, decision.node)
        except (ApiError, TransportError, OSError) as error:
            # The server refuses to bind a bound pod; it may be our own binding, whose response was lost.
            if isinstance(error, Conflict) and self._is_bound(pod, decision.node):
                self.forget(pod)
                return
            if not may_be_carried_out(error):
                self.give_back(decision)
            raise
        self.forget(pod)

    def _is_bound(self, pod: Obj, node: str) -> bool:
        current = self._client.find(PODS, name_of(pod), namespace_of(pod))
        bound = ((current or {}).get("spec") or {}).get("nodeName")
        return current is not None and uid_of(current) == uid_of(pod) and bound == node

    def forget(self, pod: Obj) -> None:
        """Drop the state of a decision on this pod; its claims are stored in the API server."""
        self._made.pop(uid_of(pod), None)
        self._unanswered.discard(uid_of(pod))

    def give_back(self, decision: Decision) -> None:
        """Take the pod's reservations back; the allocations and reservations of PodGroups stay (DRA-139, DRA-559)."""
        for entry, _ in decision.entries:
            if self.user_of(decision.pod, entry.reference) is decision.pod:
                self.unreserve(entry.claim, decision.pod)
        if (made := self._made.pop(uid_of(decision.pod), None)) is not None:
            self.remove(made)
        if decision.uses:
            try:
                self._write_uses(decision.pod, [])
            except (ApiError, TransportError, OSError) as error:
                log.info("pod %s/%s keeps %s: %s", *key_of(decision.pod), node_allocatable.FIELD, error)

    def _reserve(self, claim: Obj, allocation: Obj, pod: Obj) -> None:
        """Make `claim` allocated and reserved for a pod or its PodGroup, whatever else happens to it meanwhile."""
        with self._turns[hash(uid_of(claim)) % len(self._turns)]:
            current = self._newest(name_of(claim), namespace_of(claim)) or claim
            if is_reserved(current, pod):
                # The cached claim may still have a reservation that an earlier attempt took back.
                current = self._client.get(self._claims, name_of(claim), namespace_of(claim))
            if current is not claim:
                self.check_still_ours(current, claim, allocation)
            for _ in range(_CONFLICT_TRIES):
                try:
                    self._write(current, allocation, pod)
                    return
                except Conflict:
                    current = self._client.get(self._claims, name_of(claim), namespace_of(claim))
                    self.check_still_ours(current, claim, allocation)
        raise PublishError(f"ResourceClaim {namespace_of(claim)}/{name_of(claim)} keeps changing")

    def _write(self, current: Obj, allocation: Obj, pod: Obj) -> None:
        status = current.get("status") or {}
        if status.get("allocation") is None:
            current = self.protect(current)
        updated = copy.deepcopy(current)
        status = updated.setdefault("status", {})
        if status.get("allocation") is None:
            status["allocation"] = {**allocation, "allocationTimestamp": timestamp(self._clock.now())}
        if not is_reserved(current, pod):
            status.setdefault("reservedFor", []).append(consumer_of(pod))
        # Allocated and reserved already (DRA-128), for example by a try whose response was lost. A watch may not have
        # shown that yet, so it is passed on like a write of this process.
        self._updated(current if updated == current else self._client.update_status(self._claims, updated))

    def protect(self, claim: Obj) -> Obj:
        """Add the finalizer before the allocation: an allocated claim must not vanish (DRA-128)."""
        if FINALIZER in (meta(claim).get("finalizers") or ()):
            return claim
        protected = copy.deepcopy(claim)
        protected["metadata"].setdefault("finalizers", []).append(FINALIZER)
        return self._client.update(self._claims, protected)

    @staticmethod
    def check_still_ours(current: Obj, claim: Obj, allocation: Obj) -> None:
        """Raise PublishError unless a changed claim can still take the decision."""
        name = f"ResourceClaim {namespace_of(claim)}/{name_of(claim)}"
        if uid_of(current) != uid_of(claim):
            raise PublishError(f"{name} was replaced by another of its name")
        if meta(current).get("deletionTimestamp"):
            raise PublishError(f"{name} is being deleted")
        other = (current.get("status") or {}).get("allocation")
        # Only the devices are compared: the stored allocation has a timestamp in addition.
        if other is not None and other.get("devices") != allocation.get("devices"):
            raise PublishError(f"{name} got allocated elsewhere in the meantime")

    def unreserve(self, claim: Obj, pod: Obj) -> None:
        """Take the pod's reservation back; the allocation stays (DRA-139)."""
        # A strategic merge patch removes this entry only and does not conflict with changes of others.
        patch = {
            "metadata": {"uid": uid_of(claim)},
            "status": {"reservedFor": [{"$patch": "delete", "uid": uid_of(pod)}]},
        }
        try:
            self._client.patch(
                self._claims, name_of(claim), patch, namespace_of(claim), kind="strategic", subresource="status"
            )
        except (NotFound, Conflict):
            return
        except (ApiError, TransportError, OSError) as error:
            # The claim controller removes what is left once the pod is gone; the first error is the one to report.
            log.info("the reservation of pod %s stays in claim %s: %s", name_of(pod), name_of(claim), error)

    def deallocate(self, claim: Obj, pod: Obj) -> bool:
        """Deallocate a claim that no node of the pod can use, unless others use it. Return True if done (DRA-131).

        For a claim of a PodGroup, `pod` is the group (DRA-560, DRA-561).
        """
        status = claim.get("status") or {}
        others = [entry for entry in status.get("reservedFor") or () if entry.get("uid") != uid_of(pod)]
        if others or status.get("allocation") is None:
            return False
        freed = copy.deepcopy(claim)
        for field in ("allocation", "reservedFor", "devices"):
            freed["status"].pop(field, None)
        try:
            self._updated(self._client.update_status(self._claims, freed))
        except (NotFound, Conflict):
            return False
        return True


def is_reserved(claim: Obj, pod: Obj) -> bool:
    """Return whether the claim is reserved for the pod."""
    consumers = (claim.get("status") or {}).get("reservedFor") or ()
    return any(entry.get("uid") == uid_of(pod) for entry in consumers)
