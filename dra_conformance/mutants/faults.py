"""Faults of components whose requests fail: lost decisions, wrong assumptions, and missing retries."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from dra_api.client import ApiError
from dra_api.objects import BIND_REQUESTS, RESOURCE_CLAIMS, name_of, namespace_of, uid_of
from dra_api.transport import TransportError
from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.claim_controller.generate import is_claim_for

CONTROLLER = "reference_impl.claim_controller.controller:ClaimController"
SCHEDULER = "reference_impl.scheduler.scheduler:Scheduler"
BINDING_QUEUE = "reference_impl.scheduler.binding_queue:BindingQueue"
BINDER = "reference_impl.binder.reconcile:Binder"
WRITER = "reference_impl.binder.claims:ClaimWriter"
SLICES = "reference_impl.kubelet_plugin.slices:SlicePublisher"
READER = "reference_impl.kubelet_plugin.claims:ClaimReader"
INFORMER = "dra_api.informer:Informer"
EVICTION = "reference_impl.taint_eviction.controller:TaintEviction"
DOMAINS = "reference_impl.compute_domain.controller:ComputeDomainController"
MEMBERSHIP = "reference_impl.compute_domain.membership:Membership"

Method = Callable[..., Any]


def _swallowing(instead: Any = None) -> Callable[[Method], Method]:
    """Errors of the API server are taken for success."""

    def make(original: Method) -> Method:
        def method(*args: Any, **options: Any) -> Any:
            try:
                return original(*args, **options)
            except (ApiError, TransportError):
                return instead

        return method

    return make


def _resuming_from_now(patch: Patch, mine: Callable[[Any], bool]) -> None:
    """An informer that has listed once takes only the version of later lists, as if nothing had happened meanwhile."""

    def make(original: Method) -> Method:
        def relist(self: Any) -> None:
            # The first list works as usual: only events that a later list would make up for are lost.
            if not self.synced or not mine(self):
                original(self)
                return
            listed = self._client.list(self.resource, self._namespace, field_selector=self._field_selector)
            with self._lock:
                self._version = listed.resource_version

        return relist

    patch.wrap(f"{INFORMER}._relist", make)


def _of(part: str) -> Callable[[Any], bool]:
    # All components share this process: the user agent shows which of them owns the informer.
    return lambda informer: informer._client.user_agent == f"reference-{part}"


@mutant("claim-created-without-lookup", rule="DRA-340")
def _(patch: Patch) -> None:
    """A claim that is not in the pod's status is created even if one exists."""
    patch.replace(f"{CONTROLLER}.find_owned", lambda self, pod, claim_name: None)
    patch.replace(f"{CONTROLLER}.find_stored", lambda self, pod, claim_name: None)


@mutant("failed-claim-not-retried", rule="DRA-340")
def _(patch: Patch) -> None:
    """A pod whose claims could not be created or recorded is not retried."""
    patch.wrap(f"{CONTROLLER}.sync_pod", _given_up)


def _given_up(original: Method) -> Method:
    def method(self: Any, pod: Any) -> None:
        try:
            original(self, pod)
        except (ApiError, TransportError, OSError):
            return

    return method


@mutant("existing-claim-looked-up-in-cache-only", rule="DRA-341")
def _(patch: Patch) -> None:
    """Only the cache is checked for an existing claim."""
    patch.replace(f"{CONTROLLER}.find_stored", lambda self, pod, claim_name: None)


@mutant("failed-release-not-retried", rule="DRA-342")
def _(patch: Patch) -> None:
    """A claim that could not be released is not processed again."""
    patch.wrap(f"{CONTROLLER}.release", _releasing)


def _releasing(original: Method) -> Method:
    def release(self: Any, claim: Any, kept: Any) -> Any:
        try:
            return original(self, claim, kept)
        except (ApiError, TransportError):
            return claim

    return release


@mutant("claim-controller-resumes-from-now", rule="DRA-343")
def _(patch: Patch) -> None:
    """After 410 the claim controller continues from the newest version and misses earlier events."""
    _resuming_from_now(patch, _of("claim-controller"))


@mutant("failed-decision-not-retried", rule="DRA-344")
def _(patch: Patch) -> None:
    """A pod whose decision could not be written waits until it is changed."""
    patch.replace(f"{SCHEDULER}.retry_later", lambda self, key, pod: None)


@mutant(
    "failed-request-deletion-not-retried",
    rule="DRA-344",
    scenario="faults/scheduling#a-pod-is-bound-after-a-failed-bindrequest-when-the-api-server-does-the-deletion-of-the-bindrequest"
    "[answers-500-to]",
)
def _(patch: Patch) -> None:
    """A pod whose failed BindRequest could not be deleted waits until it is changed."""

    def clean_up(self: Any, key: Any, pod: Any, stale: list[Any]) -> None:
        for request in stale:
            try:
                self._client.delete(BIND_REQUESTS, name_of(request), namespace_of(request), uid=uid_of(request))
            except ApiError:
                return
        self.retry_later(key, pod)

    patch.replace(f"{SCHEDULER}._clean_up", clean_up)


@mutant("failed-condition-not-retried", rule="DRA-373")
def _(patch: Patch) -> None:
    """The condition of a pod counts as written once the patch was sent."""
    patch.wrap(f"{BINDING_QUEUE}.write_condition", _swallowing())


@mutant(
    "failed-claim-deletion-not-retried",
    rule="DRA-342",
    scenario="faults/claims#the-claim-of-a-finished-pod-is-deleted-when-the-api-server-does-its-deletion[answers-503-to]",
)
def _(patch: Patch) -> None:
    """A claim counts as deleted once its deletion was requested, even if it failed."""

    def make(original: Method) -> Method:
        tried: set[tuple[Any, ...]] = set()

        def delete(self: Any, *what: Any, **options: Any) -> Any:
            # Only the claim controller: all components use this client class.
            if self.user_agent == "reference-claim-controller" and what in tried:
                return None
            tried.add(what)
            return original(self, *what, **options)

        return delete

    patch.wrap("dra_api.client:KubeClient.delete", make)


@mutant("unconfirmed-decision-releases-devices", rule="DRA-345")
def _(patch: Patch) -> None:
    """If no response arrives, the devices of a decision count as free at once."""
    patch.replace(f"{BINDING_QUEUE}._publish_again", lambda self, key, decision: False)


@mutant("scheduler-resumes-from-now", rule="DRA-346")
def _(patch: Patch) -> None:
    """After 410 the scheduler continues from the newest version and misses earlier events."""
    _resuming_from_now(patch, _of("scheduler"))


@mutant("failed-slice-creation-not-retried", rule="DRA-347")
def _(patch: Patch) -> None:
    """Errors of publishing are ignored."""
    patch.wrap(f"{SLICES}.sync", _swallowing())


@mutant("driver-resumes-from-now", rule="DRA-348")
def _(patch: Patch) -> None:
    """After 410 the driver continues from the newest version and misses earlier events."""
    _resuming_from_now(patch, lambda informer: "spec.driver" in informer._field_selector)


@mutant("claim-read-error-cached", rule="DRA-349")
def _(patch: Patch) -> None:
    """An error of a claim is returned again without another attempt."""

    def make(original: Method) -> Method:
        # By claim UID, for the whole life of the plugin.
        failed: dict[str, BaseException] = {}

        def read(self: Any, ref: Any) -> Any:
            if ref.uid in failed:
                raise failed[ref.uid]
            try:
                return original(self, ref)
            except Exception as error:
                failed[ref.uid] = error
                raise

        return read

    patch.wrap(f"{READER}.fetch", make)


@mutant("unconfirmed-binding-reported-as-failed", rule="KAI-260")
def _(patch: Patch) -> None:
    """A binding without a response counts as failed, even if the pod was bound."""
    patch.replace(f"{BINDER}.roll_back", lambda self, request, pod: "")


@mutant("failed-phase-not-retried", rule="KAI-260")
def _(patch: Patch) -> None:
    """A phase that could not be written counts as written."""
    patch.wrap("reference_impl.binder.report:Reporter.record", _swallowing())


@mutant("failed-claim-write-ignored", rule="KAI-261")
def _(patch: Patch) -> None:
    """The pod is bound although its claim could not be written."""
    patch.wrap(f"{WRITER}.commit", _swallowing({}))


@mutant("binder-resumes-from-now", rule="KAI-262")
def _(patch: Patch) -> None:
    """After 410 the binder continues from the newest version and misses earlier events."""
    _resuming_from_now(patch, _of("binder"))


@mutant("failed-eviction-not-retried", rule="DRA-370")
def _(patch: Patch) -> None:
    """A pod whose deletion failed is not evicted again."""
    patch.wrap(f"{EVICTION}.evict", _swallowing())


@mutant("taint-eviction-resumes-from-now", rule="DRA-371")
def _(patch: Patch) -> None:
    """After 410 the taint eviction continues from the newest version and misses earlier events."""
    _resuming_from_now(patch, _of("taint-eviction"))


@mutant("failed-slice-update-not-retried", rule="DRA-372")
def _(patch: Patch) -> None:
    """Errors of publishing are ignored."""
    patch.wrap(f"{SLICES}.sync", _swallowing())


@mutant("failed-domain-not-retried", rule="NV-195")
def _(patch: Patch) -> None:
    """A ComputeDomain is not processed again after one of its objects could not be written."""
    patch.wrap(f"{DOMAINS}.reconcile", _swallowing())


@mutant("finalizer-removed-before-objects-are-deleted", rule="NV-196")
def _(patch: Patch) -> None:
    """An object that could not be deleted counts as deleted, and the finalizer is removed."""

    def make(original: Method) -> Method:
        removed: set[str] = set()

        def remove_owned(self: Any, domain_uid: str) -> None:
            if domain_uid not in removed:
                # Before the requests: an event of a deleted object must not lead to a second attempt that makes up.
                removed.add(domain_uid)
                with contextlib.suppress(ApiError, TransportError):
                    original(self, domain_uid)

        return remove_owned

    patch.wrap(f"{DOMAINS}.remove_owned", make)


@mutant("node-joined-without-label", rule="NV-197")
def _(patch: Patch) -> None:
    """A node counts as joined after one attempt, even if its label was not written."""

    def make(original: Method) -> Method:
        joined: set[str] = set()

        def join(self: Any, uid: str) -> None:
            if uid not in joined:
                # Before the request, which may fail.
                joined.add(uid)
                original(self, uid)

        return join

    patch.wrap(f"{MEMBERSHIP}.join", make)


@mutant("claim-of-another-pod-found", rule="DRA-341")
def _(patch: Patch) -> None:
    """A claim for an entry of the same name is taken for the own one, whichever pod owns it."""

    def find_stored(self: Any, pod: Any, claim_name: str) -> Any:
        stored = self._client.list(RESOURCE_CLAIMS, pod["metadata"]["namespace"]).items
        return next((claim for claim in stored if is_claim_for(claim, claim_name)), None)

    patch.replace(f"{CONTROLLER}.find_stored", find_stored)
