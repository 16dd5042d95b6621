"""Faults in the status of BindRequests that the binder writes: phase, reason, attempts; for bind_requests."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from dra_api.client import ApiError
from dra_api.objects import BIND_REQUESTS, PODS, Obj
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.mutants.binder_patches import skip_attempts
from reference_impl.binder.report import Outcome

BINDER = "reference_impl.binder.reconcile:Binder"


REPORTER = "reference_impl.binder.report:Reporter"


@mutant("binder-vague-reason", rule="KAI-164")
def _(patch: Patch) -> None:
    """The reason does not name the plugin and the pod."""

    def wrapped(original: Any) -> Any:
        def fail(self: Any, request: Obj, pod: Obj | None, reason: str, **more: Any) -> Any:
            # The text before the last colon names the plugin and the pod.
            return original(self, request, pod, reason.rpartition(": ")[2], **more)

        return fail

    patch.wrap(f"{BINDER}.fail", wrapped)


@mutant("binder-silent-failure", rule="KAI-170")
def _(patch: Patch) -> None:
    """There is no condition and no event for the failure."""
    patch.replace(f"{REPORTER}.report_failure", lambda self, request, pod, reason: None)


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
    """After a second failure the condition PodBound is True."""

    def wrapped(original: Any) -> Any:
        def report_failure(self: Any, request: Obj, pod: Obj | None, reason: str) -> None:
            if (request.get("status") or {}).get("phase") == "Failed" and pod is not None:
                self.report_success(pod, request["spec"]["selectedNode"])
            else:
                original(self, request, pod, reason)

        return report_failure

    patch.wrap(f"{REPORTER}.report_failure", wrapped)


@mutant("binder-phase-stays-failed", rule="KAI-178")
def _(patch: Patch) -> None:
    """A success after a failure is not written."""

    def change(status: Obj, request: Obj) -> Obj:
        return {} if (request.get("status") or {}).get("phase") == "Failed" else status

    change_outcome(patch, change)


@mutant("binder-fails-succeeded-request", rule="KAI-179")
def _(patch: Patch) -> None:
    """A BindRequest that succeeded fails when it is processed again."""
    done: set[str] = set()

    def wrapped(original: Any) -> Any:
        def attempt(self: Any, request: Obj) -> Any:
            uid = request["metadata"]["uid"]
            if uid in done or (request.get("status") or {}).get("phase") == "Succeeded":
                done.add(uid)
                return Outcome(reason="again", final=True)
            return original(self, request)

        return attempt

    # Once for each BindRequest: writing the failure would otherwise start the next attempt.
    patch.replace(f"{BINDER}.needs_attempt", lambda self, request: request["metadata"]["uid"] not in done)
    patch.wrap(f"{BINDER}.attempt", wrapped)


@mutant("binder-writes-pending", rule="KAI-180")
def _(patch: Patch) -> None:
    """A failed attempt is written as Pending."""
    change_outcome(patch, lambda status, request: {**status, "phase": "Pending"})


@mutant("binder-does-not-retry-phase", rule="KAI-182")
def _(patch: Patch) -> None:
    """Writing the phase is not retried."""

    def wrapped(original: Any) -> Any:
        def record(self: Any, request: Obj, outcome: Any) -> None:
            try:
                original(self, request, outcome)
            except ApiError:
                return

        return record

    patch.wrap(f"{REPORTER}.record", wrapped)


@mutant("binder-ignores-annotation-errors", rule="KAI-183")
def _(patch: Patch) -> None:
    """A pod is bound although annotating it failed."""

    def bind(self: Any, pod: Obj, node: str, annotations: Any) -> None:
        meta = pod["metadata"]
        # A request of its own, so that its failure does not affect the binding.
        with contextlib.suppress(ApiError):
            self._client.patch(PODS, meta["name"], {"metadata": {"annotations": annotations}}, meta["namespace"])
        self._client.bind(pod, node)

    patch.replace("reference_impl.binder.pods:PodWriter.bind", bind)


@mutant("binder-ignores-backlog", rule="KAI-184")
def _(patch: Patch) -> None:
    """Only BindRequests that are created while the binder runs are processed."""

    def wrapped(original: Any) -> Any:
        def start(self: Any) -> None:
            # Before the start: the list has only BindRequests that the binder finds when it starts.
            found = self._client.list(BIND_REQUESTS).items
            self.backlog = {request["metadata"]["uid"] for request in found}
            original(self)

        return start

    patch.wrap(f"{BINDER}.start", wrapped)
    skip_attempts(patch, lambda binder, request: request["metadata"]["uid"] in binder.backlog)


@mutant("binder-deletes-done", rule="KAI-186")
def _(patch: Patch) -> None:
    """A BindRequest that succeeded is deleted."""

    def wrapped(original: Any) -> Any:
        def record(self: Any, request: Obj, outcome: Any) -> None:
            original(self, request, outcome)
            if outcome.bound:
                self._client.delete(BIND_REQUESTS, request["metadata"]["name"], request["metadata"]["namespace"])

        return record

    patch.wrap(f"{REPORTER}.record", wrapped)


@mutant("binder-creates-requests", rule="KAI-187")
def _(patch: Patch) -> None:
    """The binder keeps a copy of each BindRequest."""

    def wrapped(original: Any) -> Any:
        def record(self: Any, request: Obj, outcome: Any) -> None:
            original(self, request, outcome)
            name, namespace = request["metadata"]["name"], request["metadata"]["namespace"]
            # The copies are processed too: without this check each would be copied again.
            if not name.endswith("-copy"):
                made = {"apiVersion": request["apiVersion"], "kind": "BindRequest", "spec": request["spec"]}
                self._client.create(
                    BIND_REQUESTS, {**made, "metadata": {"name": f"{name}-copy", "namespace": namespace}}
                )

        return record

    patch.wrap(f"{REPORTER}.record", wrapped)


@mutant(
    "binder-reports-bound-for-a-deleted-request",
    rule="KAI-177",
    scenario="bind_requests/binder#a-bindrequest-for-a-fractional-gpu-without-a-group-is-deleted",
)
def _(patch: Patch) -> None:
    """After the deletion of an invalid BindRequest the pod is reported as bound, as KAI 0.12 and 0.17 do."""

    def wrapped(original: Any) -> Any:
        def discard(self: Any, request: Obj, pod: Obj | None, reason: str) -> None:
            original(self, request, pod, reason)
            if pod is not None:
                self.reporter.report_success(pod, request["spec"]["selectedNode"])

        return discard

    patch.wrap(f"{BINDER}.discard", wrapped)


@mutant(
    "binder-reports-bound-while-a-retry-is-due",
    rule="KAI-177",
    scenario="bind_requests/binder_fails#a-pod-that-stays-unbound-is-not-reported-as-bound-retries[with-a-retry-after-a-failure]",
)
def _(patch: Patch) -> None:
    """A failure with a backoffLimit has the event of a success, as in KAI 0.12 and 0.17; the condition is right."""

    def wrapped(original: Any) -> Any:
        def report_failure(self: Any, request: Obj, pod: Obj | None, reason: str) -> None:
            original(self, request, pod, reason)
            if pod is not None and request["spec"].get("backoffLimit"):
                self._recorder.event(pod, "Normal", "Bound", "Pod bound successfully")

        return report_failure

    patch.wrap(f"{REPORTER}.report_failure", wrapped)


@mutant("binder-writes-the-first-count-only", rule="KAI-172b")
def _(patch: Patch) -> None:
    """The count is written with a change of the phase only, as in KAI 0.12 and 0.17."""

    def change(status: Obj, request: Obj) -> Obj:
        before = request.get("status") or {}
        return {**status, "failedAttempts": before["failedAttempts"]} if before.get("phase") == "Failed" else status

    change_outcome(patch, change)


@mutant("binder-drops-an-unwritten-phase", rule="KAI-182b")
def _(patch: Patch) -> None:
    """A BindRequest whose phase could not be written is never looked at again."""
    dropped: set[str] = set()

    def recording(original: Any) -> Any:
        def record(self: Any, request: Obj, outcome: Any) -> None:
            try:
                original(self, request, outcome)
            except ApiError:
                dropped.add(request["metadata"]["uid"])

        return record

    patch.wrap(f"{REPORTER}.record", recording)
    skip_attempts(patch, lambda binder, request: request["metadata"]["uid"] in dropped)


@mutant("binder-keeps-the-reason", rule="KAI-178b")
def _(patch: Patch) -> None:
    """The reason of a failure stays in the status of a BindRequest that succeeds later, as in KAI 0.12 and 0.17."""

    def wrapped(original: Any) -> Any:
        def new_status(self: Any, request: Obj, outcome: Outcome) -> Obj:
            status: Obj = original(self, request, outcome)
            return {key: value for key, value in status.items() if value is not None}

        return new_status

    patch.wrap(f"{REPORTER}.new_status", wrapped)
