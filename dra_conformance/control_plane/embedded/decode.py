"""From request bytes to objects: media types, and conformance to the type of the kind.

Bodies come in JSON, YAML or Kubernetes' protobuf envelope. `conform` checks an object against its schema tree the way
Go's strict decoder does: wrong JSON types are a 400, unknown and duplicate fields are dropped and reported according
to fieldValidation, null values vanish. Pure functions.

Source: k8s.io/apimachinery pkg/runtime/serializer/json, sigs.k8s.io/json (error texts).
"""

from __future__ import annotations

import importlib
import json
from dataclasses import dataclass, field
from typing import Any

import orjson
import yaml

from dra_api.quantity import Quantity
from dra_conformance.control_plane.embedded.gotext import go_quote
from dra_conformance.control_plane.embedded.schema_tree import Node
from dra_conformance.control_plane.embedded.status import StatusError, bad_request, unsupported_media_type

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


def decode_body(body: bytes, content_type: str, *, look_for_duplicates: bool = False) -> Decoded:
    """Decode an object in any accepted media type. Raises 400 or 415."""
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
        raise bad_request(f"the object provided is unrecognized (must be of type JSON): {error}") from error
    if not isinstance(found, dict):
        raise bad_request(f"the object provided is not a JSON object but {type(found).__name__}")
    duplicates = _duplicates(body) if look_for_duplicates else []
    return Decoded(found, duplicates)


def _protobuf(body: bytes) -> Obj:
    try:
        decoder = importlib.import_module("dra_conformance.control_plane.embedded.protobuf")
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


class TypeMismatchError(Exception):
    """A value whose JSON type is not the field's."""

    def __init__(self, path: str, found: str, wanted: str) -> None:
        super().__init__(path)
        self.path = path
        self.found = found
        self.wanted = wanted


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
    """Drop unknown fields (their paths go to `unknown`) and nulls, in place. Raises TypeMismatchError.

    `lenient` leaves values of a wrong type alone: custom resources have them refused by validation.
    """
    if node is None or value is None:
        return value
    kind = node.type
    if kind == "object":
        if not isinstance(value, dict):
            if node.free_form or lenient:
                return value
            raise TypeMismatchError(path, json_type(value), "struct")
        return _conform_object(value, node, path, unknown, lenient)
    if kind == "array":
        if not isinstance(value, list):
            if lenient:
                return value
            raise TypeMismatchError(path, json_type(value), "slice")
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
        return _quantity(value, path)
    if not lenient:
        _scalar(value, kind, node, path)
    return value


def _scalar(value: Any, kind: str, node: Node, path: str) -> None:
    found = type(value)
    if kind == "string":
        if found is not str:
            raise TypeMismatchError(path, json_type(value), "string")
    elif kind == "integer":
        if found is int:
            return
        if found is float and value.is_integer():
            return
        raise TypeMismatchError(path, json_type(value), node.format or "int32")
    elif kind == "boolean":
        if found is not bool:
            raise TypeMismatchError(path, json_type(value), "bool")
    elif kind == "number":
        if found is bool or found not in (int, float):
            raise TypeMismatchError(path, json_type(value), "float64")
    elif kind == "int-or-string" and (found is bool or found not in (int, str)):
        raise TypeMismatchError(path, json_type(value), "intstr.IntOrString")


def _quantity(value: Any, path: str) -> str:
    """Quantities are stored in canonical form, as Go writes them back."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise TypeMismatchError(path, json_type(value), "resource.Quantity")
    try:
        return str(Quantity.parse(str(value)))
    except ValueError as error:
        raise bad_request(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$': "
            f"{path} has {go_quote(str(value))}"
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
            if (not free or name in properties) and not typed.schema.get("nullable"):
                drop = [*(drop or ()), name]
            continue
        fixed = conform(sub, typed, f"{path}.{name}" if path else name, unknown, lenient=lenient)
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
    except TypeMismatchError as error:
        raise bad_request(
            f'{kind} in version "{version}" cannot be handled as a {kind}: json: cannot unmarshal {error.found} into '
            f"Go struct field {_go_field(kind, error.path)} of type {error.wanted}"
        ) from error
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


def _go_field(kind: str, path: str) -> str:
    return f"{kind}.{path}" if path else kind
