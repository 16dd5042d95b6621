"""Responses in the requested format, and watches by their old paths."""

from __future__ import annotations

import json

import pytest

from apiserver_emulator.protobuf import MAGIC, decode
from dra_api.client import KubeClient
from dra_api.objects import CONFIG_MAPS
from dra_api.transport import Response, Transport

PROTOBUF = "application/vnd.kubernetes.protobuf"
MAPS = "/api/v1/namespaces/default/configmaps"
ALL = "application/json, application/yaml, application/vnd.kubernetes.protobuf"


def answer(transport: Transport, path: str, accept: str, *, body: bytes | None = None) -> Response:
    return transport.request("POST" if body else "GET", path, body=body, headers={"Accept": accept})


def test_a_client_that_accepts_only_protobuf_gets_it(transport: Transport, any_client: KubeClient) -> None:
    any_client.create(CONFIG_MAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}})
    for path in (MAPS + "/a", MAPS, MAPS + "/none"):
        found = answer(transport, path, PROTOBUF)
        assert (found.headers["content-type"], found.body[:4]) == (PROTOBUF, MAGIC)
        plain = answer(transport, path, "application/json")
        assert found.status == plain.status
        ours, wanted = decode(found.body), json.loads(plain.body)
        if path != MAPS + "/a":  # {} and nothing are the same here, and a list is of the moment
            ours.pop("metadata", None)
            del wanted["metadata"]
        assert ours == wanted
    both = answer(transport, MAPS + "/a", f"{PROTOBUF}, */*")
    assert both.headers["content-type"] == "application/json"


def test_an_object_without_protobuf_form_is_refused_before_it_is_created(
    transport: Transport, any_client: KubeClient
) -> None:
    kind = "customresourcedefinitions"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    spec = {
        "group": "example.com",
        "scope": "Cluster",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
    }
    definition = {"metadata": {"name": "things.example.com"}, "spec": spec}
    path = f"/apis/apiextensions.k8s.io/v1/{kind}"
    assert transport.request("POST", path, body=json.dumps(definition).encode()).status == 201
    thing = json.dumps({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}}).encode()
    things = "/apis/example.com/v1/things"
    refused = answer(transport, things, PROTOBUF, body=thing)
    assert (refused.status, decode(refused.body)["reason"]) == (406, "NotAcceptable")
    assert transport.request("GET", things + "/t").status == 404


@pytest.mark.parametrize(
    ("path", "accept", "words"),
    [
        (MAPS + "/kube-root-ca.crt", "text/plain", f"406: Not Acceptable\n\nAvailable representations: {ALL}"),
        (
            MAPS + "/kube-root-ca.crt",
            "application/json;as=Chair;v=v1;g=meta.k8s.io",
            f"only the following media types are accepted: {ALL}",
        ),
    ],
)
def test_other_formats_are_refused(transport: Transport, path: str, accept: str, words: str) -> None:
    found = answer(transport, path, accept)
    assert (found.status, json.loads(found.body)["message"]) == (406, words)


@pytest.mark.parametrize(("path", "seen"), [("configmaps", ["a", "b"]), ("configmaps/b", ["b"])])
def test_watches_by_their_old_paths(transport: Transport, any_client: KubeClient, path: str, seen: list[str]) -> None:
    any_client.create(CONFIG_MAPS, {"metadata": {"name": "a", "labels": {"mine": ""}}})
    any_client.create(CONFIG_MAPS, {"metadata": {"name": "b", "labels": {"mine": ""}}})
    query = [("timeoutSeconds", "1"), ("labelSelector", "mine")]
    stream = transport.stream(f"/api/v1/watch/namespaces/default/{path}", query=query, timeout=60)
    assert not isinstance(stream, Response)
    found = []
    for line in stream:
        found.append(json.loads(line)["object"]["metadata"]["name"])
        if len(found) == len(seen):
            break
    stream.close()
    assert found == seen
