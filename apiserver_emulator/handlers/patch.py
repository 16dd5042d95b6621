"""PATCH with a JSON patch, a merge patch or a strategic merge patch.

Source: k8s.io/apiserver pkg/endpoints/handlers/patch.go.
"""

from __future__ import annotations

import orjson

from apiserver_emulator import patch_formats
from apiserver_emulator.core import Core
from apiserver_emulator.decoding import media_type
from apiserver_emulator.handlers.options import WriteOptions
from apiserver_emulator.handlers.request_body import check_body
from apiserver_emulator.metadata import check_name, settle_namespace
from apiserver_emulator.registry.update import update_object
from apiserver_emulator.resource_types import ResourceType
from apiserver_emulator.store import Record
from apiserver_emulator.strategy import RequestContext
from dra_api.objects import Obj
from dra_api.request import Request, RequestInfo
from dra_api.status import (
    FieldError,
    StatusError,
    invalid,
    invalid_object,
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
    """Patch an object in one of the three formats and return its record. Raises 400, 404, 409, 415, 422."""
    kind = media_type(request.headers.get("content-type", ""))
    supported = [patch_formats.JSON_PATCH, patch_formats.MERGE]
    if not resource.custom:
        supported.append(patch_formats.STRATEGIC)
    supported.append(patch_formats.APPLY)
    if kind not in supported:
        known = (patch_formats.JSON_PATCH, patch_formats.MERGE, patch_formats.STRATEGIC, patch_formats.APPLY)
        # Upstream's router refuses unknown formats, its handler the formats that the kind does not support.
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
    change = patch_formats.parse(kind, request.body, minor=ctx.minor)
    converter = core.converter(resource, info.version)
    node = core.node(resource, info.version)

    def produce(old: Record) -> Obj:
        current = old.copy()
        if converter:
            current = converter(current)
        patched = patch_formats.apply(kind, current, change, node)
        if kind == patch_formats.STRATEGIC:  # upstream decodes the result into the type of the kind
            patched["apiVersion"], patched["kind"] = resource.api_version(info.version), resource.kind
        # Before `check_body` changes the object: the error shows the result of the patch.
        raw = orjson.dumps(patched, option=orjson.OPT_SORT_KEYS)
        try:
            warnings = check_body(core, resource, info.version, patched, options.validation, [])
        except StatusError as error:
            if error.code != 400:
                raise
            shown = raw.decode() if kind != patch_formats.STRATEGIC else _go_map(change)
            detail = error.message.removeprefix(_DECODING.format(kind=resource.kind, version=info.version))
            raise invalid_object("", "", "", [invalid("patch", shown, detail)]) from error
        # After a conflicting write `produce` runs again, and its warnings are the same.
        for warning in warnings:
            if warning not in ctx.warnings:
                ctx.warnings.append(warning)
        check_name(patched, info.name)
        settle_namespace(patched, info.namespace, namespaced=resource.namespaced)
        return patched

    record, _ = update_object(core, resource, info, ctx, produce, manager=options.manager_for(request))
    return record


def _go_map(change: Obj) -> str:
    """Format a map as Go's %v does; nested values only approximately."""
    return "map[" + " ".join(f"{name}:{change[name]}" for name in sorted(change)) + "]"
