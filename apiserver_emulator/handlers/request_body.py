"""Read the object in the body of a write: decode it, and check kind, version and fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from apiserver_emulator.core import Core
from apiserver_emulator.decoding import PROTOBUF, decode_body, empty_body, media_type
from apiserver_emulator.field_sets import Path, elements, is_granular_list, is_granular_map, path_text
from apiserver_emulator.field_validation import TypeMismatchError, UndecodableError, check_fields, conform
from apiserver_emulator.resource_types import ResourceType
from apiserver_emulator.schema_tree import Node
from apiserver_emulator.type_meta import settle_kind
from dra_api.gotext import go_plain, go_type_name, go_value
from dra_api.objects import Obj
from dra_api.request import Request, RequestInfo
from dra_api.status import StatusError, unsupported_media_type


def read_body(
    core: Core, resource: ResourceType, request: Request, info: RequestInfo, validation: str
) -> tuple[Obj, list[str]]:
    """Return the object in the version of the path, checked against the schema, and warnings. Raises 400 or 415."""
    if not request.body:
        raise empty_body(resource.kind)
    content = request.headers.get("content-type", "")
    if resource.custom and media_type(content) == PROTOBUF:
        raise unsupported_media_type(content, ("application/json", "application/yaml"))
    decoded = decode_body(request.body, content, kind=resource.kind, look_for_duplicates=validation != "Ignore")
    obj = decoded.obj
    warnings = check_body(core, resource, info.version, obj, validation, decoded.duplicates)
    return obj, warnings


def check_body(
    core: Core, resource: ResourceType, version: str, obj: Obj, validation: str, duplicates: list[str]
) -> list[str]:
    """Complete and check kind, version and fields of an object, in place; return warnings. Raises 400."""
    settle_kind(obj, resource, version, core.schemas)
    if not isinstance(obj.get("metadata"), dict):
        obj["metadata"] = {}
    return check_fields(
        obj,
        core.node(resource, version),
        kind=resource.kind,
        version=version,
        validation=validation,
        duplicates=duplicates,
        lenient=resource.custom,
    )


def check_applied(core: Core, resource: ResourceType, version: str, applied: Obj) -> None:
    """Raise 500 for an applied object with wrong types or unknown fields, as upstream's type converter does."""
    unknown: list[str] = []
    wrong = ""
    try:
        # A copy: `conform` changes its argument, and `check_body` needs the original.
        conform(orjson.loads(orjson.dumps(applied)), core.node(resource, version), "", unknown)
    except TypeMismatchError as error:
        wrong = f".{error.path}: {_mismatch(error)}"
    except UndecodableError:
        return  # `check_body` reports it
    problems = [wrong] if wrong else [f".{path}: field not declared in schema" for path in unknown]
    if problems:
        raise _untyped(resource, version, applied, problems)


def check_unique(core: Core, resource: ResourceType, version: str, applied: Obj) -> None:
    """Raise 500 for an applied object with two items of one key in a list of type map or set."""
    if found := _repeated(applied, core.node(resource, version), ()):
        raise _untyped(resource, version, applied, [found])


def _repeated(value: Any, node: Node | None, path: Path) -> str:
    """Return the text about the first repeated item; empty if there is none."""
    if isinstance(value, dict) and is_granular_map(value, node):
        parts = [("f:" + name, sub, node.child(name) if node is not None else None) for name, sub in value.items()]
    elif node is not None and is_granular_list(value, node):
        parts = [(element, item, node.items) for element, item in elements(value, node)]
        seen: set[str] = set()
        for element, _, _ in parts:
            if element in seen:
                return f"{path_text(path)}: duplicate entries for key {path_text((element,))}"
            seen.add(element)
    else:
        return ""
    return next(filter(None, (_repeated(sub, typed, (*path, element)) for element, sub, typed in parts)), "")


def _mismatch(error: TypeMismatchError) -> str:
    """Return what structured-merge-diff says: containers are printed with %v, scalars with %#v, numbers with %T."""
    if error.wanted in _NUMBERS:
        return f"expected numeric (int or float), got {go_type_name(error.value)}"
    if error.wanted in _SCALARS:
        return f"expected {_SCALARS[error.wanted]}, got &value.valueUnstructured{{Value:{go_value(error.value)}}}"
    return f"expected {'list' if error.wanted.startswith('[]') else 'map'}, got &{{{go_plain(error.value)}}}"


_NUMBERS = frozenset({"int32", "int64", "float64"})
_SCALARS = {"string": "string", "bool": "boolean"}


def _untyped(resource: ResourceType, version: str, applied: Obj, problems: Sequence[str]) -> StatusError:
    meta = applied.get("metadata")
    # Of another type, upstream's accessors take them for empty.
    named = [meta.get(key) if isinstance(meta, dict) else "" for key in ("namespace", "name")]
    namespace, name = (value if isinstance(value, str) else "" for value in named)
    subject = f"({namespace}/{name}; {resource.group}/{version}, Kind={resource.kind})"
    text = problems[0] if len(problems) == 1 else "errors:\n" + "\n".join(f"  {one}" for one in problems)
    return StatusError(500, "", f"failed to create typed patch object {subject}: {text}")
