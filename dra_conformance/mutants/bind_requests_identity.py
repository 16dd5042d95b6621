"""Faults of a binder that takes one object for another of its name or owner; for bind_requests."""

from __future__ import annotations

from typing import Any

from dra_api.objects import BIND_REQUESTS, PODS, Obj, controller_of, meta, name_of, namespace_of, uid_of
from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.binder.failure import BindFailure

_BINDER = "reference_impl.binder.reconcile:Binder"


@mutant("binder-compares-owners-by-name", rule="KAI-139c")
def _(patch: Patch) -> None:
    """A pod with the name of the owner is taken for the owner."""

    def check_identity(request: Obj, pod: Obj) -> None:
        owners = [owner["name"] for owner in meta(request).get("ownerReferences") or () if owner["kind"] == "Pod"]
        if owners and name_of(pod) not in owners:
            raise BindFailure(f"the BindRequest was made for {owners}")

    patch.replace("reference_impl.binder.checks:check_identity", check_identity)


@mutant("binder-takes-another-bound-pod-for-success", rule="KAI-160b")
def _(patch: Patch) -> None:
    """After the last attempt, a bound pod of the name ends the BindRequest without a roll-back."""

    def wrapped(original: Any) -> Any:
        def roll_back(self: Any, request: Obj, pod: Obj) -> str:
            current = self._client.find(PODS, name_of(pod), namespace_of(pod)) or {}
            return str((current.get("spec") or {}).get("nodeName") or original(self, request, pod))

        return roll_back

    patch.wrap(f"{_BINDER}.roll_back", wrapped)


@mutant("binder-writes-outcomes-by-name", rule="KAI-142b")
def _(patch: Patch) -> None:
    """The status is patched without uid or resourceVersion."""

    def record(self: Any, request: Obj, outcome: Any) -> None:
        status = {"status": self.new_status(request, outcome)}
        self._client.patch(BIND_REQUESTS, name_of(request), status, namespace_of(request), subresource="status")

    patch.replace("reference_impl.binder.report:Reporter.record", record)


@mutant("binder-takes-any-claim-of-the-pod-for-extended-resources", rule="KAI-119c")
def _(patch: Patch) -> None:
    """The first claim that the pod controls is used for its extended resources, whatever its annotations are."""

    def is_extended_resource_claim(claim: Obj) -> bool:
        owner = controller_of(claim)
        return owner is not None and owner.get("kind") == "Pod" and bool(uid_of(claim))

    patch.replace("reference_impl.binder.extended:is_extended_resource_claim", is_extended_resource_claim)
