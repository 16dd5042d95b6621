"""Patch formats: JSON patch (RFC 6902), merge patch (RFC 7396), strategic merge patch. Functions on private copies.

Strategic merge is in `strategic_merge`, server-side apply in `server_side_apply`.
"""

from __future__ import annotations

from typing import Any

import jsonpatch
import jsonpointer
import orjson

from apiserver_emulator.decoding import require_shallow
from apiserver_emulator.schema_tree import Node
from apiserver_emulator.strategic_merge import strategic_merge
from dra_api.status import StatusError, bad_request

Obj = dict[str, Any]

JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
APPLY_CBOR = "application/apply-patch+cbor"

MAX_OPERATIONS = 10_000
MAX_COPIED = 3 << 20
"""Bytes that the copy operations of a JSON patch may add, as upstream (JSONPatchMaxCopyBytes)."""


def parse(kind: str, body: bytes, *, minor: int) -> Any:
    """Decode a patch of a media type, as the release `minor` does. Raises 400 or 413."""
    require_shallow(body)
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        if minor >= 37:
            raise bad_request("invalid JSON patch") from error
        # Go's message for the most common mistake; other messages are orjson's.
        text = "unexpected end of JSON input" if "unexpected end" in str(error) else str(error)
        if kind == JSON_PATCH:
            raise bad_request(f"error decoding patch: {text}") from error
        raise bad_request(f"{_PREFIX[kind]}{text}") from error
    if kind == JSON_PATCH:
        if not isinstance(found, list):
            raise bad_request(
                f"error decoding patch: json: cannot unmarshal {_go_kind(found)} into Go value of type "
                "[]handlers.jsonPatchOp"
            )
        found = [{} if each is None else each for each in found]  # Go decodes null to an empty struct
        for each in found:
            if not isinstance(each, dict):
                raise bad_request(
                    f"error decoding patch: json: cannot unmarshal {_go_kind(each)} into Go value of type "
                    "handlers.jsonPatchOp"
                )
            for key in ("op", "from", "path"):
                if not isinstance(each.get(key), str | None):
                    raise bad_request(
                        f"error decoding patch: json: cannot unmarshal {_go_kind(each[key])} into Go struct field "
                        f"jsonPatchOp.{key} of type string"
                    )
        if len(found) > MAX_OPERATIONS:
            raise StatusError(
                413,
                "RequestEntityTooLarge",
                "Request entity too large: The allowed maximum operations in a JSON patch is "
                f"{MAX_OPERATIONS}, got {len(found)}",
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
    # A copy: the merge consumes it, and a retry needs the patch again.
    return strategic_merge(obj, orjson.loads(orjson.dumps(change)), node)


def _json_patch(obj: Obj, operations: list[Obj]) -> Obj:
    found: Any = obj
    copied = 0
    try:
        for operation in operations:
            needed = ("path", "from") if operation.get("op") in ("copy", "move") else ("path",)
            if not all(isinstance(operation.get(key), str) for key in needed):
                raise _rejected()
            # One by one: whether a member is missing depends on the operations before.
            if (lenient := _as_upstream(found, operation)) is not None:
                if lenient.get("op") == "copy":
                    # Copies of copies grow without bound.
                    copied += len(orjson.dumps(jsonpointer.resolve_pointer(found, lenient["from"])))
                    if copied > MAX_COPIED:
                        raise _rejected()
                found = jsonpatch.JsonPatch([lenient]).apply(found, in_place=True)
        # Raises TypeError for an object that operations have nested too deeply.
        orjson.dumps(found)
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, TypeError) as error:
        raise _rejected() from error
    if not isinstance(found, dict):
        raise _rejected()
    return found


def _rejected() -> StatusError:
    return StatusError(422, "Invalid", "the server rejected our request due to an error in our request")


def _as_upstream(obj: Any, operation: Obj) -> Obj | None:
    """Return the operation that RFC 6902 needs for the effect that it has in evanphx/json-patch; None for no operation.

    There, a missing member counts as null: it can be replaced, copied, and tested to be null. `add` without a value
    adds null.
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
    """Return whether a path names a missing member of an existing object."""
    if not isinstance(path, str) or not path.startswith("/"):
        return False
    parts = jsonpointer.JsonPointer(path).parts
    # Without the last step: its parent decides whether it is missing.
    parent = jsonpointer.resolve_pointer(obj, jsonpointer.JsonPointer.from_parts(parts[:-1]).path, None)
    return isinstance(parent, dict) and parts[-1] not in parent


def merge(target: Any, change: Any) -> Any:
    """Return `target` with a merge patch applied (RFC 7396)."""
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
