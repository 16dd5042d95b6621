"""Faults in the BindRequests that the scheduler writes, which the chapter bind_requests must catch."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

from dra_api.objects import BIND_REQUESTS, RESOURCE_CLAIMS, Obj
from dra_conformance.engine.mutation import Patch, mutant

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
            again = copy.deepcopy(self._client.list(BIND_REQUESTS, decision.pod["metadata"]["namespace"]).items[0])
            # Without uid, labels and owner: only the spec is repeated.
            again["metadata"] = {"name": again["metadata"]["name"] + "-2", "namespace": again["metadata"]["namespace"]}
            self._client.create(BIND_REQUESTS, again)

        return publish

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


@mutant("scheduler-writes-phase", rule="KAI-014")
def _(patch: Patch) -> None:
    """The scheduler writes the phase Pending."""

    def wrapped(original: Any) -> Any:
        def publish(self: Any, decision: Any) -> None:
            original(self, decision)
            for request in self._client.list(BIND_REQUESTS, decision.pod["metadata"]["namespace"]).items:
                name, namespace = request["metadata"]["name"], request["metadata"]["namespace"]
                self._client.patch(
                    BIND_REQUESTS, name, {"status": {"phase": "Pending"}}, namespace, subresource="status"
                )

        return publish

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


@mutant("scheduler-takes-mig-for-regular", rule="KAI-019")
def _(patch: Patch) -> None:
    """A pod with MIG devices gets a regular BindRequest."""
    patch.replace("reference_impl.scheduler.bind_requests:received_type", lambda requests: "Regular")


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


@mutant("scheduler-omits-template-claims", rule="KAI-021")
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
    """Claims that are already allocated get no entry."""

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

    patch.wrap("reference_impl.scheduler.publish:BindRequestPublisher.publish", wrapped)


def change_events(patch: Patch, recorder: str, reason: str) -> None:
    """Let a component record no event with this reason."""

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


@mutant("scheduler-does-not-retry-after-refusal", rule="KAI-027")
def _(patch: Patch) -> None:
    """A pod whose BindRequest was refused is never retried."""
    patch.replace("reference_impl.scheduler.scheduler:Scheduler.retry_later", lambda self, key, pod: None)
    patch.replace(
        "reference_impl.scheduler.binding_queue:BindingQueue._publish_again", lambda self, key, decision: False
    )


@mutant("scheduler-reports-a-refusal-as-unschedulable", rule="KAI-474")
def _(patch: Patch) -> None:
    """The reason BindingError is overwritten, as in KAI 0.12 and 0.17."""

    def wrapped(original: Any) -> Any:
        def write_condition(self: Any, pod: Obj, reason: str, message: str) -> Any:
            return original(self, pod, "Unschedulable" if reason == "BindingError" else reason, message)

        return write_condition

    patch.wrap("reference_impl.scheduler.binding_queue:BindingQueue.write_condition", wrapped)


@mutant("scheduler-overwrites-foreign-request", rule="KAI-028")
def _(patch: Patch) -> None:
    """Another pod's BindRequest of the same name is deleted."""

    def wrapped(original: Any) -> Any:
        def publish(self: Any, decision: Any) -> None:
            pod = decision.pod["metadata"]
            self._client.delete_if_there(BIND_REQUESTS, pod["name"], pod["namespace"])
            original(self, decision)

        return publish

    patch.wrap("reference_impl.scheduler.publish:BindRequestPublisher.publish", wrapped)


@mutant("scheduler-ignores-gates", rule="KAI-034")
def _(patch: Patch) -> None:
    """Scheduling gates are ignored."""

    def wrapped(original: Any) -> Any:
        def is_ours(self: Any, pod: Obj) -> bool:
            spec = {key: value for key, value in pod["spec"].items() if key != "schedulingGates"}
            return bool(original(self, {**pod, "spec": spec}))

        return is_ours

    patch.wrap("reference_impl.scheduler.scheduler:Scheduler.is_ours", wrapped)


@mutant("scheduler-all-is-one", rule="KAI-051")
def _(patch: Patch) -> None:
    """Allocation mode All allocates one device."""

    def change(entries: list[Obj]) -> list[Obj]:
        for entry in entries:
            del entry["allocation"]["devices"]["results"][1:]
        return entries

    change_entries(patch, change)


@mutant("scheduler-claims-overlap", rule="KAI-056")
def _(patch: Patch) -> None:
    """The claims of one pod are allocated independently, on the same devices."""

    def change(entries: list[Obj]) -> list[Obj]:
        first = entries[0]["allocation"]["devices"]["results"][0]
        for entry in entries[1:]:
            entry["allocation"]["devices"]["results"][0]["device"] = first["device"]
        return entries

    change_entries(patch, change)


@mutant("scheduler-request-outlives-pod", rule="KAI-079")
def _(patch: Patch) -> None:
    """Without an owner, the BindRequest is kept when its pod is deleted."""
    change_request(patch, lambda request, *_: request["metadata"].pop("ownerReferences"))


@mutant("scheduler-omits-claims-with-alternatives", rule="KAI-450")
def _(patch: Patch) -> None:
    """The entry of a claim with firstAvailable is missing, as in KAI 0.12."""

    def alternative(entry: Obj) -> bool:
        return any("/" in result["request"] for result in entry["allocation"]["devices"]["results"])

    change_entries(patch, lambda entries: [entry for entry in entries if not alternative(entry)])


@mutant("scheduler-labels-with-the-pods-name", rule="KAI-483")
def _(patch: Patch) -> None:
    """The pod's name is the value of a label, as in KAI 0.12."""

    def change(request: Obj, pod: Obj, node: str) -> None:
        request["metadata"]["labels"]["pod-name"] = pod["metadata"]["name"]

    change_request(patch, change)
