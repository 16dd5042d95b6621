"""Validation of decoded objects beyond their types: rejects what every API server rejects.

Pure functions. Only objects that no API server can have stored are rejected. Objects that can be stored but are wrong
(an unknown counter, a selector that fails) are left to the rules.

Source: k8s.io/kubernetes pkg/apis/resource/validation and pkg/apis/core/validation (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from dra_api.quantity import Quantity
from dra_api.semver import SemVer, SemVerError
from dra_conformance.oracle.schema import (
    Claim,
    ClaimSpec,
    DecodedObject,
    Device,
    ExactDeviceRequest,
    NodeSelector,
    NodeSelectorRequirement,
    Pod,
    ResourceSlice,
    Template,
    ValidRange,
    parse_time,
)

_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_FIELD_OPERATORS = ("In", "NotIn")
_MODES = ("ExactCount", "All")
_TOLERATES = ("", "Equal", "Exists")


class Malformed(ValueError):
    """An object that cannot be decoded: `field` is the path of the field, `problem` is the reason."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}" if field else problem)
        self.field = field
        self.problem = problem


def check(decoded: DecodedObject) -> None:
    """Raise Malformed for the first field that an API server would have rejected."""
    # The schema does not type these entries, and `ObjectMeta.changed` parses their times.
    for number, entry in enumerate(decoded.metadata.managed_fields):
        _time(entry.get("time"), f"metadata.managedFields[{number}].time")
    if isinstance(decoded, ResourceSlice):
        _node_selector(decoded.spec.node_selector, "spec.nodeSelector")
        _distinct((counters.name for counters in decoded.spec.shared_counters), "spec.sharedCounters")
        for number, device in enumerate(decoded.spec.devices):
            _device(device, f"spec.devices[{number}]")
    if isinstance(decoded, Claim):
        _claim(decoded.spec, "spec")
        if decoded.status.allocation is not None:
            _node_selector(decoded.status.allocation.node_selector, "status.allocation.nodeSelector")
    if isinstance(decoded, Pod):
        required = decoded.spec.affinity.node_affinity.required
        _node_selector(required, "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution")
    if isinstance(decoded, Template):
        _claim(decoded.spec.spec, "spec.spec")


def _time(value: Any, field: str) -> None:
    if not isinstance(value, str):
        return
    try:
        parse_time(value)
    except ValueError:
        raise Malformed(field, f"{value!r} is not a time such as 2026-01-31T12:00:00Z") from None


def _node_selector(selector: NodeSelector | None, field: str) -> None:
    if selector is not None and not selector.node_selector_terms:
        raise Malformed(f"{field}.nodeSelectorTerms", "needs at least one term")
    for number, term in enumerate(selector.node_selector_terms if selector else ()):
        for name, operators, requirements in (
            ("matchExpressions", _OPERATORS, term.match_expressions),
            ("matchFields", _FIELD_OPERATORS, term.match_fields),
        ):
            for at, requirement in enumerate(requirements):
                path = f"{field}.nodeSelectorTerms[{number}].{name}[{at}]"
                if requirement.operator not in operators:
                    raise Malformed(f"{path}.operator", f"{requirement.operator!r} is none of {', '.join(operators)}")
                _values(requirement, f"{path}.values", one=name == "matchFields")


def _values(requirement: NodeSelectorRequirement, field: str, *, one: bool) -> None:
    given = len(requirement.values)
    if (one or requirement.operator in ("Gt", "Lt")) and given != 1:
        raise Malformed(field, f"needs exactly one value for {requirement.operator}, has {given}")
    if requirement.operator in ("In", "NotIn") and not given:
        raise Malformed(field, f"needs at least one value for {requirement.operator}")
    if requirement.operator in ("Exists", "DoesNotExist") and given:
        raise Malformed(field, f"must be empty for {requirement.operator}")


# -- devices ---------------------------------------------------------------------------------------------------------


def _device(device: Device, field: str) -> None:
    _node_selector(device.node_selector, f"{field}.nodeSelector")
    _distinct((used.counter_set for used in device.consumes_counters), f"{field}.consumesCounters", "counterSet")
    for name, value in device.attributes.items():
        _attribute(value, f"{field}.attributes[{name}]")
    for name, capacity in device.capacity.items():
        if (policy := capacity.request_policy) is not None and policy.valid_range is not None:
            _range(policy.valid_range, f"{field}.capacity[{name}].requestPolicy.validRange")


def _range(valid: ValidRange, field: str) -> None:
    if valid.step is not None and valid.step <= Quantity.parse("0"):
        raise Malformed(f"{field}.step", f"{valid.step} is not greater than zero")


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_version(value: Any) -> bool:
    try:
        SemVer.parse(value)
    except (SemVerError, TypeError, AttributeError):
        return False
    return True


_SCALARS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "int": ("a whole number", _is_int),
    "bool": ("true or false", lambda value: isinstance(value, bool)),
    "string": ("text", lambda value: isinstance(value, str)),
    "version": ("a semantic version such as 1.2.3", _is_version),
}
_KINDS = (*_SCALARS, *(f"{kind}s" for kind in _SCALARS))


def _attribute(value: dict[str, Any], field: str) -> None:
    given = [kind for kind in _KINDS if kind in value]
    if len(given) != 1:
        has = ", ".join(map(str, value)) or "none"
        raise Malformed(field, f"needs exactly one of {', '.join(_KINDS)}, has {has}")
    kind = given[0]
    what, fits = _SCALARS[kind.removesuffix("s")]
    if kind in _SCALARS:
        if not fits(value[kind]):
            raise Malformed(f"{field}.{kind}", f"expected {what}, got {value[kind]!r}")
        return
    if not isinstance(value[kind], list):
        raise Malformed(f"{field}.{kind}", f"expected a list, got {value[kind]!r}")
    for at, element in enumerate(value[kind]):
        if not fits(element):
            raise Malformed(f"{field}.{kind}[{at}]", f"expected {what}, got {element!r}")


# -- claims ----------------------------------------------------------------------------------------------------------


def _claim(spec: ClaimSpec, field: str) -> None:
    requests = spec.devices.requests
    _distinct((device_request.name for device_request in requests), f"{field}.devices.requests")
    for number, device_request in enumerate(requests):
        path = f"{field}.devices.requests[{number}]"
        if (device_request.exactly is None) == (not device_request.first_available):
            raise Malformed(path, "needs exactly one of exactly, firstAvailable")
        for at, request in enumerate(device_request.first_available):
            if not request.name:  # the schema has one type for subrequests and exact requests, which have no name
                raise Malformed(f"{path}.firstAvailable[{at}].name", "is missing")
        _distinct((request.name for request in device_request.first_available), f"{path}.firstAvailable")
        for field_name, request in _alternatives(device_request.exactly, device_request.first_available):
            _request(request, f"{path}.{field_name}")


def _alternatives(
    exactly: ExactDeviceRequest | None, first_available: list[ExactDeviceRequest]
) -> Iterator[tuple[str, ExactDeviceRequest]]:
    if exactly is not None:
        yield "exactly", exactly
    for number, request in enumerate(first_available):
        yield f"firstAvailable[{number}]", request


def _request(request: ExactDeviceRequest, field: str) -> None:
    if request.allocation_mode not in _MODES:
        raise Malformed(f"{field}.allocationMode", f"{request.allocation_mode!r} is none of {', '.join(_MODES)}")
    if request.count < 1 and not request.all_devices:
        raise Malformed(f"{field}.count", f"{request.count} is not greater than zero")
    for number, toleration in enumerate(request.tolerations):
        if toleration.operator not in _TOLERATES:
            raise Malformed(
                f"{field}.tolerations[{number}].operator", f"{toleration.operator!r} is none of Equal, Exists"
            )


def _distinct(names: Iterable[str], field: str, key: str = "name") -> None:
    seen: set[str] = set()
    for number, name in enumerate(names):
        if name in seen:
            raise Malformed(f"{field}[{number}].{key}", f"{name!r} is the {key} of an earlier entry too")
        seen.add(name)
