"""Published API definitions of the built-in kinds: types, required fields, list and patch extensions.

Data: `v<minor>.json.gz` beside this file, written by `tools/gen_schemas.py` from Kubernetes' OpenAPI documents without
their descriptions. A file is read once a process, on the first `load` of its minor, and is never changed.
"""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

from apiserver_emulator.field_validation import conform
from apiserver_emulator.schema_tree import Node, SchemaIndex

__all__ = ["GVK", "MINORS", "Schemas", "UnknownKindError", "load"]

Obj = dict[str, Any]

MINORS = ("1.34", "1.35", "1.36", "1.37")


class GVK(NamedTuple):
    """Group, version and kind; the core group is ""."""

    group: str
    version: str
    kind: str


class UnknownKindError(KeyError):
    """The definitions of this minor do not have a kind."""

    def __init__(self, gvk: GVK, minor: str) -> None:
        group_version = f"{gvk.group}/{gvk.version}" if gvk.group else gvk.version
        super().__init__(f"Kubernetes {minor} has no built-in kind {gvk.kind} in {group_version}")


@lru_cache(maxsize=len(MINORS))
def load(version: str) -> Schemas:
    """The definitions of a minor ("1.36", "v1.36" or "1.36.2"). Raises ValueError for a minor without any."""
    minor = ".".join(version.removeprefix("v").split(".")[:2])
    if minor not in MINORS:
        raise ValueError(f"no API definitions for Kubernetes {version}: have {', '.join(MINORS)}")
    packed = files(__package__).joinpath(f"v{minor}.json.gz").read_bytes()
    return Schemas(minor, json.loads(gzip.decompress(packed))["definitions"])


class Schemas:
    """The definitions of one Kubernetes minor. Shared and immutable; look-ups are cached."""

    def __init__(self, minor: str, definitions: Obj) -> None:
        self.minor = minor
        self.definitions = definitions
        self.index = SchemaIndex(definitions)

    def kinds(self) -> Iterator[GVK]:
        """Every kind that the definitions name."""
        for schema in self.definitions.values():
            for gvk in schema.get("x-kubernetes-group-version-kind") or ():
                yield GVK(gvk["group"], gvk["version"], gvk["kind"])

    def has(self, gvk: GVK) -> bool:
        """Whether the kind has a definition."""
        return bool(self.index.name(*gvk))

    def definition(self, gvk: GVK) -> Obj:
        """The definition of a kind (shared: never change it); references are `#/definitions/<name>`."""
        name = self.index.name(*gvk)
        if not name:
            raise UnknownKindError(gvk, self.minor)
        found: Obj = self.definitions[name]
        return found

    def root(self, gvk: GVK) -> Node:
        """The kind's type tree, which patches, pruning and field ownership walk."""
        found = self.index.root(*gvk)
        if found is None:
            raise UnknownKindError(gvk, self.minor)
        return found

    def unknown_fields(self, gvk: GVK, obj: Obj) -> list[str]:
        """Paths of the fields that the kind does not have, as `spec.devices[0].foo`. Leaves `obj` alone.

        Raises `field_validation.UndecodableError` for a value of a wrong JSON type.
        """
        return self.prune(gvk, copy.deepcopy(obj))

    def prune(self, gvk: GVK, obj: Obj) -> list[str]:
        """Drop unknown fields and nulls in place, as the API server does for built-in kinds; return their paths."""
        unknown: list[str] = []
        conform(obj, self.root(gvk), "", unknown)
        return unknown
