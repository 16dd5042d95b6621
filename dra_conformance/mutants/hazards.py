"""Faults between a BindRequest and its binding: the hazards of the protocol."""

from __future__ import annotations

from typing import Any

from dra_conformance.engine.mutation import Patch, mutant

SCHEDULER = "reference_impl.scheduler.scheduler:Scheduler"
VIEW = "reference_impl.scheduler.cluster_view:ClusterView"


@mutant("promises-of-extended-resources-ignored", rule="KAI-052b")
def _(patch: Patch) -> None:
    """Only the claims of a BindRequest count as promised, as in KAI 0.17."""

    def wrapped(original: Any) -> Any:
        def promised(request: Any, pod: Any) -> Any:
            spec = {**request["spec"], "extendedResourceClaimAllocation": None}
            return original({**request, "spec": spec}, pod)

        return staticmethod(promised)

    patch.wrap(f"{VIEW}._promised", wrapped)


@mutant("end-of-a-bindrequest-unnoticed", rule="KAI-079b")
def _(patch: Patch) -> None:
    """A pod that waits for the end of a former BindRequest is not scheduled when it comes."""

    def wrapped(original: Any) -> Any:
        def on_view_change(self: Any, what: str, key: Any) -> None:
            if what != "bind-request" or self.view.bind_requests_of(key):
                original(self, what, key)

        return on_view_change

    patch.wrap(f"{SCHEDULER}._on_view_change", wrapped)


@mutant("pods-wait-behind-a-refused-one", rule="KAI-232b")
def _(patch: Patch) -> None:
    """A pod that failed is scheduled before all others, until it succeeds."""

    def wrapped(original: Any) -> Any:
        def schedule(self: Any, key: Any) -> None:
            if any(failures for pod, failures in self._failures.items() if pod != key):
                self._queue.queue.add_after(key, 1.0)
            else:
                original(self, key)

        return schedule

    patch.wrap(f"{SCHEDULER}._schedule", wrapped)
