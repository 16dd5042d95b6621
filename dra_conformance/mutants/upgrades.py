"""Faults of a scheduler or claim controller that takes over from one of another release, or with another feature gate.

What existed before it started is what its first list shows: an object that it has not made and that is complete when it
is first seen.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from dra_api.informer import Change
from dra_api.objects import Obj, key_of, meta, uid_of
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.mutants.pod_group_gates import ON

_VIEW = "reference_impl.scheduler.cluster_view:ClusterView"
_CONTROLLER = "reference_impl.claim_controller.controller:ClaimController"
_ANNOTATION = "resource.kubernetes.io/extended-resource-claim"
_GROUPS: dict[str, Any] = {
    "kubernetes_version": "1.37",
    "feature_gates": ("DRADeviceCompatibilityGroups=true",),
}


def _allocation(change: Change) -> Any:
    """Return the allocation that a claim has when it is first seen."""
    return (change.object.get("status") or {}).get("allocation") if change.type == "ADDED" else None


def _inherited(patch: Patch, counted: Callable[[Any, Obj, Obj], Obj]) -> None:
    """Let a scheduler count `counted(view, claim, allocation)` for claims that were allocated before it started."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def on_claim(self: Any, change: Change) -> None:
            original(self, change)
            if (allocation := _allocation(change)) is not None:
                with self.lock:
                    self.ledger.set_status(key_of(change.object), counted(self, change.object, allocation))

        return on_claim

    patch.wrap(f"{_VIEW}.on_claim", make)


def _results(allocation: Obj, change: Callable[[Obj], Obj | None]) -> Obj:
    """Return an allocation with changed results, without those for which `change` returns None."""
    results = [one for result in allocation["devices"]["results"] if (one := change(result)) is not None]
    return {**allocation, "devices": {**allocation["devices"], "results": results}}


def _nothing(allocation: Obj) -> Obj:
    """Return an allocation without devices; it still prevails over those of BindRequests."""
    return _results(allocation, lambda result: None)


def _without_capacity(result: Obj) -> Obj:
    return {key: value for key, value in result.items() if key != "consumedCapacity"}


def _features(view: Any) -> Any:
    return view._pools._features


@mutant("devices-from-before-are-free", rule="DRA-690")
def _(patch: Patch) -> None:
    """Devices of claims that another scheduler has allocated are not in use."""
    _inherited(patch, lambda view, claim, allocation: _nothing(allocation))


@mutant("pods-from-before-not-scheduled", rule="DRA-690")
def _(patch: Patch) -> None:
    """Pods that another scheduler had no room for are not tried."""
    _ignores_waiting(patch)


@mutant("devices-from-before-stay-in-use", rule="DRA-690")
def _(patch: Patch) -> None:
    """Devices of claims that another scheduler has allocated are never free."""
    _never_free(patch)


def _ignores_waiting(patch: Patch) -> None:
    def make(original: Callable[..., None]) -> Callable[..., None]:
        def on_pod(self: Any, change: Change) -> None:
            conditions = (change.object.get("status") or {}).get("conditions") or ()
            if change.type == "ADDED" and any(one["status"] == "False" for one in conditions):
                return
            original(self, change)

        return on_pod

    patch.wrap(f"{_VIEW}.on_pod", make)


def _never_free(patch: Patch) -> None:
    def make(original: Callable[..., None]) -> Callable[..., None]:
        def on_claim(self: Any, change: Change) -> None:
            known = self.__dict__.setdefault("_inherited", set())
            if _allocation(change) is not None:
                known.add(uid_of(change.object))
            elif uid_of(change.object) in known:
                return
            original(self, change)

        return on_claim

    patch.wrap(f"{_VIEW}.on_claim", make)


@mutant("shares-from-before-take-no-capacity", rule="DRA-691b")
def _(patch: Patch) -> None:
    """Shares of devices that another scheduler has allocated consume nothing."""
    _inherited(patch, lambda view, claim, allocation: _results(allocation, _without_capacity))


@mutant("partitions-from-before-take-no-counters", rule="DRA-691")
def _(patch: Patch) -> None:
    """Partitions that another scheduler has allocated consume no counters."""
    _inherited(
        patch,
        lambda view, claim, allocation: _results(allocation, lambda result: result if "shareID" in result else None),
    )


@mutant("devices-of-extended-resources-from-before-are-free", rule="DRA-692")
def _(patch: Patch) -> None:
    """Devices of pods for which another scheduler has created the claim are not in use."""
    _inherited(patch, lambda view, claim, allocation: _without_extended(claim, allocation))


@mutant("pods-with-extended-resources-from-before-not-scheduled", rule="DRA-692")
def _(patch: Patch) -> None:
    """Pods that request extended resources and wait since before are not tried."""
    _ignores_waiting(patch)


@mutant("shared-devices-free-while-disabled", rule="DRA-693")
def _(patch: Patch) -> None:
    """A scheduler without consumable capacity does not count devices that are allocated as shares."""

    def counted(view: Any, claim: Obj, allocation: Obj) -> Obj:
        if _features(view).consumable_capacity:
            return allocation
        return _results(allocation, lambda result: None if "shareID" in result else result)

    _inherited(patch, counted)


@mutant("extended-resources-while-disabled", rule="DRA-693d")
def _(patch: Patch) -> None:
    """A scheduler without extended resources creates claims for them."""
    _always(patch, extended_resources=True)


@mutant("partitions-while-disabled", rule="DRA-693c")
def _(patch: Patch) -> None:
    """A scheduler without partitionable devices allocates partitions."""
    _always(patch, partitionable_devices=True)


def _always(patch: Patch, **features: bool) -> None:
    """Let a scheduler have features whatever its feature gates are."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda gates: dataclasses.replace(original(gates), **features)

    patch.wrap("reference_impl.scheduler.options:features_of", make)


@mutant("groups-while-disabled", rule="DRA-698", **_GROUPS)
def _(patch: Patch) -> None:
    """A scheduler without compatibility groups allocates devices that have them."""
    patch.replace("reference_impl.scheduler.allocator.pools:counts", lambda item, features: True)


@mutant("pods-of-groups-not-scheduled-when-enabled-again", rule="DRA-698", **_GROUPS)
def _(patch: Patch) -> None:
    """Pods that waited for compatibility groups while these were off are not tried when they are on."""
    _ignores_waiting(patch)


@mutant("capacity-free-when-enabled-again", rule="DRA-693b")
def _(patch: Patch) -> None:
    """A scheduler with all features does not count the capacity that was consumed before it started."""
    _forgets_when_enabled(patch, lambda claim, allocation: _results(allocation, _without_capacity))


@mutant("counters-free-when-enabled-again", rule="DRA-693e", scheduler="reference:publish=direct")
def _(patch: Patch) -> None:
    """A scheduler with all features does not count the partitions that were allocated before it started."""
    _forgets_when_enabled(patch, lambda claim, allocation: _nothing(allocation))


@mutant("devices-of-extended-resources-free-when-enabled-again", rule="DRA-693f", scheduler="reference:publish=direct")
def _(patch: Patch) -> None:
    """A scheduler with all features does not count the devices of claims that existed for extended resources."""
    _forgets_when_enabled(patch, _without_extended)


def _forgets_when_enabled(patch: Patch, counted: Callable[[Obj, Obj], Obj]) -> None:
    def count(view: Any, claim: Obj, allocation: Obj) -> Obj:
        features = _features(view)
        enabled = features.consumable_capacity and features.partitionable_devices and features.extended_resources
        return counted(claim, allocation) if enabled else allocation

    _inherited(patch, count)


def _without_extended(claim: Obj, allocation: Obj) -> Obj:
    """Return the allocation, without devices if the claim is for extended resources."""
    return _nothing(allocation) if (meta(claim).get("annotations") or {}).get(_ANNOTATION) == "true" else allocation


@mutant("pods-not-scheduled-when-enabled-again", rule="DRA-694b")
def _(patch: Patch) -> None:
    """Pods that waited for partitions while these were off are not tried when they are on."""
    _ignores_waiting(patch)


@mutant("pods-with-extended-resources-not-scheduled-when-enabled-again", rule="DRA-694c")
def _(patch: Patch) -> None:
    """Pods that waited for extended resources while these were off are not tried when they are on."""
    _ignores_waiting(patch)


@mutant("devices-stay-in-use-when-enabled-again", rule="DRA-694")
def _(patch: Patch) -> None:
    """What was allocated before the feature was switched off is never free again."""
    _never_free(patch)


@mutant("claims-from-before-unknown", rule="DRA-695")
def _(patch: Patch) -> None:
    """Claims that another controller has created are created again."""
    _knows_own_claims_only(patch)


def _notes_own_claims(patch: Patch) -> None:
    """Let a claim controller note the uids of the claims that it creates, in `_own`."""

    def create(original: Callable[..., Obj]) -> Callable[..., Obj]:
        def create_claim(self: Any, pod: Obj, entry: Obj) -> Obj:
            claim = original(self, pod, entry)
            self.__dict__.setdefault("_own", set()).add(uid_of(claim))
            return claim

        return create_claim

    patch.wrap(f"{_CONTROLLER}.create_claim", create)


def _knows_own_claims_only(patch: Patch) -> None:
    def find(original: Callable[..., Any]) -> Callable[..., Any]:
        def find_owned(self: Any, pod: Obj, claim_name: str) -> Obj | None:
            found: Obj | None = original(self, pod, claim_name)
            return found if found is not None and uid_of(found) in self.__dict__.get("_own", ()) else None

        return find_owned

    def still(original: Callable[..., bool]) -> Callable[..., bool]:
        def is_still_there(self: Any, pod: Obj, claim_name: str) -> bool:
            claim = self.claims.get(claim_name, meta(pod)["namespace"])
            return claim is not None and bool(uid_of(claim) in self.__dict__.get("_own", ()))

        return is_still_there

    _notes_own_claims(patch)
    patch.wrap(f"{_CONTROLLER}.find_owned", find)
    patch.wrap(f"{_CONTROLLER}.is_still_there", still)


@mutant("reservations-from-before-removed", rule="DRA-695")
def _(patch: Patch) -> None:
    """Reservations that were written before the controller started are removed."""

    def seen(original: Callable[..., None]) -> Callable[..., None]:
        def on_claim(self: Any, change: Change) -> None:
            if change.type == "ADDED" and (change.object.get("status") or {}).get("reservedFor"):
                self.__dict__.setdefault("_inherited", set()).add(uid_of(change.object))
            original(self, change)

        return on_claim

    def valid(original: Callable[..., bool]) -> Callable[..., bool]:
        return lambda self, claim, entry: (
            uid_of(claim) not in self.__dict__.get("_inherited", ()) and original(self, claim, entry)
        )

    patch.wrap(f"{_CONTROLLER}._on_claim", seen)
    patch.wrap(f"{_CONTROLLER}.is_valid_consumer", valid)


@mutant("claims-from-before-not-released", rule="DRA-696")
def _(patch: Patch) -> None:
    """Claims whose users ended before the controller started stay as they are."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        return lambda self, change: None if change.type == "ADDED" else original(self, change)

    patch.wrap(f"{_CONTROLLER}._on_claim", make)


@mutant("claims-of-finished-pods-from-before-not-deleted", rule="DRA-696")
def _(patch: Patch) -> None:
    """A claim that another controller has created for a pod is not deleted when the pod has finished."""

    def ends(original: Callable[..., bool]) -> Callable[..., bool]:
        return lambda self, claim: uid_of(claim) in self.__dict__.get("_own", ()) and original(self, claim)

    _notes_own_claims(patch)
    patch.wrap(f"{_CONTROLLER}.should_delete", ends)


@mutant("reservation-of-group-removed-while-disabled", rule="DRA-697", **ON)
def _(patch: Patch) -> None:
    """While claims of PodGroups are off, their reservations count as those of objects that are gone."""

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        return lambda self, claim, entry: (
            original(self, claim, entry) and (self.options.group_claims or not self.groups.is_group(entry))
        )

    patch.wrap(f"{_CONTROLLER}.is_valid_consumer", make)


@mutant("claims-for-pods-of-groups-while-disabled", rule="DRA-697", **ON)
def _(patch: Patch) -> None:
    """While claims of PodGroups are off, their pods get claims of their own, as in 1.36."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def sync_pod(self: Any, pod: Obj) -> None:
            if not self.options.group_claims:
                self.groups.claims_of = lambda pod: {}
            original(self, pod)

        return sync_pod

    patch.wrap(f"{_CONTROLLER}.sync_pod", make)


@mutant("claim-of-group-from-before-unknown", rule="DRA-697", **ON)
def _(patch: Patch) -> None:
    """The claim of a PodGroup is created again when such claims are on again."""
    _knows_own_claims_only(patch)
