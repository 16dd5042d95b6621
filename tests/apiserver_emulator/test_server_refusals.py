"""Bodies that a real API server refuses, with its texts: values out of range, kinds, roles, applied fields."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dra_api.transport import Transport

MAPS = "/api/v1/namespaces/default/configmaps"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
APPLY = "application/apply-patch+yaml"


def refused(answer: Any, code: int) -> str:
    assert answer.status == code, answer.body
    return str(json.loads(answer.body)["message"])


def a_slice(**pool: Any) -> bytes:
    spec = {"driver": "d.example.com", "nodeName": "n", "pool": {"name": "p", "resourceSliceCount": 1, **pool}}
    return json.dumps({"metadata": {"name": "s"}, "spec": spec}).encode()


@pytest.mark.parametrize("number", ["1.0", "1.5", "9223372036854775808"])
def test_a_number_that_the_type_cannot_hold(transport: Transport, number: str) -> None:
    body = a_slice(generation=0).replace(b'"generation": 0', f'"generation": {number}'.encode())
    message = refused(transport.request("POST", SLICES, body=body), 400)
    assert message == (
        'ResourceSlice in version "v1" cannot be handled as a ResourceSlice: json: cannot unmarshal '
        f"number {number} into Go struct field ResourcePool.spec.pool.generation of type int64"
    )


def test_a_whole_number_in_yaml_is_one(transport: Transport) -> None:
    pool = b"pool: {name: p, generation: 1.0, resourceSliceCount: 1}"
    body = b"metadata: {name: y}\nspec: {driver: d.example.com, nodeName: n, " + pool + b"}"
    answer = transport.request("POST", SLICES, body=body, content_type="application/yaml")
    assert answer.status == 201, answer.body
    transport.request("DELETE", f"{SLICES}/y")


@pytest.mark.parametrize("time", ["yesterday", "2026-01-01", ""])
def test_an_invalid_time(transport: Transport, time: str) -> None:
    body = json.dumps({"metadata": {"name": "t", "creationTimestamp": time}}).encode()
    assert f'parsing time "{time}" as "2006-01-02T15:04:05Z07:00"' in refused(
        transport.request("POST", MAPS, body=body), 400
    )


def test_an_object_of_another_kind_or_version(transport: Transport) -> None:
    wrong = transport.request("POST", MAPS, body=b'{"kind": "Secret", "metadata": {"name": "a"}}')
    assert refused(wrong, 400).endswith("converting (v1.Secret) to (core.ConfigMap): unknown conversion")
    old = transport.request("POST", MAPS, body=b'{"apiVersion": "v2", "metadata": {"name": "a"}}')
    assert 'no kind "ConfigMap" is registered for version "v2"' in refused(old, 400)
    beta = b'{"apiVersion": "resource.k8s.io/v1beta1", "metadata": {"name": "s"}}'
    assert "does not match the expected API version" in refused(transport.request("POST", SLICES, body=beta), 400)


def test_null_is_an_empty_object(transport: Transport) -> None:
    assert "name or generateName is required" in refused(transport.request("POST", MAPS, body=b"null"), 422)


def test_rules_of_roles_are_validated(transport: Transport) -> None:
    role = b'{"metadata": {"name": "r"}, "rules": [{"nonResourceURLs": ["/x"], "verbs": ["get"]}, {}]}'
    message = refused(transport.request("POST", f"{RBAC}/namespaces/default/roles", body=role), 422)
    assert "namespaced rules cannot apply to non-resource URLs" in message
    assert message.endswith("rules[1].verbs: Required value]")
    assert transport.request("POST", f"{RBAC}/clusterroles", body=role.replace(b", {}", b"")).status == 201
    transport.request("DELETE", f"{RBAC}/clusterroles/r")


def test_a_cluster_role_binding_refers_to_a_cluster_role(transport: Transport) -> None:
    body = b'{"metadata": {"name": "b"}, "roleRef": {"kind": "Role", "name": "r"}}'
    message = refused(transport.request("POST", f"{RBAC}/clusterrolebindings", body=body), 422)
    assert 'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"' in message


def test_applied_objects_must_be_of_the_kind(transport: Transport) -> None:
    def apply(**more: Any) -> Any:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, **more}
        return transport.request(
            "PATCH", f"{MAPS}/a", query=[("fieldManager", "m")], body=json.dumps(body).encode(), content_type=APPLY
        )

    start = "failed to create typed patch object (/a; /v1, Kind=ConfigMap): "
    assert refused(apply(nonsense=1), 500) == f"{start}.nonsense: field not declared in schema"
    assert refused(apply(data={"k": {"a": 1}}), 500) == (
        f'{start}.data.k: expected string, got &value.valueUnstructured{{Value:map[string]interface {{}}{{"a":1}}}}'
    )
    assert apply(data={"k": "v"}).status == 201
    other = apply(data={"k": "v"}, metadata={"name": "a", "uid": "other"})
    assert "metadata.uid: Invalid value" in refused(other, 422)
    transport.request("DELETE", f"{MAPS}/a")
