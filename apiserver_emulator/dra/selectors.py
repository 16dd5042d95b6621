"""Validation of CEL selectors: presence, length, compilation, cost (DRA-014 to DRA-018).

`dra_api.cel` compiles; this module has the limits and the form of the errors.
Source: pkg/apis/resource/validation/validation.go (validateCELSelector), release 1.36.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
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

    def compile_selector(text: str, cel: Any, **gates: Any) -> bool:
        return bool(cel.compile_selector(text, **gates, stored=rules.stored).too_complex)

    return validate_expression(cel.get("expression", ""), f"{path}.cel.expression", rules, compile_selector)


def validate_expression(expression: str, path: str, rules: Rules, compile_: Callable[..., bool]) -> list[FieldError]:
    """One CEL expression for devices.

    `compile_(expression, module, **gates)` compiles it with `dra_api.cel` and the gates of the server, and returns
    whether it is too complex.
    """
    if size(expression) > EXPRESSION_MAX:
        return [too_long(path, EXPRESSION_MAX)]
    # Imported on use: the compiler's tables cost start-up time that a server without expressions need not pay.
    cel = importlib.import_module("dra_api.cel")
    try:
        too_complex = compile_(
            expression,
            cel,
            version=f"1.{rules.minor}",
            consumable_capacity=rules.on("DRAConsumableCapacity"),
            list_type_attributes=rules.on("DRAListTypeAttributes"),
        )
    except cel.CelCompileError as error:
        return [invalid(path, expression, error.message)]
    return [forbidden_field(path, "too complex, exceeds cost limit")] if too_complex else []
