"""Faults of a scheduler that has a feature off while objects use its fields (Kubernetes 1.37)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dra_conformance.engine.mutation import Patch, mutant

_ALLOCATOR = "reference_impl.scheduler.allocator"


def _with(*gates: str) -> dict[str, Any]:
    return {"kubernetes_version": "1.37", "feature_gates": tuple(f"{gate}=true" for gate in gates)}


@mutant("devices-with-lists-fail-while-disabled", rule="DRA-487", **_with("DRAListTypeAttributes"))
def _(patch: Patch) -> None:
    """A selector fails on each device with a list, as in 1.36."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def verdict(expression: Any, device: Any, features: Any) -> Any:
            known = any(attribute.is_list for attribute in device.attributes.values())
            if known and not features.list_attributes:
                return "unsupported attribute value"
            return original(expression, device, features)

        return verdict

    patch.wrap(f"{_ALLOCATOR}.selectors:verdict", make)


def _constraints_compare_lists(patch: Patch, kind: str) -> None:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def values(device: Any, attribute: str, features: Any) -> Any:
            found = device.attribute(attribute)
            return (
                frozenset(found.values)
                if found is not None and found.is_list
                else original(device, attribute, features)
            )

        return values

    def add(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda constraint, state, offered: (
            original(constraint, state, offered) if constraint.kind == kind else (False, state)
        )

    patch.wrap(f"{_ALLOCATOR}.constraints:values", make)
    patch.wrap(f"{_ALLOCATOR}.constraints:add", add)


@mutant("lists-match-while-disabled", rule="DRA-487", **_with("DRAListTypeAttributes"))
def _(patch: Patch) -> None:
    """matchAttribute compares lists although the feature is off."""
    _constraints_compare_lists(patch, "matchAttribute")


@mutant("lists-are-distinct-while-disabled", rule="DRA-487", **_with("DRAListTypeAttributes"))
def _(patch: Patch) -> None:
    """distinctAttribute compares lists although the feature is off."""
    _constraints_compare_lists(patch, "distinctAttribute")


@mutant("compatibility-groups-ignored", rule="DRA-507", **_with("DRADeviceCompatibilityGroups"))
def _(patch: Patch) -> None:
    """Devices with compatibility groups are allocated as if they had none."""
    patch.replace(f"{_ALLOCATOR}.pools:counts", lambda item, features: True)


@mutant("only-grouped-slice-ignored", rule="DRA-507", **_with("DRADeviceCompatibilityGroups"))
def _(patch: Patch) -> None:
    """The slice with compatibility groups is left out, and the other slices of its pool are used."""
    patch.replace(f"{_ALLOCATOR}.pools:counts", lambda item, features: True)

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        return lambda item, features: original(item, features) and not item.has_compatibility_groups

    patch.wrap(f"{_ALLOCATOR}.pools:usable_features", make)


def _derived(patch: Patch, known: Callable[[str], bool]) -> None:
    """Requests with derived attributes for which `known(name)` is false count as requests without."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda raw, *, name, parent: original(
            raw if known(name) else {key: value for key, value in raw.items() if key != "derivedAttributes"},
            name=name,
            parent=parent,
        )

    patch.wrap(f"{_ALLOCATOR}.model:_subrequest", make)


@mutant("derived-attributes-of-requests-ignored", rule="DRA-516", **_with("DRADerivedAttributes"))
def _(patch: Patch) -> None:
    """A claim with derived attributes in a request is allocated."""
    _derived(patch, lambda name: "/" in name)


@mutant("derived-attributes-of-alternatives-ignored", rule="DRA-516", **_with("DRADerivedAttributes"))
def _(patch: Patch) -> None:
    """A claim with derived attributes in an alternative is allocated."""
    _derived(patch, lambda name: "/" not in name)


@mutant("skipped-operations-ignored", rule="DRA-521", **_with("DRAOptionalNodeOperations"))
def _(patch: Patch) -> None:
    """A device of a slice with skipNodeOperations is allocated."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def decode(raw: Any, *, pool: Any, spec: Any) -> Any:
            return original(
                raw, pool=pool, spec={key: value for key, value in spec.items() if key != "skipNodeOperations"}
            )

        return decode

    patch.wrap(f"{_ALLOCATOR}.model:decode_device", make)
