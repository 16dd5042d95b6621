"""Faults of the API server with switched-off features: it stores their fields, or drops more than these."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from dra_conformance.engine.mutation import Patch, mutant

_DRA = "apiserver_emulator.dra"
_Function = Callable[..., Any]


def _keeps(patch: Patch, target: str, path: tuple[str | int, ...]) -> None:
    """Let a function that drops disabled fields of a spec keep one of them."""

    def make(original: _Function) -> _Function:
        def drop(spec: Any, *args: Any) -> None:
            before = _look_up(copy.deepcopy(spec), path)
            original(spec, *args)
            holder = _look_up(spec, path[:-1])
            if before is not None and holder is not None:
                holder[path[-1]] = before

        return drop

    patch.wrap(target, make)


def _look_up(obj: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        try:
            obj = obj[key]
        except (KeyError, IndexError):
            return None
    return obj


_REQUEST = ("devices", "requests", 0)


# DRADeviceTaintRules, which is on by default since 1.37, needs it.
_TAINTS_OFF = ("DRADeviceTaintRules=false", "DRADeviceTaints=false")


def _off(*gates: str) -> dict[str, Any]:
    return {"profile": ("gates-off",), "feature_gates": gates}


def _off_before_its_lock(*gates: str) -> dict[str, Any]:
    """The same in the last release that lets these gates be off."""
    return {**_off(*gates), "kubernetes_version": "1.36"}


@mutant("distinct-attribute-kept-without-gate", rule="DRA-025", **_off("DRAConsumableCapacity=false"))
def _(patch: Patch) -> None:
    """A claim keeps distinctAttribute although DRAConsumableCapacity is off."""
    _keeps(patch, f"{_DRA}.resource_claim:drop_disabled", ("devices", "constraints", 0, "distinctAttribute"))


@mutant("tolerations-kept-without-gate", rule="DRA-037", **_off(*_TAINTS_OFF))
def _(patch: Patch) -> None:
    """A claim keeps its tolerations although DRADeviceTaints is off."""
    _keeps(patch, f"{_DRA}.resource_claim:drop_disabled", (*_REQUEST, "exactly", "tolerations"))


@mutant("template-tolerations-kept-without-gate", rule="DRA-037", **_off(*_TAINTS_OFF))
def _(patch: Patch) -> None:
    """A template keeps the tolerations of its claims although DRADeviceTaints is off."""
    _keeps(patch, f"{_DRA}.resource_claim_template:drop_disabled", (*_REQUEST, "exactly", "tolerations"))


@mutant("alternatives-kept-without-gate", rule="DRA-038", **_off_before_its_lock("DRAPrioritizedList=false"))
def _(patch: Patch) -> None:
    """A claim keeps its alternatives although DRAPrioritizedList is off."""
    _keeps(patch, f"{_DRA}.resource_claim:drop_disabled", (*_REQUEST, "firstAvailable"))


@mutant("extended-resource-kept-without-gate", rule="DRA-043", **_off_before_its_lock("DRAExtendedResource=false"))
def _(patch: Patch) -> None:
    """A class keeps extendedResourceName although DRAExtendedResource is off."""
    _keeps(patch, f"{_DRA}.device_class:_drop_disabled", ("extendedResourceName",))


@mutant("taints-kept-without-gate", rule="DRA-077", **_off(*_TAINTS_OFF))
def _(patch: Patch) -> None:
    """A slice keeps the taints of its devices although DRADeviceTaints is off."""
    _keeps(patch, f"{_DRA}.resource_slice:drop_disabled", ("devices", 0, "taints"))


@mutant("binding-to-node-kept-without-gate", rule="DRA-077", **_off("DRADeviceBindingConditions=false"))
def _(patch: Patch) -> None:
    """A slice keeps bindsToNode although DRADeviceBindingConditions is off."""
    _keeps(patch, f"{_DRA}.resource_slice:drop_disabled", ("devices", 0, "bindsToNode"))


@mutant(
    "disabled-field-drops-its-device",
    rule="DRA-077",
    **_off(*_TAINTS_OFF, "DRAConsumableCapacity=false"),
)
def _(patch: Patch) -> None:
    """A device with a disabled field is dropped from its slice."""

    def make(original: _Function) -> _Function:
        def drop(spec: Any, *args: Any) -> None:
            plain = [device for device in spec.get("devices") or () if "taints" not in device]
            original(spec, *args)
            spec["devices"] = plain

        return drop

    patch.wrap(f"{_DRA}.resource_slice:drop_disabled", make)


@mutant(
    "device-status-kept-without-gate",
    rule="DRA-095",
    **_off_before_its_lock(
        "DRAResourceClaimDeviceStatus=false",
        "DRADeviceBindingConditions=false",
        "DRAResourceClaimGranularStatusAuthorization=false",
    ),
)
def _(patch: Patch) -> None:
    """A claim keeps status.devices although DRAResourceClaimDeviceStatus is off."""

    def make(original: _Function) -> _Function:
        def drop(claim: Any, *args: Any) -> None:
            devices = (claim.get("status") or {}).get("devices")
            original(claim, *args)
            if devices:
                claim["status"]["devices"] = devices

        return drop

    patch.wrap(f"{_DRA}.resource_claim:drop_disabled_status", make)


_DEFAULT_GATES: dict[str, Any] = {"profile": ("gates-off",), "kubernetes_version": "1.37"}


@mutant("skipped-operations-kept-without-gate", rule="DRA-406", **_DEFAULT_GATES)
def _(patch: Patch) -> None:
    """A slice keeps skipNodeOperations although DRAOptionalNodeOperations is off."""
    _keeps(patch, f"{_DRA}.resource_slice:drop_disabled", ("skipNodeOperations",))


@mutant("node-resources-of-pods-kept-without-gate", rule="DRA-537c", **_DEFAULT_GATES)
def _(patch: Patch) -> None:
    """The status of a pod keeps what devices use of its node although DRANodeAllocatableResources is off."""
    patch.replace("apiserver_emulator.pods.node_resources:drop_unused", lambda new, old: None)


@mutant("status-with-node-resources-lost-without-gate", rule="DRA-537c", **_DEFAULT_GATES)
def _(patch: Patch) -> None:
    """A status with a field of the disabled feature is not stored at all."""

    def drop(new: Any, old: Any) -> None:
        if "nodeAllocatableResourceClaimStatuses" in new["status"]:
            new["status"] = old["status"]

    patch.replace("apiserver_emulator.pods.node_resources:drop_unused", drop)


@mutant("groups-kept-without-gate", rule="DRA-410", **_DEFAULT_GATES)
def _(patch: Patch) -> None:
    """The second device of a slice keeps its groups although DRADeviceCompatibilityGroups is off."""
    path = ("devices", 1, "consumesCounters", 1, "compatibilityGroups")
    _keeps(patch, f"{_DRA}.resource_slice:drop_disabled", path)


@mutant("counters-dropped-with-groups", rule="DRA-410", **_DEFAULT_GATES)
def _(patch: Patch) -> None:
    """Counters that a device with groups consumes are dropped with the groups."""

    def make(original: _Function) -> _Function:
        def drop(spec: Any, *args: Any) -> None:
            for device in spec.get("devices") or ():
                if any("compatibilityGroups" in entry for entry in device.get("consumesCounters") or ()):
                    del device["consumesCounters"]
            original(spec, *args)

        return drop

    patch.wrap(f"{_DRA}.resource_slice:drop_disabled", make)


@mutant("derived-attributes-kept-without-gate", rule="DRA-443", **_DEFAULT_GATES)
def _(patch: Patch) -> None:
    """A claim keeps its derived attributes although DRADerivedAttributes is off."""
    _keeps(patch, f"{_DRA}.resource_claim:drop_disabled", (*_REQUEST, "exactly", "derivedAttributes"))


@mutant("derived-attributes-of-templates-kept-without-gate", rule="DRA-443", **_DEFAULT_GATES)
def _(patch: Patch) -> None:
    """A template keeps its derived attributes although DRADerivedAttributes is off."""
    _keeps(patch, f"{_DRA}.resource_claim_template:drop_disabled", (*_REQUEST, "exactly", "derivedAttributes"))


@mutant("skipped-operations-of-results-kept-without-gate", rule="DRA-446", **_DEFAULT_GATES)
def _(patch: Patch) -> None:
    """An allocation result keeps skipNodeOperations although DRAOptionalNodeOperations is off."""
    path = ("status", "allocation", "devices", "results", 0, "skipNodeOperations")
    _keeps(patch, f"{_DRA}.resource_claim:drop_disabled_status", path)


@mutant("counters-kept-without-gate", rule="DRA-077", **_off("DRAPartitionableDevices=false"))
def _(patch: Patch) -> None:
    """A slice keeps its counter sets although DRAPartitionableDevices is off."""
    _keeps(patch, f"{_DRA}.resource_slice:drop_disabled", ("sharedCounters",))


@mutant("nodes-of-devices-kept-without-gate", rule="DRA-077c", **_off("DRAPartitionableDevices=false"))
def _(patch: Patch) -> None:
    """A slice keeps perDeviceNodeSelection although DRAPartitionableDevices is off."""
    _keeps(patch, f"{_DRA}.resource_slice:drop_disabled", ("perDeviceNodeSelection",))


# -- gates that are switched off while objects use their features ------------------------------------------------------


def _on_update(patch: Patch, target: str, change: _Function) -> None:
    """Let a function that drops disabled fields treat an update in another way."""

    def make(original: _Function) -> _Function:
        def drop(spec: Any, old: Any, rules: Any) -> None:
            if old is None:
                original(spec, old, rules)
            else:
                change(original, spec, old, rules)

        return drop

    patch.wrap(target, make)


def _as_new(original: _Function, spec: Any, old: Any, rules: Any) -> None:
    original(spec, None, rules)


@mutant("stored-tolerations-dropped-without-gate", rule="DRA-037b")
def _(patch: Patch) -> None:
    """An update of a claim loses its tolerations while DRADeviceTaints is off."""
    _on_update(patch, f"{_DRA}.resource_claim:drop_disabled", _as_new)


@mutant("stored-template-tolerations-dropped-without-gate", rule="DRA-037b")
def _(patch: Patch) -> None:
    """An update of a template loses the tolerations of its claims while DRADeviceTaints is off."""
    _on_update(patch, f"{_DRA}.resource_claim_template:drop_disabled", _as_new)


@mutant("stored-fields-of-slices-dropped-without-gate", rule="DRA-077b")
def _(patch: Patch) -> None:
    """An update of a slice loses the fields of a disabled feature."""
    _on_update(patch, f"{_DRA}.resource_slice:drop_disabled", _as_new)


@mutant("fields-of-further-devices-dropped-without-gate", rule="DRA-077b")
def _(patch: Patch) -> None:
    """In an update, only devices that have used a disabled feature keep its fields."""

    def each(original: _Function, spec: Any, old: Any, rules: Any) -> None:
        used = {device["name"]: device for device in old.get("devices") or ()}
        for device in spec.get("devices") or ():
            alone = {**spec, "devices": [device]}
            before = used.get(device["name"])
            original(alone, {**old, "devices": [before]} if before else None, rules)

    _on_update(patch, f"{_DRA}.resource_slice:drop_disabled", each)


@mutant("fields-kept-in-updates-without-gate", rule="DRA-077b")
def _(patch: Patch) -> None:
    """Updates of slices may bring fields of a disabled feature that the slice does not use."""
    _on_update(patch, f"{_DRA}.resource_slice:drop_disabled", lambda original, spec, old, rules: None)
