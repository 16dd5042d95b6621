"""Faults between a BindRequest and its binding: the hazards of the protocol."""

from __future__ import annotations

from typing import Any

from dra_api.objects import RESOURCE_CLAIMS, name_of
from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.binder.failure import BindFailure

SCHEDULER = "reference_impl.scheduler.scheduler:Scheduler"
VIEW = "reference_impl.scheduler.cluster_view:ClusterView"
WRITER = "reference_impl.binder.claims:ClaimWriter"


@mutant("promises-of-extended-resources-ignored", rule="KAI-052b")
def _(patch: Patch) -> None:
    """Only the claims of a BindRequest count as promised, as in KAI 0.17."""

    def wrapped(original: Any) -> Any:
        def promised(request: Any, pod: Any) -> Any:
            spec = {**request["spec"], "extendedResourceClaimAllocation": None}
            return original({**request, "spec": spec}, pod)

        return staticmethod(promised)

    patch.wrap(f"{VIEW}._promised", wrapped)


@mutant("promises-of-extended-resources-by-name", rule="KAI-052b")
def _(patch: Patch) -> None:
    """What is promised to extended resources is kept by the name of the pod, without its namespace."""
    key_for = "reference_impl.scheduler.extended_resources:key_for"
    patch.replace(key_for, lambda pod: ("", f"<extended-resources>/{name_of(pod)}"))


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


def _hazard(name: str) -> str:
    return f"bind_requests/hazards#{name}"


@mutant(
    "allocated-claims-not-shared",
    rule="KAI-235",
    scenario=_hazard(
        "hazard-h1-pods-that-share-a-claim-are-bound-although-it-is-not-allocated-yet-when-the-second-is-scheduled"
    ),
)
def _(patch: Patch) -> None:
    """A BindRequest with an allocation fails if its claim has one already, also the same."""

    def wrapped(original: Any) -> Any:
        def new_status(self: Any, claim: Any, pod: Any, allocation: Any) -> Any:
            if allocation is not None and (claim.get("status") or {}).get("allocation"):
                raise BindFailure("allocated already")
            return original(self, claim, pod, allocation)

        return new_status

    patch.wrap(f"{WRITER}.new_status", wrapped)


@mutant(
    "failed-binding-ties-the-pod-to-its-node",
    rule="KAI-160b",
    scenario=_hazard("hazard-h4-a-pod-whose-binding-fails-is-not-tied-to-the-node-of-its-first-attempt"),
)
def _(patch: Patch) -> None:
    """After a failed binding the claim is no longer reserved, but stays allocated."""

    def release(self: Any, claim: Any, pod: Any) -> None:
        status = {**claim["status"], "reservedFor": []}
        self._client.update_status(RESOURCE_CLAIMS, {**claim, "status": status})

    patch.replace(f"{WRITER}.release", release)


@mutant(
    "extended-claim-used-while-it-is-deleted",
    rule="KAI-119b",
    scenario=_hazard("hazard-h5-a-pod-whose-first-bindings-fail-is-bound-with-a-claim-that-stays"),
)
def _(patch: Patch) -> None:
    """After a failed binding the new claim is deleted once more, when the pod has been bound with it."""

    def wrapped(original: Any) -> Any:
        def commit(self: Any, pod: Any, node: Any, entry: Any) -> Any:
            claim = original(self, pod, node, entry)
            self._client.delete(RESOURCE_CLAIMS, claim["metadata"]["name"], claim["metadata"]["namespace"])
            return claim

        return commit

    patch.wrap("reference_impl.binder.extended:ExtendedClaims.commit", wrapped)


@mutant(
    "bindrequests-found-by-the-bare-name-of-the-pod",
    rule="KAI-140",
    scenario=_hazard("hazard-h8-pods-of-one-name-in-two-namespaces-are-both-bound"),
)
def _(patch: Patch) -> None:
    """The BindRequest of a pod of the same name counts, whatever its namespace."""

    def bind_requests_of(self: Any, pod: Any) -> list[Any]:
        return [one for one in self.requests.values() if one["spec"].get("podName") == pod[1]]

    patch.replace(f"{VIEW}.bind_requests_of", bind_requests_of)
