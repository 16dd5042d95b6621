"""The published definitions load in every minor, with all that patches, pruning and kubectl need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from apiserver_emulator.field_validation import TypeMismatchError
from apiserver_emulator.schema_tree import Node
from apiserver_emulator.schemas import GVK, MINORS, UnknownKindError, load
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


MERGED = frozenset({"merge"})


@pytest.mark.parametrize(
    ("gvk", "path", "list_type", "map_keys", "merge_key", "patch_strategies"),
    [
        (POD, ("spec", "containers"), "map", ("name",), "name", MERGED),
        (POD, ("spec", "containers", "ports"), "map", ("containerPort", "protocol"), "containerPort", MERGED),
        (POD, ("metadata", "finalizers"), "set", (), "", MERGED),
        (SLICE, ("spec", "devices"), "atomic", (), "", frozenset()),
        (CLAIM, ("status", "devices"), "map", ("driver", "device", "pool", "shareID"), "", frozenset()),
        (CLAIM, ("status", "reservedFor"), "map", ("uid",), "uid", MERGED),
        (CLAIM, ("spec", "devices", "requests"), "atomic", (), "", frozenset()),
    ],
)
def test_lists_have_their_extensions(
    gvk: GVK,
    path: tuple[str, ...],
    list_type: str,
    map_keys: tuple[str, ...],
    merge_key: str,
    patch_strategies: frozenset[str],
) -> None:
    """Server-side apply reads the first two, strategic merge patches the others."""
    node = at(gvk, path)
    assert node is not None
    assert node.type == "array"
    found = (node.list_type, node.map_keys, node.merge_key, node.patch_strategies)
    assert found == (list_type, map_keys, merge_key, patch_strategies)


def test_a_text_is_no_list_and_an_unknown_field_has_no_type() -> None:
    text = at(POD, ("spec", "nodeName"))
    assert text is not None
    assert text.type == "string"
    assert at(POD, ("spec", "nowhere")) is None


def at(gvk: GVK, path: tuple[str, ...]) -> Node | None:
    """Return the type at a path of field names, without indices."""
    node: Node | None = load("1.36").root(gvk)
    for name in path:
        while node is not None and node.type == "array":
            node = node.items
        node = node.child(name) if node is not None else None
    return node


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
