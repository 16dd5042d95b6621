"""Published API definitions of the built-in kinds: types, required fields, list and patch extensions.

Data: `v<minor>.json.gz` beside this file, written by `tools/gen_schemas.py` from Kubernetes' OpenAPI documents without
their descriptions. A file is read once a process, on the first `load` of its minor, and is never changed.
"""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

import jsonschema_rs

from apiserver_emulator.field_validation import conform
from apiserver_emulator.schema_tree import Node, SchemaIndex
from dra_api.gotext import go_quote

__all__ = ["GVK", "MINORS", "ListInfo", "Schemas", "UnknownKindError", "load"]

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


@dataclass(frozen=True, slots=True)
class ListInfo:
    """How a list merges: `atomic` (replaced as a whole), `set` (by value) or `map` (by `keys`).

    `type` is x-kubernetes-list-type, for server-side apply. `merge_key` and `patch_strategies` are the older
    extensions for strategic merge patch, empty if the list has none.
    """

    type: Literal["atomic", "set", "map"]
    keys: tuple[str, ...] = ()
    merge_key: str = ""
    patch_strategies: frozenset[str] = frozenset()


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
        self._strict: Obj | None = None
        self._validators: dict[tuple[GVK, bool], jsonschema_rs.Draft202012Validator] = {}

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
        found: Obj = self.definitions[self._name(gvk)]
        return found

    def root(self, gvk: GVK) -> Node:
        """The kind's type tree, which patches, pruning and field ownership walk."""
        found = self.index.root(*gvk)
        if found is None:
            raise UnknownKindError(gvk, self.minor)
        return found

    def validator(self, gvk: GVK, *, strict: bool = False) -> jsonschema_rs.Draft202012Validator:
        """A compiled JSON Schema validator of a kind; `strict` refuses unknown fields."""
        found = self._validators.get((gvk, strict))
        if found is None:
            definitions = self._strict_definitions() if strict else self.definitions
            schema = {"$ref": f"#/definitions/{self._name(gvk)}", "definitions": definitions}
            found = self._validators[(gvk, strict)] = jsonschema_rs.Draft202012Validator(schema)
        return found

    def unknown_fields(self, gvk: GVK, obj: Obj) -> list[str]:
        """Paths of the fields that the kind does not have, as `spec.devices[0].foo`. Leaves `obj` alone.

        Raises `field_validation.UndecodableError` for a value of a wrong JSON type.
        """
        return self.prune(gvk, copy.deepcopy(obj))

    def strict_errors(self, gvk: GVK, obj: Obj) -> list[str]:
        """Kubernetes' messages for fieldValidation=Strict (`strict decoding error: unknown field "spec.foo"`)."""
        return [f"strict decoding error: unknown field {go_quote(path)}" for path in self.unknown_fields(gvk, obj)]

    def prune(self, gvk: GVK, obj: Obj) -> list[str]:
        """Drop unknown fields and nulls in place, as the API server does for built-in kinds; return their paths."""
        unknown: list[str] = []
        conform(obj, self.root(gvk), "", unknown)
        return unknown

    def list_info(self, gvk: GVK, path: tuple[str, ...]) -> ListInfo | None:
        """Return how the list at a path of field names (without indices) merges; None if the field is no list."""
        node: Node | None = self.root(gvk)
        for name in path:
            while node is not None and node.type == "array":
                node = node.items
            node = node.child(name) if node is not None else None
        if node is None or node.type != "array":
            return None
        kind: Literal["atomic", "set", "map"] = "atomic"
        if node.list_type == "set":
            kind = "set"
        elif node.list_type == "map":
            kind = "map"
        return ListInfo(kind, node.map_keys, node.merge_key, node.patch_strategies)

    def _name(self, gvk: GVK) -> str:
        name = self.index.name(*gvk)
        if not name:
            raise UnknownKindError(gvk, self.minor)
        return name

    def _strict_definitions(self) -> Obj:
        if self._strict is None:
            self._strict = {
                name: {**schema, "additionalProperties": False} if "properties" in schema else schema
                for name, schema in self.definitions.items()
            }
        return self._strict
