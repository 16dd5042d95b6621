"""Faults of a scheduler that show when something changes while it decides and writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dra_api.clock import timestamp
from dra_api.objects import controller_of, uid_of
from dra_conformance.engine.mutation import Patch, mutant

Obj = dict[str, Any]

_SCHEDULER = "reference_impl.scheduler"
_PUBLISHER = f"{_SCHEDULER}.publish:DirectPublisher"


@mutant(
    "claim-of-another-pod-used",
    rule="DRA-106",
    scenario="allocation/direct_binding#a-pod-does-not-use-a-claim-that-it-does-not-own",
)
def _(patch: Patch) -> None:
    """A claim that any pod owns is used for the template of this pod."""
    patch.replace(f"{_SCHEDULER}.pod_claims:belongs_to", lambda claim, pod: controller_of(claim) is not None)


@mutant("claim-named-twice-needs-two-devices", rule="DRA-128b")
def _(patch: Patch) -> None:
    """Each entry of a pod that names a claim needs devices of its own."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def resolve(pod: Obj, find: Any) -> Any:
            found, seen = [], set()
            for one in original(pod, find):
                name = one.claim["metadata"]["name"]
                # Under another name it is a claim of its own for the search.
                other = {**one.claim["metadata"], "name": f"{name}-again"} if name in seen else one.claim["metadata"]
                found.append(replace(one, claim={**one.claim, "metadata": other}))
                seen.add(name)
            return found

        return resolve

    patch.wrap(f"{_SCHEDULER}.pod_claims:resolve", make)


@mutant(
    "second-reservation-of-a-failed-attempt-kept",
    rule="DRA-139",
    scenario="allocation/direct_binding#a-pod-whose-third-claim-cannot-be-allocated-has-no-reservation-of-the-others",
)
def _(patch: Patch) -> None:
    """If a claim cannot be reserved, only the first reservation before it is taken back."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def unreserve(self: Any, claim: Obj, pod: Obj) -> None:
            if claim["metadata"]["name"] != "second":
                original(self, claim, pod)

        return unreserve

    patch.wrap(f"{_PUBLISHER}.unreserve", make)


@mutant("reservation-in-the-cache-believed", rule="DRA-128d")
def _(patch: Patch) -> None:
    """A claim that is reserved for the pod in the cache is not written again."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def reserve(self: Any, claim: Obj, allocation: Obj, pod: Obj) -> None:
            if not any(one["uid"] == uid_of(pod) for one in claim.get("status", {}).get("reservedFor", ())):
                original(self, claim, allocation, pod)

        return reserve

    patch.wrap(f"{_PUBLISHER}._reserve", make)


@mutant("deleted-slice-kept-for-known-nodes", rule="DRA-127b")
def _(patch: Patch) -> None:
    """Nodes that the scheduler has looked at keep the devices of a deleted slice."""

    def drop_slice(self: Any, name: str) -> None:
        pool = self._slice_pool.pop(name, None)
        if pool is not None:
            self._slices[pool].pop(name, None)

    patch.replace(f"{_SCHEDULER}.pool_index:PoolIndex.drop_slice", drop_slice)


@mutant("claim-allocated-elsewhere-reserved", rule="DRA-130")
def _(patch: Patch) -> None:
    """A claim that got another allocation during the write is reserved for the node that was decided before."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def check_still_ours(current: Obj, claim: Obj, allocation: Obj) -> None:
            original({**current, "status": {}}, claim, allocation)

        return check_still_ours

    patch.wrap(f"{_PUBLISHER}.check_still_ours", make)


@mutant("extended-resource-claim-found-by-owner", rule="DRA-345")
def _(patch: Patch) -> None:
    """After a lost response any claim that the pod owns is taken for that of its extended resources."""
    patch.replace(
        f"{_SCHEDULER}.extended_resources:is_claim_of",
        lambda claim, pod: (controller_of(claim) or {}).get("uid") == uid_of(pod),
    )


@mutant("replaced-claim-gets-the-former-allocation", rule="DRA-133g")
def _(patch: Patch) -> None:
    """After a conflict the allocation is written to whatever claim has the name."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def check_still_ours(current: Obj, claim: Obj, allocation: Obj) -> None:
            original(current, {**claim, "metadata": {**claim["metadata"], "uid": uid_of(current)}}, allocation)

        return check_still_ours

    patch.wrap(f"{_PUBLISHER}.check_still_ours", make)


@mutant("pod-not-looked-at-when-its-status-names-another-claim", rule="DRA-122b")
def _(patch: Patch) -> None:
    """Only the number of the claims in a pod's status is compared."""

    def make(original: Callable[[Obj, Obj], bool]) -> Callable[[Obj, Obj], bool]:
        def matters(before: Obj, after: Obj) -> bool:
            former = (before.get("status") or {}).get("resourceClaimStatuses") or []
            named = (after.get("status") or {}).get("resourceClaimStatuses") or []
            if len(former) == len(named):
                after = {**after, "status": {**(after.get("status") or {}), "resourceClaimStatuses": former}}
                before = {**before, "status": {**(before.get("status") or {}), "resourceClaimStatuses": former}}
            return original(before, after)

        return matters

    patch.wrap(f"{_SCHEDULER}.cluster_view:_matters", make)


@mutant("claim-of-a-former-pod-used", rule="DRA-106")
def _(patch: Patch) -> None:
    """The owner of a claim is compared by kind and name."""

    def belongs_to(claim: Obj, pod: Obj) -> bool:
        owner = controller_of(claim) or {}
        return (owner.get("kind"), owner.get("name")) == ("Pod", pod["metadata"]["name"])

    patch.replace(f"{_SCHEDULER}.pod_claims:belongs_to", belongs_to)


@mutant("scheduler-replaces-finalizers", rule="DRA-128c")
def _(patch: Patch) -> None:
    """The list of finalizers is written as a whole."""

    def wrapped(original: Any) -> Any:
        def protect(self: Any, claim: Obj) -> Obj:
            bare: Obj = {**claim, "metadata": {**claim["metadata"], "finalizers": []}}
            return original(self, bare)  # type: ignore[no-any-return]

        return protect

    patch.wrap(f"{_PUBLISHER}.protect", wrapped)


@mutant("condition-time-moves-with-its-message", rule="DRA-124b")
def _(patch: Patch) -> None:
    """Each condition PodScheduled has the present time."""
    patch.replace(f"{_SCHEDULER}.pod_condition:transition_time", lambda pod, now: timestamp(now))


@mutant("condition-with-the-time-of-another-one", rule="DRA-124b")
def _(patch: Patch) -> None:
    """PodScheduled takes the time of the first condition that is False, whatever its type."""

    def make(original: Callable[..., str]) -> Callable[..., str]:
        def transition_time(pod: Obj, now: Any) -> str:
            conditions = [{**one, "type": "PodScheduled"} for one in (pod.get("status") or {}).get("conditions") or ()]
            return original({**pod, "status": {"conditions": conditions}}, now)

        return transition_time

    patch.wrap(f"{_SCHEDULER}.pod_condition:transition_time", make)


@mutant("consumers-counted-only", rule="DRA-130d")
@mutant("scheduler-counts-own-consumer", rule="KAI-049b")
def _(patch: Patch) -> None:
    """A claim with 256 consumers is full also for a pod that is one of them, as in KAI 0.12."""

    def consumers_left(claim: Obj, pod: Obj) -> bool:
        return len((claim.get("status") or {}).get("reservedFor") or ()) < 256

    patch.replace(f"{_SCHEDULER}.pod_claims:consumers_left", consumers_left)
