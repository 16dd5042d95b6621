"""Patches: JSON (RFC 6902), merge (RFC 7396) and strategic merge. Pure functions on private copies.

Server-side apply is in `managed_fields`.

Source of strategic merge: k8s.io/apimachinery pkg/util/strategicpatch/patch.go (directives $patch, $retainKeys,
$setElementOrder/, $deleteFromPrimitiveList/; merge keys from the OpenAPI extensions).
"""

from __future__ import annotations

from typing import Any

import jsonpatch
import jsonpointer
import orjson
import yaml

from dra_conformance.control_plane.embedded.schema_tree import Node
from dra_conformance.control_plane.embedded.status import StatusError, bad_request

Obj = dict[str, Any]

JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
APPLY_CBOR = "application/apply-patch+cbor"

MAX_OPERATIONS = 10_000


def parse(kind: str, body: bytes) -> Any:
    """Decode a patch. Raises 400 or 413."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        if kind == JSON_PATCH:
            raise bad_request(f"error decoding patch: {error}") from error
        try:
            found = yaml.safe_load(body)
        except yaml.YAMLError:
            raise bad_request(f"error decoding patch: {error}") from error
    if kind == JSON_PATCH:
        if not isinstance(found, list):
            raise bad_request(
                "error decoding patch: json: cannot unmarshal object into Go value of type jsonpatch.Patch"
            )
        if len(found) > MAX_OPERATIONS:
            raise StatusError(
                413,
                "RequestEntityTooLarge",
                f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(found)}",
            )
    elif not isinstance(found, dict):
        raise bad_request("error decoding patch: the patch is not an object")
    return found


def apply(kind: str, obj: Obj, change: Any, node: Node | None) -> Obj:
    """Apply a parsed patch to a private copy of the object."""
    if kind == JSON_PATCH:
        return _json_patch(obj, change)
    if kind == MERGE:
        merged: Obj = merge(obj, change)
        return merged
    return strategic(obj, orjson.loads(orjson.dumps(change)), node)


def _json_patch(obj: Obj, operations: list[Obj]) -> Obj:
    try:
        found = jsonpatch.JsonPatch(operations).apply(obj, in_place=True)
    except jsonpatch.InvalidJsonPatch as error:
        raise bad_request(f"error decoding patch: {error}") from error
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, TypeError) as error:
        raise StatusError(422, "Invalid", "the server rejected our request due to an error in our request") from error
    if not isinstance(found, dict):
        raise bad_request("the patched value is not an object")
    return found


def merge(target: Any, change: Any) -> Any:
    """RFC 7396."""
    if not isinstance(change, dict):
        return change
    if not isinstance(target, dict):
        target = {}
    for name, value in change.items():
        if value is None:
            target.pop(name, None)
        else:
            target[name] = merge(target.get(name), value)
    return target


# --- strategic merge -------------------------------------------------------------------------------------------------

_DIRECTIVE = "$patch"
_RETAIN = "$retainKeys"
_DELETE_PRIMITIVES = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"


def strategic(current: Obj, change: Obj, node: Node | None) -> Obj:
    """Strategic merge of an object."""
    directive = change.pop(_DIRECTIVE, None)
    if directive == "replace":
        replaced: Obj = _without_directives(change)
        return replaced
    if directive == "delete":
        return {}
    if directive not in (None, "merge"):
        raise bad_request(f"unknown patch type found: {directive}")
    retain = change.pop(_RETAIN, None)
    if retain is not None:
        for name in [name for name in current if name not in retain]:
            del current[name]
    orders: dict[str, list[Any]] = {}
    removals: dict[str, list[Any]] = {}
    for name in list(change):
        if name.startswith(_ORDER):
            orders[name.removeprefix(_ORDER)] = change.pop(name)
        elif name.startswith(_DELETE_PRIMITIVES):
            removals[name.removeprefix(_DELETE_PRIMITIVES)] = change.pop(name)
    for name, values in removals.items():
        if isinstance(current.get(name), list):
            current[name] = [v for v in current[name] if v not in values]
    for name, value in change.items():
        typed = node.child(name) if node is not None else None
        if value is None:
            current.pop(name, None)
        elif name not in current or current[name] is None:
            current[name] = _fresh(value, typed)
        elif isinstance(value, dict) and isinstance(current[name], dict):
            strategies = typed.patch_strategies if typed is not None else frozenset()
            if "replace" in strategies:
                current[name] = _without_directives(value)
            else:
                current[name] = strategic(current[name], value, typed)
        elif isinstance(value, list) and isinstance(current[name], list):
            current[name] = _merge_list(current[name], value, typed)
        else:
            current[name] = value
    for name, order in orders.items():
        if isinstance(current.get(name), list):
            typed = node.child(name) if node is not None else None
            current[name] = _ordered(current[name], order, typed)
    return current


def _fresh(value: Any, typed: Node | None) -> Any:
    """A patch value where nothing was before: directives act on nothing."""
    if isinstance(value, dict):
        return strategic({}, value, typed)
    if isinstance(value, list) and typed is not None and _mergeable(typed):
        return _merge_list([], value, typed)
    return value


def _mergeable(typed: Node) -> bool:
    return "merge" in typed.patch_strategies


def _merge_list(current: list[Any], change: list[Any], typed: Node | None) -> list[Any]:
    replace = [item for item in change if isinstance(item, dict) and item.get(_DIRECTIVE) == "replace"]
    if replace:
        return [
            _without_directives(item)
            for item in change
            if not (isinstance(item, dict) and _DIRECTIVE in item and len(item) == 1)
        ]
    if typed is None or not _mergeable(typed):
        return change
    key = typed.merge_key
    if not key:
        return [*current, *(item for item in change if item not in current)]
    merged = list(current)
    for item in change:
        if not isinstance(item, dict):
            raise bad_request("a list of objects is merged with something that is not an object")
        directive = item.get(_DIRECTIVE)
        if key not in item:
            raise bad_request(f"map: {item} does not contain declared merge key: {key}")
        places = [at for at, have in enumerate(merged) if isinstance(have, dict) and have.get(key) == item[key]]
        if directive == "delete":
            merged = [have for at, have in enumerate(merged) if at not in places]
        elif places:
            merged[places[0]] = strategic(merged[places[0]], item, typed.items)
        else:
            merged.append(strategic({}, item, typed.items))
    return merged


def _ordered(items: list[Any], order: list[Any], typed: Node | None) -> list[Any]:
    """Sort as $setElementOrder says; items that it does not name keep their place relative to their neighbours."""
    key = typed.merge_key if typed is not None else ""

    def identity(item: Any) -> Any:
        return item.get(key) if key and isinstance(item, dict) else item

    rank = {orjson.dumps(identity(item)): at for at, item in enumerate(order)}
    named = sorted(
        (item for item in items if orjson.dumps(identity(item)) in rank),
        key=lambda item: rank[orjson.dumps(identity(item))],
    )
    result: list[Any] = []
    rest = iter(named)
    for item in items:
        result.append(next(rest) if orjson.dumps(identity(item)) in rank else item)
    return result


def _without_directives(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            k: _without_directives(v)
            for k, v in value.items()
            if k not in (_DIRECTIVE, _RETAIN) and not k.startswith((_ORDER, _DELETE_PRIMITIVES)) and v is not None
        }
    if isinstance(value, list):
        return [_without_directives(item) for item in value]
    return value
