"""CustomResourceDefinitions and their objects: defaults, pruning, CEL rules, status, lists, names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verification.fidelity.probe import JSON_PATCH, STRATEGIC, Probe, Step, apply, delete, get, patch, post, put
from verification.fidelity.probes.objects import (
    CRDS,
    PROTOBUF,
    TABLE,
)

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1, "maximum": 9},
                "mode": {"type": "string", "enum": ["Fast", "Slow"], "default": "Slow"},
                "name": {"type": "string", "maxLength": 5, "pattern": "^[a-z]+$"},
                "tags": {"type": "array", "maxItems": 2, "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                "ports": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {"name": {"type": "string"}, "port": {"type": "integer", "default": 80}},
                    },
                },
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "either": {"x-kubernetes-int-or-string": True},
                "maybe": {"type": "string", "nullable": True},
                "when": {"type": "string", "format": "date-time"},
                "fixed": {
                    "type": "string",
                    "maxLength": 20,
                    "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "fixed is immutable"}],
                },
                "nested": {
                    "type": "object",
                    "default": {},
                    "properties": {"deep": {"type": "string", "default": "yes"}},
                },
                "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
            },
            "x-kubernetes-validations": [
                {
                    "rule": "!has(self.name) || self.size < 5",
                    "message": "named things are small",
                    "fieldPath": ".name",
                    "reason": "FieldValueForbidden",
                },
                {"rule": "self.size != 7", "messageExpression": "'size is ' + 'seven'"},
            ],
        },
        "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
    },
}


def definition(group: str, *, scope: str = "Namespaced", **more: Any) -> dict[str, Any]:
    """A CRD of things in a group of the probe's own."""
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _SCHEMA},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
        "selectableFields": [{"jsonPath": ".spec.mode"}],
        **more.pop("version", {}),
    }
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {"group": group, "scope": scope, "names": names, "versions": [version], **more},
    }


# A group of its own for every probe: definitions are cluster-scoped and probes run side by side.
_GROUP = "{id}.example.com"
_THINGS = f"/apis/{_GROUP}/v1/namespaces/{{ns}}/things"
_ONE = _THINGS + "/t"


def thing(spec: Any = None, **more: Any) -> dict[str, Any]:
    """A Thing."""
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": "Thing",
        "metadata": {"name": "t"},
        "spec": {"size": 1} if spec is None else spec,
        **more,
    }


def _ready() -> tuple[Step, ...]:
    # a list in the namespace returns 200 as soon as the kind is served
    return (post(CRDS, definition(_GROUP), keep="none"), get(_THINGS, until=200, keep="code", patience=8.0))


_WRITES: dict[str, Any] = {
    "plain": {"size": 1},
    "pruned": {"size": 1, "what": 1, "nested": {"deep": "x", "other": 1}},
    "kept": {"size": 1, "free": {"any": {"thing": [1, "a"]}}},
    "required": {},
    "minimum": {"size": 0},
    "maximum": {"size": 10},
    "wrong-type": {"size": "1"},
    "enum": {"size": 1, "mode": "Odd"},
    "length": {"size": 1, "name": "abcdef"},
    "pattern": {"size": 1, "name": "A1"},
    "set-twice": {"size": 1, "tags": ["a", "a"]},
    "too-many": {"size": 1, "tags": ["a", "b", "c"]},
    "map-twice": {"size": 1, "ports": [{"name": "a"}, {"name": "a"}]},
    "map-default": {"size": 1, "ports": [{"name": "a"}]},
    "map-no-key": {"size": 1, "ports": [{"port": 1}]},
    "int-or-string": {"size": 1, "either": "5%"},
    "int-or-bool": {"size": 1, "either": True},
    "null": {"size": 1, "mode": None, "maybe": None, "name": None},
    "bad-time": {"size": 1, "when": "soon"},
    "rule": {"size": 6, "name": "abc"},
    "rule-message": {"size": 7},
    "rules-both": {"size": 7, "name": "abc"},
    "additional": {"size": 1, "counts": {"a": 1, "b": "x"}},
    "several": {"size": 0, "mode": "Odd", "tags": ["a", "a"]},
    "float": {"size": 1.5},
    "string": "x",
}

_DEFINITIONS: dict[str, dict[str, Any]] = {
    "plain": definition(_GROUP),
    "cluster": definition(_GROUP, scope="Cluster"),
    "bad-scope": definition(_GROUP, scope="World"),
    "name-mismatch": {**definition(_GROUP), "metadata": {"name": "other.{id}.example.com"}},
    "no-schema": definition(_GROUP, version={"schema": None}),
    "not-structural": definition(_GROUP, version={"schema": {"openAPIV3Schema": {"properties": {"a": {}}}}}),
    "no-storage": definition(_GROUP, version={"storage": False}),
    "bad-version": definition(_GROUP, version={"name": "V_1"}),
    "bad-rule": definition(
        _GROUP,
        version={
            "schema": {
                "openAPIV3Schema": {
                    "type": "object",
                    "properties": {
                        "spec": {
                            "type": "object",
                            "x-kubernetes-validations": [{"rule": "self.nothing > 1"}],
                        }
                    },
                }
            }
        },
    ),
    "bad-default": definition(
        _GROUP,
        version={
            "schema": {
                "openAPIV3Schema": {
                    "type": "object",
                    "properties": {
                        "spec": {"type": "object", "properties": {"a": {"type": "integer", "default": "x"}}}
                    },
                }
            }
        },
    ),
    "list-map-no-keys": definition(
        _GROUP,
        version={
            "schema": {
                "openAPIV3Schema": {
                    "type": "object",
                    "properties": {
                        "spec": {"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object"}}
                    },
                }
            },
            "selectableFields": None,
            "additionalPrinterColumns": None,
        },
    ),
    "no-kind": definition(_GROUP, names={"plural": "things"}),
    "unknown-type": definition(
        _GROUP, version={"schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "texts"}}}}}
    ),
    "unknown-type-below-a-default": definition(
        _GROUP,
        version={
            "schema": {
                "openAPIV3Schema": {
                    "type": "object",
                    "properties": {
                        "spec": {"type": "object", "default": {}, "properties": {"mode": {"type": "texts"}}}
                    },
                }
            },
            "selectableFields": [],
        },
    ),
    "no-version-name": definition(_GROUP, versions=[{"served": True, "storage": True}]),
}


def probes() -> Iterator[Probe]:
    """Yield the probes of this table."""
    for name, body in _DEFINITIONS.items():
        keep = ("spec.names", "spec.conversion", "spec.scope", "metadata.generation")
        yield Probe(f"crd/define-{name}", (post(CRDS, body, keep=keep),))
    for name, spec in _WRITES.items():
        yield Probe(f"crd/create-{name}", (*_ready(), post(_THINGS, thing(spec))))
    first = post(_THINGS, thing({"size": 2, "fixed": "a"}), keep="none")
    many: dict[str, tuple[Step, ...]] = {
        "strict": (post(_THINGS, thing({"size": 1, "what": 1}), query=(("fieldValidation", "Strict"),)),),
        "warn": (post(_THINGS, thing({"size": 1, "what": 1}), query=(("fieldValidation", "Warn"),)),),
        "no-spec": (post(_THINGS, {"metadata": {"name": "t"}}),),
        "wrong-kind": (post(_THINGS, {**thing(), "kind": "Other"}),),
        "no-kind": (post(_THINGS, {"metadata": {"name": "t"}, "spec": {"size": 1}}),),
        "wrong-version": (post(_THINGS, {**thing(), "apiVersion": "example.com/v2"}),),
        "twice": (first, post(_THINGS, thing())),
        "status-dropped": (post(_THINGS, thing(status={"phase": "X"})),),
        "status-subresource": (first, patch(_ONE + "/status", {"status": {"phase": "X"}, "spec": {"size": 3}})),
        "status-bad": (first, patch(_ONE + "/status", {"status": {"phase": 5}})),
        "status-put": (first, put(_ONE + "/status", thing(status={"phase": "X"}))),
        "generation-spec": (first, patch(_ONE, {"spec": {"size": 3}})),
        "generation-label": (first, patch(_ONE, {"metadata": {"labels": {"a": "b"}}})),
        "immutable": (first, patch(_ONE, {"spec": {"fixed": "b"}})),
        "strategic": (first, patch(_ONE, {"spec": {"size": 3}}, STRATEGIC)),
        "json-patch": (first, patch(_ONE, [{"op": "replace", "path": "/spec/size", "value": 3}], JSON_PATCH)),
        "put-no-version": (first, put(_ONE, thing())),
        "put-stale": (first, put(_ONE, {**thing(), "metadata": {"name": "t", "resourceVersion": "1"}})),
        "put-version": (
            first,
            # Step 2 is `first`: _ready() takes two steps.
            put(_ONE, {**thing(), "metadata": {"name": "t", "resourceVersion": "{2.metadata.resourceVersion}"}}),
        ),
        "apply": (apply(_ONE, thing({"size": 1, "ports": [{"name": "a", "port": 1}]}), managed=True),),
        "apply-two": (
            apply(_ONE, thing({"size": 1, "ports": [{"name": "a", "port": 1}]}), keep="none"),
            apply(_ONE, thing({"size": 1, "ports": [{"name": "b", "port": 2}]}), "two", managed=True),
        ),
        "apply-conflict": (apply(_ONE, thing(), keep="none"), apply(_ONE, thing({"size": 2}), "two")),
        "list": (first, get(_THINGS)),
        "list-field": (
            first,
            get(_THINGS, query=(("fieldSelector", "spec.mode=Slow"),), keep=("items.metadata.name",)),
        ),
        "list-bad-field": (first, get(_THINGS, query=(("fieldSelector", "spec.size=2"),))),
        "table": (
            first,
            get(
                _THINGS,
                headers=TABLE,
                keep=("kind", "columnDefinitions.name"),
            ),
        ),
        "delete": (first, delete(_ONE)),
        "absent": (get(_ONE), delete(_ONE)),
        "subresource-unknown": (first, get(_ONE + "/scale")),
        "protobuf": (first, get(_ONE, headers={"Accept": PROTOBUF})),
        "version-unknown": (get(_THINGS.replace("/v1/", "/v2/")),),
        "discovery": (get(f"/apis/{_GROUP}/v1"),),
        "group": (get(f"/apis/{_GROUP}", until=200),),
        "conditions": (get(CRDS + f"/things.{_GROUP}", keep=("status.acceptedNames", "status.storedVersions")),),
        "removed": (
            first,
            delete(CRDS + f"/things.{_GROUP}", keep="code"),
            get(CRDS + f"/things.{_GROUP}", until=404, keep="code"),
            get(_ONE, until=404),
        ),
    }
    for name, steps in many.items():
        yield Probe(f"crd/{name}", (*_ready(), *steps))
    # Without conversion webhook: both versions show the same fields.
    two = definition(_GROUP)
    second = {**two["spec"]["versions"][0], "name": "v2", "storage": False}
    two["spec"]["versions"] = [*two["spec"]["versions"], second]
    path = _THINGS.replace("/v1/", "/v2/")
    yield Probe(
        "crd/two-versions",
        (
            post(CRDS, two, keep="none"),
            get(path, until=200, keep="code", patience=8.0),
            post(_THINGS, thing(), keep="code"),
            get(path + "/t"),
        ),
    )
