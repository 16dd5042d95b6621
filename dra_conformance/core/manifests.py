"""Loads manifests, fills in the names of a scenario, and reads and sets fields by path.

A manifest is a YAML file in `fixtures/`. Its placeholders `$(node:n1)` and `$(class:gpu)` are replaced by the
cluster-wide names that the scenario uses for n1 and gpu; `$(namespace)`, `$(driver)` and `$(version)` by those values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from dra_api.objects import KNOWN, Obj, Resource
from dra_conformance.core import assets, documents
from dra_conformance.core.errors import SpecificationError, UsageError
from dra_conformance.core.labels import RUN_LABEL

_PLACEHOLDER = re.compile(r"\$\(([a-z-]+)(?::([A-Za-z0-9._-]+))?\)")
_BY_KIND: dict[tuple[str, str], Resource] = {(r.group, r.kind): r for r in KNOWN}


def resource_of(obj: Obj) -> Resource:
    """Return the resource of an object, in the version of its apiVersion. Raises UsageError for an unknown kind."""
    api_version, kind = str(obj.get("apiVersion") or ""), str(obj.get("kind") or "")
    group, _, version = api_version.rpartition("/")
    known = _BY_KIND.get((group, kind))
    if known is None:
        raise UsageError(f"unknown kind {kind!r} in apiVersion {api_version!r}")
    return known.at(version)


def load(name: str, fill: Callable[[str, str], str], *, folder: Path | None = None) -> list[Obj]:
    """Return the objects of a manifest.

    Args:
        name: the path of the file below the folder, with or without `.yaml`.
        fill: returns the value of a placeholder from its kind and its alias.
        folder: the root of manifests; None means fixtures/.

    Raises:
        SpecificationError: there is no such manifest.
        UsageError: the manifest is not valid YAML or contains something else than objects.
    """
    root = (folder or assets.fixtures()).resolve()
    path = (root / name).resolve()
    if path.suffix != ".yaml":
        path = path.with_name(path.name + ".yaml")
    # A step must not read files outside of the fixtures.
    if not path.is_relative_to(root) or not path.is_file():
        raise SpecificationError(f"there is no manifest fixtures/{name}")
    text = _PLACEHOLDER.sub(lambda found: fill(found[1], found[2] or ""), path.read_text(encoding="utf-8"))
    objects = documents.load_all(text, where=f"fixtures/{name}")
    for obj in objects:
        if not isinstance(obj, dict):
            raise UsageError(f"fixtures/{name}: expected an object, got {type(obj).__name__}")
    return objects


def fill_text(text: str, fill: Callable[[str, str], str]) -> str:
    """Return the text or docstring of a step with its placeholders replaced."""
    return _PLACEHOLDER.sub(lambda found: fill(found[1], found[2] or ""), text)


def parse_value(text: str) -> Any:
    """Parse a value of a step or table as YAML, so that `3` is a number, `true` a boolean and `{a: b}` a mapping."""
    found = documents.load_all(text, where="value")
    return found[0] if found else None


_PART = re.compile(
    r"(?P<name>[^.\[\]]+)|\[(?P<index>\d+)\]|\[\"(?P<quoted>[^\"]+)\"\]|\['(?P<single>[^']+)'\]"
    r"|\[(?P<key>[^=\]]+)=(?P<value>[^\]]*)\]|\[(?P<each>\*)\]"
)


@dataclass(frozen=True, slots=True)
class Matching:
    """The part `[key=value]` of a field path: a list of the items whose field `key` has this value."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class Each:
    """The part `[*]` of a field path: the rest of the path is looked up in every item of a list."""


PathPart = str | int | Matching | Each


def path_parts(path: str) -> list[PathPart]:
    """Split a field path such as `spec.devices.requests[0].name` or `metadata.labels['a.b/c']`.

    `[type=Ready]` and `[*]` select from a list; only `look_up` accepts them. Raises SpecificationError if `path` is not
    a field path.
    """
    parts: list[PathPart] = []
    position = 0
    while position < len(path):
        if path[position] == ".":
            position += 1
        found = _PART.match(path, position)
        if not found:
            raise SpecificationError(f"{path!r} is not a field path")
        if found["index"] is not None:
            parts.append(int(found["index"]))
        elif found["key"] is not None:
            parts.append(Matching(found["key"], found["value"]))
        else:
            parts.append(Each() if found["each"] else str(found["name"] or found["quoted"] or found["single"]))
        position = found.end()
    return parts


def look_up(obj: Any, path: str) -> Any:
    """Return the value at a field path, or None if there is none. A path with `[*]` gives a list.

    Labels come without the one that a run adds on an existing cluster: rules are about what a client wrote.
    """
    return _look_up(obj, path_parts(path))


def _look_up(obj: Any, parts: Sequence[PathPart]) -> Any:
    for at, part in enumerate(parts):
        match part:
            case str():
                obj = obj.get(part) if isinstance(obj, dict) else None
            case int():
                obj = obj[part] if isinstance(obj, list) and part < len(obj) else None
            case Matching(key, value):
                obj = [item for item in obj or () if str(look_up(item, key)) == value]
            case Each():
                return [_look_up(item, parts[at + 1 :]) for item in obj or ()]
    if isinstance(obj, dict) and RUN_LABEL in obj:
        return {key: value for key, value in obj.items() if key != RUN_LABEL} or None
    return obj


def set_at(obj: Obj, path: str, value: Any) -> None:
    """Set a field of an object, making the mappings and lists on the way. `None` removes the field.

    Raises SpecificationError if the path selects from a list by anything but an index.
    """
    parts = [part for part in path_parts(path) if isinstance(part, str | int)]
    if len(parts) != len(path_parts(path)):
        raise SpecificationError(f"{path!r} may name several fields; only one can be set")
    holder: Any = obj
    for part, following in pairwise(parts):
        empty: Any = [] if isinstance(following, int) else {}
        if isinstance(part, int):
            while len(holder) <= part:
                # A new object for each item, because `empty` would be shared by all of them.
                holder.append(type(empty)())
            holder = holder[part]
        else:
            if holder.get(part) is None:
                holder[part] = empty
            holder = holder[part]
    last = parts[-1]
    if isinstance(last, int):
        if value is None:
            if last < len(holder):
                del holder[last]
        elif last < len(holder):
            holder[last] = value
        else:
            holder.append(value)
    elif value is None:
        holder.pop(last, None)
    else:
        holder[last] = value
