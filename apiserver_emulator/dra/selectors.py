"""Validation of CEL selectors: presence, length, compilation, cost (DRA-014 to DRA-018).

`dra_api.cel` compiles; this module has the limits and the form of the errors.
Source: pkg/apis/resource/validation/validation.go (validateCELSelector), release 1.36.
"""

from __future__ import annotations

import importlib
from typing import Any

from apiserver_emulator.dra.checks import each, size
from apiserver_emulator.dra.rules import Rules
from dra_api.status import FieldError, forbidden_field, invalid, required, too_long

Obj = dict[str, Any]

SELECTORS_MAX = 32
EXPRESSION_MAX = 10 * 1024


def validate_selectors(selectors: list[Obj], path: str, rules: Rules) -> list[FieldError]:
    """The selectors of a class, request or subrequest."""
    return each(selectors, path, SELECTORS_MAX, lambda selector, here: validate_selector(selector, here, rules))


def validate_selector(selector: Obj, path: str, rules: Rules) -> list[FieldError]:
    """One selector."""
    cel = selector.get("cel")
    if cel is None:
        return [required(f"{path}.cel")]
    expression = cel.get("expression", "")
    here = f"{path}.cel.expression"
    if size(expression) > EXPRESSION_MAX:
        return [too_long(here, EXPRESSION_MAX)]
    return _compile(expression, here, rules)


def _compile(expression: str, path: str, rules: Rules) -> list[FieldError]:
    # Imported on use: the compiler's tables cost start-up time that a server without selectors need not pay.
    cel = importlib.import_module("dra_api.cel")
    try:
        selector = cel.compile_selector(
            expression,
            version=f"1.{rules.minor}",
            consumable_capacity=rules.on("DRAConsumableCapacity"),
            list_type_attributes=rules.on("DRAListTypeAttributes"),
            stored=rules.stored,
        )
    except cel.CelCompileError as error:
        return [invalid(path, expression, error.message)]
    if selector.too_complex:
        return [forbidden_field(path, "too complex, exceeds cost limit")]
    return []
