"""Attributes that a claim derives from those of devices, for its constraints (1.37, gate DRADerivedAttributes).

Source: pkg/apis/resource/validation/validation.go (validateDeviceDerivedAttributes), release 1.37; rules DRA-434 to
DRA-442. A DerivedAttributes object belongs to one validation of one claim.
"""

from __future__ import annotations

from typing import Any

from apiserver_emulator.dra.checks import fully_qualified_name, unique
from apiserver_emulator.dra.rules import Rules
from apiserver_emulator.dra.selectors import validate_expression
from dra_api.status import FieldError, forbidden_field, invalid, required, too_many

Obj = dict[str, Any]

ATTRIBUTES_MAX = 32
COST_MAX = 1_000_000
"""Highest cost of all expressions of a claim together."""
_ALL_REQUESTS = ""


class DerivedAttributes:
    """Checks the derived attributes of each request and adds up their costs."""

    def __init__(self, constraints: list[Obj], rules: Rules) -> None:
        self._rules = rules
        self._cost = 0
        self._used: set[tuple[str, str]] = set()
        for constraint in constraints:
            name = str(constraint.get("matchAttribute", constraint.get("distinctAttribute", "")))
            self._used |= {(str(request), name) for request in constraint.get("requests") or (_ALL_REQUESTS,)}

    def validate(self, attributes: list[Obj], path: str, request: str) -> list[FieldError]:
        """Return the errors of one request's attributes; an alternative is `request/alternative`."""
        found = unique(
            attributes,
            path,
            -1,
            lambda attribute, at: self._validate(attribute, at, request),
            key=lambda attribute: attribute.get("name", ""),
            key_field="name",
            rules=self._rules,
        )
        if len(attributes) > ATTRIBUTES_MAX:
            found.append(too_many(path, len(attributes), ATTRIBUTES_MAX))
        return found

    def too_complex(self, path: str) -> list[FieldError]:
        """Return the error of all expressions together, which have been validated before."""
        if self._cost <= COST_MAX:
            return []
        text = "too complex, total cost of derived attribute CEL expressions in the claim exceeds cost limit"
        return [forbidden_field(path, text)]

    def _validate(self, attribute: Obj, path: str, request: str) -> list[FieldError]:
        name, expression = attribute.get("name", ""), attribute.get("expression", "")
        found = fully_qualified_name(name, f"{path}.name") if name else [required(f"{path}.name")]
        if name and not self._is_used(name, request):
            text = (
                "must be referenced by at least one matchAttribute or distinctAttribute constraint targeting this "
                "request"
            )
            found.append(invalid(f"{path}.name", name, text))
        here = f"{path}.expression"
        if not expression:
            return [*found, required(here)]
        return found + validate_expression(expression, here, self._rules, self._cost_of)

    def _is_used(self, name: str, request: str) -> bool:
        targets = (_ALL_REQUESTS, request, request.partition("/")[0])
        return any((target, name) in self._used for target in targets)

    def _cost_of(self, expression: str, cel: Any, **gates: Any) -> bool:
        """Add the cost of an expression, and return whether it is too high for one."""
        cost: int = cel.cost_of_derived_attribute(expression, **gates)
        self._cost += cost
        return cost > COST_MAX
