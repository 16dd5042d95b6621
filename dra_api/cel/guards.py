"""Runtime guards of list functions that are declared per element type: the first element decides the overload.

The checker does not know the element type of an attribute's list, so a call that it accepts for `list(int)` may receive
a list that begins with a bool. cel-go checks the declaration again at the call: it looks at the first element, and an
empty list has any type.

Source: cel-go common/decls/decls.go (guardedUnaryOp, matchesRuntimeUnarySignature), common/types/types.go
(IsAssignableRuntimeType) v0.26.0; k8s.io/apiserver pkg/cel/library/lists.go v0.36.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .values import Duration, Timestamp, Uint, no_overload

_CLASSES: Final[dict[str, type]] = {
    "int": int,
    "uint": Uint,
    "double": float,
    "duration": Duration,
    "bool": bool,
    "string": str,
    "bytes": bytes,
    "timestamp": Timestamp,
}
_SUMMED: Final = ("int", "uint", "double", "duration")

# By function: the class of a list's first element, by the id of the overload for such lists.
ELEMENTS: Final[dict[str, dict[str, type]]] = {
    "isSorted": {f"list_{name}_is_sorted_bool": of for name, of in _CLASSES.items()},
    "max": {f"list_{name}_max_{name}": of for name, of in _CLASSES.items()},
    "min": {f"list_{name}_min_{name}": of for name, of in _CLASSES.items()},
    "sum": {f"list_{name}_sum_{name}": _CLASSES[name] for name in _SUMMED},
}


def guarded(function: str, overload: str, implementation: Callable[..., Any]) -> Callable[..., Any]:
    """Return `implementation` with the guard of its only `overload`, or of all overloads if that is empty."""
    elements = ELEMENTS.get(function)
    if elements is None:
        return implementation
    classes = frozenset({elements[overload]} if overload else elements.values())

    def guard(value: Any) -> Any:
        if not isinstance(value, (list, tuple)) or (value and value[0].__class__ not in classes):
            raise no_overload()
        return implementation(value)

    return guard
