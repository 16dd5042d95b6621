"""Faults of the binder with requests that it has to refuse, to give up, or to leave alone; for bind_requests."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

from dra_api.objects import BIND_REQUESTS, Obj
from dra_api.transport import TransportError
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.mutants.binder_patches import ignore_claim_errors, skip_attempts
from reference_impl.binder.failure import BindFailure

BINDER = "reference_impl.binder.reconcile:Binder"
WRITER = "reference_impl.binder.claims:ClaimWriter"
HOLDERS = "reference_impl.binder.holders:DeviceHolders"
CHECKS = "reference_impl.binder.checks"
EXTENDED = "reference_impl.binder.extended:ExtendedClaims"


@mutant("binder-needs-a-flag-for-claims", rule="KAI-041")
def _(patch: Patch) -> None:
    """Without the flag the binder does not process claims."""
    patch.replace(f"{BINDER}._dra_enabled", lambda self: bool(self.options.dynamic_resource_allocation))


@mutant("binder-uses-claims-of-other-owners", rule="KAI-108b")
def _(patch: Patch) -> None:
    """The owner of a claim from a template is not compared with the pod."""
    patch.replace(f"{WRITER}.check_owner", lambda self, claim, pod, *, generated: None)


@mutant("binder-waits-for-needless-claims", rule="KAI-108c")
def _(patch: Patch) -> None:
    """A template entry without a claim's name counts as one whose claim is not made yet."""

    def wrapped(original: Any) -> Any:
        def claim_name(pod: Obj, entry: Obj) -> Any:
            name = original(pod, entry)
            if name is None:
                raise BindFailure(f"claim {entry['name']} is not made yet")
            return name

        return claim_name

    patch.wrap("reference_impl.binder.claims:claim_name", wrapped)


@mutant("binder-keeps-other-allocations", rule="KAI-113b")
def _(patch: Patch) -> None:
    """A pod is bound with the allocation that its claim has, as KAI 0.17 does."""
    patch.replace(f"{WRITER}.check_same_allocation", lambda self, *args: None)


@mutant("binder-compares-device-names-only", rule="KAI-113b")
def _(patch: Patch) -> None:
    """Two allocations are the same if their devices have the same names."""

    def names(allocation: Obj) -> list[str]:
        return [result["device"] for result in allocation["devices"]["results"]]

    patch.replace("reference_impl.binder.claims:same_allocation", lambda one, other: names(one) == names(other))


@mutant("binder-ignores-the-node-selector", rule="KAI-113c")
def _(patch: Patch) -> None:
    """The node selector of an existing allocation is not compared with the node."""
    patch.replace(f"{WRITER}.check_node", lambda self, *args: None)


@mutant(
    "binder-trusts-the-node-selector-of-the-request",
    rule="KAI-113c",
    scenario="bind_requests/binder_claims#a-pod-is-not-bound-to-a-node-that-its-allocated-claim-is-not-for-whatever-the-bindrequest-says",
)
def _(patch: Patch) -> None:
    """The node selector of the BindRequest is compared with the node, not that of an existing allocation."""

    def wrapped(original: Any) -> Any:
        def check(self: Any, claim: Obj, pod: Obj, node: Obj, allocation: Obj | None, *, generated: bool) -> None:
            status = claim.get("status") or {}
            if allocation is not None and status.get("allocation"):
                held = {**status["allocation"], "nodeSelector": allocation.get("nodeSelector")}
                claim = {**claim, "status": {**status, "allocation": held}}
            original(self, claim, pod, node, allocation, generated=generated)

        return check

    patch.wrap(f"{WRITER}.check", wrapped)


@mutant("binder-passes-over-claims-without-entry", rule="KAI-115b")
def _(patch: Patch) -> None:
    """A pod is bound without those of its claims that the BindRequest does not name, as KAI 0.17 does."""

    def wrapped(original: Any) -> Any:
        def plan_claim(self: Any, pod: Obj, node: Obj, wanted: Obj, entry: Obj | None) -> Any:
            return original(self, pod, node, wanted, entry) if entry else None

        return plan_claim

    patch.wrap(f"{BINDER}.plan_claim", wrapped)


@mutant("binder-retries-deleted-requests", rule="KAI-136")
def _(patch: Patch) -> None:
    """A failed BindRequest is tried again every second from memory, also after its deletion."""
    failed: dict[str, Obj] = {}

    def remembering(original: Any) -> Any:
        def remember(self: Any, request: Obj, outcome: Any) -> None:
            original(self, request, outcome)
            failed[request["spec"].get("podName") or ""] = copy.deepcopy(request)

        return remember

    def repeating(original: Any) -> Any:
        def reconcile(self: Any, key: Any) -> None:
            original(self, key)
            if (request := failed.get(key[1])) is not None:
                self.attempt(request)
                self.loop.queue.add_after(key, 1.0)

        return reconcile

    patch.wrap(f"{BINDER}.remember", remembering)
    patch.wrap(f"{BINDER}.reconcile", repeating)


@mutant("binder-binds-finished-pods", rule="KAI-137b")
def _(patch: Patch) -> None:
    """The phase of the pod is not checked."""
    patch.replace("reference_impl.binder.pods:is_finished", lambda pod: False)


@mutant("binder-keeps-reservations", rule="KAI-160b")
def _(patch: Patch) -> None:
    """Claims stay allocated and reserved after the last attempt, as in KAI 0.17."""
    patch.replace(f"{WRITER}.release", lambda self, claim, pod: None)


@mutant("binder-releases-its-first-claim", rule="KAI-160b")
def _(patch: Patch) -> None:
    """Only the first claim of the BindRequest is released."""
    released: set[str] = set()

    def wrapped(original: Any) -> Any:
        def release(self: Any, claim: Obj, pod: Obj) -> None:
            if not released or claim["metadata"]["name"] in released:
                released.add(claim["metadata"]["name"])
                original(self, claim, pod)

        return release

    patch.wrap(f"{WRITER}.release", wrapped)


@mutant(
    "binder-ends-its-roll-back-at-an-error",
    rule="KAI-160b",
    scenario="bind_requests/binder_fails#a-reservation-that-cannot-be-released-does-not-keep-the-pod-s-others",
)
def _(patch: Patch) -> None:
    """After the first claim that cannot be released, no further one is tried."""
    failed: list[Exception] = []

    def wrapped(original: Any) -> Any:
        def release(self: Any, pod: Obj, wanted: Obj) -> None:
            if failed:
                return
            try:
                original(self, pod, wanted)
            except Exception as error:
                failed.append(error)
                raise

        return release

    patch.wrap(f"{BINDER}.release", wrapped)


@mutant(
    "binder-releases-what-the-request-lists",
    rule="KAI-160b",
    scenario="bind_requests/binder_fails#a-reservation-that-cannot-be-released-does-not-keep-the-pod-s-others",
)
def _(patch: Patch) -> None:
    """A claim that was allocated before, and has no entry in the BindRequest, stays reserved."""

    def wrapped(original: Any) -> Any:
        def roll_back(self: Any, request: Obj, pod: Obj) -> str:
            entries = {item["name"] for item in request["spec"].get("resourceClaimAllocations") or ()}
            listed = [item for item in pod["spec"].get("resourceClaims") or () if item["name"] in entries]
            return str(original(self, request, {**pod, "spec": {**pod["spec"], "resourceClaims": listed}}))

        return roll_back

    patch.wrap(f"{BINDER}.roll_back", wrapped)


@mutant("binder-keeps-delete-protection", rule="KAI-160b")
def _(patch: Patch) -> None:
    """A claim that is released keeps the finalizer."""
    patch.replace("reference_impl.binder.claims:without_finalizer", lambda claim: claim)


@mutant("binder-removes-all-finalizers", rule="KAI-160b")
def _(patch: Patch) -> None:
    """A claim that is released loses the finalizers of other components too."""

    def without_finalizer(claim: Obj) -> Obj:
        return {**claim, "metadata": {**claim["metadata"], "finalizers": []}}

    patch.replace("reference_impl.binder.claims:without_finalizer", without_finalizer)


@mutant("binder-renews-the-condition", rule="KAI-170b")
def _(patch: Patch) -> None:
    """The condition gets a new lastTransitionTime with each message."""

    def wrapped(original: Any) -> Any:
        def set_bound_condition(self: Any, pod: Obj, **more: str) -> None:
            original(self, {**pod, "status": {}}, **more)

        return set_bound_condition

    patch.wrap("reference_impl.binder.pods:PodWriter.set_bound_condition", wrapped)


@mutant("binder-keeps-the-first-time", rule="KAI-170b")
def _(patch: Patch) -> None:
    """The condition keeps its first lastTransitionTime."""

    def wrapped(original: Any) -> Any:
        def patch_pod(self: Any, resource: Any, name: str, body: Any, *args: Any, **more: Any) -> Any:
            for condition in ((body or {}).get("status") or {}).get("conditions") or ():
                if condition.get("type") == "PodBound" and condition["status"] == "True":
                    condition.pop("lastTransitionTime")
            return original(self, resource, name, body, *args, **more)

        return patch_pod

    patch.wrap("dra_api.client:KubeClient.patch", wrapped)


@mutant("binder-never-gives-up", rule="KAI-174b")
def _(patch: Patch) -> None:
    """Retries have no end, as in KAI 0.17."""
    patch.replace("reference_impl.binder.attempts:is_final", lambda request, attempts: False)


@mutant("binder-binds-shares-as-whole-devices", rule="KAI-181")
def _(patch: Patch) -> None:
    """A request for a share of a GPU is bound like one for whole devices."""
    patch.replace(f"{CHECKS}:check_resource_type", lambda request, *, shares: None)


@mutant("binder-uses-leftovers-as-they-are", rule="KAI-119b")
def _(patch: Patch) -> None:
    """A claim of an earlier attempt is used whatever it requests."""
    patch.replace(f"{EXTENDED}.fits", lambda self, claim, entry: True)


@mutant(
    "binder-compares-names-of-requests",
    rule="KAI-119b",
    scenario="bind_requests/extended_resources#a-claim-of-an-earlier-attempt-that-does-is-replaced[has-another-class]",
)
def _(patch: Patch) -> None:
    """A claim of an earlier attempt is used if its requests have the same names, whatever their class is."""
    patch.replace("reference_impl.binder.extended:_with_defaults", lambda request: {"name": request.get("name")})


@mutant("binder-leaves-leftovers", rule="KAI-119b")
def _(patch: Patch) -> None:
    """A new claim is created beside the one of an earlier attempt."""
    patch.replace(f"{EXTENDED}._remove", lambda self, claim: None)


@mutant(
    "binder-creates-a-claim-for-each-attempt",
    rule="KAI-119",
    scenario="faults/binding#a-claim-whose-creation-was-processed-without-a-response-is-used",
)
def _(patch: Patch) -> None:
    """A claim whose creation was answered too late is not looked for."""
    patch.replace(f"{EXTENDED}.find", lambda self, pod: None)


@mutant("binder-uses-reserved-claims-in-deletion", rule="KAI-158b")
def _(patch: Patch) -> None:
    """A claim in deletion is refused only by the API server, if its reservation is new, as with KAI 0.12 and 0.17."""
    patch.replace(f"{WRITER}.check_usable", lambda self, claim: None)


@mutant(
    "binder-adds-no-finalizer",
    rule="KAI-110b",
    scenario="bind_requests/binder_claims#a-claim-is-not-deleted-under-its-pod",
)
def _(patch: Patch) -> None:
    """Claims are allocated without delete protection, as by KAI 0.12 and 0.17."""
    patch.replace(f"{WRITER}.needs_finalizer", lambda self, claim: False)


@mutant(
    "binder-leaves-named-claims-unprotected",
    rule="KAI-110b",
    scenario="bind_requests/binder_claims#a-named-claim-is-free-again-when-its-pod-is-gone",
)
def _(patch: Patch) -> None:
    """Claims are allocated without delete protection, so that the claim controller does not deallocate them."""
    patch.replace(f"{WRITER}.needs_finalizer", lambda self, claim: False)


@mutant("binder-compares-no-claims", rule="KAI-107b")
def _(patch: Patch) -> None:
    """A device of one claim is given to a second one, as by KAI 0.12 and 0.17."""
    patch.replace(f"{HOLDERS}._check_stored", lambda self, device, uid, pod: None)


@mutant(
    "binder-writes-two-claims-with-one-device",
    rule="KAI-107b",
    scenario="bind_requests/binder_claims#of-two-bindrequests-with-one-device-only-one-is-carried-out",
)
def _(patch: Patch) -> None:
    """Two BindRequests with one device are carried out one after the other."""
    patch.replace(f"{HOLDERS}.taking", lambda self, pod, allocations: contextlib.nullcontext())


@mutant(
    "binder-keeps-refused-devices",
    rule="KAI-107b",
    scenario="bind_requests/binder_claims#a-device-that-a-bindrequest-was-refused-is-given-to-another-claim-once-it-is-free",
)
def _(patch: Patch) -> None:
    """The devices of a refused BindRequest count as being allocated until the binder restarts."""
    kept: set[str] = set()

    def make(original: Any) -> Any:
        def check_stored(self: Any, device: str, uid: str, pod: Obj) -> None:
            if device in kept:
                raise BindFailure(f"device {device} is being allocated")
            try:
                original(self, device, uid, pod)
            except BindFailure:
                kept.add(device)
                raise

        return check_stored

    patch.wrap(f"{HOLDERS}._check_stored", make)


@mutant(
    "binder-compares-no-extended-resources",
    rule="KAI-107b",
    scenario="bind_requests/binder_claims#a-device-of-a-claim-is-not-given-to-a-pod-s-extended-resources",
)
def _(patch: Patch) -> None:
    """The devices of claims for extended resources are not compared with those of other claims."""

    def make(original: Any) -> Any:
        return lambda self, pod, allocations: original(self, pod, [one for one in allocations if one[0]])

    patch.wrap(f"{HOLDERS}.taking", make)


@mutant(
    "binder-compares-the-first-device",
    rule="KAI-107b",
    scenario="bind_requests/binder_claims#a-claim-is-not-given-two-devices-if-the-second-one-is-that-of-another-claim",
)
def _(patch: Patch) -> None:
    """Only the first device of a claim is compared with those of other claims."""

    def make(original: Any) -> Any:
        def taking(self: Any, pod: Obj, allocations: Any) -> Any:
            first = [
                (uid, {**one, "devices": {**one["devices"], "results": one["devices"]["results"][:1]}})
                for uid, one in allocations
            ]
            return original(self, pod, first)

        return taking

    patch.wrap(f"{HOLDERS}.taking", make)


@mutant("binder-ignores-the-owner", rule="KAI-139b")
def _(patch: Patch) -> None:
    """The pod is found by its name only, as by KAI 0.12 and 0.17."""
    patch.replace(f"{CHECKS}:check_identity", lambda request, pod: None)


@mutant("binder-reads-the-node-again", rule="KAI-141")
def _(patch: Patch) -> None:
    """The BindRequest is read again after the claims are written, for the node of the binding."""

    def wrapped(original: Any) -> Any:
        def bind(self: Any, pod: Obj, node: str, annotations: Any) -> None:
            found = self._client.find(BIND_REQUESTS, pod["metadata"]["name"], pod["metadata"]["namespace"])
            original(self, pod, found["spec"]["selectedNode"] if found else node, annotations)

        return bind

    patch.wrap("reference_impl.binder.pods:PodWriter.bind", wrapped)


@mutant("binder-stops-after-a-deleted-request", rule="KAI-142")
def _(patch: Patch) -> None:
    """After the deletion of a BindRequest no other is processed."""
    deleted: list[str] = []

    def wrapped(original: Any) -> Any:
        def on_bind_request(self: Any, change: Any) -> None:
            if change.type == "DELETED":
                deleted.append(change.object["metadata"]["uid"])
            original(self, change)

        return on_bind_request

    patch.wrap(f"{BINDER}._on_bind_request", wrapped)
    skip_attempts(patch, lambda binder, request: bool(deleted))


@mutant("binder-ignores-its-gate", rule="KAI-041b")
def _(patch: Patch) -> None:
    """The feature gate is set from what the API server serves, as in KAI 0.12 and 0.17."""
    patch.replace(f"{BINDER}._dra_enabled", lambda self: True)


@mutant(
    "binder-compares-one-claim",
    rule="KAI-107b",
    scenario="bind_requests/binder_claims#of-two-claims-that-have-one-device-neither-is-given-to-its-pod",
)
def _(patch: Patch) -> None:
    """Of the stored claims with a device only the first is looked at, and that may be the pod's own."""

    def make(original: Any) -> Any:
        def check_stored(self: Any, device: str, uid: str, pod: Obj) -> None:
            first = next(iter(self._claims.by_index("device", device)), None)
            if first is not None and first["metadata"]["uid"] != uid:
                original(self, device, uid, pod)

        return check_stored

    patch.wrap(f"{HOLDERS}._check_stored", make)


@mutant("binder-awaits-claim-updates-for-ever", rule="KAI-163")
def _(patch: Patch) -> None:
    """The requests for claims have no time limit."""
    patch.replace("reference_impl.binder.claim_time:ClaimTime.left", lambda self: 1e9)


@mutant("binder-takes-expired-claim-updates-for-written", rule="KAI-163")
def _(patch: Patch) -> None:
    """A claim whose update gets no response in time counts as written, as in KAI 0.12."""
    ignore_claim_errors(patch, lambda error: isinstance(error, TransportError))


@mutant("binder-does-not-retry-expired-claim-updates", rule="KAI-163")
def _(patch: Patch) -> None:
    """An attempt whose time is over is the last one."""

    def wrapped(original: Any) -> Any:
        def fail(self: Any, request: Obj, pod: Any, reason: str, **_more: Any) -> Any:
            return original(self, request, pod, reason, for_good="has not responded" in reason)

        return fail

    patch.wrap(f"{BINDER}.fail", wrapped)
