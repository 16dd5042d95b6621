"""The binder: watches BindRequests and carries out each of them, in an order that survives a crash at any point.

Watches only show which BindRequests and claims have changed: each decision is made on objects that are read from the
API server, so that no attempt fails or binds because a watch is late. Nothing is kept in memory that a restart would
miss. One worker at a time reconciles a pod, however many BindRequests name it. The steps of one attempt are: check
all, bind volumes and wait for them, write claims, wait for devices, annotate and bind, condition and event, phase. A
step that is done already is skipped and the phase comes last, so that reconciling again from any point completes the
request. Condition, event and phase of a bound pod are deferred while other pods wait for their binding, at most
`BinderOptions.event_delay`: the binding of a pod is more urgent than the report about another one.

Differences from KAI 0.17 (pkg/binder/controllers/bindrequest_controller.go), which has a defect or a hazard there:

- KAI-177: the event Bound and PodBound=True are written for a bound pod only; every failed attempt is a BindingError.
  (KAI reports Bound after the second failure; upstream #2155.)
- KAI-139: a pod that the BindRequest's owner references do not name by uid is another pod of the name.
- KAI-113: KAI keeps an allocation that differs from the requested one and still binds; it is a failure here.
- KAI-115: KAI binds a pod whose claim is neither in the BindRequest nor allocated; it is a failure here.
- KAI-137: a pod that is terminating or finished is refused before its claims are written, not after.
- KAI-159, KAI-160: after the last attempt, reservations of the failed request are released, unless the pod is bound
  after all (a response may have been lost). KAI leaves them until the pod is deleted.
- A status patch carries the resource version, so that it never lands on a new BindRequest of the same name.
- Attempts and retries: see `attempts`. Claims: see `claims`. Extended resources: see `extended`. Devices with
  binding conditions: see `devices`.

GPU sharing (`receivedResourceType: Fraction`) needs `BinderOptions.reservation_namespace`; without it such a request
fails, and the binder sends no request because of it. A request without groups is deleted as KAI does (KAI-202).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from dra_api.client import ApiError, KubeClient
from dra_api.clock import Clock
from dra_api.informer import Change, Informer
from dra_api.objects import (
    BIND_REQUESTS,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    RESOURCE_CLAIMS,
    Obj,
    meta,
    name_of,
    namespace_of,
    uid_of,
)
from dra_api.transport import TransportError
from reference_impl import gpu_groups
from reference_impl.bind_request_crd import require_bind_requests
from reference_impl.binder import attempts, checks, claims, fractions, pods
from reference_impl.binder.checks import spec_of
from reference_impl.binder.claim_time import ClaimTime
from reference_impl.binder.claims import ClaimWriter
from reference_impl.binder.devices import DeviceWaits
from reference_impl.binder.extended import ExtendedClaims
from reference_impl.binder.failure import (
    BindFailure,
    DevicesLost,
    InvalidBindRequest,
    Pending,
)
from reference_impl.binder.holders import DeviceHolders
from reference_impl.binder.options import BinderOptions
from reference_impl.binder.pods import PodWriter
from reference_impl.binder.report import Outcome, Reporter
from reference_impl.binder.reservations import Reservations
from reference_impl.binder.shared_gpus import SharedGpus
from reference_impl.binder.volumes import Volumes
from reference_impl.errors import require_served
from reference_impl.loop import Loop
from reference_impl.recorder import EventRecorder

log = logging.getLogger(__name__)

Key = tuple[str, str]
"""Namespace and name of a pod; without a namespace, the name of a GPU group whose reservation is looked at."""


@dataclass(frozen=True, slots=True)
class PlannedClaim:
    """One claim of the pod and what is to be written to it (`allocation` None: reserve only)."""

    claim: Obj
    allocation: Obj | None
    generated: bool


@dataclass(frozen=True, slots=True)
class _Memory:
    """State of a failed request in this process: its fingerprint, and when the next attempt is due."""

    fingerprint: bytes
    due: float | None


class Binder:
    """Carries out BindRequests.

    `client` reaches the API server and stays the caller's; `options` are described in BinderOptions. Threads run
    between `start` and `stop`.
    """

    name = "binder"

    def __init__(self, client: KubeClient, *, clock: Clock, options: BinderOptions | None = None) -> None:
        self.options = options or BinderOptions()
        self._client = client
        self._clock = clock
        self.bind_requests = Informer(client, BIND_REQUESTS, clock=clock)
        self.bind_requests.add_index("pod", lambda obj: [f"{namespace_of(obj)}/{spec_of(obj).get('podName') or ''}"])
        self.dra_enabled = self._dra_enabled()
        if self.dra_enabled:
            require_served(client, RESOURCE_CLAIMS)
        self.claims = Informer(client, RESOURCE_CLAIMS, clock=clock)
        self.volume_claims = Informer(client, PERSISTENT_VOLUME_CLAIMS, clock=clock)
        informers = [self.bind_requests, self.volume_claims]
        if self.dra_enabled:
            informers.append(self.claims)
        if self.options.reservation_namespace:
            self.pods = Informer(client, PODS, clock=clock)
            informers.append(self.pods)
        self.recorder = EventRecorder(client, component="binder", clock=clock)
        self.loop: Loop[Key] = Loop(
            self.name,
            self.reconcile,
            informers=informers,
            clock=clock,
            recorder=self.recorder,
            workers=self.options.workers,
        )
        self.claim_time = ClaimTime(client, clock=clock, seconds=self.options.claim_timeout)
        self.holders = DeviceHolders(self.claim_time.client, self.claims)
        self.claim_writer = ClaimWriter(self.claim_time.client, options=self.options, clock=clock)
        self.extended_claims = ExtendedClaims(self.claim_time.client, self.claim_writer)
        self.pod_writer = PodWriter(client, clock=clock)
        self.devices = DeviceWaits(
            self.claim_writer,
            clock=clock,
            timeout=self.options.binding_timeout,
            wake=self.loop.queue.add,
        )
        self.claims.on_change(self.devices.on_claim)
        self.volumes = Volumes(client, options=self.options, clock=clock, wake=self.loop.queue.add)
        self.volume_claims.on_change(self.volumes.on_claim)
        self.shares: SharedGpus | None = None
        if self.options.reservation_namespace:
            reservations = Reservations(
                client, options=self.options, clock=clock, wake=self.loop.queue.add, sync=self._sync_group
            )
            self.pods.on_change(reservations.on_pod)
            self.shares = SharedGpus(client, reservations, cdi_enabled=self.options.cdi_enabled)
        self.reporter = Reporter(client, pods=self.pod_writer, recorder=self.recorder)
        self._memory: dict[str, _Memory] = {}
        self._unwritten: dict[str, Outcome] = {}
        self.bind_requests.on_change(self._on_bind_request)

    def start(self) -> None:
        """Begin to bind; returns when the informers are filled.

        Raises ComponentError for a missing or too old BindRequest CRD, TimeoutError if an informer cannot be filled.
        """
        require_bind_requests(self._client, "install the BindRequest CRD of KAI-Scheduler, then start the binder again")
        self.loop.start()
        if self.shares is not None:  # consumers may have ended while no binder was running
            for pod in self.pods.list(self.options.reservation_namespace):
                for group in gpu_groups.groups_of_pod(pod):
                    self._sync_group(group)

    def stop(self) -> None:
        """End all work. Idempotent."""
        self.loop.stop()

    # -- which requests are reconciled, and when ----------------------------------------------------------------------

    def _on_bind_request(self, change: Change) -> None:
        if change.type == "DELETED":
            self._memory.pop(uid_of(change.object), None)
            self._unwritten.pop(uid_of(change.object), None)
            self.devices.forget(self._key(change.object))
            self.volumes.forget(self._key(change.object))
            if self.shares is not None:
                self.shares.reservations.forget(self._key(change.object))
                for group in gpu_groups.groups_of(change.object):
                    self._sync_group(group)
            return
        self.loop.queue.add(self._key(change.object))

    def _sync_group(self, group: str) -> None:
        self.loop.queue.add(("", group))

    @staticmethod
    def _key(request: Obj) -> Key:
        return namespace_of(request), str(spec_of(request).get("podName") or "")

    def reconcile(self, key: Key) -> None:
        """Carry out all BindRequests that name one pod, or look at the reservation of a GPU group."""
        if not key[0]:
            if self.shares is not None:
                self.shares.reservations.delete_unreserved(key[1])
                self.shares.reservations.release_unused(key[1])
            return
        for known in self.bind_requests.by_index("pod", "/".join(key)):
            request = self._client.find(BIND_REQUESTS, name_of(known), namespace_of(known))
            if request is not None and self.needs_attempt(request):
                self.reconcile_request(request)

    def needs_attempt(self, request: Obj) -> bool:
        """Return whether this BindRequest is to be tried now (KAI-117, KAI-135, KAI-179, KAI-185)."""
        if meta(request).get("deletionTimestamp"):
            return False
        phase = (request.get("status") or {}).get("phase")
        if phase == "Succeeded":
            return False
        memory = self._memory.get(uid_of(request))
        if memory is None or uid_of(request) in self._unwritten:
            return True
        if memory.fingerprint != attempts.fingerprint(request):
            return True
        return memory.due is not None and self._clock.monotonic() >= memory.due

    def reconcile_request(self, request: Obj) -> None:
        """Make one attempt and write its outcome."""
        uid = uid_of(request)
        outcome = self._unwritten.get(uid)
        if outcome is None:
            outcome = self.attempt(request)
            if outcome is None:
                return
            # Stored before it is written: if the write fails, the retry repeats the write and not the attempt.
            outcome = self._unwritten[uid] = replace(outcome, tried=attempts.fingerprint(request))
            if outcome.bound:  # reported when no other pod waits for its binding
                self.loop.queue.add_idle(self._key(request), within=self.options.event_delay)
                return
        if outcome.unreported is not None:
            self.reporter.report_success(outcome.unreported, outcome.node)
            # If `record` fails now, its retry must not report success a second time.
            outcome = self._unwritten[uid] = replace(outcome, unreported=None)
        self.reporter.record(request, outcome)
        self._unwritten.pop(uid, None)
        self.remember(request, outcome)

    def remember(self, request: Obj, outcome: Outcome) -> None:
        """Store the failed attempt and schedule the retry."""
        if outcome.bound:
            return  # the phase Succeeded ends all attempts
        due = None
        if not outcome.final:
            delay = attempts.retry_delay(request)
            due = self._clock.monotonic() + delay
            self.loop.queue.add_after(self._key(request), delay)
        self._memory[uid_of(request)] = _Memory(outcome.tried, due)
        if outcome.tried != attempts.fingerprint(request):
            # It changed after the attempt, so that the first write was a Conflict; the change was observed meanwhile.
            self.loop.queue.add(self._key(request))

    # -- one attempt -------------------------------------------------------------------------------------------------

    def attempt(self, request: Obj) -> Outcome | None:
        """Try to bind once. Return None if the request was deleted as invalid, or if a volume or device is not ready.

        Raises ApiError or TransportError only if the outcome is unknown.
        """
        pod: Obj | None = None
        try:
            pod = self.find_pod(request)
            if not (node := pods.node_of(pod)):
                node = self.bind(request, pod)
        except InvalidBindRequest as failure:
            self.discard(request, pod, str(failure))
            return None
        except Pending as pending:
            self.loop.queue.add_after(self._key(request), pending.seconds)
            return None
        except DevicesLost as failure:
            return self.fail(request, pod, str(failure), for_good=True)
        except BindFailure as failure:
            return self.fail(request, pod, str(failure))
        except (ApiError, TransportError, OSError) as failure:
            return self.fail(request, pod, f"{type(failure).__name__}: {failure}")
        except Exception as failure:  # KAI-181: a bug in one request must not stop the others
            log.exception("BindRequest %s/%s", namespace_of(request), name_of(request))
            return self.fail(request, pod, f"{type(failure).__name__}: {failure}")
        return Outcome(node=node, unreported=pod)

    def bind(self, request: Obj, pod: Obj) -> str:
        """Check, write claims, bind; returns the node. Raises BindFailure and API errors."""
        checks.check_pod(pod)
        checks.check_resource_type(request, shares=self.shares is not None)
        share = fractions.share_of(request, pod) if self.shares is not None else None
        node = self.find_node(request)
        with self.claim_time.limited(pod):
            planned = self.plan_claims(request, pod, node)
        entry = spec_of(request).get("extendedResourceClaimAllocation")
        if entry is not None:
            self.check_dra_enabled()
        taken = [(uid_of(item.claim), item.allocation) for item in planned if item.allocation is not None]
        if entry is not None and entry.get("allocation"):
            taken.append(("", entry["allocation"]))
        self.volumes.require_bound(pod, node)
        if share is not None and self.shares is not None:
            self.shares.commit(pod, name_of(node), share)
        with self.claim_time.limited(pod), self.holders.taking(pod, taken):
            used = [
                self.claim_writer.commit(item.claim, pod, node, item.allocation, generated=item.generated)
                for item in planned
            ]
            if entry is not None:
                used.append(self.extended_claims.commit(pod, node, entry))
            for claim in used:
                self.holders.wrote(claim)
        self.devices.require_ready(pod, used)
        self.pod_writer.bind(pod, name_of(node), pods.annotations_for(request))
        return name_of(node)

    def find_pod(self, request: Obj) -> Obj:
        """Return the pod that the request was made for. Raises BindFailure when there is none (KAI-132)."""
        name, namespace = str(spec_of(request).get("podName") or ""), namespace_of(request)
        if not name:
            raise BindFailure("spec.podName is empty")
        pod = self._client.find(PODS, name, namespace)
        if pod is None:
            raise BindFailure(f'Pod "{namespace}/{name}" not found')
        checks.check_identity(request, pod)
        return pod

    def find_node(self, request: Obj) -> Obj:
        """Return the selected node. Raises BindFailure when there is none (KAI-134)."""
        name = str(spec_of(request).get("selectedNode") or "")
        node = self._client.find(NODES, name) if name else None
        if node is None:
            raise BindFailure(f'Node "{name}" not found' if name else "spec.selectedNode is empty")
        return node

    def check_dra_enabled(self) -> None:
        """Require the feature gate DynamicResourceAllocation, because the pod uses claims."""
        if not self.dra_enabled:
            raise BindFailure(
                "DynamicResources: the pod uses resource claims and DynamicResourceAllocation is off in this binder"
            )

    def plan_claims(self, request: Obj, pod: Obj, node: Obj) -> list[PlannedClaim]:
        """Return the pod's claims and what to write to each, all checked. Raises BindFailure naming the claim."""
        wanted = pod.get("spec", {}).get("resourceClaims") or ()
        if not wanted:
            return []  # entries of a pod without claims are ignored (KAI-116)
        self.check_dra_enabled()
        entries: Mapping[str, Obj] = {
            str(item.get("name") or ""): item for item in spec_of(request).get("resourceClaimAllocations") or ()
        }
        try:
            checks.check_entries(pod, entries)
            planned = [
                item for entry in wanted if (item := self.plan_claim(pod, node, entry, entries.get(entry["name"])))
            ]
        except BindFailure as failure:
            raise BindFailure(
                f"DynamicResources: pod {namespace_of(pod)}/{name_of(pod)}, node {name_of(node)}: {failure}"
            ) from failure
        return planned

    def plan_claim(self, pod: Obj, node: Obj, wanted: Obj, entry: Obj | None) -> PlannedClaim | None:
        """Return one claim of the pod with its writes; None if there are none."""
        name = claims.claim_name(pod, wanted)
        if name is None:
            return None
        allocation = entry["allocation"] if entry else None
        generated = not wanted.get("resourceClaimName")
        claim = self.claim_writer.find(name, namespace_of(pod))
        self.claim_writer.check(claim, pod, node, allocation, generated=generated)
        return PlannedClaim(claim, allocation, generated)

    # -- outcomes ---------------------------------------------------------------------------------------------

    def fail(self, request: Obj, pod: Obj | None, reason: str, *, for_good: bool = False) -> Outcome:
        """Turn a failure into an outcome; release reservations if no retry follows, as for a failure `for_good`."""
        count = attempts.limit_of(request) if for_good else attempts.after_failure(request)
        final = attempts.is_final(request, count)
        if final and pod is not None and (node := self.roll_back(request, pod)):
            return Outcome(node=node, unreported=pod)
        if final and self.shares is not None and gpu_groups.groups_of(request):
            self.shares.roll_back(request, pod)
        self.reporter.report_failure(request, pod, reason)
        return Outcome(reason=reason, attempts=count, final=final)

    def roll_back(self, request: Obj, pod: Obj) -> str:
        """Release the reservations of the request for the pod. Return the node if the pod is bound after all.

        Raises ApiError or TransportError if it is unknown whether the pod is bound. Then neither Failed nor a
        deallocation may be written, and the request is reconciled again (KAI-260).
        """
        current = self._client.find(PODS, name_of(pod), namespace_of(pod))
        if current is not None and uid_of(current) == uid_of(pod) and pods.node_of(current):
            return pods.node_of(current)
        # Also of claims without an entry in the BindRequest: the attempt reserves those that were allocated before.
        with self.claim_time.limited(pod):
            for wanted in pod.get("spec", {}).get("resourceClaims") or ():
                with self._going_on(request):
                    self.release(pod, wanted)
            if spec_of(request).get("extendedResourceClaimAllocation"):
                with self._going_on(request):
                    self.extended_claims.roll_back(pod)
        return ""

    def release(self, pod: Obj, wanted: Obj) -> None:
        """Release one claim of the pod, as far as there is one. Raises BindFailure, ApiError or TransportError."""
        name = claims.claim_name(pod, wanted)
        claim = self.claim_time.client.find(RESOURCE_CLAIMS, name, namespace_of(pod)) if name else None
        if claim is not None:
            self.claim_writer.release(claim, pod)

    @contextmanager
    def _going_on(self, request: Obj) -> Iterator[None]:
        # A claim that cannot be released must not keep the others. The claim controller ends it with the pod.
        try:
            yield
        except (BindFailure, ApiError, TransportError, OSError) as error:
            log.warning("BindRequest %s/%s: roll-back: %s", namespace_of(request), name_of(request), error)

    def discard(self, request: Obj, pod: Obj | None, reason: str) -> None:
        """Delete a BindRequest that can never work (KAI-202), and report it on the pod."""
        self.reporter.report_failure(request, pod, reason)
        self._client.delete(BIND_REQUESTS, name_of(request), namespace_of(request), uid=uid_of(request))

    # -- set up ------------------------------------------------------------------------------------------------------

    def _dra_enabled(self) -> bool:
        if self.options.dynamic_resource_allocation is not None:
            return self.options.dynamic_resource_allocation
        return self._client.carries(RESOURCE_CLAIMS)
