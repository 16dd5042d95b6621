"""Verbs, codes and bodies, through both endpoints."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from apiserver_emulator import ApiServerEmulator
from dra_api.client import AlreadyExists, ApiError, Conflict, Forbidden, Invalid, KubeClient, NotFound
from dra_api.objects import CONFIG_MAPS, DEPLOYMENTS, EVENTS, LEASES, NAMESPACES, NODES, PODS, SECRETS
from dra_api.transport import Transport

Obj = dict[str, Any]
MakePod = Callable[..., Obj]


def config_map(name: str, **data: str) -> Obj:
    return {"metadata": {"name": name, "namespace": "default"}, "data": data}


def test_create_read_update_delete(any_client: KubeClient) -> None:
    made = any_client.create(CONFIG_MAPS, config_map("one", a="1"))
    assert made["metadata"]["uid"]
    assert made["metadata"]["creationTimestamp"].endswith("Z")
    assert made["apiVersion"] == "v1"
    made["data"]["a"] = "2"
    changed = any_client.update(CONFIG_MAPS, made)
    assert int(changed["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])
    assert any_client.get(CONFIG_MAPS, "one", "default") == changed
    any_client.delete(CONFIG_MAPS, "one", "default")
    with pytest.raises(NotFound) as gone:
        any_client.get(CONFIG_MAPS, "one", "default")
    assert gone.value.message == 'configmaps "one" not found'
    assert gone.value.details == {"name": "one", "kind": "configmaps"}


def test_a_stale_write_is_a_conflict(any_client: KubeClient) -> None:
    first = any_client.create(CONFIG_MAPS, config_map("one", a="1"))
    any_client.update(CONFIG_MAPS, {**first, "data": {"a": "2"}})
    with pytest.raises(Conflict) as refused:
        any_client.update(CONFIG_MAPS, {**first, "data": {"a": "3"}})
    assert refused.value.message == (
        'Operation cannot be fulfilled on configmaps "one": the object has been modified; please apply your changes '
        "to the latest version and try again"
    )


def test_a_taken_name_is_already_exists(any_client: KubeClient) -> None:
    any_client.create(CONFIG_MAPS, config_map("one"))
    with pytest.raises(AlreadyExists) as refused:
        any_client.create(CONFIG_MAPS, config_map("one"))
    assert refused.value.reason == "AlreadyExists"
    assert refused.value.message == 'configmaps "one" already exists'


def test_a_write_that_changes_nothing_keeps_the_resource_version(client: KubeClient) -> None:
    made = client.create(CONFIG_MAPS, config_map("one", a="1"))
    again = client.update(CONFIG_MAPS, made)
    patched = client.patch(CONFIG_MAPS, "one", {"data": {"a": "1"}}, "default")
    assert again == made == patched


def test_generated_names_have_five_characters(client: KubeClient) -> None:
    made = client.create(CONFIG_MAPS, {"metadata": {"generateName": "run-", "namespace": "default"}})
    assert made["metadata"]["name"].startswith("run-")
    assert len(made["metadata"]["name"]) == len("run-") + 5


def test_a_namespace_with_a_generated_name_has_its_name_as_label(client: KubeClient) -> None:
    made = client.create(NAMESPACES, {"metadata": {"generateName": "run-"}})
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": made["metadata"]["name"]}


def test_a_missing_namespace_is_not_found(client: KubeClient) -> None:
    with pytest.raises(NotFound) as refused:
        client.create(CONFIG_MAPS, {"metadata": {"name": "x", "namespace": "nowhere"}})
    assert refused.value.message == 'namespaces "nowhere" not found'


def test_bad_names_and_labels_are_invalid_with_causes(client: KubeClient) -> None:
    body = config_map("Not_A_Name")
    body["metadata"]["labels"] = {"a": "not a value"}
    with pytest.raises(Invalid) as refused:
        client.create(CONFIG_MAPS, body)
    assert [(c["reason"], c["field"]) for c in refused.value.causes] == [
        ("FieldValueInvalid", "metadata.name"),
        ("FieldValueInvalid", "metadata.labels"),
    ]
    assert refused.value.message.startswith('ConfigMap "Not_A_Name" is invalid: [metadata.name: Invalid value: ')


def test_status_and_spec_are_written_separately(client: KubeClient, pod: MakePod) -> None:
    made = client.create(PODS, {**pod("p"), "status": {"phase": "Running"}})
    assert made["status"]["phase"] == "Pending"
    client.patch(PODS, "p", {"status": {"phase": "Running"}}, "default")
    assert client.get(PODS, "p", "default")["status"]["phase"] == "Pending"
    client.patch(
        PODS, "p", {"status": {"phase": "Running"}, "spec": {"nodeName": "n"}}, "default", subresource="status"
    )
    found = client.get(PODS, "p", "default")
    assert found["status"]["phase"] == "Running"
    assert "nodeName" not in found["spec"]


def test_generation_counts_spec_changes_only(client: KubeClient) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    made = client.create(DEPLOYMENTS, {"metadata": {"name": "d", "namespace": "default"}, "spec": spec})
    assert made["metadata"]["generation"] == 1
    labelled = client.patch(DEPLOYMENTS, "d", {"metadata": {"labels": {"x": "y"}}}, "default")
    assert labelled["metadata"]["generation"] == 1
    scaled = client.patch(DEPLOYMENTS, "d", {"spec": {"replicas": 3}}, "default")
    assert scaled["metadata"]["generation"] == 2


def test_finalizers_hold_a_deleted_object(client: KubeClient) -> None:
    body = config_map("held")
    body["metadata"]["finalizers"] = ["example.com/hold"]
    client.create(CONFIG_MAPS, body)
    marked = client.delete(CONFIG_MAPS, "held", "default")
    assert marked["metadata"]["deletionTimestamp"]
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 0
    with pytest.raises(Invalid) as refused:
        client.patch(
            CONFIG_MAPS, "held", {"metadata": {"finalizers": ["example.com/hold", "example.com/b"]}}, "default"
        )
    assert refused.value.causes[0]["reason"] == "FieldValueForbidden"
    client.patch(CONFIG_MAPS, "held", {"metadata": {"finalizers": None}}, "default")
    assert client.find(CONFIG_MAPS, "held", "default") is None


def test_preconditions_guard_a_delete(client: KubeClient) -> None:
    client.create(CONFIG_MAPS, config_map("one"))
    with pytest.raises(Conflict) as refused:
        client.delete(CONFIG_MAPS, "one", "default", uid="0b54bd26-6f0c-4f1c-9fc6-3e0b4a1c5a11")
    assert "the UID in the precondition (0b54bd26-" in refused.value.message


def test_delete_collection_honours_selectors(plane: ApiServerEmulator, client: KubeClient) -> None:
    for name, colour in (("a", "red"), ("b", "blue"), ("c", "red")):
        body = config_map(name)
        body["metadata"]["labels"] = {"colour": colour}
        client.create(CONFIG_MAPS, body)
    plane.server.call("DELETE", "/api/v1/namespaces/default/configmaps", query=(("labelSelector", "colour=red"),))
    assert [o["metadata"]["name"] for o in client.list(CONFIG_MAPS, "default").items] == ["b"]


def test_dry_run_stores_nothing(client: KubeClient) -> None:
    tried = client.create(CONFIG_MAPS, config_map("one"), dry_run=True)
    assert tried["metadata"]["uid"]
    assert client.find(CONFIG_MAPS, "one", "default") is None


def test_unknown_fields_warn_or_refuse(transport: Transport) -> None:
    path = "/api/v1/namespaces/default/pods"
    spec = {"containers": [{"name": "c", "image": "i", "colour": "red"}], "shape": "round"}
    body = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}).encode()
    warned = transport.request("POST", path, body=body)
    assert warned.status == 201
    assert warned.headers["warning"] == (
        '299 - "unknown field \\"spec.containers[0].colour\\"", 299 - "unknown field \\"spec.shape\\""'
    )
    assert "shape" not in json.loads(warned.body)["spec"]
    refused = transport.request("POST", path, query=[("fieldValidation", "Strict")], body=body)
    assert refused.status == 400
    assert json.loads(refused.body)["message"].endswith(
        'strict decoding error: unknown field "spec.containers[0].colour", unknown field "spec.shape"'
    )
    doubled = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"d"},"data":{"a":"1","a":"2"}}'
    path = "/api/v1/namespaces/default/configmaps"
    refused = transport.request("POST", path, query=[("fieldValidation", "Strict")], body=doubled)
    assert 'duplicate field "data.a"' in json.loads(refused.body)["message"]


def test_a_value_of_the_wrong_type_is_a_bad_request(transport: Transport) -> None:
    body = b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":"none"}}'
    answer = transport.request("POST", "/api/v1/namespaces/default/pods", body=body)
    assert answer.status == 400
    found = json.loads(answer.body)
    assert found["reason"] == "BadRequest"
    assert found["message"] == (
        'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field '
        "PodSpec.spec.containers of type []v1.Container"
    )


def test_yaml_bodies_are_read(transport: Transport) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y\ndata:\n  when: 2020-01-01\n  flag: 'yes'\n"
    answer = transport.request(
        "POST", "/api/v1/namespaces/default/configmaps", body=body, content_type="application/yaml"
    )
    assert answer.status == 201
    assert json.loads(answer.body)["data"] == {"when": "2020-01-01", "flag": "yes"}


def test_media_types(transport: Transport) -> None:
    path = "/api/v1/namespaces/default/configmaps"
    unknown = transport.request("POST", path, body=b"\xa0", content_type="application/cbor")
    assert (unknown.status, json.loads(unknown.body)["reason"]) == (415, "UnsupportedMediaType")
    protobuf_first = {"Accept": "application/vnd.kubernetes.protobuf,application/json"}
    assert transport.request("GET", path, headers=protobuf_first).headers["content-type"] == "application/json"
    only_cbor = transport.request("GET", path, headers={"Accept": "application/cbor"})
    assert only_cbor.status == 406


def test_kubectl_tables(client: KubeClient, plane: ApiServerEmulator, pod: MakePod) -> None:
    client.create(PODS, pod("p"))
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
    answer = plane.transport().request("GET", "/api/v1/namespaces/default/pods", headers={"Accept": accept})
    found = json.loads(answer.body)
    assert found["kind"] == "Table"
    assert [c["name"] for c in found["columnDefinitions"]] == [
        "Name", "Ready", "Status", "Restarts", "Age", "IP", "Node", "Nominated Node", "Readiness Gates",
    ]  # fmt: skip
    assert found["rows"][0]["cells"][:4] == ["p", "0/1", "Pending", "0"]
    assert found["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


def test_lists_are_paged_consistently(client: KubeClient, plane: ApiServerEmulator) -> None:
    for at in range(5):
        client.create(CONFIG_MAPS, config_map(f"c{at}"))
    path = "/api/v1/namespaces/default/configmaps"
    first = plane.server.call("GET", path, query=(("limit", "2"),))
    assert [o["metadata"]["name"] for o in first["items"]] == ["c0", "c1"]
    assert first["metadata"]["remainingItemCount"] == 3
    client.delete(CONFIG_MAPS, "c2", "default")
    token = first["metadata"]["continue"]
    rest = plane.server.call("GET", path, query=(("limit", "10"), ("continue", token)))
    assert [o["metadata"]["name"] for o in rest["items"]] == ["c2", "c3", "c4"]
    assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    plane.server.compact()
    with pytest.raises(Exception, match="The provided continue parameter is too old"):
        plane.server.call("GET", path, query=(("continue", token),))
    assert len(client.list(CONFIG_MAPS, "default", limit=2).items) == 4


def test_exact_resource_versions_show_the_past(client: KubeClient, plane: ApiServerEmulator) -> None:
    made = client.create(CONFIG_MAPS, config_map("one", a="1"))
    client.patch(CONFIG_MAPS, "one", {"data": {"a": "2"}}, "default")
    query = (("resourceVersion", made["metadata"]["resourceVersion"]), ("resourceVersionMatch", "Exact"))
    then = plane.server.call("GET", "/api/v1/namespaces/default/configmaps", query=query)
    assert then["items"][0]["data"] == {"a": "1"}
    with pytest.raises(Exception, match="Too large resource version"):
        plane.server.call("GET", "/api/v1/configmaps", query=(("resourceVersion", "99999999"),))


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("tier=front", ["a"]),
        ("tier in (front,back),!canary", ["a"]),
        ("tier notin (front)", ["b", "c"]),
        ("tier", ["a", "b"]),
        ("!tier", ["c"]),
        ("tier!=back", ["a", "c"]),
        ("weight>5", ["b"]),
    ],
)
def test_label_selectors(client: KubeClient, selector: str, expected: list[str]) -> None:
    labels = {"a": {"tier": "front", "weight": "1"}, "b": {"tier": "back", "canary": "", "weight": "9"}, "c": {}}
    for name, values in labels.items():
        body = config_map(name)
        body["metadata"]["labels"] = values
        client.create(CONFIG_MAPS, body)
    found = client.list(CONFIG_MAPS, "default", label_selector=selector).items
    assert [o["metadata"]["name"] for o in found] == expected


def test_field_selectors(client: KubeClient, pod: MakePod) -> None:
    client.create(PODS, pod("free"))
    client.create(PODS, pod("bound", nodeName="n1"))
    found = client.list(PODS, "default", field_selector="spec.nodeName=n1,status.phase!=Failed").items
    assert [o["metadata"]["name"] for o in found] == ["bound"]
    assert len(client.list(PODS, field_selector="metadata.name=free,metadata.namespace=default").items) == 1
    with pytest.raises(ApiError) as refused:
        client.list(PODS, field_selector="spec.colour=red")
    assert (refused.value.status, refused.value.message) == (400, "field label not supported: spec.colour")


def test_bad_selectors_are_refused(client: KubeClient) -> None:
    for selector in ("a in (b", "a,,b", "=x", "a=b c"):
        with pytest.raises(ApiError) as refused:
            client.list(PODS, label_selector=selector)
        assert refused.value.status == 400


def test_deleting_a_namespace_deletes_its_objects(client: KubeClient, plane: ApiServerEmulator) -> None:
    client.create(NAMESPACES, {"metadata": {"name": "team"}})
    body = {"metadata": {"name": "held", "namespace": "team", "finalizers": ["example.com/hold"]}}
    client.create(CONFIG_MAPS, body)
    client.create(SECRETS, {"metadata": {"name": "s", "namespace": "team"}, "stringData": {"k": "v"}})
    marked = client.delete(NAMESPACES, "team")
    assert marked["status"]["phase"] == "Terminating"
    assert plane.server.controllers.wait_idle(5)
    assert client.find(SECRETS, "s", "team") is None
    with pytest.raises(Forbidden) as refused:
        client.create(CONFIG_MAPS, {"metadata": {"name": "late", "namespace": "team"}})
    assert refused.value.causes[0]["reason"] == "NamespaceTerminating"
    client.patch(CONFIG_MAPS, "held", {"metadata": {"finalizers": None}}, "team")
    assert plane.server.controllers.wait_idle(5)
    assert client.find(NAMESPACES, "team") is None


def test_a_fresh_cluster_has_its_namespaces_and_accounts(client: KubeClient, plane: ApiServerEmulator) -> None:
    names = [o["metadata"]["name"] for o in client.list(NAMESPACES).items]
    assert names == ["default", "kube-node-lease", "kube-public", "kube-system"]
    assert plane.server.controllers.wait_idle(5)
    assert plane.server.call("GET", "/api/v1/namespaces/default/serviceaccounts/default")["metadata"]["uid"]


def test_events_of_both_groups_share_one_collection(plane: ApiServerEmulator, client: KubeClient) -> None:
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e1", "namespace": "default"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "example.com/scheduler",
        "reportingInstance": "s-1",
        "action": "Binding",
        "reason": "Scheduled",
        "type": "Normal",
        "note": "assigned",
        "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
    }
    path = "/apis/events.k8s.io/v1/namespaces/default/events"
    assert plane.server.call("POST", path, event)["note"] == "assigned"
    core = client.get(EVENTS, "e1", "default")
    assert (core["apiVersion"], core["message"], core["involvedObject"]["name"]) == ("v1", "assigned", "p")
    found = client.list(EVENTS, "default", field_selector="involvedObject.name=p,reason=Scheduled").items
    assert len(found) == 1
    assert plane.server.call("GET", path)["items"][0]["regarding"]["name"] == "p"


def test_leases_keep_microseconds(client: KubeClient) -> None:
    spec = {"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.123456Z"}
    made = client.create(LEASES, {"metadata": {"name": "l", "namespace": "default"}, "spec": spec})
    assert made["spec"] == spec
    with pytest.raises(Invalid):
        client.create(LEASES, {"metadata": {"name": "m", "namespace": "default"}, "spec": {"leaseDurationSeconds": 0}})


def test_quantities_are_returned_in_canonical_form(client: KubeClient) -> None:
    status = {"capacity": {"cpu": "4000m", "memory": "1024Mi"}}
    made = client.create(NODES, {"metadata": {"name": "n1"}, "status": status})
    assert made["status"]["capacity"] == {"cpu": "4", "memory": "1Gi"}


def test_unknown_paths(transport: Transport) -> None:
    missing = transport.request("GET", "/apis/nothing.example.com/v1/things")
    assert missing.status == 404
    assert missing.body == b"404 page not found\n"
    unserved = transport.request("GET", "/apis/resource.k8s.io/v9/resourceclaims")
    assert json.loads(unserved.body)["message"] == "the server could not find the requested resource"
    assert transport.request("GET", "/nothing").status == 404
    assert transport.request("GET", "/readyz").body == b"ok"
    assert transport.request("POST", "/api/v1/namespaces/default/pods/x", body=b"{}").status == 405


def test_discovery_has_both_shapes(transport: Transport) -> None:
    assert json.loads(transport.request("GET", "/version").body)["minor"] == "37"
    groups = json.loads(transport.request("GET", "/apis").body)["groups"]
    assert {g["name"] for g in groups} >= {"apps", "coordination.k8s.io", "apiextensions.k8s.io"}
    core = json.loads(transport.request("GET", "/api/v1").body)
    assert {"name": "pods/binding", "kind": "Binding", "namespaced": True, "singularName": "", "verbs": ["create"],
            "group": "", "version": "v1"}.items() >= next(
        r for r in core["resources"] if r["name"] == "pods/binding"
    ).items()  # fmt: skip
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
    aggregated = transport.request("GET", "/apis", headers={"Accept": accept})
    assert "as=APIGroupDiscoveryList" in aggregated.headers["content-type"]
    apps = next(i for i in json.loads(aggregated.body)["items"] if i["metadata"]["name"] == "apps")
    deployments = next(r for r in apps["versions"][0]["resources"] if r["resource"] == "deployments")
    assert deployments["subresources"][0]["subresource"] == "status"


def test_openapi_documents(transport: Transport) -> None:
    root = json.loads(transport.request("GET", "/openapi/v3").body)["paths"]
    assert "apis/apps/v1" in root
    url, _, digest = root["api/v1"]["serverRelativeURL"].partition("?hash=")
    document = json.loads(transport.request("GET", url, query=[("hash", digest)]).body)
    assert "io.k8s.api.core.v1.Pod" in document["components"]["schemas"]
