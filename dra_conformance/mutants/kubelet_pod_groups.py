"""Mutants of the emulated kubelet that only show with the claims of a PodGroup."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dra_api.objects import Obj, controller_of
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.mutants.kubelet import CLAIMS
from dra_conformance.mutants.pod_group_gates import ON

_MODULE = "dra_conformance.kubelet.claims"
_NAMES = f"{_MODULE}:_names_group"


def _group_of(pod: Obj) -> Any:
    return (pod["spec"].get("schedulingGroup") or {}).get("podGroupName")


@mutant("group-reservations-ignored", rule="DRA-274c", **ON)
def _(patch: Patch) -> None:
    """A claim must be reserved for the pod itself."""

    def make(original: Any) -> Any:
        return lambda pod, claim: original({**pod, "spec": {**pod["spec"], "schedulingGroup": None}}, claim)

    patch.wrap(f"{_MODULE}:reserved_for", make)


@mutant("any-group-reservation-accepted", rule="DRA-274c", **ON)
def _(patch: Patch) -> None:
    """A pod of a group may use a claim that is reserved for any group."""

    def make(original: Any) -> Any:
        return lambda pod, entry, *of: original(pod, {**entry, "name": _group_of(pod)}, *of)

    patch.wrap(_NAMES, make)


@mutant("group-reservation-of-any-api", rule="DRA-274c", **ON)
def _(patch: Patch) -> None:
    """The API group of a reservation is not compared."""
    patch.wrap(
        _NAMES, lambda original: lambda pod, entry, group, resource: original(pod, entry, "scheduling.k8s.io", resource)
    )


@mutant("group-reservation-of-any-resource", rule="DRA-274c", **ON)
def _(patch: Patch) -> None:
    """The resource of a reservation is not compared."""
    patch.wrap(_NAMES, lambda original: lambda pod, entry, group, resource: original(pod, entry, group, "podgroups"))


@mutant("reservation-with-the-groups-name", rule="DRA-274c", **ON)
def _(patch: Patch) -> None:
    """A reservation for a pod that has the name of the group counts as one for the group."""

    def make(original: Any) -> Any:
        def names(pod: Obj, entry: Obj, group: str | None, resource: str | None) -> Any:
            return original(pod, entry, group, resource) or (
                resource == "pods" and bool(_group_of(pod)) and entry.get("name") == _group_of(pod)
            )

        return names

    patch.wrap(_NAMES, make)


@mutant("pods-name-is-its-group", rule="DRA-274c", **ON)
def _(patch: Patch) -> None:
    """A pod that names no group is in the group of its name."""

    def make(original: Any) -> Any:
        def names(pod: Obj, *of: Any) -> Any:
            named = _group_of(pod) or pod["metadata"]["name"]
            return original({**pod, "spec": {**pod["spec"], "schedulingGroup": {"podGroupName": named}}}, *of)

        return names

    patch.wrap(_NAMES, make)


@mutant("group-claim-released-with-first-pod", rule="DRA-274c", **ON)
def _(patch: Patch) -> None:
    """Of the pods of a group only the last one counts as a user of their claim."""

    def make(original: Any) -> Any:
        def recorded(self: Any, pod: Obj, wanted: Any) -> Any:
            for fresh in wanted if _group_of(pod) else ():
                held = self.cache.get(fresh.key)
                if held is not None and held.pod_uids:
                    # A second pod of the group does not become a user beside the first one.
                    return original(self, pod, [one for one in wanted if one.key != fresh.key])
            return original(self, pod, wanted)

        return recorded

    patch.wrap(f"{CLAIMS}._recorded", make)


@mutant("claims-of-the-group-not-owned", rule="DRA-274d", **ON)
def _(patch: Patch) -> None:
    """A claim from a template must be owned by the pod itself."""
    patch.replace(f"{_MODULE}:is_of_group", lambda pod, claim: False)


@mutant("claims-of-any-owner", rule="DRA-274d", **ON)
def _(patch: Patch) -> None:
    """A pod of a group may use a claim from a template that anything owns."""
    patch.replace(f"{_MODULE}:is_of_group", lambda pod, claim: bool(_group_of(pod)))


@mutant("owner-with-the-groups-name", rule="DRA-274d", **ON)
def _(patch: Patch) -> None:
    """Of the controlling owner only the name is compared with the pod's group."""

    def of_group(pod: Obj, claim: Obj) -> bool:
        owners = claim["metadata"].get("ownerReferences") or ()
        return any(owner.get("controller") and owner["name"] == _group_of(pod) for owner in owners)

    patch.replace(f"{_MODULE}:is_of_group", of_group)


@mutant("owner-that-is-no-controller", rule="DRA-274d", **ON)
def _(patch: Patch) -> None:
    """A group that owns the claim need not be its controller."""

    def of_group(pod: Obj, claim: Obj) -> bool:
        owners = claim["metadata"].get("ownerReferences") or ()
        named = {(str(one["apiVersion"]).partition("/")[0], one["kind"], one["name"]) for one in owners}
        return ("scheduling.k8s.io", "PodGroup", _group_of(pod)) in named

    patch.replace(f"{_MODULE}:is_of_group", of_group)


@mutant("groups-without-the-gate", rule="DRA-274e", **ON)
def _(patch: Patch) -> None:
    """The gate of the claims of groups is ignored."""

    def make(original: Any) -> Any:
        def init(self: Any, **options: Any) -> None:
            original(self, **{**options, "gates": replace(options["gates"], workload_resource_claims=True)})

        return init

    patch.wrap(f"{CLAIMS}.__init__", make)


@mutant("owners-without-the-gate", rule="DRA-274e", **ON)
def _(patch: Patch) -> None:
    """Without the gate, a group is still accepted as the owner of a claim."""

    def make(original: Any) -> Any:
        def of_group(pod: Obj, claim: Obj) -> Any:
            return original(pod, claim) or (controller_of(claim) or {}).get("kind") == "PodGroup"

        return of_group

    patch.wrap(f"{_MODULE}:is_of_group", make)
