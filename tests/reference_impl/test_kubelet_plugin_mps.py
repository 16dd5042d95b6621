"""Parameters of MPS control daemons."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from reference_impl.kubelet_plugin.claims import Result
from reference_impl.kubelet_plugin.configs import ConfigError, GpuConfig, Sharing
from reference_impl.kubelet_plugin.device_config import ConfiguredDevice
from reference_impl.kubelet_plugin.devices import Gpu
from reference_impl.kubelet_plugin.mps import Mps, memory_limits
from reference_impl.kubelet_plugin.sharing import SharingError


def gpu(minor: int, capability: str = "9.0.0") -> Gpu:
    return Gpu(
        minor=minor,
        index=minor,
        uuid=f"GPU-{minor}",
        product_name="NVIDIA H100",
        brand="Nvidia",
        architecture="Hopper",
        cuda_compute_capability=capability,
        driver_version="1.0.0",
        cuda_driver_version="12.0.0",
        pci_bus_id=f"0000:0{minor}:00.0",
        memory_bytes=1 << 36,
        addressing_mode=None,
        pcie_root=None,
        numa_node=None,
        mig_enabled=False,
    )


def config(**mps: object) -> GpuConfig:
    return GpuConfig(Sharing("MPS", None, mps))


def configured(device: Gpu, settings: GpuConfig) -> ConfiguredDevice:
    return ConfiguredDevice(
        Result(request="gpu", pool="n1", device=device.name, admin_access=False, share_id=None, consumed={}),
        device,
        settings,
    )


def daemons(tmp_path: Path) -> Mps:
    return Mps(tmp_path / "mps", binary=lambda: None, smi=lambda arguments: None)


def test_one_daemon_for_the_devices_of_one_config(tmp_path: Path) -> None:
    shared, own = config(defaultPinnedDeviceMemoryLimit="1Gi"), config()
    planned = daemons(tmp_path).plan(
        "u1", [configured(gpu(1), shared), configured(gpu(0), shared), configured(gpu(2), own)]
    )
    assert [daemon["uuids"] for daemon in planned["mps"]] == [["GPU-0", "GPU-1"], ["GPU-2"]]
    assert planned["mps"][0]["limits"] == {"GPU-0": "1024M", "GPU-1": "1024M"}
    assert len({daemon["id"] for daemon in planned["mps"]}) == 2
    assert daemons(tmp_path).plan("u1", [configured(gpu(0), GpuConfig())]) == {}


def test_limits_are_whole_mebibytes_by_uuid_or_place() -> None:
    settings = {"defaultPinnedDeviceMemoryLimit": "1Gi", "defaultPerDevicePinnedMemoryLimit": {"1": "2000000Ki"}}
    assert memory_limits(settings, ["GPU-a", "GPU-b"]) == {"GPU-a": "1024M", "GPU-b": "1953M"}
    for wrong in ({"2": "1Gi"}, {"GPU-c": "1Gi"}):
        with pytest.raises(ConfigError, match="invalid device"):
            memory_limits({"defaultPerDevicePinnedMemoryLimit": wrong}, ["GPU-a", "GPU-b"])
    for value in ("1Ki", "0", "some"):
        with pytest.raises(ConfigError, match="invalid limit"):
            memory_limits({"defaultPinnedDeviceMemoryLimit": value}, ["GPU-a"])


def test_users_of_their_own_need_volta(tmp_path: Path) -> None:
    (daemon,) = daemons(tmp_path).plan("u1", [configured(gpu(0), config(multiUser=True))])["mps"]
    assert daemon["multiUser"] is True
    with pytest.raises(ConfigError, match="multiuser"):
        daemons(tmp_path).plan("u1", [configured(gpu(0, "6.1.0"), config(multiUser=True))])


def test_a_driver_root_without_the_program_says_so(tmp_path: Path) -> None:
    planned = daemons(tmp_path).plan("u1", [configured(gpu(0), config())])
    with pytest.raises(SharingError, match="nvidia-cuda-mps-control"):
        daemons(tmp_path).apply(planned)


def test_what_a_reboot_left_is_removed(tmp_path: Path) -> None:
    mps = daemons(tmp_path)
    for name in ("u1-abcde", "u2-abcde"):
        (tmp_path / "mps" / name / "pipe").mkdir(parents=True)
    assert list(mps.sweep({"u2"})) == ["u1-abcde"]
    assert [path.name for path in (tmp_path / "mps").iterdir()] == ["u2-abcde"]


def test_a_failure_of_nvidia_smi_leaves_no_folder_and_resets_the_gpus_before_it(tmp_path: Path) -> None:
    calls: list[tuple[str, ...]] = []

    def smi(arguments: Sequence[str]) -> None:
        calls.append(tuple(arguments[1::2]))
        if "GPU-1" in arguments:
            raise SharingError("error running nvidia-smi")

    mps = Mps(tmp_path / "mps", binary=lambda: None, smi=smi)
    settings = config()
    planned = mps.plan("u1", [configured(gpu(0), settings), configured(gpu(1), settings)])
    with pytest.raises(SharingError, match="nvidia-smi"):
        mps.apply(planned)
    assert calls == [("GPU-0", "EXCLUSIVE_PROCESS"), ("GPU-1", "EXCLUSIVE_PROCESS"), ("GPU-0", "DEFAULT")]
    assert not list((tmp_path / "mps").iterdir())
