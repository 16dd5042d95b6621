"""Update an object for PUT, patch, apply or a controller: commit a private copy if the record is still current.

Source: k8s.io/apiserver pkg/registry/generic/registry/store.go (Update), pkg/registry/rest/update.go.
"""

from __future__ import annotations

from collections.abc import Callable

import orjson

from apiserver_emulator.core import Core
from apiserver_emulator.metadata import (
    carry_over_metadata,
    is_deletable,
    normalize_lists,
    twice_owned,
    validate_metadata_update,
)
from apiserver_emulator.registry.admission import admit
from apiserver_emulator.registry.causes import reported
from apiserver_emulator.registry.field_ownership import account
from apiserver_emulator.resource_types import ResourceType
from apiserver_emulator.store import Record, StaleWriteError
from apiserver_emulator.strategy import RequestContext
from dra_api.gotext import go_quote
from dra_api.objects import Obj
from dra_api.request import RequestInfo
from dra_api.status import StatusError, conflict, invalid, invalid_object, not_found, precondition_failed

ATTEMPTS = 5  # retries of a patch after conflicting writes: upstream's MaxRetryWhenPatchConflicts

# Kinds whose strategy has AllowUnconditionalUpdate false, like custom resources.
VERSION_ON_UPDATE = frozenset(
    {
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
        ("coordination.k8s.io", "leases"),
        ("resource.k8s.io", "resourcepoolstatusrequests"),
    }
)
# DeviceTaintRules have it in the versions after v1beta2 (DRA-452).
VERSION_ON_UPDATE_SINCE_V1 = frozenset({("resource.k8s.io", "devicetaintrules")})


def update_object(
    core: Core,
    resource: ResourceType,
    info: RequestInfo,
    ctx: RequestContext,
    produce: Callable[[Record], Obj],
    *,
    manager: str,
    attempts: int = ATTEMPTS,
    from_body: bool = False,
    owned: bool = False,
    admitted: bool = False,
) -> tuple[Record, bool]:
    """Read, change, check and commit an object; return the record, and whether the change deleted it.

    `produce(record)` returns the new object in the request's version, as a private copy. `owned`: produce has set
    managedFields. `from_body`: the object is the body of a request, so that its uid and resourceVersion are
    preconditions. `admitted`: the caller has called admission. Raises 404, 409, 422, or whatever admission raises.
    """
    key = (info.namespace if resource.namespaced else "", info.name)
    for attempt in range(attempts):
        old = core.store.get(resource.storage_key, key)
        if old is None:
            raise not_found(info.group, info.resource, info.name)
        new = produce(old)
        new = _prepare(core, resource, info, ctx, new, old, manager, from_body=from_body, owned=owned)
        if not admitted:
            admit(core, resource, "UPDATE", info, ctx, new, old.obj)
        # An update that changes nothing is no write: same resource version, no event.
        if new == old.obj:
            return old, False
        gone = is_deletable(new["metadata"])
        if ctx.dry_run:
            return Record(new, orjson.dumps(new), old.rv), gone
        try:
            if not gone:
                return core.store.update(resource.storage_key, key, new, old), False
            # The removal of the last finalizer is never stored: watchers get DELETED without MODIFIED.
            core.store.delete(resource.storage_key, key, old)
            return Record(new, orjson.dumps(new), old.rv), True
        except StaleWriteError as error:
            # Another writer was faster: `produce` starts again from its result.
            if attempt == attempts - 1:
                raise conflict(info.group, info.resource, info.name) from error
    raise conflict(info.group, info.resource, info.name)


def _needs_version(resource: ResourceType, version: str) -> bool:
    """Return whether an update of the resource in this version must have a resourceVersion."""
    if resource.key in VERSION_ON_UPDATE_SINCE_V1:
        return version == "v1"
    return resource.custom or resource.key in VERSION_ON_UPDATE


def _prepare(
    core: Core,
    resource: ResourceType,
    info: RequestInfo,
    ctx: RequestContext,
    new: Obj,
    old: Record,
    manager: str,
    *,
    from_body: bool,
    owned: bool,
) -> Obj:
    version = info.version
    meta, old_meta = new["metadata"], old.obj["metadata"]
    wanted = meta.get("resourceVersion", "")
    if wanted == "0":
        wanted = ""
    if wanted and not wanted.isdigit():
        raise StatusError(500, "", f"strconv.ParseUint: parsing {go_quote(wanted)}: invalid syntax")
    if not wanted:
        if from_body and _needs_version(resource, version):
            problem = invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise invalid_object(resource.group, resource.plural, info.name, [problem])
    elif wanted != old_meta["resourceVersion"]:
        raise conflict(info.group, info.resource, info.name)
    # Equal to the old one, so that an unchanged object is recognised by comparison.
    meta["resourceVersion"] = old_meta["resourceVersion"]
    if from_body and meta.get("uid") and meta["uid"] != old_meta["uid"]:
        raise precondition_failed(info.group, info.resource, old_meta, uid=meta["uid"])
    new = core.to_storage(resource, version, new)
    resource.strategy.default(new)
    normalize_lists(new["metadata"])
    if twice := twice_owned(new["metadata"], when=" after mutating admission happens"):
        ctx.warn(twice)
    carry_over_metadata(new["metadata"], old_meta)
    if not owned:
        account(core, resource, version, new, old, manager=manager, subresource=info.subresource)
    resource.strategy.prepare_update(new, old.obj, ctx)
    resource.strategy.authorize(new, old.obj, ctx)
    errors = validate_metadata_update(
        new["metadata"],
        old_meta,
        group=resource.group,
        plural=resource.plural,
        namespaced=resource.namespaced,
        minor=ctx.minor,
    )
    # Upstream validates metadata in BeforeUpdate and again in the strategy: each problem is two causes.
    if not resource.custom:
        errors += errors
    errors += resource.strategy.validate_update(new, old.obj, ctx)
    if errors:
        # Events of events.k8s.io are reported as core events.
        raise invalid_object(resource.storage_key[0], resource.kind, info.name, reported(errors, minor=ctx.minor))
    resource.strategy.canonicalize(new)
    return new
