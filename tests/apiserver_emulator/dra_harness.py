"""One write to a resource.k8s.io strategy, through the steps of the server's pipeline but without a server."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from apiserver_emulator.dra import GROUP, register
from apiserver_emulator.metadata import carry_over_metadata
from apiserver_emulator.resource_types import ResourceTable, ResourceType
from apiserver_emulator.strategy import RequestContext
from dra_api.request import User
from dra_api.status import FieldError

Obj = dict[str, Any]
NOW = datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC)
Allowed = Callable[[str, str, str, str, str, str], bool]


@dataclass
class Answer:
    """The result of a write: errors, the object in the storage version and in the client's version, warnings."""

    errors: list[FieldError]
    stored: Obj
    shown: Obj
    warnings: list[str] = field(default_factory=list)


def table(kubernetes_version: str = "1.36", **more: Any) -> ResourceTable:
    found = ResourceTable()
    register(found, kubernetes_version=kubernetes_version, runtime_config={"api/all": "true"}, **more)
    return found


def resource_of(kind: str, kubernetes_version: str = "1.36", **more: Any) -> ResourceType:
    found = table(kubernetes_version, **more).by_kind(GROUP, kind)
    assert found is not None
    return found


def context(
    resource: ResourceType,
    *,
    version: str = "v1",
    verb: str = "create",
    subresource: str = "",
    gates: Mapping[str, bool] | None = None,
    kubernetes_version: str = "1.36",
    namespace_labels: Mapping[str, str] | None = None,
    user: User | None = None,
    allowed: Allowed | None = None,
    now: datetime = NOW,
) -> RequestContext:
    return RequestContext(
        user=user or User("admin"),
        verb=verb,
        group=GROUP,
        plural=resource.plural,
        version=version,
        subresource=subresource,
        namespace="ns" if resource.namespaced else "",
        name="x",
        dry_run=False,
        feature_gates=dict(gates or {}),
        kubernetes_version=kubernetes_version,
        namespace_labels=lambda name: dict(namespace_labels or {}),
        lookup=lambda *_: None,
        allowed=allowed or (lambda *_: True),
        now=lambda: now,
    )


def to_storage(resource: ResourceType, obj: Obj) -> Obj:
    found = copy.deepcopy(obj)
    version = found["apiVersion"].rpartition("/")[2]
    if version == resource.storage_version or resource.conversion is None:
        return found
    return resource.conversion.to_storage(found, version)


def from_storage(resource: ResourceType, obj: Obj, version: str) -> Obj:
    found = copy.deepcopy(obj)
    if version == resource.storage_version or resource.conversion is None:
        return found
    return resource.conversion.from_storage(found, version)


def write(
    obj: Obj,
    *,
    op: str = "create",
    old: Obj | None = None,
    kubernetes_version: str = "1.36",
    verb: str = "",
    **more: Any,
) -> Answer:
    """`op` is create, update or status; `old` is the stored object, in any version."""
    resource = resource_of(obj["kind"], kubernetes_version)
    version = obj["apiVersion"].rpartition("/")[2]
    ctx = context(
        resource,
        version=version,
        verb=verb or ("create" if op == "create" else "update"),
        subresource="status" if op == "status" else "",
        kubernetes_version=kubernetes_version,
        **more,
    )
    strategy = resource.strategy
    new = to_storage(resource, obj)
    strategy.default(new)
    if op == "create":
        strategy.prepare_create(new, ctx)
        errors = strategy.validate_create(new, ctx)
    else:
        assert old is not None
        before = to_storage(resource, old)
        strategy.default(before)
        carry_over_metadata(new["metadata"], before["metadata"])
        strategy.prepare_update(new, before, ctx)
        errors = strategy.validate_update(new, before, ctx)
    return Answer(errors, new, from_storage(resource, new, version), ctx.warnings)
