"""The object in the body of a write: decoded, of the path's kind and version, checked against the schema."""

from __future__ import annotations

from dra_api.objects import Obj
from dra_conformance.control_plane.embedded.core import Core
from dra_conformance.control_plane.embedded.decode import PROTOBUF, check_fields, decode_body, media_type
from dra_conformance.control_plane.embedded.request import Request, RequestInfo
from dra_conformance.control_plane.embedded.resources import ResourceType
from dra_conformance.control_plane.embedded.status import bad_request, unsupported_media_type


def read_body(
    core: Core, resource: ResourceType, request: Request, info: RequestInfo, validation: str
) -> tuple[Obj, list[str]]:
    """The request's object in the version of the path, checked against the schema; and warnings."""
    if not request.body:
        raise bad_request("the body of the request was empty")
    content = request.headers.get("content-type", "")
    if resource.custom and media_type(content) == PROTOBUF:
        raise unsupported_media_type(content, ("application/json", "application/yaml"))
    decoded = decode_body(request.body, content, look_for_duplicates=validation != "Ignore")
    obj = decoded.obj
    warnings = check_body(core, resource, info.version, obj, validation, decoded.duplicates)
    return obj, warnings


def check_body(
    core: Core, resource: ResourceType, version: str, obj: Obj, validation: str, duplicates: list[str]
) -> list[str]:
    """Complete and check kind, version and fields of an object, in place; warnings. Raises 400."""
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
        core.node(resource, version),
        kind=kind,
        version=version,
        validation=validation,
        duplicates=duplicates,
        lenient=resource.custom,
    )
