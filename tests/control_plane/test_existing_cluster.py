"""The profile `api` on a cluster that the run did not start: a correct API server is conformant there, too.

Scenarios see what the harness adds to its objects on such a cluster; on a control plane of the run it adds nothing.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import orjson
import pytest

from apiserver_emulator import ApiServerEmulator
from dra_api.client import KubeClient
from dra_api.objects import (
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
)
from dra_api.transport import HttpTransport
from dra_conformance.cli import call
from dra_conformance.control_plane.binaries import BinariesControlPlane
from dra_conformance.engine.world import World
from dra_conformance.steps.fields import write_field

DRIVER = Path(__file__).parents[1] / "broken_drivers/broken_driver.py"


@pytest.fixture
def emulated(tmp_path: Path) -> Iterator[ApiServerEmulator]:
    with ApiServerEmulator(directory=tmp_path / "plane") as plane:
        yield plane


def results(kubeconfig: Path, folder: Path, *more: str) -> tuple[dict[str, str], dict[str, str]]:
    """Run the profile; return the rules that have neither passed nor been left out, and the results of the profiles."""
    words = ["run", "--control-plane", f"kubeconfig:{kubeconfig}", "--claim-controller", "none", "--profile", "api"]
    call([*words, *more, "--report", "json", "--progress", "none", "--out", str(folder / "out")])
    report = orjson.loads((folder / "out/report.json").read_bytes())
    assert any(row["status"] == "passed" for row in report["rules"])
    fine = ("passed", "not-supported", "not-applicable", "filtered")
    wrong = {row["id"]: row["status"] for row in report["rules"] if row["status"] not in fine}
    return wrong, {row["name"]: row["status"] for row in report["profileResults"]}


@pytest.mark.exhaustive
def test_an_emulated_cluster_is_conformant(emulated: ApiServerEmulator, tmp_path: Path) -> None:
    assert results(emulated.kubeconfig, tmp_path) == ({}, {"api": "conformant"})


@pytest.mark.exhaustive
def test_a_real_cluster_passes(real: BinariesControlPlane, tmp_path: Path) -> None:
    # All of it takes two minutes; these scenarios read labels, or send what no JSON library writes.
    focus = "claims/api_(machinery|requests|validation|taint_rules)"
    assert results(real.kubeconfig, tmp_path, "--focus", focus)[0] == {}


def slice_for(node: str, driver: str) -> dict[str, object]:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": driver, "nodeName": node, "pool": pool, "devices": [{"name": "dev-0"}]}
    return {"metadata": {"name": f"{node}-{driver}"}, "spec": spec}


@pytest.mark.parametrize(
    ("fault", "wrong"),
    [("none", {}), ("for-another-node", {"DRA-358c": "failed"}), ("in-another-name", {"DRA-358c": "failed"})],
)
def test_slices_of_others_are_not_those_of_the_driver(
    emulated: ApiServerEmulator, tmp_path: Path, fault: str, wrong: dict[str, str]
) -> None:
    client = KubeClient(HttpTransport.from_kubeconfig(emulated.kubeconfig))
    client.create(NODES, {"metadata": {"name": "worker"}})
    for driver in ("nic.example.com", "broken.dra.test"):
        client.create(RESOURCE_SLICES, slice_for("worker", driver))
    before = {obj["metadata"]["uid"] for obj in client.list(RESOURCE_SLICES).items}
    command = shlex.join([sys.executable, str(DRIVER), fault])
    words = ["run", "--control-plane", f"kubeconfig:{emulated.kubeconfig}", "--driver-name", "broken.dra.test"]
    words += ["--driver", f"exec:{command} {{kubeconfig}} {{node}} {{plugins}} {{registrar}}", "--rule", "DRA-358c"]
    call([*words, "--report", "json", "--progress", "none", "--out", str(tmp_path / "out")])
    report = orjson.loads((tmp_path / "out/report.json").read_bytes())
    assert {row["id"]: row["status"] for row in report["rules"] if row["id"] == "DRA-358c"} == (
        wrong or {"DRA-358c": "passed"}
    )
    # The kubeconfig is the administrator's, and the driver acts as its user.
    assert "every permission" in report["target"]["isolation"]["driver"]
    # A program of the user writes without the run's label: what it publishes for other nodes is not the run's.
    left = [obj for obj in client.list(RESOURCE_SLICES).items if obj["metadata"]["uid"] not in before]
    # One for each start of the driver.
    assert bool(left) == (fault == "for-another-node")
    assert all(obj["spec"]["nodeName"].startswith("not-") for obj in left)


def test_a_field_of_a_status_is_removed_although_a_controller_writes_the_claim_in_a_loop(
    emulated: ApiServerEmulator,
) -> None:
    client = KubeClient(HttpTransport.from_kubeconfig(emulated.kubeconfig))
    requests = [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]
    meta = {"name": "used", "namespace": "default"}
    claim = client.create(RESOURCE_CLAIMS, {"metadata": meta, "spec": {"devices": {"requests": requests}}})
    claim["status"] = {"allocation": {}, "reservedFor": [{"resource": "pods", "name": "train", "uid": "1"}]}
    client.update_status(RESOURCE_CLAIMS, claim)

    def update(*_: object, **__: object) -> None:
        raise AssertionError("an update is in conflict with each change of the controller")

    world = SimpleNamespace(client=client, namespace="default", update=update)
    write_field(cast(World, world), RESOURCE_CLAIMS, "used", "status.reservedFor", None)
    stored = client.get(RESOURCE_CLAIMS, "used", "default")
    assert "reservedFor" not in stored["status"]
    assert "allocation" in stored["status"]


def test_pods_of_others_get_no_claim_from_the_components_of_the_run(
    emulated: ApiServerEmulator, tmp_path: Path
) -> None:
    client = KubeClient(HttpTransport.from_kubeconfig(emulated.kubeconfig))
    client.create(NAMESPACES, {"metadata": {"name": "team"}})
    requests = [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]
    meta = {"name": "train", "namespace": "team"}
    client.create(RESOURCE_CLAIM_TEMPLATES, {"metadata": meta, "spec": {"spec": {"devices": {"requests": requests}}}})
    entries = [{"name": "gpu", "resourceClaimTemplateName": "train"}]
    spec = {"containers": [{"name": "main", "image": "i"}], "resourceClaims": entries}
    client.create(PODS, {"metadata": meta, "spec": spec})
    words = ["run", "--control-plane", f"kubeconfig:{emulated.kubeconfig}", "--claim-controller", "reference"]
    words += ["--focus", "^claims/lifecycle#a-pod-that-names-a-template", "--report", "json", "--progress", "none"]
    call([*words, "--out", str(tmp_path / "out")])
    report = orjson.loads((tmp_path / "out/report.json").read_bytes())
    assert [row["status"] for row in report["scenarios"] if row["status"] != "filtered"] == ["passed"]
    assert client.list(RESOURCE_CLAIMS, "team").items == []
