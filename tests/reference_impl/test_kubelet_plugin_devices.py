"""Devices: properties from NVML and their form in a slice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pynvml
import pytest
from nvml_double import Card, NvmlDouble, mig_card

from reference_impl.kubelet_plugin import devices, discovery
from reference_impl.kubelet_plugin.discovery import DiscoveryError, Nvml
from reference_impl.kubelet_plugin.numa import numa_node

NO_SYSFS = Path("/nonexistent")


def found(*cards: Card, **options: Any) -> discovery.Found:
    nvml = Nvml(NvmlDouble(list(cards), **options))
    nvml.open()
    return nvml.discover(NO_SYSFS)


def published(device: devices.Device) -> dict[str, Any]:
    return devices.to_slice_device(device)


def test_full_gpu_is_named_by_minor_and_typed() -> None:
    entry = published(found(Card(minor=3, uuid="GPU-3")).devices[0])
    assert entry["name"] == "gpu-3"
    assert entry["attributes"] == {
        "type": {"string": "gpu"},
        "uuid": {"string": "GPU-3"},
        "productName": {"string": "NVIDIA H100 80GB HBM3"},
        "brand": {"string": "Nvidia"},
        "architecture": {"string": "Hopper"},
        "cudaComputeCapability": {"version": "9.0.0"},
        "driverVersion": {"version": "550.163.1"},
        "cudaDriverVersion": {"version": "12.4.0"},
        "addressingMode": {"string": "HMM"},
        "resource.kubernetes.io/pciBusID": {"string": "0000:13:00.0"},
    }
    assert entry["capacity"] == {"memory": {"value": "80Gi"}}


def test_memory_not_supported_gives_no_capacity() -> None:
    card = Card(minor=0, uuid="GPU-0", errors={"nvmlDeviceGetMemoryInfo": pynvml.NVML_ERROR_NOT_SUPPORTED})
    assert "capacity" not in published(found(card).devices[0])


def test_missing_addressing_mode_is_left_out() -> None:
    card = Card(minor=0, uuid="GPU-0", errors={"nvmlDeviceGetAddressingMode": pynvml.NVML_ERROR_FUNCTION_NOT_FOUND})
    assert "addressingMode" not in published(found(card).devices[0])["attributes"]


@pytest.mark.parametrize("name", ["nvmlDeviceGetUUID", "nvmlDeviceGetMinorNumber", "nvmlDeviceGetPciInfo"])
def test_refusal_of_the_essential_ends_discovery(name: str) -> None:
    with pytest.raises(DiscoveryError, match="discovery failed"):
        found(Card(minor=0, uuid="GPU-0", errors={name: pynvml.NVML_ERROR_UNKNOWN}))


def test_a_refusal_says_which_gpu() -> None:
    lost = Card(minor=1, uuid="GPU-1", errors={"nvmlDeviceGetName": pynvml.NVML_ERROR_GPU_IS_LOST})
    with pytest.raises(DiscoveryError, match=r"^discovery failed after 1 GPUs: GPU is lost$"):
        found(Card(minor=0, uuid="GPU-0"), lost)


def test_malformed_bus_id_ends_discovery() -> None:
    with pytest.raises(DiscoveryError, match="discovery failed"):
        found(Card(minor=0, uuid="GPU-0", bus_id="nowhere"))


def test_static_mig_replaces_its_parent() -> None:
    migs = {
        0: mig_card(0, 1, profile="1g.18gb", profile_id=19, start=3, size=1),
        4: mig_card(0, 2, profile="3g.71gb", profile_id=9, start=4, size=4),
    }
    result = found(Card(minor=0, uuid="GPU-0", mig=True, migs=migs), Card(minor=1, uuid="GPU-1"))
    assert [device.name for device in result.devices] == ["gpu-0-mig-1g18gb-19-3", "gpu-0-mig-3g71gb-9-4", "gpu-1"]
    small, large = (published(device) for device in result.devices[:2])
    assert small["attributes"]["type"] == {"string": "mig"}
    assert small["attributes"]["profile"] == {"string": "1g.18gb"}
    assert small["attributes"]["parentUUID"] == {"string": "GPU-0"}
    assert small["capacity"]["memory"] == {"value": "9728Mi"}
    assert [key for key in large["capacity"] if key.startswith("memorySlice")] == [
        f"memorySlice{i}" for i in range(4, 8)
    ]
    assert {"multiprocessors", "copyEngines", "decoders", "encoders", "jpegEngines", "ofaEngines"} <= set(
        small["capacity"]
    )


def test_mig_mode_without_instances_publishes_nothing() -> None:
    assert found(Card(minor=0, uuid="GPU-0", mig=True)).devices == ()


def test_mig_mode_not_supported_is_a_full_gpu() -> None:
    card = Card(minor=0, uuid="GPU-0", errors={"nvmlDeviceGetMigMode": pynvml.NVML_ERROR_NOT_SUPPORTED})
    assert found(card).devices[0].type == "gpu"


@pytest.mark.parametrize(
    ("profile", "name"),
    [("1g.18gb+me", "gpu-0-mig-1g18gb-me-20-3"), ("1g.12gb-me", "gpu-0-mig-1g12gb-me-20-3")],
)
def test_mig_names_are_dns_labels(profile: str, name: str) -> None:
    assert devices.mig_name(0, profile, 20, 3) == name


@pytest.mark.parametrize(
    ("text", "version"),
    [("550.163.01", "550.163.1"), ("580.95", "580.95.0"), ("575", "575.0.0"), ("560.35.03.1", "560.35.3")],
)
def test_driver_versions_become_semver(text: str, version: str) -> None:
    assert devices.semantic_version(text) == version


@pytest.mark.parametrize(("number", "text"), [(80 << 30, "80Gi"), (1536, "1536"), (3 << 19, "1536Ki"), (0, "0")])
def test_quantities_are_canonical(number: int, text: str) -> None:
    assert devices.binary_quantity(number) == text


def test_sysfs_gives_root_and_numa_node(tmp_path: Path) -> None:
    real = tmp_path / "devices/pci0000:3f/0000:3f:01.0/0000:40:00.0"
    real.mkdir(parents=True)
    (real / "numa_node").write_text("1\n")
    links = tmp_path / "bus/pci/devices"
    links.mkdir(parents=True)
    (links / "0000:40:00.0").symlink_to(real)
    assert discovery.pcie_root(tmp_path, "0000:40:00.0") == "pci0000:3f"
    assert numa_node(tmp_path, "0000:40:00.0") == 1
    (real / "numa_node").write_text("-1\n")
    assert numa_node(tmp_path, "0000:40:00.0") is None
    assert discovery.pcie_root(tmp_path, "0000:41:00.0") is None
