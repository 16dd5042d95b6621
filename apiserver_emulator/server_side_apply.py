"""Server-side apply: merge an applied configuration, prune fields that are no longer applied, detect conflicts.

Pure functions on private copies of objects.

Source: KEP-555; sigs.k8s.io/structured-merge-diff (merge: apply, pruning, conflicts).
"""

from __future__ import annotations

from typing import Any

from apiserver_emulator.field_sets import (
    Comparison,
    FieldSet,
    Path,
    compare,
    elements,
    is_granular_list,
    is_granular_map,
    is_stripped,
    path_text,
    to_field_set,
)
from apiserver_emulator.managed_fields import (
    Entry,
    Manager,
    Managers,
    manager_of,
    read,
    release_from_others,
    without_reset_fields,
    write,
)
from apiserver_emulator.resource_types import ResourceType
from apiserver_emulator.schema_tree import Node
from dra_api.gotext import go_quote
from dra_api.status import StatusError, bad_request, invalid, invalid_object

Obj = dict[str, Any]


def apply_new(
    obj: Obj, node: Node | None, *, manager: str, subresource: str, time: str, resource: ResourceType
) -> None:
    """Ownership of an object that an apply creates."""
    fields = without_reset_fields(to_field_set(obj, node), resource, subresource)
    who = manager_of(manager, "Apply", subresource, obj["apiVersion"])
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
    minor: int,
) -> Obj:
    """Server-side apply: merge, remove fields that this manager no longer applies, check conflicts.

    `live` and `config` are private copies in the request's version; `minor` is the emulated release. Raises 409 with
    one cause for each conflict, 422 for another uid.
    """
    meta = live["metadata"]
    managers = read(meta)
    # Preconditions, not claims: they take no part in the merge.
    wanted_uid = config["metadata"].pop("uid", None)
    if wanted_uid and wanted_uid != meta.get("uid"):
        # Before 1.37 twice: upstream reports it for the stored object and again for the object to be stored.
        problem = invalid("metadata.uid", wanted_uid, "field is immutable")
        raise invalid_object(resource.group, resource.kind, meta.get("name", ""), [problem] * (1 if minor >= 37 else 2))
    revision = config["metadata"].pop("resourceVersion", None)
    # Without managedFields, everything counts as written before the first apply.
    if not managers and "managedFields" not in meta:
        everything = without_reset_fields(to_field_set(live, node), resource, subresource)
        before = manager_of("before-first-apply", "Update", "", live["apiVersion"])
        managers[before] = Entry(everything, live["apiVersion"], time)
    # Ownership is neither merged nor compared.
    meta.pop("managedFields", None)
    who = manager_of(manager, "Apply", subresource, config["apiVersion"])
    last = managers.get(who)
    claimed = without_reset_fields(to_field_set(config, node), resource, subresource)
    merged: Obj = _merge(live, config, node)
    if last is not None and last.fields:
        # With prefixes: a container stays while anything in it is kept.
        keep = _closure(claimed)
        for other, entry in managers.items():
            if other != who:
                keep |= _closure(entry.fields)
        merged = _prune(merged, node, (), _closure(last.fields), keep)
    changes = compare(live, merged, node, custom=resource.custom)
    touched = without_reset_fields(changes.touched, resource, subresource)
    conflicts = [
        (other, sorted(entry.fields & touched))
        for other, entry in sorted(managers.items(), key=lambda pair: (pair[0].name, pair[0].operation))
        if other != who and entry.fields & touched
    ]
    if conflicts and not force:
        raise _conflict(conflicts, managers)
    # With `force`, the other managers lose the fields in conflict.
    release_from_others(
        managers,
        who,
        Comparison(set(touched), set(), set(without_reset_fields(changes.removed, resource, subresource))),
    )
    # An apply that changes no value has a time only if it had one before (managedFieldsUpdater.Apply).
    written = time if changes.touched or changes.removed else (last.time if last is not None else "")
    managers[who] = Entry(claimed, config["apiVersion"], written)
    write(merged["metadata"], managers)
    # Set last: the registry compares it with the stored version.
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
        if len(conflicts) == len(paths) == 1:
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


def _merge(live: Any, config: Any, node: Node | None) -> Any:
    if is_granular_map(config, node) and isinstance(live, dict):
        merged = dict(live)
        for name, sub in config.items():
            typed = node.child(name) if node is not None else None
            merged[name] = _merge(live[name], sub, typed) if name in live else sub
        return merged
    if node is not None and is_granular_list(config, node) and isinstance(live, list):
        after = dict(elements(config, node))
        merged_items: list[Any] = []
        for element, item in elements(live, node):
            if element in after:
                merged_items.append(_merge(item, after.pop(element), node.items))
            else:
                merged_items.append(item)
        return [*merged_items, *after.values()]
    if isinstance(config, list) and not isinstance(live, list) and live is not None:
        raise bad_request("failed to merge the applied configuration: a list meets a value that is not a list")
    return config


def _prune(value: Any, node: Node | None, path: Path, last: set[Path], keep: set[Path]) -> Any:
    if is_granular_map(value, node):
        out: Obj = {}
        for name, sub in value.items():
            inner = (*path, "f:" + name)
            if inner in last and inner not in keep and not is_stripped(inner):
                continue
            typed = node.child(name) if node is not None else None
            out[name] = _prune(sub, typed, inner, last, keep)
        return out
    if node is not None and is_granular_list(value, node):
        items: list[Any] = []
        for element, item in elements(value, node):
            inner = (*path, element)
            if inner in last and inner not in keep:
                continue
            items.append(_prune(item, node.items, inner, last, keep) if node.list_type == "map" else item)
        return items
    return value
