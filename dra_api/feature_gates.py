"""Feature gates of DRA with their defaults and locks for Kubernetes 1.34 to 1.37, and the value of `--feature-gates`.

The table is generated (`feature_gate_table`). Pure functions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set

from dra_api.feature_gate_table import DRA_GATES, PREREQUISITES
from dra_api.gate import DRA_PREFIXES, Gate

GATES: Set[str] = {name: None for release in DRA_GATES.values() for name in release}.keys()
"""The DRA gates of all releases."""
RELATED: Set[str] = GATES | {name for release in PREREQUISITES.values() for name in release}
"""Those, and the gates of other features that they need."""

ALLOCATOR_FEATURES: Mapping[str, tuple[str, ...]] = {
    "AdminAccess": ("DRAAdminAccess",),
    "PrioritizedList": ("DRAPrioritizedList",),
    "PartitionableDevices": ("DRAPartitionableDevices",),
    "DeviceTaints": ("DRADeviceTaints",),
    "DeviceBindingAndStatus": ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"),
    "ConsumableCapacity": ("DRAConsumableCapacity",),
    "ListTypeAttributes": ("DRAListTypeAttributes",),
    "FractionalCapacityRange": ("DRAFractionalCapacityRange",),
    "CompatibilityGroups": ("DRADeviceCompatibilityGroups",),
    "DerivedAttributes": ("DRADerivedAttributes",),
    "OptionalNodeOperations": ("DRAOptionalNodeOperations",),
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


def gate_list(gates: Mapping[str, bool]) -> str:
    """Return gates as `One=true,Other=false`: the value of `--feature-gates`, which `parse_gates` reads."""
    return ",".join(f"{name}={str(on).lower()}" for name, on in gates.items())


def known_gates(kubernetes_version: str) -> Mapping[str, Gate]:
    """Return the DRA gates of a release ("1.36"). Raises FeatureGateError for a release outside 1.34 to 1.37."""
    return DRA_GATES[_release(kubernetes_version)]


def effective_gates(kubernetes_version: str, overrides: Mapping[str, bool] | None = None) -> dict[str, bool]:
    """Return the gates of a server: the release's defaults with overrides, which may include gates of other features.

    Raises FeatureGateError for a DRA gate that the release lacks, for one that it locks to the other value, and, since
    1.35, for one that needs another that is off.
    """
    release = _release(kubernetes_version)
    known = {**DRA_GATES[release], **PREREQUISITES[release]}
    found = {name: gate.default for name, gate in known.items()}
    for name, value in (overrides or {}).items():
        # An unknown gate with such a name is a misspelled one of DRA; any other may belong to another feature.
        if name not in known and (name in RELATED or name.startswith(DRA_PREFIXES)):
            raise FeatureGateError(f"unrecognized feature gate: {name} (Kubernetes {kubernetes_version})")
        if name in known and known[name].locked and value != known[name].default:
            default = str(known[name].default).lower()
            raise FeatureGateError(
                f"cannot set feature gate {name} to {str(value).lower()}, feature is locked to {default}"
            )
        found[name] = value
    for name, gate in sorted(known.items()):
        missing = [needed for needed in gate.needs if not found[needed]]
        if found[name] and missing:
            raise FeatureGateError(
                f"{name} is enabled, but depends on features that are disabled: [{', '.join(missing)}]: "
                f"set {name}=false too, as a real API server demands"
            )
    return found


def without(kubernetes_version: str, name: str) -> dict[str, bool]:
    """Return the overrides that switch off a gate of a release, and every gate that needs it."""
    known = known_gates(kubernetes_version)
    off, found = [name], {}
    while off:
        gate = off.pop()
        found[gate] = False
        off += [other for other, row in known.items() if gate in row.needs and other not in found]
    return found


def allowed_in(kubernetes_version: str, overrides: Mapping[str, bool]) -> dict[str, bool]:
    """Return those of the overrides that a release accepts: it knows the gate, and has not locked it otherwise.

    Gates that need one that is off then are off, too.
    """
    release = _release(kubernetes_version)
    known = {**DRA_GATES[release], **PREREQUISITES[release]}
    found = {
        name: value
        for name, value in overrides.items()
        if name in known and (not known[name].locked or value == known[name].default)
    }
    while True:
        values = {name: gate.default for name, gate in known.items()} | found
        unmet = [name for name, gate in known.items() if values[name] and not all(values[one] for one in gate.needs)]
        if not unmet:
            return found
        found.update(dict.fromkeys(unmet, False))


def kept_in(kubernetes_version: str, overrides: Mapping[str, bool]) -> dict[str, bool]:
    """Return those of the overrides that a component of another release keeps: `allowed_in`, but no alpha feature.

    A release does not have to read what an alpha feature of another one has written. Kubernetes 1.36 with
    GenericWorkload on, for example, uses a version of scheduling.k8s.io that 1.37 does not serve.
    """
    release = _release(kubernetes_version)
    known = {**DRA_GATES[release], **PREREQUISITES[release]}
    stable = {name: value for name, value in overrides.items() if name not in known or known[name].stage != "Alpha"}
    return allowed_in(release, stable)


def default_gates(kubernetes_version: str) -> dict[str, bool]:
    """Return the default DRA gates of a release; empty for a release that is not in the table."""
    try:
        return {name: gate.default for name, gate in known_gates(kubernetes_version).items()}
    except FeatureGateError:
        return {}


def optional_gates(kubernetes_version: str) -> set[str]:
    """Return the DRA gates that a release lets its users switch; empty for a release that is not in the table."""
    try:
        return {name for name, gate in known_gates(kubernetes_version).items() if not gate.locked}
    except FeatureGateError:
        return set()


def _release(kubernetes_version: str) -> str:
    """Return the row of the tables: major and minor version."""
    release = ".".join(kubernetes_version.removeprefix("v").split(".")[:2])
    if release not in DRA_GATES:
        known = f"{min(DRA_GATES)} to {max(DRA_GATES)}"
        raise FeatureGateError(f"no feature gate table for Kubernetes {kubernetes_version}: have {known}")
    return release
