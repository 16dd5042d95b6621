"""The scheduler: informers update the view and a queue, one thread decides, `binding_queue` writes.

Pods come from the API server; a pod that did not fit waits, without polling, until something happens that may help it.
The scheduler owns its informers, queues, recorder and threads between `start` and `stop`.

Source: kube-scheduler scheduling queue (v1.36) for what wakes a waiting pod; KAI-Scheduler 0.17 for the BindRequest
side; rules DRA-122 to DRA-131, KAI-026, KAI-027, KAI-034, KAI-040, KAI-041, KAI-070 to KAI-077.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from dra_api.client import ApiError, KubeClient
from dra_api.clock import Clock
from dra_api.informer import Change, Informer
from dra_api.objects import (
    BIND_REQUESTS,
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    NODES,
    POD_GROUPS,
    PODS,
    QUEUES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    SCHEDULING_POD_GROUPS,
    TAINT_RULE_VERSIONS,
    Obj,
    Resource,
    key_of,
    meta,
    name_of,
    namespace_of,
    uid_of,
)
from reference_impl.bind_request_crd import require_bind_requests
from reference_impl.loop import Loop
from reference_impl.recorder import EventRecorder
from reference_impl.scheduler import bind_requests, pod_claims
from reference_impl.scheduler.binding_queue import BindingQueue
from reference_impl.scheduler.cluster_view import ChangeKind, ClusterView, PodKey, is_terminal
from reference_impl.scheduler.cycle import Cycle, Decision, Refusal
from reference_impl.scheduler.engines import engine_for
from reference_impl.scheduler.gangs import KAI, WORKLOAD, Gangs, Kind, Plan
from reference_impl.scheduler.gpu_shares import GpuShares
from reference_impl.scheduler.options import SchedulerOptions, dra_wanted
from reference_impl.scheduler.publish import BindRequestPublisher, DirectPublisher, Publisher
from reference_impl.scheduler.queues import Queues
from reference_impl.scheduler.waiting import Waiting
from reference_impl.scheduler.workload_groups import WorkloadGroups

log = logging.getLogger(__name__)


class Scheduler:
    """Schedules pods with ResourceClaims (and those without)."""

    name = "scheduler"

    def __init__(self, client: KubeClient, *, clock: Clock, options: SchedulerOptions | None = None) -> None:
        """Prepare; nothing is read before `start`. Raises ComponentError for invalid options."""
        self.options = options or SchedulerOptions()
        self.options.check()
        self.dra_enabled = False
        self._client = client
        self._clock = clock
        self._recorder = EventRecorder(client, component="scheduler", clock=clock)
        engine = engine_for(self.options.bug_compatible)
        self.view = ClusterView(
            features=self.options.allocator_features,
            seed=self.options.seed,
            listener=self._on_view_change,
            engine=engine,
            # kube-scheduler has no shares of GPUs: it handles reservation pods like any pod.
            shares=GpuShares() if self.options.publish == "bind-request" else None,
        )
        self.cycle = Cycle(
            self.view,
            features=self.options.allocator_features,
            max_steps=self.options.max_steps,
            now=clock.now if self.options.publish == "direct" else None,
            binding_timeout=self.options.ready_within,
            engine=engine,
        )
        self._informers: list[Informer] = []
        self._queue: Loop[PodKey] = Loop(
            "scheduler",
            self._schedule,
            informers=self._informers,
            clock=clock,
            workers=1,
            sync_timeout=self.options.sync_timeout,
        )
        self._binding_queue = BindingQueue(
            client, clock=clock, options=self.options, view=self.view, recorder=self._recorder, pods=self
        )
        self._lock = threading.Lock()
        self._waiting = Waiting()
        self._failures: dict[PodKey, int] = {}
        self._not_before: dict[PodKey, float] = {}
        self._started = False
        # If PodGroups are served: with BindRequests those of KAI-Scheduler, with direct binding of scheduling.k8s.io.
        self._gangs: Gangs | None = None
        # Only with direct binding, and if PodGroups of scheduling.k8s.io are served.
        self._groups: WorkloadGroups | None = None
        # Only with BindRequests, and if PodGroups and Queues are served.
        self._queues: Queues | None = None
        self._changes = 0
        # The fields that the CRD of BindRequests does not have.
        self._lacking: Sequence[str] = ()

    # -- start and stop --------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Find out what the server has, read the cluster, begin to schedule. Raises ComponentError."""
        if self._started:
            return
        self._started = True
        served = self.dra_is_served()
        self.dra_enabled = served and dra_wanted(self.options)
        self._follow(NODES, self.view.on_node)
        claims: Informer | None = None
        if served:
            self._follow(DEVICE_CLASSES, self.view.on_class)
            self._follow(RESOURCE_SLICES, self.view.on_slice)
            claims = self._follow(RESOURCE_CLAIMS, self.view.on_claim)
            self._follow_taint_rules()
        requests: Informer | None = None
        if self.options.publish == "bind-request":
            way_out = "install the BindRequest CRD, or let the scheduler bind pods itself (--publish=direct)"
            self._lacking = require_bind_requests(self._client, way_out, revision=self.options.revision)
            requests = self._follow(BIND_REQUESTS, self.view.on_bind_request)
            if self._client.serves(POD_GROUPS):
                self._gangs = self._make_gangs(KAI)
                # The second handler wakes pods, whose queue the first one has stored.
                self._follow(POD_GROUPS, self._follow_queues().on_group).on_change(self._gangs.on_group)
        elif self._client.serves(SCHEDULING_POD_GROUPS):
            self._groups = WorkloadGroups()
            self._gangs = self._make_gangs(WORKLOAD)
            # The second handler wakes pods, whose claims are then reserved for a group that the first one has stored.
            self._follow(SCHEDULING_POD_GROUPS, self._groups.on_group).on_change(self._gangs.on_group)
        # Pods come last: what they need to be judged by is then there.
        pods = Informer(self._client, PODS, clock=self._clock)
        if self._gangs is not None:
            pods.on_change(self._gangs.on_pod)
        pods.on_change(self.view.on_pod)
        self._informers.append(pods)
        self._recorder.start()
        self._binding_queue.start(self._make_publisher(requests, claims))
        self._queue.start()

    def stop(self) -> None:
        """End all threads; decisions that are being written are finished first. Idempotent."""
        # The deciding thread ends first, so that no decision arrives in a binding queue that has stopped.
        self._queue.stop()
        self._binding_queue.stop()
        self._recorder.stop()

    def dra_is_served(self) -> bool:
        """Return whether the API server has resource.k8s.io in a version that this scheduler speaks (KAI-040)."""
        return self._client.carries(RESOURCE_CLAIMS)

    def _follow(self, resource: Resource, handler: Callable[[Change], None]) -> Informer:
        informer = Informer(self._client, resource, clock=self._clock)
        informer.on_change(handler)
        self._informers.append(informer)
        return informer

    def _make_gangs(self, kind: Kind) -> Gangs:
        return Gangs(self.view, decide=self._decide, may_place=self._may_place, wake=self._queue.queue.add, kind=kind)

    def _follow_queues(self) -> Queues:
        counts_claims = self.dra_enabled and self.options.revision == "kai-0.17"
        queues = Queues(self.view, group_of=KAI.group_of, counts_claims=counts_claims)
        if self._client.serves(QUEUES):
            self._queues = queues
            self._follow(QUEUES, queues.on_queue).on_change(self._queue_changed)
        return queues

    def _queue_changed(self, change: Change) -> None:
        self._on_view_change("room", key_of(change.object))

    def _follow_taint_rules(self) -> None:
        rules = self._client.first_served(DEVICE_TAINT_RULES, TAINT_RULE_VERSIONS)
        if rules is not None:
            self._follow(rules, self.view.on_taint_rule)

    def _make_publisher(self, requests: Informer | None, claims: Informer | None) -> Publisher:
        if requests is not None:
            return BindRequestPublisher(
                self._client,
                revision=self.options.revision,
                created=requests.assume,
                seed=self.options.seed,
                lacking=self._lacking,
            )
        if claims is None:
            return DirectPublisher(self._client, claims=RESOURCE_CLAIMS, updated=lambda _: None, clock=self._clock)
        return DirectPublisher(
            self._client,
            claims=claims.resource,
            updated=claims.assume,
            newest=claims.get,
            clock=self._clock,
            user_of=self._groups.user_of if self._groups is not None else None,
        )

    # -- what happens ------------------------------------------------------------------------------------------------

    def _on_view_change(self, what: ChangeKind, key: tuple[str, str]) -> None:
        """Queue the pods that a change of the view may concern."""
        if self._gangs is not None:
            with self._lock:
                self._changes += 1
        if what in ("pod", "bind-request"):
            # Without back-off: the change concerns this pod, so the reason of its last refusal may be gone.
            self._queue.queue.add(key)
            return
        with self._lock:
            if what == "claim":
                wake = self._waiting.for_claim(key)
            else:
                wake = self._waiting.for_room()
        if what == "claim":
            self._binding_queue.claim_changed(key)
        for pod in wake:
            # Back-off, so that a pod that cannot be helped does not take its turn at every change.
            self._queue.queue.add_after(pod, self.backoff(pod))

    def backoff(self, pod: PodKey) -> float:
        """Return seconds until a pod that failed as often as this one is tried again."""
        failures = self._failures.get(pod, 0)
        if not failures:
            return 0.0
        # The exponent is capped because 2.0 ** 1024 overflows.
        return float(min(self.options.initial_backoff * 2.0 ** min(failures - 1, 20), self.options.max_backoff))

    def _wait(self, key: PodKey, pod: Obj, *, for_own_claims: bool) -> None:
        with self._lock:
            self._waiting.add(key, pod, for_own_claims=for_own_claims)

    # -- deciding --------------------------------------------------------------------------------------------------

    def is_ours(self, pod: Obj) -> bool:
        """Return whether a pod waits for this scheduler: unbound, alive, ungated, and naming us (KAI-034)."""
        spec = pod.get("spec") or {}
        return (
            not spec.get("nodeName")
            and not meta(pod).get("deletionTimestamp")
            and not is_terminal(pod)
            and not spec.get("schedulingGates")
            and (spec.get("schedulerName") or "default-scheduler") in self.options.scheduler_names
        )

    def _schedule(self, key: PodKey) -> None:
        """Take one pod from the queue and act on its state."""
        # Changes wake a pod early; the back-off after a failed decision must not become shorter by that.
        rest = self._not_before.get(key, 0.0) - self._clock.monotonic()
        if rest > 0:
            self._queue.queue.add_after(key, rest)
            return
        with self.view.lock:
            pod = self.view.pods.get(key)
            if pod is None or not self.is_ours(pod):
                self._forget(key, pod)
                return
            # The last decision is still being written; a second one would take devices twice.
            if self.view.is_assumed(key):
                return
            stale, live = [], False
            for request in self.view.bind_requests_of(key):
                if bind_requests.failed(request) or self._node_is_gone(request):
                    stale.append(request)
                else:
                    live = True
            if live and not stale:
                return
            # Not decided now: the stale request is deleted first, which must not happen under the view's lock.
            plan = Plan() if stale else self._plan(pod)
            for waiting, refusal in plan.refusals:
                # Under the same lock as the decision, so that the pod is woken by every change after it.
                self._wait(key_of(waiting), waiting, for_own_claims=refusal.for_own_claims)
        if stale:
            self._clean_up(key, pod, stale)
        for decision in plan.decisions:
            decided = key_of(decision.pod)
            with self._lock:
                self._waiting.remove(decided)
            self._binding_queue.enqueue(decided, decision)
        for later in plan.next:
            self._queue.queue.add(later)
        for waiting, refusal in plan.refusals:
            self._refused(key_of(waiting), waiting, refusal)

    def _plan(self, pod: Obj) -> Plan:
        """Decide about a pod, or about the gang that it belongs to. Needs the view's lock."""
        if self._gangs is not None and (plan := self._gangs.plan(pod, self._changes)) is not None:
            return plan
        outcome = self._decide(pod)
        if isinstance(outcome, Refusal):
            return Plan(refusals=((pod, outcome),))
        # Under the same lock as the decision, so that the next decision finds these devices in use.
        self.view.assume(pod, outcome.node, outcome.allocations, share=outcome.share, uses=outcome.uses)
        return Plan(decisions=(outcome,))

    def _decide(self, pod: Obj) -> Decision | Refusal:
        if pod_claims.references(pod) and not self.dra_enabled:
            return self.refusal_without_dra(pod)
        if self._queues is not None and (reason := self._queues.refusal(pod)):
            return Refusal(reason)
        return self.cycle.decide(pod)

    def _may_place(self, pod: Obj) -> bool:
        """Return whether a pod waits for this scheduler, and not for its back-off after a failed decision."""
        return self.is_ours(pod) and self._not_before.get(key_of(pod), 0.0) <= self._clock.monotonic()

    def _node_is_gone(self, request: Obj) -> bool:
        """Return whether the node of a BindRequest is gone: the request then is stale in any phase (KAI-073)."""
        return bind_requests.selected_node(request) not in self.view.nodes

    def _clean_up(self, key: PodKey, pod: Obj, stale: list[Obj]) -> None:
        """Delete BindRequests that failed; the pod is scheduled anew after a back-off (KAI-070, KAI-232)."""
        for request in stale:
            try:
                self._client.delete(BIND_REQUESTS, name_of(request), namespace_of(request), uid=uid_of(request))
            # Gone or replaced meanwhile, or to be deleted in the next attempt; the others are deleted all the same.
            except ApiError as error:
                log.info("BindRequest %s/%s is not deleted: %s", namespace_of(request), name_of(request), error)
        self.retry_later(key, pod)

    def look_again(self, key: PodKey) -> None:
        """Queue a pod at once."""
        self._queue.queue.add(key)

    def count_failure(self, key: PodKey) -> None:
        """Count one more failure: the pod's back-off grows."""
        self._failures[key] = self._failures.get(key, 0) + 1

    def retry_later(self, key: PodKey, pod: Obj) -> None:
        """Retry a pod after its back-off, whatever changes meanwhile."""
        self.count_failure(key)
        self._not_before[key] = self._clock.monotonic() + self.backoff(key)
        self._wait(key, pod, for_own_claims=False)
        self._queue.queue.add_after(key, self.backoff(key))

    def refusal_without_dra(self, pod: Obj) -> Refusal:
        """Return the refusal of a pod with claims while DRA is off: it is not scheduled (KAI-040)."""
        names = ", ".join(str(entry["name"]) for entry in pod_claims.references(pod))
        cause = (
            "the DynamicResourceAllocation feature gate is off"
            if not dra_wanted(self.options)
            else "the API server does not serve resource.k8s.io"
        )
        return Refusal(f"pod has resource claims ({names}), but dynamic resource allocation is not available: {cause}")

    def _refused(self, key: PodKey, pod: Obj, refusal: Refusal) -> None:
        """Report why a pod waits, and delete what is in its way."""
        if refusal.silent:
            return
        self.count_failure(key)
        publisher = self._binding_queue.publisher
        if refusal.stranded and isinstance(publisher, DirectPublisher):
            self._free_stranded(publisher, pod, refusal)
        if refusal.leftover is not None and isinstance(publisher, DirectPublisher):
            publisher.remove(refusal.leftover)
            # Its end concerns no claim that the pod names, so nothing else would wake the pod.
            self._queue.queue.add_after(key, self.backoff(key))
        self._binding_queue.report(pod, refusal.reason, refusal.message)

    def _free_stranded(self, publisher: DirectPublisher, pod: Obj, refusal: Refusal) -> None:
        """Deallocate one claim that no node can use; the freed claim wakes the pod (DRA-131, DRA-132)."""
        for key in refusal.stranded:
            with self.view.lock:
                claim = self.view.claims.get(key)
                user = publisher.user_of(pod, pod_claims.reference_to(pod, key[1]))
                used = user is not pod and self._gangs is not None and self._gangs.has_placed(key_of(user))
            # Pods of the group share the claim; those that have a place keep it (DRA-561b).
            if claim is not None and not used and publisher.deallocate(claim, user):
                return

    def _forget(self, key: PodKey, pod: Obj | None) -> None:
        """Forget a pod that is bound, finished, deleted, or of another scheduler."""
        with self._lock:
            self._waiting.remove(key)
        self._binding_queue.drop(key, pod)
        self._failures.pop(key, None)
        self._not_before.pop(key, None)
        self.view.settle(key)
