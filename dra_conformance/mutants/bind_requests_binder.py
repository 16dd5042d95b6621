"""Faults in how the binder processes a BindRequest: claims, reservations, the binding; for bind_requests."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from dra_api.objects import RESOURCE_CLAIMS, Obj
from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.binder.failure import BindFailure

BINDER = "reference_impl.binder.reconcile:Binder"


WRITER = "reference_impl.binder.claims:ClaimWriter"


REPORTER = "reference_impl.binder.report:Reporter"


CHECKS = "reference_impl.binder.checks"


@mutant("binder-does-not-bind", rule="KAI-100")
def _(patch: Patch) -> None:
    """The phase says Succeeded although nothing was bound."""
    patch.replace("reference_impl.binder.pods:PodWriter.bind", lambda self, *told: None)


@mutant("binder-no-annotation", rule="KAI-101")
def _(patch: Patch) -> None:
    """The pod lacks the annotation with the resource type."""
    patch.replace("reference_impl.binder.pods:annotations_for", lambda request: {})


@mutant("binder-drops-zones", rule="KAI-102")
def _(patch: Patch) -> None:
    """Predicted zones are not copied to the pod."""
    patch.replace("reference_impl.binder.pods:NUMA_PREDICTED", "kai.scheduler/elsewhere")


@mutant("binder-silent-success", rule="KAI-103")
def _(patch: Patch) -> None:
    """There is no condition and no event for the binding."""
    patch.replace(f"{REPORTER}.report_success", lambda self, pod, node: None)


@mutant("binder-only-kai-pods", rule="KAI-104")
def _(patch: Patch) -> None:
    """Pods of other schedulers are refused."""

    def wrapped(original: Any) -> Any:
        def check_pod(pod: Obj) -> None:
            # The scheduler name in the scenario.
            if pod["spec"].get("schedulerName") == "other-scheduler":
                raise BindFailure("not ours")
            original(pod)

        return check_pod

    patch.wrap(f"{CHECKS}:check_pod", wrapped)


@mutant("binder-uses-bind-request-name-for-pod", rule="KAI-105")
def _(patch: Patch) -> None:
    """The binder binds the pod that has the name of the BindRequest."""

    def wrapped(original: Any) -> Any:
        def find_pod(self: Any, request: Obj) -> Obj:
            spec = {**request["spec"], "podName": request["metadata"]["name"]}
            return original(self, {**request, "spec": spec})  # type: ignore[no-any-return]

        return find_pod

    patch.wrap(f"{BINDER}.find_pod", wrapped)


@mutant("binder-stops-at-failure", rule="KAI-106")
def _(patch: Patch) -> None:
    """After one failure no other BindRequest is processed."""
    # A list, because the nested functions share it.
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
    """The claim is allocated without reservation."""
    change_new_status(patch, lambda status, *_: status.pop("reservedFor", None))


@mutant("binder-skips-template-claims", rule="KAI-108")
def _(patch: Patch) -> None:
    """Claims of templates are not written."""

    def wrapped(original: Any) -> Any:
        def commit(self: Any, claim: Obj, *args: Any, generated: bool) -> Any:
            return claim if generated else original(self, claim, *args, generated=generated)

        return commit

    patch.wrap(f"{WRITER}.commit", wrapped)


@mutant("binder-binds-first", rule="KAI-109")
def _(patch: Patch) -> None:
    """The pod is bound before its claims are written."""

    def wrapped(original: Any) -> Any:
        def plan_claims(self: Any, request: Obj, pod: Obj, node: Obj) -> Any:
            found = original(self, request, pod, node)
            # Claims are written after the plan was made.
            self.pod_writer.bind(pod, node["metadata"]["name"], {})
            return found

        return plan_claims

    patch.wrap(f"{BINDER}.plan_claims", wrapped)


@mutant("binder-replaces-consumers", rule="KAI-111")
def _(patch: Patch) -> None:
    """A new reservation replaces the existing ones."""

    def change(status: Obj, claim: Obj, pod: Obj) -> None:
        status["reservedFor"] = status["reservedFor"][-1:]

    change_new_status(patch, change)


@mutant("binder-reserves-twice", rule="KAI-112")
def _(patch: Patch) -> None:
    """A pod that already has a reservation is added again, under another name."""

    def change(status: Obj | None, claim: Obj, pod: Obj) -> None:
        return None

    def wrapped(original: Any) -> Any:
        def new_status(self: Any, claim: Obj, pod: Obj, allocation: Obj | None) -> Obj | None:
            status = copy.deepcopy(claim.get("status") or {})
            again = [entry for entry in status.get("reservedFor") or () if entry["uid"].endswith("-again")]
            if original(self, claim, pod, allocation) is None and not again:
                meta = pod["metadata"]
                # Another uid, because the API server refuses the same consumer twice (rule DRA-086).
                status["reservedFor"].append({"resource": "pods", "name": meta["name"], "uid": meta["uid"] + "-again"})
                return status
            return original(self, claim, pod, allocation)  # type: ignore[no-any-return]

        return new_status

    patch.wrap(f"{WRITER}.new_status", wrapped)


@mutant("binder-overwrites-allocation", rule="KAI-113")
def _(patch: Patch) -> None:
    """An entry's allocation replaces an existing one."""
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
    def write(self: Any, claim: Obj, pod: Obj, allocation: Obj | None) -> Any:
        if (claim.get("status") or {}).get("allocation"):
            claim = self._client.update_status(RESOURCE_CLAIMS, {**claim, "status": {}})
        return original(self, claim, pod, allocation)

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

    patch.wrap(f"{BINDER}.plan_claims", wrapped)


@mutant("binder-processes-succeeded-again", rule="KAI-117")
def _(patch: Patch) -> None:
    """A BindRequest that succeeded is processed again when it changes."""
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
        # Another uid, because the API server refuses the same consumer twice (rule DRA-086).
        status["reservedFor"].append({"resource": "pods", "name": meta["name"], "uid": meta["uid"] + "-right"})

    patch.wrap(f"{BINDER}.plan_claims", wrapped)
    change_new_status(patch, change)


@mutant("binder-binds-shares-without-group", rule="KAI-202")
def _(patch: Patch) -> None:
    """A fractional GPU is treated like a whole one."""
    patch.replace(f"{CHECKS}:check_resource_type", lambda request, *, shares: None)


@mutant("binder-allocates-its-own-choice", rule="KAI-230")
def _(patch: Patch) -> None:
    """The binder drops unknown configuration, and allocates another device."""

    def change(status: Obj, claim: Obj, pod: Obj) -> None:
        for result in (status.get("allocation") or {}).get("devices", {}).get("results", ()):
            result["device"] = "gpu-7" if result["device"] != "gpu-7" else "gpu-6"

    change_new_status(patch, change)


@mutant("binder-one-consumer", rule="KAI-235")
def _(patch: Patch) -> None:
    """A claim has one consumer at most."""

    def wrapped(original: Any) -> Any:
        def check_usable(self: Any, claim: Obj) -> None:
            if (claim.get("status") or {}).get("reservedFor"):
                raise BindFailure("in use")
            original(self, claim)

        return check_usable

    patch.wrap(f"{WRITER}.check_usable", wrapped)
