"""Garbage collection: background, foreground, orphan, absent owners."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_emulator import ApiServerEmulator
from dra_api.client import KubeClient
from dra_api.objects import CONFIG_MAPS, owner_reference

Obj = dict[str, Any]


def config_map(name: str, *owners: Obj) -> Obj:
    return {"metadata": {"name": name, "namespace": "default", "ownerReferences": list(owners)}}


@pytest.fixture
def family(client: KubeClient) -> Obj:
    owner = client.create(CONFIG_MAPS, config_map("owner"))
    client.create(CONFIG_MAPS, config_map("child", owner_reference(owner, block_owner_deletion=True)))
    return owner


def names(client: KubeClient) -> list[str]:
    return [o["metadata"]["name"] for o in client.list(CONFIG_MAPS, "default").items]


def idle(plane: ApiServerEmulator) -> None:
    assert plane.server.controllers.wait_idle(5)


def test_background_deletion_takes_the_dependents_later(
    plane: ApiServerEmulator, client: KubeClient, family: Obj
) -> None:
    client.delete(CONFIG_MAPS, "owner", "default", propagation_policy="Background")
    idle(plane)
    assert names(client) == []


def test_foreground_deletion_waits_for_the_dependents(
    plane: ApiServerEmulator, client: KubeClient, family: Obj
) -> None:
    client.patch(CONFIG_MAPS, "child", {"metadata": {"finalizers": ["example.com/hold"]}}, "default")
    client.delete(CONFIG_MAPS, "owner", "default", propagation_policy="Foreground")
    idle(plane)
    assert client.get(CONFIG_MAPS, "owner", "default")["metadata"]["finalizers"] == ["foregroundDeletion"]
    child = client.get(CONFIG_MAPS, "child", "default")
    assert child["metadata"]["deletionTimestamp"]
    client.patch(
        CONFIG_MAPS,
        "child",
        {"metadata": {"finalizers": [f for f in child["metadata"]["finalizers"] if f != "example.com/hold"]}},
        "default",
    )
    idle(plane)
    assert names(client) == []


def test_orphans_stay_without_their_owner(plane: ApiServerEmulator, client: KubeClient, family: Obj) -> None:
    client.delete(CONFIG_MAPS, "owner", "default", propagation_policy="Orphan")
    idle(plane)
    assert names(client) == ["child"]
    assert "ownerReferences" not in client.get(CONFIG_MAPS, "child", "default")["metadata"]


def test_an_object_with_another_owner_stays(plane: ApiServerEmulator, client: KubeClient, family: Obj) -> None:
    second = client.create(CONFIG_MAPS, config_map("second"))
    references = [owner_reference(family), owner_reference(second)]
    client.patch(CONFIG_MAPS, "child", {"metadata": {"ownerReferences": references}}, "default")
    client.delete(CONFIG_MAPS, "owner", "default")
    idle(plane)
    assert names(client) == ["child", "second"]
    left = client.get(CONFIG_MAPS, "child", "default")["metadata"]["ownerReferences"]
    assert [o["name"] for o in left] == ["second"]


def test_an_object_whose_owner_never_existed_is_garbage(plane: ApiServerEmulator, client: KubeClient) -> None:
    ghost = {"apiVersion": "v1", "kind": "ConfigMap", "name": "ghost", "uid": "00000000-0000-0000-0000-000000000000"}
    client.create(CONFIG_MAPS, config_map("child", ghost))
    idle(plane)
    assert names(client) == []
