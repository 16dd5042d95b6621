"""Failures of the emulator itself: background threads go on, and the owner of the server gets every failure."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from apiserver_emulator import ApiServerEmulator
from apiserver_emulator.controllers.namespaces import NAMESPACES as NAMESPACE
from apiserver_emulator.controllers.namespaces import ServiceAccountController
from apiserver_emulator.controllers.thread import Task
from apiserver_emulator.controllers.writes import ControllerWrites
from apiserver_emulator.failures import LIMIT, Failures
from apiserver_emulator.watch_stream import WatchStream
from apiserver_emulator.webhooks import ValidatingWebhooks
from dra_api.client import ApiError, KubeClient
from dra_api.objects import CONFIG_MAPS, NAMESPACES, SERVICE_ACCOUNTS, VALIDATING_WEBHOOKS, name_of
from dra_api.status import StatusError, forbidden
from dra_api.transport import HttpTransport, Response, TransportError

Obj = dict[str, Any]


def failing(error: Exception) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> Any:
        raise error

    return fail


def make_namespace(client: KubeClient, name: str) -> None:
    client.create(NAMESPACES, {"metadata": {"name": name}})


def test_a_controller_task_that_raises_is_reported_and_the_thread_goes_on(
    plane: ApiServerEmulator, client: KubeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert plane.server.controllers.wait_idle(5)  # the accounts of the first namespaces
    with monkeypatch.context() as patch:
        patch.setattr(ServiceAccountController, "create_default", failing(KeyError("lost")))
        make_namespace(client, "first")
        assert plane.server.controllers.wait_idle(5)
    make_namespace(client, "second")
    assert plane.server.controllers.wait_idle(5)
    (failure,) = plane.take_failures()
    assert str(failure) == "controller task 'account' for namespaces first: KeyError: 'lost'"
    assert "test_failures.py" in failure.traceback
    assert [o["metadata"]["namespace"] for o in client.list(SERVICE_ACCOUNTS, "second").items] == ["second"]
    assert plane.take_failures() == []


def test_a_refusal_of_a_controller_is_reported(
    plane: ApiServerEmulator, client: KubeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = StatusError(403, "Forbidden", "not today")
    monkeypatch.setattr(ControllerWrites, "delete", failing(refusal))
    ghost = {"apiVersion": "v1", "kind": "ConfigMap", "name": "ghost", "uid": "00000000-0000-0000-0000-000000000000"}
    client.create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "default", "ownerReferences": [ghost]}})
    assert plane.server.controllers.wait_idle(5)
    assert [str(each) for each in plane.take_failures()] == [
        "controller task 'owners' for configmaps default/a: StatusError: not today"
    ]


def test_what_a_webhook_refuses_is_done_when_its_configuration_is_gone(
    plane: ApiServerEmulator, client: KubeClient
) -> None:
    webhook = {
        "name": "of-accounts.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [
            {"apiGroups": [""], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["serviceaccounts"]}
        ],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 1,
    }
    client.create(VALIDATING_WEBHOOKS, {"metadata": {"name": "dead"}, "webhooks": [webhook]})
    make_namespace(client, "new")
    assert plane.server.controllers.wait_idle(5)
    assert client.list(SERVICE_ACCOUNTS, "new").items == []
    client.delete(VALIDATING_WEBHOOKS, "dead")
    assert plane.server.controllers.wait_idle(5)
    assert [name_of(one) for one in client.list(SERVICE_ACCOUNTS, "new").items] == ["default"]
    assert plane.take_failures() == []


def test_a_failure_of_the_server_is_not_hidden_by_a_webhook_that_was_there(
    plane: ApiServerEmulator, client: KubeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert plane.server.controllers.wait_idle(5)  # the accounts of the first namespaces
    monkeypatch.setattr(ServiceAccountController, "create_default", failing(StatusError(500, "InternalError", "lost")))
    client.create(VALIDATING_WEBHOOKS, {"metadata": {"name": "any"}, "webhooks": []})
    make_namespace(client, "first")
    assert plane.server.controllers.wait_idle(5)
    assert plane.take_failures() == []
    client.delete(VALIDATING_WEBHOOKS, "any")
    assert plane.server.controllers.wait_idle(5)
    assert [str(each) for each in plane.take_failures()] == [
        "controller task 'account' for namespaces first: StatusError: lost"
    ]


@pytest.mark.parametrize("reason", ["NotFound", "Conflict", "AlreadyExists"])
def test_a_lost_race_of_a_controller_is_no_failure(
    plane: ApiServerEmulator, client: KubeClient, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    assert plane.server.controllers.wait_idle(5)  # the accounts of the first namespaces
    monkeypatch.setattr(ServiceAccountController, "create_default", failing(StatusError(409, reason, "too late")))
    make_namespace(client, "first")
    assert plane.server.controllers.wait_idle(5)
    assert plane.take_failures() == []


def test_an_account_for_a_terminating_namespace_is_no_failure(
    plane: ApiServerEmulator, client: KubeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_namespace(client, "held")
    held = {"name": "a", "namespace": "held", "finalizers": ["example.com/hold"]}
    client.create(CONFIG_MAPS, {"metadata": held})
    client.delete(NAMESPACES, "held")
    assert plane.server.controllers.wait_idle(5)
    with pytest.raises(ApiError, match="being terminated"):
        client.create(SERVICE_ACCOUNTS, {"metadata": {"name": "x", "namespace": "held"}})
    plane.server.controllers._push(Task("account", NAMESPACE, ("", "held")))
    assert plane.server.controllers.wait_idle(5)
    assert plane.take_failures() == []


def test_a_request_over_https_that_raises_outside_the_server_is_reported(
    https_plane: ApiServerEmulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WatchStream, "poll", failing(KeyError("lost")))
    transport = HttpTransport.from_kubeconfig(https_plane.kubeconfig)
    stream = transport.stream("/api/v1/pods", query=[("watch", "true")], timeout=60)
    assert not isinstance(stream, Response)
    with pytest.raises(TransportError):
        list(stream)
    transport.close()
    (failure,) = https_plane.take_failures()
    assert str(failure) == "HTTPS request GET /api/v1/pods: KeyError: 'lost'"


def test_an_event_loop_that_ends_by_itself_is_reported(https_plane: ApiServerEmulator) -> None:
    endpoint = https_plane._endpoint
    assert endpoint is not None
    assert endpoint._loop is not None
    assert endpoint._thread is not None
    endpoint._loop.call_soon_threadsafe(cancel_all)
    endpoint._thread.join(60)
    (failure,) = https_plane.take_failures()
    assert failure.source == "HTTPS endpoint"


def cancel_all() -> None:
    for task in asyncio.all_tasks():
        task.cancel()


def test_an_orderly_stop_is_no_failure(https_plane: ApiServerEmulator) -> None:
    https_plane.kill()
    https_plane.restart()
    https_plane.stop()
    assert https_plane.take_failures() == []


def test_a_bug_in_one_webhook_call_does_not_hide_behind_a_refusal(
    plane: ApiServerEmulator, client: KubeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = [
        {
            "name": f"{name}.example.com",
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "rules": [
                {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
            ],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        for name in ("refuses", "breaks")
    ]
    client.create(VALIDATING_WEBHOOKS, {"metadata": {"name": "w"}, "webhooks": hooks})

    def call(self: ValidatingWebhooks, hook: Obj, *_: object) -> None:
        raise forbidden("", "configmaps", "a", "no") if hook["name"].startswith("refuses") else KeyError("lost")

    monkeypatch.setattr(ValidatingWebhooks, "_call", call)
    with pytest.raises(ApiError, match="caused apiserver to panic"):
        client.create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "default"}})
    (failure,) = plane.take_failures()
    assert str(failure) == "request POST /api/v1/namespaces/default/configmaps: KeyError: 'lost'"


def test_a_broken_loop_does_not_fill_the_memory() -> None:
    failures = Failures()
    threads = [threading.Thread(target=failures.record, args=("loop", "again")) for _ in range(LIMIT + 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    taken = failures.take()
    assert len(taken) == LIMIT + 1
    assert str(taken[-1]) == "emulator: 3 further failures were not kept"
    assert failures.take() == []
