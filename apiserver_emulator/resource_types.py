"""The table of served resources, with their versions and strategies.

`builtin.table.register` and `dra.register` fill it at start; CustomResourceDefinitions change it later. Reads need no
lock, since entries are replaced whole; the lock of the store orders the writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from apiserver_emulator.strategy import BaseStrategy, Conversion, Strategy

Obj = dict[str, Any]

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Column:
    """A printer column of a Table: `cell` reads the value from an object of the storage version."""

    name: str
    cell: Callable[[Obj], object]
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True)
class ResourceType:
    """One resource of one group, in all its versions.

    `versions` are the served ones in order of preference, `storage_version` is the one that the store and the
    strategy use. `fields` returns the values of the supported field selectors beside metadata.name and
    metadata.namespace, which always work; a selector on any other field gets 400. `schemas` has the structural schema
    of each version of a custom resource; those of built-in kinds are in the schemas package. `conversion` None:
    versions differ in apiVersion only. `stored_with` names the resource whose collection this one shares (events of
    events.k8s.io are core events).
    """

    group: str
    plural: str
    kind: str
    versions: tuple[str, ...]
    storage_version: str
    namespaced: bool = True
    singular: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    strategy: Strategy = field(default_factory=BaseStrategy)
    conversion: Conversion | None = None
    fields: Callable[[Obj], Mapping[str, str]] = field(default=lambda obj: {})
    field_names: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    schemas: Mapping[str, Obj] = field(default_factory=dict)
    custom: bool = False
    stored_with: tuple[str, str] | None = None

    @property
    def storage_key(self) -> tuple[str, str]:
        """The key of the collection in the store: its own, or that of `stored_with`."""
        return self.stored_with or (self.group, self.plural)

    @property
    def key(self) -> tuple[str, str]:
        """(group, plural)."""
        return (self.group, self.plural)

    @property
    def storage_api_version(self) -> str:
        """apiVersion of stored objects."""
        return self.api_version(self.storage_version)

    def api_version(self, version: str) -> str:
        """apiVersion text of a version."""
        return f"{self.group}/{version}" if self.group else version

    @property
    def list_kind_name(self) -> str:
        """Kind of a list answer."""
        return self.list_kind or f"{self.kind}List"

    @property
    def singular_name(self) -> str:
        """Singular resource name."""
        return self.singular or self.kind.lower()


class ResourceTable:
    """All resource types by (group, plural). One thread changes it, any number read."""

    def __init__(self) -> None:
        self._types: dict[tuple[str, str], ResourceType] = {}
        # A dict as an ordered set: a group keeps its position when its resources are replaced.
        self._group_order: dict[str, None] = {}
        self.generation = 0

    def add(self, resource: ResourceType) -> ResourceType:
        """Serve a resource, or replace how it is served."""
        # New dicts: readers in other threads iterate over the old ones without a lock.
        self._types = {**self._types, resource.key: resource}
        if resource.group not in self._group_order:
            self._group_order = {**self._group_order, resource.group: None}
        self.generation += 1
        return resource

    def remove(self, group: str, plural: str) -> None:
        """Stop serving a resource."""
        self._types = {k: v for k, v in self._types.items() if k != (group, plural)}
        self.generation += 1

    def find(self, group: str, plural: str) -> ResourceType | None:
        """Return the resource type, None if there is none; any version."""
        return self._types.get((group, plural))

    def served(self, group: str, version: str, plural: str) -> ResourceType | None:
        """The type if it is served in that version."""
        found = self._types.get((group, plural))
        return found if found is not None and version in found.versions else None

    def by_kind(self, group: str, kind: str) -> ResourceType | None:
        """The type of a kind."""
        for resource in self._types.values():
            if resource.group == group and resource.kind == kind:
                return resource
        return None

    def all(self) -> Iterable[ResourceType]:
        """Every type, in order of registration."""
        return list(self._types.values())

    def groups(self) -> dict[str, list[str]]:
        """Served groups with their versions, preferred version first."""
        found: dict[str, list[str]] = {}
        types = self._types.values()
        for group in self._group_order:
            versions: dict[str, None] = {}
            for resource in types:
                if resource.group == group:
                    versions.update(dict.fromkeys(resource.versions))
            if versions:
                found[group] = sorted(versions, key=version_priority)
        return found


def version_priority(version: str) -> tuple[int, int, int]:
    """Sort key of API versions: stable before beta before alpha, higher numbers first."""
    text = version.removeprefix("v")
    for rank, word in ((2, "alpha"), (1, "beta")):
        if word in text:
            major, _, minor = text.partition(word)
            return (rank, -int(major or 0), -int(minor or 0))
    return (0, -int(text) if text.isdigit() else 0, 0)
