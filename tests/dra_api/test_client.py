"""kubectl's verbs: what goes over the wire, and what each refusal becomes."""

from __future__ import annotations

from collections.abc import Iterator

import orjson
import pytest
from scripted import Feed, Scripted, answer, pod, pods, refusal

from dra_api import client
from dra_api.client import (
    AlreadyExists,
    ApiError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    InvalidAnswer,
    KubeClient,
    NotFound,
    TooManyRequests,
    error_from,
)
from dra_api.objects import NODES, PODS
from dra_api.transport import Response, Stream


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


class Lines(Stream):
    """A watch of these lines."""

    def __init__(self, *lines: bytes) -> None:
        self._lines = lines

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._lines)

    def close(self) -> None:
        return None


BOOKMARK = b'{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"5"}}}'


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"{", "is no JSON"),
        (b"[" * 3000, "is no JSON"),
        (b"[]", "is no JSON object"),
        (b"{}", "without type or object"),
        (b'{"type":"ADDED","object":[]}', "without type or object"),
        (b'{"type":["ADDED"],"object":{}}', "without type or object"),
        (b'{"type":"CHANGED","object":{}}', "unknown type"),
        (b'{"type":"ADDED","object":{"metadata":null}}', "without name or resource version"),
        (
            b'{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":5}}}',
            "without name or resource version",
        ),
        (b'{"type":"ADDED","object":{"metadata":{"resourceVersion":"5"}}}', "without name or resource version"),
    ],
)
def test_what_is_no_event_ends_a_watch(line: bytes, problem: str) -> None:
    watch = iter(KubeClient(Scripted(feeds=[Lines(BOOKMARK, line)])).watch(PODS, "ns"))
    assert next(watch).type == "BOOKMARK"
    with pytest.raises(InvalidAnswer, match=problem) as error:
        next(watch)
    assert str(error.value).startswith("WATCH /api/v1/namespaces/ns/pods: ")
    assert len(str(error.value)) < 500


@pytest.mark.parametrize("code", ["x", None, [], 2.5])
def test_an_error_event_without_a_code_is_an_internal_error(code: object) -> None:
    event = orjson.dumps({"type": "ERROR", "object": {"code": code, "details": {"retryAfterSeconds": "soon"}}})
    with pytest.raises(ApiError) as error:
        next(iter(KubeClient(Scripted(feeds=[Lines(event)])).watch(PODS, "ns")))
    assert (error.value.status, error.value.retry_after) == (500, None)


@pytest.mark.parametrize(
    "body", [b"<html>", b"[]", b'{"items":3}', b'{"items":[3]}', b'{"items":[{}]}', b'{"items":[{"metadata":[]}]}']
)
def test_a_list_that_is_no_list_is_an_invalid_answer(body: bytes) -> None:
    with pytest.raises(InvalidAnswer, match=r"^GET /api/v1/namespaces/ns/pods: "):
        KubeClient(Scripted([Response(200, {}, body)])).list(PODS, "ns")


def test_a_continue_token_that_comes_again_ends_a_list() -> None:
    pages = [pods(7, pod("a", 1), more=token) for token in ("one", "two", "one")]
    with pytest.raises(InvalidAnswer, match="'one' is not new"):
        KubeClient(Scripted(pages)).list(PODS, "ns", limit=1)


def test_a_list_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "MOST_PAGES", 3)
    pages = [pods(7, pod("a", 1), more=str(number)) for number in range(10)]
    with pytest.raises(InvalidAnswer, match="more than 3 pages"):
        KubeClient(Scripted(pages)).list(PODS, "ns", limit=1)


@pytest.mark.parametrize(
    "body", [b"<html>", b'{"versions":3}', b'{"versions":["v1"]}', b'{"versions":[{"version":3}]}']
)
def test_discovery_that_is_none_is_an_invalid_answer(body: bytes) -> None:
    client = KubeClient(Scripted([Response(200, {}, body)]))
    with pytest.raises(InvalidAnswer, match=r"^GET /apis/resource\.k8s\.io: "):
        client.served("resource.k8s.io")


@pytest.mark.parametrize("body", [b"<html>", b'{"resources":3}', b'{"resources":[3]}'])
def test_resources_that_are_none_are_an_invalid_answer(body: bytes) -> None:
    with pytest.raises(InvalidAnswer, match=r"^GET /api/v1: "):
        KubeClient(Scripted([Response(200, {}, body)])).serves(PODS)
