"""Refusals whose causes changed in 1.37, as observed on kube-apiserver 1.36.2 and 1.37.2."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apiserver_emulator import ApiServerEmulator
from dra_api.transport import Transport

CORE = "/api/v1/namespaces/default"
MAPS = f"{CORE}/configmaps"
MERGE = "application/merge-patch+json"


@pytest.fixture(params=["1.36", "1.37"])
def released(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Transport]]:
    """A release and a control plane of it."""
    version: str = request.param
    with ApiServerEmulator(directory=tmp_path / "plane", kubernetes_version=version, seed=1, https=False) as plane:
        yield version, plane.transport()
    assert plane.take_failures() == []


def causes(answer: Any, code: int = 422) -> list[tuple[str, str, str]]:
    assert answer.status == code, answer.body
    found = json.loads(answer.body)["details"]["causes"]
    return [(cause["reason"].removeprefix("FieldValue"), cause["field"], cause["message"]) for cause in found]


def test_owners(released: tuple[str, Transport]) -> None:
    version, transport = released
    owner = {"apiVersion": "a/b/c", "kind": "Node", "name": "n"}
    body = json.dumps({"metadata": {"name": "a", "ownerReferences": [owner]}}).encode()
    path = "metadata.ownerReferences"
    expected = {
        "1.36": [
            ("Invalid", f"{path}.uid", 'Invalid value: "": must not be empty'),
            ("Invalid", f"{path}.apiVersion", 'Invalid value: "a/b/c": version must not be empty'),
        ],
        "1.37": [
            ("Required", f"{path}[0].uid", "Required value: must not be empty"),
            (
                "Invalid",
                f"{path}[0].apiVersion",
                'Invalid value: "a/b/c": must be <group>/<version> or <version>',
            ),
        ],
    }
    assert causes(transport.request("POST", MAPS, body=body)) == expected[version]


def test_a_problem_that_is_found_several_times(released: tuple[str, Transport]) -> None:
    version, transport = released
    assert transport.request("POST", MAPS, body=b'{"metadata": {"name": "a"}}').status == 201
    change = b'{"metadata": {"labels": {"a": "b c"}}}'
    found = causes(transport.request("PATCH", f"{MAPS}/a", body=change, content_type=MERGE))
    assert len(set(found)) == 1
    assert len(found) == (4 if version == "1.36" else 1)


def test_a_patch_that_is_not_json(released: tuple[str, Transport]) -> None:
    version, transport = released
    assert transport.request("POST", MAPS, body=b'{"metadata": {"name": "a"}}').status == 201
    answer = transport.request("PATCH", f"{MAPS}/a", body=b"{", content_type=MERGE)
    assert answer.status == 400
    expected = {"1.36": "error decoding patch: unexpected end of JSON input", "1.37": "invalid JSON patch"}
    assert json.loads(answer.body)["message"] == expected[version]


def test_a_review_of_nothing(released: tuple[str, Transport]) -> None:
    version, transport = released
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    ((reason, field, _),) = causes(transport.request("POST", path, body=b'{"spec": {}}'))
    assert (reason, field) == ("Invalid", "spec.resourceAttributes" if version == "1.36" else "spec")


def test_the_provider_of_a_node(released: tuple[str, Transport]) -> None:
    version, transport = released
    node = b'{"metadata": {"name": "n"}, "spec": {"providerID": "one://x"}}'
    assert transport.request("POST", "/api/v1/nodes", body=node).status == 201
    change = b'{"spec": {"providerID": "two://y"}}'
    found = causes(transport.request("PATCH", "/api/v1/nodes/n", body=change, content_type=MERGE))
    expected = {
        "1.36": ("Forbidden", 'Forbidden: node updates may not change providerID except from "" to valid'),
        "1.37": ("Invalid", "Invalid value: null: field cannot be modified once set"),
    }
    reason, message = expected[version]
    assert found == [(reason, "spec.providerID", message)]


def test_conditions_of_a_device(released: tuple[str, Transport]) -> None:
    version, transport = released
    claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
    request = {"name": "r", "exactly": {"deviceClassName": "gpu"}}
    claim = {"metadata": {"name": "c"}, "spec": {"devices": {"requests": [request]}}}
    assert transport.request("POST", claims, body=json.dumps(claim).encode()).status == 201
    device = {"driver": "d.example.com", "pool": "p", "device": "d"}
    time = "2026-01-02T03:04:05Z"
    condition = {"type": "", "status": "", "reason": "R", "message": "", "lastTransitionTime": time}
    status = {
        "allocation": {"devices": {"results": [{"request": "r", **device, "shareID": "x"}]}},
        "devices": [{**device, "shareID": "x", "conditions": [condition]}],
    }
    body = json.dumps({"status": status}).encode()
    found = causes(transport.request("PATCH", f"{claims}/c/status", body=body, content_type=MERGE))
    seen = {(reason, field.removeprefix("status.devices[0].")) for reason, field, _ in found}
    reason = "Required" if version == "1.37" else "Invalid"
    assert (reason, "conditions[0].type") in seen
    assert ("Required" if version == "1.37" else "NotSupported", "conditions[0].status") in seen
    text = "must be a lowercase UUID in 8-4-4-4-12 format" if version == "1.37" else "invalid UUID length: 1"
    assert [message.endswith(text) for _, field, message in found if field.endswith("shareID")] == [True, True]
