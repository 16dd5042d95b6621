"""From request bytes to objects: media types, and conformance to the type of the kind.

Bodies come in JSON, YAML or Kubernetes' protobuf envelope. `conform` checks an object against its schema tree the way
Go's strict decoder does: wrong JSON types are a 400, unknown and duplicate fields are dropped and reported according
to fieldValidation, null values vanish. Pure functions.

Source: k8s.io/apimachinery pkg/runtime/serializer/json, sigs.k8s.io/json (error texts).
"""

from __future__ import annotations

import importlib
import json
import re
from dataclasses import dataclass, field
from typing import Any

import orjson
import yaml

from apiserver_emulator.schema_tree import Node
from dra_api.gotext import go_quote
from dra_api.quantity import Quantity
from dra_api.status import StatusError, bad_request, unsupported_media_type

Obj = dict[str, Any]

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
BODY_TYPES = (JSON, YAML, PROTOBUF)
PROTOBUF_MAGIC = b"k8s\x00"


def media_type(content_type: str) -> str:
    """The media type without parameters."""
    return content_type.split(";", 1)[0].strip().lower()


@dataclass(slots=True)
class Decoded:
    """A decoded body; `duplicates` are JSON paths of keys that appeared twice (only looked for on request)."""

    obj: Obj
    duplicates: list[str] = field(default_factory=list)


def decode_body(body: bytes, content_type: str, *, kind: str = "", look_for_duplicates: bool = False) -> Decoded:
    """Decode an object in any accepted media type. Raises 400 or 415, which name the `kind` that is wanted."""
    media = media_type(content_type) or JSON
    if media == PROTOBUF or (media == JSON and body.startswith(PROTOBUF_MAGIC)):
        return Decoded(_protobuf(body))
    if media in (YAML, "text/yaml", "application/x-yaml"):
        return Decoded(_yaml(body))
    if media != JSON:
        raise unsupported_media_type(content_type, BODY_TYPES)
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        if body[:1] not in (b"{", b"["):
            return Decoded(_yaml(body))  # the JSON serializer of the API server reads YAML as well
        raise _unrecognized(body, kind, _syntax(body, str(error))) from error
    if found is None:
        found = {}  # Go decodes null into the empty object
    if not isinstance(found, dict):
        raise _unrecognized(body, kind, f"json: cannot unmarshal {json_type(found)} into Go value of type {_TYPE_META}")
    duplicates = _duplicates(body) if look_for_duplicates else []
    return Decoded(found, duplicates)


_TYPE_META = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
_SHOWN = 30


def _unrecognized(body: bytes, kind: str, why: str) -> StatusError:
    """The refusal of a body from which no kind can be read; one that should be of a kind is shown with it."""
    told = f"couldn't get version/kind; json parse error: {why}"
    if not kind:
        return bad_request(told)
    return bad_request(f"the object provided is unrecognized (must be of type {kind}): {told} ({summary(body)})")


def summary(body: bytes) -> str:
    """The beginning of a body as refusals show it: JSON as text, anything else in hexadecimal."""
    if not body:
        return "<empty>"
    head = body[:_SHOWN]
    shown = head.decode(errors="replace") if body[:1] == b"{" else head.hex()
    return shown if len(body) <= _SHOWN else f"{shown} ..."


def _syntax(body: bytes, why: str) -> str:
    """What Go's scanner says of JSON that ends too early or goes on after its end; else what ours says."""
    try:
        json.loads(body)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            return f"invalid character '{error.doc[error.pos]}' after top-level value"
        if error.pos >= len(error.doc.rstrip()):
            return "unexpected end of JSON input"
    except UnicodeDecodeError:
        return why
    return why


def empty_body(kind: str) -> StatusError:
    """The refusal of a body that is not there."""
    return _unrecognized(b"", kind, "unexpected end of JSON input")


def _protobuf(body: bytes) -> Obj:
    try:
        decoder = importlib.import_module("apiserver_emulator.protobuf")
    except ImportError as error:
        raise unsupported_media_type(PROTOBUF, (JSON, YAML)) from error
    try:
        found: Obj = decoder.decode(body)
    except StatusError:
        raise
    except (ValueError, KeyError, IndexError) as error:
        raise bad_request(f"the protobuf body cannot be decoded: {error}") from error
    return found


def _yaml(body: bytes) -> Obj:
    try:
        found = yaml.load(body, Loader=_Loader)  # noqa: S506 - a SafeLoader that keeps timestamps as text
    except yaml.YAMLError as error:
        raise bad_request(f"error converting YAML to JSON: {error}") from error
    if not isinstance(found, dict):
        raise bad_request("couldn't get version/kind; json parse error: the body is not an object")
    return found


class _Loader(yaml.CSafeLoader):
    """YAML 1.2-like: only what JSON has."""


def _number(loader: _Loader, node: yaml.ScalarNode) -> float | int:
    """A float, written as JSON would be: 1.0 is 1."""
    found = loader.construct_yaml_float(node)
    return int(found) if found.is_integer() else float(found)


_Loader.add_constructor("tag:yaml.org,2002:float", _number)
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


class _Pairs(dict[str, Any]):
    """A JSON object that remembers which of its keys came twice."""

    twice: tuple[str, ...] = ()


def _duplicates(body: bytes) -> list[str]:
    found: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        built = dict(items)
        if len(built) == len(items):
            return built
        names = [name for name, _ in items]
        marked = _Pairs(built)
        marked.twice = tuple(dict.fromkeys(name for name in names if names.count(name) > 1))
        found.append("")
        return marked

    def walk(value: Any, path: str) -> None:
        if isinstance(value, dict):
            if isinstance(value, _Pairs):
                found.extend(f"{path}.{name}" if path else name for name in value.twice)
            for name, sub in value.items():
                walk(sub, f"{path}.{name}" if path else name)
        elif isinstance(value, list):
            for at, sub in enumerate(value):
                walk(sub, f"{path}[{at}]")

    whole = json.loads(body, object_pairs_hook=pairs)
    if not found:
        return []
    found.clear()
    walk(whole, "")
    return found


class UndecodableError(Exception):
    """A value that Go's decoder refuses, in its words."""


class TypeMismatchError(UndecodableError):
    """A value whose JSON type is not the field's.

    `enter` is called on the way out, from the value to the root: Go names the innermost struct that holds the field,
    and the fields that lead there without keys of maps and places in lists.
    """

    def __init__(self, value: Any, wanted: str, *, found: str = "") -> None:
        super().__init__(wanted)
        self.value = value
        self.found = found or json_type(value)
        self.wanted = wanted
        self.place = ""
        self._struct = ""
        self._fields: list[str] = []

    def enter(self, node: Node, field_name: str) -> None:
        """The value lies behind this field of this type; fields that the type does not name are keys of a map."""
        self.place = f"{field_name}.{self.place}" if self.place else field_name
        if field_name not in node.properties:
            return
        self._struct = self._struct or node.name.rpartition(".")[2]
        self._fields.insert(0, field_name)

    def __str__(self) -> str:
        where = ".".join([self._struct, *self._fields])
        return f"json: cannot unmarshal {self.found} into Go struct field {where} of type {self.wanted}"


def go_type(node: Node | None) -> str:
    """What Go calls the type of a field, as far as the published schema tells; aliases of strings are not known."""
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


def json_type(value: Any) -> str:
    """The JSON type name of a value, as Go's decoder names it."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, list):
        return "array"
    if isinstance(value, dict):
        return "object"
    return "null"


def conform(value: Any, node: Node | None, path: str, unknown: list[str], *, lenient: bool = False) -> Any:
    """Drop unknown fields (their paths go to `unknown`) and nulls, in place. Raises UndecodableError.

    `lenient` leaves values of a wrong type alone: custom resources have them refused by validation.
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
        if items is not None and items.type not in ("string", "integer", "number", "boolean"):
            for at, sub in enumerate(value):
                value[at] = conform(sub, items, f"{path}[{at}]", unknown, lenient=lenient)
            return value
        if not lenient:
            for at, sub in enumerate(value):
                conform(sub, items, f"{path}[{at}]", unknown)
        return value
    if kind == "quantity":
        return _quantity(value)
    if not lenient:
        _scalar(value, kind, node)
    return value


_BITS = {"int32": 31, "int64": 63}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d([.,]\d+)?(Z|[+-]\d\d:\d\d)")
_TIME_LAYOUT = "2006-01-02T15:04:05Z07:00"
_MICRO_TIME_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"


def _scalar(value: Any, kind: str, node: Node) -> None:
    found = type(value)
    if kind == "string":
        if found is not str:
            raise TypeMismatchError(value, "string")
        if node.format == "date-time":
            _time(value, node)
    elif kind == "integer":
        bits = _BITS.get(node.format, 31)
        if found is int and -(1 << bits) <= value < 1 << bits:
            return
        # A number that the type cannot hold is quoted, 1.0 too; of other types there is nothing to quote.
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
    """Refuse what is no RFC 3339 time (metav1.Time.UnmarshalJSON)."""
    if _TIME.fullmatch(value):
        return
    layout = _MICRO_TIME_LAYOUT if node.name.endswith(".MicroTime") else _TIME_LAYOUT
    shown = go_quote(value)
    raise UndecodableError(f'parsing time {shown} as "{layout}": cannot parse {shown} as "2006"')


def _quantity(value: Any) -> str:
    """Quantities are stored in canonical form, as Go writes them back."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise TypeMismatchError(value, "resource.Quantity")
    try:
        return str(Quantity.parse(str(value)))
    except ValueError as error:
        raise UndecodableError(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        ) from error


def _conform_object(value: Obj, node: Node, path: str, unknown: list[str], lenient: bool) -> Obj:
    properties = node.properties
    additional = node.additional
    free = node.free_form
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
                value[name] = ""  # what Go makes of it in a map[string]string
                continue
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
    """Conform a whole object; returns warnings (fieldValidation=Warn). Raises 400 for Strict and for wrong types."""
    unknown: list[str] = []
    try:
        conform(obj, node, "", unknown, lenient=lenient)
    except UndecodableError as error:
        raise bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {error}') from error
    if lenient:
        unknown.sort()  # the pruning of custom resources names them in this order
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
