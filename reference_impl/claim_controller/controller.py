"""The claim controller: the tasks of kube-controller-manager for ResourceClaims.

Data comes from the API server (pods, claims, templates, PodGroups). Three kinds of keys are reconciled: a pod (make and
record its claims; reserve them if another component bound it to a node), a PodGroup (make and record its claims) and a
claim (drop consumers that are gone; deallocate; end generated claims). Nothing is kept in memory that a restart would
miss; a claim made just before a crash is found again by its owner and annotation (DRA-105).

Differences from kube-controller-manager v1.36, which has a known defect there (observed on 1.36.2):

- DRA-104: a generated claim that was deleted by mistake is made anew at once. (1.36 "adopts" the deleted one from its
  mutation cache for an hour.)
- DRA-108, DRA-110: a finished pod is never added to `reservedFor` again. (1.36 adds and removes it in a loop if a
  live pod shares the claim.)
- A pod entry whose uid differs from the pod in the informer is checked with a live read, as an unknown pod is: the
  informer may be stale.
- A creation without a response may have succeeded: the pod's claims are listed from the API server before the next one.
  (1.36 reads its cache, which may not have the claim yet, and creates a second one.)
- A missing template is looked for again as soon as a template of that name appears, not only after a back-off.

Source: kube-controller-manager v1.36 pkg/controller/resourceclaim/controller.go; rules DRA-100 to DRA-121.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from dra_api.client import ApiError, KubeClient
from dra_api.clock import Clock
from dra_api.informer import Change, Informer
from dra_api.objects import (
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    Obj,
    controller_of,
    meta,
    name_of,
    namespace_of,
    uid_of,
)
from dra_api.transport import TransportError
from reference_impl.claim_controller import generate, pod_state, recorded_claims
from reference_impl.claim_controller.group_claims import GroupClaims
from reference_impl.errors import require_served
from reference_impl.loop import Loop
from reference_impl.pod_groups import consumer_of, group_name
from reference_impl.recorder import EventRecorder

DELETE_PROTECTION = "resource.kubernetes.io/delete-protection"
FIELD_MANAGER = "ResourceClaimController"
FAILED_CREATION = "FailedResourceClaimCreation"
GATE = "DRAWorkloadResourceClaims"


class Key(NamedTuple):
    """A key of the work queue. A `consumer` is a pod that is gone or done, or a gone group: `name` is its uid."""

    kind: Literal["pod", "group", "claim", "consumer", "template"]
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class ClaimControllerOptions:
    """Settings of the claim controller.

    `workers`: keys reconciled at the same time. `group_claims`: the feature gate DRAWorkloadResourceClaims.
    `workloads`: the feature gate GenericWorkload; without it, pods of PodGroups get no claims (DRA-546).
    """

    workers: int = 4
    group_claims: bool = True
    workloads: bool = True


class ClaimCreationFailed(Exception):
    """A claim of a pod could not be created; the message becomes the pod's event."""


class ClaimController:
    """Makes, releases and ends ResourceClaims.

    `client` reaches the API server and stays the caller's. Threads run between `start` and `stop`.
    """

    name = "claim-controller"

    def __init__(self, client: KubeClient, *, clock: Clock, options: ClaimControllerOptions | None = None) -> None:
        self.options = options or ClaimControllerOptions()
        self._client = client
        require_served(client, RESOURCE_CLAIMS)
        self.pods = Informer(client, PODS, clock=clock)
        self.pods.add_index("claim", lambda pod: [f"{namespace_of(pod)}/{name}" for name in pod_state.claim_names(pod)])
        self.pods.add_index(
            "template", lambda pod: [f"{namespace_of(pod)}/{name}" for name in pod_state.template_names(pod)]
        )
        self.claims = Informer(client, RESOURCE_CLAIMS, clock=clock)
        self.claims.add_index("owner", _owner_uids)
        self.claims.add_index("consumer", _consumer_uids)
        self.templates = Informer(client, RESOURCE_CLAIM_TEMPLATES, clock=clock)
        self.groups = GroupClaims(client, clock=clock, field_manager=FIELD_MANAGER, find_owned=self.find_owned)
        self.pods.add_index("group", lambda pod: [f"{namespace_of(pod)}/{name}"] if (name := group_name(pod)) else [])
        self.recorder = EventRecorder(client, component="resource_claim", clock=clock)
        self.loop: Loop[Key] = Loop(
            self.name,
            self.reconcile,
            informers=[
                self.pods,
                self.claims,
                self.templates,
                *([self.groups.informer] if self.groups.informer else []),
            ],
            clock=clock,
            recorder=self.recorder,
            workers=self.options.workers,
        )
        self._unanswered: set[tuple[str, str]] = set()
        """Creations without a response, which may have succeeded: uid of the pod and name of its entry."""
        self.pods.on_change(self._on_pod)
        self.claims.on_change(self._on_claim)
        self.templates.on_change(self._on_template)
        if self.groups.informer is not None:
            self.groups.informer.on_change(self._on_group)

    def start(self) -> None:
        """Begin to work; returns when the informers are filled. Raises TimeoutError when they cannot be."""
        self.loop.start()

    def stop(self) -> None:
        """End all work. Idempotent."""
        self.loop.stop()

    # -- keys --------------------------------------------------------------------------------

    # Handlers run under their informer's lock: they only name keys and never read another informer.

    def _on_pod(self, change: Change) -> None:
        pod = change.object
        if change.type == "DELETED" or pod_state.is_done(pod):
            self.loop.queue.add(Key("consumer", namespace_of(pod), uid_of(pod)))
        elif pod_state.pod_claims(pod):
            self.loop.queue.add(Key("pod", *_key(pod)))

    def _on_claim(self, change: Change) -> None:
        claim = change.object
        if change.type != "DELETED":
            self.loop.queue.add(Key("claim", *_key(claim)))
        # A generated claim was deleted: its pod or its group may need a new one (DRA-104).
        elif (owner := controller_of(claim)) is not None:
            self.loop.queue.add(Key("pod", namespace_of(claim), str(owner.get("name"))))
            self.loop.queue.add(Key("group", namespace_of(claim), str(owner.get("name"))))

    def _on_group(self, change: Change) -> None:
        group = change.object
        if change.type == "DELETED":
            self.loop.queue.add(Key("consumer", namespace_of(group), uid_of(group)))
        else:
            self.loop.queue.add(Key("group", *_key(group)))

    def _on_template(self, change: Change) -> None:
        if change.type == "ADDED":
            self.loop.queue.add(Key("template", *_key(change.object)))

    def reconcile(self, key: Key) -> None:
        """Reconcile one pod or one claim, or queue the objects that a change concerns."""
        match key.kind:
            case "pod":
                if (pod := self.pods.get(key.name, key.namespace)) is not None:
                    self.sync_pod(pod)
            case "group":
                if (group := self.groups.get(key.name, key.namespace)) is not None:
                    # Its pods first: a claim that cannot be created does not hold back those that exist.
                    for pod in self.pods.by_index("group", f"{key.namespace}/{key.name}"):
                        self.loop.queue.add(Key("pod", *_key(pod)))
                    self.sync_group(group)
            case "claim":
                if (claim := self.claims.get(key.name, key.namespace)) is not None:
                    self.sync_claim(claim)
                    self.wake_waiting_pods(claim)
            case "consumer":
                for index in ("owner", "consumer"):
                    for claim in self.claims.by_index(index, key.name):
                        self.loop.queue.add(Key("claim", *_key(claim)))
            case "template":
                for pod in self.pods.by_index("template", f"{key.namespace}/{key.name}"):
                    self.loop.queue.add(Key("pod", *_key(pod)))
                for group in self.groups.by_template(f"{key.namespace}/{key.name}"):
                    self.loop.queue.add(Key("group", *_key(group)))

    def wake_waiting_pods(self, claim: Obj) -> None:
        """Queue the pods of a claim: another component may have bound them before it was allocated (DRA-118)."""
        for pod in self.pods.by_index("claim", f"{namespace_of(claim)}/{name_of(claim)}"):
            self.loop.queue.add(Key("pod", *_key(pod)))

    # -- a pod -------------------------------------------------------------------------------------------------------

    def sync_pod(self, pod: Obj) -> None:
        """Create and record the claims of a pod; reserve them if another component bound the pod."""
        # A change of its group reconciles the pod again.
        if not self.needs_claims(pod) or self.groups.is_awaited(pod):
            return
        if group_name(pod) and not self.options.workloads:
            return
        held = pod_state.recorded(pod)
        shared = self.groups.claims_of(pod)
        wanted = {**held, **{name: claim for name, claim in shared.items() if claim is not None}}
        problems: list[str] = []
        # One failed claim does not hold back the others: they are recorded before the failure is raised.
        for entry in pod_state.pod_claims(pod):
            if not entry.get("resourceClaimTemplateName") or entry["name"] in shared:
                continue
            try:
                wanted[entry["name"]] = self.ensure_claim(pod, entry, held)
            except ClaimCreationFailed as failure:
                problems.append(str(failure))
        if wanted != held:
            self.record_claims(pod, wanted)
        if not self.options.group_claims:
            for name in shared:
                self.report_failure(pod, f"PodResourceClaim {name}: claim {name} is a PodGroup claim but {GATE} is off")
        if problems:
            for problem in problems:
                self.report_failure(pod, problem)
            raise TransientFailure("; ".join(problems))
        if pod_state.is_scheduled(pod):
            self.reserve_for_scheduled(pod)

    def sync_group(self, group: Obj) -> None:
        """Create and record one claim for each template entry of a PodGroup, whether it has pods or not (DRA-548)."""
        if meta(group).get("deletionTimestamp") or not self.options.group_claims:
            return
        held = pod_state.recorded(group)
        made: dict[str, str | None] = {}
        failures: list[ClaimCreationFailed] = []
        for entry in pod_state.pod_claims(group):
            if entry.get("resourceClaimTemplateName"):
                try:
                    made[str(entry["name"])] = self.ensure_claim(group, entry, held)
                except ClaimCreationFailed as failed:
                    failures.append(failed)
        if {**held, **made} != held:
            self.groups.record(group, {**held, **made})
        for failure in failures:
            self.report_failure(group, str(failure))
        if failures:
            raise TransientFailure(f"PodGroup {name_of(group)} has no claims for {len(failures)} of its entries")

    def needs_claims(self, pod: Obj) -> bool:
        """Return whether to create claims for the pod: it is neither finished nor being deleted."""
        return not meta(pod).get("deletionTimestamp") and not pod_state.is_finished(pod)

    def ensure_claim(self, pod: Obj, entry: Obj, held: dict[str, str | None]) -> str | None:
        """Return the name of the claim for one template reference; create the claim if it does not exist.

        The owner is a pod, or a PodGroup with apiVersion and kind.
        Return None if the pod's status says that no claim is needed. Raises ClaimCreationFailed with the event's text.
        """
        claim_name = str(entry["name"])
        if claim_name in held:
            recorded = held[claim_name]
            if recorded is None or self.is_still_there(pod, recorded):
                return recorded
        claim = self.find_owned(pod, claim_name)
        if claim is None and (uid_of(pod), claim_name) in self._unanswered:
            claim = self.find_stored(pod, claim_name)
            if claim is not None:
                # As for a claim that was just made: if another one of this pod fails, the next try must find it.
                self.claims.assume(claim)
        claim = claim or self.create_claim(pod, entry)
        self._unanswered.discard((uid_of(pod), claim_name))
        return name_of(claim)

    def is_still_there(self, pod: Obj, claim_name: str) -> bool:
        """Return whether a recorded claim exists and is this pod's (DRA-104)."""
        namespace = namespace_of(pod)
        # Read live before a second claim is made: the watch may not have delivered the recorded one yet.
        claim = self.claims.get(claim_name, namespace) or self._client.find(RESOURCE_CLAIMS, claim_name, namespace)
        return claim is not None and pod_state.is_owned_by(claim, pod)

    def find_owned(self, pod: Obj, claim_name: str) -> Obj | None:
        """Return the claim that an earlier run made for this reference, if there is one (DRA-105)."""
        return _oldest(
            claim for claim in self.claims.by_index("owner", uid_of(pod)) if generate.is_claim_for(claim, claim_name)
        )

    def find_stored(self, pod: Obj, claim_name: str) -> Obj | None:
        """Return the same from the API server, which may have claims that the watch has not delivered yet."""
        stored = self._client.list(RESOURCE_CLAIMS, namespace_of(pod)).items
        return _oldest(
            claim for claim in stored if pod_state.is_owned_by(claim, pod) and generate.is_claim_for(claim, claim_name)
        )

    def create_claim(self, pod: Obj, entry: Obj) -> Obj:
        """Make a claim from its template (DRA-100). Raises ClaimCreationFailed."""
        claim_name, template_name = str(entry["name"]), str(entry["resourceClaimTemplateName"])
        template = self.templates.get(template_name, namespace_of(pod))
        if template is None:
            problem = f'resource claim template "{template_name}" not found'
            raise ClaimCreationFailed(f"{_owner_kind(pod)}ResourceClaim {claim_name}: {problem}")
        try:
            claim = self._client.create(RESOURCE_CLAIMS, generate.claim_from(template, pod, claim_name))
        except TransportError:
            # The server may have created the claim; without this record the retry would create a second one.
            self._unanswered.add((uid_of(pod), claim_name))
            raise
        except ApiError as error:
            raise ClaimCreationFailed(
                f"{_owner_kind(pod)}ResourceClaim {claim_name}: create ResourceClaim : {error.message}"
            ) from error
        # The next reconciliation must find the claim even if the watch is late.
        self.claims.assume(claim)
        return claim

    def record_claims(self, pod: Obj, wanted: dict[str, str | None]) -> None:
        """Write `pod.status.resourceClaimStatuses` by server-side apply (DRA-101)."""
        recorded_claims.record(self._client, PODS, pod, wanted, field_manager=FIELD_MANAGER)

    def should_reserve(self, pod: Obj, claim: Obj, *, generated: bool) -> bool:
        """Return whether to reserve an allocated claim for a pod that another component bound (DRA-118).

        A claim of a template (`generated`) has to belong to the pod, whatever the pod's status says.
        """
        if generated and not pod_state.is_owned_by(claim, pod):
            return False
        return (
            bool((claim.get("status") or {}).get("allocation"))
            and not meta(claim).get("deletionTimestamp")
            and not pod_state.is_reserved_for(claim, pod)
        )

    def reserve_for_scheduled(self, pod: Obj) -> None:
        """Add the pod to `reservedFor` of its allocated claims. Nothing is ever allocated here (DRA-119)."""
        held = pod_state.recorded(pod)
        for entry in pod_state.pod_claims(pod):
            generated = not entry.get("resourceClaimName")
            name = entry.get("resourceClaimName") or held.get(str(entry["name"]))
            claim = self.claims.get(str(name), namespace_of(pod)) if name else None
            user = self.groups.group_with(pod, entry) or pod
            if user is not pod and not self.options.group_claims:
                continue  # not reserved while the gate is off (controller.go, reserveForPod)
            if claim is not None and self.should_reserve(user, claim, generated=generated):
                status = dict(claim["status"])
                consumer = consumer_of(user)
                status["reservedFor"] = [*(status.get("reservedFor") or ()), consumer]
                self._write_status(claim, status)

    def report_failure(self, pod: Obj, message: str) -> None:
        """Record why a claim was not created (DRA-103, DRA-120, DRA-121)."""
        self.recorder.event(pod, "Warning", FAILED_CREATION, message)

    # -- a claim -----------------------------------------------------------------------------------------------------

    def sync_claim(self, claim: Obj) -> None:
        """Drop consumers that are gone, deallocate when the last one went, end a generated claim with its pod."""
        status = claim.get("status") or {}
        reserved = list(status.get("reservedFor") or ())
        kept = [entry for entry in reserved if self.is_valid_consumer(claim, entry)]
        if len(kept) < len(reserved):
            claim = self.release(claim, kept)
        elif not kept and self.is_ending(claim):
            claim = self.end(claim)
        if not kept and self.should_delete(claim):
            self._client.delete(RESOURCE_CLAIMS, name_of(claim), namespace_of(claim), uid=uid_of(claim))

    def is_valid_consumer(self, claim: Obj, entry: Obj) -> bool:
        """Return whether a `reservedFor` entry is still valid; entries of unknown kinds always are (DRA-111)."""
        if self.groups.is_group(entry):
            return self.groups.is_valid_consumer(entry, namespace_of(claim))
        if entry.get("apiGroup") or entry.get("resource") != "pods":
            return True
        name, namespace, uid = str(entry.get("name")), namespace_of(claim), entry.get("uid")
        pod = self.pods.get(name, namespace)
        # The informer may be stale; a live consumer must not lose its reservation.
        if pod is None or not self.is_same_pod(pod, uid):
            pod = self._client.find(PODS, name, namespace)
        return pod is not None and self.is_same_pod(pod, uid) and not pod_state.is_done(pod)

    def is_same_pod(self, pod: Obj, uid: object) -> bool:
        """Return whether the entry and the pod have the same uid; the name is not enough (DRA-112)."""
        return uid_of(pod) == uid

    def release(self, claim: Obj, kept: list[Obj]) -> Obj:
        """Write the remaining consumers; with none left, deallocate and unprotect the claim (DRA-109, DRA-110)."""
        status = dict(claim["status"])
        if kept:
            status["reservedFor"] = kept
            return self._write_status(claim, status)
        status.pop("reservedFor", None)
        if not self.is_protected(claim):
            return self._write_status(claim, status)
        # The API server removes the device statuses with the allocation.
        status.pop("allocation", None)
        return self._unprotect(self._write_status(claim, status))

    def is_protected(self, claim: Obj) -> bool:
        """Return whether the claim was allocated under delete protection; only such a claim is deallocated."""
        return DELETE_PROTECTION in (meta(claim).get("finalizers") or ())

    def is_ending(self, claim: Obj) -> bool:
        """Return whether an unused claim is being deleted and waits for this controller (DRA-114, DRA-115).

        An allocated claim that was never reserved is left alone until then (DRA-113).
        """
        return bool(meta(claim).get("deletionTimestamp")) and self.is_protected(claim)

    def end(self, claim: Obj) -> Obj:
        """Deallocate and unprotect a claim that is being deleted."""
        status = dict(claim.get("status") or {})
        if status.pop("allocation", None) is not None:
            claim = self._write_status(claim, status)
        return self._unprotect(claim)

    def should_delete(self, claim: Obj) -> bool:
        """Return whether the claim was made for a pod that still exists and is done (DRA-116, DRA-246).

        A claim without such an owner is the user's (DRA-117); when the owner is gone, the garbage collector acts.
        """
        owner = controller_of(claim)
        if owner is None:
            return False
        pod = self.pods.get(str(owner.get("name")), namespace_of(claim))
        return pod is not None and uid_of(pod) == owner.get("uid") and pod_state.is_done(pod)

    def _write_status(self, claim: Obj, status: Obj) -> Obj:
        return self._client.update_status(RESOURCE_CLAIMS, {**claim, "status": status})

    def _unprotect(self, claim: Obj) -> Obj:
        finalizers = [item for item in meta(claim).get("finalizers") or () if item != DELETE_PROTECTION]
        return self._client.update(RESOURCE_CLAIMS, {**claim, "metadata": {**meta(claim), "finalizers": finalizers}})


class TransientFailure(OSError):
    """Reconciling did not reach its end; try again with back-off."""


def _oldest(claims: Iterable[Obj]) -> Obj | None:
    return min(claims, key=lambda claim: (meta(claim).get("creationTimestamp", ""), name_of(claim)), default=None)


def _owner_kind(owner: Obj) -> str:
    return str(owner.get("kind") or "Pod")


def _key(obj: Obj) -> tuple[str, str]:
    return namespace_of(obj), name_of(obj)


def _owner_uids(claim: Obj) -> list[str]:
    owner = controller_of(claim)
    return [str(owner.get("uid"))] if owner else []


def _consumer_uids(claim: Obj) -> list[str]:
    return [str(entry.get("uid")) for entry in (claim.get("status") or {}).get("reservedFor") or ()]
