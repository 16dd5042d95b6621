"""Device attributes: exactly one value, of limited size (DRA-059 to DRA-063). Pure functions.

Source: pkg/apis/resource/validation/validation.go (validateDeviceAttribute), release 1.36.
"""

from __future__ import annotations

from typing import Any

from apiserver_emulator.dra.checks import semantic_version, size
from apiserver_emulator.dra.rules import Rules
from dra_api.status import FieldError, invalid, too_long

Obj = dict[str, Any]

VALUE_MAX = 64
LISTS = ("bools", "ints", "strings", "versions")
_SCALARS = ("bool", "int", "string", "version")
# How the API server shows an attribute with several values: its internal struct.
_SHOWN = (
    ("IntValue", "int"),
    ("BoolValue", "bool"),
    ("StringValue", "string"),
    ("VersionValue", "version"),
    ("IntValues", "ints"),
    ("BoolValues", "bools"),
    ("StringValues", "strings"),
    ("VersionValues", "versions"),
)


NO_VALUE = "must specify one of:"
SEVERAL_VALUES = "must specify exactly one of:"


def has_list(attribute: Obj) -> bool:
    """Whether a list value is present, even an empty one."""
    return any(name in attribute for name in LISTS)


def value_count(attributes: dict[str, Obj]) -> int:
    """Values in all attributes, each list element counted."""
    total = 0
    for attribute in attributes.values():
        elements = sum(len(attribute.get(name) or ()) for name in LISTS)
        total += elements or 1
    return total


def validate_attribute(attribute: Obj, path: str, rules: Rules) -> list[FieldError]:
    """One attribute."""
    found: list[FieldError] = []
    if "string" in attribute:
        found += _text(attribute["string"], f"{path}.string")
    if "version" in attribute:
        found += semantic_version(attribute["version"], f"{path}.version", limit=VALUE_MAX)
    for name in LISTS:
        if name not in attribute:
            continue
        values = attribute[name]
        if not values:
            found.append(invalid(f"{path}.{name}", [], "must not be empty if specified"))
        for at, value in enumerate(values):
            if name == "strings":
                found += _text(value, f"{path}.{name}[{at}]")
            elif name == "versions":
                found += semantic_version(value, f"{path}.{name}[{at}]", limit=VALUE_MAX)
    if rules.minor >= 37:
        return found + _one_of(attribute, path, rules)
    present = sum(name in attribute for name in (*_SCALARS, *LISTS))
    if present != 1:
        shown: object = {go: attribute.get(name) for go, name in _SHOWN} if present else ""
        found.append(invalid(path, shown, "exactly one value must be specified"))
    return found


def _one_of(attribute: Obj, path: str, rules: Rules) -> list[FieldError]:
    """Exactly one value, as 1.37 looks at it: an empty list is none, and the path is that of the request's version."""
    if rules.version == "v1beta1":
        path = path.replace("].attributes[", "].basic.attributes[", 1)
    names = ", ".join(f"`{name}`" for _, name in _SHOWN)
    present = [name for _, name in _SHOWN if name in attribute and (name in _SCALARS or attribute[name])]
    if not present:
        return [invalid(path, "", f"{NO_VALUE} {names}")]
    if len(present) > 1:
        return [invalid(path, f"{{{', '.join(present)}}}", f"{SEVERAL_VALUES} {names}")]
    return []


def _text(value: str, path: str) -> list[FieldError]:
    return [too_long(path, VALUE_MAX)] if size(value) > VALUE_MAX else []
