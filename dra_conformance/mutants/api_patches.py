"""Changes of the emulated API server that several mutants need."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from dra_conformance.engine.mutation import Patch


def forget(patch: Patch, target: str, reason: str, field: str) -> None:
    """Drop the errors of a validation that have a reason, at fields that match a pattern."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def validate(*args: Any, **options: Any) -> list[Any]:
            found = original(*args, **options)
            return [e for e in found if not (e.reason == f"FieldValue{reason}" and re.fullmatch(field, e.field))]

        return validate

    patch.wrap(target, make)
