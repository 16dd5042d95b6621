"""Node selectors in slices, devices and allocations. Pure functions.

Source: pkg/apis/core/validation/validation.go (ValidateNodeSelector), release 1.36.
"""

from __future__ import annotations

from typing import Any

from apiserver_emulator.dra.checks import label_name, label_value, subdomain
from dra_api.status import FieldError, forbidden_field, invalid, required

Obj = dict[str, Any]

_NOT_VALID = "not a valid selector operator"


def validate_node_selector(selector: Obj, path: str) -> list[FieldError]:
    """At least one term, each with valid requirements."""
    terms = selector.get("nodeSelectorTerms") or []
    here = f"{path}.nodeSelectorTerms"
    if not terms:
        return [required(here, "must have at least one node selector term")]
    found: list[FieldError] = []
    for at, term in enumerate(terms):
        for index, requirement in enumerate(term.get("matchExpressions") or ()):
            found += _expression(requirement, f"{here}[{at}].matchExpressions[{index}]")
        for index, requirement in enumerate(term.get("matchFields") or ()):
            found += _field(requirement, f"{here}[{at}].matchFields[{index}]")
    return found


def _expression(requirement: Obj, path: str) -> list[FieldError]:
    operator = requirement.get("operator", "")
    values = requirement.get("values") or []
    found: list[FieldError] = []
    if operator in ("In", "NotIn"):
        if not values:
            found.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            found.append(forbidden_field(f"{path}.values", text))
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            text = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            found.append(required(f"{path}.values", text))
    else:
        found.append(invalid(f"{path}.operator", operator, _NOT_VALID))
    found += label_name(requirement.get("key", ""), f"{path}.key")
    for at, value in enumerate(values):
        found += label_value(value, f"{path}.values[{at}]")
    return found


def _field(requirement: Obj, path: str) -> list[FieldError]:
    operator = requirement.get("operator", "")
    values = requirement.get("values") or []
    found: list[FieldError] = []
    if operator in ("In", "NotIn"):
        if len(values) != 1:
            text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            found.append(required(f"{path}.values", text))
    else:
        found.append(invalid(f"{path}.operator", operator, _NOT_VALID))
    key = requirement.get("key", "")
    if key != "metadata.name":
        found.append(invalid(f"{path}.key", key, "not a valid field selector key"))
        return found
    for at, value in enumerate(values):
        found += subdomain(value, f"{path}.values[{at}]")
    return found


def shown_terms(terms: list[Obj] | None) -> list[Obj] | None:
    """Terms as messages show them: Go's internal structs."""
    if terms is None:
        return None
    return [
        {"MatchExpressions": _shown(term.get("matchExpressions")), "MatchFields": _shown(term.get("matchFields"))}
        for term in terms
    ]


def _shown(requirements: list[Obj] | None) -> list[Obj] | None:
    if requirements is None:
        return None
    return [
        {"Key": each.get("key", ""), "Operator": each.get("operator", ""), "Values": each.get("values")}
        for each in requirements
    ]
