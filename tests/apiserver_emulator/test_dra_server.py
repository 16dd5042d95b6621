"""The same writes through the whole server: bytes in, status code, reason and causes out, and the stored object back.

Every create case with the gates of `ALL_ON` is sent in process; the first of each kind in protobuf too.
"""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from apiserver_emulator import ApiServerEmulator
from apiserver_emulator.protobuf import encode
from dra_api.transport import Transport
from verification.fidelity.dra_cases import (
    ALL_ON,
    CASES,
    REASONS,
    Case,
    Obj,
    allocation,
    claim,
    consumer,
    first,
    request,
    status,
    sub,
)

PLURALS = {
    "DeviceClass": "deviceclasses",
    "ResourceClaim": "resourceclaims",
    "ResourceClaimTemplate": "resourceclaimtemplates",
    "ResourceSlice": "resourceslices",
    "DeviceTaintRule": "devicetaintrules",
    "ResourcePoolStatusRequest": "resourcepoolstatusrequests",
}
CREATES = [case for case in CASES if case.op == "create" and not case.gates]


@pytest.fixture(scope="module")
def transport(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Transport]:
    directory: Path = tmp_path_factory.mktemp("plane")
    gates = {name: value for name, value in ALL_ON.items() if name != "DRAAdminAccess"}
    # The answers were observed on this release.
    with ApiServerEmulator(
        directory=directory, kubernetes_version="1.36", feature_gates=gates, seed=1, https=False
    ) as plane:
        yield plane.transport()


def collection(obj: Obj) -> str:
    base = f"/apis/{obj['apiVersion']}"
    namespace = obj["metadata"].get("namespace")
    return f"{base}/namespaces/{namespace}/{PLURALS[obj['kind']]}" if namespace else f"{base}/{PLURALS[obj['kind']]}"


def fresh(case: Case, at: int) -> Obj:
    obj = copy.deepcopy(case.obj)
    obj["metadata"] = {"name": f"case-{at}"}
    if "namespace" in case.obj["metadata"]:
        obj["metadata"]["namespace"] = f"case-{at}"
    return obj


def make_namespace(transport: Transport, name: str, labels: dict[str, str]) -> None:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
    assert transport.request("POST", "/api/v1/namespaces", body=json.dumps(body).encode()).status == 201


@pytest.mark.parametrize("at", range(len(CREATES)), ids=[case.id for case in CREATES])
def test_create(transport: Transport, at: int) -> None:
    case = CREATES[at]
    obj = fresh(case, at)
    if "namespace" in obj["metadata"]:
        make_namespace(transport, obj["metadata"]["namespace"], case.labels)
    response = transport.request("POST", collection(obj), body=json.dumps(obj).encode())
    answer = json.loads(response.body)
    if not case.causes:
        assert response.status == 201, answer.get("message")
        assert answer["apiVersion"] == obj["apiVersion"]
        again = transport.request("GET", f"{collection(obj)}/{obj['metadata']['name']}")
        assert json.loads(again.body) == answer
        return
    assert (response.status, answer["reason"]) == (422, "Invalid")
    found = Counter((cause["reason"], cause["field"]) for cause in answer["details"]["causes"])
    assert found == Counter((REASONS[letter], field) for letter, field in case.causes)


@pytest.mark.parametrize("kind", ["DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"])
def test_create_in_protobuf(transport: Transport, kind: str) -> None:
    case = next(case for case in CREATES if case.kind == kind and not case.causes)
    obj = fresh(case, 10_000)
    if "namespace" in obj["metadata"]:
        obj["metadata"]["namespace"] = f"proto-{kind.lower()}"
        make_namespace(transport, obj["metadata"]["namespace"], {})
    response = transport.request(
        "POST", collection(obj), body=encode(obj), content_type="application/vnd.kubernetes.protobuf"
    )
    assert response.status == 201, response.body


def put(transport: Transport, obj: Obj, *, subresource: str = "") -> tuple[int, Obj]:
    path = f"{collection(obj)}/{obj['metadata']['name']}{subresource}"
    response = transport.request("PUT", path, body=json.dumps(obj).encode())
    return response.status, json.loads(response.body)


def test_the_life_cycle_of_a_claim(transport: Transport) -> None:
    make_namespace(transport, "life", {})
    obj = claim(request(count=1), first(sub(), name="f"))
    obj["metadata"] = {"name": "c", "namespace": "life", "finalizers": ["resource.kubernetes.io/delete-protection"]}
    obj["status"] = {"reservedFor": [consumer()]}
    stored = json.loads(transport.request("POST", collection(obj), body=json.dumps(obj).encode()).body)
    assert stored["status"] == {}
    assert "generation" not in stored["metadata"]

    code, answer = put(transport, {**stored, "status": status(allocation=allocation())["status"]})
    assert (code, answer["status"]) == (200, {})

    allocated = {**stored, "metadata": {**answer["metadata"], "labels": {"a": "b"}}}
    allocated["status"] = {"allocation": allocation(), "reservedFor": [consumer()]}
    code, answer = put(transport, allocated, subresource="/status")
    assert code == 200
    assert "labels" not in answer["metadata"]
    assert answer["status"]["reservedFor"] == [consumer()]

    changed = copy.deepcopy(answer)
    changed["spec"]["devices"]["requests"][0]["exactly"]["count"] = 2
    code, refused = put(transport, changed)
    assert (code, [cause["field"] for cause in refused["details"]["causes"]]) == (422, ["spec"])

    path = f"{collection(obj)}/c"
    assert transport.request("DELETE", path).status == 200
    deleted = json.loads(transport.request("GET", path).body)
    deleted["status"]["reservedFor"].append(consumer(uid="v"))
    code, refused = put(transport, deleted, subresource="/status")
    assert (code, refused["details"]["causes"][0]["field"]) == (422, "status.reservedFor")

    deleted["status"] = {}
    code, answer = put(transport, deleted, subresource="/status")
    assert (code, answer["status"]) == (200, {})
    answer["metadata"]["finalizers"] = []
    assert put(transport, answer)[0] == 200
    assert transport.request("GET", path).status == 404


def test_warnings_are_sent_as_headers(transport: Transport) -> None:
    case = next(case for case in CREATES if case.id == "DRA-078 upper case")
    obj = fresh(case, 20_000)
    response = transport.request("POST", collection(obj), body=json.dumps(obj).encode())
    headers = {name.lower(): value for name, value in response.headers.items()}
    assert "driver names should be lowercase" in headers["warning"]


def test_field_selectors(transport: Transport) -> None:
    query = (("fieldSelector", "spec.nodeName=node-a,spec.driver=gpu.example.com"),)
    found = json.loads(transport.request("GET", "/apis/resource.k8s.io/v1/resourceslices", query=query).body)
    assert found["items"]
    assert {item["spec"]["nodeName"] for item in found["items"]} == {"node-a"}
    refused = transport.request(
        "GET", "/apis/resource.k8s.io/v1/resourceslices", query=(("fieldSelector", "spec.pool.name=p"),)
    )
    assert refused.status == 400
    assert "field label not supported" in json.loads(refused.body)["message"]
