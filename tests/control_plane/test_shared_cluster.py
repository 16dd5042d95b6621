"""A run on a cluster that has other nodes: its own, and those of another worker of the same run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
import yaml

from apiserver_emulator import ApiServerEmulator
from apiserver_emulator.auth import User
from dra_api.client import KubeClient
from dra_api.objects import CRDS, NODES
from dra_conformance.cli import call
from dra_conformance.core import assets
from dra_conformance.core.labels import SCENARIO_LABEL
from dra_conformance.steps.nodes import node_object

ADMIN = User("admin", groups=("system:masters",))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ApiServerEmulator]:
    with ApiServerEmulator(directory=tmp_path / "plane") as plane:
        admin = KubeClient(plane.transport())
        for path in sorted((assets.fixtures() / "crds").glob("*.yaml")):
            for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
                admin.create(CRDS, document)
        yield plane


def statuses(cluster: ApiServerEmulator, folder: Path, focus: str) -> dict[str, str]:
    kubeconfig = cluster.write_kubeconfig(folder / "admin", ADMIN)
    words = ["run", "--control-plane", f"kubeconfig:{kubeconfig}", "--report", "json", "--progress", "none"]
    for component in ("scheduler", "binder", "claim-controller"):
        words += [f"--{component}", "reference"]
    call([*words, "--focus", focus, "--out", str(folder / "out")])
    report = orjson.loads((folder / "out/report.json").read_bytes())
    return {row["id"]: row["status"] for row in report["scenarios"] if row["status"] != "filtered"}


def add_node(cluster: ApiServerEmulator, name: str, labels: dict[str, str]) -> None:
    """Add a node that any pod without a selector fits on."""
    admin, node = KubeClient(cluster.transport()), node_object(name, labels)
    admin.create(NODES, node)
    admin.patch(NODES, name, {"status": node["status"]}, subresource="status")


@pytest.mark.parametrize(
    ("focus", "scenarios"),
    [
        ("^allocation/alternatives#a-constraint-on-", 3),
        # Its devices are for all nodes.
        ("^allocation/binding_conditions#a-device-that-binds-to-its-node-is-allocated", 1),
    ],
)
def test_pods_come_to_nodes_of_their_scenario(
    cluster: ApiServerEmulator, tmp_path: Path, focus: str, scenarios: int
) -> None:
    # Before and after the nodes of scenarios by name: one of the cluster, and one of another worker's scenario.
    add_node(cluster, "a-node", {})
    add_node(cluster, "zz-node", {SCENARIO_LABEL: "0a1b2c3d-7"})
    found = statuses(cluster, tmp_path, focus)
    assert len(found) == scenarios
    assert set(found.values()) == {"passed"}
