"""JSON schema of a Container Device Interface specification.

Field names, types and required fields are those of the CDI specification, versions 0.3.0 to 1.1.0
(tags.cncf.io/container-device-interface, SPEC.md and specs-go/config.go). `dra_conformance.kubelet.cdi` checks what a
schema cannot express: the version that introduced a field, empty devices, duplicate names. Unknown fields are errors,
because container runtimes decode strictly.
"""

from __future__ import annotations

import json
from typing import Any, Final

_STRING: Final[dict[str, Any]] = {"type": "string"}
_TEXT: Final[dict[str, Any]] = {"type": "string", "minLength": 1}
# Go decodes null as an empty list or map, so runtimes accept it.
_STRINGS: Final[dict[str, Any]] = {"type": ["array", "null"], "items": _STRING}
_UINT32: Final[dict[str, Any]] = {"type": "integer", "minimum": 0, "maximum": 2**32 - 1}
_INT64: Final[dict[str, Any]] = {"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1}
_ANNOTATIONS: Final[dict[str, Any]] = {"type": ["object", "null"], "additionalProperties": _STRING}


def _object(required: list[str], **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


def _list_of(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": ["array", "null"], "items": item}


_ENV: Final[dict[str, Any]] = {"type": ["array", "null"], "items": {"type": "string", "pattern": "^[^=]+="}}

_DEVICE_NODE: Final = _object(
    ["path"],
    path=_TEXT,
    hostPath=_STRING,
    type={"enum": ["", "b", "c", "u", "p"]},
    major=_INT64,
    minor=_INT64,
    fileMode=_UINT32,
    permissions={"type": "string", "pattern": "^[rwm]*$"},
    uid=_UINT32,
    gid=_UINT32,
)

_MOUNT: Final = _object(
    ["hostPath", "containerPath"], hostPath=_TEXT, containerPath=_TEXT, options=_STRINGS, type=_STRING
)

_HOOK: Final = _object(
    ["hookName", "path"],
    hookName={"enum": ["prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"]},
    path=_TEXT,
    args=_STRINGS,
    env=_ENV,
    timeout={"type": "integer"},
)

_EDITS: Final = _object(
    [],
    env=_ENV,
    deviceNodes=_list_of(_DEVICE_NODE),
    netDevices=_list_of(_object(["hostInterfaceName", "name"], hostInterfaceName=_TEXT, name=_TEXT)),
    hooks=_list_of(_HOOK),
    mounts=_list_of(_MOUNT),
    intelRdt=_object(
        [],
        closID=_STRING,
        l3CacheSchema=_STRING,
        memBwSchema=_STRING,
        schemata=_STRINGS,
        enableMonitoring={"type": "boolean"},
    ),
    additionalGids=_list_of(_UINT32),
)

_NAME: Final = "[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?"

CDI_SCHEMA: Final = _object(
    ["cdiVersion", "kind", "devices"],
    cdiVersion=_STRING,
    kind={"type": "string", "pattern": f"^{_NAME}/{_NAME}$"},
    annotations=_ANNOTATIONS,
    devices={
        "type": "array",
        "minItems": 1,
        "items": _object(
            ["name", "containerEdits"],
            name={"type": "string", "pattern": "^[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?$"},
            annotations=_ANNOTATIONS,
            containerEdits=_EDITS,
        ),
    },
    containerEdits=_EDITS,
)
"""A document that this schema accepts can be decoded by every CDI implementation."""

CDI_SCHEMA_TEXT: Final = json.dumps(CDI_SCHEMA)
