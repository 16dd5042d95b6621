"""Strategic merge patch: merge by the types of fields, with the directives of a patch. Works on private copies.

Source: k8s.io/apimachinery pkg/util/strategicpatch/patch.go (directives $patch, $retainKeys, $setElementOrder/,
$deleteFromPrimitiveList/; merge keys from the OpenAPI extensions).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from apiserver_emulator.schema_tree import Node
from dra_api.gotext import go_plain, go_type_name
from dra_api.status import StatusError, bad_request

Obj = dict[str, Any]

_DIRECTIVE = "$patch"
_RETAIN = "$retainKeys"
_DELETE_PRIMITIVES = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"


def strategic_merge(current: Obj, change: Obj, node: Node | None) -> Obj:
    """Merge `change` into `current` and return the result. `node` is the type; None merges all lists as atomic.

    Consumes both arguments. Raises 500 for an unknown directive, as upstream does.
    """
    directive = change.pop(_DIRECTIVE, None)
    if directive == "replace":
        replaced: Obj = _without_directives(change)
        return replaced
    if directive == "delete":
        return {}
    if directive is not None:
        raise StatusError(
            500, "", f"unknown patch type: {directive} in map: {go_plain({_DIRECTIVE: directive, **change})}"
        )
    retain = change.pop(_RETAIN, None)
    if retain is not None:
        _require_list(retain, "retainKeys")
        for name in [name for name in current if name not in retain]:
            del current[name]
    # Taken out first, applied last: the order is that of the merged list.
    orders = _pop_prefixed(change, _ORDER)
    for name, values in _pop_prefixed(change, _DELETE_PRIMITIVES).items():
        if isinstance(current.get(name), list):
            _require_list(values, "primitive list")
            current[name] = [v for v in current[name] if v not in values]
    for name, value in change.items():
        _merge_field(current, name, value, node.child(name) if node is not None else None)
    for name, order in orders.items():
        if isinstance(current.get(name), list):
            if not isinstance(order, list):
                raise StatusError(500, "", f"expected a []interface {{}}, but received a {go_type_name(order)}")
            current[name] = _ordered(current[name], order, node.child(name) if node is not None else None)
    return current


def _pop_prefixed(change: Obj, prefix: str) -> dict[str, list[Any]]:
    """Remove the directives with a prefix from a patch; return them by the name of their field."""
    names = [name for name in change if name.startswith(prefix)]
    return {name.removeprefix(prefix): change.pop(name) for name in names}


def _require_list(value: Any, what: str) -> None:
    if not isinstance(value, list):
        raise bad_request(f"invalid patch format of {what}")


def _merge_field(current: Obj, name: str, value: Any, typed: Node | None) -> None:
    if value is None:
        current.pop(name, None)
        return
    before = current.get(name)
    if before is None:
        # Upstream drops a replacement of a missing field.
        if not (isinstance(value, dict) and value.get(_DIRECTIVE) == "replace"):
            current[name] = _fresh(value, typed)
    elif isinstance(value, dict) and isinstance(before, dict):
        replaces = typed is not None and "replace" in typed.patch_strategies
        current[name] = _without_directives(value) if replaces else strategic_merge(before, value, typed)
    elif isinstance(value, list) and isinstance(before, list):
        current[name] = _merge_list(before, value, typed)
    else:
        current[name] = value


def _fresh(value: Any, typed: Node | None) -> Any:
    """Return the value of a field that was missing: its directives apply to an empty value."""
    if isinstance(value, dict):
        return strategic_merge({}, value, typed)
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
            # An item with nothing but the directive marks the list.
            if not (isinstance(item, dict) and _DIRECTIVE in item and len(item) == 1)
        ]
    if typed is None or not _mergeable(typed):
        return change
    key = typed.merge_key
    if not key:
        merged = [*current, *(item for item in change if item not in current)]
        return _patched_first(merged, change, current, lambda item: item)
    merged = list(current)
    for item in change:
        if not isinstance(item, dict):
            raise bad_request("a list of objects is merged with something that is not an object")
        directive = item.get(_DIRECTIVE)
        if key not in item:
            raise StatusError(500, "", f"map: {go_plain(item)} does not contain declared merge key: {key}")
        if directive == "merge":
            raise StatusError(500, "", "merging lists cannot yet be specified in the patch")
        if directive not in (None, "delete"):
            raise StatusError(500, "", f"unknown patch type: {directive} in map: {go_plain(item)}")
        indexes = [at for at, have in enumerate(merged) if isinstance(have, dict) and have.get(key) == item[key]]
        if directive == "delete":
            merged = [have for at, have in enumerate(merged) if at not in indexes]
        elif indexes:
            merged[indexes[0]] = strategic_merge(merged[indexes[0]], item, typed.items)
        else:
            merged.append(strategic_merge({}, item, typed.items))
    named = [item[key] for item in change if item.get(_DIRECTIVE) != "delete"]
    before = [have.get(key) for have in current if isinstance(have, dict)]
    # A new item whose key is null in the patch has no key now: the object is invalid, not the patch.
    return _patched_first(merged, named, before, lambda item: item.get(key))


def _patched_first(items: list[Any], named: list[Any], before: list[Any], identity: Callable[[Any], Any]) -> list[Any]:
    """Sort a merged list as upstream does (normalizeElementOrder, mergeSortedSlice).

    Items in the patch keep the order of the patch. Any other item precedes the first item of the patch that followed
    it before.
    """
    patched = sorted((item for item in items if identity(item) in named), key=lambda item: named.index(identity(item)))
    others = [item for item in items if identity(item) not in named]
    result: list[Any] = []
    while patched and others:
        mine, other = identity(patched[0]), identity(others[0])
        in_front = mine in before and other in before and before.index(other) < before.index(mine)
        result.append((others if in_front else patched).pop(0))
    return [*result, *patched, *others]


def _ordered(items: list[Any], order: list[Any], typed: Node | None) -> list[Any]:
    """Sort items by $setElementOrder; items that it does not list keep their positions."""
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
