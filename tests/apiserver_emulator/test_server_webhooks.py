"""Validating webhooks, called over HTTPS."""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from apiserver_emulator import ApiServerEmulator, webhook_answers, webhooks
from apiserver_emulator.controllers.root_ca import ROOT_CA
from dra_api import certificates
from dra_api.client import ApiError, KubeClient
from dra_api.objects import CONFIG_MAPS, NAMESPACES, VALIDATING_WEBHOOKS
from dra_api.transport import Transport

Obj = dict[str, Any]


class Hook:
    """A webhook that refuses objects with data.bad, and records its requests."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        made = certificates.make(folder)
        self.bundle = base64.b64encode(made.authority.read_bytes()).decode()
        self.seen: list[Obj] = []
        self.versions: list[str] = []
        self.answer: Obj = {}
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                hook.seen.append(review["request"])
                hook.versions.append(review["apiVersion"])
                bad = ((review["request"].get("object") or {}).get("data") or {}).get("bad")
                response = {"uid": review["request"]["uid"], "allowed": not bad, "warnings": ["looked"]}
                if bad:
                    response["status"] = {"message": f"bad is {bad}", "code": 422, "reason": "Invalid"}
                body = json.dumps({**review, "response": {**response, **hook.answer}}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(made.certificate, made.key)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.server.server_address[1]}/validate"

    def configuration(self, **more: Any) -> Obj:
        rule = {
            "operations": ["CREATE", "UPDATE"],
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "resources": ["configmaps"],
        }
        hook = {
            "name": "check.example.com",
            "clientConfig": {"url": self.url, "caBundle": self.bundle},
            "rules": [rule],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        return {"metadata": {"name": "check"}, "webhooks": [{**hook, **more}]}

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def hook(tmp_path: Path) -> Iterator[Hook]:
    found = Hook(tmp_path / "hook")
    yield found
    found.close()


def config_map(name: str, *, namespace: str = "default", **data: str) -> Obj:
    return {"metadata": {"name": name, "namespace": namespace}, "data": data}


def test_a_refusal_reaches_the_client(any_client: KubeClient, hook: Hook) -> None:
    any_client.create(VALIDATING_WEBHOOKS, hook.configuration())
    any_client.create(CONFIG_MAPS, config_map("good"))
    with pytest.raises(ApiError) as refused:
        any_client.create(CONFIG_MAPS, config_map("x", bad="1"))
    assert refused.value.status == 422
    assert refused.value.message == 'admission webhook "check.example.com" denied the request: bad is 1'
    seen = hook.seen[0]
    assert (seen["operation"], seen["name"], seen["namespace"]) == ("CREATE", "good", "default")
    assert seen["resource"] == {"group": "", "version": "v1", "resource": "configmaps"}
    assert seen["userInfo"]["username"] == "kubernetes-admin"
    assert seen["object"]["metadata"]["uid"]


def test_updates_show_the_old_object(client: KubeClient, hook: Hook) -> None:
    client.create(CONFIG_MAPS, config_map("a", x="1"))
    client.create(VALIDATING_WEBHOOKS, hook.configuration())
    client.patch(CONFIG_MAPS, "a", {"data": {"x": "2"}}, "default")
    assert (hook.seen[0]["oldObject"]["data"], hook.seen[0]["object"]["data"]) == ({"x": "1"}, {"x": "2"})
    with pytest.raises(ApiError, match="bad is 2"):
        client.patch(CONFIG_MAPS, "a", {"data": {"bad": "2"}}, "default")
    client.delete(CONFIG_MAPS, "a", "default")
    assert len(hook.seen) == 2


def test_namespace_selectors_narrow(client: KubeClient, hook: Hook) -> None:
    client.create(NAMESPACES, {"metadata": {"name": "watched", "labels": {"check": "yes"}}})
    client.create(VALIDATING_WEBHOOKS, hook.configuration(namespaceSelector={"matchLabels": {"check": "yes"}}))
    client.create(CONFIG_MAPS, config_map("a", bad="1"))
    with pytest.raises(ApiError):
        client.create(CONFIG_MAPS, config_map("a", namespace="watched", bad="1"))


def test_match_conditions_narrow(client: KubeClient, hook: Hook) -> None:
    conditions = [
        {"name": "bad", "expression": "has(object.data.bad)"},
        {"name": "not-a", "expression": "request.name != 'a' && oldObject == null"},
    ]
    client.create(VALIDATING_WEBHOOKS, hook.configuration(matchConditions=conditions))
    client.create(CONFIG_MAPS, config_map("a", bad="1"))
    client.create(CONFIG_MAPS, config_map("b", good="1"))
    assert not hook.seen
    with pytest.raises(ApiError, match="bad is 1"):
        client.create(CONFIG_MAPS, config_map("b", bad="1"))


def test_a_match_condition_that_fails(client: KubeClient, hook: Hook) -> None:
    condition = {"name": "bad", "expression": "object.data.bad == '1'"}
    client.create(VALIDATING_WEBHOOKS, hook.configuration(matchConditions=[condition]))
    with pytest.raises(ApiError, match="resulted in error: no such key") as refused:
        client.create(CONFIG_MAPS, config_map("a"))
    assert refused.value.status == 403
    ignore = [{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]
    client.patch(VALIDATING_WEBHOOKS, "check", ignore, kind="json")
    client.create(CONFIG_MAPS, config_map("a"))
    assert not hook.seen


@pytest.mark.parametrize(
    ("conditions", "field"),
    [
        ([{"name": "a", "expression": "object.x =="}], "matchConditions[0].expression"),
        ([{"name": "a", "expression": "'text'"}], "matchConditions[0].expression"),
        ([{"name": "a", "expression": "true"}, {"name": "a", "expression": "true"}], "matchConditions[1].name"),
        ([{"name": "", "expression": ""}], "matchConditions[0].name"),
    ],
)
def test_match_conditions_are_validated(client: KubeClient, hook: Hook, conditions: list[Obj], field: str) -> None:
    with pytest.raises(ApiError) as refused:
        client.create(VALIDATING_WEBHOOKS, hook.configuration(matchConditions=conditions))
    assert refused.value.status == 422
    assert f"webhooks[0].{field}" in [cause["field"] for cause in refused.value.causes]


@pytest.mark.parametrize(("offered", "used"), [(["v1beta1", "v1"], "v1beta1"), (["v9", "v1", "v1beta1"], "v1")])
def test_the_first_known_version_of_reviews_is_used(
    client: KubeClient, hook: Hook, offered: list[str], used: str
) -> None:
    client.create(VALIDATING_WEBHOOKS, hook.configuration(admissionReviewVersions=offered))
    client.create(CONFIG_MAPS, config_map("a"))
    assert hook.versions == [f"admission.k8s.io/{used}"]


def test_failure_policies(client: KubeClient, hook: Hook) -> None:
    dead = {"url": "https://127.0.0.1:9/validate", "caBundle": hook.bundle}
    client.create(VALIDATING_WEBHOOKS, hook.configuration(clientConfig=dead, timeoutSeconds=1))
    with pytest.raises(ApiError) as refused:
        client.create(CONFIG_MAPS, config_map("a"))
    assert (refused.value.status, refused.value.reason) == (500, "InternalError")
    assert 'failed calling webhook "check.example.com": failed to call webhook: Post' in refused.value.message
    ignore = [{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]
    client.patch(VALIDATING_WEBHOOKS, "check", ignore, kind="json")
    client.create(CONFIG_MAPS, config_map("a"))


def two_hooks(hook: Hook) -> Obj:
    """A configuration with the webhooks `first` and `second`."""
    made = hook.configuration()
    (only,) = made["webhooks"]
    return {**made, "webhooks": [{**only, "name": f"{name}.example.com"} for name in ("first", "second")]}


def test_writes_at_the_same_time_share_connections(
    plane: ApiServerEmulator, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    pool = webhooks.urllib3.PoolManager

    def slowly(*words: Any, **options: Any) -> Any:
        made.append(words)
        time.sleep(0.1)  # another thread gets here in the meantime, unless it waits for this one
        return pool(*words, **options)

    monkeypatch.setattr(webhooks.urllib3, "PoolManager", slowly)
    client = KubeClient(plane.transport())
    client.create(VALIDATING_WEBHOOKS, two_hooks(hook))
    with ThreadPoolExecutor(4) as writers:
        list(writers.map(lambda name: client.create(CONFIG_MAPS, config_map(name)), "abcd"))
    assert len(made) == 1


def answer_with(monkeypatch: pytest.MonkeyPatch, answer: Callable[[str, Obj], webhook_answers.Answer]) -> None:
    """Replace the calls of webhooks: `answer` gets the webhook's first name and the request."""

    def post(_: object, hook: Obj, request: Obj, timeout: float) -> webhook_answers.Answer:
        return answer(hook["name"].partition(".")[0], request)

    monkeypatch.setattr(webhooks.ValidatingWebhooks, "_post", post)


@pytest.mark.parametrize("allowed", [True, False])
def test_warnings_and_refusals_have_the_order_of_the_webhooks(
    plane: ApiServerEmulator, hook: Hook, monkeypatch: pytest.MonkeyPatch, allowed: bool
) -> None:
    answered = threading.Event()

    def answer(name: str, request: Obj) -> webhook_answers.Answer:
        if name == "second":
            answered.set()
        else:
            assert answered.wait(60)
        return webhook_answers.Answer(allowed=allowed, warnings=[name])

    transport = plane.transport()
    KubeClient(transport).create(VALIDATING_WEBHOOKS, two_hooks(hook))
    answer_with(monkeypatch, answer)
    body = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", **config_map("a")}).encode()
    found = transport.request("POST", "/api/v1/namespaces/default/configmaps", body=body)
    if allowed:
        assert found.headers["warning"] == '299 - "first", 299 - "second"'
    else:
        assert "first.example.com" in json.loads(found.body)["message"]


def test_webhooks_that_write_themselves_do_not_wait_for_their_own_review(
    plane: ApiServerEmulator, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "MAX_PARALLEL", 2)
    client = KubeClient(plane.transport())
    both = threading.Barrier(2)

    def answer(name: str, request: Obj) -> webhook_answers.Answer:
        if request["name"] == "outer":
            both.wait(60)
            client.create(CONFIG_MAPS, config_map(f"of-{name}"))
        return webhook_answers.Answer(allowed=True)

    client.create(VALIDATING_WEBHOOKS, two_hooks(hook))
    answer_with(monkeypatch, answer)
    writer = threading.Thread(target=lambda: client.create(CONFIG_MAPS, config_map("outer")), daemon=True)
    writer.start()
    writer.join(60)
    assert client.find(CONFIG_MAPS, "outer", "default") is not None


def test_a_wrong_answer_is_a_failure(client: KubeClient, hook: Hook) -> None:
    client.create(VALIDATING_WEBHOOKS, hook.configuration())
    hook.answer = {"uid": "other"}
    with pytest.raises(ApiError, match=r"expected response.uid="):
        client.create(CONFIG_MAPS, config_map("a"))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"allowed": "yes"}, "Expected `bool`, got `str` - at `$.allowed`"),
        ({"warnings": 5}, "Expected `array`, got `int` - at `$.warnings`"),
        ({"warnings": [None, {}]}, "Expected `str`, got `null` - at `$.warnings[0]`"),
        ({"allowed": False, "status": "no"}, "Expected `object`, got `str` - at `$.status`"),
        ({"allowed": False, "status": {"code": "many"}}, "Expected `int`, got `str` - at `$.status.code`"),
        ({"allowed": False, "status": {"code": 2**40}}, "Expected `int` <= 2147483647 - at `$.status.code`"),
        ({"allowed": False, "status": {"message": {}}}, "Expected `str`, got `object` - at `$.status.message`"),
        ({"allowed": False, "status": {"details": {"causes": {}}}}, "Expected `array`, got `object` - at `$.causes`"),
    ],
    ids=lambda value: value[-12:].strip("`$") if isinstance(value, str) else "",
)
def test_a_value_of_a_wrong_type_is_a_failed_call(client: KubeClient, hook: Hook, answer: Obj, said: str) -> None:
    client.create(VALIDATING_WEBHOOKS, hook.configuration())
    hook.answer = answer
    with pytest.raises(ApiError) as refused:
        client.create(CONFIG_MAPS, config_map("a"))
    assert (refused.value.status, refused.value.reason) == (500, "InternalError")
    assert f"a value of the answer is not of its type: {said}" in refused.value.message


@pytest.mark.parametrize(("given", "code"), [(200, 400), (-1, 400), (100_000, 400), (999, 999), (418, 418)])
def test_the_code_of_a_denial_is_one_of_http(client: KubeClient, hook: Hook, given: int, code: int) -> None:
    client.create(VALIDATING_WEBHOOKS, hook.configuration())
    hook.answer = {"allowed": False, "status": {"code": given, "message": "no", "details": None}}
    with pytest.raises(ApiError) as refused:
        client.create(CONFIG_MAPS, config_map("a"))
    assert refused.value.status == code


def test_an_answer_without_end_is_a_failed_call(
    client: KubeClient, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.create(VALIDATING_WEBHOOKS, hook.configuration())
    monkeypatch.setattr(webhook_answers, "MAX_SIZE", 4000)
    hook.answer = {"warnings": ["x" * 4000]}
    with pytest.raises(ApiError, match="the answer is longer than 4000 bytes"):
        client.create(CONFIG_MAPS, config_map("a"))
    hook.answer = {"warnings": ["a\nb\r\nX-Evil: 1", "\x00", "é"]}
    client.create(CONFIG_MAPS, config_map("a"))


def test_bad_configurations_are_refused(client: KubeClient, hook: Hook) -> None:
    with pytest.raises(ApiError) as refused:
        client.create(VALIDATING_WEBHOOKS, hook.configuration(sideEffects="Some", admissionReviewVersions=["v9"]))
    assert [c["field"] for c in refused.value.causes] == [
        "webhooks[0].admissionReviewVersions",
        "webhooks[0].sideEffects",
    ]


def test_a_refused_root_certificate_is_no_failure_and_published_later(
    https_plane: ApiServerEmulator, hook: Hook
) -> None:
    client = KubeClient(https_plane.transport())
    hook.answer = {"allowed": False}
    client.create(VALIDATING_WEBHOOKS, hook.configuration())
    client.create(NAMESPACES, {"metadata": {"name": "later"}})
    assert https_plane.server.controllers.wait_idle(60.0)
    assert hook.seen
    assert client.find(CONFIG_MAPS, ROOT_CA, "later") is None
    client.delete(VALIDATING_WEBHOOKS, "check")
    client.patch(NAMESPACES, "later", {"metadata": {"labels": {"a": "b"}}}, kind="merge")
    assert https_plane.server.controllers.wait_idle(60.0)
    assert client.find(CONFIG_MAPS, ROOT_CA, "later") is not None


def test_warnings_of_a_webhook_are_one_header(transport: Transport, any_client: KubeClient, hook: Hook) -> None:
    any_client.create(VALIDATING_WEBHOOKS, hook.configuration())
    hook.answer = {"warnings": ["a\nb\r\nX-Evil: 1", "\x00", "\x85", "中", 'a "quote"', 'a "quote"']}
    body = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", **config_map("a")}).encode()
    answer = transport.request("POST", "/api/v1/namespaces/default/configmaps", body=body)
    assert answer.status == 201
    # The client shows the bytes of a header as Latin-1.
    shown = answer.headers["warning"]
    shown = shown if "中" in shown else shown.encode("latin-1").decode()
    assert shown == '299 - "中", 299 - "a \\"quote\\""'
    assert "x-evil" not in answer.headers


def test_many_warnings_are_shortened(transport: Transport, any_client: KubeClient, hook: Hook) -> None:
    any_client.create(VALIDATING_WEBHOOKS, hook.configuration())
    hook.answer = {"warnings": [f"{number:05}" + "x" * 4000 for number in range(1000)]}
    body = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", **config_map("a")}).encode()
    answer = transport.request("POST", "/api/v1/namespaces/default/configmaps", body=body)
    assert answer.status == 201
    assert answer.headers["warning"].split(", ") == [f'299 - "{number:05}{"x" * 251}"' for number in range(16)]
