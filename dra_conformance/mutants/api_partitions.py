"""Faults in the validation of partitions: compatibility groups and types, alpha in Kubernetes 1.37."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dra_api.status import duplicate, required, too_many
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.mutants.api_patches import forget

_DRA = "apiserver_emulator.dra"
_CONSUMPTION = f"{_DRA}.devices:validate_consumption"
_TYPE = f"{_DRA}.resource_slice:validate_partition_type"
_Function = Callable[..., Any]
_GROUPS: dict[str, Any] = {"kubernetes_version": "1.37", "feature_gates": ("DRADeviceCompatibilityGroups=true",)}
_TYPES: dict[str, Any] = {
    "kubernetes_version": "1.37",
    "feature_gates": ("DRAResourcePoolStatus=true", "DRAPartitionableDevicesType=true"),
}


def _groups_of_device(patch: Patch, wrong: Callable[[list[str], str], list[Any]]) -> None:
    """Add the errors of `wrong(groups of all sets, path)` to those of a device."""

    def make(original: _Function) -> _Function:
        def validate(consumed: Any, path: str, rules: Any) -> list[Any]:
            groups = [group for entry in consumed for group in entry.get("compatibilityGroups") or ()]
            return [*original(consumed, path, rules), *wrong(groups, path)]

        return validate

    patch.wrap(_CONSUMPTION, make)


@mutant("three-groups-of-a-set", rule="DRA-407", **_GROUPS)
def _(patch: Patch) -> None:
    """A device may have three groups of a counter set."""
    patch.replace(f"{_DRA}.counters:COMPATIBILITY_GROUPS_MAX", 3)


@mutant("two-groups-of-all-sets", rule="DRA-407", **_GROUPS)
def _(patch: Patch) -> None:
    """A device may have two groups in all."""
    _groups_of_device(patch, lambda groups, path: [too_many(path, len(groups), 2)] if len(groups) > 2 else [])


@mutant("a-group-twice", rule="DRA-408", **_GROUPS)
def _(patch: Patch) -> None:
    """A group may be given twice."""
    forget(patch, _CONSUMPTION, "Duplicate", r".*\.compatibilityGroups\[\d+\]")


@mutant("any-name-of-a-group", rule="DRA-408", **_GROUPS)
def _(patch: Patch) -> None:
    """The name of a group may be any text."""
    forget(patch, _CONSUMPTION, "Invalid", r".*\.compatibilityGroups\[\d+\]")


@mutant("one-group-of-two-sets-is-a-duplicate", rule="DRA-408", **_GROUPS)
def _(patch: Patch) -> None:
    """The groups of all sets of a device are distinct."""
    _groups_of_device(
        patch, lambda groups, path: [duplicate(path, groups[0])] if len(set(groups)) < len(groups) else []
    )


@mutant("type-without-partitions", rule="DRA-411", **_TYPES)
def _(patch: Patch) -> None:
    """A slice without partitions may name the attribute of their type."""

    def make(original: _Function) -> _Function:
        def validate(spec: Any) -> list[Any]:
            used = any(device.get("consumesCounters") for device in spec.get("devices") or ())
            return list(original(spec)) if used else []

        return validate

    patch.wrap(_TYPE, make)


@mutant("type-beside-a-device-without-counters", rule="DRA-411", **_TYPES)
def _(patch: Patch) -> None:
    """A slice with devices that consume no counters cannot name the attribute."""

    def make(original: _Function) -> _Function:
        def validate(spec: Any) -> list[Any]:
            plain = any(not device.get("consumesCounters") for device in spec.get("devices") or ())
            return [required("spec.partitionTypeAttribute")] if plain else list(original(spec))

        return validate

    patch.wrap(_TYPE, make)


@mutant("partition-without-type", rule="DRA-412", **_TYPES)
def _(patch: Patch) -> None:
    """A partition may lack its type."""
    forget(patch, _TYPE, "Required", r"spec\.devices.*")


@mutant("every-device-has-a-type", rule="DRA-412", **_TYPES)
def _(patch: Patch) -> None:
    """Devices that consume no counters need a type too."""

    def make(original: _Function) -> _Function:
        def validate(spec: Any) -> list[Any]:
            if "partitionTypeAttribute" not in spec:
                return list(original(spec))
            devices = [{**device, "consumesCounters": [{}]} for device in spec.get("devices") or ()]
            return list(original({**spec, "devices": devices}))

        return validate

    patch.wrap(_TYPE, make)


@mutant("partition-loses-its-type", rule="DRA-412", **_TYPES)
def _(patch: Patch) -> None:
    """The types of partitions are validated when the slice is created only."""

    def make(original: _Function) -> _Function:
        def validate(spec: Any, old: Any, rules: Any) -> list[Any]:
            found = original(spec, old, rules)
            return [e for e in found if old is None or ".attributes[" not in e.field]

        return validate

    patch.wrap(f"{_DRA}.resource_slice:_spec", make)


@mutant("type-as-it-is-written", rule="DRA-413", **_TYPES)
def _(patch: Patch) -> None:
    """An attribute without domain is not the type of a partition."""
    patch.replace(
        f"{_DRA}.partition_types:_attribute",
        lambda device, name, driver: (device.get("attributes") or {}).get(name),
    )


@mutant("type-without-domain-comes-first", rule="DRA-413", **_TYPES)
def _(patch: Patch) -> None:
    """Of two attributes, the one without domain is the type."""

    def attribute(device: Any, name: str, driver: str) -> Any:
        attributes = device.get("attributes") or {}
        return attributes.get(name.removeprefix(f"{driver}/")) or attributes.get(name)

    patch.replace(f"{_DRA}.partition_types:_attribute", attribute)


@mutant("type-without-domain-is-of-any-driver", rule="DRA-412", **_TYPES)
def _(patch: Patch) -> None:
    """An attribute without domain is the type, although the type is in the domain of another driver."""

    def attribute(device: Any, name: str, driver: str) -> Any:
        attributes = device.get("attributes") or {}
        return attributes.get(name) or attributes.get(name.rpartition("/")[2])

    patch.replace(f"{_DRA}.partition_types:_attribute", attribute)


@mutant("type-is-a-number", rule="DRA-414", **_TYPES)
def _(patch: Patch) -> None:
    """The type of a partition may be an attribute of any kind."""
    forget(patch, _TYPE, "Invalid", r"spec\.devices.*")


@mutant("name-of-the-type-without-domain", rule="DRA-415", **_TYPES)
def _(patch: Patch) -> None:
    """The name of the attribute is not validated, so that each partition lacks it."""
    patch.replace(f"{_DRA}.partition_types:fully_qualified_name", lambda value, path: [])
