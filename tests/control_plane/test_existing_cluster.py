"""The profile `api` on a cluster that the run did not start: a correct API server is conformant there, too.

Scenarios see what the harness adds to its objects on such a cluster; on a control plane of the run it adds nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from apiserver_emulator import ApiServerEmulator
from dra_conformance.cli import call
from dra_conformance.control_plane.binaries import BinariesControlPlane


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


def test_an_emulated_cluster_is_conformant(emulated: ApiServerEmulator, tmp_path: Path) -> None:
    assert results(emulated.kubeconfig, tmp_path) == ({}, {"api": "conformant"})


def test_a_real_cluster_passes(real: BinariesControlPlane, tmp_path: Path) -> None:
    # All of it takes two minutes; these scenarios read labels, or send what no JSON library writes.
    focus = "claims/api_(machinery|requests|validation|taint_rules)"
    assert results(real.kubeconfig, tmp_path, "--focus", focus)[0] == {}
