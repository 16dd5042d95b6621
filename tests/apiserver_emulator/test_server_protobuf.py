"""Bodies in protobuf, as Go clients send them, through both endpoints."""

from __future__ import annotations

import json
from typing import Any

import pytest

from apiserver_emulator.protobuf import encode
from dra_api.transport import Response, Transport

Obj = dict[str, Any]
PROTOBUF = "application/vnd.kubernetes.protobuf"
ACCEPT = {"Accept": f"{PROTOBUF},application/json"}


def send(transport: Transport, method: str, path: str, body: Obj) -> tuple[int, Obj]:
    answer = transport.request(method, path, body=encode(body), content_type=PROTOBUF, headers=ACCEPT)
    assert answer.headers["content-type"] == "application/json"
    return answer.status, json.loads(answer.body)


def test_a_pod_is_created_bound_and_deleted(transport: Transport) -> None:
    pods = "/api/v1/namespaces/default/pods"
    pod: Obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    pod["spec"] = {
        "containers": [
            {"name": "c", "image": "i", "resources": {"claims": [{"name": "c"}], "limits": {"cpu": "1500m"}}}
        ],
        "resourceClaims": [{"name": "c", "resourceClaimTemplateName": "t"}],
    }
    status, made = send(transport, "POST", pods, pod)
    assert status == 201
    assert made["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "1500m"}
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "p"},
        "target": {"kind": "Node", "name": "n1"},
    }
    assert send(transport, "POST", f"{pods}/p/binding", binding)[0] == 201
    made = json.loads(transport.request("GET", f"{pods}/p").body)
    assert made["spec"]["nodeName"] == "n1"
    made["status"]["phase"] = "Running"
    status, made = send(transport, "PUT", f"{pods}/p/status", made)
    assert (status, made["status"]["phase"]) == (200, "Running")
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
    assert send(transport, "DELETE", f"{pods}/p", options)[0] == 200
    assert transport.request("GET", f"{pods}/p").status == 404


@pytest.mark.parametrize(
    ("accept", "served"), [(f"{PROTOBUF}, */*", True), (f"{PROTOBUF},application/json", True), (PROTOBUF, False)]
)
def test_a_watch_serves_clients_that_accept_json(transport: Transport, accept: str, served: bool) -> None:
    """The first is client-go's with a content type alone, the second with the types that its components accept."""
    found = transport.stream(
        "/api/v1/pods", query=[("watch", "true"), ("timeoutSeconds", "1")], headers={"Accept": accept}, timeout=10
    )
    if isinstance(found, Response):
        assert (served, found.status) == (False, 406)
    else:
        found.close()
        assert served


def test_a_round_trip_through_protobuf_is_a_no_op(transport: Transport) -> None:
    path = "/apis/resource.k8s.io/v1/resourceslices"
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    device = {"name": "gpu-0", "attributes": {"model": {"string": "x"}, "ok": {"bool": False}},
              "capacity": {"memory": {"value": "80Gi"}}}  # fmt: skip
    spec = {"driver": "gpu.example.com", "nodeName": "n1", "pool": pool, "devices": [device]}
    body: Obj = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec}
    status, made = send(transport, "POST", path, body)
    assert status == 201
    assert made["spec"]["devices"] == [device]
    status, again = send(transport, "PUT", f"{path}/s", made)
    assert status == 200
    assert again == made


def test_malformed_protobuf_is_a_bad_request(transport: Transport) -> None:
    path = "/api/v1/namespaces/default/pods"
    for body in (b"k8s\x00\xff\xff\xff", b"nonsense"):
        answer = transport.request("POST", path, body=body, content_type=PROTOBUF)
        assert answer.status == 400, answer.body
