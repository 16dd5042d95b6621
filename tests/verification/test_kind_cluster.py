"""The parts of `python -m verification kind` that need no Docker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from verification.kind_cluster import command, compute_domains, device_plugins, manifests, pods, runtime


def test_it_is_not_run_without_its_archives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "make images-node" in command.lacking(start_engine=False, archives=tmp_path)
    (tmp_path / "node.tar").touch()
    assert "(make images)" in command.lacking(start_engine=False, archives=tmp_path)


def test_that_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "lacking", lambda **_: "there is no engine")
    monkeypatch.setenv("CI", "true")
    assert command.main([], bin_dir=tmp_path) == 0
    assert capsys.readouterr().out == "kind: not run: there is no engine\n"


def test_an_unknown_option_is_wrong_use(tmp_path: Path) -> None:
    assert command.main(["--all"], bin_dir=tmp_path) == 4


@pytest.mark.parametrize("call", ["create", "exec"])
def test_the_runtime_removes_the_capability_that_the_machine_lacks(tmp_path: Path, call: str) -> None:
    process = {"capabilities": {"bounding": ["CAP_SYS_ADMIN", "CAP_SYS_RESOURCE"], "ambient": None}}
    path = tmp_path / ("config.json" if call == "create" else "process.json")
    path.write_text(json.dumps({"process": process} if call == "create" else process))
    words = ["create", "--bundle", str(tmp_path), "id"] if call == "create" else ["exec", "--process", str(path), "id"]
    runtime.rewrite(["--root", "/run/x", *words])
    document = json.loads(path.read_text())
    left = (document["process"] if call == "create" else document)["capabilities"]
    assert left == {"bounding": ["CAP_SYS_ADMIN"], "ambient": []}


def test_other_calls_of_the_runtime_change_nothing(tmp_path: Path) -> None:
    runtime.rewrite(["delete", "--force", "id"])
    assert not list(tmp_path.iterdir())


UUIDS = {
    ("w1", "gpu-3"): ["GPU-3"],
    ("w2", "gpu-3"): ["GPU-30"],
    ("w1", "gpu-0-mig-1g10gb-19-6"): ["GPU-0", "MIG-1"],
    ("w1", "gpu-0-mig-2g20gb-14-4"): ["GPU-0", "MIG-2"],
}
GPU = "files: /dev/nvidia3\nGPU: GPU-3 NVIDIA H100\n"
MIG = "files: /dev/nvidia0 /dev/nvidia-caps/nvidia-cap5\nGPU: GPU-0 NVIDIA H100\nMIG device: MIG-2 NVIDIA H100 MIG 2g\n"


@pytest.mark.parametrize(
    ("pod", "logs", "problem"),
    [
        ("gpu-pod", GPU, ""),
        ("mig-pod", MIG, ""),
        ("gpu-pod", MIG, "sees gpu-0-mig-2g20gb-14-4"),
        ("mig-pod", GPU, "sees gpu-3"),
        ("gpu-pod", GPU.replace("nvidia3", "nvidia4"), "sees gpu-3"),
        ("gpu-pod", GPU.replace("GPU-3", "GPU-30"), "does not see exactly one device"),
        ("gpu-pod", GPU + "GPU: GPU-0 NVIDIA H100\n", "does not see exactly one device"),
        ("mig-pod", MIG + "MIG device: MIG-1 NVIDIA H100\n", "does not see exactly one device"),
        ("gpu-pod", "files: /dev/nvidia3\nDriver Not Loaded", "does not see exactly one device"),
    ],
)
def test_what_an_example_pod_prints_is_compared_with_the_devices_of_its_node(pod: str, logs: str, problem: str) -> None:
    assert manifests.wrong(pod, logs, node="w1", uuids=UUIDS) == problem


def test_the_subset_of_ci_is_not_run_without_images_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "lacking", lambda **_: "there is no image")
    assert command.main(["--ci"], bin_dir=tmp_path) == 0
    assert capsys.readouterr().out == "kind: not run: there is no image\n"


def test_the_documented_example_keeps_its_resources_and_gets_a_program_that_ends() -> None:
    made = compute_domains.documented("w1")
    (container,) = made["spec"]["containers"]
    assert made["spec"]["nodeSelector"] == {"kubernetes.io/hostname": "w1"}
    assert container["resources"]["limits"] == {"nvidia.com/gpu": "1"}
    assert container["command"][0] == "/usr/bin/python3"
    assert "sigwait" not in container["command"][-1]


def test_a_gpu_that_two_pods_of_a_node_see_is_given_twice() -> None:
    def shown(pod: str, node: str, gpu: str) -> pods.Shown:
        return pods.Shown(pod=pod, node=node, gpus=(gpu,), files=(), channels=(), container="")

    found = [shown("a", "n1", "GPU-1"), shown("b", "n1", "GPU-1"), shown("c", "n2", "GPU-1")]
    assert device_plugins.given_twice(found) == [("n1", "GPU-1")]
