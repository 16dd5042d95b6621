"""Tests of what the report says about the GPUs of a driver that runs already."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from apiserver_emulator import ApiServerEmulator
from dra_api.client import KubeClient
from dra_api.objects import RESOURCE_SLICES
from dra_conformance.control_plane.kind import KindControlPlane
from dra_conformance.control_plane.kubeconfig import KubeconfigControlPlane
from dra_conformance.core.isolation import NONE
from dra_conformance.core.options import RunOptions
from dra_conformance.engine import run_metadata
from fake_nvml import marker


def resource_slice(driver: str, annotations: dict[str, str]) -> dict[str, Any]:
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
    return {
        "metadata": {"name": driver, "annotations": annotations},
        "spec": {"driver": driver, "nodeName": "n", "pool": pool, "devices": [{"name": "gpu-0"}]},
    }


@pytest.mark.parametrize("driver", ["socket:/run/reg.sock", "cluster"])
@pytest.mark.parametrize(
    ("marked", "simulated", "nvml"),
    [
        ("gpu.example.com", ("GPUs",), "fake NVML of the driver (simulated)"),
        ("other.example.com", (), "as the driver finds it"),
        ("", (), "as the driver finds it"),
    ],
)
def test_a_driver_of_the_cluster_says_that_its_gpus_are_simulated(
    tmp_path: Path, driver: str, marked: str, simulated: tuple[str, ...], nvml: str
) -> None:
    emulator = ApiServerEmulator(directory=tmp_path)
    emulator.start()
    plane = KubeconfigControlPlane(str(emulator.kubeconfig))
    try:
        plane.start()
        client = KubeClient(plane.transport())
        for name in ("gpu.example.com", "other.example.com"):
            marks = {marker.ANNOTATION: marker.GPUS} if name == marked else {}
            client.create(RESOURCE_SLICES, resource_slice(name, marks))
        options = RunOptions(
            driver=driver, driver_name="gpu.example.com", control_plane=f"kubeconfig:{emulator.kubeconfig}"
        )
        target = run_metadata.describe(options, plane, ("v1",), NONE)
    finally:
        plane.stop()
        emulator.stop()
    assert [part for part in target.simulated if part == "GPUs"] == list(simulated)
    assert target.nvml == nvml


@pytest.mark.parametrize(("files", "simulated"), [((), True), (("nvidiactl",), True), (("nvidia0",), False)])
def test_a_cluster_that_the_run_makes_has_no_other_gpus_than_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: tuple[str, ...], simulated: bool
) -> None:
    for name in files:
        (tmp_path / name).touch()
    monkeypatch.setattr(run_metadata, "_DEVICES", tmp_path)
    options = RunOptions(control_plane="kind", kind_apply=("x.yaml",), driver="cluster")
    plane = KindControlPlane(image="example.test/node:v1.37.2", directory=tmp_path / "kind", logs=tmp_path)
    target = run_metadata.describe(options, plane, ("v1",), NONE)
    assert ("GPUs" in target.simulated) == simulated
    assert ("simulated" in target.nvml) == simulated
