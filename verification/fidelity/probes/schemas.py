"""Schemas of custom resources: every keyword that is checked, rules on lists and maps, definitions that are refused.

The steps of a probe share one definition, because a real server takes seconds to serve a new one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verification.fidelity.probe import Probe, Step, delete, get, patch, post, put
from verification.fidelity.probes.custom import definition, thing
from verification.fidelity.probes.objects import CRDS

_GROUP = "{id}.example.com"
_THINGS = f"/apis/{_GROUP}/v1/namespaces/{{ns}}/things"
_PLAIN: dict[str, Any] = {"selectableFields": None, "additionalPrinterColumns": None}


def _defined(properties: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A definition with these properties of `spec`."""
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties, **spec}}}
    return definition(_GROUP, version={**_PLAIN, "schema": {"openAPIV3Schema": schema}})


def _writes(body: dict[str, Any], *specs: Any) -> tuple[Step, ...]:
    """Steps that define a kind and then create, and delete again, an object with each spec."""
    ready = (post(CRDS, body, keep="status"), get(_THINGS, until=200, keep="code", patience=8.0))
    steps: list[Step] = []
    for spec in specs:
        steps += [post(_THINGS, thing(spec), keep=("spec",)), delete(_THINGS + "/t", keep="none")]
    return (*ready, *steps)


_NUMBERS: dict[str, Any] = {
    "above": {"type": "integer", "minimum": 3, "exclusiveMinimum": True},
    "below": {"type": "integer", "maximum": 9, "exclusiveMaximum": True},
    "least": {"type": "number", "minimum": 0.5},
    "even": {"type": "integer", "multipleOf": 2},
    "flagOff": {"type": "integer", "minimum": 3, "exclusiveMinimum": False},
    "small": {"type": "integer", "format": "int32"},
}
_SIZES: dict[str, Any] = {
    "text": {"type": "string", "minLength": 2, "maxLength": 4},
    "list": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "integer"}},
    "map": {"type": "object", "minProperties": 1, "maxProperties": 2, "additionalProperties": {"type": "string"}},
    "either": {"type": "string", "nullable": True, "enum": ["a", "b"]},
    "host": {"type": "string", "format": "hostname"},
    "address": {"type": "string", "format": "ipv4"},
    "day": {"type": "string", "format": "date"},
    "id": {"type": "string", "format": "uuid"},
    "link": {"type": "string", "format": "uri"},
    "mail": {"type": "string", "format": "email"},
    "six": {"type": "string", "format": "ipv6"},
}
_COMBINED: dict[str, Any] = {
    "any": {"type": "string", "anyOf": [{"pattern": "^a"}, {"maxLength": 1}]},
    "not": {"type": "string", "not": {"enum": ["x"]}},
    "all": {"type": "integer", "allOf": [{"minimum": 2}, {"maximum": 4}]},
    "one": {"type": "integer", "oneOf": [{"minimum": 3}, {"maximum": 5}]},
    "none": {"type": "integer", "oneOf": [{"minimum": 9}, {"maximum": 1}]},
    "inner": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "allOf": [
            {"required": ["a"]},
            {"properties": {"a": {"minimum": 2}}},
            {"anyOf": [{"properties": {"b": {"minimum": 7}}}]},
        ],
    },
}
_NESTED: dict[str, Any] = {
    "list": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"a": {"type": "string", "default": "x"}, "b": {"type": "string", "maxLength": 1}},
        },
    },
    "map": {
        "type": "object",
        "additionalProperties": {"type": "object", "properties": {"c": {"type": "integer", "default": 5}}},
    },
    "both": {
        "type": "object",
        "properties": {"d": {"type": "string", "default": "y", "nullable": True}, "e": {"type": "string"}},
    },
    "sets": {
        "type": "object",
        "additionalProperties": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
    },
    "lists": {
        "type": "array",
        "items": {
            "type": "array",
            "maxItems": 9,
            "items": {"type": "integer"},
            "x-kubernetes-list-type": "set",
        },
    },
    "keys": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["a", "b"],
        "items": {
            "type": "object",
            "required": ["a", "b"],
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string"}},
        },
    },
}


def _keywords() -> Iterator[Probe]:
    numbers = (
        *({"above": n} for n in (3, 4)),
        *({"below": n} for n in (9, 8)),
        *({"least": n} for n in (0.25, 0.5)),
        *({"even": n} for n in (3, 4)),
        *({"flagOff": n} for n in (2, 3)),
        {"small": 2**31 - 1},
    )
    yield Probe("schema/numbers", _writes(_defined(_NUMBERS), *numbers))
    sizes: tuple[dict[str, Any], ...] = (
        *({"text": "x" * n} for n in (1, 2, 4, 5)),
        *({"list": list(range(n))} for n in (0, 1, 2, 3)),
        *({"map": {str(k): "v" for k in range(n)}} for n in (0, 1, 2, 3)),
        *({"either": value} for value in ("a", None, "c")),
        *({"host": value} for value in ("node-1.example.com", "a_b")),
        *({"address": value} for value in ("192.0.2.1", "192.0.2")),
        *({"day": value} for value in ("2020-01-02", "2020-13-02")),
        *({"id": value} for value in ("0b54bd26-6f0c-4f1c-9fc6-3e0b4a1c5a11", "x")),
        *({"six": value} for value in ("2001:db8::1", "192.0.2.1")),
        {"link": "https://a.b/c"},
        *({"mail": value} for value in ("a@b.c", "a")),
    )
    combined: tuple[dict[str, Any], ...] = (
        *({"any": value} for value in ("ab", "b", "bc")),
        *({"not": value} for value in ("x", "y")),
        *({"all": value} for value in (1, 2, 4, 5)),
        *({"one": value} for value in (2, 4, 6)),
        *({"none": value} for value in (5, 9)),
        *({"inner": value} for value in ({"a": 1}, {"b": 7}, {"a": 2, "b": 7})),
    )
    yield Probe("schema/combined", _writes(_defined(_COMBINED), *combined))
    for part, at in enumerate(range(0, len(sizes), 11)):
        yield Probe(f"schema/sizes-{part}", _writes(_defined(_SIZES), *sizes[at : at + 11]))
    nested: tuple[Any, ...] = (
        {"list": [{}, {"a": "z"}, {"b": "1"}]},
        {"list": [{"b": "1"}, {"b": "12"}]},
        {"map": {"p": {}, "q": {"c": 6}}},
        {"map": {"p": {}, "q": {"c": "6"}}},
        {"both": {"d": None, "e": "1"}},
        {"both": {"e": None}},
        {"sets": {"p": ["a", "b"], "q": ["a", "a"]}},
        {"lists": [[1, 2], [1, 2, 1]]},
        {"keys": [{"a": "1", "b": "2"}, {"a": "2", "b": "1"}, {"b": "2", "a": "1", "c": "3"}]},
        {"keys": [{"a": "1", "b": "2"}, {"a": "1", "b": "3"}]},
    )
    yield Probe("schema/nested", _writes(_defined(_NESTED), *nested))


def _rule(rule: str, **more: Any) -> list[dict[str, Any]]:
    return [{"rule": rule, **more}]


_RULED: dict[str, Any] = {
    "parts": {
        "type": "array",
        "maxItems": 9,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": {"type": "string", "maxLength": 9}, "size": {"type": "integer"}},
            "x-kubernetes-validations": _rule("self.size >= oldSelf.size", message="sizes only grow"),
        },
    },
    "words": {
        "type": "array",
        "maxItems": 9,
        "items": {"type": "string", "maxLength": 9, "x-kubernetes-validations": _rule("self != 'bad'")},
    },
    "table": {
        "type": "object",
        "maxProperties": 9,
        "additionalProperties": {
            "type": "integer",
            "x-kubernetes-validations": _rule("self < 5", reason="FieldValueDuplicate", message="at most four"),
        },
    },
    "first": {
        "type": "array",
        "maxItems": 9,
        "items": {"type": "integer"},
        "x-kubernetes-validations": _rule("self[1] > 0", reason="FieldValueRequired"),
    },
    "shape": {
        "type": "object",
        "properties": {"side": {"type": "integer"}, "name": {"type": "string", "maxLength": 9}},
        "x-kubernetes-validations": [
            {
                "rule": "self.side > 0",
                "fieldPath": ".side",
                "messageExpression": "self.side < 0 ? 'negative' : 'no side'",
            },
            {"rule": "self.side < 9", "messageExpression": "' '", "message": "fallback"},
            {"rule": "self.side != 5", "messageExpression": "'a\\nb'", "message": "one line"},
            {"rule": "self.side != 6", "messageExpression": "['one'][self.side]", "message": "no index"},
        ],
    },
    "once": {
        "type": "integer",
        "x-kubernetes-validations": [{"rule": "oldSelf <= self"}, {"rule": "self != 3"}],
    },
    "grown": {
        "type": "integer",
        "x-kubernetes-validations": [
            {
                "rule": "oldSelf.hasValue() ? oldSelf.value() < self : self < 3",
                "optionalOldSelf": True,
                "messageExpression": "oldSelf.orValue(0) > 1 ? 'not above a large value' : 'not above a small value'",
            },
        ],
    },
    "part": {
        "type": "integer",
        "x-kubernetes-validations": [
            {"rule": " 10 / (self - 4) > 0 ", "fieldPath": ""},
            {"rule": "10 % (self - 4) < 9", "message": " no remainder "},
        ],
    },
    "map": {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "x-kubernetes-validations": _rule("10 / self.a > 1", fieldPath=".a", reason="FieldValueForbidden"),
    },
}


def _rules() -> Iterator[Probe]:
    body = _defined(_RULED)
    specs: tuple[dict[str, Any], ...] = (
        {"parts": [{"name": "a", "size": 3}, {"name": "b", "size": 1}]},
        {"words": ["good", "bad", "fine", "bad"]},
        {"table": {"a": 4, "b": 5}},
        {"first": [1]},
        {"first": [1, 0]},
        {"first": [0, 1]},
        {"shape": {"side": 0}},
        {"shape": {"side": 9}},
        {"shape": {"side": 5}},
        {"shape": {"side": 6}},
        {"shape": {"side": 4}},
        {"once": 3},
        {"grown": 3},
        {"grown": 2},
        {"part": 4},
        {"part": 1},
        {"part": 5},
        {"part": 23},
        {"map": {"a": 0}},
        {"map": {"a": 9}},
    )
    yield Probe("schema/rules", _writes(body, *specs))
    one = _THINGS + "/t"
    parts = [{"name": "a", "size": 3}, {"name": "b", "size": 1}]
    swapped = [{"name": "b", "size": 1}, {"name": "a", "size": 3}]
    updates = (
        patch(one, {"spec": {"parts": swapped}}, keep=("spec.parts",)),
        patch(one, {"spec": {"parts": [{"name": "b", "size": 0}, {"name": "a", "size": 4}]}}),
        patch(one, {"spec": {"parts": [{"name": "c", "size": 0}]}}, keep=("spec.parts",)),
        patch(one, {"spec": {"once": 2}}, keep=("spec.once",)),
        patch(one, {"spec": {"once": 1}}),
        patch(one, {"spec": {"once": 4}}, keep=("spec.once",)),
        # Nothing changes, so that even a rule that fails is not evaluated.
        patch(one, {"spec": {"once": 4}}, keep=("spec.once", "metadata.generation")),
        patch(one, {"spec": {"once": None}}, keep=("spec.once",)),
        patch(one, {"spec": {"grown": 2}}, keep=("spec.grown",)),
        patch(one, {"spec": {"grown": 1}}),
        patch(one, {"spec": {"grown": 5}}, keep=("spec.grown",)),
        put(one, {"metadata": {"name": "t"}, "spec": {}}, keep="status"),
    )
    yield Probe("schema/transitions", (*_writes(body), post(_THINGS, thing({"parts": parts}), keep="none"), *updates))


_STRING = {"type": "string"}


def _refused() -> dict[str, Any]:
    def spec(**properties: Any) -> dict[str, Any]:
        return _defined(properties)

    twice = definition(_GROUP)["spec"]["versions"][0]
    root = definition(_GROUP, version={**_PLAIN, "schema": {"openAPIV3Schema": {"type": "string"}}})
    return {
        "no-versions": {**definition(_GROUP), "spec": {**definition(_GROUP)["spec"], "versions": []}},
        "same-versions": definition(_GROUP, versions=[twice, {**twice, "storage": False}]),
        "two-stored": definition(_GROUP, versions=[twice, {**twice, "name": "v2"}]),
        "root": root,
        "no-type": spec(a={}),
        "no-items": spec(a={"type": "array"}),
        "items-no-type": spec(a={"type": "array", "items": {}}),
        "both-properties": spec(a={"type": "object", "properties": {"b": _STRING}, "additionalProperties": _STRING}),
        "extra-no-type": spec(a={"type": "object", "additionalProperties": {}}),
        "reference": spec(a={"type": "object", "$ref": "#/x"}),
        "default-nested": spec(a={"type": "object", "default": {"b": 1}, "properties": {"b": _STRING}}),
        "default-required": spec(a={"type": "object", "default": {}, "required": ["b"], "properties": {"b": _STRING}}),
        "rule-empty": spec(a={**_STRING, "x-kubernetes-validations": [{"rule": " "}]}),
        "rule-syntax": spec(a={**_STRING, "x-kubernetes-validations": [{"rule": "self =="}]}),
        "rule-message": spec(a={**_STRING, "x-kubernetes-validations": _rule("true", message="a\nb")}),
        "rule-reason": spec(a={**_STRING, "x-kubernetes-validations": _rule("true", reason="Odd")}),
        "rule-expression": spec(a={**_STRING, "x-kubernetes-validations": _rule("true", messageExpression="1 +")}),
        "rule-not-bool": spec(a={**_STRING, "x-kubernetes-validations": _rule("'x'")}),
        "field-unknown": definition(_GROUP, version={"selectableFields": [{"jsonPath": ".spec.nothing"}]}),
        "field-second": definition(
            _GROUP, version={"selectableFields": [{"jsonPath": ".spec.mode"}, {"jsonPath": ".spec.what.mode"}]}
        ),
        "plural": definition(_GROUP, names={"plural": "Things", "kind": "Thing"}),
        "names-kind": definition(_GROUP, names={"plural": "things", "kind": "Th ing", "listKind": "x y"}),
        "message-not-text": spec(a={**_STRING, "x-kubernetes-validations": _rule("true", messageExpression="1")}),
        "categories": definition(_GROUP, names={"plural": "things", "kind": "Thing", "categories": ["A b"]}),
        "short-names": definition(_GROUP, names={"plural": "things", "kind": "Thing", "shortNames": ["A"]}),
        "group": {**definition(_GROUP), "metadata": {"name": "things.nodots"}, "spec": definition("nodots")["spec"]},
    }


def _definitions() -> Iterator[Probe]:
    for name, body in _refused().items():
        yield Probe(f"schema/define-{name}", (post(CRDS, body),))
    one = f"{CRDS}/things.{_GROUP}"
    base = definition(_GROUP)
    first = (post(CRDS, base, keep="none"), get(_THINGS, until=200, keep="none", patience=8.0))
    kept = ("spec.names", "metadata.generation", "status.acceptedNames", "status.storedVersions")
    second = {**base["spec"]["versions"][0], "name": "v2", "storage": True}
    stored = [{**base["spec"]["versions"][0], "storage": False}, second]
    changes = (
        patch(one, {"spec": {"scope": "Cluster"}}, keep="all"),
        patch(one, {"spec": {"group": "other.example.com"}}),
        patch(one, {"spec": {"names": {"kind": "Other"}}}),
        patch(one, {"spec": {"names": {"plural": "others"}}}),
        patch(one, {"spec": {"names": {"shortNames": ["th"], "categories": ["all"]}}}, keep=("spec.names",)),
        get(one, keep=kept, until_body={"status.acceptedNames.shortNames": ["th"]}, patience=8.0),
        patch(one, {"metadata": {"labels": {"a": "b"}}}, keep=("metadata.generation",)),
        patch(one + "/status", {"status": {"storedVersions": ["v0", "v1"]}}, keep=("status.storedVersions",)),
        patch(one, {"spec": {"versions": stored}}, keep=("status.storedVersions", "metadata.generation")),
        patch(one, {"spec": {"versions": [second]}}),
        patch(one + "/status", {"status": {"storedVersions": ["v2"]}}, keep=("status.storedVersions",)),
        patch(one, {"spec": {"versions": [second]}}, keep=("status.storedVersions",)),
    )
    yield Probe("schema/definition-changes", (*first, *changes))
    conditions = get(one, keep=("status.conditions.type", "status.conditions.status", "status.conditions.reason"))
    yield Probe("schema/definition-conditions", (*first, conditions, get(f"/apis/{_GROUP}/v1")))


def probes() -> Iterator[Probe]:
    """Yield the probes of this table."""
    yield from _keywords()
    yield from _rules()
    yield from _definitions()
