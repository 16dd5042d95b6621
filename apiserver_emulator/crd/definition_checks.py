"""Validation of the versions of a CustomResourceDefinition: names, schemas, defaults, selectable fields.

Pure functions. An error in a part that all versions share is reported once, for the whole definition: upstream's
internal type has such parts at the top.

Source: k8s.io/apiextensions-apiserver pkg/apis/apiextensions/{validation,v1/conversion.go}, pkg/apiserver/schema.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import jsonschema_rs

from apiserver_emulator.crd.cel_rules import rule_errors
from apiserver_emulator.crd.strategy import json_schema, schema_errors
from dra_api.status import FieldError, invalid, not_supported, required

Obj = dict[str, Any]

LABEL = re.compile(r"^[a-z]([-a-z0-9]*[a-z0-9])?$")
LABEL_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_STEP = re.compile(r"\.([A-Za-z_][\w-]*)|\['([^']+)'\]")


def version_errors(spec: Obj) -> list[FieldError]:
    """Return the errors in the versions of a definition."""
    problems: list[FieldError] = []
    versions: list[Obj] = spec.get("versions") or []
    names = [version.get("name") or "" for version in versions]
    quoted = [_internal(version) for version in versions]
    if sum(1 for version in versions if version.get("storage")) != 1:
        problems.append(invalid("spec.versions", quoted, "must have exactly one version marked as storage version"))
    if len(set(names)) != len(names):
        problems.append(invalid("spec.versions", quoted, "must contain unique version names"))
    # Upstream's internal type has the name of the first version as spec.version too.
    if names and names[0] and not LABEL.match(names[0]):
        problems.append(invalid("spec.version", names[0], LABEL_TEXT))
    shared = all(_schema(version) == _schema(versions[0]) for version in versions)
    selectable = [version.get("selectableFields") or [] for version in versions]
    alike = all(one == selectable[0] for one in selectable)
    for at, version in enumerate(versions):
        name = version.get("name") or ""
        if not LABEL.match(name):
            problems.append(invalid(f"spec.versions[{at}].name", name, LABEL_TEXT))
        schema = _schema(version)
        if schema is None:
            problems.append(required(f"spec.versions[{at}].schema.openAPIV3Schema"))
        # What all versions share is checked once.
        if schema is not None and not (shared and at):
            field = "spec.validation" if shared else f"spec.versions[{at}].schema"
            where = f"{field}.openAPIV3Schema"
            wrong = structural_errors(schema, where, "root")
            _, refusal = _compiled(schema)
            problems += wrong or ([invalid(where, "", refusal)] if refusal else [])
            kind = schema.get("type")
            if kind and kind != "object" and "status" in (version.get("subresources") or {}):
                text = (
                    'only "object" is allowed as the type at the root of the schema if the status subresource is '
                    "enabled"
                )
                problems.append(invalid(f"{field}.openAPIV3Schema.type", kind, text))
        if not (alike and at):
            problems += _selection_errors(version, schema, "spec" if alike else f"spec.versions[{at}]")
    return problems


def stored_errors(obj: Obj) -> list[FieldError]:
    """Return the errors in `status.storedVersions`, the versions in which objects may be stored."""
    versions: list[Obj] = obj["spec"].get("versions") or []
    stored: list[str] = (obj.get("status") or {}).get("storedVersions") or []
    if not stored:
        return [invalid("status.storedVersions", None, "must have at least one stored version")]
    problems = []
    known = [version.get("name") or "" for version in versions]
    for at, name in enumerate(stored):
        if name not in known:
            text = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and removes "
                f"{name} from status.storedVersions"
            )
            problems.append(invalid(f"status.storedVersions[{at}]", name, text))
    storage = [version.get("name") or "" for version in versions if version.get("storage")]
    if storage and storage[-1] not in stored:
        problems.append(invalid("status.storedVersions", stored, f"must have the storage version {storage[-1]}"))
    return problems


def _internal(version: Mapping[str, Any]) -> Obj:
    """Format a version as Go prints the internal type, which lacks the parts that all versions share."""
    return {
        "Name": version.get("name", ""),
        "Served": version.get("served", False),
        "Storage": version.get("storage", False),
        "Deprecated": version.get("deprecated", False),
        "DeprecationWarning": version.get("deprecationWarning"),
        "Schema": None,
        "Subresources": None,
        "AdditionalPrinterColumns": None,
        "SelectableFields": None,
    }


def _schema(version: Mapping[str, Any]) -> Obj | None:
    found: Obj | None = (version.get("schema") or {}).get("openAPIV3Schema")
    return found


def _compiled(schema: Obj) -> tuple[jsonschema_rs.Draft202012Validator | None, str]:
    """Return the validator of a schema, or None and why there is none: a type or a pattern that it does not know."""
    try:
        return jsonschema_rs.Draft202012Validator(json_schema(schema), validate_formats=True), ""
    except (jsonschema_rs.ValidationError, ValueError) as error:
        return None, " ".join(str(error).split())[:200]


def _selection_errors(version: Mapping[str, Any], schema: Mapping[str, Any] | None, top: str) -> list[FieldError]:
    """Return the errors in selectable fields: the schema must define each of them."""
    wanted = version.get("selectableFields") or ()
    if wanted and schema is None:
        return [invalid(f"{top}.selectableFields", "", "may only be set when validations.schema is included")]
    problems = []
    for at, each in enumerate(wanted):
        path = each.get("jsonPath", "")
        found: Any = schema
        for dotted, quoted in _STEP.findall(path):
            found = (found.get("properties") or {}).get(dotted or quoted) if isinstance(found, dict) else None
        if found is None:
            where = f"{top}.selectableFields[{at}].jsonPath"
            problems.append(invalid(where, path, "is an invalid path: does not refer to a valid field"))
    return problems


_TYPES = ["array", "boolean", "integer", "number", "object", "string"]


def structural_errors(schema: Obj, field: str, part: str = "object fields") -> list[FieldError]:
    """Return the errors in a schema: it must be structural (types, no $ref), with valid defaults and rules.

    `part` is the part of the whole that the schema describes: `root`, `object fields` or `array items`.
    """
    root = part == "root"
    problems: list[FieldError] = []
    if "$ref" in schema:
        problems.append(FieldError("FieldValueForbidden", f"{field}.$ref", "$ref is not supported"))
    loose = schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("x-kubernetes-int-or-string")
    kind = schema.get("type")
    if root and not kind:
        problems.append(required(f"{field}.type", "must not be empty at the root"))
    elif root and kind != "object":
        problems.append(invalid(f"{field}.type", kind, "must be object at the root"))
    elif not kind and not loose:
        problems.append(required(f"{field}.type", f"must not be empty for specified {part}"))
    elif kind and kind not in _TYPES:
        problems.append(not_supported(f"{field}.type", kind, _TYPES))
    if schema.get("properties") and schema.get("additionalProperties"):
        problems.append(
            FieldError(
                "FieldValueForbidden",
                f"{field}.additionalProperties",
                "additionalProperties and properties are mutual exclusive",
            )
        )
    if schema.get("x-kubernetes-list-type") == "map" and not schema.get("x-kubernetes-list-map-keys"):
        where = f"{field}.x-kubernetes-list-map-keys"
        problems.append(required(where, "must not be empty if x-kubernetes-list-type is map"))
    validator, _ = _compiled(schema) if "default" in schema else (None, "")
    if validator is not None:  # what is wrong with the schema itself is reported for the part concerned
        for each in schema_errors(validator, schema["default"], schema):
            problems.append(replace(each, field=f"{field}.default" + (f".{each.field}" if each.field else "")))
    if "x-kubernetes-validations" in schema:
        problems += rule_errors(schema, field, root=root)
    for name, sub in (schema.get("properties") or {}).items():
        problems += structural_errors(sub, f"{field}.properties[{name}]")
    items = schema.get("items")
    if isinstance(items, dict):
        problems += structural_errors(items, f"{field}.items", "array items")
    elif kind == "array":
        problems.append(required(f"{field}.items", "must be specified"))
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict):
        problems += structural_errors(extra, f"{field}.additionalProperties")
    return problems
