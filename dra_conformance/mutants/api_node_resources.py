"""Faults in the validation of what devices use of their nodes, alpha in Kubernetes 1.37."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dra_api.quantity import Quantity
from dra_api.status import invalid
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.mutants.api_patches import forget

_NODE = "apiserver_emulator.dra.node_allocatable"
_RESOURCES = "apiserver_emulator.dra.devices:validate_resources"
_ENTRY = r".*\.nodeAllocatableResources\[[^]]+\]"
_Function = Callable[..., Any]
_ON: dict[str, Any] = {"kubernetes_version": "1.37", "feature_gates": ("DRANodeAllocatableResources=true",)}


@mutant("device-uses-storage", rule="DRA-425", **_ON)
def _(patch: Patch) -> None:
    """A device may use the storage of its node."""
    forget(patch, _RESOURCES, "Invalid", r".*\[ephemeral-storage\]")


@mutant("device-uses-an-extended-resource", rule="DRA-425", **_ON)
def _(patch: Patch) -> None:
    """A device may use an extended resource of its node."""
    forget(patch, _RESOURCES, "Invalid", r".*\.nodeAllocatableResources\[.*/.*\]")


@mutant("device-uses-no-huge-pages", rule="DRA-425", **_ON)
def _(patch: Patch) -> None:
    """A device cannot use huge pages."""
    patch.replace(f"{_NODE}:_HUGE_PAGES", "none-")


@mutant("huge-pages-of-no-size", rule="DRA-425", **_ON)
def _(patch: Patch) -> None:
    """Huge pages need no size."""
    patch.replace(f"{_NODE}:_HUGE_PAGES", "hugepages")


@mutant("empty-use-of-a-node", rule="DRA-426", **_ON)
def _(patch: Patch) -> None:
    """An entry may have neither mapping nor overhead."""
    forget(patch, _RESOURCES, "Required", _ENTRY)


@mutant("overhead-needs-a-mapping", rule="DRA-426", **_ON)
def _(patch: Patch) -> None:
    """An overhead alone is refused."""

    def make(original: _Function) -> _Function:
        def validate(overhead: Any, path: str) -> list[Any]:
            return [*original(overhead, path), invalid(path, overhead, "must come with a mapping")]

        return validate

    patch.wrap(f"{_NODE}:overhead_errors", make)


@mutant("multiplier-has-a-default", rule="DRA-427", **_ON)
def _(patch: Patch) -> None:
    """A capacity needs no multiplier."""
    forget(patch, _RESOURCES, "Required", r".*\.capacityMultiplier")


@mutant("multiplier-without-capacity", rule="DRA-427", **_ON)
def _(patch: Patch) -> None:
    """A capacityMultiplier needs no capacity."""
    forget(patch, _RESOURCES, "Required", r".*\.capacityKey")


@mutant("any-capacity", rule="DRA-428", **_ON)
def _(patch: Patch) -> None:
    """The capacity of a mapping may be that of another device."""
    forget(patch, _RESOURCES, "NotFound", r".*\.capacityKey")


@mutant("capacity-without-name", rule="DRA-428", **_ON)
def _(patch: Patch) -> None:
    """The name of the capacity may be empty."""
    forget(patch, _RESOURCES, "Invalid", r".*\.capacityKey")


@mutant("multiplier-of-zero", rule="DRA-429", **_ON)
def _(patch: Patch) -> None:
    """A multiplier may be zero."""

    def make(original: _Function) -> _Function:
        def positive(mapped: Any, name: str, path: str) -> list[Any]:
            value = mapped.get(name)
            return [] if value is not None and Quantity.parse(value).sign == 0 else list(original(mapped, name, path))

        return positive

    patch.wrap(f"{_NODE}:_positive", make)


@mutant("capacity-multiplier-is-not-checked", rule="DRA-429", **_ON)
def _(patch: Patch) -> None:
    """A capacityMultiplier may have any sign."""
    forget(patch, _RESOURCES, "Invalid", r".*\.capacityMultiplier")


@mutant("negative-overhead-of-containers", rule="DRA-429", **_ON)
def _(patch: Patch) -> None:
    """The overhead of a container may be negative."""
    forget(patch, _RESOURCES, "Invalid", r".*\.perContainer")


@mutant("overhead-is-positive", rule="DRA-429", **_ON)
def _(patch: Patch) -> None:
    """An overhead of zero is refused."""

    def make(original: _Function) -> _Function:
        def validate(overhead: Any, path: str) -> list[Any]:
            zero = any(Quantity.parse(value).sign == 0 for value in overhead.values())
            return [invalid(path, overhead, "must be positive")] if zero else list(original(overhead, path))

        return validate

    patch.wrap(f"{_NODE}:overhead_errors", make)


@mutant("overhead-of-nothing", rule="DRA-429", **_ON)
def _(patch: Patch) -> None:
    """An overhead may have neither perPod nor perContainer."""
    forget(patch, _RESOURCES, "Invalid", r".*\.overhead")


@mutant("first-member-of-a-mapping-counts", rule="DRA-430", **_ON)
def _(patch: Patch) -> None:
    """A mapping may have a deviceMultiplier beside a capacity."""

    def make(original: _Function) -> _Function:
        return lambda mapped, path: original(mapped, path) if not mapped else []

    patch.wrap(f"{_NODE}:_one_of", make)


@mutant("mapping-of-nothing", rule="DRA-430", **_ON)
def _(patch: Patch) -> None:
    """A mapping may be empty."""

    def make(original: _Function) -> _Function:
        return lambda mapped, path: original(mapped, path) if mapped else []

    patch.wrap(f"{_NODE}:_one_of", make)


_ADMISSION = "apiserver_emulator.dra.declared_features"


def _refusal(patch: Patch, forgotten: str) -> None:
    """Accept slices that the admission refuses with a text."""

    def make(original: _Function) -> _Function:
        def refusal(*args: Any) -> str:
            found = str(original(*args))
            return "" if forgotten in found else found

        return refusal

    patch.wrap(f"{_ADMISSION}:_refusal", make)


@mutant("node-need-not-declare-the-feature", rule="DRA-431", **_ON)
def _(patch: Patch) -> None:
    """Devices may use resources of any node that exists."""
    _refusal(patch, "does not support")


@mutant("updates-need-no-declared-feature", rule="DRA-431", **_ON)
def _(patch: Patch) -> None:
    """Only new slices are compared with the features of their node."""

    def make(original: _Function) -> _Function:
        return lambda self, resource, operation, info: (
            operation == "CREATE" and original(self, resource, operation, info)
        )

    patch.wrap(f"{_ADMISSION}:DeclaredFeatures.interested", make)


@mutant("declared-feature-is-not-read", rule="DRA-431", **_ON)
def _(patch: Patch) -> None:
    """No slice may use resources of a named node."""

    def make(original: _Function) -> _Function:
        return lambda *args: original(*args) or "the node does not support the feature"

    patch.wrap(f"{_ADMISSION}:_refusal", make)


@mutant("node-may-join-later", rule="DRA-433", **_ON)
def _(patch: Patch) -> None:
    """Devices may use resources of a node that does not exist."""
    _refusal(patch, "not found")


_STATUS = "apiserver_emulator.pods.node_resources"
_RECORD = r"status\.nodeAllocatableResourceClaimStatuses\[\d+\]"


@mutant("status-records-any-claim", rule="DRA-537", **_ON)
def _(patch: Patch) -> None:
    """The status of a pod may record node resources of any claim."""
    forget(patch, f"{_STATUS}:errors", "Invalid", rf"{_RECORD}\.resourceClaimName")


@mutant("status-records-the-first-claim", rule="DRA-537", **_ON)
def _(patch: Patch) -> None:
    """Of several entries, the claim of the first is looked for."""
    forget(patch, f"{_STATUS}:errors", "Invalid", r"status\.\w+\[[1-9]\d*\]\.resourceClaimName")


@mutant("status-records-own-names-of-claims", rule="DRA-537", **_ON)
def _(patch: Patch) -> None:
    """A claim is found by the pod's own name of it as well."""

    def make(original: _Function) -> _Function:
        return lambda pod: original(pod) | {entry["name"] for entry in pod["spec"].get("resourceClaims") or ()}

    patch.wrap(f"{_STATUS}:_claims", make)


@mutant("status-records-templates", rule="DRA-537", **_ON)
def _(patch: Patch) -> None:
    """A claim from a template is found by the name of the template as well."""

    def make(original: _Function) -> _Function:
        def claims(pod: Any) -> set[str]:
            entries = pod["spec"].get("resourceClaims") or ()
            return set(original(pod)) | {str(entry.get("resourceClaimTemplateName")) for entry in entries}

        return claims

    patch.wrap(f"{_STATUS}:_claims", make)


@mutant("status-records-no-generated-claims", rule="DRA-537", **_ON)
def _(patch: Patch) -> None:
    """Only claims that the spec names are found."""

    def make(original: _Function) -> _Function:
        return lambda pod: original({"spec": pod["spec"]})

    patch.wrap(f"{_STATUS}:_claims", make)


@mutant("status-records-storage", rule="DRA-537b", **_ON)
def _(patch: Patch) -> None:
    """A status may record that a device is mapped to storage of its node."""
    forget(patch, f"{_STATUS}:errors", "Invalid", rf"{_RECORD}\.mapping\[\d+\]\.name")


@mutant("status-records-overhead-of-storage", rule="DRA-537b", **_ON)
def _(patch: Patch) -> None:
    """A status may record an overhead of storage of its node."""
    forget(patch, f"{_STATUS}:errors", "Invalid", rf"{_RECORD}\.overhead\[\d+\]\.name")


@mutant("status-records-negative-amounts", rule="DRA-537b", **_ON)
def _(patch: Patch) -> None:
    """A recorded amount may be negative."""
    forget(patch, f"{_STATUS}:errors", "Invalid", rf"{_RECORD}\.mapping\[\d+\]\.quantity")


@mutant("status-records-negative-overhead-of-containers", rule="DRA-537b", **_ON)
def _(patch: Patch) -> None:
    """A recorded overhead of containers may be negative."""
    forget(patch, f"{_STATUS}:errors", "Invalid", rf"{_RECORD}\.overhead\[\d+\]\.perContainer")


@mutant("status-records-overhead-of-nothing", rule="DRA-537b", **_ON)
def _(patch: Patch) -> None:
    """A recorded overhead may have neither perPod nor perContainer."""
    forget(patch, f"{_STATUS}:errors", "Invalid", rf"{_RECORD}\.overhead\[\d+\]")
