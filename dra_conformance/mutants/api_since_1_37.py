"""Faults of what the API server does since Kubernetes 1.37: selectors, DeviceTaintRules in v1, skipped operations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dra_api.quantity import Quantity
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.mutants.api_patches import forget

_DRA = "apiserver_emulator.dra"
_SELECTORS = "apiserver_emulator.selectors"
_Function = Callable[..., Any]
_RULES = ("resource.k8s.io", "devicetaintrules")
_SLICES = ("resource.k8s.io", "resourceslices")
_FRACTIONS_ON: dict[str, Any] = {
    "kubernetes_version": "1.37",
    "feature_gates": ("DRAFractionalCapacityRange=true",),
}
_OPERATIONS_ON: dict[str, Any] = {
    "kubernetes_version": "1.37",
    "feature_gates": ("DRAListTypeAttributes=true", "DRAOptionalNodeOperations=true"),
}


# -- selectors on slices -----------------------------------------------------------------------------------------------


def _pool_field(patch: Patch, wrong: Callable[[Any, str], str]) -> None:
    """Select slices by `wrong(slice, pool)` instead of by the name of the pool."""

    def make(original: _Function) -> _Function:
        def fields(obj: Any) -> Any:
            found = original(obj)
            return {**found, "spec.pool.name": wrong(obj, found["spec.pool.name"])}

        return fields

    patch.wrap(f"{_DRA}.registration:slice_fields", make)


@mutant("pool-selector-compares-names", rule="DRA-400", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """The field spec.pool.name is the name of the slice."""
    _pool_field(patch, lambda obj, pool: str(obj["metadata"].get("name")))


@mutant("pool-selector-by-prefix", rule="DRA-400", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """The field spec.pool.name ends before the last part of the pool's name."""
    _pool_field(patch, lambda obj, pool: pool.removesuffix("-3"))


def _ignored_by(patch: Patch, verb: str) -> None:
    """Ignore the selectors of one kind of request for slices."""

    def make(original: _Function) -> _Function:
        def predicate(self: Any, resource: Any, request: Any, info: Any) -> Any:
            found = original(self, resource, request, info)
            return None if resource.key == _SLICES and info.verb == verb else found

        return predicate

    patch.wrap("apiserver_emulator.handlers.read:Reader.predicate", make)


@mutant("watch-ignores-the-pool", rule="DRA-400", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """A watch of slices delivers those of all pools."""
    _ignored_by(patch, "watch")


@mutant("collection-deletion-ignores-the-pool", rule="DRA-400", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """The deletion of a collection of slices deletes those of all pools."""
    _ignored_by(patch, "deletecollection")


@mutant("last-field-selects", rule="DRA-401", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """Only the last term of a field selector counts."""
    patch.wrap(f"{_SELECTORS}:parse_fields", lambda original: lambda text: original(text)[-1:])


@mutant("first-field-selects", rule="DRA-401", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """Only the first term of a field selector counts."""
    patch.wrap(f"{_SELECTORS}:parse_fields", lambda original: lambda text: original(text)[:1])


@mutant("unsupported-field-of-slices-ignored", rule="DRA-402", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """A field that slices cannot be selected by is ignored."""
    supported = ("metadata.name", "spec.nodeName", "spec.driver", "spec.pool.name")
    patch.wrap(
        f"{_SELECTORS}:parse_fields",
        lambda original: lambda text: [one for one in original(text) if one[0] in supported],
    )


@mutant("slices-have-a-namespace", rule="DRA-402", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """Slices can be selected by metadata.namespace."""

    def make(original: _Function) -> _Function:
        return lambda text, **options: original(text, **{**options, "namespaced": True})

    patch.wrap("apiserver_emulator.handlers.read:field_selector", make)


# -- slices and results ------------------------------------------------------------------------------------------------


@mutant("capacity-is-validated-again", rule="DRA-424", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """The capacities of a stored device are validated with each update."""
    patch.replace(f"{_DRA}.devices:unchanged_capacity", lambda device, old, rules: False)


@mutant("capacity-of-a-stored-device-is-not-validated", rule="DRA-424", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """The capacities of a stored device are not validated, although they change."""
    patch.replace(f"{_DRA}.devices:unchanged_capacity", lambda device, old, rules: old is not None)


@mutant("any-operation-skipped-alone", rule="DRA-082", **_OPERATIONS_ON)
def _(patch: Patch) -> None:
    """A slice may skip preparation alone."""
    forget(patch, f"{_DRA}.resource_slice:validate_skipped", "Invalid", r".*\.skipNodeOperations")


@mutant("star-does-not-include-clean-up", rule="DRA-082", **_OPERATIONS_ON)
def _(patch: Patch) -> None:
    """The word * does not include NodeUnprepareResources."""
    patch.replace(f"{_DRA}.node_operations:_WITHOUT_CLEAN_UP", frozenset({"NodeUnprepareResources"}))


@mutant("unknown-operation-skipped", rule="DRA-404", **_OPERATIONS_ON)
def _(patch: Patch) -> None:
    """A slice may skip operations that the API does not define."""
    forget(patch, f"{_DRA}.resource_slice:validate_skipped", "NotSupported", r".*\.skipNodeOperations\[\d+\]")


@mutant("operation-skipped-twice", rule="DRA-405", **_OPERATIONS_ON)
def _(patch: Patch) -> None:
    """A slice may list an operation twice."""
    forget(patch, f"{_DRA}.resource_slice:validate_skipped", "Duplicate", r".*\.skipNodeOperations\[\d+\]")


@mutant("any-operation-skipped-in-a-result", rule="DRA-445", **_OPERATIONS_ON)
def _(patch: Patch) -> None:
    """The operations that a result skips are not checked."""
    patch.replace(f"{_DRA}.claim_status:validate_skipped", lambda operations, path, rules: [])


@mutant("any-toleration-in-a-result", rule="DRA-444", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """The tolerations of results are not checked."""
    patch.replace(f"{_DRA}.claim_status:validate_toleration", lambda toleration, path: [])


@mutant("effect-in-a-result-is-not-checked", rule="DRA-444", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """A toleration of a result may have any effect."""
    forget(patch, f"{_DRA}.claim_status:validate_toleration", "NotSupported", r".*\.effect")


@mutant("largest-bound-is-refused", rule="DRA-074c", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """A bound of 63 bits is refused in a range with steps."""
    patch.replace(f"{_DRA}.capacity:_INT64_MAX", (1 << 63) - 2)


@mutant("zero-as-bound-is-refused", rule="DRA-074c", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """A minimum of zero is refused in a range with steps."""

    def make(original: _Function) -> _Function:
        def uncountable(value: Any, *, negative: bool) -> str:
            return "must be positive" if negative and value.sign == 0 else original(value, negative=negative)

        return uncountable

    patch.wrap(f"{_DRA}.capacity:_uncountable", make)


def _range_with(patch: Patch, wrong: Callable[[Any, Any], bool]) -> None:
    """Validate a range with the gate of fractions on only if `wrong(span, default)`."""

    def make(original: _Function) -> _Function:
        def checked(span: Any, default: Any, limit: Any, path: str, rules: Any) -> Any:
            gates = {**rules.gates, "DRAFractionalCapacityRange": wrong(span, default)}
            return original(span, default, limit, path, replace(rules, gates=gates))

        return checked

    patch.wrap(f"{_DRA}.capacity:_range", make)


@mutant("steps-in-whole-numbers", rule="DRA-420", **_FRACTIONS_ON)
def _(patch: Patch) -> None:
    """The steps of every range are computed in whole numbers."""
    _range_with(patch, lambda span, default: False)


@mutant("maximum-between-fractional-steps", rule="DRA-420", **_FRACTIONS_ON)
def _(patch: Patch) -> None:
    """The maximum of a range with fractions may be between two steps."""

    def make(original: _Function) -> _Function:
        def steps(low: Any, high: Any, step: Any, default: Any, *, fractions: bool, **named: Any) -> Any:
            return original(low, None if fractions else high, step, default, fractions=fractions, **named)

        return steps

    patch.wrap(f"{_DRA}.capacity:_steps", make)


@mutant("fraction-of-default-is-overlooked", rule="DRA-421", **_FRACTIONS_ON)
def _(patch: Patch) -> None:
    """A range is computed in thousandths only if one of its own quantities is a fraction."""

    def has_fractions(span: Any, default: Any) -> bool:
        quantities = [Quantity.parse(text) for text in span.values()]
        return any(Quantity(one.value) != one for one in quantities)

    _range_with(patch, has_fractions)


@mutant("fraction-as-default-is-refused", rule="DRA-421", **_FRACTIONS_ON)
def _(patch: Patch) -> None:
    """A range that begins with a whole number has no fraction as default."""

    def make(original: _Function) -> _Function:
        def steps(low: Any, high: Any, step: Any, default: Any, **named: Any) -> Any:
            whole = Quantity(1) if Quantity(low.value) == low else step
            return original(low, high, whole, default, **named)

        return steps

    patch.wrap(f"{_DRA}.capacity:_steps", make)


@mutant("fractions-rounded-to-thousandths", rule="DRA-422", **_FRACTIONS_ON)
def _(patch: Patch) -> None:
    """Fractions of a range are rounded to thousandths."""
    patch.replace(f"{_DRA}.capacity:_has_thousandths", lambda value: True)


@mutant("thousandths-of-32-bits", rule="DRA-422", **_FRACTIONS_ON)
def _(patch: Patch) -> None:
    """A range with fractions has no quantity of more than 32 bits."""

    def make(original: _Function) -> _Function:
        return lambda value: original(value) and value < Quantity(1 << 31)

    patch.wrap(f"{_DRA}.capacity:_has_thousandths", make)


@mutant("hundredths-only", rule="DRA-422", **_FRACTIONS_ON)
def _(patch: Patch) -> None:
    """Fractions have at most two decimal places."""

    def make(original: _Function) -> _Function:
        return lambda value: original(value) and value.milli_value % 10 == 0

    patch.wrap(f"{_DRA}.capacity:_has_thousandths", make)


@mutant("valid-values-compared-as-integers", rule="DRA-423", **_FRACTIONS_ON)
def _(patch: Patch) -> None:
    """Valid values that round to the same whole number are duplicates."""
    patch.replace(f"{_DRA}.capacity:_decimal_text", lambda value: str(value.value))


@mutant("fractions-may-be-repeated", rule="DRA-423", **_FRACTIONS_ON)
def _(patch: Patch) -> None:
    """The same valid value may be given twice."""
    forget(patch, f"{_DRA}.devices:validate_capacity", "Duplicate", r".*\.validValues\[\d+\]")


# -- DeviceTaintRules --------------------------------------------------------------------------------------------------


def _unlisted(patch: Patch, *names: str) -> None:
    """Remove resources from the discovery of v1."""

    def make(original: _Function) -> _Function:
        def listed(table: Any, group: str, version_name: str) -> Any:
            found = original(table, group, version_name)
            if found is not None and (group, version_name) == ("resource.k8s.io", "v1"):
                found["resources"] = [one for one in found["resources"] if one["name"] not in names]
            return found

        return listed

    patch.wrap("apiserver_emulator.discovery:resource_list", make)


@mutant("taint-rules-are-not-in-v1", rule="DRA-450", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """DeviceTaintRules are served in v1beta2 only."""
    _unlisted(patch, "devicetaintrules", "devicetaintrules/status")


@mutant("taint-rules-in-v1-have-no-status", rule="DRA-450", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """DeviceTaintRules have no subresource status in v1."""
    _unlisted(patch, "devicetaintrules/status")


@mutant("taint-rule-of-v1beta2-loses-its-value", rule="DRA-451", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """The taint of a rule that is written in v1beta2 has no value."""

    def make(original: _Function) -> _Function:
        def to_storage(self: Any, resource: Any, version: str, obj: Any) -> Any:
            found = original(self, resource, version, obj)
            if resource.key == _RULES and version == "v1beta2":
                found["spec"]["taint"].pop("value", None)
            return found

        return to_storage

    patch.wrap("apiserver_emulator.core:Core.to_storage", make)


def _other_versions(patch: Patch, target: str, wrong: Callable[[str], str]) -> None:
    """Answer a question about a version of DeviceTaintRules as for another version."""

    def make(original: _Function) -> _Function:
        return lambda resource, version: original(resource, wrong(version) if resource.key == _RULES else version)

    patch.wrap(target, make)


_NEEDS_VERSION = "apiserver_emulator.registry.update:_needs_version"
_RETURNS_DELETED = "apiserver_emulator.handlers.write:_returns_deleted"


@mutant("taint-rule-updated-without-version", rule="DRA-452", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """An update of a DeviceTaintRule in v1 needs no resourceVersion."""
    _other_versions(patch, _NEEDS_VERSION, lambda version: "v1beta2")


@mutant("taint-rule-of-v1beta2-needs-a-version", rule="DRA-452", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """An update of a DeviceTaintRule in v1beta2 needs a resourceVersion."""
    _other_versions(patch, _NEEDS_VERSION, lambda version: "v1")


@mutant("deletion-in-v1-returns-the-taint-rule", rule="DRA-453", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """The deletion of a DeviceTaintRule in v1 returns the rule."""
    _other_versions(patch, _RETURNS_DELETED, lambda version: "v1beta2")


@mutant("deletion-in-v1beta2-returns-a-status", rule="DRA-453", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """The deletion of a DeviceTaintRule in v1beta2 returns a Status."""
    _other_versions(patch, _RETURNS_DELETED, lambda version: "v1")


# -- DeviceTaintRules --------------------------------------------------------------------------------------------------

_RULE = f"{_DRA}.device_taint_rule:DeviceTaintRuleStrategy"


@mutant("conditions-of-rules-are-not-checked", rule="DRA-706", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """The conditions of a DeviceTaintRule may have one type twice."""
    forget(patch, f"{_RULE}.validate_update", "Duplicate", r"status\.conditions.*")


@mutant("conditions-of-rules-9", rule="DRA-706", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """A DeviceTaintRule may have nine conditions."""
    patch.replace(f"{_DRA}.device_taint_rule:CONDITIONS_MAX", 9)


@mutant("times-of-rules-as-they-were-written", rule="DRA-706", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """The times of the conditions of a DeviceTaintRule are stored as they were written."""
    patch.replace(f"{_DRA}.canonical:times", lambda holders, key: None)


@mutant("selectors-of-rules-are-not-checked", rule="DRA-710", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """The selector of a DeviceTaintRule may have any names."""
    patch.replace(f"{_DRA}.device_taint_rule:_selector", lambda selector, old, rules: [])


@mutant("selectors-of-rules-are-checked-at-creation", rule="DRA-710", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """An update of a DeviceTaintRule may give its selector any names."""
    forget(patch, f"{_RULE}.validate_update", "Invalid", r"spec\.deviceSelector\..*")
