"""Check of an object against the type of its kind, as Go's strict decoder does it.

`conform` raises for wrong JSON types, drops unknown fields and nulls, and brings quantities into canonical form, all
in place; `check_fields` turns the results into a 400 or into warnings, depending on fieldValidation.

Source: k8s.io/apimachinery pkg/runtime/serializer/json, sigs.k8s.io/json (error texts).
"""

from __future__ import annotations

import base64
import re
from copy import copy
from datetime import datetime
from typing import Any

from apiserver_emulator.decoding import json_type
from apiserver_emulator.schema_tree import Node
from dra_api.gotext import go_quote
from dra_api.quantity import Quantity
from dra_api.status import bad_request

Obj = dict[str, Any]


class UndecodableError(Exception):
    """A value that Go's decoder refuses; the message is Go's."""


class TypeMismatchError(UndecodableError):
    """A value of another JSON type than its field.

    `enter` is called for each enclosing object, from the value to the root: Go's message has the innermost struct and
    the path of fields below it, without keys of maps and indices of lists.
    """

    def __init__(self, value: Any, wanted: str, *, found: str = "") -> None:
        super().__init__(wanted)
        self.value = value
        self.found = found or json_type(value)
        self.wanted = wanted
        self.path = ""
        self._struct = ""
        self._fields: list[str] = []

    def enter_list(self, index: int) -> None:
        """Prepend an index to the path."""
        self.path = f"[{index}]{self.path and '.'}{self.path}"

    def enter(self, node: Node, field_name: str) -> None:
        """Prepend a field of type `node` to the path; a field that the type does not define is a key of a map."""
        self.path = f"{field_name}{self.path and ('' if self.path.startswith('[') else '.')}{self.path}"
        if field_name not in node.properties:
            return
        self._struct = self._struct or node.name.rpartition(".")[2]
        self._fields.insert(0, field_name)

    def __str__(self) -> str:
        where = ".".join([self._struct, *self._fields])
        return f"json: cannot unmarshal {self.found} into Go struct field {where} of type {self.wanted}"


def go_type(node: Node | None) -> str:
    """Return Go's name of a field's type. The published schema does not show aliases of strings."""
    if node is None:
        return "interface {}"
    if node.type == "array":
        return f"[]{go_type(node.items)}"
    if node.additional is not None and not node.properties:
        return f"map[string]{go_type(node.additional)}"
    if node.type in ("object", "quantity", "int-or-string") and node.name:
        return ".".join(node.name.split(".")[-2:])
    plain = {"integer": node.format or "int32", "boolean": "bool", "number": "float64", "object": "struct"}
    return plain.get(node.type, node.type)


def conform(value: Any, node: Node | None, path: str, unknown: list[str], *, lenient: bool = False) -> Any:
    """Drop unknown fields (their paths are added to `unknown`) and nulls, in place; return the value.

    `lenient` ignores wrong types: validation refuses them in custom resources. Raises UndecodableError.
    """
    if node is None or value is None:
        return value
    kind = node.type
    if kind == "object":
        if not isinstance(value, dict):
            if node.free_form or lenient:
                return value
            raise TypeMismatchError(value, go_type(node))
        return _conform_object(value, node, path, unknown, lenient)
    if kind == "array":
        if not isinstance(value, list):
            if lenient:
                return value
            raise TypeMismatchError(value, go_type(node))
        items = node.items
        if not lenient and items is not None and None in value:
            # Go decodes a null entry to the zero value of its type.
            value[:] = [copy(_ZERO.get(items.type)) if sub is None else sub for sub in value]
        if items is not None and items.type not in ("string", "integer", "number", "boolean"):
            for at, sub in enumerate(value):
                try:
                    value[at] = conform(sub, items, f"{path}[{at}]", unknown, lenient=lenient)
                except TypeMismatchError as error:
                    error.enter_list(at)
                    raise
            return value
        # Scalars are checked but never replaced.
        if not lenient:
            for at, sub in enumerate(value):
                conform(sub, items, f"{path}[{at}]", unknown)
        return value
    if kind == "quantity":
        return _quantity(value)
    if not lenient:
        _scalar(value, kind, node)
    return value


_ZERO: dict[str, Any] = {"object": {}, "array": [], "string": "", "integer": 0, "number": 0, "boolean": False}
_BITS = {"int32": 31, "int64": 63}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d([.,]\d+)?(Z|[+-]\d\d:\d\d)")
_MICROSECONDS = re.compile(r"\.\d{6}(Z|[+-]\d\d:\d\d)")
_SECONDS_END = len("2006-01-02T15:04:05")
_BASE64 = re.compile(r"[A-Za-z0-9+/]*")
_TIME_LAYOUT = "2006-01-02T15:04:05Z07:00"
_MICRO_TIME_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"


def _scalar(value: Any, kind: str, node: Node) -> None:
    found = type(value)
    if kind == "string":
        if found is not str:
            raise TypeMismatchError(value, "string")
        if node.format == "date-time":
            _time(value, node)
        elif node.format == "byte":
            _base64(value)
    elif kind == "integer":
        bits = _BITS.get(node.format, 31)
        if found is int and -(1 << bits) <= value < 1 << bits:
            return
        # Go's message quotes a number outside of the type's range (1.0 too), but no value of another type.
        what = f"number {value}" if found in (int, float) else ""
        raise TypeMismatchError(value, go_type(node), found=what)
    elif kind == "boolean":
        if found is not bool:
            raise TypeMismatchError(value, "bool")
    elif kind == "number":
        if found is bool or found not in (int, float):
            raise TypeMismatchError(value, "float64")
    elif kind == "int-or-string" and (found is bool or found not in (int, str)):
        raise TypeMismatchError(value, "intstr.IntOrString")


def _time(value: str, node: Node) -> None:
    """Raise UndecodableError unless the text is an RFC 3339 time (metav1.Time.UnmarshalJSON).

    A MicroTime needs exactly six digits after the second.
    """
    micro = node.name.endswith(".MicroTime")
    layout = _MICRO_TIME_LAYOUT if micro else _TIME_LAYOUT
    shown = go_quote(value)
    if not _TIME.fullmatch(value):
        raise UndecodableError(f'parsing time {shown} as "{layout}": cannot parse {shown} as "2006"')
    if micro and not _MICROSECONDS.fullmatch(value[_SECONDS_END:]):
        rest = go_quote(value[_SECONDS_END:])
        raise UndecodableError(f'parsing time {shown} as "{layout}": cannot parse {rest} as ".000000"')
    try:
        datetime.fromisoformat(value)
    except ValueError as error:
        raise UndecodableError(f"parsing time {shown}: {str(error).partition(' ')[0]} out of range") from error


def _base64(value: str) -> None:
    try:
        base64.b64decode(value, validate=True)
    except ValueError as error:
        wrong = _BASE64.match(value)
        at = wrong.end() if wrong else 0
        raise UndecodableError(f"illegal base64 data at input byte {at}") from error


def _quantity(value: Any) -> str:
    """Return a quantity in canonical form, which is how Go stores it."""
    try:
        # Quantities decode themselves: a value of a wrong type is a text that is none.
        return str(Quantity.parse(str(value)))
    except ValueError as error:
        raise UndecodableError(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        ) from error


def _conform_object(value: Obj, node: Node, path: str, unknown: list[str], lenient: bool) -> Obj:
    properties = node.properties
    additional = node.additional
    free = node.free_form
    # Collected: a dict must not change while it is iterated.
    drop: list[str] | None = None
    for name, sub in value.items():
        typed = properties.get(name) or additional
        if typed is None:
            if not free:
                unknown.append(f"{path}.{name}" if path else name)
                drop = [*(drop or ()), name]
            continue
        if sub is None:
            if name not in properties and typed.type == "string" and not lenient:
                value[name] = ""  # Go decodes null to the empty string in a map[string]string
                continue
            # Go decodes null like an absent field; free-form and nullable fields keep it.
            if (not free or name in properties) and not typed.schema.get("nullable"):
                drop = [*(drop or ()), name]
            continue
        try:
            fixed = conform(sub, typed, f"{path}.{name}" if path else name, unknown, lenient=lenient)
        except TypeMismatchError as error:
            error.enter(node, name)
            raise
        if fixed is not sub:
            value[name] = fixed
    if drop:
        for name in drop:
            del value[name]
    return value


def check_fields(
    obj: Obj,
    node: Node | None,
    *,
    kind: str,
    version: str,
    validation: str,
    duplicates: list[str],
    lenient: bool = False,
) -> list[str]:
    """Check a whole object, in place; return warnings (fieldValidation=Warn). Raises 400 for Strict or wrong types."""
    unknown: list[str] = []
    try:
        conform(obj, node, "", unknown, lenient=lenient)
    except UndecodableError as error:
        raise bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {error}') from error
    if lenient:
        unknown.sort()  # the order of the pruning of custom resources
    problems = [f"unknown field {go_quote(path)}" for path in unknown]
    problems += [f"duplicate field {go_quote(path)}" for path in duplicates]
    if not problems or validation == "Ignore":
        return []
    if validation == "Strict":
        raise bad_request(
            f'{kind} in version "{version}" cannot be handled as a {kind}: strict decoding error: '
            + ", ".join(problems)
        )
    return problems
