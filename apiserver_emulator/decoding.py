"""Decode the body of a request: JSON, YAML, or Kubernetes' protobuf envelope. Pure functions.

Source: k8s.io/apimachinery pkg/runtime/serializer/json, sigs.k8s.io/json (error texts).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import orjson
import yaml

from apiserver_emulator import protobuf
from dra_api import plain_yaml
from dra_api.nesting import DEEPEST, json_too_deep
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
    """A decoded body; `duplicates` are the JSON paths of repeated keys, if they were looked for."""

    obj: Obj
    duplicates: list[str] = field(default_factory=list)


def decode_body(body: bytes, content_type: str, *, kind: str = "", look_for_duplicates: bool = False) -> Decoded:
    """Decode an object of any accepted media type. Raises 400 or 415; `kind` is the expected kind, for the message."""
    media = media_type(content_type) or JSON
    if media == PROTOBUF or (media == JSON and body.startswith(PROTOBUF_MAGIC)):
        return Decoded(_protobuf(body))
    if media in (YAML, "text/yaml", "application/x-yaml"):
        return Decoded(_yaml(body))
    if media != JSON:
        raise unsupported_media_type(content_type, BODY_TYPES)
    require_shallow(body)
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        if body[:1] not in (b"{", b"["):
            return Decoded(_yaml(body))  # the JSON serializer of the API server reads YAML as well
        raise _unrecognized(body, kind, _syntax(body, str(error))) from error
    if found is None:
        found = {}  # Go decodes null to an empty object
    if not isinstance(found, dict):
        raise _unrecognized(body, kind, f"json: cannot unmarshal {json_type(found)} into Go value of type {_TYPE_META}")
    duplicates = _duplicates(body) if look_for_duplicates else []
    return Decoded(found, duplicates)


def require_shallow(body: bytes) -> None:
    """Raise 400 for JSON that is nested too deeply; the API server's own limit is 10,000 levels."""
    if json_too_deep(body):
        raise bad_request(f"json: exceeded max depth of {DEEPEST} levels")


_TYPE_META = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
_SHOWN = 30


def _unrecognized(body: bytes, kind: str, why: str) -> StatusError:
    """Return the error for a body without a readable kind; with an expected kind it shows the body too."""
    message = f"couldn't get version/kind; json parse error: {why}"
    if not kind:
        return bad_request(message)
    return bad_request(f"the object provided is unrecognized (must be of type {kind}): {message} ({summary(body)})")


def summary(body: bytes) -> str:
    """Return the beginning of a body for error messages: JSON as text, anything else in hexadecimal."""
    if not body:
        return "<empty>"
    head = body[:_SHOWN]
    shown = head.decode(errors="replace") if body[:1] == b"{" else head.hex()
    return shown if len(body) <= _SHOWN else f"{shown} ..."


def _syntax(body: bytes, why: str) -> str:
    """Return the message of Go's scanner for truncated JSON and trailing data; otherwise `why`."""
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
    """Return the error for an empty body."""
    return _unrecognized(b"", kind, "unexpected end of JSON input")


def _protobuf(body: bytes) -> Obj:
    try:
        return protobuf.decode(body)
    except StatusError:
        raise
    except (ValueError, KeyError, IndexError) as error:
        raise bad_request(f"the protobuf body cannot be decoded: {error}") from error


def _yaml(body: bytes) -> Obj:
    try:
        found = plain_yaml.as_json(plain_yaml.load(body, _Loader))
    except yaml.YAMLError as error:
        raise bad_request(f"error converting YAML to JSON: {error}") from error
    if not isinstance(found, dict):
        raise bad_request("couldn't get version/kind; json parse error: the body is not an object")
    return found


class _Loader(yaml.CSafeLoader):
    """A loader close to YAML 1.2: only types that JSON has."""


def _number(loader: _Loader, node: yaml.ScalarNode) -> float | int:
    """Return a number as JSON would have it: 1.0 is 1."""
    found = loader.construct_yaml_float(node)
    return int(found) if found.is_integer() else float(found)


_Loader.add_constructor("tag:yaml.org,2002:float", _number)
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


class _Pairs(dict[str, Any]):
    """A JSON object with the keys that appeared more than once."""

    repeated: tuple[str, ...] = ()


def _duplicates(body: bytes) -> list[str]:
    found: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        built = dict(items)
        if len(built) == len(items):
            return built
        names = [name for name, _ in items]
        marked = _Pairs(built)
        marked.repeated = tuple(dict.fromkeys(name for name in names if names.count(name) > 1))
        # Only marks that there is a duplicate; `walk` finds the path.
        found.append("")
        return marked

    def walk(value: Any, path: str) -> None:
        if isinstance(value, dict):
            if isinstance(value, _Pairs):
                found.extend(f"{path}.{name}" if path else name for name in value.repeated)
            for name, sub in value.items():
                walk(sub, f"{path}.{name}" if path else name)
        elif isinstance(value, list):
            for at, sub in enumerate(value):
                walk(sub, f"{path}[{at}]")

    # orjson keeps the last of equal keys without an error, hence a second parser.
    whole = json.loads(body, object_pairs_hook=pairs)
    if not found:
        return []
    found.clear()
    walk(whole, "")
    return found


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
