"""Bodies in protobuf, as Go clients send them, through both endpoints."""

from __future__ import annotations

import json
from typing import Any

import pytest

from apiserver_emulator import ApiServerEmulator
from apiserver_emulator.protobuf import ProtobufError, decode_events, encode, encode_event
from dra_api.transport import HttpTransport, Response, Transport

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


@pytest.mark.parametrize("accept", [f"{PROTOBUF}, */*", f"{PROTOBUF},application/json", PROTOBUF])
def test_a_watch_serves_clients_that_accept_protobuf(transport: Transport, accept: str) -> None:
    """The first is client-go's with a content type alone, the second with the types that its components accept."""
    found = transport.stream(
        "/api/v1/pods", query=[("watch", "true"), ("timeoutSeconds", "1")], headers={"Accept": accept}, timeout=10
    )
    assert not isinstance(found, Response)
    found.close()


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


def test_a_watch_for_clients_that_accept_only_protobuf(https_plane: ApiServerEmulator) -> None:
    """Frames of four bytes of length and a WatchEvent; KAI's scheduler reads no others."""
    transport = HttpTransport.from_kubeconfig(https_plane.kubeconfig)
    path = "/api/v1/namespaces/default/configmaps"
    made: Obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"k": "a\nb"}}
    assert send(transport, "POST", path, made)[0] == 201
    query = [
        ("watch", "true"),
        ("timeoutSeconds", "1"),
        ("sendInitialEvents", "true"),
        ("resourceVersionMatch", "NotOlderThan"),
        ("allowWatchBookmarks", "true"),
        ("fieldSelector", "metadata.name=m"),
    ]
    answer = transport.request("GET", path, query=query, headers={"Accept": PROTOBUF})
    assert (answer.status, answer.headers["content-type"]) == (200, f"{PROTOBUF};stream=watch")
    added, listed, *_ = decode_events(answer.body)
    assert added[0] == "ADDED"
    assert added[1]["data"] == {"k": "a\nb"}
    assert (added[1]["apiVersion"], added[1]["kind"]) == ("v1", "ConfigMap")
    assert listed[0] == "BOOKMARK"
    assert listed[1]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    transport.close()


def test_a_watch_in_protobuf_delivers_each_change(plane: ApiServerEmulator) -> None:
    transport = plane.transport()
    path = "/api/v1/namespaces/default/configmaps"
    stream = transport.stream(path, query=[("watch", "true")], headers={"Accept": PROTOBUF})
    assert not isinstance(stream, Response)
    send(transport, "POST", path, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}})
    transport.request("DELETE", f"{path}/m")
    frames = iter(stream)
    events = [event for frame in (next(frames), next(frames)) for event in decode_events(frame)]
    assert [(kind, obj["metadata"]["name"]) for kind, obj in events] == [("ADDED", "m"), ("DELETED", "m")]
    stream.close()


def test_a_watch_of_too_old_a_revision_ends_with_an_error_in_protobuf(plane: ApiServerEmulator) -> None:
    transport = plane.transport()
    path = "/api/v1/namespaces/default/configmaps"
    for name in ("a", "b"):
        send(transport, "POST", path, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
    plane.server.compact()
    query = [("watch", "true"), ("resourceVersion", "1")]
    stream = transport.stream(path, query=query, headers={"Accept": PROTOBUF})
    assert not isinstance(stream, Response)
    [(kind, status)] = [event for frame in stream for event in decode_events(frame)]
    assert (kind, status["kind"], status["code"], status["reason"]) == ("ERROR", "Status", 410, "Expired")


def test_custom_resources_are_not_watched_in_protobuf(plane: ApiServerEmulator) -> None:
    """They have no protobuf form; kube-apiserver answers 406 too."""
    names = {"plural": "things", "singular": "thing", "kind": "Thing"}
    schema = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "example.com", "names": names, "scope": "Cluster", "versions": [version]}
    definition = {"metadata": {"name": "things.example.com"}, "spec": spec}
    plane.server.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    path = "/apis/example.com/v1/things"
    found = plane.transport().stream(path, query=[("watch", "true")], headers={"Accept": PROTOBUF})
    assert isinstance(found, Response)
    assert found.status == 406


def test_a_frame_that_was_cut_is_an_error() -> None:
    frame = encode_event("ADDED", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}})
    assert [kind for kind, _ in decode_events(frame * 2)] == ["ADDED", "ADDED"]
    with pytest.raises(ProtobufError, match="ends after"):
        list(decode_events(frame + frame[:-1]))
