"""The state of the cluster in the scheduler: nodes with their pods, claims with their devices.

Informers apply one change at a time, under one lock that readers take as well (`view.lock`). The view reports to its
listener the changes that may make a waiting pod fit. The devices of nodes are in `pool_index`.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from dra_api.informer import Change
from dra_api.objects import Obj, key_of, meta, name_of, uid_of
from dra_api.pod_requests import added
from reference_impl import gpu_groups
from reference_impl.node_selector import NodeFacts
from reference_impl.scheduler import (
    bind_requests,
    extended_resources,
    gpu_shares,
    node_allocatable,
    node_filter,
    pod_resources,
)
from reference_impl.scheduler.allocator import DeviceClass
from reference_impl.scheduler.allocator.model import Features
from reference_impl.scheduler.claim_ledger import ClaimKey, ClaimLedger
from reference_impl.scheduler.engines import Correct, Engine
from reference_impl.scheduler.extended_index import ExtendedIndex
from reference_impl.scheduler.gpu_shares import GpuShares, GrantedShare
from reference_impl.scheduler.pod_claims import claim_names, recorded, references
from reference_impl.scheduler.pool_index import PoolIndex

PodKey = tuple[str, str]
# What happened that may help a waiting pod: room on nodes or devices; one pod or one claim changed; a pod's
# BindRequest failed.
ChangeKind = Literal["room", "pod", "claim", "bind-request"]
Listener = Callable[[ChangeKind, tuple[str, str]], None]

TERMINAL_PHASES = frozenset({"Succeeded", "Failed"})


@dataclass(slots=True)
class NodeState:
    """One node and what is placed on it."""

    facts: NodeFacts
    node: Obj
    allocatable: dict[str, int] | None
    rank: float


@dataclass(slots=True)
class Load:
    """The resources used by the pods of one node, bound or promised; also before the Node object arrives."""

    pods: int = 0
    used: dict[str, int] = field(default_factory=dict)

    def add(self, requests: dict[str, int], sign: int) -> None:
        """Count a pod in (1) or out (-1)."""
        self.pods += sign
        for name, value in requests.items():
            self.used[name] = self.used.get(name, 0) + sign * value


@dataclass(frozen=True, slots=True)
class Assumed:
    """A decision about a pod that is on its way to the API server."""

    uid: str
    node: str
    claims: frozenset[ClaimKey]
    groups: tuple[str, ...]
    uses: Mapping[str, int]  # what its devices use of the node


@dataclass(frozen=True, slots=True)
class Promise:
    """The reservations of one BindRequest: a node for its pod, and allocations for the claims that it resolves to."""

    uid: str
    pod: PodKey
    node: str
    claims: frozenset[ClaimKey]


def is_terminal(pod: Obj) -> bool:
    """Return whether a pod has ended and uses no resources any more."""
    return (pod.get("status") or {}).get("phase") in TERMINAL_PHASES


class ClusterView:
    """The scheduler's state of the cluster. All reading methods need `lock` held.

    The listener is called after the change has been applied and without `lock`. `shares` counts shares of GPUs; None:
    no pod shares a GPU.
    """

    def __init__(
        self,
        *,
        features: Features,
        seed: int | None,
        listener: Listener,
        engine: Engine | None = None,
        shares: GpuShares | None = None,
    ) -> None:
        # Re-entrant: the scheduler holds it around `decide` and `assume`, and `assume` takes it too.
        self.lock = threading.RLock()
        self.nodes: dict[str, NodeState] = {}
        self.loads: dict[str, Load] = {}
        self.classes: dict[str, DeviceClass] = {}
        self.claims: dict[ClaimKey, Obj] = {}
        self.pods: dict[PodKey, Obj] = {}
        self.requests: dict[str, Obj] = {}
        self.ledger = ClaimLedger()
        self._seed = seed
        self._charges_devices = features.node_allocatable
        self._listener = listener
        self._pools = PoolIndex(features=features, engine=engine or Correct())
        self.shares = shares
        self._placed: dict[PodKey, tuple[str, dict[str, int], tuple[str, ...]]] = {}
        self._assumed: dict[PodKey, Assumed] = {}
        self._promises: dict[str, Promise] = {}
        self._requests_of_pod: dict[PodKey, set[str]] = {}
        self._needs: dict[str, tuple[Obj, dict[str, int]]] = {}
        self.extended = ExtendedIndex(self.classes, self.claims)

    # -- reading ---------------------------------------------------------------------------------------------------

    def candidates(self) -> list[NodeState]:
        """Return all nodes in the order of attempts: fewest pods first, then by name or by the seed's order."""
        return sorted(self.nodes.values(), key=self._preference)

    def _preference(self, state: NodeState) -> tuple[int, float, str]:
        load = self.loads.get(state.facts.name)
        return (load.pods if load else 0, state.rank, state.facts.name)

    def used(self, node: str) -> dict[str, int]:
        """Return the used resources of a node; each GPU that pods share counts as one (KAI-384)."""
        load = self.loads.get(node)
        used = load.used if load else {}
        shared = self.shares.count(node) if self.shares is not None else 0
        return {**used, gpu_groups.GPU: used.get(gpu_groups.GPU, 0) + shared * gpu_shares.WHOLE} if shared else used

    def inventory(self, node: str) -> Any:
        """Return the devices of a node in the engine's form, built on first use after a change."""
        return self._pools.inventory(self.nodes[node].facts)

    def pod_needs(self, pod: Obj) -> dict[str, int]:
        """Return the resource requests of a pod; computed once for each version of it: a resize changes them."""
        uid = uid_of(pod)
        version, known = self._needs.get(uid, (None, {}))
        if version is not pod:
            known = pod_resources.pod_requests(pod)
            if self.shares is not None:
                known = gpu_shares.needs_of(pod, known)
            self._needs[uid] = (pod, known)
        return known

    def find_claim(self, namespace: str, name: str) -> Obj | None:
        """Return a claim by its key."""
        return self.claims.get((namespace, name))

    def bind_requests_of(self, pod: PodKey) -> list[Obj]:
        """Return the BindRequests about a pod."""
        return [self.requests[uid] for uid in self._requests_of_pod.get(pod, ())]

    def placed_pods(self) -> list[Obj]:
        """Return the pods that are bound to a node, promised to it or assumed to be on it, and have not ended."""
        return [self.pods[key] for key in self._placed if key in self.pods]

    def others_use(self, claim: Obj, pod: Obj) -> bool:
        """Return whether the claim is reserved for another pod, or another placed pod uses it."""
        for entry in (claim.get("status") or {}).get("reservedFor") or ():
            if entry.get("resource") == "pods" and entry.get("uid") != uid_of(pod):
                return True
        namespace, name = key_of(claim)
        return any(
            key_of(other)[0] == namespace and uid_of(other) != uid_of(pod) and name in claim_names(other)
            for other in self.placed_pods()
        )

    def is_assumed(self, pod: PodKey) -> bool:
        """Return whether a decision about the pod is on its way to the API server."""
        return pod in self._assumed

    # -- decisions of our own ---------------------------------------------------------------------------------------

    def assume(
        self,
        pod: Obj,
        node: str,
        allocations: dict[ClaimKey, Obj],
        *,
        share: GrantedShare | None = None,
        uses: Iterable[Obj] = (),
    ) -> None:
        """Count a decision at once, before the API server knows of it; `uses` is what its devices use of the node."""
        with self.lock:
            key = key_of(pod)
            groups = share.groups if share is not None else ()
            self._assumed[key] = Assumed(
                uid_of(pod), node, frozenset(allocations), groups, node_allocatable.charged_for(pod, uses)
            )
            for claim, allocation in allocations.items():
                self.ledger.assume(uid_of(pod), claim, allocation)
            self._place(key)

    def settle(self, pod: PodKey) -> None:
        """End the assumption about a pod: from now on only the state in the API server counts."""
        with self.lock:
            freed = self.retract(pod)
        if freed:
            self._listener("room", pod)

    def retract(self, pod: PodKey) -> bool:
        """End the assumption about a pod without waking others. Return whether there is more room than before.

        For a decision that was never enqueued: nobody else has seen it. Needs the lock.
        """
        assumed = self._assumed.pop(pod, None)
        if assumed is None:
            return False
        freed = self.ledger.drop_assumed(assumed.uid, set(assumed.claims))
        return self._place(pod) or freed

    # -- changes from the API server ---------------------------------------------------------------------------------

    def on_node(self, change: Change) -> None:
        """Handle a change of a Node."""
        name = name_of(change.object)
        if change.type == "DELETED":
            self._node_deleted(name)
            return
        with self.lock:
            facts = NodeFacts.of(change.object)
            before = self.nodes.get(name)
            allocatable = (change.object.get("status") or {}).get("allocatable")
            self.nodes[name] = NodeState(
                facts=facts,
                node=change.object,
                allocatable=pod_resources.amounts(allocatable) if allocatable is not None else None,
                # Derived from seed and name, so that the order of nodes survives updates and restarts.
                rank=0.0 if self._seed is None else random.Random(f"{self._seed}/{name}").random(),  # noqa: S311
            )
            if before is None or before.facts != facts:
                self._pools.node_changed(name)
            if self.shares is not None:
                self._share_again(name)
            if before is not None and _same_for_pods(before.node, change.object):
                return
        self._listener("room", ("", name))

    def _node_deleted(self, name: str) -> None:
        with self.lock:
            self.nodes.pop(name, None)
            self._pools.node_changed(name)
            lost = [request for request in self.requests.values() if bind_requests.selected_node(request) == name]
        # A node that disappears makes room for no pod, but BindRequests to it are stale now (KAI-073).
        for request in lost:
            self._listener("bind-request", bind_requests.pod_key(request))

    def on_slice(self, change: Change) -> None:
        """Handle a change of a ResourceSlice."""
        with self.lock:
            if change.type == "DELETED":
                self._pools.drop_slice(name_of(change.object))
            else:
                self._pools.put_slice(change.object)
        self._listener("room", ("", name_of(change.object)))

    def on_taint_rule(self, change: Change) -> None:
        """Handle a change of a DeviceTaintRule."""
        with self.lock:
            if change.type == "DELETED":
                self._pools.drop_rule(name_of(change.object))
            elif not self._pools.put_rule(change.object):
                return
        self._listener("room", ("", name_of(change.object)))

    def on_class(self, change: Change) -> None:
        """Handle a change of a DeviceClass."""
        with self.lock:
            self.extended.classes_changed()
            if change.type == "DELETED":
                self.classes.pop(name_of(change.object), None)
                return
            self.classes[name_of(change.object)] = DeviceClass.decode(change.object)
        self._listener("room", ("", name_of(change.object)))

    def on_claim(self, change: Change) -> None:
        """Handle a change of a ResourceClaim."""
        key = key_of(change.object)
        with self.lock:
            self.extended.note(change)
            if change.type == "DELETED":
                self.claims.pop(key, None)
                freed = self.ledger.forget_claim(key)
            else:
                self.claims[key] = change.object
                freed = self.ledger.set_status(key, (change.object.get("status") or {}).get("allocation"))
        self._listener("claim", key)
        if freed:
            self._listener("room", key)

    def on_pod(self, change: Change) -> None:
        """Handle a change of a Pod."""
        key = key_of(change.object)
        with self.lock:
            if change.type == "DELETED":
                self.pods.pop(key, None)
                self._needs.pop(uid_of(change.object), None)
            else:
                self.pods[key] = change.object
            freed = self._place(key)
            for uid in tuple(self._requests_of_pod.get(key, ())):
                freed = self._hold(self.requests[uid]) or freed
        if change.type != "MODIFIED" or change.old is None or _matters(change.old, change.object):
            self._listener("pod", key)
        if freed:
            self._listener("room", key)

    def on_bind_request(self, change: Change) -> None:
        """Handle a change of a BindRequest."""
        request = change.object
        pod, uid = bind_requests.pod_key(request), uid_of(request)
        with self.lock:
            if change.type == "DELETED":
                self.requests.pop(uid, None)
                self._requests_of_pod.get(pod, set()).discard(uid)
                freed = self._release(uid, gone=True)
            else:
                self.requests[uid] = request
                self._requests_of_pod.setdefault(pod, set()).add(uid)
                freed = self._hold(request)
            freed = self._place(pod) or freed
        self._listener("bind-request", pod)
        if freed:
            self._listener("room", pod)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _place(self, pod: PodKey) -> bool:
        """Count a pod on the node where it is bound, promised or assumed to be. Return True if it left a node."""
        seen = self.pods.get(pod)
        now = None
        if seen is not None and (where := self._node_of(pod, seen)):
            needs, uses = self.pod_needs(seen), self._uses_of(pod, seen)
            now = (where, added(needs, uses) if uses else needs, self._groups_of(pod, seen))
        before = self._placed.pop(pod, None)
        if now is not None:
            self._placed[pod] = now
        if now == before:
            return False
        if before is not None:
            self.loads[before[0]].add(before[1], -1)
        if now is not None:
            self.loads.setdefault(now[0], Load()).add(now[1], 1)
        if self.shares is not None:
            self._share(pod, seen, now)
        return before is not None

    def _share(self, pod: PodKey, seen: Obj | None, now: tuple[str, dict[str, int], tuple[str, ...]] | None) -> None:
        """Count the share of a pod on the node where it is placed now."""
        assert self.shares is not None  # noqa: S101 - for the type checker; the caller has looked
        if seen is None or now is None or not now[2]:
            self.shares.drop(pod)
            return
        state = self.nodes.get(now[0])
        requested = gpu_shares.requested_share(seen)
        portion = requested.amount(gpu_shares.memory_of(state.node) if state else 0) if requested else None
        # A reservation pod holds the GPU of its group and takes no portion of it; a pod whose portion
        # is unknown counts as a whole GPU.
        portion = Fraction(0) if gpu_groups.is_reservation(seen) else portion or Fraction(1)
        self.shares.put(pod, now[0], now[2], portion)

    def _share_again(self, node: str) -> None:
        """Count the shares on a node again: the memory of its GPUs may be another, or has not been known before."""
        for pod, placed in self._placed.items():
            if placed[0] == node and placed[2]:
                self._share(pod, self.pods.get(pod), placed)

    def _groups_of(self, pod: PodKey, seen: Obj) -> tuple[str, ...]:
        """Return the GPU groups of a placed pod: from its labels if it is bound, its BindRequest, or our own decision.

        An attempt that failed may leave its labels on an unbound pod.
        """
        if self.shares is None:
            return ()
        if (seen.get("spec") or {}).get("nodeName") and (labelled := gpu_groups.groups_of_pod(seen)):
            return tuple(sorted(labelled))
        for request in self.bind_requests_of(pod):
            if bind_requests.alive(request):
                return gpu_groups.groups_of(request)
        assumed = self._assumed.get(pod)
        return assumed.groups if assumed else ()

    def _uses_of(self, pod: PodKey, seen: Obj) -> Mapping[str, int]:
        """Return what the devices of a placed pod use of its node: from its status if it is bound, or our own decision.

        An attempt that failed may leave its entries in the status of an unbound pod.
        """
        if not self._charges_devices:
            return {}
        if (seen.get("spec") or {}).get("nodeName"):
            return node_allocatable.charged_for(seen, (seen.get("status") or {}).get(node_allocatable.FIELD) or ())
        assumed = self._assumed.get(pod)
        return assumed.uses if assumed else {}

    def _node_of(self, pod: PodKey, seen: Obj) -> str:
        if is_terminal(seen):
            return ""
        if bound := (seen.get("spec") or {}).get("nodeName"):
            return str(bound)
        # State in the API server wins over our own assumption.
        for request in self.bind_requests_of(pod):
            if bind_requests.alive(request):
                return bind_requests.selected_node(request)
        assumed = self._assumed.get(pod)
        return assumed.node if assumed else ""

    def _hold(self, request: Obj) -> bool:
        """Count what a BindRequest promises; True when it holds less than before."""
        uid, pod = uid_of(request), bind_requests.pod_key(request)
        seen = self.pods.get(pod)
        if not bind_requests.alive(request) or (seen is not None and is_terminal(seen)):
            return self._release(uid, gone=False)
        promised = dict(self._promised(request, seen)) if seen is not None else {}
        before = self._promises.get(uid)
        freed = False
        if before is not None and (lost := before.claims - promised.keys()) and seen is not None:
            freed = self.ledger.withdraw(uid, set(lost), gone=False)
        # A pod that is not known resolves to no claims; an earlier promise then stays as it is.
        if seen is not None or before is None:
            self._promises[uid] = Promise(uid, pod, bind_requests.selected_node(request), frozenset(promised))
        for key, allocation in promised.items():
            self.ledger.promise(uid, key, allocation)
        return freed

    def _release(self, uid: str, *, gone: bool) -> bool:
        promise = self._promises.pop(uid, None)
        return promise is not None and self.ledger.withdraw(uid, set(promise.claims), gone=gone)

    @staticmethod
    def _promised(request: Obj, pod: Obj) -> Iterable[tuple[ClaimKey, Obj]]:
        """Return the claims, by key, that a BindRequest's entries (by pod-local name) stand for."""
        namespace = str(meta(pod).get("namespace") or "")
        names = {str(entry["name"]): entry.get("resourceClaimName") for entry in references(pod)}
        extended = (request.get("spec") or {}).get("extendedResourceClaimAllocation") or {}
        recorded_claim = ((pod.get("status") or {}).get("extendedResourceClaimStatus") or {}).get("resourceClaimName")
        if extended.get("allocation") is not None:
            # Once the claim is made and recorded, the promise is about it.
            key = (namespace, str(recorded_claim)) if recorded_claim else extended_resources.key_for(pod)
            yield key, extended["allocation"]
        for entry in (request.get("spec") or {}).get("resourceClaimAllocations") or ():
            allocation = entry.get("allocation")
            reference = str(entry.get("name") or "")
            if allocation is None or reference not in names:
                continue
            name = names[reference] or (recorded(pod, reference) or {}).get("resourceClaimName")
            if name:
                yield (namespace, str(name)), allocation


def _matters(before: Obj, after: Obj) -> bool:
    """Return whether a pod's change can matter to its scheduling (our own condition on it does not)."""
    status_before, status_after = before.get("status") or {}, after.get("status") or {}
    return (
        before.get("spec") != after.get("spec")
        or meta(before).get("deletionTimestamp") != meta(after).get("deletionTimestamp")
        or status_before.get("resourceClaimStatuses") != status_after.get("resourceClaimStatuses")
        or status_before.get("extendedResourceClaimStatus") != status_after.get("extendedResourceClaimStatus")
        or status_before.get("phase") != status_after.get("phase")
    )


def _same_for_pods(before: Obj, after: Obj) -> bool:
    """Return whether a node's change cannot matter to a waiting pod (heartbeats, images)."""
    return (
        (before.get("status") or {}).get("declaredFeatures") == (after.get("status") or {}).get("declaredFeatures")
        and before.get("spec") == after.get("spec")
        and meta(before).get("labels") == meta(after).get("labels")
        and (before.get("status") or {}).get("allocatable") == (after.get("status") or {}).get("allocatable")
        and node_filter.unhealthy(before) == node_filter.unhealthy(after)
    )
