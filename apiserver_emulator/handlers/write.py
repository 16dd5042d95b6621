"""Handlers of the writing verbs: create, update, patch, apply, delete, deletecollection.

The pipeline of one write: decode → conform to the schema → storage version → default → field ownership → strategy →
validation → admission → commit. Nothing blocks under the store's lock: a write reads a record, works on a private
copy and commits only if the record is still current; patches and unconditional updates retry, as GuaranteedUpdate does.

Source: k8s.io/apiserver pkg/endpoints/handlers, pkg/registry/generic/registry/store.go, pkg/registry/rest.
"""

from __future__ import annotations

from dataclasses import replace

import orjson

from apiserver_emulator import patch_formats
from apiserver_emulator.auth import denied
from apiserver_emulator.core import Core
from apiserver_emulator.decoding import media_type
from apiserver_emulator.handlers.apply import apply_object
from apiserver_emulator.handlers.options import WriteOptions, delete_options, with_warnings
from apiserver_emulator.handlers.patch import patch_object
from apiserver_emulator.handlers.read import Reader
from apiserver_emulator.handlers.request_body import read_body
from apiserver_emulator.metadata import check_name, settle_namespace
from apiserver_emulator.registry.create import create_object
from apiserver_emulator.registry.delete import delete_object
from apiserver_emulator.registry.update import ATTEMPTS, update_object
from apiserver_emulator.rendering import list_body, negotiate
from apiserver_emulator.resource_types import ResourceType
from apiserver_emulator.store import Record
from dra_api.objects import Obj
from dra_api.request import Request, RequestInfo
from dra_api.status import StatusError
from dra_api.transport import Response

# DELETE of these returns the object instead of a Status (ReturnDeletedObject).
RETURNS_DELETED = frozenset(
    {
        ("", "pods"),
        ("", "services"),
        ("", "serviceaccounts"),
        ("", "persistentvolumeclaims"),
        ("resource.k8s.io", "resourceclaims"),
        ("resource.k8s.io", "resourceclaimtemplates"),
        ("resource.k8s.io", "resourceslices"),
        ("resource.k8s.io", "deviceclasses"),
        ("resource.k8s.io", "devicetaintrules"),
    }
)
# Those that do so in the versions before v1 only (DRA-453).
RETURNS_DELETED_BEFORE_V1 = frozenset({("resource.k8s.io", "devicetaintrules")})
CREATES_ON_UPDATE = frozenset(
    {
        ("", "events"),
        ("events.k8s.io", "events"),
        ("coordination.k8s.io", "leases"),
        ("rbac.authorization.k8s.io", "roles"),
        ("rbac.authorization.k8s.io", "rolebindings"),
        ("rbac.authorization.k8s.io", "clusterroles"),
        ("rbac.authorization.k8s.io", "clusterrolebindings"),
    }
)


class Writer:
    """Serves the requests that write."""

    def __init__(self, core: Core, reader: Reader) -> None:
        self._core = core
        self._reader = reader

    def create(self, resource: ResourceType, request: Request, info: RequestInfo) -> Response:
        """POST to a collection."""
        view = negotiate(request.headers.get("accept", ""))
        options = WriteOptions.of(request)
        obj, warnings = read_body(self._core, resource, request, info, options.validation)
        ctx = self._core.context(request, info, dry_run=options.dry_run, options=options.sent)
        ctx.warnings.extend(warnings)
        record = create_object(self._core, resource, info, ctx, obj, manager=options.manager_for(request))
        answer = self._reader.answer(resource, info.version, record, view, request, status=201)
        return with_warnings(answer, ctx.warnings)

    def update(self, resource: ResourceType, request: Request, info: RequestInfo) -> Response:
        """PUT of an object or of its status."""
        view = negotiate(request.headers.get("accept", ""))
        options = WriteOptions.of(request)
        body, warnings = read_body(self._core, resource, request, info, options.validation)
        settle_namespace(body, info.namespace, namespaced=resource.namespaced)
        check_name(body, info.name)
        ctx = self._core.context(request, info, dry_run=options.dry_run, options=options.sent)
        ctx.warnings.extend(warnings)
        key = (info.namespace, info.name)
        if (
            resource.key in CREATES_ON_UPDATE
            and not info.subresource
            and self._core.store.get(resource.storage_key, key) is None
        ):
            # The request was authorized as an update: to create an object is a permission of its own.
            if not ctx.allowed("create", info.group, info.resource, "", info.namespace, info.name):
                raise denied(ctx.user, replace(info, verb="create"))
            # A PUT may have a resourceVersion, a create must not.
            body["metadata"].pop("resourceVersion", None)
            made = create_object(self._core, resource, info, ctx, body, manager=options.manager_for(request))
            return with_warnings(
                self._reader.answer(resource, info.version, made, view, request, status=201), ctx.warnings
            )
        # Only an update without a version is retried: another one would conflict again.
        unconditional = body["metadata"].get("resourceVersion") in (None, "", "0")
        # Encoded, because each attempt needs a copy of its own.
        raw = orjson.dumps(body)

        def produce(_: Record) -> Obj:
            found: Obj = orjson.loads(raw)
            return found

        record, _ = update_object(
            self._core,
            resource,
            info,
            ctx,
            produce,
            manager=options.manager_for(request),
            attempts=ATTEMPTS if unconditional else 1,
            from_body=True,
        )
        return with_warnings(self._reader.answer(resource, info.version, record, view, request), ctx.warnings)

    def patch(self, resource: ResourceType, request: Request, info: RequestInfo) -> Response:
        """PATCH in all four formats."""
        view = negotiate(request.headers.get("accept", ""))
        options = WriteOptions.of(request)
        kind = media_type(request.headers.get("content-type", ""))
        ctx = self._core.context(request, info, dry_run=options.dry_run, options=options.sent)
        if kind in (patch_formats.APPLY, patch_formats.APPLY_CBOR):
            record, created = apply_object(self._core, resource, request, info, ctx, options)
        else:
            record, created = patch_object(self._core, resource, request, info, ctx, options), False
        status = 201 if created else 200
        answer = self._reader.answer(resource, info.version, record, view, request, status=status)
        return with_warnings(answer, ctx.warnings)

    def delete(self, resource: ResourceType, request: Request, info: RequestInfo) -> Response:
        """DELETE of one object."""
        # Before the deletion: a request with an unacceptable Accept header must not delete anything.
        negotiate(request.headers.get("accept", ""))
        options = delete_options(request)
        ctx = self._core.context(request, info, dry_run=bool(options.get("dryRun")), options=options)
        record, gone = delete_object(self._core, resource, info, ctx, options)
        if gone and not _returns_deleted(resource, info.version):
            details: Obj = {"name": info.name}
            if info.group:
                details["group"] = info.group
            details["kind"] = info.resource
            details["uid"] = record.obj["metadata"]["uid"]
            body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
            answer = Response(200, {"content-type": "application/json"}, orjson.dumps(body))
        else:
            view = negotiate(request.headers.get("accept", ""))
            answer = self._reader.answer(resource, info.version, record, view, request)
        return with_warnings(answer, ctx.warnings)

    def delete_collection(self, resource: ResourceType, request: Request, info: RequestInfo) -> Response:
        """DELETE of all objects that the selectors match."""
        options = delete_options(request)
        ctx = self._core.context(request, info, dry_run=bool(options.get("dryRun")), options=options)
        resource.strategy.authorize(None, None, ctx)
        records, list_meta = self._reader.chunk(resource, request, info)
        deleted: list[bytes] = []
        converter = self._core.converter(resource, info.version)
        for record in records:
            meta = record.obj["metadata"]
            one = RequestInfo(
                info.verb,
                info.path,
                info.group,
                info.version,
                meta.get("namespace", ""),
                info.resource,
                meta["name"],
            )
            try:
                delete_object(self._core, resource, one, ctx, options)
            except StatusError as error:
                # NotFound: another client deleted the object since the snapshot.
                if error.reason != "NotFound":
                    raise
            deleted.append(record.encoded(info.version, converter))
        body = list_body(
            resource.api_version(info.version),
            resource.list_kind_name,
            list_meta,
            deleted,
        )
        return with_warnings(Response(200, {"content-type": "application/json"}, body), ctx.warnings)


def _returns_deleted(resource: ResourceType, version: str) -> bool:
    """Return whether DELETE of this version returns the deleted object instead of a Status."""
    if version == "v1" and resource.key in RETURNS_DELETED_BEFORE_V1:
        return False
    return resource.key in RETURNS_DELETED
