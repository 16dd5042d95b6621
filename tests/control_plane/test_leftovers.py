"""What a killed run leaves on a cluster goes by its run id, and nothing else goes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from apiserver_emulator import ApiServerEmulator
from dra_api.client import KubeClient
from dra_api.objects import CRDS, DEVICE_CLASSES, NAMESPACES, NODES
from dra_conformance.cli import call
from dra_conformance.control_plane.binaries import BinariesControlPlane
from dra_conformance.core import assets, documents
from dra_conformance.core.errors import ExitCode
from verification.rbac_ablation.command import snapshot
from verification.rbac_ablation.leftovers import DRIVER_NAMESPACE, leave

RUN, OTHER = "0a1b2c3d", "ffffffff"
SLOW = """@profile:claim-lifecycle @component:claim-controller
Feature: Slow
  @DRA-100
  Scenario: Somebody waits for what never comes
    Given a DeviceClass "gpu" selecting 'device.driver == "$(driver)"'
    And a ResourceClaimTemplate "one-gpu" for 1 of "gpu"
    And node "n1"
    When a pod "left" using template "one-gpu" is created
    Then the status of pod "left" names its claim as "gpu"
    And the Node "n1" is gone
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ApiServerEmulator]:
    gates = {"DRADeviceTaintRules": True}
    with ApiServerEmulator(directory=tmp_path / "plane", feature_gates=gates) as plane:
        client = KubeClient(plane.transport())
        for path in sorted((assets.fixtures() / "crds").glob("*.yaml")):
            for crd in documents.load_all(path.read_text(), where=path.name):
                client.create(CRDS, crd)
        client.create(NAMESPACES, {"metadata": {"name": DRIVER_NAMESPACE}})
        yield plane


def cleanup(plane: ApiServerEmulator | BinariesControlPlane, *words: str) -> int:
    return call(["cleanup", "--kubeconfig", str(plane.kubeconfig), *words])


def test_one_object_of_every_kind_goes_and_the_cluster_is_as_before(
    cluster: ApiServerEmulator, capsys: pytest.CaptureFixture[str]
) -> None:
    client = KubeClient(cluster.transport())
    client.create(DEVICE_CLASSES, {"metadata": {"name": f"left-{OTHER}"}, "spec": {}})
    before = snapshot(client)
    leave(cluster.transport(), RUN)
    left = len(snapshot(client).keys() - before.keys())
    assert left > 12
    assert cleanup(cluster, "--run-id", RUN, "--dry-run") == ExitCode.LEFTOVERS
    assert len(snapshot(client)) == len(before) + left
    assert cleanup(cluster, "--run-id", RUN, "--patience", "60") == ExitCode.OK
    assert snapshot(client) == before
    assert re.search(r"deleted (\d+) of \1 objects", capsys.readouterr().out)
    assert cleanup(cluster, "--run-id", RUN) == ExitCode.OK
    assert "no objects found of run 0a1b2c3d" in capsys.readouterr().out


def test_another_runs_objects_stay(cluster: ApiServerEmulator, capsys: pytest.CaptureFixture[str]) -> None:
    client = KubeClient(cluster.transport())
    leave(cluster.transport(), OTHER)
    before = snapshot(client)
    leave(cluster.transport(), RUN)
    assert cleanup(cluster, "--run-id", RUN, "--patience", "60") == ExitCode.OK
    assert snapshot(client) == before
    assert cleanup(cluster) == ExitCode.LEFTOVERS
    assert "of 1 runs; none deleted" in capsys.readouterr().out


def test_a_finalizer_of_another_component_is_named_and_kept(
    cluster: ApiServerEmulator, capsys: pytest.CaptureFixture[str]
) -> None:
    client = KubeClient(cluster.transport())
    metadata = {"name": "held", "labels": {"dra-conformance/run": RUN}, "finalizers": ["example.com/theirs"]}
    client.create(NODES, {"metadata": metadata})
    assert cleanup(cluster, "--run-id", RUN, "--patience", "0.5") == ExitCode.LEFTOVERS
    assert "blocked by the finalizer example.com/theirs" in capsys.readouterr().err
    assert client.get(NODES, "held")["metadata"]["finalizers"] == ["example.com/theirs"]


def test_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["cleanup", "--run-id", "everything"]) == ExitCode.USAGE
    assert "eight hexadecimal digits" in capsys.readouterr().err
    assert call(["cleanup", "--run-id", RUN, "--all"]) == ExitCode.USAGE


def killed_run(kubeconfig: Path, folder: Path) -> str:
    """A run on a cluster, ended by SIGKILL in the middle of a scenario; its id."""
    (folder / "probe").mkdir(parents=True)
    (folder / "probe" / "slow.feature").write_text(SLOW)
    log = folder / "dra-report" / "events.jsonl"
    words = ["run", "--features", "probe", "--focus", "^probe/", "--patience", "60", "--progress", "none"]
    words += ["--report", "json"]
    components = [
        "--control-plane",
        f"kubeconfig:{kubeconfig}",
        "--claim-controller",
        "reference",
        "--kubelet",
        "reference",
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "dra_conformance", *words, *components],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder), "XDG_RUNTIME_DIR": ""},
        start_new_session=True,
    )
    never = threading.Event()
    try:
        for _ in range(1500):
            # The log is written out at every check, so the first one is there while the scenario waits for its last.
            if process.poll() is not None or (log.is_file() and b'"kind":"check"' in log.read_bytes()):
                break
            never.wait(0.04)
        assert process.poll() is None, "the run ended before it could be killed"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    found = re.search(rb'"runId":"([0-9a-f]{8})"', log.read_bytes())
    assert found
    return found[1].decode()


def check_killed(plane: ApiServerEmulator | BinariesControlPlane, folder: Path) -> None:
    client = KubeClient(plane.transport())
    before = snapshot(client)
    run_id = killed_run(plane.kubeconfig, folder)
    left = {key[0] for key in snapshot(client).keys() - before.keys()}
    assert {"namespaces", "nodes", "pods", "deviceclasses.resource.k8s.io"} <= left
    assert cleanup(plane, "--run-id", run_id, "--patience", "60") == ExitCode.OK
    assert snapshot(client) == before


def test_a_run_killed_in_the_middle_on_the_embedded_server(cluster: ApiServerEmulator, tmp_path: Path) -> None:
    check_killed(cluster, tmp_path / "work")


def test_a_run_killed_in_the_middle_on_a_real_server(real: BinariesControlPlane, tmp_path: Path) -> None:
    check_killed(real, tmp_path / "work")
