"""Faults in the claims for extended resources."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from dra_conformance.core.invented_names import invented
from dra_conformance.engine.mutation import Patch, mutant

Obj = dict[str, Any]

_SCHEDULER = "reference_impl.scheduler"
_EXTENDED = f"{_SCHEDULER}.extended_resources"


def _wanted(patch: Patch, change: Callable[[Any], Any]) -> None:
    """Change the device requests of a pod."""
    patch.wrap(f"{_EXTENDED}:wanted", lambda original: lambda *args: change(original(*args)))


@mutant("one-device-for-any-amount", rule="DRA-239")
def _(patch: Patch) -> None:
    """A pod that requests several devices gets one."""

    def one(request: Obj) -> Obj:
        return {**request, "exactly": {**request["exactly"], "count": 1}}

    _wanted(patch, lambda found: dataclasses.replace(found, requests=tuple(map(one, found.requests))))


@mutant("implicit-resource-names-unknown", rule="DRA-240")
def _(patch: Patch) -> None:
    """A class has no implicit resource name."""
    patch.replace(f"{_EXTENDED}:IMPLICIT", f"{invented('nothing')}/")


@mutant("implicit-name-only-of-the-class-in-use", rule="DRA-240b")
def _(patch: Patch) -> None:
    """A class whose resource name another provides does not provide its own name."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def resolver(classes: Any) -> Any:
            found = list(classes)
            class_of = original(found)
            shadowed = {
                one.name for one in found if one.extended_resource and class_of(one.extended_resource) != one.name
            }
            return lambda resource: None if (name := class_of(resource)) in shadowed else name

        return resolver

    patch.wrap(f"{_EXTENDED}:resolver", make)


@mutant("device-plugins-ignored", rule="DRA-241")
def _(patch: Patch) -> None:
    """A claim is created although a device plugin provides the resource."""
    patch.replace(f"{_EXTENDED}:by_devices", lambda resources, allocatable: frozenset(resources))


@mutant("full-device-plugin-helped-by-a-claim", rule="DP-166")
def _(patch: Patch) -> None:
    """On a node with a device plugin, a request for the resource is served by a claim."""
    patch.replace(f"{_EXTENDED}:by_devices", lambda resources, allocatable: frozenset(resources))


@mutant("amount-zero-counts-as-device-plugin", rule="DRA-241b")
def _(patch: Patch) -> None:
    """A node that lists the resource has a device plugin for it, whatever the amount."""
    patch.replace(
        f"{_EXTENDED}:by_devices",
        lambda resources, allocatable: frozenset(name for name in resources if name not in (allocatable or {})),
    )


@mutant("containers-mapped-to-unknown-requests", rule="DRA-242")
def _(patch: Patch) -> None:
    """Containers are mapped to requests that the claim does not have."""

    def astray(found: Any) -> Any:
        return dataclasses.replace(found, mappings=tuple({**one, "requestName": "other"} for one in found.mappings))

    _wanted(patch, astray)


def _resolver(patch: Patch, change: Callable[[list[Any]], list[Any]]) -> None:
    patch.wrap(f"{_EXTENDED}:resolver", lambda original: lambda classes: original(change(list(classes))))


@mutant("age-of-classes-ignored", rule="DRA-243")
def _(patch: Patch) -> None:
    """The first class by name provides a resource, whatever its age."""
    _resolver(patch, lambda classes: [dataclasses.replace(one, created="") for one in classes])


@mutant("last-class-by-name", rule="DRA-243")
def _(patch: Patch) -> None:
    """Of classes of the same age the last by name provides a resource."""
    _resolver(patch, lambda classes: [dataclasses.replace(one, created=one.name) for one in classes])


@mutant("init-containers-do-not-share", rule="DRA-244")
def _(patch: Patch) -> None:
    """Every container has devices of its own."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda containers, brief, name, device_class: original(containers, set(), name, device_class)

    patch.wrap(f"{_EXTENDED}:_for_resource", make)


@mutant("claim-for-zero-devices", rule="DRA-245")
def _(patch: Patch) -> None:
    """A pod that requests 0 devices gets one."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        # Amounts are in thousandths, so that 1000 is one device.
        return lambda needs, class_of: original({name: value or 1000 for name, value in needs.items()}, class_of)

    def at_least_one(found: Any) -> Any:
        exactly = {"deviceClassName": "x", "allocationMode": "ExactCount", "count": 1}
        return found if found.requests else dataclasses.replace(found, requests=({"name": "r", "exactly": exactly},))

    patch.wrap(f"{_EXTENDED}:requested", make)
    _wanted(patch, at_least_one)


@mutant("claim-outlives-its-pod", rule="DRA-246")
def _(patch: Patch) -> None:
    """The claim of a pod that has ended stays until the pod is deleted."""
    patch.replace("reference_impl.claim_controller.controller:ClaimController.should_delete", lambda self, claim: False)


@mutant("leftover-claim-kept", rule="DRA-247")
def _(patch: Patch) -> None:
    """A claim of an earlier attempt is not deleted."""
    patch.replace(f"{_SCHEDULER}.publish:DirectPublisher.remove", lambda self, claim: None)


@mutant("changed-resource-names-ignored", rule="DRA-248")
def _(patch: Patch) -> None:
    """Changes of the classes' resource names are ignored."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def on_class(self: Any, change: Any) -> None:
            known = self.extended._class_of or (lambda resource: None)
            original(self, change)
            # Before the first pod arrives, the classes are read as usual.
            if self.pods:
                self.extended._class_of = known

        return on_class

    patch.wrap(f"{_SCHEDULER}.cluster_view:ClusterView.on_class", make)


@mutant("extended-resource-devices-allocated-twice", rule="DRA-249")
def _(patch: Patch) -> None:
    """Devices of extended resource claims count as free."""
    patch.replace("reference_impl.scheduler.allocator.taken:Taken.add", lambda self, results: None)
    patch.replace("reference_impl.scheduler.allocator.taken:Taken.remove", lambda self, results: None)


# -- in BindRequests ---------------------------------------------------------------------------------------------------


@mutant("bind-request-without-extended-resources", rule="KAI-064")
def _(patch: Patch) -> None:
    """The BindRequest has no extended resources."""
    patch.replace(f"{_SCHEDULER}.publish:extended_entry", lambda decision: None)


@mutant("bind-request-despite-device-plugin", rule="KAI-065")
def _(patch: Patch) -> None:
    """The BindRequest has devices although a device plugin provides the resource."""
    patch.replace(f"{_EXTENDED}:by_devices", lambda resources, allocatable: frozenset(resources))


@mutant("bind-request-without-shared-init-devices", rule="KAI-066")
def _(patch: Patch) -> None:
    """The BindRequest has devices for every container."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda containers, brief, name, device_class: original(containers, set(), name, device_class)

    patch.wrap(f"{_EXTENDED}:_for_resource", make)


_BINDER = "reference_impl.binder.extended:ExtendedClaims"


@mutant("extended-claim-not-recorded", rule="KAI-118")
def _(patch: Patch) -> None:
    """The pod's status does not name the claim."""
    patch.replace(f"{_BINDER}._record", lambda self, pod, status: None)


@mutant("second-claim-for-one-pod", rule="KAI-119")
def _(patch: Patch) -> None:
    """A claim of an earlier attempt is not used."""
    patch.replace(f"{_BINDER}.find", lambda self, pod: None)


@mutant("claim-survives-failed-binding", rule="KAI-162")
def _(patch: Patch) -> None:
    """A claim is kept although its pod cannot be bound."""
    patch.replace(f"{_BINDER}.roll_back", lambda self, pod: None)


@mutant("deleted-class-keeps-its-resource", rule="DRA-248b")
def _(patch: Patch) -> None:
    """A deleted class provides its resource until another class changes."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def on_class(self: Any, change: Any) -> None:
            if change.type != "DELETED":
                return original(self, change)
            with self.lock:
                self.classes.pop(change.object["metadata"]["name"], None)
            return None

        return on_class

    patch.wrap(f"{_SCHEDULER}.cluster_view:ClusterView.on_class", make)


@mutant("resource-forgotten-with-either-class", rule="DRA-248b")
def _(patch: Patch) -> None:
    """The resource of a deleted class has no class until another class with it changes (#141103)."""
    forgotten: set[str] = set()

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def on_class(self: Any, change: Any) -> None:
            resource = str((change.object.get("spec") or {}).get("extendedResourceName") or "")
            (forgotten.add if change.type == "DELETED" else forgotten.discard)(resource)
            original(self, change)

        return on_class

    def lookup(original: Callable[..., str | None]) -> Callable[..., str | None]:
        return lambda self, resource: None if resource in forgotten else original(self, resource)

    patch.wrap(f"{_SCHEDULER}.cluster_view:ClusterView.on_class", make)
    patch.wrap(f"{_SCHEDULER}.extended_index:ExtendedIndex.class_of", lookup)


@mutant("removed-claim-loses-the-finalizers-of-others", rule="DRA-247b")
def _(patch: Patch) -> None:
    """A claim that is removed loses the finalizers of others as well."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def remove(self: Any, claim: Obj) -> None:
            metadata = claim["metadata"]
            current = self._client.find(self._claims, metadata["name"], metadata["namespace"])
            if current is not None:
                current["metadata"]["finalizers"] = []
                self._client.update(self._claims, current)
            original(self, claim)

        return remove

    patch.wrap(f"{_SCHEDULER}.publish:DirectPublisher.remove", make)


_LEDGER = f"{_SCHEDULER}.claim_ledger:ClaimLedger"
_INDEX = f"{_SCHEDULER}.extended_index:ExtendedIndex"


@mutant("extended-claims-free-after-restart", rule="DRA-239", scheduler="reference:publish=direct")
def _(patch: Patch) -> None:
    """A scheduler counts the claims for extended resources that it has made itself, and none from before its start."""
    seen: dict[Any, Any] = {}

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def set_status(self: Any, key: Any, allocation: Any) -> Any:
            # The first ledger that has the claim counts it; a restart makes another one.
            if "-extended-resources-" in key[1] and seen.setdefault(key, self) is not self:
                return False
            return original(self, key, allocation)

        return set_status

    patch.wrap(f"{_LEDGER}.set_status", make)


@mutant("class-of-a-resource-kept-over-restart", rule="DRA-248")
def _(patch: Patch) -> None:
    """The class that provided a resource first provides it for ever, also after a restart."""
    kept: dict[str, str] = {}

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def class_of(self: Any, resource: str) -> Any:
            found = original(self, resource)
            return kept.setdefault(resource, found) if found else found

        return class_of

    patch.wrap(f"{_INDEX}.class_of", make)


@mutant("interrupted-claim-kept-after-restart", rule="DRA-247", scheduler="reference:publish=direct")
def _(patch: Patch) -> None:
    """A claim that exists when the scheduler starts is not found as the claim of an earlier attempt."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def note(self: Any, change: Any) -> None:
            labelled = str(change.object["metadata"]["name"])
            if "-extended-resources-" in labelled:
                original(self, change)

        return note

    patch.wrap(f"{_INDEX}.note", make)
