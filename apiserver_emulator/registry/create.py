"""Create an object for POST, apply or a controller: name, default, validate, admit, commit.

Source: k8s.io/apiserver pkg/registry/generic/registry/store.go (Create), pkg/registry/rest/create.go.
"""

from __future__ import annotations

import uuid

import orjson

from apiserver_emulator.core import Core
from apiserver_emulator.metadata import normalize_lists, settle_namespace, twice_owned, validate_metadata
from apiserver_emulator.registry.admission import admit
from apiserver_emulator.registry.causes import reported
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
    """Create a decoded object of the request's version and return its record.

    `manager` becomes the owner of all fields; with `owned`, managedFields are set already (apply). Raises 403, 404,
    409, 422, or whatever admission raises.
    """
    settle_namespace(obj, info.namespace, namespaced=resource.namespaced)
    meta = obj["metadata"]
    if meta.get("resourceVersion") not in (None, "", "0"):
        # A plain Go error in upstream's storage layer, hence 500 without a reason.
        raise StatusError(500, "", "resourceVersion should not be set on objects to be created")
    if resource.namespaced:
        _check_namespace(core, resource, info, meta.get("name", ""))
    generated = not meta.get("name") and bool(meta.get("generateName"))
    now = timestamp(core.clock.now())
    _fill_metadata(resource, meta, ctx, now)
    obj = core.to_storage(resource, info.version, obj)
    resource.strategy.default(obj)
    # A hook of the few kinds with a default that depends on the time.
    default_time = getattr(resource.strategy, "default_time", None)
    if default_time is not None:
        default_time(obj, now)
    if not owned:
        account(core, resource, info.version, obj, None, manager=manager, subresource="")
    resource.strategy.prepare_create(obj, ctx)
    attempts = NAME_ATTEMPTS if generated else 1
    while True:
        attempts -= 1
        if generated:
            # 63 characters less the suffix of 5, as upstream's name generator does.
            obj["metadata"]["name"] = str(obj["metadata"]["generateName"])[:58] + core.name_suffix()
        try:
            return _commit(core, resource, info, ctx, obj)
        except _NameTakenError as error:
            if not attempts:
                raise error.refusal from error


class _NameTakenError(Exception):
    """There is an object of this name: a generated name may be drawn again."""

    def __init__(self, refusal: StatusError) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


def _fill_metadata(resource: ResourceType, meta: Obj, ctx: RequestContext, now: str) -> None:
    # A generation from the client stays in kinds whose strategy sets none, such as claims (observed).
    for key in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion"):
        meta.pop(key, None)
    normalize_lists(meta)
    if twice := twice_owned(meta):
        ctx.warn(twice)
    meta["uid"] = str(uuid.uuid4())
    meta["creationTimestamp"] = now


def _commit(core: Core, resource: ResourceType, info: RequestInfo, ctx: RequestContext, obj: Obj) -> Record:
    """Authorize, validate, admit and store. Raises _NameTakenError."""
    meta = obj["metadata"]
    name = meta.get("name", "")
    resource.strategy.authorize(obj, None, ctx)
    errors = validate_metadata(
        meta, group=resource.group, plural=resource.plural, namespaced=resource.namespaced, minor=ctx.minor
    )
    errors += resource.strategy.validate_create(obj, ctx)
    if errors:
        # Events of events.k8s.io are reported as core events.
        raise invalid_object(resource.storage_key[0], resource.kind, name, reported(errors, minor=ctx.minor))
    resource.strategy.canonicalize(obj)
    admit(core, resource, "CREATE", info, ctx, obj, None)
    key = (meta.get("namespace", ""), name)
    if ctx.dry_run:
        if core.store.get(resource.storage_key, key) is not None:
            raise already_exists(resource.group, resource.plural, name)
        return Record(obj, orjson.dumps(obj), 0)
    try:
        with core.store.lock:
            # Checked again: the namespace's deletion may have started during admission.
            if resource.namespaced:
                _check_namespace(core, resource, info, name)
            record = core.store.create(resource.storage_key, key, obj)
    except ExistsError as error:
        refusal = already_exists(resource.group, resource.plural, name)
        existing = core.store.get(resource.storage_key, key)
        if existing is not None and "deletionTimestamp" in existing.obj["metadata"]:
            refusal.message = f"object is being deleted: {refusal.message}"
        raise _NameTakenError(refusal) from error
    return record


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
