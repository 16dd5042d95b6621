"""JSON, merge and strategic patches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from apiserver_emulator import ApiServerEmulator, patch_formats
from apiserver_emulator.schemas import GVK, load
from dra_api.client import ApiError, KubeClient
from dra_api.objects import CONFIG_MAPS, PODS

Obj = dict[str, Any]
POD = load("1.36").root(GVK("", "v1", "Pod"))


def strategic(current: Obj, change: Obj) -> Obj:
    return patch_formats.apply(patch_formats.STRATEGIC, current, change, POD)


def test_json_patch_adds_tests_and_fails_whole(client: KubeClient) -> None:
    client.create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "default"}, "data": {"x": "1"}})
    change = [{"op": "test", "path": "/data/x", "value": "1"}, {"op": "add", "path": "/data/y", "value": "2"}]
    assert client.patch(CONFIG_MAPS, "a", change, "default", kind="json")["data"] == {"x": "1", "y": "2"}
    wrong = [{"op": "remove", "path": "/data/x"}, {"op": "test", "path": "/data/y", "value": "9"}]
    with pytest.raises(ApiError) as refused:
        client.patch(CONFIG_MAPS, "a", wrong, "default", kind="json")
    assert refused.value.status == 422
    assert client.get(CONFIG_MAPS, "a", "default")["data"] == {"x": "1", "y": "2"}


def test_merge_patch_removes_with_null(client: KubeClient) -> None:
    client.create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "default"}, "data": {"x": "1", "y": "2"}})
    assert client.patch(CONFIG_MAPS, "a", {"data": {"x": None}}, "default")["data"] == {"y": "2"}


def test_a_patch_with_a_resource_version_is_optimistic(client: KubeClient) -> None:
    made = client.create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "default"}})
    client.patch(CONFIG_MAPS, "a", {"data": {"x": "1"}}, "default")
    stale = {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]}, "data": {"x": "2"}}
    with pytest.raises(ApiError) as refused:
        client.patch(CONFIG_MAPS, "a", stale, "default")
    assert refused.value.status == 409


def test_patches_of_unknown_kinds_are_refused(plane: ApiServerEmulator, client: KubeClient) -> None:
    client.create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "default"}})
    path = "/api/v1/namespaces/default/configmaps/a"
    answer = plane.transport().request("PATCH", path, body=b"{}", content_type="text/plain")
    assert answer.status == 415


def test_strategic_merges_containers_by_name() -> None:
    current = {"spec": {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]}}
    change = {"spec": {"containers": [{"name": "b", "image": "2"}, {"name": "c", "image": "3"}]}}
    assert strategic(current, change)["spec"]["containers"] == [
        {"name": "a", "image": "1"},
        {"name": "b", "image": "2"},
        {"name": "c", "image": "3"},
    ]


def test_strategic_item_whose_key_is_null_loses_its_key() -> None:
    """Found by `make fuzz`."""
    change = {"spec": {"containers": [{"name": None, "image": "i"}]}}
    assert strategic({}, change) == {"spec": {"containers": [{"image": "i"}]}}


def test_strategic_directives() -> None:
    current = {"spec": {"containers": [{"name": "a"}, {"name": "b"}], "nodeSelector": {"x": "1", "y": "2"}}}
    change = {
        "spec": {
            "$setElementOrder/containers": [{"name": "c"}, {"name": "b"}],
            "containers": [{"name": "c", "image": "i"}, {"name": "a", "$patch": "delete"}],
            "nodeSelector": {"$patch": "replace", "z": "3"},
        }
    }
    found = strategic(current, change)["spec"]
    assert [c["name"] for c in found["containers"]] == ["c", "b"]
    assert found["nodeSelector"] == {"z": "3"}


def test_strategic_replaces_atomic_lists_and_merges_primitive_sets() -> None:
    current = {"metadata": {"finalizers": ["a", "b"]}, "spec": {"tolerations": [{"key": "x"}]}}
    change = {
        "metadata": {"finalizers": ["c"], "$deleteFromPrimitiveList/finalizers": ["a"]},
        "spec": {"tolerations": [{"key": "y"}]},
    }
    found = strategic(current, change)
    assert found["metadata"]["finalizers"] == ["c", "b"]  # upstream puts the items of the patch first
    assert found["spec"]["tolerations"] == [{"key": "y"}]


def test_strategic_through_the_server(client: KubeClient, pod: Callable[..., Obj]) -> None:
    client.create(PODS, pod("p"))
    change = {"spec": {"containers": [{"name": "main", "image": "registry.example/app:2"}]}}
    found = client.patch(PODS, "p", change, "default", kind="strategic")
    assert found["spec"]["containers"][0]["image"] == "registry.example/app:2"
    assert found["spec"]["containers"][0]["terminationMessagePath"] == "/dev/termination-log"
