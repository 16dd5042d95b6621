"""Reading verbs: get, list, watch.

Stateless over the store; watches that it opens belong to the client that holds the stream.

Source: k8s.io/apiserver pkg/endpoints/handlers/get.go, pkg/storage/cacher, KEP-3157 (streaming lists).
"""

from __future__ import annotations

import base64
import binascii
import random
from collections.abc import Callable, Sequence
from typing import Any

import orjson

from apiserver_emulator.core import Core
from apiserver_emulator.rendering import View, bare, list_body, negotiate, partial, table, to_yaml
from apiserver_emulator.resource_types import ResourceType
from apiserver_emulator.selectors import Predicate, both, field_selector, label_selector, parse_fields
from apiserver_emulator.store import CompactedError, Record, etcd_path
from apiserver_emulator.watch_stream import ErrorStream, WatchStream
from dra_api.request import Request, RequestInfo
from dra_api.status import (
    FieldError,
    StatusError,
    bad_request,
    expired,
    forbidden_field,
    invalid_object,
    not_found,
    not_supported,
)
from dra_api.transport import Response

Obj = dict[str, Any]

MIN_WATCH_S = 1800.0  # --min-request-timeout: without timeoutSeconds a watch lasts between one and two of these
FAR_FUTURE_RETRY_S = 1
_RESOURCE_GROUP = "resource.k8s.io"

_CONTINUE_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


class Reader:
    """Answers get, list and watch."""

    def __init__(self, core: Core) -> None:
        self._core = core

    # --- get ---------------------------------------------------------------------------------------------------

    def get(self, resource: ResourceType, request: Request, info: RequestInfo) -> Response:
        """One object."""
        view = negotiate(request.headers.get("accept", ""))
        self._authorize(resource, request, info)
        record = self._core.store.get(resource.storage_key, (info.namespace, info.name))
        if record is None:
            raise not_found(info.group, info.resource, info.name)
        return self.answer(resource, info.version, record, view, request)

    def answer(
        self,
        resource: ResourceType,
        version: str,
        record: Record,
        view: View,
        request: Request,
        *,
        status: int = 200,
    ) -> Response:
        """One object in the client's view."""
        convert = self._core.converter(resource, version)
        if view.kind == "Table":
            body = orjson.dumps(
                table(
                    resource,
                    [record],
                    now=self._core.clock.now(),
                    include=_include(request),
                    metadata={"resourceVersion": record.obj["metadata"].get("resourceVersion", "")},
                    convert=convert,
                )
            )
        elif view.kind:
            body = orjson.dumps(partial(record.obj))
        else:
            body = record.encoded(version, convert)
        if view.yaml:
            body = to_yaml(body)
        return Response(status, {"content-type": view.content_type}, body)

    def _authorize(self, resource: ResourceType, request: Request, info: RequestInfo) -> None:
        ctx = self._core.context(request, info)
        resource.strategy.authorize(None, None, ctx)

    def predicate(self, resource: ResourceType, request: Request, info: RequestInfo) -> Predicate | None:
        """The request's selectors as one predicate; only the path of an old watch can name an object beside them."""
        labels = label_selector(request.param("labelSelector"))
        wanted = request.param("fieldSelector")
        if info.verb == "watch" and info.name:
            named = [
                value for name, operator, value in parse_fields(wanted) if (name, operator) == ("metadata.name", "=")
            ]
            if wanted and info.name not in named:
                raise bad_request("fieldSelector metadata.name doesn't match requested name")
            wanted = wanted or f"metadata.name={info.name}"
        fields = field_selector(
            wanted,
            values=resource.fields,
            supported=frozenset(resource.field_names),
            namespaced=resource.namespaced,
            refusal=lambda name: _no_selector(resource, info.version, name),
        )
        return both(labels, fields)

    # --- list --------------------------------------------------------------------------------------------------

    def list(self, resource: ResourceType, request: Request, info: RequestInfo) -> Response:
        """A collection, whole or in chunks."""
        view = negotiate(request.headers.get("accept", ""))
        self._authorize(resource, request, info)
        records, meta = self.chunk(resource, request, info)
        if resource.custom and not view.kind:
            meta.setdefault("continue", "")  # an UnstructuredList has it always
        body = self._list_bytes(resource, info.version, records, meta, view, request)
        if view.yaml:
            body = to_yaml(body)
        return Response(200, {"content-type": view.content_type}, body)

    def chunk(self, resource: ResourceType, request: Request, info: RequestInfo) -> tuple[Sequence[Record], Obj]:
        """Return the objects that a list or the deletion of a collection is about, and the metadata of their list."""
        match = self.predicate(resource, request, info)
        limit = _number(request, "limit")
        token = request.param("continue")
        start = ""
        at = self._list_revision(request, bool(token))
        if token:
            if request.param("resourceVersion") not in ("", "0"):
                raise bad_request("specifying resource version is not allowed when using continue")
            at, start = _read_token(token)
        if request.param("resourceVersion") == "0":
            limit = 0  # answered from a cache, which has no pages
        try:
            records, revision = self._core.store.snapshot(resource.storage_key, info.namespace, at=at)
        except CompactedError as error:
            raise expired(_CONTINUE_TOO_OLD if token else str(error)) from error
        # Most lists have neither, and then no object is decoded.
        found = [r for r in records if _path(r) >= start] if start else records
        if match is not None:
            found = [r for r in found if match(r.obj)]
        meta: Obj = {"resourceVersion": str(revision)}
        if limit and len(found) > limit:
            rest = len(found) - limit
            found = found[:limit]
            meta["continue"] = _write_token(revision, found[-1])
            # Upstream does not count the rest when a selector filters the list.
            if match is None:
                meta["remainingItemCount"] = rest
        return found, meta

    def _list_bytes(
        self,
        resource: ResourceType,
        version: str,
        records: Sequence[Record],
        meta: Obj,
        view: View,
        request: Request,
    ) -> bytes:
        convert = self._core.converter(resource, version)
        if view.kind == "Table":
            return orjson.dumps(
                table(
                    resource,
                    records,
                    now=self._core.clock.now(),
                    include=_include(request),
                    metadata=meta,
                    convert=convert,
                )
            )
        if view.kind:
            return list_body(
                "meta.k8s.io/v1",
                "PartialObjectMetadataList",
                meta,
                [orjson.dumps(partial(record.obj)) for record in records],
            )
        # Items of built-in kinds have no apiVersion and kind of their own in a list; custom resources have.
        items = [
            record.encoded(version, convert) if resource.custom else bare(record.encoded(version, convert))
            for record in records
        ]
        return list_body(resource.api_version(version), resource.list_kind_name, meta, items)

    def _list_revision(self, request: Request, continuing: bool) -> int | None:
        wanted, match = request.param("resourceVersion"), request.param("resourceVersionMatch")
        problems: list[FieldError] = []
        if request.param("sendInitialEvents"):
            problems.append(forbidden_field("sendInitialEvents", "sendInitialEvents is forbidden for list"))
        if match:
            field = "resourceVersionMatch"
            if not wanted:
                text = "resourceVersionMatch is forbidden unless resourceVersion is provided"
                problems.append(forbidden_field(field, text))
            if continuing:
                problems.append(forbidden_field(field, "resourceVersionMatch is forbidden when continue is provided"))
            if match not in ("Exact", "NotOlderThan"):
                problems.append(not_supported(field, match, ("Exact", "NotOlderThan", "")))
            if match == "Exact" and wanted == "0":
                text = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
                problems.append(forbidden_field(field, text))
        if problems:
            raise invalid_object("meta.k8s.io", "ListOptions", "", problems)
        # A continue token has a revision of its own.
        if not wanted or wanted == "0" or continuing:
            return None
        revision = parse_revision(wanted, listing=True)
        self._refuse_future(revision)
        # The present state is never older than a revision that exists: only Exact reads the history.
        return revision if match == "Exact" else None

    def _refuse_future(self, revision: int) -> None:
        current = self._core.store.revision
        if revision > current:
            text = f"Too large resource version: {revision}, current: {current}"
            raise StatusError(
                504,
                "Timeout",
                f"Timeout: {text}",
                details={
                    "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
                    "retryAfterSeconds": FAR_FUTURE_RETRY_S,
                },
                headers={"Retry-After": str(FAR_FUTURE_RETRY_S)},
            )

    # --- watch -------------------------------------------------------------------------------------------------

    def watch(self, resource: ResourceType, request: Request, info: RequestInfo) -> WatchStream | ErrorStream:
        """A stream of changes."""
        view = negotiate(request.headers.get("accept", ""))
        self._authorize(resource, request, info)
        match = self.predicate(resource, request, info)
        initial_wanted = self._initial_events(request)
        wanted = request.param("resourceVersion")
        bookmarks = request.flag("allowWatchBookmarks")
        since: int | None = None
        initial = bool(initial_wanted)
        if initial_wanted is None:
            if wanted in ("", "0"):
                initial = True
            else:
                since = parse_revision(wanted)
        elif not initial_wanted and wanted not in ("", "0"):
            since = parse_revision(wanted)
        timeout = float(_number(request, "timeoutSeconds")) or MIN_WATCH_S * (1 + random.random())  # noqa: S311
        try:
            watcher, revision = self._core.store.watch(
                resource.storage_key, namespace=info.namespace, match=match, since=since, initial=initial
            )
        except CompactedError as error:
            # The watch has its headers already, as in upstream's watch cache: 200 and an ERROR event, not a 410 status.
            return ErrorStream(expired(str(error)).body())
        return WatchStream(
            watcher,
            encode=self._encoder(resource, info.version, view, request),
            bookmark=self._bookmarker(resource, info.version, view),
            revision=self._core.store.delivered_revision,
            clock=self._core.clock,
            timeout_s=timeout,
            bookmarks=bookmarks,
            initial_bookmark=revision if initial and bookmarks else None,
            delay=self._core.watch_delay(resource.plural) if self._core.watch_delay is not None else 0.0,
        )

    def _initial_events(self, request: Request) -> bool | None:
        match = request.param("resourceVersionMatch")
        if not request.param("sendInitialEvents"):
            if match:
                raise _options_invalid(
                    "resourceVersionMatch",
                    "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
                )
            return None
        if match != "NotOlderThan":
            field = "resourceVersionMatch"
            text = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            unknown = [not_supported(field, match, ["NotOlderThan"])] if match else []
            raise invalid_object("meta.k8s.io", "ListOptions", "", [forbidden_field(field, text), *unknown])
        return request.flag("sendInitialEvents")

    def _encoder(self, resource: ResourceType, version: str, view: View, request: Request) -> Callable[[Record], bytes]:
        convert = self._core.converter(resource, version)
        if view.kind == "Table":
            include = _include(request)
            # Only the first event of a watch has column definitions.
            first = [True]

            def as_table(record: Record) -> bytes:
                headers, first[0] = first[0], False
                found = table(
                    resource,
                    [record],
                    now=self._core.clock.now(),
                    include=include,
                    metadata={"resourceVersion": str(record.rv)},
                    convert=convert,
                    headers=headers,
                )
                return orjson.dumps(found)

            return as_table
        if view.kind:
            return lambda record: orjson.dumps(partial(record.obj))
        if convert is None:
            return lambda record: record.raw
        return lambda record: record.encoded(version, convert)

    @staticmethod
    def _bookmarker(resource: ResourceType, version: str, view: View) -> Callable[[int, Obj | None], bytes]:
        kind, api_version = resource.kind, resource.api_version(version)
        if view.kind:
            kind, api_version = view.kind, "meta.k8s.io/v1"

        def bookmark(revision: int, annotations: Obj | None) -> bytes:
            meta: Obj = {"resourceVersion": str(revision)}
            if annotations:
                meta["annotations"] = annotations
            found: Obj = {"kind": kind, "apiVersion": api_version, "metadata": meta}
            if view.kind == "Table":
                found["metadata"] = {"resourceVersion": str(revision)}
                found["columnDefinitions"] = None
                inner = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": meta}
                found["rows"] = [{"cells": None, "object": inner}]
            return orjson.dumps(found)

        return bookmark


def _no_selector(resource: ResourceType, version: str, name: str) -> str:
    """Return the error text of a kind for an unsupported field selector.

    Kinds without a label conversion of their own support metadata only (runtime.DefaultMetaV1FieldSelectorConversion);
    the text contains the kind in resource.k8s.io, but not in the core group and for custom resources.
    """
    if not resource.field_names and not resource.custom:
        return f'"{name}" is not a known field selector: only "metadata.name", "metadata.namespace"'
    of = f" for {resource.api_version(version)}, Kind={resource.kind}" if resource.group == _RESOURCE_GROUP else ""
    return f"field label not supported{of}: {name}"


def parse_revision(text: str, *, listing: bool = False) -> int:
    """Parse a resourceVersion parameter. Raises 400 for a list and 500 for a watch, as the storage layer does."""
    if not text.isascii() or not text.isdigit():
        detail = f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        if listing:
            raise bad_request(f"invalid resource version: {detail}")
        raise StatusError(500, "", detail)
    return int(text)


def _options_invalid(field: str, detail: str) -> StatusError:
    return invalid_object("meta.k8s.io", "ListOptions", "", [forbidden_field(field, detail)])


def _number(request: Request, name: str) -> int:
    text = request.param(name)
    if not text:
        return 0
    try:
        return max(0, int(text))
    except ValueError as error:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from error


def _path(record: Record) -> str:
    """Return the last part of the object's key in etcd."""
    meta = record.obj["metadata"]
    return etcd_path((meta.get("namespace", ""), meta["name"])).removeprefix("/")


def _write_token(revision: int, last: Record) -> str:
    # As upstream: with the NUL, the start is the first key after this one.
    token = orjson.dumps({"v": "meta.k8s.io/v1", "rv": revision, "start": _path(last) + "\0"})
    return base64.urlsafe_b64encode(token).rstrip(b"=").decode()


def _read_token(token: str) -> tuple[int, str]:
    try:
        found = orjson.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        return int(found["rv"]), str(found["start"])
    except (binascii.Error, ValueError, KeyError, TypeError) as error:
        raise bad_request("continue key is not valid: the token was not issued by this server") from error


def _include(request: Request) -> str:
    """Return the parameter includeObject of a table. Raises 400."""
    found = request.param("includeObject") or "Metadata"
    if found not in ("Metadata", "Object", "None"):
        raise bad_request(
            f'Unable to convert to Table as requested: includeObject: Invalid value: "{found}": must be '
            "'Metadata', 'Object', 'None', or empty"
        )
    return found
