"""Faults that only a component shows that was killed and started again."""

from __future__ import annotations

from typing import Any

from dra_api.allocations import results_of_allocation
from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.binder import pods
from reference_impl.binder.failure import BindFailure

SCHEDULER = "reference_impl.scheduler.scheduler:Scheduler"
BINDER = "reference_impl.binder.reconcile:Binder"
WRITER = "reference_impl.binder.claims:ClaimWriter"


@mutant("scheduler-skips-pods-of-its-first-list", rule="DRA-374")
def _(patch: Patch) -> None:
    """Pods that were there before the scheduler started wait until they are changed."""

    def wrapped(original: Any) -> Any:
        def on_view_change(self: Any, what: str, key: Any) -> None:
            # The informer of pods is the last one.
            if what == "pod" and self._informers and not self._informers[-1].synced:
                return
            original(self, what, key)

        return on_view_change

    patch.wrap(f"{SCHEDULER}._on_view_change", wrapped)


@mutant("scheduler-keeps-devices-of-its-first-list", rule="DRA-375")
def _(patch: Patch) -> None:
    """Devices of claims that were allocated before the scheduler started stay in use when they are free again."""

    def wrapped(original: Any) -> Any:
        def set_status(self: Any, key: Any, allocation: Any) -> Any:
            # An allocation that this process has decided about has an entry already.
            if allocation is not None and key not in self._entries:
                self.taken.add(results_of_allocation(allocation))
            return original(self, key, allocation)

        return set_status

    patch.wrap("reference_impl.scheduler.claim_ledger:ClaimLedger.set_status", wrapped)


@mutant("binder-skips-requests-of-its-first-list", rule="KAI-263")
def _(patch: Patch) -> None:
    """BindRequests that were there before the binder started wait until they are changed."""

    def wrapped(original: Any) -> Any:
        def on_bind_request(self: Any, change: Any) -> None:
            if self.bind_requests.synced:
                original(self, change)

        return on_bind_request

    patch.wrap(f"{BINDER}._on_bind_request", wrapped)


@mutant("restarted-binder-refuses-bound-pods", rule="KAI-263")
def _(patch: Patch) -> None:
    """A pod that is bound already was bound by another component: the BindRequest fails."""

    def wrapped(original: Any) -> Any:
        def find_pod(self: Any, request: Any) -> Any:
            pod = original(self, request)
            if pods.node_of(pod):
                raise BindFailure("the pod is bound already")
            return pod

        return find_pod

    patch.wrap(f"{BINDER}.find_pod", wrapped)
    patch.replace(f"{BINDER}.roll_back", lambda self, request, pod: "")


@mutant("finalizer-counts-as-allocated", rule="KAI-263")
def _(patch: Patch) -> None:
    """A claim with the finalizer counts as written, although its status may be missing."""

    def wrapped(original: Any) -> Any:
        def write(self: Any, claim: Any, pod: Any, allocation: Any) -> Any:
            return original(self, claim, pod, allocation) if self.needs_finalizer(claim) else claim

        return write

    patch.wrap(f"{WRITER}._write", wrapped)
