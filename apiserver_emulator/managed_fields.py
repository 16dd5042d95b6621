"""Field ownership: metadata.managedFields on every write, and server-side apply.

A field set is a `frozenset` of paths; a path is a tuple of FieldsV1 elements (`f:name`, `k:{…}`, `v:…`). Pure
functions on private copies of objects.

Source: KEP-555 (server-side apply); sigs.k8s.io/structured-merge-diff (merge, typed, fieldpath: members of a set,
pruning, conflicts); k8s.io/apimachinery pkg/util/managedfields (manager identity, stripped fields, the cap of ten
update managers).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from apiserver_emulator.resource_types import ResourceType
from apiserver_emulator.schema_tree import Node
from dra_api.gotext import go_quote
from dra_api.status import StatusError, bad_request, invalid, invalid_object

Obj = dict[str, Any]
Path = tuple[str, ...]
FieldSet = frozenset[Path]

MAX_UPDATE_MANAGERS = 10
ANCIENT = "ancient-changes"

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
_EMPTY: FieldSet = frozenset()


@dataclass(frozen=True, slots=True)
class Manager:
    """Identity of one managedFields entry. For Apply the version is not part of the identity."""

    name: str
    operation: str
    subresource: str
    api_version: str


@dataclass(slots=True)
class Entry:
    """The fields that one manager owns in one version."""

    fields: FieldSet
    api_version: str
    time: str


Managers = dict[Manager, Entry]


def _manager(name: str, operation: str, subresource: str, api_version: str) -> Manager:
    return Manager(name, operation, subresource, "" if operation == "Apply" else api_version)


# --- paths -----------------------------------------------------------------------------------------------------------


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


def _granular_map(value: Any, node: Node | None) -> bool:
    return isinstance(value, dict) and not (node is not None and (node.atomic or _opaque(node)))


def _opaque(node: Node) -> bool:
    # A RawExtension and the like: one value without inner owners. Custom resources deduce types below free fields.
    return node.name.endswith("runtime.RawExtension") or node.type == "quantity"


def _granular_list(value: Any, node: Node | None) -> bool:
    return (
        isinstance(value, list)
        and node is not None
        and (node.list_type == "set" or (node.list_type == "map" and bool(node.map_keys)))
    )


def _elements(value: list[Any], node: Node) -> list[tuple[str, Any]]:
    """The items of a granular list with their path elements."""
    if node.list_type == "set":
        return [(_value_element(item), item) for item in value]
    keys, defaults = node.map_keys, node.key_defaults
    return [(_key_element(item, keys, defaults), item) for item in value if isinstance(item, dict)]


def to_field_set(obj: Obj, node: Node | None) -> FieldSet:
    """All that an applied configuration claims (TypedValue.ToFieldSet), system metadata excepted."""
    out: set[Path] = set()
    _claims(obj, node, (), out)
    return frozenset(path for path in out if not _stripped(path))


def _claims(value: Any, node: Node | None, path: Path, out: set[Path]) -> None:
    if _granular_map(value, node):
        properties = node.properties if node is not None else {}
        for name, sub in value.items():
            inner = (*path, "f:" + name)
            typed = node.child(name) if node is not None else None
            _claims(sub, typed, inner, out)
            if sub is None or sub == {} or name not in properties:
                out.add(inner)
    elif node is not None and _granular_list(value, node):
        for element, item in _elements(value, node):
            inner = (*path, element)
            out.add(inner)
            if node.list_type == "map":
                _claims(item, node.items, inner, out)
    else:
        out.add(path)


def _stripped(path: Path) -> bool:
    if len(path) == 1:
        return path[0] in ("f:apiVersion", "f:kind", "f:metadata")
    return len(path) == 2 and path[0] == "f:metadata" and path[1] in _STRIPPED_META


# --- comparison ------------------------------------------------------------------------------------------------------


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
        paths.difference_update([path for path in paths if _stripped(path)])
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
        if name in required and (_granular_map(sub, typed) or _granular_list(sub, typed)) and sub:
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
    if _granular_map(value, node):
        for name, sub in value.items():
            _collect(sub, node.child(name) if node is not None else None, (*path, "f:" + name), out)
    elif node is not None and _granular_list(value, node):
        for element, item in _elements(value, node):
            if node.list_type == "map":
                _collect(item, node.items, (*path, element), out)
            else:
                out.add((*path, element))


def _differences(old: Any, new: Any, node: Node | None, path: Path, found: Comparison) -> None:
    if _granular_map(old, node) and isinstance(new, dict):
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
    if node is not None and _granular_list(old, node) and isinstance(new, list):
        before, after = dict(_elements(old, node)), dict(_elements(new, node))
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


# --- FieldsV1 --------------------------------------------------------------------------------------------------------


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


def read(meta: Obj) -> Managers:
    """The managers of an object. Entries that cannot be read are dropped, as upstream resets them."""
    found: Managers = {}
    for entry in meta.get("managedFields") or ():
        if not isinstance(entry, dict) or entry.get("operation") not in ("Apply", "Update"):
            continue
        who = _manager(
            entry.get("manager", ""),
            entry["operation"],
            entry.get("subresource", ""),
            entry.get("apiVersion", ""),
        )
        found[who] = Entry(decode(entry.get("fieldsV1") or {}), entry.get("apiVersion", ""), entry.get("time", ""))
    return found


def write(meta: Obj, managers: Managers) -> None:
    """Set metadata.managedFields, in upstream's order."""
    entries: list[Obj] = []
    for who, entry in managers.items():
        if not entry.fields:
            continue
        written: Obj = {
            "manager": who.name,
            "operation": who.operation,
            "apiVersion": entry.api_version,
            "fieldsType": "FieldsV1",
            "fieldsV1": encode(entry.fields),
        }
        if entry.time:
            written["time"] = entry.time
        if who.subresource:
            written["subresource"] = who.subresource
        entries.append(written)
    entries.sort(
        key=lambda e: (e["operation"], e.get("time", ""), e["manager"], e["apiVersion"], e.get("subresource", ""))
    )
    if entries:
        meta["managedFields"] = entries
    else:
        meta.pop("managedFields", None)


# --- operations ------------------------------------------------------------------------------------------------------


def _reset(fields: Iterable[Path], resource: ResourceType, subresource: str) -> FieldSet:
    """Drop the fields that this (sub)resource resets: status without a subresource, all else with `status`."""
    if subresource == "status":
        if resource.custom:
            return frozenset(path for path in fields if path[0] == "f:status")
        return frozenset(path for path in fields if path[0] != "f:spec")
    if not subresource and "status" in resource.subresources:
        return frozenset(path for path in fields if path[0] != "f:status")
    return frozenset(fields)


def update(
    new: Obj,
    old: Obj | None,
    node: Node | None,
    *,
    manager: str,
    subresource: str,
    time: str,
    resource: ResourceType,
) -> None:
    """Record a create or an update (not an apply): the writer owns the fields that it changed, others lose them."""
    meta = new["metadata"]
    if meta.get("managedFields") == [{}]:
        meta["managedFields"] = []  # an empty list or one empty entry (managedfields.isResetManagedFields)
    if meta.get("managedFields"):
        managers = read(meta)
        kept = meta["managedFields"]
    elif "managedFields" in meta and old is not None:
        managers, kept = {}, []  # ownership is given up
    else:
        kept = (old or {"metadata": {}})["metadata"].get("managedFields") or []
        managers = read({"managedFields": kept})
    meta.pop("managedFields", None)
    changes = compare(old, new, node, custom=resource.custom)
    changes.added = set(_reset(changes.added, resource, subresource))
    changes.modified = set(_reset(changes.modified, resource, subresource))
    changes.removed = set(_reset(changes.removed, resource, subresource))
    if not (changes.added or changes.modified or changes.removed):
        if kept:
            meta["managedFields"] = kept
        return
    who = _manager(manager, "Update", subresource, new["apiVersion"])
    _take(managers, who, changes)
    mine = managers.get(who)
    owned = ((mine.fields if mine else _EMPTY) - changes.removed) | changes.touched
    if owned:
        unchanged = mine is not None and mine.fields == owned
        managers[who] = Entry(owned, new["apiVersion"], mine.time if mine and unchanged else time)
    else:
        managers.pop(who, None)
    _cap(managers)
    write(meta, managers)


def _take(managers: Managers, who: Manager, changes: Comparison) -> None:
    gone = changes.touched | changes.removed
    for other, entry in list(managers.items()):
        if other == who:
            continue
        left = entry.fields - gone
        if not left:
            del managers[other]
        elif left != entry.fields:
            entry.fields = left


def _cap(managers: Managers) -> None:
    """Fold the oldest update managers into one, so that managedFields stays bounded."""
    updates = sorted(
        (who for who in managers if who.operation == "Update" and not who.subresource),
        key=lambda who: managers[who].time,
    )
    excess = len(updates) - MAX_UPDATE_MANAGERS
    if excess <= 0:
        return
    for who in updates[: excess + 1]:
        entry = managers.pop(who)
        bucket = _manager(ANCIENT, "Update", "", entry.api_version)
        if bucket in managers:
            held = managers[bucket]
            held.fields |= entry.fields
            held.time = max(held.time, entry.time)
        else:
            managers[bucket] = entry


def apply_new(
    obj: Obj, node: Node | None, *, manager: str, subresource: str, time: str, resource: ResourceType
) -> None:
    """Ownership of an object that an apply creates."""
    fields = _reset(to_field_set(obj, node), resource, subresource)
    who = _manager(manager, "Apply", subresource, obj["apiVersion"])
    write(obj["metadata"], {who: Entry(fields, obj["apiVersion"], time)})


def apply(
    live: Obj,
    config: Obj,
    node: Node | None,
    *,
    manager: str,
    force: bool,
    subresource: str,
    time: str,
    resource: ResourceType,
) -> Obj:
    """Server-side apply: merge, remove fields that this manager no longer applies, check conflicts.

    `live` and `config` are private copies in the request's version. Raises 409 with one cause for each conflict,
    422 for another uid.
    """
    meta = live["metadata"]
    managers = read(meta)
    wanted_uid = config["metadata"].pop("uid", None)
    if wanted_uid and wanted_uid != meta.get("uid"):
        # Twice: upstream reports it for the stored object and again for the object to be stored.
        problem = invalid("metadata.uid", wanted_uid, "field is immutable")
        raise invalid_object(resource.group, resource.kind, meta.get("name", ""), [problem, problem])
    revision = config["metadata"].pop("resourceVersion", None)
    if not managers and "managedFields" not in meta:
        everything = _reset(to_field_set(live, node), resource, subresource)
        before = _manager("before-first-apply", "Update", "", live["apiVersion"])
        managers[before] = Entry(everything, live["apiVersion"], time)
    meta.pop("managedFields", None)
    who = _manager(manager, "Apply", subresource, config["apiVersion"])
    last = managers.get(who)
    claimed = _reset(to_field_set(config, node), resource, subresource)
    _check_unique(config, node, ())
    merged: Obj = _merge(live, config, node)
    if last is not None and last.fields:
        keep = _closure(claimed)
        for other, entry in managers.items():
            if other != who:
                keep |= _closure(entry.fields)
        merged = _prune(merged, node, (), _closure(last.fields), keep)
    changes = compare(live, merged, node, custom=resource.custom)
    touched = _reset(changes.touched, resource, subresource)
    conflicts = [
        (other, sorted(entry.fields & touched))
        for other, entry in sorted(managers.items(), key=lambda pair: (pair[0].name, pair[0].operation))
        if other != who and entry.fields & touched
    ]
    if conflicts and not force:
        raise _conflict(conflicts, managers)
    _take(managers, who, Comparison(set(touched), set(), set(_reset(changes.removed, resource, subresource))))
    # An apply that changes no value has a time only if it had one before (managedFieldsUpdater.Apply).
    written = time if changes.touched or changes.removed else (last.time if last is not None else "")
    managers[who] = Entry(claimed, config["apiVersion"], written)
    write(merged["metadata"], managers)
    if revision:
        merged["metadata"]["resourceVersion"] = revision
    return merged


def _conflict(conflicts: list[tuple[Manager, list[Path]]], managers: Managers) -> StatusError:
    causes: list[Obj] = []
    groups: list[str] = []
    total = 0
    for other, paths in conflicts:
        who = go_quote(other.name)
        if other.subresource:
            who += f" with subresource {go_quote(other.subresource)}"
        if other.operation != "Apply":
            who += f" using {managers[other].api_version}"
        total += len(paths)
        for path in paths:
            causes.append(
                {"reason": "FieldManagerConflict", "message": f"conflict with {who}", "field": path_text(path)}
            )
        if len(paths) == 1:
            groups.append(f"conflict with {who}: {path_text(paths[0])}")
        else:
            groups.append(f"conflicts with {who}:" + "".join(f"\n- {path_text(p)}" for p in paths))
    noun = "conflict" if total == 1 else "conflicts"
    return StatusError(
        409,
        "Conflict",
        f"Apply failed with {total} {noun}: " + "\n".join(groups),
        details={"causes": causes},
    )


def _closure(fields: FieldSet) -> set[Path]:
    """A set with all prefixes of its members."""
    out: set[Path] = set()
    for path in fields:
        for end in range(len(path), 0, -1):
            prefix = path[:end]
            if prefix in out:
                break
            out.add(prefix)
    return out


def _check_unique(value: Any, node: Node | None, path: Path) -> None:
    if isinstance(value, dict) and _granular_map(value, node):
        for name, sub in value.items():
            _check_unique(sub, node.child(name) if node is not None else None, (*path, "f:" + name))
    elif node is not None and _granular_list(value, node):
        seen: set[str] = set()
        for element, item in _elements(value, node):
            if element in seen:
                raise StatusError(
                    500,
                    "",
                    f"failed to create typed patch object: {path_text(path)}: duplicate entries for key "
                    f"{path_text((element,))}",
                )
            seen.add(element)
            _check_unique(item, node.items, (*path, element))


def _merge(live: Any, config: Any, node: Node | None) -> Any:
    if _granular_map(config, node) and isinstance(live, dict):
        merged = dict(live)
        for name, sub in config.items():
            typed = node.child(name) if node is not None else None
            merged[name] = _merge(live[name], sub, typed) if name in live else sub
        return merged
    if node is not None and _granular_list(config, node) and isinstance(live, list):
        after = dict(_elements(config, node))
        merged_items: list[Any] = []
        for element, item in _elements(live, node):
            if element in after:
                merged_items.append(_merge(item, after.pop(element), node.items))
            else:
                merged_items.append(item)
        return [*merged_items, *after.values()]
    if isinstance(config, list) and not isinstance(live, list) and live is not None:
        raise bad_request("failed to merge the applied configuration: a list meets a value that is not a list")
    return config


def _prune(value: Any, node: Node | None, path: Path, last: set[Path], keep: set[Path]) -> Any:
    if _granular_map(value, node):
        out: Obj = {}
        for name, sub in value.items():
            inner = (*path, "f:" + name)
            if inner in last and inner not in keep and not _stripped(inner):
                continue
            typed = node.child(name) if node is not None else None
            out[name] = _prune(sub, typed, inner, last, keep)
        return out
    if node is not None and _granular_list(value, node):
        items: list[Any] = []
        for element, item in _elements(value, node):
            inner = (*path, element)
            if inner in last and inner not in keep:
                continue
            items.append(_prune(item, node.items, inner, last, keep) if node.list_type == "map" else item)
        return items
    return value
