"""Server-side apply: PATCH with application/apply-patch+yaml.

Source: k8s.io/apiserver pkg/endpoints/handlers/patch.go (applyPatcher); KEP-555.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import orjson

from apiserver_emulator import server_side_apply
from apiserver_emulator.auth import denied
from apiserver_emulator.core import Core
from apiserver_emulator.decoding import decode_body
from apiserver_emulator.handlers.options import WriteOptions
from apiserver_emulator.handlers.request_body import check_applied, check_body, check_unique
from apiserver_emulator.metadata import check_name, settle_namespace
from apiserver_emulator.registry.create import create_object
from apiserver_emulator.registry.update import ATTEMPTS, update_object
from apiserver_emulator.resource_types import ResourceType
from apiserver_emulator.store import Record
from apiserver_emulator.strategy import RequestContext
from dra_api.clock import timestamp
from dra_api.objects import Obj
from dra_api.request import Request, RequestInfo
from dra_api.status import FieldError, StatusError, bad_request, conflict, invalid_object, not_found


@dataclass(frozen=True, slots=True)
class _Apply:
    """One apply request. `config` is the applied configuration as JSON, in the version of the request."""

    core: Core
    resource: ResourceType
    info: RequestInfo
    ctx: RequestContext
    config: bytes
    manager: str
    force: bool
    time: str

    def create(self) -> Record:
        """Create the object. Raises 403, 404, 409, 422."""
        info = self.info
        if info.subresource:
            raise not_found(info.group, info.resource, info.name)
        # The request was authorized as a patch: to create an object is a permission of its own.
        if not self.ctx.allowed("create", info.group, info.resource, "", info.namespace, info.name):
            raise denied(self.ctx.user, replace(info, verb="create"))
        obj: Obj = orjson.loads(self.config)
        obj["metadata"].pop("resourceVersion", None)
        if uid := obj["metadata"].pop("uid", None):
            text = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            raise conflict(info.group, info.resource, info.name, text)
        server_side_apply.apply_new(
            obj,
            self.core.node(self.resource, info.version),
            manager=self.manager,
            subresource=info.subresource,
            time=self.time,
            resource=self.resource,
        )
        return create_object(self.core, self.resource, info, self.ctx, obj, manager=self.manager, owned=True)

    def update(self) -> Record:
        """Merge into the stored object. Raises 404, 409, 422."""
        record, _ = update_object(
            self.core,
            self.resource,
            self.info,
            self.ctx,
            self._merged,
            manager=self.manager,
            owned=True,
        )
        return record

    def _merged(self, old: Record) -> Obj:
        # Merged in the version of the request, in which the client owns its fields.
        converter = self.core.converter(self.resource, self.info.version)
        current = converter(old.copy()) if converter else old.copy()
        config: Obj = orjson.loads(self.config)
        return server_side_apply.apply(
            current,
            config,
            self.core.node(self.resource, self.info.version),
            manager=self.manager,
            force=self.force,
            subresource=self.info.subresource,
            time=self.time,
            resource=self.resource,
            minor=self.ctx.minor,
        )


def apply_object(
    core: Core,
    resource: ResourceType,
    request: Request,
    info: RequestInfo,
    ctx: RequestContext,
    options: WriteOptions,
) -> tuple[Record, bool]:
    """Apply a configuration; return the record, and whether it was created. Raises 400, 403, 404, 409, 422."""
    if not options.manager:
        problem = FieldError("FieldValueRequired", "fieldManager", "is required for apply patch")
        raise invalid_object("meta.k8s.io", "PatchOptions", "", [problem])
    config = _configuration(core, resource, request, info, ctx, options)
    operation = _Apply(
        core=core,
        resource=resource,
        info=info,
        ctx=ctx,
        config=orjson.dumps(config),
        manager=options.manager,
        force=request.flag("force"),
        time=timestamp(core.clock.now()),
    )
    key = (info.namespace if resource.namespaced else "", info.name)
    for _ in range(ATTEMPTS):
        if core.store.get(resource.storage_key, key) is not None:
            return operation.update(), False
        try:
            return operation.create(), True
        except StatusError as error:
            if error.reason != "AlreadyExists":  # then another client created it meanwhile
                raise
    raise conflict(info.group, info.resource, info.name)


def _configuration(
    core: Core,
    resource: ResourceType,
    request: Request,
    info: RequestInfo,
    ctx: RequestContext,
    options: WriteOptions,
) -> Obj:
    """Decode and check the applied configuration; its warnings go to `ctx`."""
    applied = decode_body(
        # JSON is YAML as well, but its decoder is faster and finds duplicate keys.
        request.body,
        "application/yaml" if not request.body.lstrip().startswith(b"{") else "application/json",
        look_for_duplicates=options.validation != "Ignore",
    )
    config = applied.obj
    if not config.get("kind") or not config.get("apiVersion"):
        version, kind = config.get("apiVersion") or "/", config.get("kind") or ""
        raise bad_request(f"invalid object type: {version}, Kind={kind}")
    # Upstream builds a typed patch first, so that wrong types get 500 before the usual check gives 400.
    if not resource.custom:
        check_applied(core, resource, info.version, config)
    check_unique(core, resource, info.version, config)
    ctx.warnings.extend(check_body(core, resource, info.version, config, options.validation, applied.duplicates))
    if config["metadata"].get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")
    check_name(config, info.name)
    settle_namespace(config, info.namespace, namespaced=resource.namespaced)
    return config
