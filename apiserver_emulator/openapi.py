"""OpenAPI documents: kubectl reads them to explain, validate and diff.

Documents are built on request and cached until the resource table changes. Schemas of built-in kinds come from the
schemas package, those of custom resources from their definitions.
"""

from __future__ import annotations

import hashlib
from typing import Any

import orjson

from apiserver_emulator import discovery
from apiserver_emulator.core import Core
from apiserver_emulator.resource_types import ResourceType
from apiserver_emulator.schemas import Schemas
from apiserver_emulator.schemas.openapi import OpenApiResource, openapi_v3
from dra_api.request import Request
from dra_api.status import not_acceptable
from dra_api.transport import Response

Obj = dict[str, Any]


class OpenApi:
    """Serves /openapi/v3 and below, and /openapi/v2 as a document of definitions."""

    def __init__(self, core: Core, schemas: Schemas) -> None:
        self._core = core
        self._schemas = schemas
        self._cache: dict[str, bytes] = {}
        # No generation of the table: the first request builds its document.
        self._generation = -1

    def answer(self, path: str, request: Request) -> Response:
        """One OpenAPI request."""
        generation = self._core.resources.generation
        if generation != self._generation:
            # A new dict: a document that another thread builds from the types of before goes into the old one.
            self._cache = {}
            self._generation = generation
        accept = request.headers.get("accept", "")
        if "protobuf" in accept and "json" not in accept and "*/*" not in accept:
            raise not_acceptable(("application/json",))
        if path == "/openapi/v3":
            return self._root()
        if path == "/openapi/v2":
            return _json(self._cached(path, self._v2))
        if path.startswith("/openapi/v3/"):
            place = path.removeprefix("/openapi/v3/")
            parts = place.split("/")
            if parts[0] == "api" and len(parts) == 2:
                return self._group(path, "", parts[1])
            if parts[0] == "apis" and len(parts) == 3:
                return self._group(path, parts[1], parts[2])
        return Response(404, {}, b"")

    def _cached(self, key: str, build: Any) -> bytes:
        cache = self._cache
        found = cache.get(key)
        if found is None:
            found = cache[key] = orjson.dumps(build())
        return found

    def _root(self) -> Response:
        paths: Obj = {}
        for group, versions in discovery.groups(self._core.resources).items():
            for version in versions:
                place = f"apis/{group}/{version}" if group else f"api/{version}"
                body = self._group_bytes(f"/openapi/v3/{place}", group, version)
                digest = hashlib.sha512(body).hexdigest().upper()[:64]
                paths[place] = {"serverRelativeURL": f"/openapi/v3/{place}?hash={digest}"}
        return _json(orjson.dumps({"paths": paths}))

    def _group(self, path: str, group: str, version: str) -> Response:
        if version not in discovery.groups(self._core.resources).get(group, ()):
            return Response(404, {}, b"")
        return _json(self._group_bytes(path, group, version))

    def _group_bytes(self, path: str, group: str, version: str) -> bytes:
        return self._cached(path, lambda: self._document(group, version))

    def _served(self, group: str, version: str) -> list[ResourceType]:
        return [r for r in self._core.resources.all() if r.group == group and version in r.versions]

    def _document(self, group: str, version: str) -> Obj:
        served = self._served(group, version)
        document = openapi_v3(
            self._schemas,
            group=group,
            version=version,
            resources=[
                OpenApiResource(
                    plural=r.plural,
                    kind=r.kind,
                    namespaced=r.namespaced,
                    subresources=tuple(s for s in r.subresources if s == "status"),
                )
                for r in served
            ],
        )
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        for resource in served:
            if resource.custom:
                schemas[_custom_name(resource, version)] = _custom_schema(resource, version)
        return document

    def _v2(self) -> Obj:
        definitions: Obj = dict(self._schemas.definitions)
        paths: Obj = {}
        for resource in self._core.resources.all():
            for version in resource.versions:
                if resource.custom:
                    definitions[_custom_name(resource, version)] = _custom_schema(resource, version)
        return {
            "swagger": "2.0",
            "info": {"title": "Kubernetes", "version": f"v{self._core.kubernetes_version}"},
            "paths": paths,
            "definitions": definitions,
        }


def _custom_name(resource: ResourceType, version: str) -> str:
    return ".".join([*reversed(resource.group.split(".")), version, resource.kind])


def _custom_schema(resource: ResourceType, version: str) -> Obj:
    schema: Obj = dict(resource.schemas.get(version) or {"type": "object"})
    properties = dict(schema.get("properties") or {})
    properties.setdefault("apiVersion", {"type": "string"})
    properties.setdefault("kind", {"type": "string"})
    properties["metadata"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema["properties"] = properties
    schema["x-kubernetes-group-version-kind"] = [{"group": resource.group, "version": version, "kind": resource.kind}]
    return schema


def _json(body: bytes) -> Response:
    tag = '"' + hashlib.sha512(body).hexdigest().upper()[:64] + '"'
    return Response(200, {"content-type": "application/json", "etag": tag}, body)
