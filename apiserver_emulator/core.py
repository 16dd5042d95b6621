"""State that all modules of one server share: store, resource table, schemas, clock, authorizer.

`ApiServer` creates it and passes it to its handlers and controllers. It has no behaviour beyond look-ups.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from apiserver_emulator.resource_types import ResourceTable, ResourceType
from apiserver_emulator.schema_tree import Node, SchemaIndex, crd_tree
from apiserver_emulator.store import Store
from apiserver_emulator.strategy import RequestContext
from dra_api.clock import Clock
from dra_api.request import Request, RequestInfo, User

Obj = dict[str, Any]

# Upstream's alphabet: without vowels, so that suffixes form no words.
SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


class Authorizer(Protocol):
    """Decides whether a user may make a request."""

    def allowed(self, user: User, info: RequestInfo) -> bool:
        """Return whether the request is allowed."""

    def decide(self, user: User, info: RequestInfo) -> tuple[bool, str]:
        """Return whether the request is allowed, and the reason if not (may be empty)."""


class ValidatingAdmission(Protocol):
    """A check after validation and before the store (webhooks)."""

    def interested(self, resource: ResourceType, operation: str, info: RequestInfo) -> bool:
        """Return whether `review` would do anything for a write."""

    def review(
        self,
        resource: ResourceType,
        operation: str,
        info: RequestInfo,
        ctx: RequestContext,
        obj: Obj | None,
        old: Obj | None,
        options: Obj,
    ) -> None:
        """Raise a StatusError to refuse."""


@dataclass
class Core:
    """The shared state of one server."""

    store: Store
    resources: ResourceTable
    schemas: SchemaIndex
    clock: Clock
    kubernetes_version: str
    feature_gates: dict[str, bool]
    authorizer: Authorizer
    random: random.Random
    watch_delay: Callable[[str], float] | None = None
    admission: list[ValidatingAdmission] = field(default_factory=list)
    # The value holds the resource type, so that its id is not reused while it is a key.
    _crd_nodes: dict[tuple[int, str], tuple[ResourceType, Node]] = field(default_factory=dict)

    def node(self, resource: ResourceType, version: str) -> Node | None:
        """The type tree of a resource in one version; None when no schema is known."""
        if resource.custom:
            cached = self._crd_nodes.get((id(resource), version))
            if cached is None:
                tree = crd_tree(resource.schemas.get(version), self.schemas.definitions)
                cached = self._crd_nodes[(id(resource), version)] = (resource, tree)
            return cached[1]
        return self.schemas.root(resource.group, version, resource.kind)

    def converter(self, resource: ResourceType, version: str) -> Callable[[Obj], Obj] | None:
        """From the storage version to `version`; None when they are the same."""
        if version == resource.storage_version:
            return None
        conversion = resource.conversion
        if conversion is None:
            api_version = resource.api_version(version)

            def rename(obj: Obj) -> Obj:
                obj["apiVersion"] = api_version
                return obj

            return rename
        return lambda obj: conversion.from_storage(obj, version)

    def to_storage(self, resource: ResourceType, version: str, obj: Obj) -> Obj:
        """From a served version to the storage version."""
        if version == resource.storage_version:
            return obj
        if resource.conversion is None:
            obj["apiVersion"] = resource.storage_api_version
            return obj
        return resource.conversion.to_storage(obj, version)

    def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        """The labels of a namespace; empty when it does not exist."""
        record = self.store.get(("", "namespaces"), ("", namespace))
        labels: Mapping[str, str] = (record.obj["metadata"].get("labels") or {}) if record else {}
        return labels

    def lookup(self, group: str, plural: str, namespace: str, name: str) -> Obj | None:
        """An object of the storage version, shared: never mutate it."""
        record = self.store.get((group, plural), (namespace, name))
        return record.obj if record else None

    def context(
        self, request: Request, info: RequestInfo, *, dry_run: bool = False, options: Obj | None = None
    ) -> RequestContext:
        """The strategy's view of a request. `options` are those of the write."""
        user = request.user or User("system:anonymous", groups=("system:unauthenticated",))

        def allowed(verb: str, group: str, resource: str, subresource: str, namespace: str, name: str) -> bool:
            attributes = RequestInfo(verb, "", group, info.version, namespace, resource, name, subresource)
            return user.is_master or self.authorizer.allowed(user, attributes)

        return RequestContext(
            user=user,
            verb=info.verb,
            group=info.group,
            plural=info.resource,
            version=info.version,
            subresource=info.subresource,
            namespace=info.namespace,
            name=info.name,
            dry_run=dry_run,
            feature_gates=self.feature_gates,
            kubernetes_version=self.kubernetes_version,
            namespace_labels=self.namespace_labels,
            lookup=self.lookup,
            allowed=allowed,
            now=self.clock.now,
            options=options or {},
            warnings=request.warnings,
        )

    def name_suffix(self) -> str:
        """Five characters for generateName."""
        return "".join(self.random.choices(SUFFIX_ALPHABET, k=5))
