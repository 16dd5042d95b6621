"""Writing verbs: create, update, patch, apply, delete, deletecollection.

The pipeline of one write: decode → conform to the schema → storage version → default → field ownership → strategy →
validation → admission → commit. Nothing blocks under the store's lock: a write reads a record, works on a private
copy and commits only if the record is still current; patches and unconditional updates retry, as GuaranteedUpdate does.

Source: k8s.io/apiserver pkg/endpoints/handlers, pkg/registry/generic/registry/store.go, pkg/registry/rest.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import orjson

from dra_api.clock import parse_timestamp, timestamp
from dra_api.transport import Response
from dra_conformance.control_plane.embedded import managed_fields, patch
from dra_conformance.control_plane.embedded.core import Core
from dra_conformance.control_plane.embedded.decode import (
    PROTOBUF,
    check_fields,
    decode_body,
    media_type,
)
from dra_conformance.control_plane.embedded.gotext import go_quote
from dra_conformance.control_plane.embedded.metadata import (
    carry_over_metadata,
    check_name,
    settle_namespace,
    twice_owned,
    validate_metadata,
    validate_metadata_update,
)
from dra_conformance.control_plane.embedded.reader import Reader
from dra_conformance.control_plane.embedded.rendering import negotiate
from dra_conformance.control_plane.embedded.request import Request, RequestInfo
from dra_conformance.control_plane.embedded.resources import ResourceType
from dra_conformance.control_plane.embedded.status import (
    FieldError,
    StatusError,
    already_exists,
    bad_request,
    conflict,
    forbidden,
    invalid,
    invalid_object,
    not_found,
    not_supported,
    precondition_failed,
    too_long,
    unsupported_media_type,
)
from dra_conformance.control_plane.embedded.store import ExistsError, Record, StaleWriteError
from dra_conformance.control_plane.embedded.strategy import RequestContext

Obj = dict[str, Any]

ATTEMPTS = 5  # a patch whose object keeps changing under it: upstream's MaxRetryWhenPatchConflicts
NAME_ATTEMPTS = 8  # generateName collisions are retried this often (KEP-4420)

# Their DELETE answers with the object instead of a Status (ReturnDeletedObject).
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
# Kinds whose strategy has AllowUnconditionalUpdate false; custom resources are so too.
_VERSION_ON_UPDATE = frozenset({("coordination.k8s.io", "leases"), ("resource.k8s.io", "resourcepoolstatusrequests")})
_IMMORTAL = ("default", "kube-system", "kube-public")  # admission plugin NamespaceLifecycle
FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Query options of a write."""

    dry_run: bool
    validation: str
    manager: str

    @classmethod
    def of(cls, request: Request) -> WriteOptions:
        """Read and check them. Raises 400 or 422."""
        dry = request.params("dryRun")
        if any(value != "All" for value in dry):
            raise invalid_object(
                "meta.k8s.io",
                "CreateOptions" if request.method == "POST" else "UpdateOptions",
                "",
                [FieldError("FieldValueNotSupported", "dryRun", 'supported values: "All"', dry)],
            )
        validation = request.param("fieldValidation") or "Warn"
        if validation not in ("Ignore", "Warn", "Strict"):
            raise invalid_object(
                "meta.k8s.io",
                {"POST": "CreateOptions", "PUT": "UpdateOptions"}.get(request.method, "PatchOptions"),
                "",
                [not_supported("fieldValidation", validation, ("", "Ignore", "Strict", "Warn"))],
            )
        manager = request.param("fieldManager")
        if problems := _manager_errors(manager):
            kind = {"POST": "CreateOptions", "PUT": "UpdateOptions"}.get(request.method, "PatchOptions")
            raise invalid_object("meta.k8s.io", kind, "", problems)
        return cls(bool(dry), validation, manager)

    def manager_for(self, request: Request) -> str:
        """The field manager: the parameter, or the first part of the User-Agent."""
        return self.manager or request.user_agent.split("/", 1)[0][:128] or "unknown"


def _manager_errors(manager: str) -> list[FieldError]:
    """ValidateFieldManager: at most 128 bytes, printable."""
    problems = [too_long("fieldManager", 128)] if len(manager.encode()) > 128 else []
    for at, letter in enumerate(manager):
        if not letter.isprintable():
            detail = f"invalid character U+{ord(letter):04X} (at position {at})"
            problems.append(invalid("fieldManager", manager, detail))
            break
    return problems


class Writer:
    """Carries out writes."""

    def __init__(self, core: Core, reader: Reader) -> None:
        self._core = core
        self._reader = reader

    # --- bodies ------------------------------------------------------------------------------------------------

    def decode(
        self, resource: ResourceType, request: Request, info: RequestInfo, validation: str
    ) -> tuple[Obj, list[str]]:
        """The request's object in the version of the path, checked against the schema; and warnings."""
        if not request.body:
            raise bad_request("the body of the request was empty")
        content = request.headers.get("content-type", "")
        if resource.custom and media_type(content) == PROTOBUF:
            raise unsupported_media_type(content, ("application/json", "application/yaml"))
        decoded = decode_body(request.body, content, look_for_duplicates=validation != "Ignore")
        obj = decoded.obj
        warnings = self._check(resource, info.version, obj, validation, decoded.duplicates)
        return obj, warnings

    def _check(
        self, resource: ResourceType, version: str, obj: Obj, validation: str, duplicates: list[str]
    ) -> list[str]:
        expected, kind = resource.api_version(version), resource.kind
        found_version, found_kind = obj.get("apiVersion"), obj.get("kind")
        if not found_version:
            obj["apiVersion"] = expected
        elif found_version != expected:
            raise bad_request(
                f"the API version in the data ({found_version}) does not match the expected API version ({expected})"
            )
        if not found_kind:
            obj["kind"] = kind
        elif found_kind != kind:
            raise bad_request(
                f"no kind match: {found_kind} in version {found_version} cannot be handled as a {kind}"
                if not isinstance(found_kind, str)
                else f'{found_kind} in version "{version}" cannot be handled as a {kind}: the kind of the object does '
                f"not match the resource {resource.plural}"
            )
        if not isinstance(obj.get("metadata"), dict):
            obj["metadata"] = {}
        return check_fields(
            obj,
            self._core.node(resource, version),
            kind=kind,
            version=version,
            validation=validation,
            duplicates=duplicates,
            lenient=resource.custom,
        )

    # --- create ------------------------------------------------------------------------------------------------

    def create(self, resource: ResourceType, request: Request, info: RequestInfo) -> Response:
        """POST to a collection."""
        view = negotiate(request.headers.get("accept", ""))
        options = WriteOptions.of(request)
        obj, warnings = self.decode(resource, request, info, options.validation)
        ctx = self._core.context(request, info, dry_run=options.dry_run)
        ctx.warnings.extend(warnings)
        record = self.create_object(resource, info, ctx, obj, manager=options.manager_for(request))
        answer = self._reader.answer(resource, info.version, record, view, request, status=201)
        return with_warnings(answer, ctx)

    def create_object(
        self,
        resource: ResourceType,
        info: RequestInfo,
        ctx: RequestContext,
        obj: Obj,
        *,
        manager: str,
        owned: bool = False,
    ) -> Record:
        """Create a decoded object of the request's version. `owned`: managedFields are already set (apply)."""
        core, version = self._core, info.version
        settle_namespace(obj, info.namespace, namespaced=resource.namespaced)
        meta = obj["metadata"]
        if meta.get("resourceVersion"):
            raise StatusError(500, "", "resourceVersion should not be set on objects to be created")
        if resource.namespaced:
            self._check_namespace(resource, info, meta.get("name", ""))
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
        node = core.node(resource, version)
        converter = core.converter(resource, version)
        obj = core.to_storage(resource, version, obj)
        resource.strategy.default(obj)
        if not owned:
            shown = converter(_copy(obj)) if converter else obj
            managed_fields.update(
                shown,
                None,
                node,
                manager=manager,
                subresource="",
                time=timestamp(now),
                resource=resource,
            )
            if shown is not obj:
                obj["metadata"]["managedFields"] = shown["metadata"].get("managedFields", [])
        resource.strategy.prepare_create(obj, ctx)
        for attempt in range(NAME_ATTEMPTS):
            meta = obj["metadata"]
            if generated:
                meta["name"] = meta["generateName"][:58] + core.name_suffix()
            name = meta.get("name", "")
            resource.strategy.authorize(obj, None, ctx)
            errors = validate_metadata(
                meta, group=resource.group, plural=resource.plural, namespaced=resource.namespaced
            )
            errors += resource.strategy.validate_create(obj, ctx)
            if errors:
                raise invalid_object(resource.group, resource.kind, name, errors)
            self._admit(resource, "CREATE", info, ctx, obj, None)
            place = (meta.get("namespace", ""), name)
            if ctx.dry_run:
                if core.store.get(resource.storage_key, place) is not None:
                    raise already_exists(resource.group, resource.plural, name)
                return Record(obj, orjson.dumps(obj), 0)
            try:
                with core.store.lock:
                    if resource.namespaced:
                        self._check_namespace(resource, info, name)
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

    def _check_namespace(self, resource: ResourceType, info: RequestInfo, name: str) -> None:
        namespace = self._core.store.get(("", "namespaces"), ("", info.namespace))
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

    def _admit(
        self,
        resource: ResourceType,
        operation: str,
        info: RequestInfo,
        ctx: RequestContext,
        obj: Obj | None,
        old: Obj | None,
    ) -> None:
        for check in self._core.admission:
            if check.interested(resource, operation, info):
                kind = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}[operation]
                options: Obj = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
                if ctx.dry_run:
                    options["dryRun"] = ["All"]
                check.review(resource, operation, info, ctx, obj, old, options)

    # --- update ------------------------------------------------------------------------------------------------

    def update(self, resource: ResourceType, request: Request, info: RequestInfo) -> Response:
        """PUT of an object or of its status."""
        view = negotiate(request.headers.get("accept", ""))
        options = WriteOptions.of(request)
        body, warnings = self.decode(resource, request, info, options.validation)
        settle_namespace(body, info.namespace, namespaced=resource.namespaced)
        check_name(body, info.name)
        ctx = self._core.context(request, info, dry_run=options.dry_run)
        ctx.warnings.extend(warnings)
        key = (info.namespace, info.name)
        if (
            resource.key in CREATES_ON_UPDATE
            and not info.subresource
            and self._core.store.get(resource.storage_key, key) is None
        ):
            body["metadata"].pop("resourceVersion", None)
            made = self.create_object(resource, info, ctx, body, manager=options.manager_for(request))
            return with_warnings(self._reader.answer(resource, info.version, made, view, request, status=201), ctx)
        unconditional = body["metadata"].get("resourceVersion") in (None, "", "0")
        raw = orjson.dumps(body)

        def produce(_: Record) -> Obj:
            found: Obj = orjson.loads(raw)
            return found

        record, _ = self.update_object(
            resource,
            info,
            ctx,
            produce,
            manager=options.manager_for(request),
            attempts=ATTEMPTS if unconditional else 1,
            from_body=True,
        )
        return with_warnings(self._reader.answer(resource, info.version, record, view, request), ctx)

    def update_object(
        self,
        resource: ResourceType,
        info: RequestInfo,
        ctx: RequestContext,
        produce: Callable[[Record], Obj],
        *,
        manager: str,
        attempts: int = ATTEMPTS,
        from_body: bool = False,
        owned: bool = False,
        verb: str = "",
    ) -> tuple[Record, bool]:
        """Read, change, check, commit; returns the record and whether it was deleted by the change.

        `produce(record)` gives the wanted object in the request's version, as a private copy. `owned`: produce has
        set managedFields. Raises 404, 409, 422 …
        """
        core = self._core
        key = (info.namespace if resource.namespaced else "", info.name)
        for attempt in range(attempts):
            old = core.store.get(resource.storage_key, key)
            if old is None:
                raise not_found(info.group, info.resource, info.name)
            new = produce(old)
            new = self._prepare_update(resource, info, ctx, new, old, manager, from_body=from_body, owned=owned)
            if new == old.obj:
                return old, False
            gone = self._deletable(new["metadata"])
            self._admit(resource, "UPDATE", info, ctx, new, old.obj)
            if ctx.dry_run:
                return Record(new, orjson.dumps(new), old.rv), gone
            try:
                with core.store.lock:
                    if gone:
                        # what frees the last finalizer is never stored: watchers see one DELETED, no MODIFIED
                        record = Record(new, orjson.dumps(new), old.rv)
                        core.observe(verb or ctx.verb, resource, record, ctx)
                        final = core.store.delete(resource.storage_key, key, old)
                        core.observe("delete", resource, final, ctx)
                    else:
                        record = core.store.update(resource.storage_key, key, new, old)
                        core.observe(verb or ctx.verb, resource, record, ctx)
                return record, gone
            except StaleWriteError as error:
                if attempt == attempts - 1:
                    raise conflict(info.group, info.resource, info.name) from error
        raise conflict(info.group, info.resource, info.name)

    @staticmethod
    def _deletable(meta: Obj) -> bool:
        return "deletionTimestamp" in meta and not meta.get("finalizers") and not meta.get("deletionGracePeriodSeconds")

    def _prepare_update(
        self,
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
        core, version = self._core, info.version
        meta, old_meta = new["metadata"], old.obj["metadata"]
        wanted = meta.get("resourceVersion", "")
        if wanted == "0":
            wanted = ""
        if wanted and not wanted.isdigit():
            raise StatusError(500, "", f"strconv.ParseUint: parsing {go_quote(wanted)}: invalid syntax")
        if not wanted:
            if resource.key in _VERSION_ON_UPDATE and from_body:
                raise invalid_object(
                    resource.group,
                    resource.plural,
                    info.name,
                    [invalid("metadata.resourceVersion", 0, "must be specified for an update")],
                )
            if resource.custom and from_body:
                raise invalid_object(
                    resource.group,
                    resource.plural,
                    info.name,
                    [invalid("metadata.resourceVersion", 0, "must be specified for an update")],
                )
        elif wanted != old_meta["resourceVersion"]:
            raise conflict(info.group, info.resource, info.name)
        meta["resourceVersion"] = old_meta["resourceVersion"]
        if from_body and meta.get("uid") and meta["uid"] != old_meta["uid"]:
            raise precondition_failed(info.group, info.resource, old_meta, uid=meta["uid"])
        converter = core.converter(resource, version)
        new = core.to_storage(resource, version, new)
        resource.strategy.default(new)
        carry_over_metadata(new["metadata"], old_meta)
        if not owned:
            shown = converter(_copy(new)) if converter else new
            shown_old = converter(old.copy()) if converter else old.obj
            managed_fields.update(
                shown,
                shown_old,
                core.node(resource, version),
                manager=manager,
                subresource=info.subresource,
                time=timestamp(core.clock.now()),
                resource=resource,
            )
            if shown is not new:
                new["metadata"]["managedFields"] = shown["metadata"].get("managedFields", [])
        resource.strategy.prepare_update(new, old.obj, ctx)
        resource.strategy.authorize(new, old.obj, ctx)
        errors = validate_metadata_update(
            new["metadata"],
            old_meta,
            group=resource.group,
            plural=resource.plural,
            namespaced=resource.namespaced,
        )
        # Upstream validates metadata in BeforeUpdate and again in the strategy: each problem is two causes.
        if not resource.custom:
            errors += errors
        errors += resource.strategy.validate_update(new, old.obj, ctx)
        if errors:
            raise invalid_object(resource.group, resource.kind, info.name, errors)
        return new

    # --- patch -------------------------------------------------------------------------------------------------

    def patch(self, resource: ResourceType, request: Request, info: RequestInfo) -> Response:
        """PATCH in all four dialects."""
        view = negotiate(request.headers.get("accept", ""))
        options = WriteOptions.of(request)
        kind = media_type(request.headers.get("content-type", ""))
        ctx = self._core.context(request, info, dry_run=options.dry_run)
        if kind in (patch.APPLY, patch.APPLY_CBOR):
            record, created = self._apply(resource, request, info, ctx, options)
            status = 201 if created else 200
            answer = self._reader.answer(resource, info.version, record, view, request, status=status)
            return with_warnings(answer, ctx)
        supported = [patch.JSON_PATCH, patch.MERGE]
        if not resource.custom:
            supported.append(patch.STRATEGIC)
        supported.append(patch.APPLY)
        if kind not in supported:
            known = (patch.JSON_PATCH, patch.MERGE, patch.STRATEGIC, patch.APPLY)
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
        change = patch.parse(kind, request.body)
        converter = self._core.converter(resource, info.version)
        node = self._core.node(resource, info.version)

        def produce(old: Record) -> Obj:
            current = old.copy()
            if converter:
                current = converter(current)
            patched = patch.apply(kind, current, change, node)
            if kind == patch.STRATEGIC:  # decoded into the kind that it is, whatever the patch says
                patched["apiVersion"], patched["kind"] = resource.api_version(info.version), resource.kind
            raw = orjson.dumps(patched, option=orjson.OPT_SORT_KEYS)
            try:
                warnings = self._check_patched(resource, info, patched, options.validation)
            except StatusError as error:
                if error.code != 400:
                    raise
                shown = raw.decode() if kind != patch.STRATEGIC else _go_map(change)
                detail = error.message.removeprefix(_DECODING.format(kind=resource.kind, version=info.version))
                raise invalid_object("", "", "", [invalid("patch", shown, detail)]) from error
            for warning in warnings:
                if warning not in ctx.warnings:
                    ctx.warnings.append(warning)
            check_name(patched, info.name)
            settle_namespace(patched, info.namespace, namespaced=resource.namespaced)
            return patched

        record, _ = self.update_object(
            resource, info, ctx, produce, manager=options.manager_for(request), attempts=ATTEMPTS
        )
        return with_warnings(self._reader.answer(resource, info.version, record, view, request), ctx)

    def _check_patched(self, resource: ResourceType, info: RequestInfo, obj: Obj, validation: str) -> list[str]:
        return self._check(resource, info.version, obj, validation, [])

    def _apply(
        self,
        resource: ResourceType,
        request: Request,
        info: RequestInfo,
        ctx: RequestContext,
        options: WriteOptions,
    ) -> tuple[Record, bool]:
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
        ctx.warnings.extend(self._check(resource, info.version, applied.obj, options.validation, applied.duplicates))
        body = applied.obj
        if "name" not in body["metadata"]:
            raise bad_request(
                f"the name of the object ({info.name} based on URL) was undeterminable: name must be provided"
            )
        if body["metadata"].get("managedFields"):
            raise bad_request("metadata.managedFields must be nil")
        check_name(body, info.name)
        settle_namespace(body, info.namespace, namespaced=resource.namespaced)
        force = request.flag("force")
        node = self._core.node(resource, info.version)
        converter = self._core.converter(resource, info.version)
        now = timestamp(self._core.clock.now())
        raw = orjson.dumps(body)
        key = (info.namespace if resource.namespaced else "", info.name)
        for _ in range(ATTEMPTS):
            if self._core.store.get(resource.storage_key, key) is None:
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
                    return self.create_object(resource, info, ctx, obj, manager=options.manager, owned=True), True
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

            record, _gone = self.update_object(
                resource, info, ctx, produce, manager=options.manager, owned=True, verb="patch"
            )
            return record, False
        raise conflict(info.group, info.resource, info.name)

    # --- delete ------------------------------------------------------------------------------------------------

    def delete(self, resource: ResourceType, request: Request, info: RequestInfo) -> Response:
        """DELETE of one object."""
        negotiate(request.headers.get("accept", ""))
        options = delete_options(request)
        ctx = self._core.context(request, info, dry_run=bool(options.get("dryRun")))
        record, gone = self.delete_object(resource, info, ctx, options)
        if gone and resource.key not in RETURNS_DELETED:
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
        return with_warnings(answer, ctx)

    def delete_object(
        self, resource: ResourceType, info: RequestInfo, ctx: RequestContext, options: Obj
    ) -> tuple[Record, bool]:
        """Delete, or mark for deletion; returns the last state and whether the object is gone."""
        core = self._core
        key = (info.namespace if resource.namespaced else "", info.name)
        for _ in range(ATTEMPTS):
            old = core.store.get(resource.storage_key, key)
            if old is None:
                raise not_found(info.group, info.resource, info.name)
            self._check_preconditions(resource, info, old.obj["metadata"], options.get("preconditions") or {})
            if resource.key == ("", "namespaces") and info.name in _IMMORTAL:
                raise forbidden("", "namespaces", info.name, "this namespace may not be deleted")
            resource.strategy.authorize(None, old.obj, ctx)
            self._admit(resource, "DELETE", info, ctx, None, old.obj)
            marked = self._mark(resource, old, options)
            if ctx.dry_run:
                return (Record(marked, orjson.dumps(marked), old.rv), False) if marked else (old, True)
            try:
                with core.store.lock:
                    if marked is None:
                        final = self._last_state(resource, old)
                        record = core.store.delete(resource.storage_key, key, old, final)
                        core.observe("delete", resource, record, ctx)
                        return record, True
                    if marked == old.obj:
                        return old, False
                    record = core.store.update(resource.storage_key, key, marked, old)
                    core.observe("delete", resource, record, ctx)
                    if self._deletable(marked["metadata"]) and not _waits(resource, marked):
                        return core.store.delete(resource.storage_key, key, record), True
                    return record, False
            except StaleWriteError:
                continue
        raise conflict(info.group, info.resource, info.name)

    @staticmethod
    def _check_preconditions(resource: ResourceType, info: RequestInfo, meta: Obj, preconditions: Obj) -> None:
        uid, revision = preconditions.get("uid"), preconditions.get("resourceVersion")
        if uid and uid != meta["uid"]:
            raise conflict(
                info.group,
                resource.kind,
                info.name,
                f"the UID in the precondition ({uid}) does not match the UID in record ({meta['uid']}). "
                "The object might have been deleted and then recreated",
            )
        if revision and revision != meta["resourceVersion"]:
            raise conflict(
                info.group,
                resource.kind,
                info.name,
                f"the ResourceVersion in the precondition ({revision}) does not match the ResourceVersion in record "
                f"({meta['resourceVersion']}). The object might have been modified",
            )

    def _last_state(self, resource: ResourceType, old: Record) -> Obj | None:
        """What the answer and the DELETED event show of an object that goes at once; None: as it is stored."""
        if getattr(resource.strategy, "grace_period", None) is None:
            return None
        obj = old.copy()
        meta = obj["metadata"]
        if "deletionTimestamp" not in meta and meta.get("generation"):
            meta["generation"] += 1
        meta["deletionTimestamp"] = timestamp(self._core.clock.now())
        meta["deletionGracePeriodSeconds"] = 0
        return obj

    def _mark(self, resource: ResourceType, old: Record, options: Obj) -> Obj | None:
        """The object marked for deletion, or None when it can go at once."""
        obj = old.copy()
        meta = obj["metadata"]
        now = self._core.clock.now()
        grace = 0
        graceful = getattr(resource.strategy, "grace_period", None)
        if graceful is not None:
            grace = graceful(obj, options)
        finalizers = _policy_finalizers(list(meta.get("finalizers") or ()), options)
        if finalizers != list(meta.get("finalizers") or ()):
            if finalizers:
                meta["finalizers"] = finalizers
            else:
                meta.pop("finalizers", None)
        already = "deletionTimestamp" in meta
        if already:
            left = int(meta.get("deletionGracePeriodSeconds") or 0)
            if left and grace < left and options.get("gracePeriodSeconds") is not None:
                moved = parse_timestamp(meta["deletionTimestamp"]) - timedelta(seconds=left - grace)
                meta["deletionTimestamp"] = timestamp(moved)
                meta["deletionGracePeriodSeconds"] = grace
            else:
                grace = left
        on_delete = getattr(resource.strategy, "on_delete", None)
        if on_delete is not None and not already:
            on_delete(obj, timestamp(now))
            finalizers = list(meta.get("finalizers") or ())
        if not grace and not finalizers and not _waits(resource, obj):
            return None
        if not already:
            meta["deletionTimestamp"] = timestamp(now + timedelta(seconds=grace))
            if resource.key != ("", "namespaces"):  # their registry marks them by itself
                meta["deletionGracePeriodSeconds"] = grace
            if meta.get("generation"):
                meta["generation"] += 1
        return obj

    # --- deletecollection --------------------------------------------------------------------------------------

    def delete_collection(self, resource: ResourceType, request: Request, info: RequestInfo) -> Response:
        """DELETE of all that the selectors match."""
        options = delete_options(request)
        ctx = self._core.context(request, info, dry_run=bool(options.get("dryRun")))
        resource.strategy.authorize(None, None, ctx)
        match = self._reader.predicate(resource, request, info)
        records, revision = self._core.store.snapshot(resource.storage_key, info.namespace)
        deleted: list[bytes] = []
        converter = self._core.converter(resource, info.version)
        for record in records:
            if match is not None and not match(record.obj):
                continue
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
                self.delete_object(resource, one, ctx, options)
            except StatusError as error:
                if error.reason != "NotFound":
                    raise
            deleted.append(record.encoded(info.version, converter))
        from dra_conformance.control_plane.embedded.rendering import list_body

        body = list_body(
            resource.api_version(info.version),
            resource.list_kind_name,
            {"resourceVersion": str(revision)},
            deleted,
        )
        return with_warnings(Response(200, {"content-type": "application/json"}, body), ctx)


_DECODING = '{kind} in version "{version}" cannot be handled as a {kind}: '


def _go_map(change: Obj) -> str:
    """A map as Go's %v prints it; of nested values only what one sees of plain ones."""
    return "map[" + " ".join(f"{name}:{change[name]}" for name in sorted(change)) + "]"


def _waits(resource: ResourceType, obj: Obj) -> bool:
    """Namespaces wait for their content: spec.finalizers."""
    return resource.key == ("", "namespaces") and bool((obj.get("spec") or {}).get("finalizers"))


def _policy_finalizers(finalizers: list[str], options: Obj) -> list[str]:
    policy = options.get("propagationPolicy")
    if options.get("orphanDependents") is not None and policy is None:
        policy = "Orphan" if options["orphanDependents"] else "Background"
    if policy is None:
        return finalizers
    kept = [f for f in finalizers if f not in (FOREGROUND, ORPHAN)]
    if policy == "Foreground":
        kept.append(FOREGROUND)
    elif policy == "Orphan":
        kept.append(ORPHAN)
    return kept


def delete_options(request: Request) -> Obj:
    """DeleteOptions from the body, or from the query when there is no body. Raises 400 or 422."""
    options: Obj = {}
    if request.body:
        options = decode_body(request.body, request.headers.get("content-type", "")).obj
        if options.get("kind") not in (None, "", "DeleteOptions"):
            raise bad_request(f"a delete request takes DeleteOptions, not {options.get('kind')}")
    else:
        if request.param("gracePeriodSeconds"):
            try:
                options["gracePeriodSeconds"] = int(request.param("gracePeriodSeconds"))
            except ValueError as error:
                text = request.param("gracePeriodSeconds")
                raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from error
        if request.param("propagationPolicy"):
            options["propagationPolicy"] = request.param("propagationPolicy")
        if request.param("orphanDependents"):
            options["orphanDependents"] = request.flag("orphanDependents")
        if request.params("dryRun"):
            options["dryRun"] = request.params("dryRun")
    policy = options.get("propagationPolicy")
    if policy is not None and options.get("orphanDependents") is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        raise invalid_object("meta.k8s.io", "DeleteOptions", "", [invalid("propagationPolicy", policy, detail)])
    if policy not in (None, "Foreground", "Background", "Orphan"):
        raise invalid_object(
            "meta.k8s.io",
            "DeleteOptions",
            "",
            [
                FieldError(
                    "FieldValueNotSupported",
                    "propagationPolicy",
                    'supported values: "Foreground", "Background", "Orphan", "nil"',
                    policy,
                )
            ],
        )
    if any(value != "All" for value in options.get("dryRun") or ()):
        raise invalid_object(
            "meta.k8s.io",
            "DeleteOptions",
            "",
            [FieldError("FieldValueNotSupported", "dryRun", 'supported values: "All"', options["dryRun"])],
        )
    return options


def with_warnings(answer: Response, ctx: RequestContext) -> Response:
    """Add the request's warnings as headers (one header, comma separated, as RFC 7234 allows)."""
    if not ctx.warnings:
        return answer
    texts = ", ".join('299 - "' + w.replace("\\", "\\\\").replace('"', '\\"') + '"' for w in ctx.warnings)
    return Response(answer.status, {**answer.headers, "warning": texts}, answer.body)


def _copy(obj: Obj) -> Obj:
    copied: Obj = orjson.loads(orjson.dumps(obj))
    return copied
