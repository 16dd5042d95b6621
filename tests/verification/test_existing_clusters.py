"""The suite on clusters that exist before a run: what is started, and that a run must leave nothing there."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from dra_api.client import KubeClient
from dra_api.objects import NAMESPACES, NODES, PODS
from dra_api.transport import HttpTransport
from verification.third_party import verify
from verification.third_party.catalogue import ThirdParty
from verification.third_party.existing_cluster import existing_cluster, objects_of

PROGRAM = ThirdParty(name="a cluster", version="v1", program="none", cluster="emulated")


def test_objects_of_users_are_found(tmp_path: Path) -> None:
    with existing_cluster("emulated", tmp_path / "cluster", tmp_path) as kubeconfig:
        before = objects_of(kubeconfig)
        client = KubeClient(HttpTransport.from_kubeconfig(kubeconfig))
        client.create(NODES, {"metadata": {"name": "n1"}})
        client.create(NAMESPACES, {"metadata": {"name": "ns"}})
        client.create(
            PODS,
            {
                "metadata": {"name": "p", "namespace": "ns"},
                "spec": {"containers": [{"name": "main", "image": "pause"}]},
            },
        )
        after = objects_of(kubeconfig)
    assert {after[uid] for uid in after.keys() - before} >= {"nodes n1", "namespaces ns", "pods ns/p"}
    assert any(name.startswith("customresourcedefinitions ") for name in before.values())


@pytest.mark.parametrize("leaves", [True, False])
def test_a_run_that_leaves_objects_has_no_verdict(monkeypatch: pytest.MonkeyPatch, leaves: bool) -> None:
    real: Callable[..., Any] = subprocess.run

    def run(command: list[str], **options: Any) -> Any:
        if "dra_conformance" not in command:
            return real(command, **options)
        out = Path(command[command.index("--out") + 1])
        out.mkdir()
        (out / "report.json").write_bytes(orjson.dumps({"rules": [], "scenarios": [], "problems": []}))
        if leaves:
            client = KubeClient(HttpTransport.from_kubeconfig(out.parent / "cluster/kubeconfig"))
            client.create(NODES, {"metadata": {"name": "left"}})
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    found = verify.report_of(PROGRAM, bin_dir=Path("/nonexistent"))
    assert (found == "a cluster: objects left on the cluster: nodes left") is leaves
