"""Hooks of tests and components: counters, kill and restart of the server."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import threading
from typing import Any

import pytest

from apiserver_emulator import ApiServerEmulator
from apiserver_emulator.strategy import BaseStrategy
from dra_api.client import ApiError, KubeClient
from dra_api.objects import CONFIG_MAPS, RESOURCE_SLICES
from dra_api.transport import HttpTransport, Transport, TransportError

Obj = dict[str, Any]
BODY: Obj = {"metadata": {"name": "a", "namespace": "default"}}


def test_requests_are_counted(plane: ApiServerEmulator, client: KubeClient) -> None:
    plane.server.reset_counts()
    client.list(CONFIG_MAPS)
    client.create(CONFIG_MAPS, BODY)
    assert plane.server.counts() == {("list", "configmaps"): 1, ("create", "configmaps"): 1}


@pytest.mark.parametrize("version", ["1.34", "1.35", "1.36", "1.37"])
def test_every_release_starts(tmp_path: Any, version: str) -> None:
    with ApiServerEmulator(directory=tmp_path, kubernetes_version=version, https=False) as plane:
        assert plane.server.call("GET", "/version")["minor"] == version.split(".")[1]
        assert plane.server.call("GET", "/apis/resource.k8s.io")["preferredVersion"]["version"] == "v1"


def test_an_unknown_release_is_refused(tmp_path: Any) -> None:
    with pytest.raises(ValueError, match=r"1\.20"):
        ApiServerEmulator(directory=tmp_path, kubernetes_version="1.20")


def test_stop_is_idempotent_and_leaves_no_thread(tmp_path: Any) -> None:
    before = set(threading.enumerate())
    plane = ApiServerEmulator(directory=tmp_path / "x")
    plane.start()
    stream = plane.transport().stream("/api/v1/pods", query=[("watch", "true")])
    plane.stop()
    plane.stop()
    assert list(stream) == []  # type: ignore[arg-type]
    assert set(threading.enumerate()) <= before


def test_a_body_over_the_limit_is_refused(transport: Transport) -> None:
    body = b'{"data":{"a":"' + b"x" * (3 * 1024 * 1024) + b'"}}'
    answer = transport.request("POST", "/api/v1/namespaces/default/configmaps", body=body)
    assert (answer.status, json.loads(answer.body)["reason"]) == (413, "RequestEntityTooLarge")


def test_a_bug_in_a_strategy_is_a_panic_and_reported(plane: ApiServerEmulator, client: KubeClient) -> None:
    class Broken(BaseStrategy):
        def default(self, obj: Obj) -> None:
            raise KeyError("lost")

    found = plane.server.resources.find("", "configmaps")
    assert found is not None
    plane.server.resources.add(dataclasses.replace(found, strategy=Broken()))
    with pytest.raises(ApiError, match="this request caused apiserver to panic"):
        client.create(CONFIG_MAPS, BODY)
    (failure,) = plane.take_failures()
    assert str(failure) == "request POST /api/v1/namespaces/default/configmaps: KeyError: 'lost'"


@pytest.mark.parametrize("endpoint", ["in-process", "https"])
def test_a_killed_server_refuses_connections_and_restarts_with_its_objects(
    https_plane: ApiServerEmulator, endpoint: str
) -> None:
    over_https = HttpTransport.from_kubeconfig(https_plane.kubeconfig)
    client = KubeClient(https_plane.transport() if endpoint == "in-process" else over_https)
    made = client.create(CONFIG_MAPS, BODY)
    url = https_plane.url
    watch = client.watch(CONFIG_MAPS, resource_version=made["metadata"]["resourceVersion"])
    https_plane.kill()
    with contextlib.suppress(TransportError):  # a connection may also break before its end is read
        assert list(watch) == []
    with pytest.raises(TransportError):
        client.get(CONFIG_MAPS, "a", "default")
    https_plane.kill()
    https_plane.restart()
    assert https_plane.url == url
    assert client.get(CONFIG_MAPS, "a", "default") == made
    again = client.watch(CONFIG_MAPS, resource_version=made["metadata"]["resourceVersion"])
    client.patch(CONFIG_MAPS, "a", {"data": {"x": "1"}}, "default")
    assert next(iter(again)).object["data"] == {"x": "1"}
    again.close()
    over_https.close()


def test_a_server_restarts_with_other_gates_and_keeps_stored_fields(plane: ApiServerEmulator) -> None:
    taint = {"key": "a.example.com/b", "effect": "NoSchedule", "timeAdded": "2020-01-02T03:04:05Z"}
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    spec: Obj = {"driver": "a.example.com", "nodeName": "n", "pool": pool}
    client = KubeClient(plane.transport())
    tainted = {**spec, "devices": [{"name": "d", "taints": [taint]}]}
    stored = client.create(RESOURCE_SLICES, {"metadata": {"name": "stored"}, "spec": tainted})
    plane.kill()
    plane.restart(feature_gates={"DRADeviceTaintRules": False, "DRADeviceTaints": False})
    stored["metadata"]["labels"] = {"a": "b"}
    assert client.update(RESOURCE_SLICES, stored)["spec"]["devices"][0]["taints"] == [taint]
    new = client.create(RESOURCE_SLICES, {"metadata": {"name": "new"}, "spec": tainted})
    assert new["spec"]["devices"] == [{"name": "d"}]
    plane.kill()
    plane.restart()
    assert plane.server.feature_gates["DRADeviceTaints"] is False
