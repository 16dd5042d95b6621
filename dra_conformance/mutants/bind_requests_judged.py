"""Faults in which BindRequests the binder processes, refuses or retries; for bind_requests."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from typing import Any

from dra_api.client import ApiError
from dra_api.objects import PODS, RESOURCE_CLAIMS, Obj
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.mutants.binder_patches import ignore_claim_errors, skip_attempts
from reference_impl.binder.attempts import fingerprint
from reference_impl.binder.failure import BindFailure
from reference_impl.binder.report import Outcome

BINDER = "reference_impl.binder.reconcile:Binder"


WRITER = "reference_impl.binder.claims:ClaimWriter"


@mutant("binder-rewrites-claims-of-bound-pods", rule="KAI-130")
def _(patch: Patch) -> None:
    """Claims are updated although the pod is already bound."""
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
    """A BindRequest without its pod gets no phase."""

    def wrapped(original: Any) -> Any:
        def reconcile_request(self: Any, request: Obj) -> None:
            if self._client.find(PODS, request["spec"]["podName"], request["metadata"]["namespace"]) is not None:
                original(self, request)

        return reconcile_request

    patch.wrap(f"{BINDER}.reconcile_request", wrapped)


@mutant("binder-failed-is-final", rule="KAI-133")
def _(patch: Patch) -> None:
    """A Failed BindRequest is never retried."""
    skip_attempts(patch, _has_failed)


def _has_failed(binder: Any, request: Obj) -> bool:
    return (request.get("status") or {}).get("phase") == "Failed"


@mutant("binder-any-node", rule="KAI-134")
def _(patch: Patch) -> None:
    """The existence of the node is not checked."""

    def find_node(self: Any, request: Obj) -> Obj:
        name = request["spec"]["selectedNode"]
        return {"metadata": {"name": name, "labels": {}}}

    patch.replace(f"{BINDER}.find_node", find_node)


@mutant("binder-processes-terminating-request", rule="KAI-135")
def _(patch: Patch) -> None:
    """A BindRequest that is being deleted is processed."""

    def wrapped(original: Any) -> Any:
        def needs_attempt(self: Any, request: Obj) -> bool:
            metadata = {key: value for key, value in request["metadata"].items() if key != "deletionTimestamp"}
            return bool(original(self, {**request, "metadata": metadata}))

        return needs_attempt

    patch.wrap(f"{BINDER}.needs_attempt", wrapped)


@mutant("binder-reports-terminating-as-bound", rule="KAI-137")
def _(patch: Patch) -> None:
    """A refused binding counts as done."""

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
    # The uid of the first BindRequest of each pod, by the pod's uid.
    served: dict[str, str] = {}

    def wrapped(original: Any) -> Any:
        def attempt(self: Any, request: Obj) -> Any:
            uid = request["metadata"]["uid"]
            if served.setdefault(self.find_pod(request)["metadata"]["uid"], uid) != uid:
                return self.fail(request, None, "bound already")
            return original(self, request)

        return attempt

    patch.wrap(f"{BINDER}.attempt", wrapped)


@mutant("binder-ignores-pod-uid", rule="KAI-139")
def _(patch: Patch) -> None:
    """Pods are annotated and bound by name, without their uid."""

    def bind(self: Any, pod: Obj, node: str, annotations: Any) -> None:
        nameless = {**pod, "metadata": {key: value for key, value in pod["metadata"].items() if key != "uid"}}
        self._client.bind(nameless, node, annotations=annotations)

    patch.replace("reference_impl.binder.pods:PodWriter.bind", bind)


@mutant("binder-ignores-namespaces", rule="KAI-140")
def _(patch: Patch) -> None:
    """A pod of another namespace is bound."""

    def wrapped(original: Any) -> Any:
        def find_pod(self: Any, request: Obj) -> Obj:
            for pod in self._client.list(PODS).items:
                if pod["metadata"]["name"] == request["spec"]["podName"]:
                    return pod  # type: ignore[no-any-return]
            return original(self, request)  # type: ignore[no-any-return]

        return find_pod

    patch.wrap(f"{BINDER}.find_pod", wrapped)


@mutant("binder-accepts-empty-entries", rule="KAI-150")
def _(patch: Patch) -> None:
    """An entry without allocation is ignored."""

    def wrapped(original: Any) -> Any:
        def plan_claims(self: Any, request: Obj, pod: Obj, node: Obj) -> Any:
            entries = request["spec"].get("resourceClaimAllocations") or ()
            if any(not entry.get("allocation") for entry in entries):
                return []
            return original(self, request, pod, node)

        return plan_claims

    patch.wrap(f"{BINDER}.plan_claims", wrapped)


def lenient_plan(patch: Patch, phrase: str) -> None:
    """Bind a pod without its claims if planning them fails with this phrase."""

    def wrapped(original: Any) -> Any:
        def plan_claims(self: Any, *args: Any) -> Any:
            try:
                return original(self, *args)
            except BindFailure as failure:
                if phrase in str(failure):
                    return []
                # Other failures stay failures.
                raise

        return plan_claims

    patch.wrap(f"{BINDER}.plan_claims", wrapped)


@mutant("binder-ignores-unknown-entries", rule="KAI-151")
def _(patch: Patch) -> None:
    """An entry for a claim that the pod does not have is ignored."""
    lenient_plan(patch, "lacks")


@mutant("binder-ignores-missing-claims", rule="KAI-152")
def _(patch: Patch) -> None:
    """A claim that does not exist is ignored."""
    lenient_plan(patch, "does not exist")


@mutant("binder-ignores-ungenerated-claims", rule="KAI-153")
def _(patch: Patch) -> None:
    """A template's claim that does not exist yet is ignored."""
    patch.replace("reference_impl.binder.claims:claim_name", lambda pod, entry: entry.get("resourceClaimName"))


@mutant("binder-does-not-retry-conflicts", rule="KAI-154")
def _(patch: Patch) -> None:
    """The first conflict is a failure."""
    patch.wrap(f"{WRITER}.commit", _with_tries(1))


@mutant("binder-retries-without-limit", rule="KAI-155")
def _(patch: Patch) -> None:
    """Conflicts are retried without a limit."""
    patch.wrap(f"{WRITER}.commit", _with_tries(1_000_000))


def _with_tries(count: int) -> Callable[[Any], Any]:
    def wrapped(original: Any) -> Any:
        def commit(self: Any, *args: Any, **more: Any) -> Any:
            self._options = dataclasses.replace(self._options, conflict_tries=count)
            return original(self, *args, **more)

        return commit

    return wrapped


@mutant("binder-overwrites-newer-claim", rule="KAI-156")
def _(patch: Patch) -> None:
    """The status is written without a resource version, from an old copy."""

    def write(self: Any, claim: Obj, pod: Obj, allocation: Obj | None) -> Obj:
        status = self.new_status(claim, pod, allocation)
        if status is not None:
            name, namespace = claim["metadata"]["name"], claim["metadata"]["namespace"]
            # A patch without a resourceVersion never conflicts.
            self._client.patch(RESOURCE_CLAIMS, name, {"status": status}, namespace, subresource="status")
        return claim

    patch.replace(f"{WRITER}._write", write)


@mutant("binder-ignores-refused-claim-updates", rule="KAI-157")
def _(patch: Patch) -> None:
    """A claim that cannot be updated is ignored."""
    ignore_claim_errors(patch, lambda error: isinstance(error, ApiError))


@mutant("binder-overfills-claims", rule="KAI-158")
def _(patch: Patch) -> None:
    """The pod is bound without its reservation in a full claim."""
    patch.replace(f"{WRITER}.check_usable", lambda self, claim: None)
    ignore_claim_errors(patch, lambda error: isinstance(error, ApiError))


@mutant("binder-ignores-binding-errors", rule="KAI-160")
def _(patch: Patch) -> None:
    """A refused binding counts as done."""

    def wrapped(original: Any) -> Any:
        def bind(self: Any, *told: Any) -> None:
            try:
                original(self, *told)
            except ApiError:
                return

        return bind

    patch.wrap("reference_impl.binder.pods:PodWriter.bind", wrapped)


@mutant("binder-refuses-allocated-claims", rule="KAI-161")
def _(patch: Patch) -> None:
    """An allocated claim makes the BindRequest fail, even if another component allocated it."""

    def refuse(self: Any, claim: Obj, held: Obj, wanted: Obj) -> None:
        raise BindFailure("allocated already")

    patch.replace(f"{WRITER}.check_same_allocation", refuse)


@mutant("binder-loses-change-during-write", rule="KAI-185")
def _(patch: Patch) -> None:
    """A change between an attempt and the write of its outcome counts as tried."""

    def wrapped(original: Any) -> Any:
        def remember(self: Any, request: Obj, outcome: Outcome) -> None:
            original(self, request, dataclasses.replace(outcome, tried=fingerprint(request)))

        return remember

    patch.wrap(f"{BINDER}.remember", wrapped)


@mutant("binder-ignores-changes", rule="KAI-185")
def _(patch: Patch) -> None:
    """A change of a Failed BindRequest is ignored."""
    skip_attempts(patch, _has_failed)
