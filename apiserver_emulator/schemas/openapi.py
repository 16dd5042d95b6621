"""OpenAPI v3 documents of a group version for kubectl, built from the definitions.

kubectl validates and explains with `components.schemas`, finds a kind by the paths' `x-kubernetes-group-version-kind`,
and sends fieldValidation only if a PATCH operation has that parameter. Pure functions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from apiserver_emulator.schemas import GVK, Schemas

Obj = dict[str, Any]

_OLD = "#/definitions/"
_NEW = "#/components/schemas/"
_SECURITY = {
    "BearerToken": {
        "description": "Bearer Token authentication",
        "in": "header",
        "name": "authorization",
        "type": "apiKey",
    }
}
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_PATCH_TYPES = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)
_WRITE_PARAMETERS = ("dryRun", "fieldManager", "fieldValidation")


@dataclass(frozen=True, slots=True)
class OpenApiResource:
    """One served resource of the group version."""

    plural: str
    kind: str
    namespaced: bool = True
    subresources: tuple[str, ...] = ()


def openapi_v3(schemas: Schemas, *, group: str, version: str, resources: Iterable[OpenApiResource]) -> Obj:
    """The OpenAPI v3 document that `/openapi/v3/apis/<group>/<version>` answers with.

    `schemas` are the definitions of the emulated minor; a resource without a definition (a custom resource) is left
    out of the components and gets paths only.
    """
    served = list(resources)
    paths: Obj = {}
    roots: set[str] = set()
    for resource in served:
        paths.update(_paths(group, version, resource))
        for kind in (resource.kind, f"{resource.kind}List"):
            name = schemas.index.name(group, version, kind)
            if name:
                roots.add(name)
    # Also kinds without a resource of their own.
    for gvk in schemas.kinds():
        if (gvk.group, gvk.version) == (group, version):
            roots.add(schemas.index.name(*gvk))
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": f"v{schemas.minor}.0"},
        "paths": paths,
        "components": {"schemas": _components(schemas, roots), "securitySchemes": _SECURITY},
    }


def _components(schemas: Schemas, roots: set[str]) -> Obj:
    found: Obj = {}
    pending = sorted(roots)
    while pending:
        name = pending.pop()
        if name in found or name not in schemas.definitions:
            continue
        refs: set[str] = set()
        found[name] = _convert(schemas.definitions[name], refs)
        if name == _INT_OR_STRING:
            found[name] = {"oneOf": [{"type": "integer"}, {"type": "string"}], "format": "int-or-string"}
        elif name == _QUANTITY:
            found[name] = {"oneOf": [{"type": "string"}, {"type": "number"}]}
        pending.extend(sorted(refs - found.keys()))
    return dict(sorted(found.items()))


def _convert(schema: Any, refs: set[str]) -> Any:
    if isinstance(schema, list):
        return [_convert(sub, refs) for sub in schema]
    if not isinstance(schema, dict):
        return schema
    ref = schema.get("$ref")
    if isinstance(ref, str):
        name = ref.removeprefix(_OLD)
        refs.add(name)
        siblings = {key: value for key, value in schema.items() if key != "$ref"}
        pointer = {"$ref": _NEW + name}
        # Siblings of a $ref are ignored in OpenAPI 3.0, hence allOf.
        return {"allOf": [pointer], **siblings} if siblings else pointer
    return {key: _convert(value, refs) for key, value in schema.items()}


def _paths(group: str, version: str, resource: OpenApiResource) -> Obj:
    base = f"/apis/{group}/{version}" if group else f"/api/{version}"
    scope = f"{base}/namespaces/{{namespace}}" if resource.namespaced else base
    collection = f"{scope}/{resource.plural}"
    item = f"{collection}/{{name}}"
    gvk = GVK(group, version, resource.kind)
    paths: Obj = {
        collection: {
            "get": _operation("list", gvk),
            "post": _operation("post", gvk, _WRITE_PARAMETERS),
            "delete": _operation("deletecollection", gvk, ("dryRun",)),
        },
        item: _item(gvk, deletable=True),
    }
    if resource.namespaced:
        paths[f"{base}/{resource.plural}"] = {"get": _operation("list", gvk)}
    for subresource in resource.subresources:
        paths[f"{item}/{subresource}"] = _item(gvk, deletable=False)
    return paths


def _item(gvk: GVK, *, deletable: bool) -> Obj:
    found: Obj = {
        "get": _operation("get", gvk),
        "put": _operation("put", gvk, _WRITE_PARAMETERS),
        "patch": _operation("patch", gvk, (*_WRITE_PARAMETERS, "force")),
    }
    found["patch"]["requestBody"] = {
        "content": {media: {"schema": {"type": "object"}} for media in _PATCH_TYPES},
        "required": True,
    }
    if deletable:
        found["delete"] = _operation("delete", gvk, ("dryRun", "gracePeriodSeconds", "propagationPolicy"))
    return found


def _operation(action: str, gvk: GVK, parameters: tuple[str, ...] = ()) -> Obj:
    return {
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": gvk._asdict(),
        "parameters": [
            {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}} for name in parameters
        ],
        "responses": {"200": {"description": "OK"}},
    }
