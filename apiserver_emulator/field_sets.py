"""Field sets: the fields of an object as paths, their differences, and FieldsV1.

A field set is a `frozenset` of paths; a path is a tuple of FieldsV1 elements (`f:name`, `k:{…}`, `v:…`).
Pure functions.

Source: sigs.k8s.io/structured-merge-diff (fieldpath, typed: members of a set, comparison).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from apiserver_emulator.schema_tree import Node

Obj = dict[str, Any]
Path = tuple[str, ...]
FieldSet = frozenset[Path]
_STRIPPED_META = frozenset(
    {
        "f:name",
        "f:namespace",
        "f:creationTimestamp",
        "f:selfLink",
        "f:uid",
        "f:clusterName",
        "f:generation",
        "f:managedFields",
        "f:resourceVersion",
    }
)
# Struct fields that Go always serializes: no manager owns their mere presence.
_ALWAYS_THERE = ("metadata", "spec", "status")


def _key_element(item: Obj, keys: tuple[str, ...], defaults: Obj) -> str:
    found = {}
    for key in keys:
        value = item.get(key, defaults.get(key))
        if value is not None:
            found[key] = value
    return "k:" + orjson.dumps(found, option=orjson.OPT_SORT_KEYS).decode()


def _value_element(value: Any) -> str:
    return "v:" + orjson.dumps(value).decode()


def path_text(path: Path) -> str:
    """A path as conflict messages print it."""
    out: list[str] = []
    for element in path:
        kind, rest = element[:2], element[2:]
        if kind == "f:":
            out.append("." + rest)
        elif kind == "k:":
            parts = [f"{k}={orjson.dumps(v).decode()}" for k, v in orjson.loads(rest).items()]
            out.append("[" + ",".join(parts) + "]")
        elif kind == "v:":
            out.append(f"[={rest}]")
        else:
            out.append(f"[{rest}]")
    return "".join(out)


def is_granular_map(value: Any, node: Node | None) -> bool:
    """Return whether the fields of a value are owned one by one, as those of a map or struct that is not atomic."""
    return isinstance(value, dict) and not (node is not None and (node.atomic or _opaque(node)))


def _opaque(node: Node) -> bool:
    # A RawExtension and the like: one value without inner owners. Custom resources deduce types below free fields.
    return node.name.endswith("runtime.RawExtension") or node.type == "quantity"


def is_granular_list(value: Any, node: Node | None) -> bool:
    """Return whether the items of a value are owned one by one, as those of a list of type set or map."""
    return (
        isinstance(value, list)
        and node is not None
        and (node.list_type == "set" or (node.list_type == "map" and bool(node.map_keys)))
    )


def elements(value: list[Any], node: Node) -> list[tuple[str, Any]]:
    """The items of a granular list with their path elements."""
    if node.list_type == "set":
        return [(_value_element(item), item) for item in value]
    keys, defaults = node.map_keys, node.key_defaults
    return [(_key_element(item, keys, defaults), item) for item in value if isinstance(item, dict)]


def to_field_set(obj: Obj, node: Node | None) -> FieldSet:
    """All that an applied configuration claims (TypedValue.ToFieldSet), system metadata excepted."""
    out: set[Path] = set()
    _claims(obj, node, (), out)
    return frozenset(path for path in out if not is_stripped(path))


def _claims(value: Any, node: Node | None, path: Path, out: set[Path]) -> None:
    if is_granular_map(value, node):
        properties = node.properties if node is not None else {}
        for name, sub in value.items():
            inner = (*path, "f:" + name)
            typed = node.child(name) if node is not None else None
            _claims(sub, typed, inner, out)
            # The declared field of a struct is owned through its content; a key of a map is owned by itself.
            if sub is None or sub == {} or name not in properties:
                out.add(inner)
    elif node is not None and is_granular_list(value, node):
        for element, item in elements(value, node):
            inner = (*path, element)
            out.add(inner)
            if node.list_type == "map":
                _claims(item, node.items, inner, out)
    else:
        out.add(path)


def is_stripped(path: Path) -> bool:
    """Return whether a field is never owned: type and system fields of metadata."""
    if len(path) == 1:
        return path[0] in ("f:apiVersion", "f:kind", "f:metadata")
    return len(path) == 2 and path[0] == "f:metadata" and path[1] in _STRIPPED_META


@dataclass(slots=True)
class Comparison:
    """The difference between two objects as field sets."""

    added: set[Path]
    modified: set[Path]
    removed: set[Path]

    @property
    def touched(self) -> set[Path]:
        """Added or modified."""
        return self.added | self.modified


def compare(old: Obj | None, new: Obj, node: Node | None, *, custom: bool) -> Comparison:
    """Paths that differ, as TypedValue.Compare; containers that appear count themselves."""
    found = Comparison(set(), set(), set())
    before = dict(old or {})
    for name in ("metadata",) if custom else _ALWAYS_THERE:
        # The struct was there before, but empty: its content is new, the struct is not.
        if name not in before and name in new:
            typed = node.child(name) if node is not None else None
            _fill(new[name], typed, ("f:" + name,), found.added)
            before[name] = new[name]
        elif name in before and name not in new:
            new = {**new, name: {}}
    _differences(before, new, node, (), found)
    if old is None and not custom:
        # Go's empty object has these too: times and texts that are never left out.
        found.added.difference_update([("f:" + name,) for name, value in new.items() if value is None or value == ""])
    for paths in (found.added, found.modified, found.removed):
        paths.difference_update([path for path in paths if is_stripped(path)])
    return found


def _fill(value: Any, node: Node | None, path: Path, out: set[Path]) -> None:
    """The content of a struct that was there but empty: structs in it were so too, required containers as null."""
    if not isinstance(value, dict):
        return
    required = node.required if node is not None else frozenset()
    for name, sub in value.items():
        inner = (*path, "f:" + name)
        typed = node.child(name) if node is not None else None
        _appear(sub, typed, inner, out)
        if name in required and (is_granular_map(sub, typed) or is_granular_list(sub, typed)) and sub:
            out.discard(inner)


def _appear(value: Any, node: Node | None, path: Path, out: set[Path]) -> None:
    """A field that was absent in JSON: in Go a struct was there nevertheless, and empty."""
    if node is not None and node.struct:
        _fill(value, node, path, out)
    else:
        _collect(value, node, path, out)


def _collect(value: Any, node: Node | None, path: Path, out: set[Path]) -> None:
    """Every path of a value that appeared or vanished."""
    out.add(path)
    if is_granular_map(value, node):
        for name, sub in value.items():
            _collect(sub, node.child(name) if node is not None else None, (*path, "f:" + name), out)
    elif node is not None and is_granular_list(value, node):
        for element, item in elements(value, node):
            if node.list_type == "map":
                _collect(item, node.items, (*path, element), out)
            else:
                out.add((*path, element))


def _differences(old: Any, new: Any, node: Node | None, path: Path, found: Comparison) -> None:
    if is_granular_map(old, node) and isinstance(new, dict):
        if not old or not new:
            if old != new:
                _one_sided(old, new, node, path, found)
            return
        for name, sub in old.items():
            if name not in new:
                typed = node.child(name) if node is not None else None
                _collect(sub, typed, (*path, "f:" + name), found.removed)
        for name, sub in new.items():
            typed = node.child(name) if node is not None else None
            if name not in old:
                _appear(sub, typed, (*path, "f:" + name), found.added)
            elif old[name] != sub:
                _differences(old[name], sub, typed, (*path, "f:" + name), found)
        return
    if node is not None and is_granular_list(old, node) and isinstance(new, list):
        before, after = dict(elements(old, node)), dict(elements(new, node))
        for element, item in before.items():
            if element not in after:
                _collect(item, node.items, (*path, element), found.removed)
        for element, item in after.items():
            if element not in before:
                _collect(item, node.items, (*path, element), found.added)
            elif before[element] != item:
                _differences(before[element], item, node.items, (*path, element), found)
        return
    if old != new:
        found.modified.add(path)


def _one_sided(old: Obj, new: Obj, node: Node | None, path: Path, found: Comparison) -> None:
    for name, sub in old.items():
        _collect(sub, node.child(name) if node is not None else None, (*path, "f:" + name), found.removed)
    for name, sub in new.items():
        _appear(sub, node.child(name) if node is not None else None, (*path, "f:" + name), found.added)


def encode(fields: Iterable[Path]) -> Obj:
    """A field set as FieldsV1."""
    root: Obj = {}
    members: list[Obj] = []
    for path in sorted(fields):
        at = root
        for element in path:
            at = at.setdefault(element, {})
        members.append(at)
    for at in members:
        # An inner node that is a member itself; leaves need no mark.
        if at:
            at["."] = {}
    return root


def decode(fields: Obj) -> FieldSet:
    """FieldsV1 as a field set."""
    out: set[Path] = set()

    def walk(at: Obj, path: Path) -> None:
        for element, inner in at.items():
            if element == ".":
                out.add(path)
            elif inner:
                walk(inner, (*path, element))
            else:
                out.add((*path, element))

    walk(fields, ())
    return frozenset(out)
