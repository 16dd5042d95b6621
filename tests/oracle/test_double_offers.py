"""Tests of nodes with device plugins and DRA: resources offered in both ways, and devices used twice."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
import yaml
from oracle_clusters import claim, device_class, exactly, node, resource_slice
from test_planted_faults import allocated, device, result

from dra_api.objects import Obj
from dra_conformance.cli import call
from dra_conformance.oracle import Cluster, double_offers, double_uses

RESOURCE = "example.com/gpu"
UUID = "GPU-1"


def objects(*, allocatable: str = "2", taints: list[Obj] | None = None, extended: str = RESOURCE) -> list[Obj]:
    """Return a node with a plugin and slices, and a claim that has the device a0."""
    with_plugin = copy.deepcopy(node("n1"))
    with_plugin["status"] = {"allocatable": {RESOURCE: allocatable, "cpu": "4"}}
    gpus = [copy.deepcopy(device("a0")), copy.deepcopy(device("a1"))]
    gpus[0]["attributes"]["uuid"] = {"string": UUID}
    for gpu in gpus:
        gpu["taints"] = taints or []
    found = device_class("gpu", "device.attributes['gpu.example.com'].kind == 'gpu'")
    found["spec"]["extendedResourceName"] = extended
    held = allocated(claim("held", exactly("r", "gpu")), result("a0"))
    return [with_plugin, node("n2"), resource_slice("s", gpus, pool="n1", nodeName="n1"), found, held]


def pod(device_id: str, *, phase: str = "Running", where: str = "n1", entry: str = RESOURCE) -> Obj:
    health = [{"name": entry, "resources": [{"resourceID": device_id, "health": "Healthy"}]}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "train", "namespace": "ns", "uid": "u1"},
        "spec": {"nodeName": where, "containers": [{"name": "main"}]},
        "status": {"phase": phase, "containerStatuses": [{"name": "main", "allocatedResourcesStatus": health}]},
    }


def test_a_node_with_plugin_and_slices_offers_a_resource_in_both_ways() -> None:
    (found,) = double_offers(Cluster.of(objects()))
    assert (found.node, found.resource, found.allocatable, found.device_class) == ("n1", RESOURCE, 2, "gpu")
    assert "gpu.example.com/n1/a0" in found.message


@pytest.mark.parametrize(
    "change",
    [{"allocatable": "0"}, {"extended": "example.com/other"}, {"taints": [{"key": "k", "effect": "NoSchedule"}]}],
)
def test_what_a_claim_or_a_pod_cannot_have_is_not_offered(change: dict[str, object]) -> None:
    assert double_offers(Cluster.of(objects(**change))) == []  # type: ignore[arg-type]


@pytest.mark.parametrize("device_id", [UUID, f"{UUID}::3", "a0"])
def test_a_device_of_a_plugin_that_a_claim_has_is_used_twice(device_id: str) -> None:
    (found,) = double_uses(Cluster.of([*objects(), pod(device_id)]))
    assert (found.node, found.pod, found.claim, found.id) == ("n1", "ns/train", "ns/held", device_id)


@pytest.mark.parametrize(
    "other",
    [
        pod("a1"),
        pod("GPU-2"),
        pod(UUID, phase="Succeeded"),
        pod(UUID, where="n2"),
        pod(UUID, entry="claim:held"),
        pod("a0", entry="example.com/nic"),
    ],
)
def test_other_devices_are_not_used_twice(other: Obj) -> None:
    assert double_uses(Cluster.of([*objects(), other])) == []


def run(folder: Path, capsys: pytest.CaptureFixture[str], several: list[Obj], *options: str) -> tuple[int, str]:
    path = folder / "all.yaml"
    path.write_text(yaml.safe_dump_all(several))
    return call(["check", str(path), *options]), capsys.readouterr().out


def test_check_reports_a_double_use_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = run(tmp_path, capsys, [*objects(), pod(UUID)])
    assert code == 1
    assert "TWICE   node n1" in text
    assert "note    node n1" in text
    code, text = run(tmp_path, capsys, [*objects(), pod(UUID)], "--format", "json")
    assert code == 1
    assert [one["id"] for one in json.loads(text)["double_uses"]] == [UUID]


def test_check_only_notes_a_double_offer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = run(tmp_path, capsys, objects())
    assert code == 0
    assert "is offered by a device plugin (2 allocatable) and by DRA" in text.replace("\n  ", " ")
    code, text = run(tmp_path, capsys, objects(), "--quiet")
    assert (code, text) == (0, "1 allocated claims checked: no rule is broken\n")
