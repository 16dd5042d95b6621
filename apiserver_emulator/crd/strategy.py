"""Custom resources: defaulting, validation by the structural schema, CEL rules, status.

One `CustomStrategy` for each definition, replaced when the definition changes. Pruning happens when a body is decoded
(`field_validation.conform` walks the same schema).

Source: k8s.io/apiextensions-apiserver pkg/apiserver/{schema,validation}, go-openapi's error texts; KEP-2876 (CEL).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jsonschema_rs
import orjson

from apiserver_emulator.crd.cel_rules import SchemaRules
from apiserver_emulator.strategy import BaseStrategy, RequestContext
from dra_api.gotext import go_quote
from dra_api.status import FieldError, invalid, required, too_long, too_many

Obj = dict[str, Any]


def read_path(obj: Any, path: Sequence[str]) -> Any:
    """Return a value inside nested dicts, or None."""
    for name in path:
        obj = obj.get(name) if isinstance(obj, dict) else None
    return obj


def apply_defaults(value: Any, schema: Mapping[str, Any]) -> None:
    """Set the defaults of a structural schema, in place."""
    if isinstance(value, dict):
        properties = schema.get("properties") or {}
        for name, sub in properties.items():
            if name not in value:
                if "default" in sub:
                    value[name] = copy.deepcopy(sub["default"])
            # Upstream removes such a null before it sets defaults.
            elif value[name] is None and "default" in sub and not sub.get("nullable"):
                value[name] = copy.deepcopy(sub["default"])
            if name in value:
                apply_defaults(value[name], sub)
        extra = schema.get("additionalProperties")
        if isinstance(extra, dict):
            for name, item in value.items():
                if name not in properties:
                    apply_defaults(item, extra)
    elif isinstance(value, list):
        items = schema.get("items")
        if isinstance(items, dict):
            for item in value:
                apply_defaults(item, items)


_KEPT = frozenset(
    {
        "type", "enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength",
        "pattern", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "multipleOf", "required",
    }
)  # fmt: skip


def json_schema(schema: Mapping[str, Any]) -> Any:
    """A structural schema as JSON Schema 2020-12 (nullable, int-or-string and exclusive bounds translated)."""
    found: Obj = {k: v for k, v in schema.items() if k in _KEPT}
    # OpenAPI 3.0 has exclusive bounds as flags beside the bound, JSON Schema 2020-12 as numbers.
    for bound, plain in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        flag = found.pop(bound, None)
        if flag is True and plain in found:
            found[bound] = found.pop(plain)
    if schema.get("x-kubernetes-int-or-string"):
        found["type"] = ["integer", "string"]
    if schema.get("nullable") and "type" in found:
        kinds = found["type"] if isinstance(found["type"], list) else [found["type"]]
        found["type"] = [*kinds, "null"]
    if "properties" in schema:
        found["properties"] = {name: json_schema(sub) for name, sub in schema["properties"].items()}
    for name in ("items", "additionalProperties", "not"):
        if isinstance(schema.get(name), dict):
            found[name] = json_schema(schema[name])
    for name in ("allOf", "anyOf", "oneOf"):
        if name in schema:
            found[name] = [json_schema(sub) for sub in schema[name]]
    form = schema.get("format")
    if form in ("date-time", "date", "email", "hostname", "ipv4", "ipv6", "uri", "uuid"):
        found["format"] = form
    return found


def _path_text(path: Sequence[Any]) -> str:
    out = ""
    for part in path:
        if isinstance(part, int):
            out += f"[{part}]"
        else:
            out += f".{part}" if out else str(part)
    return out


_JSON_TYPE = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array",
              "dict": "object", "NoneType": "null"}  # fmt: skip


def _type_name(value: Any) -> str:
    return _JSON_TYPE.get(type(value).__name__, "object")


def schema_errors(validator: Any, obj: Obj, schema: Mapping[str, Any]) -> list[FieldError]:
    """Return the violations of a schema, with the texts of kube-apiserver."""
    # Most objects are valid, and this check is cheaper than one that makes error objects.
    if validator.is_valid(obj):
        return []
    problems: list[FieldError] = []
    incomplete: set[str] = set()  # fields whose allOf has been reported: once, although many of its schemas may fail
    for error in validator.iter_errors(obj):
        steps = list(error.schema_path)
        for at, step in enumerate(steps[:-1]):
            # A number never follows the name of a property, so that this is the keyword.
            if step == "allOf" and isinstance(steps[at + 1], int):
                whole = _path_text(list(error.instance_path)[: _depth(steps[:at])])
                if whole not in incomplete:
                    incomplete.add(whole)
                    problems.append(_without_field(f"{go_quote(whole)} must validate all the schemas (allOf)"))
        problems += _errors_of(error, schema)
    return problems


def _errors_of(error: Any, schema: Mapping[str, Any]) -> list[FieldError]:
    path = list(error.instance_path)
    place = _schema_at(schema, list(error.schema_path)[:-1])
    kind = type(error.kind).__name__.rsplit("_", 1)[-1]
    combined = go_quote(_path_text(path))
    if kind == "Not":
        return [_without_field(f"{combined} must not validate the schema (not)")]
    if kind in ("AnyOf", "OneOfNotValid", "OneOfMultipleValid"):
        branches: list[list[Any]] = error.kind.context
        valid = sum(not branch for branch in branches)
        if kind == "AnyOf":
            text = "must validate at least one schema (anyOf)"
        else:
            count = f"{valid} valid alternatives" if valid else "none valid"
            text = f"must validate one and only one schema (oneOf). Found {count}"
        problems = [_without_field(f"{combined} {text}")]
        # Upstream adds the errors of the schema that matched best: the first, unless another one matches more.
        for inner in [] if valid else branches[0]:
            problems += _errors_of(inner, schema)
        return problems
    problem = _translate(path, error, place)
    if isinstance(error.instance, float) and place.get("type") == "integer" and not place.get("format"):
        checked = f"Checked value must be of type integer (default format) in {_path_text(path)}"
        return [_without_field(checked), problem]
    return [problem]


def _without_field(text: str) -> FieldError:
    """Return an error that upstream reports without the field and the value."""
    return invalid("<nil>", "", text)


def _depth(steps: Sequence[Any]) -> int:
    """Return how many steps of an object's path correspond to these steps of its schema."""
    depth, at = 0, 0
    while at < len(steps):
        named = steps[at] == "properties"
        depth += named or steps[at] in ("items", "additionalProperties")
        at += 2 if named else 1
    return depth


def _schema_at(schema: Mapping[str, Any], steps: Sequence[Any]) -> Mapping[str, Any]:
    found: Any = schema
    for step in steps:
        found = found[step] if isinstance(found, list) else found.get(step)
    return found if isinstance(found, dict) else {}


def _shown(value: Any) -> Any:
    return _type_name(value) if isinstance(value, (dict, list)) else value


def _translate(path: list[Any], error: Any, schema: Mapping[str, Any]) -> FieldError:
    field, value = _path_text(path), error.instance
    kind = error.kind
    name = type(kind).__name__.rsplit("_", 1)[-1]
    where = f"{field} in body"
    if name == "Required":
        return required(f"{field}.{kind.property}" if field else str(kind.property))
    if name == "Type":
        wanted = schema.get("type") or "integer,string"
        detail = f"{where} must be of type {wanted}: {go_quote(_type_name(value))}"
        return FieldError("FieldValueTypeInvalid", field, detail, _type_name(value))
    if name == "Enum":
        options = ", ".join(go_quote(str(option)) for option in schema.get("enum") or ())
        return FieldError("FieldValueNotSupported", field, f"supported values: {options}", value)
    if name == "Minimum":
        return invalid(field, value, f"{where} should be greater than or equal to {schema.get('minimum')}")
    if name == "Maximum":
        return invalid(field, value, f"{where} should be less than or equal to {schema.get('maximum')}")
    if name == "ExclusiveMinimum":
        return invalid(field, value, f"{where} should be greater than {schema.get('minimum')}")
    if name == "ExclusiveMaximum":
        return invalid(field, value, f"{where} should be less than {schema.get('maximum')}")
    if name == "MultipleOf":
        return invalid(field, value, f"{where} should be a multiple of {schema.get('multipleOf')}")
    if name == "Pattern":
        return invalid(field, value, f"{where} should match '{schema.get('pattern')}'")
    if name == "MinLength":
        return invalid(field, value, f"{where} should be at least {schema.get('minLength')} chars long")
    if name == "MaxLength":
        # The limit counts characters, but upstream's text says bytes.
        return too_long(field, int(schema.get("maxLength", 0)))
    if name == "MinItems":
        return invalid(field, len(value), f"{where} should have at least {schema.get('minItems')} items")
    if name == "MaxItems":
        return too_many(field, len(value), int(schema.get("maxItems", 0)))
    if name == "MinProperties":
        return invalid(field, len(value), f"{where} should have at least {schema.get('minProperties')} properties")
    if name == "MaxProperties":
        return too_many(field, len(value), int(schema.get("maxProperties", 0)))
    if name == "Format":
        detail = f"{where} must be of type {schema.get('format')}: {go_quote(str(value))}"
        return FieldError("FieldValueTypeInvalid", field, detail, value)
    return invalid(field, _shown(value), f"{where} {error.message}")


class CustomStrategy(BaseStrategy):
    """The rules of one kind of custom resource."""

    generation = True

    def __init__(self, *, kind: str, schema: Obj, definitions: Mapping[str, Any], has_status: bool) -> None:
        self.status_subresource = has_status
        self._schema = schema
        translated = json_schema(schema)
        # The rules of ObjectMeta apply to metadata, not those of the definition's schema.
        (translated.setdefault("properties", {})).pop("metadata", None)
        self._validator: Any = jsonschema_rs.Draft202012Validator(translated, validate_formats=True)
        # A property of this name costs only a walk that changes nothing.
        self._has_defaults = b'"default":' in orjson.dumps(schema)
        self._uniques = b"x-kubernetes-list-type" in orjson.dumps(schema)
        self._cel = SchemaRules(schema) if b"x-kubernetes-validations" in orjson.dumps(schema) else None

    def default(self, obj: Obj) -> None:
        """Structural defaults."""
        if self._has_defaults:
            apply_defaults(obj, self._schema)

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """Schema, list uniqueness, CEL."""
        return self._errors(obj, None)

    def validate_update(self, new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
        """Return the errors of the new object and of transition rules.

        For the subresource `status`, messages about wrong types have paths relative to status, as upstream.
        """
        problems = self._errors(new, old)
        if ctx.subresource != "status":
            return problems
        return [
            replace(each, detail=each.detail.removeprefix("status."))
            if each.reason == "FieldValueTypeInvalid"
            else each
            for each in problems
        ]

    def _errors(self, new: Obj, old: Obj | None) -> list[FieldError]:
        problems = schema_errors(self._validator, new, self._schema)
        if self._uniques:
            problems += list(unique_errors(new, self._schema, ""))
        if self._cel is None:
            return problems
        # Upstream runs no rules on an object with wrong types; it does on one with numbers out of bounds.
        if any(problem.reason in _BLOCKING for problem in problems):
            return [invalid("<nil>", None, _NOT_CHECKED), *problems]
        return problems + self._cel.errors(new, old)


_BLOCKING = frozenset(
    {
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    }
)
_NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete "
    "validation"
)


def unique_errors(value: Any, schema: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    """Duplicates in lists of type set and map."""
    if isinstance(value, dict):
        properties = schema.get("properties") or {}
        extra = schema.get("additionalProperties")
        for name, sub in value.items():
            inner = properties.get(name) or (extra if isinstance(extra, dict) else None)
            if inner is not None:
                step = f".{name}" if name in properties else f"[{name}]"
                yield from unique_errors(sub, inner, path + step if path else name)
    elif isinstance(value, list):
        kind = schema.get("x-kubernetes-list-type", "atomic")
        items = schema.get("items") or {}
        seen: set[bytes] = set()
        for at, item in enumerate(value):
            if kind in ("set", "map"):
                shown: Any = item
                if kind == "map" and isinstance(item, dict):
                    shown = {k: item[k] for k in schema.get("x-kubernetes-list-map-keys") or () if k in item}
                # Sorted: the order of keys must not hide a duplicate.
                key = orjson.dumps(shown, option=orjson.OPT_SORT_KEYS)
                if key in seen:
                    yield FieldError("FieldValueDuplicate", f"{path}[{at}]", "", shown)
                seen.add(key)
            yield from unique_errors(item, items, f"{path}[{at}]")
