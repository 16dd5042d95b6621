"""Faults in BindRequest CRD, scheduler and binder that the chapter bind_requests must catch."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
from collections.abc import Callable
from typing import Any

from dra_api.objects import Obj
from dra_conformance.suite.mutation import Patch, mutant

# -- the CRD -----------------------------------------------------------------------------------------------------------


def change_crd(patch: Patch, change: Callable[[Obj], None]) -> None:
    """Install another BindRequest CRD: `change` gets its only version."""

    def wrapped(original: Any) -> Any:
        def load_all(*args: Any, **more: Any) -> list[Any]:
            found: list[Any] = copy.deepcopy(original(*args, **more))
            for obj in found:
                if (
                    isinstance(obj, dict)
                    and (obj.get("metadata") or {}).get("name") == "bindrequests.scheduling.run.ai"
                ):
                    change(obj["spec"]["versions"][0])
            return found

        return load_all

    patch.wrap("dra_conformance.documents:load_all", wrapped)


def spec_of(version: Obj) -> Obj:
    """The schema of spec."""
    found: Obj = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found


def devices_of(version: Obj) -> Obj:
    """The schema of allocation.devices in resourceClaimAllocations."""
    entries = spec_of(version)["properties"]["resourceClaimAllocations"]["items"]["properties"]
    found: Obj = entries["allocation"]["properties"]["devices"]["properties"]
    return found


@mutant("crd-without-status", rule="KAI-001")
def _(patch: Patch) -> None:
    """The CRD has no status subresource."""
    change_crd(patch, lambda version: version.pop("subresources"))


@mutant("crd-pod-name-required", rule="KAI-002")
def _(patch: Patch) -> None:
    """The CRD requires spec.podName."""
    change_crd(patch, lambda version: spec_of(version).update(required=["podName"]))


@mutant("crd-status-on-create", rule="KAI-003")
def _(patch: Patch) -> None:
    """Without the subresource, whoever creates a BindRequest judges it."""
    change_crd(patch, lambda version: version.pop("subresources"))


@mutant("crd-results-optional", rule="KAI-004")
def _(patch: Patch) -> None:
    """Device results may lack any field."""
    change_crd(patch, lambda version: devices_of(version)["results"]["items"].pop("required"))


@mutant("crd-operator-no-default", rule="KAI-005")
def _(patch: Patch) -> None:
    """A toleration's operator has no default."""

    def change(version: Obj) -> None:
        tolerations = devices_of(version)["results"]["items"]["properties"]["tolerations"]
        del tolerations["items"]["properties"]["operator"]["default"]

    change_crd(patch, change)


@mutant("crd-parameters-pruned", rule="KAI-006")
def _(patch: Patch) -> None:
    """Opaque parameters lose their unknown fields."""

    def change(version: Obj) -> None:
        opaque = devices_of(version)["config"]["items"]["properties"]["opaque"]["properties"]
        opaque["parameters"].pop("x-kubernetes-preserve-unknown-fields")

    change_crd(patch, change)


@mutant("crd-keeps-unknown-fields", rule="KAI-006")
def _(patch: Patch) -> None:
    """Unknown fields of the spec are stored."""
    change_crd(patch, lambda version: spec_of(version).update({"x-kubernetes-preserve-unknown-fields": True}))


@mutant("crd-zones-unchecked", rule="KAI-007")
def _(patch: Patch) -> None:
    """A predicted zone may lack zone and amount."""
    change_crd(patch, lambda version: spec_of(version)["properties"]["predictedNUMAZones"]["items"].pop("required"))


@mutant("crd-type-enumerated", rule="KAI-008")
def _(patch: Patch) -> None:
    """receivedResourceType has a list of allowed values."""

    def change(version: Obj) -> None:
        spec_of(version)["properties"]["receivedResourceType"]["enum"] = ["Regular", "Fraction", "MigInstance"]

    change_crd(patch, change)


# -- what the scheduler writes -----------------------------------------------------------------------------------------

MAKE = "reference_impl.scheduler.publish:bind_requests.make"


def change_request(patch: Patch, change: Callable[..., None]) -> None:
    """Let the scheduler write another BindRequest: `change(request, pod, node)`."""

    def wrapped(original: Any) -> Any:
        def make(pod: Obj, node: str, *args: Any, **more: Any) -> Obj:
            request: Obj = original(pod, node, *args, **more)
            change(request, pod, node)
            return request

        return make

    patch.wrap(MAKE, wrapped)


def change_spec(patch: Patch, **fields: Any) -> None:
    """Let the scheduler write these fields into every spec."""
    change_request(patch, lambda request, pod, node: request["spec"].update(fields))


def change_entries(patch: Patch, change: Callable[[list[Obj]], list[Obj]]) -> None:
    """Let the scheduler write other entries."""

    def apply(request: Obj, pod: Obj, node: str) -> None:
        if (entries := request["spec"].get("resourceClaimAllocations")) is not None:
            request["spec"]["resourceClaimAllocations"] = change(copy.deepcopy(entries))

    change_request(patch, apply)


@mutant("scheduler-writes-twice", rule="KAI-010")
def _(patch: Patch) -> None:
    """A second BindRequest follows the first under another name."""

    def wrapped(original: Any) -> Any:
        def publish(self: Any, decision: Any) -> None:
            original(self, decision)
            again = copy.deepcopy(self._client.list(RESOURCE, decision.pod["metadata"]["namespace"]).items[0])
            again["metadata"] = {"name": again["metadata"]["name"] + "-2", "namespace": again["metadata"]["namespace"]}
            self._client.create(RESOURCE, again)

        return publish

    from dra_api.objects import BIND_REQUESTS as RESOURCE

    patch.wrap("reference_impl.scheduler.publish:BindRequestPublisher.publish", wrapped)


@mutant("scheduler-documented-name-without-suffix", rule="KAI-010a")
def _(patch: Patch) -> None:
    """The documented revision names the BindRequest like its pod."""
    patch.replace("reference_impl.scheduler.bind_requests:name_for", lambda pod, *_: pod["metadata"]["name"])


@mutant("scheduler-documented-without-pod-label", rule="KAI-010a")
def _(patch: Patch) -> None:
    """The documented revision lacks the label pod-name."""
    patch.replace("reference_impl.scheduler.bind_requests:labels_for", lambda pod, node, *_: {"selected-node": node})


@mutant("scheduler-0.17-name-with-suffix", rule="KAI-010b")
def _(patch: Patch) -> None:
    """Release 0.17 adds a suffix to the name."""
    patch.replace("reference_impl.scheduler.bind_requests:name_for", lambda pod, *_: pod["metadata"]["name"] + "-b7k2x")


@mutant("scheduler-0.17-with-pod-label", rule="KAI-010b")
def _(patch: Patch) -> None:
    """Release 0.17 sets the label pod-name."""

    def labels(pod: Obj, node: str, *_: Any) -> Obj:
        return {"selected-node": node, "pod-name": pod["metadata"]["name"]}

    patch.replace("reference_impl.scheduler.bind_requests:labels_for", labels)


@mutant("scheduler-no-owner", rule="KAI-011")
def _(patch: Patch) -> None:
    """The BindRequest has no owner."""
    change_request(patch, lambda request, pod, node: request["metadata"].pop("ownerReferences"))


@mutant("scheduler-owner-is-controller", rule="KAI-011")
def _(patch: Patch) -> None:
    """The pod is the BindRequest's controller."""
    change_request(patch, lambda request, *_: request["metadata"]["ownerReferences"][0].update(controller=True))


@mutant("scheduler-label-missing", rule="KAI-012")
def _(patch: Patch) -> None:
    """The label selected-node is missing."""
    change_request(patch, lambda request, *_: request["metadata"].pop("labels"))


@mutant("scheduler-judges", rule="KAI-014")
def _(patch: Patch) -> None:
    """The scheduler writes the phase Pending."""

    def wrapped(original: Any) -> Any:
        def publish(self: Any, decision: Any) -> None:
            original(self, decision)
            for request in self._client.list(RESOURCE, decision.pod["metadata"]["namespace"]).items:
                name, namespace = request["metadata"]["name"], request["metadata"]["namespace"]
                self._client.patch(RESOURCE, name, {"status": {"phase": "Pending"}}, namespace, subresource="status")

        return publish

    from dra_api.objects import BIND_REQUESTS as RESOURCE

    patch.wrap("reference_impl.scheduler.publish:BindRequestPublisher.publish", wrapped)


@mutant("scheduler-portion-without-decimals", rule="KAI-015")
def _(patch: Patch) -> None:
    """No GPU is written as "0"."""
    change_spec(patch, receivedGPU={"portion": "0"})


@mutant("scheduler-type-empty", rule="KAI-015")
def _(patch: Patch) -> None:
    """The type is left out."""
    change_request(patch, lambda request, *_: request["spec"].pop("receivedResourceType"))


@mutant("scheduler-counts-one-gpu", rule="KAI-016")
def _(patch: Patch) -> None:
    """GPUs of the device plugin are always counted as one."""
    patch.replace(
        "reference_impl.scheduler.bind_requests:received_gpu",
        lambda requests: {"count": 1, "portion": "1.00"} if requests.get("nvidia.com/gpu") else {"portion": "0.00"},
    )


@mutant("scheduler-names-claim-objects", rule="KAI-020")
def _(patch: Patch) -> None:
    """Entries carry the name of the ResourceClaim."""

    def wrapped(original: Any) -> Any:
        def resolve(pod: Obj, find: Any) -> Any:
            return [dataclasses.replace(one, reference=one.claim["metadata"]["name"]) for one in original(pod, find)]

        return resolve

    patch.wrap("reference_impl.scheduler.pod_claims:resolve", wrapped)


@mutant("scheduler-no-node-selector", rule="KAI-020")
def _(patch: Patch) -> None:
    """Allocations lack their node selector."""

    def change(entries: list[Obj]) -> list[Obj]:
        for entry in entries:
            entry["allocation"].pop("nodeSelector", None)
        return entries

    change_entries(patch, change)


@mutant("scheduler-drops-configuration", rule="KAI-020")
def _(patch: Patch) -> None:
    """Allocations lack their configuration."""

    def change(entries: list[Obj]) -> list[Obj]:
        for entry in entries:
            entry["allocation"]["devices"].pop("config", None)
        return entries

    change_entries(patch, change)


@mutant("scheduler-forgets-template-claims", rule="KAI-021")
def _(patch: Patch) -> None:
    """Entries are written for named claims only."""

    def wrapped(original: Any) -> Any:
        def make(pod: Obj, node: str, allocations: Any, *rest: Any, **more: Any) -> Any:
            named = {one["name"] for one in pod["spec"].get("resourceClaims") or () if "resourceClaimName" in one}
            return original(pod, node, [pair for pair in allocations if pair[0] in named], *rest, **more)

        return make

    patch.wrap(MAKE, wrapped)


@mutant("scheduler-first-claim-only", rule="KAI-022")
def _(patch: Patch) -> None:
    """Only the first claim of a pod has an entry."""
    change_entries(patch, lambda entries: entries[:1])


@mutant("scheduler-omits-allocated-claims", rule="KAI-023")
def _(patch: Patch) -> None:
    """Claims that are allocated already get no entry."""

    def wrapped(original: Any) -> Any:
        def publish(self: Any, decision: Any) -> None:
            fresh = tuple(
                pair for pair in decision.entries if not (pair[0].claim.get("status") or {}).get("allocation")
            )
            original(self, dataclasses.replace(decision, entries=fresh))

        return publish

    patch.wrap("reference_impl.scheduler.publish:BindRequestPublisher.publish", wrapped)


@mutant("scheduler-counts-dra-devices", rule="KAI-024")
def _(patch: Patch) -> None:
    """Devices of claims are counted in receivedGPU."""

    def change(request: Obj, pod: Obj, node: str) -> None:
        if request["spec"].get("resourceClaimAllocations"):
            request["spec"]["receivedGPU"] = {"count": 2, "portion": "1.00"}

    change_request(patch, change)


@mutant("scheduler-writes-claims", rule="KAI-025")
def _(patch: Patch) -> None:
    """The scheduler allocates the claim itself, beside the BindRequest."""

    def wrapped(original: Any) -> Any:
        def publish(self: Any, decision: Any) -> None:
            original(self, decision)
            for entry, allocation in decision.entries:
                claim = copy.deepcopy(entry.claim)
                claim.setdefault("status", {})["allocation"] = allocation
                self._client.update_status(RESOURCE_CLAIMS, claim)

        return publish

    from dra_api.objects import RESOURCE_CLAIMS

    patch.wrap("reference_impl.scheduler.publish:BindRequestPublisher.publish", wrapped)


def change_events(patch: Patch, recorder: str, reason: str) -> None:
    """Let a part record no event with this reason."""

    def wrapped(original: Any) -> Any:
        def event(self: Any, obj: Obj, kind: str, found: str, message: str, *args: Any, **more: Any) -> None:
            if found != reason:
                original(self, obj, kind, found, message, *args, **more)

        return event

    patch.wrap(recorder, wrapped)


@mutant("scheduler-silent-success", rule="KAI-026")
def _(patch: Patch) -> None:
    """No event Scheduled."""
    change_events(patch, "reference_impl.recorder:EventRecorder.event", "Scheduled")


@mutant("scheduler-silent-refusal", rule="KAI-027")
def _(patch: Patch) -> None:
    """No event FailedBinding."""
    change_events(patch, "reference_impl.recorder:EventRecorder.event", "FailedBinding")


@mutant("scheduler-gives-up-after-refusal", rule="KAI-027")
def _(patch: Patch) -> None:
    """A pod whose BindRequest was refused is never tried again."""
    patch.replace("reference_impl.scheduler.scheduler:Scheduler._retry_later", lambda self, key, pod: None)
    patch.replace("reference_impl.scheduler.scheduler:Scheduler._publish_again", lambda self, key, decision: False)


@mutant("scheduler-overwrites-foreign-request", rule="KAI-028")
def _(patch: Patch) -> None:
    """A BindRequest that is in the way is deleted."""

    def wrapped(original: Any) -> Any:
        def publish(self: Any, decision: Any) -> None:
            pod = decision.pod["metadata"]
            self._client.delete_if_there(RESOURCE, pod["name"], pod["namespace"])
            original(self, decision)

        return publish

    from dra_api.objects import BIND_REQUESTS as RESOURCE

    patch.wrap("reference_impl.scheduler.publish:BindRequestPublisher.publish", wrapped)


@mutant("scheduler-ignores-gates", rule="KAI-034")
def _(patch: Patch) -> None:
    """Scheduling gates hold nothing up."""

    def wrapped(original: Any) -> Any:
        def is_ours(self: Any, pod: Obj) -> bool:
            spec = {key: value for key, value in pod["spec"].items() if key != "schedulingGates"}
            return bool(original(self, {**pod, "spec": spec}))

        return is_ours

    patch.wrap("reference_impl.scheduler.scheduler:Scheduler.is_ours", wrapped)


# -- what the scheduler decides ----------------------------------------------------------------------------------------


@mutant("scheduler-schedules-claims-with-gate-off", rule="KAI-040")
def _(patch: Patch) -> None:
    """With the gate off, claims are ignored and the pod is scheduled."""
    patch.wrap(
        "reference_impl.scheduler.scheduler:Scheduler.refusal_without_dra",
        lambda original: lambda self, pod: Decision(pod, next(iter(self.view.nodes))),
    )
    from reference_impl.scheduler.cycle import Decision


@mutant("scheduler-silent-with-gate-off", rule="KAI-040")
def _(patch: Patch) -> None:
    """With the gate off, a pod with claims is not told why it waits."""
    patch.replace(
        "reference_impl.scheduler.scheduler:Scheduler.refusal_without_dra",
        lambda self, pod: Refusal("not now", silent=True),
    )
    from reference_impl.scheduler.cycle import Refusal


def resolve_leniently(patch: Patch, phrase: str) -> None:
    """Take a pod whose claims are not ready, for a reason with this phrase, for one that needs none."""

    def wrapped(original: Any) -> Any:
        def resolve(pod: Obj, find: Any) -> Any:
            try:
                return original(pod, find)
            except NotReady as error:
                if phrase in str(error):
                    return []
                raise

        return resolve

    from reference_impl.scheduler.pod_claims import NotReady

    patch.wrap("reference_impl.scheduler.pod_claims:resolve", wrapped)


@mutant("scheduler-ignores-missing-claim", rule="KAI-042")
def _(patch: Patch) -> None:
    """A claim that does not exist is no obstacle."""
    resolve_leniently(patch, "not found")


@mutant("scheduler-ignores-ungenerated-claim", rule="KAI-043")
def _(patch: Patch) -> None:
    """A template's claim that is not there yet is no obstacle."""
    resolve_leniently(patch, "has not been created yet")


@mutant("scheduler-ignores-missing-class", rule="KAI-044")
def _(patch: Patch) -> None:
    """A class that does not exist selects every device."""

    def wrapped(original: Any) -> Any:
        def resolve(pod: Obj, find: Any) -> Any:
            return [one for one in original(pod, find) if "nothing" not in str(one.claim["spec"])]

        return resolve

    patch.wrap("reference_impl.scheduler.pod_claims:resolve", wrapped)


@mutant("scheduler-wants-queue-on-every-claim", rule="KAI-047")
def _(patch: Patch) -> None:
    """Every shared claim needs a queue label."""

    def wrapped(original: Any) -> Any:
        def resolve(pod: Obj, find: Any) -> Any:
            found = original(pod, find)
            for one in found:
                if "kai.scheduler/queue" not in (one.claim["metadata"].get("labels") or {}):
                    raise NotReady("the claim has no queue")
            return found

        return resolve

    from reference_impl.scheduler.pod_claims import NotReady

    patch.wrap("reference_impl.scheduler.pod_claims:resolve", wrapped)


@mutant("scheduler-ignores-consumer-limit", rule="KAI-049")
def _(patch: Patch) -> None:
    """A claim has room for any number of pods."""
    patch.replace("reference_impl.scheduler.pod_claims:consumers_left", lambda claim, pod: True)


@mutant("scheduler-consumer-limit-off-by-one", rule="KAI-049")
def _(patch: Patch) -> None:
    """A claim has room for 255 pods only."""
    patch.replace("reference_impl.scheduler.pod_claims:MAX_RESERVED_FOR", 255)


@mutant("scheduler-promises-twice", rule="KAI-050")
def _(patch: Patch) -> None:
    """Devices are free until a claim's status says otherwise."""
    patch.replace("reference_impl.scheduler.claim_ledger:ClaimLedger.assume", lambda self, *args: None)
    patch.replace("reference_impl.scheduler.claim_ledger:ClaimLedger.promise", lambda self, *args: None)


@mutant("scheduler-all-is-one", rule="KAI-051")
def _(patch: Patch) -> None:
    """Allocation mode All gives one device."""

    def change(entries: list[Obj]) -> list[Obj]:
        for entry in entries:
            del entry["allocation"]["devices"]["results"][1:]
        return entries

    change_entries(patch, change)


@mutant("scheduler-forgets-promises-of-others", rule="KAI-052")
def _(patch: Patch) -> None:
    """Allocations in BindRequests that are not bound yet are not counted."""
    patch.replace("reference_impl.scheduler.claim_ledger:ClaimLedger.promise", lambda self, *args: None)


@mutant("scheduler-ended-pods-hold-devices", rule="KAI-053")
def _(patch: Patch) -> None:
    """A pod that has ended keeps what its BindRequest promised."""
    patch.replace("reference_impl.scheduler.cluster_view:is_terminal", lambda pod: False)


@mutant("scheduler-ignores-allocated-node", rule="KAI-054")
def _(patch: Patch) -> None:
    """An allocated claim can be used anywhere."""
    patch.replace("reference_impl.scheduler.cycle:usable_on", lambda allocation, state: True)


@mutant("scheduler-binds-unsatisfied", rule="KAI-055")
def _(patch: Patch) -> None:
    """A pod whose claim fits nowhere is sent to some node without it."""

    def wrapped(original: Any) -> Any:
        def decide(self: Any, pod: Obj) -> Any:
            found = original(self, pod)
            if isinstance(found, Refusal) and "cannot allocate" in found.message:
                return Decision(pod, next(iter(self._view.nodes)))
            return found

        return decide

    from reference_impl.scheduler.cycle import Decision, Refusal

    patch.wrap("reference_impl.scheduler.cycle:Cycle.decide", wrapped)


@mutant("scheduler-claims-overlap", rule="KAI-056")
def _(patch: Patch) -> None:
    """The claims of one pod are allocated each for itself, on the same devices."""

    def change(entries: list[Obj]) -> list[Obj]:
        first = entries[0]["allocation"]["devices"]["results"][0]
        for entry in entries[1:]:
            entry["allocation"]["devices"]["results"][0]["device"] = first["device"]
        return entries

    change_entries(patch, change)


# -- what the scheduler cleans up --------------------------------------------------------------------------------------

FAILED = "reference_impl.scheduler.bind_requests:failed"


@mutant("scheduler-keeps-failed-requests", rule="KAI-070")
def _(patch: Patch) -> None:
    """A Failed BindRequest stands for ever."""
    patch.replace(FAILED, lambda request: False)


@mutant("scheduler-deletes-on-first-failure", rule="KAI-071")
def _(patch: Patch) -> None:
    """backoffLimit is ignored: the first failure is the last."""
    patch.replace(FAILED, lambda request: (request.get("status") or {}).get("phase") == "Failed")


@mutant("scheduler-backoff-off-by-one", rule="KAI-072")
def _(patch: Patch) -> None:
    """A BindRequest is given one attempt more than it asked for."""

    def failed(request: Obj) -> bool:
        status, limit = request.get("status") or {}, request["spec"].get("backoffLimit")
        return status.get("phase") == "Failed" and (limit is None or int(status.get("failedAttempts") or 0) > limit)

    patch.replace(FAILED, failed)


@mutant("scheduler-keeps-requests-to-gone-nodes", rule="KAI-073")
def _(patch: Patch) -> None:
    """A BindRequest to a node that does not exist is waited for."""
    patch.replace("reference_impl.scheduler.scheduler:Scheduler._node_is_gone", lambda self, request: False)


@mutant("scheduler-deletes-succeeded", rule="KAI-075")
def _(patch: Patch) -> None:
    """A BindRequest that succeeded is deleted."""
    patch.replace(FAILED, lambda request: (request.get("status") or {}).get("phase") in ("Failed", "Succeeded"))


@mutant("scheduler-counts-bound-pods-only", rule="KAI-076")
def _(patch: Patch) -> None:
    """A pod takes place once it is bound, not before."""

    def place(self: Any, key: Any) -> str:
        seen = self.pods.get(key)
        return str((seen or {}).get("spec", {}).get("nodeName") or "")

    patch.replace("reference_impl.scheduler.cluster_view:ClusterView._place_of", place)


@mutant("scheduler-goes-by-request-name", rule="KAI-077")
def _(patch: Patch) -> None:
    """A BindRequest is about the pod of its own name."""
    patch.replace(
        "reference_impl.scheduler.bind_requests:pod_key",
        lambda request: (request["metadata"].get("namespace") or "", request["metadata"].get("name") or ""),
    )


@mutant("scheduler-request-outlives-pod", rule="KAI-079")
def _(patch: Patch) -> None:
    """Without an owner, the BindRequest stays when its pod goes."""
    change_request(patch, lambda request, *_: request["metadata"].pop("ownerReferences"))


# -- the binder --------------------------------------------------------------------------------------------------------

BINDER = "reference_impl.binder.reconcile:Binder"
WRITER = "reference_impl.binder.claims:ClaimWriter"
REPORTER = "reference_impl.binder.report:Reporter"
CHECKS = "reference_impl.binder.checks"


@mutant("binder-binds-elsewhere", rule="KAI-100")
def _(patch: Patch) -> None:
    """The phase says Succeeded although nothing was bound."""
    patch.replace("reference_impl.binder.pods:PodWriter.bind", lambda self, *told: None)


@mutant("binder-no-annotation", rule="KAI-101")
def _(patch: Patch) -> None:
    """The pod is not told the resource type."""
    patch.replace("reference_impl.binder.pods:annotations_for", lambda request: {})


@mutant("binder-drops-zones", rule="KAI-102")
def _(patch: Patch) -> None:
    """Predicted zones are not handed on."""
    patch.replace("reference_impl.binder.pods:NUMA_PREDICTED", "kai.scheduler/elsewhere")


@mutant("binder-silent-success", rule="KAI-103")
def _(patch: Patch) -> None:
    """Neither condition nor event tell of the binding."""
    patch.replace(f"{REPORTER}.tell_success", lambda self, pod, node: None)


@mutant("binder-only-kai-pods", rule="KAI-104")
def _(patch: Patch) -> None:
    """Pods of other schedulers are refused."""

    def wrapped(original: Any) -> Any:
        def check_pod(pod: Obj) -> None:
            if pod["spec"].get("schedulerName") == "somebody-else":
                raise BindFailure("not ours")
            original(pod)

        return check_pod

    from reference_impl.binder.failure import BindFailure

    patch.wrap(f"{CHECKS}:check_pod", wrapped)


@mutant("binder-goes-by-request-name", rule="KAI-105")
def _(patch: Patch) -> None:
    """The pod of the BindRequest's own name is bound."""

    def wrapped(original: Any) -> Any:
        def find_pod(self: Any, request: Obj) -> Obj:
            spec = {**request["spec"], "podName": request["metadata"]["name"]}
            return original(self, {**request, "spec": spec})  # type: ignore[no-any-return]

        return find_pod

    patch.wrap(f"{BINDER}.find_pod", wrapped)


@mutant("binder-stops-at-failure", rule="KAI-106")
def _(patch: Patch) -> None:
    """After one failure no other BindRequest is carried out."""
    broken: list[bool] = []

    def failing(original: Any) -> Any:
        def fail(self: Any, *args: Any, **more: Any) -> Any:
            broken.append(True)
            return original(self, *args, **more)

        return fail

    def refusing(original: Any) -> Any:
        def reconcile_request(self: Any, request: Obj) -> None:
            if not broken:
                original(self, request)

        return reconcile_request

    patch.wrap(f"{BINDER}.fail", failing)
    patch.wrap(f"{BINDER}.reconcile_request", refusing)


def change_new_status(patch: Patch, change: Callable[[Obj, Obj, Obj], None]) -> None:
    """Let the binder write another claim status: `change(status, claim, pod)`."""

    def wrapped(original: Any) -> Any:
        def new_status(self: Any, claim: Obj, pod: Obj, allocation: Obj | None) -> Obj | None:
            status: Obj | None = copy.deepcopy(original(self, claim, pod, allocation))
            if status is not None:
                change(status, claim, pod)
            return status

        return new_status

    patch.wrap(f"{WRITER}.new_status", wrapped)


@mutant("binder-drops-configuration", rule="KAI-107")
def _(patch: Patch) -> None:
    """The configuration of an entry does not reach the claim."""
    change_new_status(patch, lambda status, *_: status["allocation"]["devices"].pop("config", None))


@mutant("binder-drops-node-selector", rule="KAI-107")
def _(patch: Patch) -> None:
    """The node selector of an entry does not reach the claim."""
    change_new_status(patch, lambda status, *_: status["allocation"].pop("nodeSelector", None))


@mutant("binder-does-not-reserve", rule="KAI-107")
def _(patch: Patch) -> None:
    """The claim is allocated and reserved for nobody."""
    change_new_status(patch, lambda status, *_: status.pop("reservedFor", None))


@mutant("binder-skips-template-claims", rule="KAI-108")
def _(patch: Patch) -> None:
    """Claims of templates are not written."""

    def wrapped(original: Any) -> Any:
        def commit(self: Any, claim: Obj, *args: Any, generated: bool) -> None:
            if not generated:
                original(self, claim, *args, generated=generated)

        return commit

    patch.wrap(f"{WRITER}.commit", wrapped)


@mutant("binder-binds-first", rule="KAI-109")
def _(patch: Patch) -> None:
    """The pod is bound before its claims are written."""

    def wrapped(original: Any) -> Any:
        def plan_claims(self: Any, request: Obj, pod: Obj, node: Obj) -> Any:
            found = original(self, request, pod, node)
            self.pod_writer.bind(pod, node["metadata"]["name"], {})
            return found

        return plan_claims

    patch.wrap(f"{BINDER}.plan_claims", wrapped)


@mutant("binder-replaces-consumers", rule="KAI-111")
def _(patch: Patch) -> None:
    """A new reservation takes the place of those before."""

    def change(status: Obj, claim: Obj, pod: Obj) -> None:
        status["reservedFor"] = status["reservedFor"][-1:]

    change_new_status(patch, change)


@mutant("binder-reserves-twice", rule="KAI-112")
def _(patch: Patch) -> None:
    """A pod that is reserved for already is added again, under another name."""

    def change(status: Obj | None, claim: Obj, pod: Obj) -> None:
        return None

    def wrapped(original: Any) -> Any:
        def new_status(self: Any, claim: Obj, pod: Obj, allocation: Obj | None) -> Obj | None:
            status = copy.deepcopy(claim.get("status") or {})
            if original(self, claim, pod, allocation) is None and len(status.get("reservedFor") or ()) == 1:
                meta = pod["metadata"]
                status["reservedFor"].append({"resource": "pods", "name": meta["name"], "uid": meta["uid"] + "-again"})
                return status
            return original(self, claim, pod, allocation)  # type: ignore[no-any-return]

        return new_status

    patch.wrap(f"{WRITER}.new_status", wrapped)


@mutant("binder-overwrites-allocation", rule="KAI-113")
def _(patch: Patch) -> None:
    """An entry's allocation replaces the one that is there."""
    patch.replace(f"{WRITER}.check_same_allocation", lambda self, *args: None)

    def wrapped(original: Any) -> Any:
        def new_status(self: Any, claim: Obj, pod: Obj, allocation: Obj | None) -> Obj | None:
            status: Obj | None = original(self, claim, pod, allocation)
            return {**(status or claim.get("status") or {}), "allocation": allocation}

        return new_status

    patch.wrap(f"{WRITER}.new_status", wrapped)
    # The API server refuses to change an allocation in one step, so the mutant takes two.
    patch.wrap(f"{WRITER}._write", _in_two_steps)


def _in_two_steps(original: Any) -> Any:
    def write(self: Any, claim: Obj, pod: Obj, allocation: Obj | None) -> None:
        if (claim.get("status") or {}).get("allocation"):
            claim = self._client.update_status(self.resource, {**claim, "status": {}})
        original(self, claim, pod, allocation)

    return write


@mutant("binder-first-entry-only", rule="KAI-114")
def _(patch: Patch) -> None:
    """Only one claim of a pod is written."""

    def wrapped(original: Any) -> Any:
        def plan_claims(self: Any, *args: Any) -> Any:
            return original(self, *args)[:1]

        return plan_claims

    patch.wrap(f"{BINDER}.plan_claims", wrapped)


@mutant("binder-refuses-idle-entries", rule="KAI-116")
def _(patch: Patch) -> None:
    """Entries for a pod without claims make the BindRequest fail."""

    def wrapped(original: Any) -> Any:
        def plan_claims(self: Any, request: Obj, pod: Obj, node: Obj) -> Any:
            if request["spec"].get("resourceClaimAllocations") and not pod["spec"].get("resourceClaims"):
                raise BindFailure("the pod has no claims")
            return original(self, request, pod, node)

        return plan_claims

    from reference_impl.binder.failure import BindFailure

    patch.wrap(f"{BINDER}.plan_claims", wrapped)


@mutant("binder-repeats-itself", rule="KAI-117")
def _(patch: Patch) -> None:
    """A BindRequest that succeeded is carried out again when it changes."""
    patch.replace(f"{BINDER}.needs_attempt", lambda self, request: True)


@mutant("binder-reserves-by-name", rule="KAI-120")
def _(patch: Patch) -> None:
    """One reservation for each name under which the pod knows the claim."""

    def wrapped(original: Any) -> Any:
        def plan_claims(self: Any, *args: Any) -> Any:
            found = original(self, *args)
            return found[:1] if len(found) > 1 else found

        return plan_claims

    def change(status: Obj, claim: Obj, pod: Obj) -> None:
        meta = pod["metadata"]
        status["reservedFor"].append({"resource": "pods", "name": meta["name"], "uid": meta["uid"] + "-right"})

    patch.wrap(f"{BINDER}.plan_claims", wrapped)
    change_new_status(patch, change)


@mutant("binder-rewrites-claims-of-bound-pods", rule="KAI-130")
def _(patch: Patch) -> None:
    """Claims are written although the pod is bound already."""
    patch.wrap(f"{BINDER}.attempt", _binding_again)


def _binding_again(original: Any) -> Any:
    def attempt(self: Any, request: Obj) -> Any:
        pod = self.find_pod(request)
        if pod["spec"].get("nodeName"):
            node = self.find_node(request)
            with contextlib.suppress(BindFailure):
                for item in self.plan_claims(request, pod, node):
                    self.claim_writer.commit(item.claim, pod, node, item.allocation, generated=item.generated)
        return original(self, request)

    from reference_impl.binder.failure import BindFailure

    return attempt


@mutant("binder-fails-bound-elsewhere", rule="KAI-131")
def _(patch: Patch) -> None:
    """A pod on another node makes the BindRequest fail."""

    def wrapped(original: Any) -> Any:
        def attempt(self: Any, request: Obj) -> Any:
            node = self.find_pod(request)["spec"].get("nodeName")
            if node and node != request["spec"]["selectedNode"]:
                return self.fail(request, None, "bound elsewhere")
            return original(self, request)

        return attempt

    patch.wrap(f"{BINDER}.attempt", wrapped)


@mutant("binder-waits-for-pod", rule="KAI-132")
def _(patch: Patch) -> None:
    """A BindRequest without its pod is left without a phase."""

    def wrapped(original: Any) -> Any:
        def reconcile_request(self: Any, request: Obj) -> None:
            if self.pods.get(request["spec"]["podName"], request["metadata"]["namespace"]) is not None:
                original(self, request)

        return reconcile_request

    patch.wrap(f"{BINDER}.reconcile_request", wrapped)


@mutant("binder-failed-is-final", rule="KAI-133")
def _(patch: Patch) -> None:
    """A Failed BindRequest is never tried again."""
    patch.wrap(f"{BINDER}.needs_attempt", _never_after_failure)


def _never_after_failure(original: Any) -> Any:
    def needs_attempt(self: Any, request: Obj) -> bool:
        return (request.get("status") or {}).get("phase") != "Failed" and bool(original(self, request))

    return needs_attempt


@mutant("binder-any-node", rule="KAI-134")
def _(patch: Patch) -> None:
    """The node is not looked for."""

    def find_node(self: Any, request: Obj) -> Obj:
        name = request["spec"]["selectedNode"]
        return {"metadata": {"name": name, "labels": {}}}

    patch.replace(f"{BINDER}.find_node", find_node)


@mutant("binder-carries-out-deleted", rule="KAI-135")
def _(patch: Patch) -> None:
    """A BindRequest that is being deleted is carried out."""

    def wrapped(original: Any) -> Any:
        def needs_attempt(self: Any, request: Obj) -> bool:
            metadata = {key: value for key, value in request["metadata"].items() if key != "deletionTimestamp"}
            return bool(original(self, {**request, "metadata": metadata}))

        return needs_attempt

    patch.wrap(f"{BINDER}.needs_attempt", wrapped)


@mutant("binder-reports-terminating-as-bound", rule="KAI-137")
def _(patch: Patch) -> None:
    """A refused binding is taken for done."""

    def wrapped(original: Any) -> Any:
        def bind(self: Any, request: Obj, pod: Obj) -> str:
            if "deletionTimestamp" in pod["metadata"]:
                return str(request["spec"]["selectedNode"])
            return str(original(self, request, pod))

        return bind

    patch.wrap(f"{BINDER}.bind", wrapped)


@mutant(
    "binder-fails-second-request",
    rule="KAI-138",
    scenario="bind_requests/binder#two-bindrequests-for-one-pod-bind-it-once",
)
def _(patch: Patch) -> None:
    """A second BindRequest for a pod fails."""
    served: dict[str, str] = {}

    def wrapped(original: Any) -> Any:
        def attempt(self: Any, request: Obj) -> Any:
            uid = request["metadata"]["uid"]
            if served.setdefault(self.find_pod(request)["metadata"]["uid"], uid) != uid:
                return self.fail(request, None, "bound already")
            return original(self, request)

        return attempt

    patch.wrap(f"{BINDER}.attempt", wrapped)


@mutant("binder-binds-namesake", rule="KAI-139")
def _(patch: Patch) -> None:
    """Pods are annotated and bound by name, without their uid."""

    def bind(self: Any, pod: Obj, node: str, annotations: Any) -> None:
        nameless = {**pod, "metadata": {key: value for key, value in pod["metadata"].items() if key != "uid"}}
        self._client.bind(nameless, node, annotations=annotations)

    patch.replace("reference_impl.binder.pods:PodWriter.bind", bind)


@mutant("binder-looks-across-namespaces", rule="KAI-140")
def _(patch: Patch) -> None:
    """A pod of another namespace will do."""

    def wrapped(original: Any) -> Any:
        def find_pod(self: Any, request: Obj) -> Obj:
            for pod in self.pods.list():
                if pod["metadata"]["name"] == request["spec"]["podName"]:
                    return pod  # type: ignore[no-any-return]
            return original(self, request)  # type: ignore[no-any-return]

        return find_pod

    patch.wrap(f"{BINDER}.find_pod", wrapped)


@mutant("binder-accepts-empty-entries", rule="KAI-150")
def _(patch: Patch) -> None:
    """An entry without allocation is passed over."""

    def wrapped(original: Any) -> Any:
        def plan_claims(self: Any, request: Obj, pod: Obj, node: Obj) -> Any:
            entries = request["spec"].get("resourceClaimAllocations") or ()
            if any(not entry.get("allocation") for entry in entries):
                return []
            return original(self, request, pod, node)

        return plan_claims

    patch.wrap(f"{BINDER}.plan_claims", wrapped)


def lenient_plan(patch: Patch, phrase: str) -> None:
    """Bind a pod without its claims where planning them fails with this phrase."""

    def wrapped(original: Any) -> Any:
        def plan_claims(self: Any, *args: Any) -> Any:
            try:
                return original(self, *args)
            except BindFailure as failure:
                if phrase in str(failure):
                    return []
                raise

        return plan_claims

    from reference_impl.binder.failure import BindFailure

    patch.wrap(f"{BINDER}.plan_claims", wrapped)


@mutant("binder-ignores-unknown-entries", rule="KAI-151")
def _(patch: Patch) -> None:
    """An entry for a claim that the pod does not have is passed over."""
    lenient_plan(patch, "lacks")


@mutant("binder-ignores-missing-claims", rule="KAI-152")
def _(patch: Patch) -> None:
    """A claim that is not there is passed over."""
    lenient_plan(patch, "does not exist")


@mutant("binder-ignores-ungenerated-claims", rule="KAI-153")
def _(patch: Patch) -> None:
    """A template's claim that is not there yet is passed over."""
    patch.replace("reference_impl.binder.claims:claim_name", lambda pod, entry: entry.get("resourceClaimName"))


@mutant("binder-gives-up-on-conflict", rule="KAI-154")
def _(patch: Patch) -> None:
    """The first conflict is a failure."""
    patch.wrap(f"{WRITER}.commit", _with_tries(1))


@mutant("binder-tries-for-ever", rule="KAI-155")
def _(patch: Patch) -> None:
    """Conflicts are tried again without end."""
    patch.wrap(f"{WRITER}.commit", _with_tries(1_000_000))


def _with_tries(count: int) -> Callable[[Any], Any]:
    def wrapped(original: Any) -> Any:
        def commit(self: Any, *args: Any, **more: Any) -> None:
            self._options = dataclasses.replace(self._options, conflict_tries=count, conflict_delay=0.00001)
            original(self, *args, **more)

        return commit

    return wrapped


@mutant("binder-forces-its-copy", rule="KAI-156")
def _(patch: Patch) -> None:
    """The status is written without a resource version, from an old copy."""

    def write(self: Any, claim: Obj, pod: Obj, allocation: Obj | None) -> None:
        status = self.new_status(claim, pod, allocation)
        if status is not None:
            name, namespace = claim["metadata"]["name"], claim["metadata"]["namespace"]
            self._client.patch(self.resource, name, {"status": status}, namespace, subresource="status")

    patch.replace(f"{WRITER}._write", write)


@mutant("binder-swallows-refusals", rule="KAI-157")
def _(patch: Patch) -> None:
    """A claim that may not be written is passed over."""
    patch.wrap(f"{WRITER}.commit", _passing_over)


def _passing_over(original: Any) -> Any:
    def commit(self: Any, *args: Any, **more: Any) -> None:
        try:
            original(self, *args, **more)
        except ApiError:
            return

    from dra_api.client import ApiError

    return commit


@mutant("binder-overfills-claims", rule="KAI-158")
def _(patch: Patch) -> None:
    """A full claim is left as it is and the pod bound without its reservation."""
    patch.replace(f"{WRITER}.check_reservable", lambda self, claim: None)
    patch.wrap(f"{WRITER}.commit", _passing_over)


@mutant("binder-swallows-binding-errors", rule="KAI-160")
def _(patch: Patch) -> None:
    """A refused binding is taken for done."""

    def wrapped(original: Any) -> Any:
        def bind(self: Any, *told: Any) -> None:
            try:
                original(self, *told)
            except ApiError:
                return

        return bind

    from dra_api.client import ApiError

    patch.wrap("reference_impl.binder.pods:PodWriter.bind", wrapped)


@mutant("binder-wants-free-claims", rule="KAI-161")
def _(patch: Patch) -> None:
    """A claim that is allocated already is an obstacle, whoever allocated it."""

    def refuse(self: Any, claim: Obj, held: Obj, wanted: Obj) -> None:
        raise BindFailure("allocated already")

    from reference_impl.binder.failure import BindFailure

    patch.replace(f"{WRITER}.check_same_allocation", refuse)


@mutant("binder-vague-reason", rule="KAI-164")
def _(patch: Patch) -> None:
    """The reason does not tell which plugin failed for which pod."""

    def wrapped(original: Any) -> Any:
        def fail(self: Any, request: Obj, pod: Obj | None, reason: str, **more: Any) -> Any:
            return original(self, request, pod, reason.rpartition(": ")[2], **more)

        return fail

    patch.wrap(f"{BINDER}.fail", wrapped)


@mutant("binder-silent-failure", rule="KAI-170")
def _(patch: Patch) -> None:
    """Neither condition nor event tell of the failure."""
    patch.replace(f"{REPORTER}.tell_failure", lambda self, request, pod, reason: None)


def change_outcome(patch: Patch, change: Callable[[Obj, Obj], Obj]) -> None:
    """Let the binder write another status into BindRequests: `change(status, request)`."""

    def wrapped(original: Any) -> Any:
        def new_status(self: Any, request: Obj, outcome: Any) -> Obj:
            return change(original(self, request, outcome), request)

        return new_status

    patch.wrap(f"{REPORTER}.new_status", wrapped)


def _counting(status: Obj, request: Obj) -> Obj:
    if status["phase"] == "Failed":
        status["failedAttempts"] = int((request.get("status") or {}).get("failedAttempts") or 0) + 1
    return status


@mutant("binder-counts-without-limit", rule="KAI-171")
def _(patch: Patch) -> None:
    """Attempts are counted although there is no limit."""
    change_outcome(patch, _counting)


@mutant("binder-never-counts", rule="KAI-172")
def _(patch: Patch) -> None:
    """Attempts are not counted."""
    change_outcome(patch, lambda status, request: {k: v for k, v in status.items() if k != "failedAttempts"})


@mutant("binder-zero-limit-counts", rule="KAI-173")
def _(patch: Patch) -> None:
    """A limit of zero counts attempts."""
    change_outcome(patch, _counting)


@mutant("binder-counts-beyond-limit", rule="KAI-174")
def _(patch: Patch) -> None:
    """Attempts are counted beyond the limit."""
    change_outcome(patch, _counting)


@mutant("binder-claims-bound-after-failure", rule="KAI-177")
def _(patch: Patch) -> None:
    """After a second failure the pod is said to be bound."""

    def wrapped(original: Any) -> Any:
        def tell_failure(self: Any, request: Obj, pod: Obj | None, reason: str) -> None:
            if (request.get("status") or {}).get("phase") == "Failed" and pod is not None:
                self.tell_success(pod, request["spec"]["selectedNode"])
            else:
                original(self, request, pod, reason)

        return tell_failure

    patch.wrap(f"{REPORTER}.tell_failure", wrapped)


@mutant("binder-phase-stays-failed", rule="KAI-178")
def _(patch: Patch) -> None:
    """A success after a failure is not written."""

    def change(status: Obj, request: Obj) -> Obj:
        return {} if (request.get("status") or {}).get("phase") == "Failed" else status

    change_outcome(patch, change)


@mutant("binder-unsays-success", rule="KAI-179")
def _(patch: Patch) -> None:
    """A BindRequest that succeeded fails when it is looked at again."""
    done: set[str] = set()

    def wrapped(original: Any) -> Any:
        def attempt(self: Any, request: Obj) -> Any:
            uid = request["metadata"]["uid"]
            if uid in done or (request.get("status") or {}).get("phase") == "Succeeded":
                done.add(uid)
                return Outcome(reason="again", final=True)
            return original(self, request)

        return attempt

    from reference_impl.binder.report import Outcome

    patch.replace(f"{BINDER}.needs_attempt", lambda self, request: request["metadata"]["uid"] not in done)
    patch.wrap(f"{BINDER}.attempt", wrapped)


@mutant("binder-writes-pending", rule="KAI-180")
def _(patch: Patch) -> None:
    """A failed attempt is written as Pending."""
    change_outcome(patch, lambda status, request: {**status, "phase": "Pending"})


@mutant("binder-loses-phase", rule="KAI-182")
def _(patch: Patch) -> None:
    """A phase that could not be written is forgotten."""

    def wrapped(original: Any) -> Any:
        def record(self: Any, request: Obj, outcome: Any) -> None:
            try:
                original(self, request, outcome)
            except ApiError:
                return

        return record

    from dra_api.client import ApiError

    patch.wrap(f"{REPORTER}.record", wrapped)


@mutant("binder-ignores-annotation-errors", rule="KAI-183")
def _(patch: Patch) -> None:
    """A pod that could not be annotated is bound all the same."""

    def bind(self: Any, pod: Obj, node: str, annotations: Any) -> None:
        meta = pod["metadata"]
        with contextlib.suppress(ApiError):
            self._client.patch(PODS, meta["name"], {"metadata": {"annotations": annotations}}, meta["namespace"])
        self._client.bind(pod, node)

    from dra_api.client import ApiError
    from dra_api.objects import PODS

    patch.replace("reference_impl.binder.pods:PodWriter.bind", bind)


@mutant("binder-ignores-backlog", rule="KAI-184")
def _(patch: Patch) -> None:
    """Only BindRequests that appear while the binder runs are carried out."""

    def wrapped(original: Any) -> Any:
        def start(self: Any) -> None:
            found = self._client.list(BIND_REQUESTS).items
            self.backlog = {request["metadata"]["uid"] for request in found}
            original(self)

        return start

    def needing(original: Any) -> Any:
        def needs_attempt(self: Any, request: Obj) -> bool:
            return request["metadata"]["uid"] not in self.backlog and bool(original(self, request))

        return needs_attempt

    from dra_api.objects import BIND_REQUESTS

    patch.wrap(f"{BINDER}.start", wrapped)
    patch.wrap(f"{BINDER}.needs_attempt", needing)


@mutant("binder-ignores-changes", rule="KAI-185")
def _(patch: Patch) -> None:
    """A change of a Failed BindRequest starts nothing."""
    patch.wrap(f"{BINDER}.needs_attempt", _never_after_failure)


@mutant("binder-deletes-done", rule="KAI-186")
def _(patch: Patch) -> None:
    """A BindRequest that succeeded is deleted."""

    def wrapped(original: Any) -> Any:
        def record(self: Any, request: Obj, outcome: Any) -> None:
            original(self, request, outcome)
            if outcome.bound:
                self._client.delete(BIND_REQUESTS, request["metadata"]["name"], request["metadata"]["namespace"])

        return record

    from dra_api.objects import BIND_REQUESTS

    patch.wrap(f"{REPORTER}.record", wrapped)


@mutant("binder-creates-requests", rule="KAI-187")
def _(patch: Patch) -> None:
    """The binder keeps a copy of each BindRequest."""

    def wrapped(original: Any) -> Any:
        def record(self: Any, request: Obj, outcome: Any) -> None:
            original(self, request, outcome)
            name, namespace = request["metadata"]["name"], request["metadata"]["namespace"]
            if not name.endswith("-copy"):
                made = {"apiVersion": request["apiVersion"], "kind": "BindRequest", "spec": request["spec"]}
                self._client.create(
                    BIND_REQUESTS, {**made, "metadata": {"name": f"{name}-copy", "namespace": namespace}}
                )

        return record

    from dra_api.objects import BIND_REQUESTS

    patch.wrap(f"{REPORTER}.record", wrapped)


@mutant("binder-binds-shares-without-group", rule="KAI-202")
def _(patch: Patch) -> None:
    """A share of a GPU is treated like a whole one."""
    patch.replace(f"{CHECKS}:check_resource_type", lambda request: None)


# -- all together ------------------------------------------------------------------------------------------------------


@mutant("binder-allocates-its-own-choice", rule="KAI-230")
def _(patch: Patch) -> None:
    """The binder leaves out what configuration it does not know, and chooses another device."""

    def change(status: Obj, claim: Obj, pod: Obj) -> None:
        for result in (status.get("allocation") or {}).get("devices", {}).get("results", ()):
            result["device"] = "gpu-7" if result["device"] != "gpu-7" else "gpu-6"

    change_new_status(patch, change)


@mutant("scheduler-double-allocation", rule="KAI-231")
def _(patch: Patch) -> None:
    """Devices are given to every claim that asks."""
    patch.replace("reference_impl.scheduler.claim_ledger:ClaimLedger._recount", lambda self, key, entry: False)


@mutant("scheduler-leaves-failed-binding", rule="KAI-232")
def _(patch: Patch) -> None:
    """A failed BindRequest is nobody's business."""
    patch.replace(FAILED, lambda request: False)


@mutant("scheduler-never-frees", rule="KAI-233")
def _(patch: Patch) -> None:
    """A device that was given once is never free again."""
    patch.replace("reference_impl.scheduler.allocator.taken:Taken.remove", lambda self, results: None)


@mutant("binder-one-consumer", rule="KAI-235")
def _(patch: Patch) -> None:
    """A claim has one consumer at most."""

    def wrapped(original: Any) -> Any:
        def check_reservable(self: Any, claim: Obj) -> None:
            if (claim.get("status") or {}).get("reservedFor"):
                raise BindFailure("in use")
            original(self, claim)

        return check_reservable

    from reference_impl.binder.failure import BindFailure

    patch.wrap(f"{WRITER}.check_reservable", wrapped)


@mutant("binder-binds-at-once", rule="DRA-250b")
def _(patch: Patch) -> None:
    """The binder asks nobody whether devices are ready."""
    patch.replace("reference_impl.binder.devices:needs_work", lambda claim: False)


@mutant("binder-writes-no-time", rule="DRA-250b")
def _(patch: Patch) -> None:
    """The claim does not say since when its devices have to get ready."""
    patch.replace("reference_impl.binder.claims:ClaimWriter._with_time", lambda self, allocation: allocation)


@mutant("binder-hears-no-claims", rule="DRA-250b")
def _(patch: Patch) -> None:
    """The binder looks again only when the time is over."""
    patch.replace("reference_impl.binder.devices:DeviceWaits.on_claim", lambda self, change: None)


@mutant("binder-waits-for-failed-devices", rule="DRA-251b")
def _(patch: Patch) -> None:
    """A failure condition is no reason to stop."""
    patch.replace("reference_impl.binding_conditions:failure", lambda claim: "")


@mutant("binder-keeps-lost-devices", rule="DRA-251b")
def _(patch: Patch) -> None:
    """A request that failed for good leaves its claim allocated."""
    patch.replace("reference_impl.binder.reconcile:Binder.roll_back", lambda self, request, pod: "")


@mutant("binder-waits-for-ever", rule="DRA-252b")
def _(patch: Patch) -> None:
    """A device may take as long as it likes."""
    patch.replace("reference_impl.binding_conditions:seconds_left", lambda claim, now, timeout: timeout)


@mutant("impatient-binder", rule="DRA-252b")
def _(patch: Patch) -> None:
    """A device has a minute."""
    patch.wrap(
        "reference_impl.binding_conditions:seconds_left",
        lambda original: lambda claim, now, timeout: original(claim, now, timeout / 10),
    )
