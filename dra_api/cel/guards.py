"""Guards of list functions that are declared type by type: what the list begins with decides whether a call is taken.

The checker cannot see what a list of an attribute holds, so a call that it accepts for `list(int)` may be made on a
list that begins with a bool. cel-go asks the declaration again when the call is made: of a list's elements it looks at
the first, and an empty list is of any type.

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

# By function, what a list may begin with, by the id of the overload for lists of that.
ELEMENTS: Final[dict[str, dict[str, type]]] = {
    "isSorted": {f"list_{name}_is_sorted_bool": of for name, of in _CLASSES.items()},
    "max": {f"list_{name}_max_{name}": of for name, of in _CLASSES.items()},
    "min": {f"list_{name}_min_{name}": of for name, of in _CLASSES.items()},
    "sum": {f"list_{name}_sum_{name}": _CLASSES[name] for name in _SUMMED},
}


def guarded(function: str, overload: str, implementation: Callable[..., Any]) -> Callable[..., Any]:
    """`implementation` of `function`, behind the guard of its only `overload`, or of all where that is empty."""
    elements = ELEMENTS.get(function)
    if elements is None:
        return implementation
    classes = frozenset({elements[overload]} if overload else elements.values())

    def guard(value: Any) -> Any:
        if not isinstance(value, (list, tuple)) or (value and value[0].__class__ not in classes):
            raise no_overload()
        return implementation(value)

    return guard
