"""The `devices` part of a claim spec, which claims and templates share: defaults, gated fields, validation.

Pure functions over a ResourceClaimSpec. Source: pkg/apis/resource/{v1/defaults.go,validation/validation.go},
pkg/api/resourceclaimspec/util.go, release 1.36; rules DRA-001 to DRA-032, DRA-037, DRA-038, DRA-231.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from apiserver_emulator.dra import canonical
from apiserver_emulator.dra.canonical import Undefaulted
from apiserver_emulator.dra.checks import (
    device_class_name,
    each,
    fully_qualified_name,
    label,
    label_name,
    label_value,
    unique,
)
from apiserver_emulator.dra.config import CONFIG_MAX, validate_configuration
from apiserver_emulator.dra.derived_attributes import DerivedAttributes
from apiserver_emulator.dra.rules import Rules
from apiserver_emulator.dra.selectors import validate_selectors
from dra_api.status import FieldError, invalid, not_supported, required

Obj = dict[str, Any]

REQUESTS_MAX = 32
SUBREQUESTS_MAX = 8
CONSTRAINTS_MAX = 32
EFFECTS = ("NoExecute", "NoSchedule", "None")
_OPERATORS = ("Equal", "Exists")
# Errors of declarative validation: the end of the field, and the reason.
_DECLARATIVE = re.compile(
    r"(selectors FieldValueTooMany|(allocationMode|operator|effect) FieldValueNotSupported|operator FieldValueRequired"
    r"|tolerations\[\d+\]\.key FieldValueInvalid)$"
)
_REFERENCE_TEXT = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)


def requests_of(spec: Obj) -> list[Obj]:
    """The requests of a claim spec."""
    found: list[Obj] = (spec.get("devices") or {}).get("requests") or []
    return found


def device_requests(spec: Obj) -> Iterator[Obj]:
    """Every exact request and subrequest."""
    for request in requests_of(spec):
        if request.get("exactly") is not None:
            yield request["exactly"]
        yield from request.get("firstAvailable") or ()


def default_spec(spec: Obj) -> None:
    """Canonical form, allocation mode and count, toleration operator (DRA-001, DRA-002, DRA-030)."""
    canonical.prune(spec)
    spec.setdefault("devices", {}).setdefault("requests", None)  # a list that JSON always has
    for request in device_requests(spec):
        mode = request.get("allocationMode", "")
        if not mode and not isinstance(mode, Undefaulted):
            mode = request["allocationMode"] = "ExactCount"
        if mode == "ExactCount" and not request.get("count"):
            request["count"] = 1
        for toleration in request.get("tolerations") or ():
            toleration.setdefault("operator", "Equal")


def admin_access_in_spec(spec: Obj | None) -> bool:
    """Return whether any request has the field adminAccess."""
    return spec is not None and any("adminAccess" in (r.get("exactly") or {}) for r in requests_of(spec))


def consumable_capacity_in_spec(spec: Obj | None) -> bool:
    """Whether consumable capacity is in use."""
    if spec is None:
        return False
    constraints = (spec.get("devices") or {}).get("constraints") or ()
    return any("distinctAttribute" in c for c in constraints) or any("capacity" in r for r in device_requests(spec))


def drop_disabled(spec: Obj, old: Obj | None, rules: Rules) -> None:
    """Remove the fields of disabled feature gates, unless the stored spec uses them (DRA-025, DRA-037, DRA-038)."""
    if not rules.on("DRAPrioritizedList") and not _any(
        old, lambda s: any("firstAvailable" in r for r in requests_of(s))
    ):
        for request in requests_of(spec):
            request.pop("firstAvailable", None)
    if not rules.on("DRADeviceTaints") and not _any(
        old, lambda s: any(r.get("tolerations") for r in device_requests(s))
    ):
        for request in device_requests(spec):
            request.pop("tolerations", None)
    if not rules.on("DRAAdminAccess") and not admin_access_in_spec(old):
        for request in requests_of(spec):
            (request.get("exactly") or {}).pop("adminAccess", None)
    if not rules.on("DRADerivedAttributes") and not _any(
        old, lambda s: any("derivedAttributes" in r for r in device_requests(s))
    ):
        for request in device_requests(spec):
            request.pop("derivedAttributes", None)
    if not rules.on("DRAConsumableCapacity") and not consumable_capacity_in_spec(old):
        for constraint in (spec.get("devices") or {}).get("constraints") or ():
            constraint.pop("distinctAttribute", None)
        for request in device_requests(spec):
            request.pop("capacity", None)


def _any(spec: Obj | None, used: Callable[[Obj], bool]) -> bool:
    return spec is not None and used(spec)


class RequestNames:
    """The names that constraints, configs and results may refer to."""

    def __init__(self, spec: Obj) -> None:
        self._names = {
            request.get("name", ""): frozenset(sub.get("name", "") for sub in request.get("firstAvailable") or ())
            for request in requests_of(spec)
        }

    def __contains__(self, reference: str) -> bool:
        request, slash, sub = reference.partition("/")
        names = self._names.get(request)
        return names is not None and (not slash or sub in names)

    def check(self, reference: str, path: str) -> list[FieldError]:
        """A reference `request` or `request/subrequest` (DRA-019, DRA-020)."""
        segments = reference.split("/")
        if len(segments) > 2:
            return [invalid(path, reference, _REFERENCE_TEXT)]
        found = [error for segment in segments for error in label(segment, path)]
        if reference not in self:
            found.append(invalid(path, reference, _REFERENCE_TEXT))
        return found

    def check_all(self, references: list[str], path: str, rules: Rules) -> list[FieldError]:
        """A list of references without duplicates (DRA-021)."""
        return unique(references, path, REQUESTS_MAX, self.check, key=str, key_field="", rules=rules)


def validate_spec(spec: Obj, path: str, rules: Rules) -> list[FieldError]:
    """A whole claim spec."""
    devices = spec.get("devices") or {}
    here = f"{path}.devices"
    names = RequestNames(spec)
    derived = DerivedAttributes(devices.get("constraints") or [], rules)
    found = unique(
        devices.get("requests") or [],
        f"{here}.requests",
        REQUESTS_MAX,
        lambda request, at: _request(request, at, derived, rules),
        key=lambda request: request.get("name", ""),
        key_field="name",
        rules=rules,
        whole=True,
    )
    found += each(
        devices.get("constraints") or [],
        f"{here}.constraints",
        CONSTRAINTS_MAX,
        lambda constraint, at: _constraint(constraint, at, names, rules),
    )
    found += each(
        devices.get("config") or [],
        f"{here}.config",
        CONFIG_MAX,
        lambda config, at: (
            names.check_all(config.get("requests") or [], f"{at}.requests", rules)
            + validate_configuration(config, at, rules, stored=rules.stored)
        ),
    )
    return found + derived.too_complex(here)


def _request(request: Obj, path: str, derived: DerivedAttributes, rules: Rules) -> list[FieldError]:
    name = request.get("name", "")
    found = label(name, f"{path}.name")
    exactly = request.get("exactly")
    first = request.get("firstAvailable") or []
    if exactly is None and not first:
        found.append(required(path, "exactly one of `exactly` or `firstAvailable` is required"))
        return found
    both = exactly is not None and bool(first)
    text = "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set"
    # 1.34 validates both parts before it reports this.
    if both and rules.minor >= 35:
        found.append(invalid(path, None, text))
        return found
    if first:
        found += unique(
            first,
            f"{path}.firstAvailable",
            SUBREQUESTS_MAX,
            lambda sub, at: (
                label(sub.get("name", ""), f"{at}.name")
                + _device_request(sub, at, rules)
                + derived.validate(
                    sub.get("derivedAttributes") or [], f"{at}.derivedAttributes", f"{name}/{sub.get('name', '')}"
                )
            ),
            key=lambda sub: sub.get("name", ""),
            key_field="name",
            rules=rules,
            whole=True,
        )
    if exactly is not None:
        found += _as_written(_device_request(exactly, f"{path}.exactly", rules), rules)
        found += derived.validate(exactly.get("derivedAttributes") or [], f"{path}.exactly.derivedAttributes", name)
    if both:
        found.append(invalid(path, None, text))
    return found


def _as_written(errors: list[FieldError], rules: Rules) -> list[FieldError]:
    """Return the errors with the fields of the request's version.

    In v1beta1 a request has the fields of `exactly` itself. Since 1.37 the errors of declarative validation, which
    skips empty values, name them there; all others name the fields of v1.
    """
    if rules.version != "v1beta1" or rules.minor < 37:
        return errors
    return [
        replace(error, field=error.field.replace("].exactly.", "].", 1))
        if error.bad_value and _DECLARATIVE.search(f"{error.field} {error.reason}")
        else error
        for error in errors
    ]


def _device_request(request: Obj, path: str, rules: Rules) -> list[FieldError]:
    found = device_class_name(request.get("deviceClassName", ""), f"{path}.deviceClassName")
    found += validate_selectors(request.get("selectors") or [], f"{path}.selectors", rules)
    found += _allocation_mode(request, path)
    for at, toleration in enumerate(request.get("tolerations") or ()):
        found += validate_toleration(toleration, f"{path}.tolerations[{at}]")
    return found


def _allocation_mode(request: Obj, path: str) -> list[FieldError]:
    mode, count = str(request.get("allocationMode", "")), request.get("count", 0)
    if mode == "All":
        text = "must not be specified when allocationMode is 'All'"
        return [invalid(f"{path}.count", count, text)] if count else []
    if mode == "ExactCount":
        return [invalid(f"{path}.count", count, "must be greater than zero")] if count <= 0 else []
    return [not_supported(f"{path}.allocationMode", mode, ("All", "ExactCount"))]


def validate_toleration(toleration: Obj, path: str) -> list[FieldError]:
    """One toleration of a request, or of a result since 1.37."""
    key, value = toleration.get("key", ""), toleration.get("value", "")
    operator, effect = toleration.get("operator", ""), toleration.get("effect", "")
    found = label_name(key, f"{path}.key") if key else []
    if operator == "Exists":
        if value:
            found.append(invalid(f"{path}.value", value, "must be empty for operator `Exists`"))
    elif operator == "Equal":
        found += label_value(value, f"{path}.value")
    elif not operator:
        found.append(required(f"{path}.operator"))
    else:
        found.append(not_supported(f"{path}.operator", operator, _OPERATORS))
    if effect and effect not in EFFECTS:
        found.append(not_supported(f"{path}.effect", effect, EFFECTS))
    return found


def _constraint(constraint: Obj, path: str, names: RequestNames, rules: Rules) -> list[FieldError]:
    found = names.check_all(constraint.get("requests") or [], f"{path}.requests", rules)
    match, distinct = constraint.get("matchAttribute"), constraint.get("distinctAttribute")
    if match is not None:
        found += fully_qualified_name(match, f"{path}.matchAttribute")
        # Before 1.37 the other one is not looked at.
        if distinct is not None and rules.minor >= 37:
            found += fully_qualified_name(distinct, f"{path}.distinctAttribute")
    elif distinct is not None:
        found += fully_qualified_name(distinct, f"{path}.distinctAttribute")
    elif rules.on("DRAConsumableCapacity"):
        # The text is upstream's own slip: nothing is set (DRA-023).
        text = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
        found.append(required(path, text))
    else:
        found.append(required(f"{path}.matchAttribute"))
    return found
