"""CustomResourceDefinitions and their objects."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from apiserver_emulator import ApiServerEmulator
from dra_api.client import ApiError, Conflict, Invalid, KubeClient, NotFound
from dra_api.objects import CRDS, Resource

Obj = dict[str, Any]
WIDGETS = Resource("example.com", "v1", "widgets", "Widget")

SCHEMA: Obj = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "x-kubernetes-validations": [
                {"rule": "self.size <= self.limit", "message": "size must not exceed limit"},
            ],
            "properties": {
                "size": {"type": "integer", "minimum": 1},
                "limit": {"type": "integer", "default": 10},
                "colour": {"type": "string", "enum": ["red", "blue"]},
                "port": {"x-kubernetes-int-or-string": True},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "fixed": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]},
                "maybe": {"type": "string", "nullable": True},
                "parts": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {"name": {"type": "string"}, "n": {"type": "integer", "default": 1}},
                    },
                },
            },
        },
        "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
    },
}


def definition(schema: Obj | None = None) -> Obj:
    return {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": copy.deepcopy(schema or SCHEMA)},
                    "subresources": {"status": {}},
                    "selectableFields": [{"jsonPath": ".spec.colour"}],
                    "additionalPrinterColumns": [
                        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
                    ],
                }
            ],
        },
    }


def widget(name: str = "w", **spec: Any) -> Obj:
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"size": 2, **spec}}


@pytest.fixture
def widgets(client: KubeClient) -> KubeClient:
    client.create(CRDS, definition())
    return client


def test_a_definition_is_established_and_served_at_once(client: KubeClient) -> None:
    made = client.create(CRDS, definition())
    conditions = {c["type"]: c["status"] for c in made["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
    assert made["status"]["acceptedNames"]["listKind"] == "WidgetList"
    assert client.served("example.com") == ["v1"]
    client.create(WIDGETS, widget())
    assert client.list(WIDGETS).items[0]["kind"] == "Widget"


def test_defaults_and_pruning(widgets: KubeClient) -> None:
    made = widgets.create(WIDGETS, widget(unknown=1, free={"a": {"b": 1}}, parts=[{"name": "p", "x": 1}], maybe=None))
    assert made["spec"] == {
        "size": 2,
        "limit": 10,
        "free": {"a": {"b": 1}},
        "parts": [{"name": "p", "n": 1}],
        "maybe": None,
    }
    assert made["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("spec", "reason", "field", "message"),
    [
        ({"size": "big"}, "FieldValueTypeInvalid", "spec.size", 'spec.size in body must be of type integer: "string"'),
        ({"size": 0}, "FieldValueInvalid", "spec.size", "should be greater than or equal to 1"),
        ({"size": None}, "FieldValueRequired", "spec.size", "Required value"),
        ({"colour": "pink"}, "FieldValueNotSupported", "spec.colour", 'supported values: "red", "blue"'),
        ({"size": 11}, "FieldValueInvalid", "spec", "size must not exceed limit"),
        ({"parts": [{"name": "a"}, {"name": "a"}]}, "FieldValueDuplicate", "spec.parts[1]", '{"name":"a"}'),
        ({"port": 1.5}, "FieldValueTypeInvalid", "spec.port", "must be of type"),
    ],
)
def test_violations(widgets: KubeClient, spec: Obj, reason: str, field: str, message: str) -> None:
    with pytest.raises(Invalid) as refused:
        widgets.create(WIDGETS, widget(**spec))
    # As in kube-apiserver, the notice about rules that did not run comes first.
    causes = [c for c in refused.value.causes if c["field"] != "<nil>"]
    assert [(c["reason"], c["field"]) for c in causes] == [(reason, field)]
    assert message in refused.value.message
    assert refused.value.message.startswith('Widget.example.com "w" is invalid: ')


NUMBER: Obj = {"type": "integer"}


@pytest.mark.parametrize(
    ("field", "value", "errors"),
    [
        (
            {"type": "string", "anyOf": [{"pattern": "^a"}, {"maxLength": 1}]},
            "bc",
            ['"spec.a" must validate at least one schema (anyOf)', "spec.a in body should match '^a'"],
        ),
        (
            {**NUMBER, "allOf": [{"minimum": 5}, {"maximum": 1}]},
            3,
            [
                '"spec.a" must validate all the schemas (allOf)',
                "spec.a in body should be greater than or equal to 5",
                "spec.a in body should be less than or equal to 1",
            ],
        ),
        (
            {**NUMBER, "oneOf": [{"minimum": 9}, {"maximum": 1}]},
            5,
            [
                '"spec.a" must validate one and only one schema (oneOf). Found none valid',
                "spec.a in body should be greater than or equal to 9",
            ],
        ),
        (
            {**NUMBER, "oneOf": [{"minimum": 3}, {"maximum": 5}]},
            4,
            ['"spec.a" must validate one and only one schema (oneOf). Found 2 valid alternatives'],
        ),
        ({"type": "string", "not": {"enum": ["x"]}}, "x", ['"spec.a" must not validate the schema (not)']),
        (
            {"type": "object", "properties": {"b": NUMBER}, "allOf": [{"properties": {"b": {"minimum": 2}}}]},
            {"b": 1},
            [
                '"spec.a" must validate all the schemas (allOf)',
                "spec.a.b in body should be greater than or equal to 2",
            ],
        ),
        ({**NUMBER, "multipleOf": 2}, 3, ["spec.a in body should be a multiple of 2"]),
    ],
    ids=["any-of", "all-of", "one-of-none", "one-of-two", "not", "all-of-inner", "multiple-of"],
)
def test_violations_of_combined_schemas(client: KubeClient, field: Obj, value: Any, errors: list[str]) -> None:
    spec = {"type": "object", "properties": {"a": field}}
    made = definition({"type": "object", "properties": {"spec": spec}})
    made["spec"]["versions"][0]["selectableFields"] = None
    client.create(CRDS, made)
    with pytest.raises(Invalid) as refused:
        client.create(WIDGETS, {"metadata": {"name": "w", "namespace": "default"}, "spec": {"a": value}})
    messages = [each["message"] for each in refused.value.causes]
    assert len(messages) == len(errors)
    assert all(message.endswith(error) for message, error in zip(messages, errors, strict=True))


def test_transition_rules(widgets: KubeClient) -> None:
    made = widgets.create(WIDGETS, widget(fixed="a"))
    with pytest.raises(Invalid) as refused:
        widgets.update(WIDGETS, {**made, "spec": {**made["spec"], "fixed": "b"}})
    assert refused.value.causes[0]["message"] == 'Invalid value: "b": failed rule: self == oldSelf'


def test_status_is_a_subresource_of_its_own(widgets: KubeClient) -> None:
    made = widgets.create(WIDGETS, {**widget(), "status": {"phase": "x"}})
    assert "status" not in made
    found = widgets.patch(
        WIDGETS, "w", {"status": {"phase": "On"}, "spec": {"size": 9}}, "default", subresource="status"
    )
    assert (found["status"], found["spec"]["size"], found["metadata"]["generation"]) == ({"phase": "On"}, 2, 1)


def test_updates_of_custom_resources_need_a_resource_version(widgets: KubeClient) -> None:
    made = widgets.create(WIDGETS, widget())
    blind = copy.deepcopy(made)
    del blind["metadata"]["resourceVersion"]
    with pytest.raises(Invalid, match="must be specified for an update"):
        widgets.update(WIDGETS, blind)
    widgets.update(WIDGETS, {**made, "spec": {"size": 3}})
    with pytest.raises(Conflict):
        widgets.update(WIDGETS, {**made, "spec": {"size": 4}})


def test_apply_owns_list_items_of_custom_resources(widgets: KubeClient) -> None:
    def body(*names: str) -> Obj:
        found = widget(parts=[{"name": name} for name in names])
        return {"apiVersion": "example.com/v1", "kind": "Widget", **found}

    widgets.patch(WIDGETS, "w", body("a"), "default", kind="apply", field_manager="one", force=True)
    found = widgets.patch(WIDGETS, "w", body("b"), "default", kind="apply", field_manager="two", force=True)
    assert [p["name"] for p in found["spec"]["parts"]] == ["a", "b"]
    found = widgets.patch(WIDGETS, "w", body(), "default", kind="apply", field_manager="one", force=True)
    assert [p["name"] for p in found["spec"]["parts"]] == ["b"]


def test_strategic_merge_is_not_for_custom_resources(widgets: KubeClient) -> None:
    widgets.create(WIDGETS, widget())
    with pytest.raises(ApiError) as refused:
        widgets.patch(WIDGETS, "w", {"spec": {"size": 3}}, "default", kind="strategic")
    assert refused.value.status == 415


def test_selectable_fields_and_columns(plane: ApiServerEmulator, widgets: KubeClient) -> None:
    widgets.create(WIDGETS, widget("r", colour="red"))
    widgets.create(WIDGETS, widget("b", colour="blue"))
    assert [o["metadata"]["name"] for o in widgets.list(WIDGETS, field_selector="spec.colour=red").items] == ["r"]
    accept = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    table = json.loads(plane.transport().request("GET", "/apis/example.com/v1/widgets", headers=accept).body)
    assert [c["name"] for c in table["columnDefinitions"]] == [
        "Name",
        "Size",
    ]  # a definition with columns has no others
    assert table["rows"][0]["cells"][:2] == ["b", 2]


def test_bad_definitions_are_refused(client: KubeClient) -> None:
    loose = definition({"type": "object", "properties": {"spec": {"properties": {"a": {"type": "string"}}}}})
    with pytest.raises(Invalid) as refused:
        client.create(CRDS, loose)
    assert refused.value.causes[0]["field"].endswith("openAPIV3Schema.properties[spec].type")
    broken = definition()
    broken["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-validations"] = [
        {"rule": "self.size <"}
    ]
    with pytest.raises(Invalid, match="compilation failed"):
        client.create(CRDS, broken)
    misnamed = definition()
    misnamed["metadata"]["name"] = "other.example.com"
    with pytest.raises(Invalid, match=r"must be spec.names.plural"):
        client.create(CRDS, misnamed)


@pytest.mark.parametrize(
    ("spec", "field", "words"),
    [
        (
            {"type": "object", "x-kubernetes-validations": [{"rule": "self.nothing > 1"}]},
            "properties[spec].x-kubernetes-validations[0].rule",
            "undefined field 'nothing'",
        ),
        (
            {"type": "object", "properties": {"a": {"type": "integer", "default": "x"}}},
            "properties[spec].properties[a].default",
            "must be of type integer",
        ),
        (
            {"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object"}},
            "properties[spec].x-kubernetes-list-map-keys",
            "must not be empty if x-kubernetes-list-type is map",
        ),
    ],
    ids=["rule", "default", "list-map"],
)
def test_defaults_and_rules_that_do_not_fit_the_schema_are_refused(
    client: KubeClient, spec: Obj, field: str, words: str
) -> None:
    with pytest.raises(Invalid) as refused:
        client.create(CRDS, definition({"type": "object", "properties": {"spec": spec}}))
    cause = next(each for each in refused.value.causes if each["field"].endswith(field))
    assert words in cause["message"]


@pytest.mark.parametrize(
    ("spec", "field", "words"),
    [
        ({"names": {"plural": "widgets", "kind": "Wid get"}}, "spec.names.kind", "may have mixed case"),
        (
            {"names": {"plural": "widgets", "kind": "Widget", "shortNames": ["W"]}},
            "spec.names.shortNames[0]",
            "a DNS-1035 label",
        ),
        (
            {"names": {"plural": "widgets", "kind": "Widget", "categories": ["a", "b c"]}},
            "spec.names.categories[1]",
            "a DNS-1035 label",
        ),
        ({"group": "nodots"}, "spec.group", "should be a domain with at least one dot"),
        ({"versions": []}, "spec.versions", "must have exactly one version marked as storage version"),
        ({"versions": []}, "status.storedVersions", "must have at least one stored version"),
    ],
)
def test_names_and_versions_are_checked(client: KubeClient, spec: Obj, field: str, words: str) -> None:
    body = definition()
    body["spec"].update(spec)
    with pytest.raises(Invalid) as refused:
        client.create(CRDS, body)
    assert [field for each in refused.value.causes if each["field"] == field and words in each["message"]]


@pytest.mark.parametrize(
    ("rule", "name", "words"),
    [
        ({"rule": "'x'"}, "rule", "cel expression must evaluate to a bool"),
        ({"rule": "true", "messageExpression": "1"}, "messageExpression", "must evaluate to a string"),
        ({"rule": "true", "messageExpression": "1 +"}, "messageExpression", "messageExpression compilation failed"),
        ({"rule": "true", "message": "a\nb"}, "message", "must not contain line breaks"),
    ],
)
def test_rules_and_their_messages_have_types(client: KubeClient, rule: Obj, name: str, words: str) -> None:
    spec = {"type": "object", "x-kubernetes-validations": [rule]}
    with pytest.raises(Invalid) as refused:
        client.create(CRDS, definition({"type": "object", "properties": {"spec": spec}}))
    cause = next(each for each in refused.value.causes if each["field"].endswith(f"[0].{name}"))
    assert words in cause["message"]


def test_a_version_in_which_objects_are_stored_cannot_be_removed(client: KubeClient) -> None:
    made = client.create(CRDS, definition())
    first = made["spec"]["versions"][0]
    second = {**first, "name": "v2"}
    both = [{**first, "storage": False}, second]
    changed = client.patch(CRDS, "widgets.example.com", {"spec": {"versions": both}})
    assert changed["status"]["storedVersions"] == ["v1", "v2"]
    with pytest.raises(Invalid, match=r"v1 was previously a storage version, and must remain in spec\.versions"):
        client.patch(CRDS, "widgets.example.com", {"spec": {"versions": [second]}})
    migrated = {"status": {"storedVersions": ["v2"]}}
    client.patch(CRDS, "widgets.example.com", migrated, subresource="status")
    changed = client.patch(CRDS, "widgets.example.com", {"spec": {"versions": [second]}})
    assert changed["status"]["storedVersions"] == ["v2"]


def test_a_version_has_a_name_that_can_be_a_path(client: KubeClient) -> None:
    odd = definition()
    odd["spec"]["versions"][0]["name"] = "V_1"
    with pytest.raises(Invalid, match="a DNS-1035 label must consist"):
        client.create(CRDS, odd)


def test_rules_are_checked_with_the_types_of_their_schema(client: KubeClient) -> None:
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                    "either": {"x-kubernetes-int-or-string": True},
                    "when": {"type": "string", "format": "date-time"},
                    "in-use": {"type": "boolean"},
                    "items": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
                    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                },
                "x-kubernetes-validations": [
                    {"rule": "self.free.any.depth == 1 || type(self.either) == int"},
                    {"rule": "!has(self.when) || self.when > timestamp('2020-01-01T00:00:00Z')"},
                    {"rule": "self.in__dash__use && self.items.all(i, i.n > 0)"},
                    {"rule": "self.labels['a'] == oldSelf.labels.a"},
                ],
            }
        },
        "x-kubernetes-validations": [{"rule": "self.metadata.name.startsWith('a') && self.kind != ''"}],
    }
    typed = definition(schema)
    del typed["spec"]["versions"][0]["selectableFields"]
    assert client.create(CRDS, typed, dry_run=True)


def test_a_deleted_definition_takes_its_objects_and_watches_along(
    plane: ApiServerEmulator, widgets: KubeClient
) -> None:
    widgets.create(WIDGETS, widget())
    stream = plane.transport().stream("/apis/example.com/v1/widgets", query=[("watch", "true")])
    widgets.delete(CRDS, "widgets.example.com")
    assert plane.server.controllers.wait_idle(5)
    assert widgets.find(CRDS, "widgets.example.com") is None
    with pytest.raises(NotFound):
        widgets.list(WIDGETS)
    assert [json.loads(line)["type"] for line in stream] == ["ADDED", "DELETED"]  # type: ignore[union-attr]
