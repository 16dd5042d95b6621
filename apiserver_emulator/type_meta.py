"""apiVersion and kind of a body: complete them from the path, or refuse the body. Pure functions.

Bodies of built-in kinds may omit both; those of custom resources need a kind.

Source: k8s.io/apimachinery v0.36 pkg/runtime (scheme.go, error.go), k8s.io/apiserver pkg/endpoints/handlers/create.go,
k8s.io/apiextensions-apiserver pkg/apiserver/customresource_handler.go; texts observed on kube-apiserver 1.36.2.
"""

from __future__ import annotations

import orjson

from apiserver_emulator.decoding import summary
from apiserver_emulator.resource_types import ResourceType
from apiserver_emulator.schema_tree import SchemaIndex
from dra_api.objects import Obj
from dra_api.status import StatusError, bad_request, invalid, invalid_object

_SCHEME = "pkg/runtime/scheme.go:111"


def unregistered(kind: object, api_version: object) -> str:
    """Return the error of Go's scheme for a kind that is not registered in this version."""
    return f'no kind "{kind}" is registered for version "{api_version}" in scheme "{_SCHEME}"'


def settle_kind(obj: Obj, resource: ResourceType, version: str, schemas: SchemaIndex) -> None:
    """Fill in a missing apiVersion and kind. Raises 400 (422 for custom resources) if they differ from the path."""
    expected, kind = resource.api_version(version), resource.kind
    found_version, found_kind = obj.get("apiVersion"), obj.get("kind")
    if resource.custom and not found_kind:
        raise _no_kind(obj, kind)
    if found_version and found_version != expected:
        raise _other_version(resource, str(found_version), found_kind or kind, expected)
    if found_kind and found_kind != kind:
        raise _other_kind(obj, resource, version, schemas)
    obj["apiVersion"], obj["kind"] = expected, kind


def _no_kind(obj: Obj, kind: str) -> StatusError:
    raw = orjson.dumps(obj)
    return bad_request(
        f"the object provided is unrecognized (must be of type {kind}): Object 'Kind' is missing in '{raw.decode()}' "
        f"({summary(raw)})"
    )


def _other_version(resource: ResourceType, found: str, kind: object, expected: str) -> StatusError:
    group, _, short = found.rpartition("/")
    if resource.custom or (group == resource.group and short in resource.versions):
        return bad_request(
            f"the API version in the data ({found}) does not match the expected API version ({expected})"
        )
    return bad_request(
        f'{kind} in version "{short}" cannot be handled as a {resource.kind}: {unregistered(kind, found)}'
    )


def _other_kind(obj: Obj, resource: ResourceType, version: str, schemas: SchemaIndex) -> StatusError:
    found, wanted = obj["kind"], resource.kind
    if resource.custom:
        name = str((obj.get("metadata") or {}).get("name") or "")
        return invalid_object(resource.group, str(found), name, [invalid("kind", found, f"must be {wanted}")])
    if schemas.root(resource.group, version, str(found)) is None:
        why = unregistered(found, resource.api_version(version))
    else:
        # Go's package of the internal types is named after the first label of the group.
        internal = resource.group.partition(".")[0] or "core"
        why = f"converting ({version}.{found}) to ({internal}.{wanted}): unknown conversion"
    return bad_request(f'{found} in version "{version}" cannot be handled as a {wanted}: {why}')
