"""Faults of the claim controller, one for each rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dra_api.objects import EVENTS, RESOURCE_CLAIMS
from dra_conformance.core.invented_names import invented
from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.claim_controller.controller import TransientFailure

Obj = dict[str, Any]

_CONTROLLER = "reference_impl.claim_controller.controller:ClaimController"
_GENERATE = "reference_impl.claim_controller.generate"
_RECORDER = "reference_impl.recorder:EventRecorder"


def _claims_lose(patch: Patch, *names: str) -> None:
    """Claims are created without some of their metadata."""

    def make(original: Callable[..., Obj]) -> Callable[..., Obj]:
        def claim_from(*args: Any) -> Obj:
            claim = original(*args)
            for name in names:
                claim["metadata"].pop(name, None)
            return claim

        return claim_from

    patch.wrap(f"{_GENERATE}:claim_from", make)


@mutant("claim-without-owner", rule="DRA-100")
def _(patch: Patch) -> None:
    """Generated claims belong to no pod."""
    _claims_lose(patch, "ownerReferences")


@mutant("claim-without-annotation", rule="DRA-100")
def _(patch: Patch) -> None:
    """Generated claims lack the annotation with the entry's name."""
    _claims_lose(patch, "annotations")


@mutant("claim-without-labels", rule="DRA-100")
def _(patch: Patch) -> None:
    """The template's labels are lost."""
    _claims_lose(patch, "labels")


@mutant("claim-not-recorded", rule="DRA-101")
def _(patch: Patch) -> None:
    """The pod's status names no claim."""
    patch.replace(f"{_CONTROLLER}.record_claims", lambda self, pod, wanted: None)


@mutant("long-names-not-shortened", rule="DRA-102")
def _(patch: Patch) -> None:
    """The API server truncates the name, and the entry's name is lost."""
    patch.replace(f"{_GENERATE}:generate_name", lambda pod, claim: f"{pod}-{claim}-")


@mutant("names-that-fit-are-shortened", rule="DRA-102b")
def _(patch: Patch) -> None:
    """Names of 57 characters together are shortened as well, which takes the second hyphen."""
    patch.wrap(
        f"{_GENERATE}:generate_name",
        lambda original: lambda pod, claim: f"{pod}-{claim}" if len(f"{pod}{claim}") == 55 else original(pod, claim),
    )


@mutant("no-event-for-missing-template", rule="DRA-103")
def _(patch: Patch) -> None:
    """There is no event for a missing template."""
    patch.replace(f"{_CONTROLLER}.report_failure", lambda self, pod, message: None)


@mutant("missing-template-not-retried", rule="DRA-103")
def _(patch: Patch) -> None:
    """A pod whose template is missing is never retried."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def sync_pod(self: Any, pod: Obj) -> None:
            try:
                original(self, pod)
            except TransientFailure:
                return

        return sync_pod

    patch.wrap(f"{_CONTROLLER}.sync_pod", make)
    # A new template would trigger another attempt.
    patch.replace(f"{_CONTROLLER}._on_template", lambda self, change: None)


@mutant("event-of-each-attempt", rule="DRA-103b")
def _(patch: Patch) -> None:
    """Each attempt has an event of its own."""
    patch.replace(f"{_RECORDER}._remember", lambda self, key, name, count: None)


@mutant("expired-event-is-patched", rule="DRA-103b")
def _(patch: Patch) -> None:
    """An event that is gone is not recorded again."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def write(self: Any, event: Any) -> None:
            if (known := self._written.get(event.key)) is None:
                original(self, event)
                return
            name, count = known
            changes = {"count": count + 1, "lastTimestamp": event.at}
            self._client.patch(EVENTS, name, changes, event.regarding["namespace"])  # NotFound goes to the log
            self._remember(event.key, name, count + 1)

        return write

    patch.wrap(f"{_RECORDER}._write", make)


@mutant("event-without-time-of-last-attempt", rule="DRA-103b")
def _(patch: Patch) -> None:
    """The time of the last attempt is that of the first."""
    first: dict[Any, str] = {}

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def write(self: Any, event: Any) -> None:
            original(self, replace(event, at=first.setdefault(event.key, event.at)))

        return write

    patch.wrap(f"{_RECORDER}._write", make)


@mutant("deleted-claim-not-recreated", rule="DRA-104")
def _(patch: Patch) -> None:
    """The controller assumes that a claim in the pod's status exists."""
    patch.replace(f"{_CONTROLLER}.is_still_there", lambda self, pod, name: True)


@mutant("existing-claim-not-found", rule="DRA-105")
def _(patch: Patch) -> None:
    """The controller finds claims only through the pod's status."""
    patch.replace(f"{_CONTROLLER}.find_owned", lambda self, pod, name: None)


def _also_valid(patch: Patch, extra: Callable[[Any, Obj, Obj], bool]) -> None:
    """Consumers for which `extra` is true are kept too."""

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        return lambda self, claim, entry: extra(self, claim, entry) or original(self, claim, entry)

    patch.wrap(f"{_CONTROLLER}.is_valid_consumer", make)


def _pod_of(controller: Any, claim: Obj, entry: Obj) -> Obj | None:
    found: Obj | None = controller.pods.get(str(entry["name"]), claim["metadata"]["namespace"])
    return found


@mutant("finished-pods-keep-devices", rule="DRA-108")
def _(patch: Patch) -> None:
    """A pod that ended keeps its reservation as long as its object exists."""
    _also_valid(patch, lambda self, claim, entry: _pod_of(self, claim, entry) is not None)


@mutant("finished-pods-reserved-again", rule="DRA-108b")
def _(patch: Patch) -> None:
    """A pod that ended is treated as bound by another component, and reserved again."""
    patch.replace(f"{_CONTROLLER}.needs_claims", lambda self, pod: not pod["metadata"].get("deletionTimestamp"))

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        def should_reserve(self: Any, pod: Obj, claim: Obj, *, generated: bool) -> bool:
            return original(self, {**pod, "status": {**pod["status"], "phase": "Running"}}, claim, generated=generated)

        return should_reserve

    patch.wrap(f"{_CONTROLLER}.should_reserve", make)

    # Pods are synchronised again when their claim changes, which is when the reservation has been removed.
    def look_again(original: Callable[..., None]) -> Callable[..., None]:
        def sync_claim(self: Any, claim: Obj) -> None:
            original(self, claim)
            for pod in self.pods.list(claim["metadata"]["namespace"]):
                self.sync_pod(pod)

        return sync_claim

    patch.wrap(f"{_CONTROLLER}.sync_claim", look_again)


@mutant("deleted-pods-keep-devices", rule="DRA-108")
def _(patch: Patch) -> None:
    """The reservation of a deleted pod is never removed."""
    _also_valid(patch, lambda self, claim, entry: _pod_of(self, claim, entry) is None)


@mutant("allocation-outlives-its-consumers", rule="DRA-109")
def _(patch: Patch) -> None:
    """A claim without consumers stays allocated."""

    def release(self: Any, claim: Obj, kept: list[Obj]) -> Obj:
        written: Obj = self._write_status(claim, {**claim["status"], "reservedFor": kept})
        return written

    patch.replace(f"{_CONTROLLER}.release", release)


@mutant("protection-outlives-its-allocation", rule="DRA-109")
def _(patch: Patch) -> None:
    """The finalizer is kept when the claim is deallocated."""
    patch.replace(f"{_CONTROLLER}._unprotect", lambda self, claim: claim)


@mutant("deallocated-with-first-consumer", rule="DRA-110")
def _(patch: Patch) -> None:
    """A claim is deallocated when its first consumer is gone."""
    patch.wrap(f"{_CONTROLLER}.release", lambda original: lambda self, claim, kept: original(self, claim, []))


@mutant("unknown-consumers-dropped", rule="DRA-111")
def _(patch: Patch) -> None:
    """Consumers that are not pods are removed."""

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        return lambda self, claim, entry: entry.get("resource") == "pods" and original(self, claim, entry)

    patch.wrap(f"{_CONTROLLER}.is_valid_consumer", make)


@mutant("reservations-matched-by-name", rule="DRA-112")
def _(patch: Patch) -> None:
    """Reservations are matched by name, not by uid."""
    patch.replace(f"{_CONTROLLER}.is_same_pod", lambda self, pod, uid: True)


@mutant("unused-claim-deallocated", rule="DRA-113")
def _(patch: Patch) -> None:
    """A claim that was never reserved is deallocated."""

    def is_ending(self: Any, claim: Obj) -> bool:
        # Without an allocation, the finalizer may be that of an allocation which is being written.
        return self.is_protected(claim) and "allocation" in (claim.get("status") or {})

    patch.replace(f"{_CONTROLLER}.is_ending", is_ending)


@mutant("deleted-claim-never-ends", rule="DRA-114")
def _(patch: Patch) -> None:
    """The finalizer of a deleted claim is kept."""
    patch.replace(f"{_CONTROLLER}.is_ending", lambda self, claim: False)


@mutant("deleted-claim-ends-at-once", rule="DRA-115")
def _(patch: Patch) -> None:
    """A claim in use is deallocated as soon as it is deleted."""

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        def valid(self: Any, claim: Obj, entry: Obj) -> bool:
            # A claim without valid consumers is deallocated.
            return "deletionTimestamp" not in claim["metadata"] and original(self, claim, entry)

        return valid

    patch.wrap(f"{_CONTROLLER}.is_valid_consumer", make)


@mutant("claims-of-finished-pods-stay", rule="DRA-116")
def _(patch: Patch) -> None:
    """Generated claims are kept until the pod is deleted."""
    patch.replace(f"{_CONTROLLER}.should_delete", lambda self, claim: False)


@mutant("running-pods-count-as-done", rule="DRA-116")
def _(patch: Patch) -> None:
    """The claim of a pod that runs is deleted."""
    target = "reference_impl.claim_controller.pod_state:is_done"
    patch.wrap(
        target, lambda original: lambda pod: original(pod) or (pod.get("status") or {}).get("phase") == "Running"
    )


@mutant("claims-of-users-deleted", rule="DRA-117")
def _(patch: Patch) -> None:
    """Claims that users created are deleted with their last pod."""

    def make(original: Callable[..., Obj]) -> Callable[..., Obj]:
        def release(self: Any, claim: Obj, kept: list[Obj]) -> Obj:
            written = original(self, claim, kept)
            if not kept:
                metadata = claim["metadata"]
                self._client.delete(RESOURCE_CLAIMS, metadata["name"], metadata["namespace"])
            return written

        return release

    patch.wrap(f"{_CONTROLLER}.release", make)


@mutant("assigned-pods-not-reserved", rule="DRA-118")
def _(patch: Patch) -> None:
    """Pods that are created with a node get no reservation."""
    patch.replace(f"{_CONTROLLER}.should_reserve", lambda self, pod, claim, *, generated: False)


@mutant("claims-of-other-owners-reserved", rule="DRA-118b")
def _(patch: Patch) -> None:
    """The owner of a claim that the pod's status names is not checked before the claim is reserved."""

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        return lambda self, pod, claim, *, generated: original(self, pod, claim, generated=False)

    patch.wrap(f"{_CONTROLLER}.should_reserve", make)


@mutant("assigned-pods-get-allocations", rule="DRA-119")
def _(patch: Patch) -> None:
    """The controller allocates claims of pods that are created with a node."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def reserve(self: Any, pod: Obj) -> None:
            for entry in pod["spec"]["resourceClaims"]:
                claim = self.claims.get(entry["resourceClaimName"], pod["metadata"]["namespace"])
                if claim is not None and not (claim.get("status") or {}).get("allocation"):
                    request = claim["spec"]["devices"]["requests"][0]["name"]
                    # Any device will do, because the fault is that the controller allocates.
                    result = {"request": request, "driver": invented("paper"), "pool": "p", "device": "d"}
                    self._write_status(claim, {"allocation": {"devices": {"results": [result]}}})
            original(self, pod)

        return reserve

    patch.wrap(f"{_CONTROLLER}.reserve_for_scheduled", make)


@mutant("event-without-reason-of-refusal", rule="DRA-121")
def _(patch: Patch) -> None:
    """The event has no reason for the refused claim."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        return lambda self, pod, message: original(self, pod, "cannot make a claim")

    patch.wrap(f"{_CONTROLLER}.report_failure", make)
