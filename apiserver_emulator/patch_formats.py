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

from apiserver_emulator.schema_tree import Node
from dra_api.status import StatusError, bad_request

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
        # Go's words for the mistake that people make; the others keep ours.
        text = "unexpected end of JSON input" if "unexpected end" in str(error) else str(error)
        if kind == JSON_PATCH:
            raise bad_request(f"error decoding patch: {text}") from error
        try:
            found = yaml.safe_load(body)
        except yaml.YAMLError:
            raise bad_request(f"{_PREFIX[kind]}{text}") from error
    if kind == JSON_PATCH:
        if not isinstance(found, list):
            raise bad_request(
                f"error decoding patch: json: cannot unmarshal {_go_kind(found)} into Go value of type "
                "[]handlers.jsonPatchOp"
            )
        if len(found) > MAX_OPERATIONS:
            raise StatusError(
                413,
                "RequestEntityTooLarge",
                f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(found)}",
            )
    elif found is None and kind == STRATEGIC:
        return {}
    elif found is None:
        raise bad_request("Invalid JSON Patch")
    elif not isinstance(found, dict):
        detail = f"json: cannot unmarshal {_go_kind(found)} into Go value of type map[string]interface {{}}"
        raise bad_request(f"{_PREFIX[kind]}{detail}")
    return found


_PREFIX = {MERGE: "error decoding patch: ", STRATEGIC: ""}


def _go_kind(value: Any) -> str:
    kinds = {list: "array", dict: "object", str: "string", bool: "bool"}
    return kinds.get(type(value), "number")


def apply(kind: str, obj: Obj, change: Any, node: Node | None) -> Obj:
    """Apply a parsed patch to a private copy of the object."""
    if kind == JSON_PATCH:
        return _json_patch(obj, change)
    if kind == MERGE:
        merged: Obj = merge(obj, change)
        return merged
    return strategic(obj, orjson.loads(orjson.dumps(change)), node)


def _json_patch(obj: Obj, operations: list[Obj]) -> Obj:
    found: Any = obj
    try:
        for operation in operations:
            if (lenient := _as_upstream(found, operation)) is not None:
                found = jsonpatch.JsonPatch([lenient]).apply(found, in_place=True)
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, TypeError) as error:
        raise StatusError(422, "Invalid", "the server rejected our request due to an error in our request") from error
    if not isinstance(found, dict):
        raise bad_request("the patched value is not an object")
    return found


def _as_upstream(obj: Any, operation: Obj) -> Obj | None:
    """An operation as evanphx/json-patch takes it where RFC 6902 is stricter; None: nothing is to be done.

    A member that is not there is null: it can be replaced, copied, and tested to be null. An `add` without value adds
    null.
    """
    op, path = operation.get("op"), operation.get("path")
    if op in ("add", "replace") and "value" not in operation:
        operation = {**operation, "value": None}
    if op == "replace" and _lacks(obj, path):
        return {**operation, "op": "add"}
    if op == "test" and operation.get("value") is None and _lacks(obj, path):
        return None
    if op == "copy" and _lacks(obj, operation.get("from")):
        return {"op": "add", "path": path, "value": None}
    return operation


def _lacks(obj: Any, path: Any) -> bool:
    """Whether a path leads to a member that its object does not have; not where the object itself is not there."""
    if not isinstance(path, str) or not path.startswith("/"):
        return False
    parts = jsonpointer.JsonPointer(path).parts
    parent = jsonpointer.resolve_pointer(obj, jsonpointer.JsonPointer.from_parts(parts[:-1]).path, None)
    return isinstance(parent, dict) and parts[-1] not in parent


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
            if isinstance(value, dict) and value.get(_DIRECTIVE) == "replace":
                continue  # upstream drops what replaces nothing
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
            shown = " ".join(f"{name}:{item[name]}" for name in sorted(item))
            raise StatusError(500, "", f"map: map[{shown}] does not contain declared merge key: {key}")
        places = [at for at, have in enumerate(merged) if isinstance(have, dict) and have.get(key) == item[key]]
        if directive == "delete":
            merged = [have for at, have in enumerate(merged) if at not in places]
        elif places:
            merged[places[0]] = strategic(merged[places[0]], item, typed.items)
        else:
            merged.append(strategic({}, item, typed.items))
    named = [item[key] for item in change if item.get(_DIRECTIVE) != "delete"]
    return _patched_first(merged, named, [have.get(key) for have in current if isinstance(have, dict)], key)


def _patched_first(items: list[Any], named: list[Any], before: list[Any], key: str) -> list[Any]:
    """The order that upstream gives a merged list (normalizeElementOrder, mergeSortedSlice).

    What the patch names comes in the patch's order. An item that it does not name goes before the first of these
    that stood behind it.
    """
    patched = sorted((item for item in items if item[key] in named), key=lambda item: named.index(item[key]))
    others = [item for item in items if item[key] not in named]
    result: list[Any] = []
    while patched and others:
        mine, other = patched[0][key], others[0][key]
        in_front = mine in before and other in before and before.index(other) < before.index(mine)
        result.append((others if in_front else patched).pop(0))
    return [*result, *patched, *others]


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
