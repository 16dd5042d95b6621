"""CEL types of the fields of a structural schema, for the compilation of validation rules.

Pure functions. Only names and plain types are distinguished; preserved fields, nullable and int-or-string values have
the type dyn. Source: k8s.io/apiserver/pkg/cel/common/schemas.go (SchemaDeclType, 0.36).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from .checker import Environment
from .declarations import BASE_FUNCTIONS
from .device import compile_checked
from .types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    Type,
    list_of,
    map_of,
    object_type,
    optional_of,
)

__all__ = ["check_rule"]

_SCALARS: Final = {"boolean": BOOL, "integer": INT, "number": DOUBLE}
_FORMATS: Final = {"byte": BYTES, "duration": DURATION, "date": TIMESTAMP, "date-time": TIMESTAMP}
_RESERVED: Final = frozenset(
    {
        "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import",
        "let", "loop", "package", "namespace", "return", "var", "void", "while",
    }
)  # fmt: skip
_PARTS: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_PART: Final = re.compile(r"__|[./-]")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")


def check_rule(expression: str, schema: Mapping[str, Any], *, root: bool = False, optional: bool = False) -> str:
    """Return the type of a rule or message expression; a structural schema describes `self`.

    `root`: the schema is that of a whole object, which also has kind and name. `optional`: oldSelf is an optional
    value. Raises CelCompileError.
    """
    structs: dict[str, dict[str, Type]] = {}
    self_type = _type(schema, "self", structs)
    if root and self_type.name in structs:
        structs["self.metadata"] = {"name": STRING, "generateName": STRING}
        structs["self"] |= {"apiVersion": STRING, "kind": STRING, "metadata": object_type("self.metadata")}
    old_type = optional_of(self_type) if optional else self_type
    environment = Environment({"self": self_type, "oldSelf": old_type}, BASE_FUNCTIONS, structs)
    return str(compile_checked(expression, environment).output)


def _type(schema: Mapping[str, Any], name: str, structs: dict[str, dict[str, Type]]) -> Type:
    kind = schema.get("type")
    if schema.get("x-kubernetes-int-or-string") or schema.get("nullable"):
        return DYN
    if kind == "array" and isinstance(schema.get("items"), Mapping):
        return list_of(_type(schema["items"], f"{name}.@items", structs))
    if kind == "object":
        return _object(schema, name, structs)
    if kind == "string":
        return _FORMATS.get(str(schema.get("format")), STRING)
    return _SCALARS.get(str(kind), DYN)


def _object(schema: Mapping[str, Any], name: str, structs: dict[str, dict[str, Type]]) -> Type:
    properties = schema.get("properties") or {}
    extra = schema.get("additionalProperties")
    if isinstance(extra, Mapping):
        return map_of(STRING, _type(extra, f"{name}.@values", structs))
    if schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("x-kubernetes-embedded-resource"):
        return DYN
    structs[name] = {
        _escaped(field): _type(sub, f"{name}.{field}", structs)
        for field, sub in properties.items()
        if _NAME.fullmatch(field)
    }
    return object_type(name)


def _escaped(field: str) -> str:
    if field in _RESERVED:
        return f"__{field}__"
    return _PART.sub(lambda match: _PARTS[match[0]], field)
