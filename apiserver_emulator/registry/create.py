"""Creating an object, by POST, apply or a controller: named, defaulted, validated, admitted, committed.

Source: k8s.io/apiserver pkg/registry/generic/registry/store.go (Create), pkg/registry/rest/create.go.
"""

from __future__ import annotations

import uuid

import orjson

from apiserver_emulator.core import Core
from apiserver_emulator.metadata import settle_namespace, twice_owned, validate_metadata
from apiserver_emulator.registry.admission import admit
from apiserver_emulator.registry.field_ownership import account
from apiserver_emulator.resource_types import ResourceType
from apiserver_emulator.store import ExistsError, Record
from apiserver_emulator.strategy import RequestContext
from dra_api.clock import timestamp
from dra_api.objects import Obj
from dra_api.request import RequestInfo
from dra_api.status import StatusError, already_exists, forbidden, invalid_object, not_found

NAME_ATTEMPTS = 8  # generateName collisions are retried this often (KEP-4420)


def create_object(
    core: Core,
    resource: ResourceType,
    info: RequestInfo,
    ctx: RequestContext,
    obj: Obj,
    *,
    manager: str,
    owned: bool = False,
) -> Record:
    """Create a decoded object of the request's version. `owned`: managedFields are already set (apply)."""
    version = info.version
    settle_namespace(obj, info.namespace, namespaced=resource.namespaced)
    meta = obj["metadata"]
    if meta.get("resourceVersion"):
        raise StatusError(500, "", "resourceVersion should not be set on objects to be created")
    if resource.namespaced:
        _check_namespace(core, resource, info, meta.get("name", ""))
    generated = not meta.get("name") and bool(meta.get("generateName"))
    now = core.clock.now()
    for key in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion"):
        meta.pop(key, None)
    if resource.key != ("", "configmaps"):  # the one kind without a strategy for it, seen to keep what it is given
        meta.pop("generation", None)
    if twice := twice_owned(meta):
        ctx.warn(twice)
    meta["uid"] = str(uuid.uuid4())
    meta["creationTimestamp"] = timestamp(now)
    obj = core.to_storage(resource, version, obj)
    resource.strategy.default(obj)
    default_time = getattr(resource.strategy, "default_time", None)
    if default_time is not None:
        default_time(obj, timestamp(now))
    if not owned:
        account(core, resource, version, obj, None, manager=manager, subresource="")
    resource.strategy.prepare_create(obj, ctx)
    for attempt in range(NAME_ATTEMPTS):
        meta = obj["metadata"]
        if generated:
            meta["name"] = meta["generateName"][:58] + core.name_suffix()
        name = meta.get("name", "")
        resource.strategy.authorize(obj, None, ctx)
        errors = validate_metadata(meta, group=resource.group, plural=resource.plural, namespaced=resource.namespaced)
        errors += resource.strategy.validate_create(obj, ctx)
        if errors:
            raise invalid_object(resource.group, resource.kind, name, errors)
        admit(core, resource, "CREATE", info, ctx, obj, None)
        place = (meta.get("namespace", ""), name)
        if ctx.dry_run:
            if core.store.get(resource.storage_key, place) is not None:
                raise already_exists(resource.group, resource.plural, name)
            return Record(obj, orjson.dumps(obj), 0)
        try:
            with core.store.lock:
                if resource.namespaced:
                    _check_namespace(core, resource, info, name)
                record = core.store.create(resource.storage_key, place, obj)
                core.observe("create", resource, record, ctx)
            return record
        except ExistsError as error:
            if generated and attempt < NAME_ATTEMPTS - 1:
                continue
            refusal = already_exists(resource.group, resource.plural, name)
            there = core.store.get(resource.storage_key, place)
            if there is not None and "deletionTimestamp" in there.obj["metadata"]:
                refusal.message = f"object is being deleted: {refusal.message}"
            raise refusal from error
    raise already_exists(resource.group, resource.plural, obj["metadata"]["name"])


def _check_namespace(core: Core, resource: ResourceType, info: RequestInfo, name: str) -> None:
    namespace = core.store.get(("", "namespaces"), ("", info.namespace))
    if namespace is None:
        raise not_found("", "namespaces", info.namespace)
    if "deletionTimestamp" in namespace.obj["metadata"]:
        refusal = forbidden(
            resource.group,
            resource.plural,
            name,
            f"unable to create new content in namespace {info.namespace} because it is being terminated",
        )
        refusal.details["causes"] = [
            {
                "reason": "NamespaceTerminating",
                "message": f"namespace {info.namespace} is being terminated",
                "field": "metadata.namespace",
            }
        ]
        raise refusal
