"""Faults of the claim controller that only show with a second claim, pod, template or consumer."""

from __future__ import annotations

import contextlib
from typing import Any

from dra_api.client import NotFound
from dra_api.objects import RESOURCE_CLAIMS, Obj
from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.claim_controller import generate

CONTROLLER = "reference_impl.claim_controller.controller:ClaimController"


@mutant("claims-from-the-first-template", rule="DRA-100")
def _(patch: Patch) -> None:
    """All claims of a pod are created from the template of its first entry."""

    def wrapped(original: Any) -> Any:
        def create_claim(self: Any, pod: Obj, entry: Obj) -> Any:
            first = pod["spec"]["resourceClaims"][0]["resourceClaimTemplateName"]
            return original(self, pod, {**entry, "resourceClaimTemplateName": first})

        return create_claim

    patch.wrap(f"{CONTROLLER}.create_claim", wrapped)


@mutant("second-claim-erases-the-first", rule="DRA-101")
def _(patch: Patch) -> None:
    """Only claims that are new are written to resourceClaimStatuses, in place of those that are there."""

    def wrapped(original: Any) -> Any:
        def record_claims(self: Any, pod: Obj, wanted: Any) -> None:
            held = {entry["name"] for entry in (pod.get("status") or {}).get("resourceClaimStatuses") or ()}
            original(self, pod, {name: claim for name, claim in wanted.items() if name not in held})

        return record_claims

    patch.wrap(f"{CONTROLLER}.record_claims", wrapped)


@mutant("last-claim-recorded-alone", rule="DRA-101")
def _(patch: Patch) -> None:
    """Only the claim of the last entry is recorded."""

    def wrapped(original: Any) -> Any:
        return lambda self, pod, wanted: original(self, pod, dict(list(wanted.items())[-1:]))

    patch.wrap(f"{CONTROLLER}.record_claims", wrapped)


@mutant("claims-recorded-one-after-the-other", rule="DRA-101b")
def _(patch: Patch) -> None:
    """Claims that are new are first applied alone, which removes the others, and then all (kubernetes#138408)."""

    def wrapped(original: Any) -> Any:
        def record_claims(self: Any, pod: Obj, wanted: Any) -> None:
            held = {entry["name"] for entry in (pod.get("status") or {}).get("resourceClaimStatuses") or ()}
            original(self, pod, {name: claim for name, claim in wanted.items() if name not in held})
            original(self, pod, wanted)

        return record_claims

    patch.wrap(f"{CONTROLLER}.record_claims", wrapped)


@mutant("lost-second-claim-not-made-again", rule="DRA-104")
def _(patch: Patch) -> None:
    """Only the claim of the first entry is created again."""

    def wrapped(original: Any) -> Any:
        def is_still_there(self: Any, pod: Obj, claim_name: str) -> bool:
            first = pod["status"]["resourceClaimStatuses"][0].get("resourceClaimName")
            return claim_name != first or bool(original(self, pod, claim_name))

        return is_still_there

    patch.wrap(f"{CONTROLLER}.is_still_there", wrapped)


@mutant("claim-of-another-pod-adopted", rule="DRA-105")
def _(patch: Patch) -> None:
    """A claim is adopted by its annotation, whatever pod owns it."""

    def find_owned(self: Any, pod: Obj, claim_name: str) -> Any:
        return next((claim for claim in self.claims.list() if generate.is_claim_for(claim, claim_name)), None)

    patch.replace(f"{CONTROLLER}.find_owned", find_owned)


@mutant("claim-of-another-entry-adopted", rule="DRA-105")
def _(patch: Patch) -> None:
    """A claim is adopted by its owner, whatever entry it was created for."""

    def wrapped(original: Any) -> Any:
        def find_owned(self: Any, pod: Obj, claim_name: str) -> Any:
            found = list(self.claims.by_index("owner", pod["metadata"]["uid"]))
            return found[0] if found else original(self, pod, claim_name)

        return find_owned

    patch.wrap(f"{CONTROLLER}.find_owned", wrapped)


@mutant("first-claim-of-a-pod-released", rule="DRA-108")
def _(patch: Patch) -> None:
    """Only one claim of a pod is released."""
    released: dict[str, str] = {}

    def wrapped(original: Any) -> Any:
        def is_valid_consumer(self: Any, claim: Obj, entry: Obj) -> bool:
            if original(self, claim, entry):
                return True
            uid = str(claim["metadata"]["uid"])
            return released.setdefault(str(entry["uid"]), uid) != uid

        return is_valid_consumer

    patch.wrap(f"{CONTROLLER}.is_valid_consumer", wrapped)


@mutant("oldest-consumer-leaves", rule="DRA-110")
def _(patch: Patch) -> None:
    """If a consumer is gone, the oldest entry is removed in place of its own."""

    def wrapped(original: Any) -> Any:
        def release(self: Any, claim: Obj, kept: list[Obj]) -> Any:
            return original(self, claim, claim["status"]["reservedFor"][1:] if kept else kept)

        return release

    patch.wrap(f"{CONTROLLER}.release", wrapped)


@mutant("deleted-claim-ends-with-its-first-pod", rule="DRA-115")
def _(patch: Patch) -> None:
    """A claim that is being deleted ends when any of its pods is gone."""

    def wrapped(original: Any) -> Any:
        def release(self: Any, claim: Obj, kept: list[Obj]) -> Any:
            return original(self, claim, [] if "deletionTimestamp" in claim["metadata"] else kept)

        return release

    patch.wrap(f"{CONTROLLER}.release", wrapped)


@mutant("first-claim-of-a-finished-pod-deleted", rule="DRA-116")
def _(patch: Patch) -> None:
    """Of a pod that ended, only the claim of its first entry is deleted."""

    def wrapped(original: Any) -> Any:
        def should_delete(self: Any, claim: Obj) -> bool:
            entry = claim["metadata"].get("annotations", {}).get("resource.kubernetes.io/pod-claim-name")
            return entry != "right" and bool(original(self, claim))

        return should_delete

    patch.wrap(f"{CONTROLLER}.should_delete", wrapped)


@mutant("placed-pod-reserves-its-first-claim", rule="DRA-118")
def _(patch: Patch) -> None:
    """Only the first claim of a pod that was created with a node is reserved."""

    def wrapped(original: Any) -> Any:
        def reserve_for_scheduled(self: Any, pod: Obj) -> None:
            spec = {**pod["spec"], "resourceClaims": pod["spec"]["resourceClaims"][:1]}
            original(self, {**pod, "spec": spec})

        return reserve_for_scheduled

    patch.wrap(f"{CONTROLLER}.reserve_for_scheduled", wrapped)


@mutant("placed-pod-replaces-the-consumers", rule="DRA-118")
def _(patch: Patch) -> None:
    """The reservation of a pod that was created with a node replaces the others."""

    def wrapped(original: Any) -> Any:
        def write_status(self: Any, claim: Obj, status: Obj) -> Any:
            consumers = status.get("reservedFor") or []
            return original(self, claim, {**status, "reservedFor": consumers[-1:]} if consumers else status)

        return write_status

    patch.wrap(f"{CONTROLLER}._write_status", wrapped)


@mutant("claim-for-an-entry-that-needs-none", rule="DRA-107b")
def _(patch: Patch) -> None:
    """An entry without a claim's name counts as not recorded yet."""

    def wrapped(original: Any) -> Any:
        def ensure_claim(self: Any, pod: Obj, entry: Obj, held: Any) -> Any:
            return original(self, pod, entry, {name: claim for name, claim in held.items() if claim})

        return ensure_claim

    patch.wrap(f"{CONTROLLER}.ensure_claim", wrapped)


@mutant("wrong-record-is-kept", rule="DRA-105")
def _(patch: Patch) -> None:
    """An entry that names a claim that does not exist is left as it is."""

    def wrapped(original: Any) -> Any:
        def record_claims(self: Any, pod: Obj, wanted: Any) -> None:
            held = (pod.get("status") or {}).get("resourceClaimStatuses") or ()
            recorded = {entry["name"]: entry.get("resourceClaimName") for entry in held}
            original(self, pod, {**wanted, **recorded})

        return record_claims

    patch.wrap(f"{CONTROLLER}.record_claims", wrapped)


@mutant("consumers-of-other-groups-are-pods", rule="DRA-111")
def _(patch: Patch) -> None:
    """A consumer counts as a pod if its resource is called pods, whatever its group."""

    def wrapped(original: Any) -> Any:
        def is_valid_consumer(self: Any, claim: Obj, entry: Obj) -> bool:
            return bool(original(self, claim, {key: value for key, value in entry.items() if key != "apiGroup"}))

        return is_valid_consumer

    patch.wrap(f"{CONTROLLER}.is_valid_consumer", wrapped)


@mutant("consumers-without-a-group-are-pods", rule="DRA-111")
def _(patch: Patch) -> None:
    """A consumer counts as a pod if it has no group, whatever its resource."""

    def wrapped(original: Any) -> Any:
        def is_valid_consumer(self: Any, claim: Obj, entry: Obj) -> bool:
            return bool(original(self, claim, entry if entry.get("apiGroup") else {**entry, "resource": "pods"}))

        return is_valid_consumer

    patch.wrap(f"{CONTROLLER}.is_valid_consumer", wrapped)


@mutant("generated-claims-of-bound-pods-not-reserved", rule="DRA-118")
def _(patch: Patch) -> None:
    """Claims from templates are not reserved for a pod that another component bound."""

    def wrapped(original: Any) -> Any:
        def reserve_for_scheduled(self: Any, pod: Obj) -> None:
            named = [entry for entry in pod["spec"]["resourceClaims"] if entry.get("resourceClaimName")]
            original(self, {**pod, "spec": {**pod["spec"], "resourceClaims": named}})

        return reserve_for_scheduled

    patch.wrap(f"{CONTROLLER}.reserve_for_scheduled", wrapped)


@mutant("foreign-consumer-stops-the-claim", rule="DRA-111")
def _(patch: Patch) -> None:
    """A claim with a consumer that is no pod is not processed, as before kubernetes/kubernetes#136450."""

    def wrapped(original: Any) -> Any:
        def sync_claim(self: Any, claim: Obj) -> None:
            consumers = (claim.get("status") or {}).get("reservedFor") or ()
            if all(entry.get("resource") == "pods" for entry in consumers):
                original(self, claim)

        return sync_claim

    patch.wrap(f"{CONTROLLER}.sync_claim", wrapped)


@mutant("claim-made-again-for-its-annotation", rule="DRA-100")
def _(patch: Patch) -> None:
    """A recorded claim counts only if it has the annotation."""

    def wrapped(original: Any) -> Any:
        def is_still_there(self: Any, pod: Obj, claim_name: str) -> bool:
            claim = self.claims.get(claim_name, pod["metadata"]["namespace"]) or {"metadata": {}}
            return bool(original(self, pod, claim_name) and claim["metadata"].get("annotations"))

        return is_still_there

    patch.wrap(f"{CONTROLLER}.is_still_there", wrapped)


@mutant("template-keeps-its-own-annotation", rule="DRA-100")
def _(patch: Patch) -> None:
    """An annotation of the template takes the place of the entry's name."""

    def wrapped(original: Any) -> Any:
        def claim_from(template: Obj, pod: Obj, claim_name: str) -> Any:
            claim = original(template, pod, claim_name)
            claim["metadata"]["annotations"].update((template["spec"].get("metadata") or {}).get("annotations") or {})
            return claim

        return claim_from

    patch.wrap("reference_impl.claim_controller.generate:claim_from", wrapped)


@mutant("claims-for-pods-that-end", rule="DRA-100b")
def _(patch: Patch) -> None:
    """A pod that is being deleted gets a new claim for one that is gone."""
    patch.replace(f"{CONTROLLER}.needs_claims", lambda self, pod: True)


@mutant("another-pods-claim-is-recorded", rule="DRA-105")
def _(patch: Patch) -> None:
    """A recorded claim counts, whatever its owner."""

    def is_still_there(self: Any, pod: Obj, claim_name: str) -> bool:
        return self.claims.get(claim_name, pod["metadata"]["namespace"]) is not None

    patch.replace(f"{CONTROLLER}.is_still_there", is_still_there)


@mutant("terminating-pods-lose-their-devices", rule="DRA-110")
def _(patch: Patch) -> None:
    """A pod with a node loses its reservation as soon as its deletion begins."""

    def wrapped(original: Any) -> Any:
        return lambda pod: original(pod) or bool(pod["metadata"].get("deletionTimestamp"))

    patch.wrap("reference_impl.claim_controller.pod_state:is_done", wrapped)


@mutant("unprotected-claims-are-deallocated", rule="DRA-109b")
def _(patch: Patch) -> None:
    """An allocation is removed with the last consumer, also if another component wrote it."""
    patch.replace(f"{CONTROLLER}.is_protected", lambda self, claim: True)


@mutant("replaced-pod-keeps-the-reservation", rule="DRA-112")
def _(patch: Patch) -> None:
    """An entry stays as long as there is a pod of its name."""
    patch.replace(f"{CONTROLLER}.is_same_pod", lambda self, pod, uid: True)


@mutant("unknown-pods-lose-their-reservation", rule="DRA-112b")
def _(patch: Patch) -> None:
    """An entry of a pod that the cache does not have is removed."""

    def is_valid_consumer(self: Any, claim: Obj, entry: Obj) -> bool:
        pod = self.pods.get(entry["name"], claim["metadata"]["namespace"])
        return pod is not None and bool(pod["metadata"]["uid"] == entry["uid"])

    patch.replace(f"{CONTROLLER}.is_valid_consumer", is_valid_consumer)


@mutant("former-pod-costs-the-reservation", rule="DRA-112b")
def _(patch: Patch) -> None:
    """An entry is removed if the cache has a former pod of its name, as kube-controller-manager 1.36 does."""

    def wrapped(original: Any) -> Any:
        def is_valid_consumer(self: Any, claim: Obj, entry: Obj) -> bool:
            pod = self.pods.get(entry["name"], claim["metadata"]["namespace"])
            known = pod is None or pod["metadata"]["uid"] == entry["uid"]
            return known and bool(original(self, claim, entry))

        return is_valid_consumer

    patch.wrap(f"{CONTROLLER}.is_valid_consumer", wrapped)


@mutant("all-finalizers-go-with-the-claim", rule="DRA-114")
def _(patch: Patch) -> None:
    """The finalizers of others are removed together with delete protection."""

    def unprotect(self: Any, claim: Obj) -> Any:
        metadata = {**claim["metadata"], "finalizers": []}
        return self._client.update(self.claims.resource, {**claim, "metadata": metadata})

    patch.replace(f"{CONTROLLER}._unprotect", unprotect)


@mutant("late-allocation-is-not-reserved", rule="DRA-118")
def _(patch: Patch) -> None:
    """A claim is reserved only when its pod changes, not when it is allocated."""
    patch.replace(f"{CONTROLLER}.wake_waiting_pods", lambda self, claim: None)


@mutant("refused-claims-are-given-up", rule="DRA-120")
def _(patch: Patch) -> None:
    """A pod whose claim was refused with 403 is not processed again."""
    given_up: set[str] = set()

    def wrapped(original: Any) -> Any:
        def create_claim(self: Any, pod: Obj, entry: Obj) -> Any:
            if pod["metadata"]["uid"] in given_up:
                return {"metadata": {"name": "never"}}
            try:
                return original(self, pod, entry)
            except Exception:
                given_up.add(pod["metadata"]["uid"])
                raise

        return create_claim

    patch.wrap(f"{CONTROLLER}.create_claim", wrapped)


@mutant("replaced-pods-are-updates", rule="DRA-343b")
def _(patch: Patch) -> None:
    """A pod that a new list shows with another uid is an update of the former one."""

    def wrapped(original: Any) -> Any:
        # The former pod's end is not noticed, nor is the end of any other.
        return lambda self, change: None if change.type == "DELETED" else original(self, change)

    patch.wrap(f"{CONTROLLER}._on_pod", wrapped)


@mutant("claim-in-use-deleted-with-its-pod", rule="DRA-116b")
def _(patch: Patch) -> None:
    """The claim of a pod that ended is deleted although another consumer uses it."""

    def wrapped(original: Any) -> Any:
        def sync_claim(self: Any, claim: Obj) -> None:
            original(self, claim)
            if self.should_delete(claim):
                with contextlib.suppress(NotFound):
                    self._client.delete(RESOURCE_CLAIMS, claim["metadata"]["name"], claim["metadata"]["namespace"])

        return sync_claim

    patch.wrap(f"{CONTROLLER}.sync_claim", wrapped)


@mutant("claims-have-the-annotation-of-the-last-entry", rule="DRA-100")
def _(patch: Patch) -> None:
    """The claims of a pod from one template with annotations share these, so that the last entry's name is in all."""

    def wrapped(original: Any) -> Any:
        def claim_from(template: Obj, pod: Obj, claim_name: str) -> Obj:
            claim: Obj = original(template, pod, claim_name)
            entries = (pod.get("spec") or {}).get("resourceClaims") or ()
            same = [
                one["name"] for one in entries if one.get("resourceClaimTemplateName") == template["metadata"]["name"]
            ]
            if same and ((template["spec"].get("metadata") or {}).get("annotations")):
                claim["metadata"]["annotations"]["resource.kubernetes.io/pod-claim-name"] = same[-1]
            return claim

        return claim_from

    patch.wrap("reference_impl.claim_controller.generate:claim_from", wrapped)
