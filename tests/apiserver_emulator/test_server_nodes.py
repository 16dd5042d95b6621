"""Node controllers: the taint of a new node is removed, conditions and cordons become taints."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from apiserver_emulator import ApiServerEmulator
from dra_api.client import KubeClient
from dra_api.objects import NODES

TTL = {"node.alpha.kubernetes.io/ttl": "0"}
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def keys(client: KubeClient) -> list[str]:
    taints = (client.get(NODES, "n").get("spec") or {}).get("taints") or ()
    return sorted(taint["key"].rpartition("/")[2] for taint in taints)


def test_a_new_node_is_tainted_until_it_is_reconciled(plane: ApiServerEmulator, client: KubeClient) -> None:
    stream = plane.transport().stream("/api/v1/nodes", query=[("watch", "true")])
    made = client.create(NODES, {"metadata": {"name": "n"}, "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}})
    assert made["spec"]["taints"] == [{"key": "a", "effect": "NoSchedule"}, NOT_READY]
    found = client.get(NODES, "n")
    assert found["spec"]["taints"] == [{"key": "a", "effect": "NoSchedule"}]
    assert found["metadata"]["annotations"] == TTL
    plane.server.drop_watches()
    events = [json.loads(line) for line in stream]  # type: ignore[union-attr]
    assert [(e["type"], len(e["object"]["spec"]["taints"])) for e in events] == [("ADDED", 2), ("MODIFIED", 1)]


@pytest.mark.parametrize(
    ("conditions", "taints"),
    [
        ([("Ready", "True")], []),
        ([("Ready", "False")], ["not-ready"]),
        ([("Ready", "Unknown"), ("DiskPressure", "True")], ["disk-pressure", "unreachable"]),
        ([("Ready", "True"), ("MemoryPressure", "False")], []),
    ],
)
def test_conditions_add_and_remove_taints(
    client: KubeClient, conditions: list[tuple[str, str]], taints: list[str]
) -> None:
    client.create(NODES, {"metadata": {"name": "n"}})
    status = {"conditions": [{"type": kind, "status": value} for kind, value in conditions]}
    client.patch(NODES, "n", {"status": status}, subresource="status")
    assert keys(client) == taints
    client.patch(NODES, "n", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, subresource="status")
    assert keys(client) == []


def test_a_cordoned_node_is_tainted(client: KubeClient) -> None:
    client.create(NODES, {"metadata": {"name": "n"}})
    client.patch(NODES, "n", {"spec": {"unschedulable": True}})
    assert keys(client) == ["unschedulable"]
    client.patch(NODES, "n", {"spec": {"unschedulable": None}})
    assert keys(client) == []


def test_a_dry_run_changes_nothing(client: KubeClient) -> None:
    tried: dict[str, Any] = client.create(NODES, {"metadata": {"name": "n"}}, dry_run=True)
    assert tried["spec"]["taints"] == [NOT_READY]
    assert client.find(NODES, "n") is None


def test_a_request_beside_the_change_does_not_answer_for_it(plane: ApiServerEmulator, client: KubeClient) -> None:
    """The response to a change comes after the taints, also if another request ends in between."""
    other = plane.transport()
    beside: list[int] = []

    def look(kind: tuple[str, str], event: object) -> None:
        if kind == ("", "nodes") and not beside:
            thread = threading.Thread(target=lambda: beside.append(other.request("GET", "/version").status))
            thread.start()
            thread.join(60)

    plane.server.store.on_commit(look)
    client.create(NODES, {"metadata": {"name": "n"}})
    assert beside == [200]
    assert keys(client) == []
