"""Field ownership: metadata.managedFields on every write. Pure functions on private copies of objects.

Source: KEP-555 (server-side apply); k8s.io/apimachinery pkg/util/managedfields (manager identity, stripped fields, the
cap of ten update managers).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from apiserver_emulator.field_sets import Comparison, FieldSet, Path, compare, decode, encode
from apiserver_emulator.resource_types import ResourceType
from apiserver_emulator.schema_tree import Node

Obj = dict[str, Any]
MAX_UPDATE_MANAGERS = 10
ANCIENT = "ancient-changes"
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


def manager_of(name: str, operation: str, subresource: str, api_version: str) -> Manager:
    """Return the identity of a manager; applies in several versions have the same one."""
    return Manager(name, operation, subresource, "" if operation == "Apply" else api_version)


def read(meta: Obj) -> Managers:
    """The managers of an object. Entries that cannot be read are dropped, as upstream resets them."""
    found: Managers = {}
    for entry in meta.get("managedFields") or ():
        if not isinstance(entry, dict) or entry.get("operation") not in ("Apply", "Update"):
            continue
        who = manager_of(
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


def without_reset_fields(fields: Iterable[Path], resource: ResourceType, subresource: str) -> FieldSet:
    """Drop the fields that this (sub)resource resets: status without a subresource, all else with `status`."""
    if subresource == "status":
        # The strategy of custom resources resets everything else, those of built-in kinds only the spec.
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
    # Only an apply starts to record owners of an object that has none.
    if old is not None and not managers:
        return
    changes = compare(old, new, node, custom=resource.custom)
    changes.added = set(without_reset_fields(changes.added, resource, subresource))
    changes.modified = set(without_reset_fields(changes.modified, resource, subresource))
    changes.removed = set(without_reset_fields(changes.removed, resource, subresource))
    if not (changes.added or changes.modified or changes.removed):
        if kept:
            meta["managedFields"] = kept
        return
    who = manager_of(manager, "Update", subresource, new["apiVersion"])
    release_from_others(managers, who, changes)
    mine = managers.get(who)
    owned = ((mine.fields if mine else _EMPTY) - changes.removed) | changes.touched
    if owned:
        # The time changes only together with the set of fields.
        unchanged = mine is not None and mine.fields == owned
        managers[who] = Entry(owned, new["apiVersion"], mine.time if mine and unchanged else time)
    else:
        managers.pop(who, None)
    _cap(managers)
    write(meta, managers)


def release_from_others(managers: Managers, who: Manager, changes: Comparison) -> None:
    """Remove the changed fields from the sets of all managers but `who`."""
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
    if len(managers) <= MAX_UPDATE_MANAGERS:
        return
    updates = sorted(
        # Applied fields are never folded: the next apply of their manager needs them.
        (who for who in managers if who.operation == "Update"),
        key=lambda who: (managers[who].time, who.name),
    )
    left = len(updates)
    # The first entry of a version stays as it is until a second one is found: then both become its bucket.
    first: dict[str, Manager] = {}
    for who in updates:
        if left <= MAX_UPDATE_MANAGERS:
            return
        version = managers[who].api_version
        if version not in first:
            first[version] = who
            continue
        bucket = manager_of(ANCIENT, "Update", "", version)
        if bucket not in managers:
            managers[bucket] = managers.pop(first[version])
        entry = managers.pop(who)
        managers[bucket].fields |= entry.fields
        managers[bucket].time = entry.time
        left -= 1
