"""kubectl's verbs: what goes over the wire, and what each refusal becomes."""

from __future__ import annotations

import orjson
import pytest
from scripted import Feed, Scripted, answer, pod, pods, refusal

from dra_api.client import (
    AlreadyExists,
    ApiError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    KubeClient,
    NotFound,
    TooManyRequests,
    error_from,
)
from dra_api.objects import NODES, PODS


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        (403, "Forbidden", Forbidden),
        (404, "NotFound", NotFound),
        (409, "AlreadyExists", AlreadyExists),
        (409, "Conflict", Conflict),
        (410, "Expired", Gone),
        (422, "Invalid", Invalid),
        (429, "TooManyRequests", TooManyRequests),
        (500, "InternalError", ApiError),
    ],
)
def test_refusals_have_names(status: int, reason: str, kind: type[ApiError]) -> None:
    client = KubeClient(Scripted([refusal(status, reason, "because", retryAfterSeconds=3)]))
    with pytest.raises(ApiError) as error:
        client.get(PODS, "a", "ns")
    assert type(error.value) is kind
    assert str(error.value) == f"GET /api/v1/namespaces/ns/pods/a: {status} {reason}: because"
    assert error.value.retry_after == 3


@pytest.mark.parametrize("body", [b"", b"<html>bad gateway</html>", b"[1]", b'"text"', b'{"details": 3}'])
def test_an_answer_that_is_no_status_is_an_error_all_the_same(body: bytes) -> None:
    error = error_from(502, body)
    assert (error.status, error.causes, error.retry_after) == (502, [], None)


def test_causes_are_reported() -> None:
    cause = {"reason": "FieldValueRequired", "message": "Required value", "field": "spec"}
    error = error_from(422, refusal(422, "Invalid", causes=[cause]).body)
    assert error.causes == [cause]


def test_lists_read_all_pages_and_say_what_their_items_are() -> None:
    transport = Scripted([pods(7, pod("a", 1), more="more"), pods(7, pod("b", 2))])
    listed = KubeClient(transport).list(PODS, "ns", label_selector="x=y", field_selector="f=g", limit=1)
    assert [item["metadata"]["name"] for item in listed.items] == ["a", "b"]
    assert {(item["apiVersion"], item["kind"]) for item in listed.items} == {("v1", "Pod")}
    assert listed.resource_version == "7"
    asked = {"labelSelector": "x=y", "fieldSelector": "f=g", "limit": "1"}
    assert [query for _, _, query in transport.asked] == [asked, {**asked, "continue": "more"}]


def test_a_namespace_is_the_objects_the_callers_or_the_clients() -> None:
    transport = Scripted([answer({})])
    client = KubeClient(transport, namespace="own", user_agent="me")
    client.get(PODS, "a")
    client.get(PODS, "a", "ns")
    client.get(NODES, "n")
    client.create(PODS, {"metadata": {"name": "a", "namespace": "there"}})
    assert [path for _, path, _ in transport.asked] == [
        "/api/v1/namespaces/own/pods/a",
        "/api/v1/namespaces/ns/pods/a",
        "/api/v1/nodes/n",
        "/api/v1/namespaces/there/pods",
    ]
    assert {headers["User-Agent"] for _, _, headers in transport.bodies} == {"me"}
    assert client.as_agent("other").namespace == "own"


@pytest.mark.parametrize(
    ("kind", "content_type"),
    [
        ("merge", "application/merge-patch+json"),
        ("json", "application/json-patch+json"),
        ("strategic", "application/strategic-merge-patch+json"),
        ("apply", "application/apply-patch+yaml"),
    ],
)
def test_patches_are_of_their_type(kind: str, content_type: str) -> None:
    transport = Scripted([answer({})])
    KubeClient(transport).patch(
        PODS,
        "c",
        {"a": 1},
        "ns",
        kind=kind,
        subresource="status",
        field_manager="me",  # type: ignore[arg-type]
    )
    (method, path, query) = transport.asked[0]
    assert (method, path.rsplit("/", 2)[1:]) == ("PATCH", ["c", "status"])
    assert query.get("fieldManager") == "me"
    sent, body, _ = transport.bodies[0]
    assert (sent, orjson.loads(body or b"")["a"]) == (content_type, 1)


def test_deleting_says_which_one_and_how() -> None:
    transport = Scripted([answer({})])
    KubeClient(transport).delete(PODS, "a", "ns", uid="u", grace_period_seconds=0, propagation_policy="Orphan")
    body = orjson.loads(transport.bodies[0][1] or b"")
    assert body["preconditions"] == {"uid": "u"}
    assert (body["gracePeriodSeconds"], body["propagationPolicy"]) == (0, "Orphan")
    KubeClient(Scripted([refusal(404, "NotFound")])).delete_if_there(PODS, "a", "ns")


def test_binding_is_a_post_to_the_pod() -> None:
    transport = Scripted([answer({})])
    KubeClient(transport).bind(pod("a", 1), "node-1")
    assert transport.asked[0][:2] == ("POST", "/api/v1/namespaces/ns/pods/a/binding")
    body = orjson.loads(transport.bodies[0][1] or b"")
    assert (body["target"]["name"], body["metadata"].get("uid")) == ("node-1", "u-a")


def test_discovery_is_requested_once() -> None:
    transport = Scripted([answer({"versions": [{"version": "v1"}, {"version": "v1beta1"}]})])
    client = KubeClient(transport)
    assert list(client.served("resource.k8s.io")) == ["v1", "v1beta1"] == list(client.served("resource.k8s.io"))
    assert len(transport.asked) == 1
    assert KubeClient(Scripted([refusal(404, "NotFound")])).served("nothing.example.com") == []


def test_a_watch_ends_with_its_stream_and_raises_what_the_server_says() -> None:
    feed = Feed().say("ADDED", pod("a", 1)).say("ERROR", {"kind": "Status", "code": 410, "reason": "Expired"})
    with KubeClient(Scripted(feeds=[feed])).watch(PODS, "ns", resource_version="1") as watch:
        events = iter(watch)
        assert next(events).type == "ADDED"
        with pytest.raises(Gone):
            next(events)
    assert feed.closed.is_set()
    with pytest.raises(Gone, match="WATCH /api/v1/namespaces/ns/pods"):
        KubeClient(Scripted(feeds=[refusal(410, "Expired")])).watch(PODS, "ns")
