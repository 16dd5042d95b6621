"""PATCH: JSON patch, merge patch and strategic merge patch on what is stored, and server-side apply.

Source: k8s.io/apiserver pkg/endpoints/handlers/patch.go.
"""

from __future__ import annotations

import orjson

from apiserver_emulator import managed_fields, patch_formats
from apiserver_emulator.core import Core
from apiserver_emulator.decoding import decode_body, media_type
from apiserver_emulator.handlers.options import WriteOptions
from apiserver_emulator.handlers.request_body import check_applied, check_body
from apiserver_emulator.metadata import check_name, settle_namespace
from apiserver_emulator.registry.create import create_object
from apiserver_emulator.registry.update import ATTEMPTS, update_object
from apiserver_emulator.resource_types import ResourceType
from apiserver_emulator.store import Record
from apiserver_emulator.strategy import RequestContext
from dra_api.clock import timestamp
from dra_api.objects import Obj
from dra_api.request import Request, RequestInfo
from dra_api.status import (
    FieldError,
    StatusError,
    bad_request,
    conflict,
    forbidden,
    invalid,
    invalid_object,
    not_found,
    unsupported_media_type,
)

_DECODING = '{kind} in version "{version}" cannot be handled as a {kind}: '


def patch_object(
    core: Core,
    resource: ResourceType,
    request: Request,
    info: RequestInfo,
    ctx: RequestContext,
    options: WriteOptions,
) -> Record:
    """Change an object by one of the three dialects that say what to change. Raises 400, 409, 415, 422 …"""
    kind = media_type(request.headers.get("content-type", ""))
    supported = [patch_formats.JSON_PATCH, patch_formats.MERGE]
    if not resource.custom:
        supported.append(patch_formats.STRATEGIC)
    supported.append(patch_formats.APPLY)
    if kind not in supported:
        known = (patch_formats.JSON_PATCH, patch_formats.MERGE, patch_formats.STRATEGIC, patch_formats.APPLY)
        # Upstream's router knows the dialects; the handler then those of the kind.
        raise (
            unsupported_media_type(kind, supported)
            if kind in known
            else StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type")
        )
    if request.param("force"):
        raise invalid_object(
            "meta.k8s.io",
            "PatchOptions",
            "",
            [FieldError("FieldValueForbidden", "force", "may not be specified for non-apply patch")],
        )
    change = patch_formats.parse(kind, request.body)
    converter = core.converter(resource, info.version)
    node = core.node(resource, info.version)

    def produce(old: Record) -> Obj:
        current = old.copy()
        if converter:
            current = converter(current)
        patched = patch_formats.apply(kind, current, change, node)
        if kind == patch_formats.STRATEGIC:  # decoded into the kind that it is, whatever the patch says
            patched["apiVersion"], patched["kind"] = resource.api_version(info.version), resource.kind
        raw = orjson.dumps(patched, option=orjson.OPT_SORT_KEYS)
        try:
            warnings = check_body(core, resource, info.version, patched, options.validation, [])
        except StatusError as error:
            if error.code != 400:
                raise
            shown = raw.decode() if kind != patch_formats.STRATEGIC else _go_map(change)
            detail = error.message.removeprefix(_DECODING.format(kind=resource.kind, version=info.version))
            raise invalid_object("", "", "", [invalid("patch", shown, detail)]) from error
        for warning in warnings:
            if warning not in ctx.warnings:
                ctx.warnings.append(warning)
        check_name(patched, info.name)
        settle_namespace(patched, info.namespace, namespaced=resource.namespaced)
        return patched

    record, _ = update_object(core, resource, info, ctx, produce, manager=options.manager_for(request))
    return record


def apply_object(
    core: Core,
    resource: ResourceType,
    request: Request,
    info: RequestInfo,
    ctx: RequestContext,
    options: WriteOptions,
) -> tuple[Record, bool]:
    """Server-side apply; the record, and whether it was created. Raises 400, 403, 404, 409, 422."""
    if not options.manager:
        raise invalid_object(
            "meta.k8s.io",
            "PatchOptions",
            "",
            [FieldError("FieldValueRequired", "fieldManager", "is required for apply patch")],
        )
    applied = decode_body(
        request.body,
        "application/yaml" if not request.body.lstrip().startswith(b"{") else "application/json",
        look_for_duplicates=options.validation != "Ignore",
    )
    if not applied.obj.get("kind") or not applied.obj.get("apiVersion"):
        version, kind = applied.obj.get("apiVersion") or "/", applied.obj.get("kind") or ""
        raise bad_request(f"invalid object type: {version}, Kind={kind}")
    body = applied.obj
    if not resource.custom:
        check_applied(core, resource, info.version, body)
    ctx.warnings.extend(check_body(core, resource, info.version, body, options.validation, applied.duplicates))
    if body["metadata"].get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")
    check_name(body, info.name)
    settle_namespace(body, info.namespace, namespaced=resource.namespaced)
    force = request.flag("force")
    node = core.node(resource, info.version)
    converter = core.converter(resource, info.version)
    now = timestamp(core.clock.now())
    raw = orjson.dumps(body)
    key = (info.namespace if resource.namespaced else "", info.name)
    for _ in range(ATTEMPTS):
        if core.store.get(resource.storage_key, key) is None:
            if info.subresource:
                raise not_found(info.group, info.resource, info.name)
            if not ctx.allowed("create", info.group, info.resource, "", info.namespace, info.name):
                raise forbidden(info.group, info.resource, info.name, "apply would create the object")
            obj = orjson.loads(raw)
            if obj["metadata"].pop("resourceVersion", None) or obj["metadata"].pop("uid", None):
                raise conflict(
                    info.group,
                    info.resource,
                    info.name,
                    "the object to apply to does not exist",
                )
            managed_fields.apply_new(
                obj, node, manager=options.manager, subresource=info.subresource, time=now, resource=resource
            )
            try:
                return create_object(core, resource, info, ctx, obj, manager=options.manager, owned=True), True
            except StatusError as error:
                if error.reason == "AlreadyExists":
                    continue
                raise

        def produce(old: Record) -> Obj:
            current = old.copy()
            if converter:
                current = converter(current)
            config: Obj = orjson.loads(raw)
            return managed_fields.apply(
                current,
                config,
                node,
                manager=options.manager,
                force=force,
                subresource=info.subresource,
                time=now,
                resource=resource,
            )

        record, _gone = update_object(
            core, resource, info, ctx, produce, manager=options.manager, owned=True, verb="patch"
        )
        return record, False
    raise conflict(info.group, info.resource, info.name)


def _go_map(change: Obj) -> str:
    """A map as Go's %v prints it; of nested values only what one sees of plain ones."""
    return "map[" + " ".join(f"{name}:{change[name]}" for name in sorted(change)) + "]"
