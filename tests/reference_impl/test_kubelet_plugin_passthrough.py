"""GPUs that go to vfio-pci and back, on a fake node's /sys."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import fake_nvml
from fake_nvml import pci_kernel
from reference_impl.kubelet_plugin.checkpoint import ClaimEntry, ClaimState
from reference_impl.kubelet_plugin.chosen import Chosen
from reference_impl.kubelet_plugin.claims import Result
from reference_impl.kubelet_plugin.configs import ConfigError, VfioDeviceConfig
from reference_impl.kubelet_plugin.devices import Vfio
from reference_impl.kubelet_plugin.discovery import Found
from reference_impl.kubelet_plugin.driver_root import DriverRoot
from reference_impl.kubelet_plugin.passthrough import Passthrough, PassthroughError, twins
from reference_impl.runtime import PartError


@pytest.fixture
def root(tmp_path: Path) -> Iterator[DriverRoot]:
    with fake_nvml.Node.create("dgx-h100", tmp_path / "node") as node:
        pci_kernel.add_iommu(node.driver_root)
        yield DriverRoot(node.driver_root)


def through(root: DriverRoot) -> Passthrough:
    return Passthrough(root, processes=lambda gpu: [], found=lambda: Found((), ()))


DEFAULT = VfioDeviceConfig()


def chosen(device: Vfio, config: VfioDeviceConfig = DEFAULT) -> Chosen:
    return Chosen(Result(request="gpu", pool="n1", device=device.name), device, config)


def entry(planned: dict[str, object]) -> ClaimEntry:
    return ClaimEntry(state=ClaimState.STARTED, status={}, config_state=planned)


def drivers(root: DriverRoot, devices: tuple[Vfio, ...]) -> list[str]:
    return [through(root).driver_of(device.address) for device in devices]


def test_devices_are_read_from_sysfs_alone(root: DriverRoot) -> None:
    devices = through(root).discover(Found((), ()))
    assert [device.name for device in devices] == [f"gpu-vfio-{index}" for index in range(8)]
    first = devices[0]
    assert (first.vendor_id, first.group, first.iommufd) == ("0x10de", 0, False)
    assert first.product_name == f"0x10de:{first.device_id}"  # NVML, which knows its name, was not asked
    assert first.memory_bytes == (128 << 30) + (16 << 20)
    assert first.uuid == through(root).discover(Found((), ()))[0].uuid != devices[1].uuid


def test_there_and_back(root: DriverRoot) -> None:
    passing = through(root)
    devices = passing.discover(Found((), ()))[:2]
    planned = passing.plan("u1", [chosen(device) for device in devices])
    assert drivers(root, devices) == ["nvidia", "nvidia"]
    passing.apply(planned)
    assert drivers(root, devices) == ["vfio-pci", "vfio-pci"]
    passing.undo(entry(planned))
    passing.undo(entry(planned))
    assert drivers(root, devices) == ["nvidia", "nvidia"]


@pytest.mark.parametrize("words", range(1, 4))
def test_whatever_a_killed_driver_left_is_undone(root: DriverRoot, words: int) -> None:
    """Override written; unbound as well; bound as well: each is where a SIGKILL may come."""
    passing = through(root)
    (device,) = passing.discover(Found((), ()))[:1]
    planned = passing.plan("u1", [chosen(device)])
    bus = root.sysfs / "bus/pci"
    steps = [
        (bus / "devices" / device.address / "driver_override", "vfio-pci"),
        (bus / "drivers/nvidia/unbind", device.address),
        (bus / "drivers/vfio-pci/bind", device.address),
    ]
    for file, text in steps[:words]:
        passing.tell(file, text)
    through(root).undo(entry(planned))
    assert drivers(root, (device,)) == ["nvidia"]
    again = passing.plan("u1", [chosen(device)])
    passing.apply(again)
    assert drivers(root, (device,)) == ["vfio-pci"]


def test_a_device_that_an_administrator_bound_stays_his(root: DriverRoot) -> None:
    passing = through(root)
    (device,) = passing.discover(Found((), ()))[:1]
    passing.rebind(device.address, "vfio-pci")
    planned = passing.plan("u1", [chosen(device)])
    passing.apply(planned)
    passing.undo(entry(planned))
    assert drivers(root, (device,)) == ["vfio-pci"]


def test_a_module_that_is_not_loaded_is_named(root: DriverRoot) -> None:
    passing = through(root)
    (device,) = passing.discover(Found((), ()))[:1]
    os.rename(root.sysfs / "bus/pci/drivers/vfio-pci", root.sysfs / "aside")
    with pytest.raises(PassthroughError, match="vfio-pci"):
        passing.rebind(device.address, "vfio-pci")


def test_two_configs_and_no_iommu_are_refused(root: DriverRoot, tmp_path: Path) -> None:
    passing = through(root)
    first, second = passing.discover(Found((), ()))[:2]
    with pytest.raises(ConfigError, match="at most one"):
        passing.plan("u1", [chosen(first), chosen(second, VfioDeviceConfig(enable_api_device=True))])
    (tmp_path / "bare/sys").mkdir(parents=True)
    with pytest.raises(PartError, match="IOMMU is not enabled"):
        through(DriverRoot(tmp_path / "bare")).check()


def test_a_twin_is_the_same_gpu_under_another_name(root: DriverRoot) -> None:
    devices = through(root).discover(Found((), ()))
    assert twins(Found((), (), devices), {"gpu-vfio-0"}) == set()
