"""Feature gates of DRA with their defaults and locks for Kubernetes 1.34 to 1.37, and the value of `--feature-gates`.

Source: pkg/features/kube_features.go of the releases. Pure data and functions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate in one release."""

    default: bool
    locked: bool = False


_OFF, _ON, _LOCKED = Gate(False), Gate(True), Gate(True, locked=True)
_MINORS = (34, 35, 36, 37)
_ABSENT = None

_TABLE: dict[str, tuple[Gate | None, Gate | None, Gate | None, Gate | None]] = {
    "DynamicResourceAllocation": (_ON, _LOCKED, _LOCKED, _LOCKED),
    "DRAAdminAccess": (_ON, _ON, _LOCKED, _LOCKED),
    "DRAPrioritizedList": (_ON, _ON, _ON, _LOCKED),
    "DRADeviceTaints": (_OFF, _OFF, _ON, _ON),
    "DRADeviceTaintRules": (_ABSENT, _OFF, _OFF, _ON),
    "DRAPartitionableDevices": (_OFF, _OFF, _ON, _ON),
    "DRAConsumableCapacity": (_OFF, _OFF, _ON, _ON),
    "DRADeviceBindingConditions": (_OFF, _OFF, _ON, _ON),
    "DRAResourceClaimDeviceStatus": (_ON, _ON, _ON, _LOCKED),
    "DRAResourceClaimGranularStatusAuthorization": (_ABSENT, _ABSENT, _ON, _ON),
    "DRAExtendedResource": (_OFF, _OFF, _ON, _LOCKED),
    "DRASchedulerFilterTimeout": (_ON, _ON, _ON, _ON),
    "DRAListTypeAttributes": (_ABSENT, _ABSENT, _OFF, _OFF),
    "DRANodeAllocatableResources": (_ABSENT, _ABSENT, _OFF, _OFF),
    "DRAResourcePoolStatus": (_ABSENT, _ABSENT, _OFF, _OFF),
    "DRAWorkloadResourceClaims": (_ABSENT, _ABSENT, _OFF, _OFF),
    "DRADeviceCompatibilityGroups": (_ABSENT, _ABSENT, _ABSENT, _OFF),
    "DRADerivedAttributes": (_ABSENT, _ABSENT, _ABSENT, _OFF),
    "DRAFractionalCapacityRange": (_ABSENT, _ABSENT, _ABSENT, _ON),
    "DRAOptionalNodeOperations": (_ABSENT, _ABSENT, _ABSENT, _OFF),
    "ResourceHealthStatus": (_OFF, _OFF, _ON, _ON),
    "ResourceHealthStatusMessage": (_ABSENT, _ABSENT, _ON, _ON),
}
# Checked since 1.35. The dependency on DynamicResourceAllocation is omitted: that gate is locked.
_DEPENDENCIES = {
    "DRADeviceBindingConditions": ("DRAResourceClaimDeviceStatus",),
    "DRADeviceCompatibilityGroups": ("DRAPartitionableDevices",),
    "DRADeviceTaintRules": ("DRADeviceTaints",),
    "DRAFractionalCapacityRange": ("DRAConsumableCapacity",),
    "DRAResourceClaimGranularStatusAuthorization": ("DRAResourceClaimDeviceStatus",),
    "DRAWorkloadResourceClaims": ("GenericWorkload",),
    "ResourceHealthStatusMessage": ("ResourceHealthStatus",),
}
GATES: Set[str] = _TABLE.keys()
"""The DRA gates of all releases, in the order of the table."""

ALLOCATOR_FEATURES: Mapping[str, tuple[str, ...]] = {
    "AdminAccess": ("DRAAdminAccess",),
    "PrioritizedList": ("DRAPrioritizedList",),
    "PartitionableDevices": ("DRAPartitionableDevices",),
    "DeviceTaints": ("DRADeviceTaints",),
    "DeviceBindingAndStatus": ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"),
    "ConsumableCapacity": ("DRAConsumableCapacity",),
    "ListTypeAttributes": ("DRAListTypeAttributes",),
}
"""The gates that each feature of kube-scheduler's allocator needs (`structured.Features`, AllocatorFeatures)."""

# The spellings that Go's strconv.ParseBool accepts.
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


class FeatureGateError(ValueError):
    """A gate that is unknown, malformed, or locked to the other value, or that depends on one that is off."""


def parse_gates(text: str, *, known: Collection[str] | None = None) -> dict[str, bool]:
    """Parse `A=true,B=false` as Kubernetes commands do (k8s.io/component-base/featuregate, Set); later pairs win.

    Raises FeatureGateError for other values, and for a gate that is not in `known`; None accepts any gate.
    """
    gates: dict[str, bool] = {}
    for pair in filter(None, text.split(",")):
        name, _, value = (part.strip() for part in pair.partition("="))
        if not name or value not in _TRUE | _FALSE:
            raise FeatureGateError(f"{pair!r}: must be NAME=true or NAME=false")
        if known is not None and name not in known:
            raise FeatureGateError(f"unrecognized feature gate: {name}; known gates: {', '.join(sorted(known))}")
        gates[name] = value in _TRUE
    return gates


def known_gates(kubernetes_version: str) -> dict[str, Gate]:
    """Return the DRA gates of a release ("1.36"). Raises FeatureGateError for a release outside 1.34 to 1.37."""
    minor = int(kubernetes_version.removeprefix("v").split(".")[1])
    if minor not in _MINORS:
        raise FeatureGateError(f"no feature gate table for Kubernetes {kubernetes_version}: have 1.34 to 1.37")
    column = _MINORS.index(minor)
    return {name: gate for name, row in _TABLE.items() if (gate := row[column]) is not None}


def effective_gates(kubernetes_version: str, overrides: Mapping[str, bool] | None = None) -> dict[str, bool]:
    """Return the gates of a server: the release's defaults with overrides, which may include gates of other features.

    Raises FeatureGateError for a DRA gate that the release lacks, that it locks to the other value, or that depends on
    one that is off.
    """
    known = known_gates(kubernetes_version)
    found = {name: gate.default for name, gate in known.items()}
    for name, value in (overrides or {}).items():
        if name in _TABLE and name not in known:
            raise FeatureGateError(f"unrecognized feature gate: {name} (Kubernetes {kubernetes_version})")
        if name in known and known[name].locked and value != known[name].default:
            default = str(known[name].default).lower()
            raise FeatureGateError(
                f"cannot set feature gate {name} to {str(value).lower()}, feature is locked to {default}"
            )
        found[name] = value
    if int(kubernetes_version.removeprefix("v").split(".")[1]) >= 35:
        _check_dependencies(found)
    return found


def default_gates(kubernetes_version: str) -> dict[str, bool]:
    """Return the default DRA gates of a release; empty for a release that is not in the table."""
    try:
        return {name: gate.default for name, gate in known_gates(kubernetes_version).items()}
    except (ValueError, KeyError):
        return {}


def optional_gates(kubernetes_version: str) -> set[str]:
    """Return the DRA gates that a release lets its users switch; empty for a release that is not in the table."""
    try:
        return {name for name, gate in known_gates(kubernetes_version).items() if not gate.locked}
    except FeatureGateError:
        return set()


def _check_dependencies(gates: Mapping[str, bool]) -> None:
    for name, needed in sorted(_DEPENDENCIES.items()):
        missing = [gate for gate in needed if not gates.get(gate, False)]
        if gates.get(name) and missing:
            raise FeatureGateError(
                f"{name} is enabled, but depends on features that are disabled: [{', '.join(missing)}]: "
                f"set {name}=false too, as a real API server demands"
            )
