"""Faults of the binder that only show with a second claim, entry, consumer, node or attempt; for bind_requests."""

from __future__ import annotations

import contextlib
from typing import Any

from dra_api.client import ApiError, Conflict
from dra_api.objects import BIND_REQUESTS, RESOURCE_CLAIMS, Obj, uid_of
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.mutants.binder_patches import ignore_claim_errors
from reference_impl.binder.extended import is_extended_resource_claim
from reference_impl.binder.failure import BindFailure
from reference_impl.scheduler.cycle import Decision, Refusal

BINDER = "reference_impl.binder.reconcile:Binder"
WRITER = "reference_impl.binder.claims:ClaimWriter"
CHECKS = "reference_impl.binder.checks"
MAKE = "reference_impl.scheduler.publish:bind_requests.make"


@mutant("binder-takes-the-first-node", rule="KAI-100")
def _(patch: Patch) -> None:
    """Every pod is bound to the first node that the binder has received."""

    def wrapped(original: Any) -> Any:
        def find_node(self: Any, request: Obj) -> Obj:
            selected: Obj = original(self, request)
            first: list[Obj] = [node for node in self.nodes.list() if node["metadata"]["name"].startswith("n1")]
            return first[0] if first else selected

        return find_node

    patch.wrap(f"{BINDER}.find_node", wrapped)


@mutant("binder-event-without-node", rule="KAI-103")
def _(patch: Patch) -> None:
    """The event about the binding does not name the node."""

    def wrapped(original: Any) -> Any:
        return lambda self, pod, node: original(self, pod, "")

    patch.wrap("reference_impl.binder.report:Reporter.report_success", wrapped)


@mutant("binder-binds-after-the-first-claim", rule="KAI-109")
def _(patch: Patch) -> None:
    """The pod is bound after the first of its claims is written; the others follow."""

    def wrapped(original: Any) -> Any:
        def commit(self: Any, claim: Obj, pod: Obj, node: Obj, *args: Any, **more: Any) -> Any:
            written = original(self, claim, pod, node, *args, **more)
            with contextlib.suppress(ApiError):
                self._client.bind(pod, node["metadata"]["name"], annotations={})
            return written

        return commit

    patch.wrap(f"{WRITER}.commit", wrapped)


@mutant("binder-forgets-one-of-two-generated-claims", rule="KAI-108")
def _(patch: Patch) -> None:
    """The claim of every template entry is the one that the pod's status names first."""

    def claim_name(pod: Obj, entry: Obj) -> str | None:
        if direct := entry.get("resourceClaimName"):
            return str(direct)
        return str(pod["status"]["resourceClaimStatuses"][0]["resourceClaimName"])

    patch.replace("reference_impl.binder.claims:claim_name", claim_name)


@mutant("binder-roll-back-clears-other-pods", rule="KAI-111")
def _(patch: Patch) -> None:
    """After a failed binding the whole status of the claim is cleared."""

    def release(self: Any, claim: Obj, pod: Obj) -> None:
        current = self._client.find(self.resource, claim["metadata"]["name"], claim["metadata"]["namespace"])
        self._client.update_status(self.resource, {**current, "status": {}})

    patch.replace(f"{WRITER}.release", release)


@mutant("binder-roll-back-of-the-last-consumer", rule="KAI-111")
def _(patch: Patch) -> None:
    """After a failed binding the oldest reservation is removed in place of the pod's own."""

    def release(self: Any, claim: Obj, pod: Obj) -> None:
        current = self._client.find(self.resource, claim["metadata"]["name"], claim["metadata"]["namespace"])
        status = {**current["status"], "reservedFor": current["status"]["reservedFor"][1:]}
        self._client.update_status(self.resource, {**current, "status": status})

    patch.replace(f"{WRITER}.release", release)


@mutant("binder-looks-at-the-first-consumer", rule="KAI-112")
def _(patch: Patch) -> None:
    """Only the first consumer is compared with the pod, so that the pod is added again and the write is refused."""

    def is_reserved_for(claim: Obj, pod: Obj) -> bool:
        consumers: list[Obj] = (claim.get("status") or {}).get("reservedFor") or []
        return bool(consumers) and bool(consumers[0]["uid"] == pod["metadata"]["uid"])

    patch.replace("reference_impl.binder.claims:is_reserved_for", is_reserved_for)


def _check_first_entry_only(patch: Patch) -> None:
    """Let the binder check the first entry of a BindRequest alone, and leave out the others if they are wrong."""

    def wrapped(original: Any) -> Any:
        def check_entries(pod: Obj, entries: Any) -> None:
            original(pod, dict(list(entries.items())[:1]))

        return check_entries

    def planning(original: Any) -> Any:
        def plan_claim(self: Any, pod: Obj, node: Obj, wanted: Obj, entry: Obj | None) -> Any:
            if entry is not None and not entry.get("allocation"):
                return None
            return original(self, pod, node, wanted, entry)

        return plan_claim

    patch.wrap(f"{CHECKS}:check_entries", wrapped)
    patch.wrap(f"{BINDER}.plan_claim", planning)


@mutant("binder-accepts-a-second-empty-entry", rule="KAI-150")
def _(patch: Patch) -> None:
    """Only the first entry has to have an allocation."""
    _check_first_entry_only(patch)


@mutant("binder-ignores-a-second-unknown-entry", rule="KAI-151")
def _(patch: Patch) -> None:
    """Only the first entry has to name a claim of the pod."""

    def wrapped(original: Any) -> Any:
        def check_entries(pod: Obj, entries: Any) -> None:
            known = {entry["name"] for entry in pod["spec"]["resourceClaims"]}
            first = next(iter(entries))
            original(pod, {name: entry for name, entry in entries.items() if name in known or name == first})

        return check_entries

    patch.wrap(f"{CHECKS}:check_entries", wrapped)


@mutant("binder-ignores-a-second-missing-claim", rule="KAI-152")
def _(patch: Patch) -> None:
    """A claim that does not exist is left out if the pod has another one."""

    def wrapped(original: Any) -> Any:
        def plan_claim(self: Any, pod: Obj, *args: Any) -> Any:
            try:
                return original(self, pod, *args)
            except BindFailure as failure:
                if "does not exist" in str(failure) and len(pod["spec"]["resourceClaims"]) > 1:
                    return None
                raise

        return plan_claim

    patch.wrap(f"{BINDER}.plan_claim", wrapped)


@mutant("binder-ignores-endless-conflicts", rule="KAI-155")
def _(patch: Patch) -> None:
    """A claim that always conflicts is left as it is, and the pod is bound."""
    ignore_claim_errors(patch, lambda error: "was changed by others" in str(error))


@mutant("binder-ignores-server-errors", rule="KAI-157")
def _(patch: Patch) -> None:
    """A claim whose update is answered with 500 counts as written."""
    ignore_claim_errors(patch, lambda error: getattr(error, "status", None) == 500)


@mutant(
    "binder-ignores-claims-that-are-deleted",
    rule="KAI-158",
    scenario="bind_requests/binder_fails#a-claim-that-is-being-deleted-makes-the-bindrequest-fail",
)
def _(patch: Patch) -> None:
    """A pod is bound although its claim is being deleted and takes no more consumers."""
    patch.replace(f"{WRITER}.check_usable", lambda self, claim: None)
    ignore_claim_errors(patch, lambda error: isinstance(error, ApiError))


@mutant("binder-retries-every-second", rule="KAI-175")
def _(patch: Patch) -> None:
    """The wait between two attempts does not grow."""
    patch.replace("reference_impl.binder.attempts:retry_delay", lambda request: 1.0)


@mutant("binder-counts-the-first-attempt-only", rule="KAI-175")
def _(patch: Patch) -> None:
    """Only the first failed attempt is written."""
    patch.replace("reference_impl.binder.attempts:after_failure", lambda request: 1)


EXTENDED = "reference_impl.binder.extended:ExtendedClaims"


@mutant("binder-maps-the-first-extended-resource", rule="KAI-118")
def _(patch: Patch) -> None:
    """Only the first extended resource of a pod is mapped to its request."""

    def wrapped(original: Any) -> Any:
        def record(self: Any, pod: Obj, status: Obj | None) -> None:
            original(self, pod, status and {**status, "requestMappings": status["requestMappings"][:1]})

        return record

    patch.wrap(f"{EXTENDED}._record", wrapped)


@mutant(
    "binder-records-an-extended-claim-once",
    rule="KAI-118",
    scenario="bind_requests/extended_resources#the-pod-s-status-names-the-claim-although-the-api-server-refuses-an-update-of-it",
)
def _(patch: Patch) -> None:
    """The claim of extended resources is recorded by the first attempt only, and a failure is not made good."""
    recorded: set[str] = set()

    def wrapped(original: Any) -> Any:
        def record(self: Any, pod: Obj, status: Obj | None) -> None:
            if status is None or uid_of(pod) not in recorded:
                recorded.add(uid_of(pod))
                original(self, pod, status)

        return record

    patch.wrap(f"{EXTENDED}._record", wrapped)


def _of_any_pod(self: Any, pod: Obj) -> Obj | None:
    """Return a claim for extended resources in the pod's namespace, whatever pod owns it."""
    claims: list[Obj] = self._client.list(RESOURCE_CLAIMS, pod["metadata"]["namespace"]).items
    return next((claim for claim in claims if is_extended_resource_claim(claim)), None)


@mutant("binder-uses-extended-claim-of-another-pod", rule="KAI-119")
def _(patch: Patch) -> None:
    """A claim for extended resources is used whatever pod owns it."""
    patch.replace(f"{EXTENDED}.find", _of_any_pod)
    patch.replace(f"{WRITER}.check_owner", lambda self, claim, pod, *, generated: None)


@mutant("binder-finds-extended-claims-by-status-only", rule="KAI-119")
def _(patch: Patch) -> None:
    """A claim of an earlier attempt is used if the pod's status names it only; otherwise a second one is created."""

    def wrapped(original: Any) -> Any:
        def find(self: Any, pod: Obj) -> Obj | None:
            named = (pod.get("status") or {}).get("extendedResourceClaimStatus")
            found: Obj | None = original(self, pod) if named else None
            return found

        return find

    patch.wrap(f"{EXTENDED}.find", wrapped)


@mutant("binder-deletes-extended-claim-of-another-pod", rule="KAI-162")
def _(patch: Patch) -> None:
    """After a failed binding the extended resource claims of the whole namespace are deleted."""

    def wrapped(original: Any) -> Any:
        def roll_back(self: Any, pod: Obj) -> None:
            original(self, pod)
            if claim := _of_any_pod(self, pod):
                self._remove(claim)

        return roll_back

    patch.wrap(f"{EXTENDED}.roll_back", wrapped)


@mutant("binder-gives-up-on-a-conflicting-phase", rule="KAI-182")
def _(patch: Patch) -> None:
    """After a conflict the phase is not written again."""

    def wrapped(original: Any) -> Any:
        def record(self: Any, request: Obj, outcome: Any) -> None:
            try:
                self._client.patch(
                    BIND_REQUESTS,
                    request["metadata"]["name"],
                    {"status": self.new_status(request, outcome)},
                    request["metadata"]["namespace"],
                    subresource="status",
                )
            except Conflict:
                return

        return record

    patch.wrap("reference_impl.binder.report:Reporter.record", wrapped)


@mutant("scheduler-tears-claims-apart", rule="KAI-056")
def _(patch: Patch) -> None:
    """A pod whose claims do not fit together on any node gets a BindRequest without them."""

    def wrapped(original: Any) -> Any:
        def decide(self: Any, pod: Obj) -> Any:
            found = original(self, pod)
            several = len(pod["spec"].get("resourceClaims") or ()) > 1
            if several and isinstance(found, Refusal) and "cannot allocate" in found.message:
                return Decision(pod, next(iter(self._view.nodes)))
            return found

        return decide

    patch.wrap("reference_impl.scheduler.cycle:Cycle.decide", wrapped)


@mutant("scheduler-all-of-one-pool", rule="KAI-051")
def _(patch: Patch) -> None:
    """Allocation mode All allocates the devices of one pool."""

    def wrapped(original: Any) -> Any:
        def make(pod: Obj, node: str, *args: Any, **more: Any) -> Obj:
            request: Obj = original(pod, node, *args, **more)
            for entry in request["spec"].get("resourceClaimAllocations") or ():
                devices = entry["allocation"]["devices"]
                pool = devices["results"][0]["pool"]
                entry["allocation"] = {
                    **entry["allocation"],
                    "devices": {**devices, "results": [one for one in devices["results"] if one["pool"] == pool]},
                }
            return request

        return make

    patch.wrap(MAKE, wrapped)


@mutant("binder-drops-finalizers-of-others", rule="KAI-121")
def _(patch: Patch) -> None:
    """The list of finalizers is replaced by delete protection alone."""

    def with_finalizer(claim: Obj) -> Obj:
        return {**claim, "metadata": {**claim["metadata"], "finalizers": ["resource.kubernetes.io/delete-protection"]}}

    patch.replace("reference_impl.binder.claims:with_finalizer", with_finalizer)


@mutant("binder-roll-back-drops-finalizers-of-others", rule="KAI-121")
def _(patch: Patch) -> None:
    """After a failed binding all finalizers of the claim are removed."""

    def without_finalizer(claim: Obj) -> Obj:
        return {**claim, "metadata": {**claim["metadata"], "finalizers": []}}

    patch.replace("reference_impl.binder.claims:without_finalizer", without_finalizer)


@mutant("binder-compares-consumers-by-name", rule="KAI-107")
def _(patch: Patch) -> None:
    """A consumer with the pod's name counts as the pod, whatever its uid."""

    def is_reserved_for(claim: Obj, pod: Obj) -> bool:
        consumers: list[Obj] = (claim.get("status") or {}).get("reservedFor") or []
        return any(entry["name"] == pod["metadata"]["name"] for entry in consumers)

    patch.replace("reference_impl.binder.claims:is_reserved_for", is_reserved_for)


@mutant("binder-counts-devices-of-an-allocation", rule="KAI-113b")
def _(patch: Patch) -> None:
    """Two allocations are the same if they have the same number of devices; their nodes are not compared."""

    def same_allocation(one: Obj, other: Obj) -> bool:
        return len(one["devices"]["results"]) == len(other["devices"]["results"])

    patch.replace("reference_impl.binder.claims:same_allocation", same_allocation)
    patch.replace(f"{WRITER}.check_node", lambda self, *args: None)


@mutant(
    "binder-ignores-configuration-of-an-allocation",
    rule="KAI-113b",
    scenario="bind_requests/binder_keeps#a-pod-is-not-bound-with-a-claim-that-has-difference-than-its-bindrequest-says",
)
def _(patch: Patch) -> None:
    """Two allocations are the same if they have the same devices, however these are configured."""

    def same_allocation(one: Obj, other: Obj) -> bool:
        return bool(one["devices"]["results"] == other["devices"]["results"])

    patch.replace("reference_impl.binder.claims:same_allocation", same_allocation)


@mutant(
    "binder-ignores-shares-of-an-allocation",
    rule="KAI-113b",
    scenario="bind_requests/binder_claims#a-pod-is-not-bound-while-its-second-claim-has-other[a-share-of-the-device]",
)
def _(patch: Patch) -> None:
    """Two allocations are the same if they have the same devices, whichever share of each."""

    def devices(allocation: Obj) -> list[list[str]]:
        return [[one[key] for key in ("driver", "pool", "device")] for one in allocation["devices"]["results"]]

    patch.replace("reference_impl.binder.claims:same_allocation", lambda one, other: devices(one) == devices(other))


@mutant(
    "binder-does-not-check-again-after-a-conflict",
    rule="KAI-113b",
    scenario="bind_requests/binder_keeps#a-claim-that-gets-other-devices-while-the-binder-writes-it-is-not-used",
)
def _(patch: Patch) -> None:
    """A claim that was changed by others is written again without being checked again."""

    def wrapped(original: Any) -> Any:
        checked: set[tuple[str, str]] = set()

        def check(self: Any, claim: Obj, pod: Obj, *args: Any, **more: Any) -> None:
            key = (claim["metadata"]["uid"], pod["metadata"]["uid"])
            if key not in checked:
                original(self, claim, pod, *args, **more)
                checked.add(key)

        return check

    patch.wrap(f"{WRITER}.check", wrapped)


@mutant("binder-awaits-the-first-claim", rule="DRA-250b")
def _(patch: Patch) -> None:
    """Only the devices of the pod's first claim are waited for."""

    def wrapped(original: Any) -> Any:
        return lambda self, pod, claims: original(self, pod, list(claims)[:1])

    patch.wrap("reference_impl.binder.devices:DeviceWaits.require_ready", wrapped)


@mutant(
    "binder-takes-a-conflict-for-a-binding",
    rule="KAI-160",
    scenario="bind_requests/binder_fails#a-binding-that-is-refused-with-code-can-be-requested-again",
)
def _(patch: Patch) -> None:
    """A binding that is answered with 409 counts as done."""

    def wrapped(original: Any) -> Any:
        def bind(self: Any, pod: Obj, node: str, annotations: Any) -> None:
            try:
                original(self, pod, node, annotations)
            except Conflict:
                return

        return bind

    patch.wrap("reference_impl.binder.pods:PodWriter.bind", wrapped)


@mutant(
    "binder-binds-before-it-writes-the-last-claim",
    rule="KAI-109",
    scenario="bind_requests/binder_claims#claims-are-written-before-the-pod-is-bound-and-the-phase-after-it",
)
def _(patch: Patch) -> None:
    """The last claim of a pod is written after its binding."""

    def wrapped(original: Any) -> Any:
        def plan_claims(self: Any, request: Obj, pod: Obj, node: Obj) -> Any:
            planned = original(self, request, pod, node)
            if not planned:
                return planned
            *first, last = planned
            bind = self.pod_writer.bind

            def late(*args: Any) -> None:
                del self.pod_writer.bind
                bind(*args)
                self.claim_writer.commit(last.claim, pod, node, last.allocation, generated=last.generated)

            self.pod_writer.bind = late
            return first

        return plan_claims

    patch.wrap("reference_impl.binder.reconcile:Binder.plan_claims", wrapped)


@mutant("binder-reports-success-before-it-binds", rule="KAI-109b")
def _(patch: Patch) -> None:
    """The phase Succeeded is written before the pod is bound."""

    def wrapped(original: Any) -> Any:
        def bind(self: Any, request: Obj, pod: Obj) -> Any:
            meta = request["metadata"]
            status = {"status": {"phase": "Succeeded"}}
            self._client.patch(BIND_REQUESTS, meta["name"], status, meta["namespace"], subresource="status")
            return original(self, request, pod)

        return bind

    patch.wrap("reference_impl.binder.reconcile:Binder.bind", wrapped)
