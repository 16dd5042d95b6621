"""Field selection and indexing, with or without presence test.

Pure functions. Source: cel-go 0.26 interpreter/attributes.go (refQualify, applyQualifiers).
"""

from __future__ import annotations

from typing import Any, Final

from .errors import CelRuntimeError
from .values import Uint, find_key, type_value

__all__ = ["ABSENT", "DefaultMap", "key_text", "qualify", "qualify_if_present"]

ABSENT: Final = object()


class DefaultMap(dict[str, Any]):
    """A map that returns an empty map for an unknown key, although ``in`` is false for it.

    Kubernetes wraps device.attributes and device.capacity like this (dynamic-resource-allocation/cel/compile.go,
    mapper).
    """

    __slots__ = ()

    def __missing__(self, key: str) -> dict[str, Any]:
        return _EMPTY


_EMPTY: Final[dict[str, Any]] = {}


def key_text(key: Any) -> str:
    """Return a key as text for error messages."""
    if key is None:
        return "null"
    if key.__class__ is bool:
        return "true" if key else "false"
    if key.__class__ is float:
        return f"{key:g}"
    return str(key)


def qualify(value: Any, key: Any) -> Any:
    """Return ``value.key`` or ``value[key]``. Raises CelRuntimeError if it does not exist."""
    part = qualify_if_present(value, key)
    if part is not ABSENT:
        return part
    if isinstance(value, (list, tuple)):
        raise CelRuntimeError(f"index out of bounds: {key_text(key)}")
    raise CelRuntimeError(f"no such key: {key_text(key)}")


def qualify_if_present(value: Any, key: Any) -> Any:
    """Return the value, or ABSENT. Raises CelRuntimeError only for an index that no list can have."""
    if isinstance(value, dict):
        found, part = find_key(value, key)
        if found:
            return part
        return _EMPTY if value.__class__ is DefaultMap else ABSENT
    if isinstance(value, (list, tuple)):
        index = list_index(key)
        return value[index] if 0 <= index < len(value) else ABSENT
    return ABSENT


def list_index(key: Any) -> int:
    """Return a list index of an int, a uint or an integral double."""
    if key.__class__ is int or key.__class__ is Uint:
        return int(key)
    if key.__class__ is float:
        if key.is_integer():
            return int(key)
        raise CelRuntimeError(f"unsupported index value {key_text(key)} in list")
    raise CelRuntimeError(f"unsupported index type '{type_value(key).name}' in list")
