"""Simulation of the kernel's PCI driver binding on the /sys of a fake node.

In a real /sys, a write to `bind` or `unbind` moves the device at once, or fails. In the tree of a fake node they are
plain files, so the writer calls `apply` next. The file `sys/bus/pci/simulated` marks such a tree. `add_iommu` adds the
files that passing a device to a virtual machine needs. All files are removed with the node.

Source: Linux 6.8, drivers/base/bus.c (bind, unbind), Documentation/ABI/testing/sysfs-bus-pci (driver_override) and
Documentation/driver-api/vfio.rst (groups, /dev/vfio).
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

from fake_nvml.state import StateFile, set_field

NATIVE: Final = "nvidia"
VFIO: Final = "vfio-pci"
SIMULATED: Final = "bus/pci/simulated"


def add_iommu(root: Path, *, iommufd: bool = False) -> None:
    """Give the node under the driver root `root` an IOMMU, one group a GPU, and the loaded module vfio-pci.

    With `iommufd` it has the newer interface as well: /dev/iommu, and a /dev/vfio/devices/vfio<N> for each bound GPU.
    """
    sys, pci = root / "sys", root / "sys/bus/pci"
    (root / "sys" / SIMULATED).write_text("bind and unbind are plain files here; fake_nvml.pci_kernel heeds them\n")
    for driver in (NATIVE, VFIO):
        folder = pci / "drivers" / driver
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("bind", "unbind"):
            (folder / name).write_text("")
    (sys / "module/vfio_pci").mkdir(parents=True, exist_ok=True)
    for number, link in enumerate(sorted((pci / "devices").iterdir())):
        device, group = link.resolve(), sys / "kernel/iommu_groups" / str(number)
        (group / "devices").mkdir(parents=True)
        (group / "devices" / link.name).symlink_to(os.path.relpath(device, group / "devices"))
        (device / "iommu_group").symlink_to(os.path.relpath(group, device))
        (device / "driver_override").write_text("(null)\n")
        (device / "sriov_numvfs").write_text("0\n")
        (device / "sriov_totalvfs").write_text("16\n")
    (root / "dev/vfio").mkdir(exist_ok=True)
    (root / "dev/vfio/vfio").touch()
    if iommufd:
        (root / "dev/iommu").touch()


def is_simulated(sys: Path) -> bool:
    """Return whether this /sys belongs to a fake node, so that `apply` must follow each write."""
    return (sys / SIMULATED).exists()


def apply(file: Path) -> None:
    """Apply a write to this `bind` or `unbind` file, as the kernel does. Raises the OSError of such a write."""
    address = file.read_text().strip()
    # Emptied before the checks, so that a refused write leaves nothing behind either.
    file.write_text("")
    driver = file.parent
    pci = driver.parent.parent
    device = (pci / "devices" / address).resolve()
    if not device.is_dir():
        raise OSError(errno.ENODEV, os.strerror(errno.ENODEV), str(file))
    if file.name == "unbind":
        if not (driver / address).is_symlink():
            raise OSError(errno.ENODEV, os.strerror(errno.ENODEV), str(file))
        _unbind(driver, device, address)
    else:
        _bind(driver, device, address)


def _bind(driver: Path, device: Path, address: str) -> None:
    override = (device / "driver_override").read_text().strip()
    # Without an override, the ids of the device match only the nvidia driver.
    matches = override == driver.name or (override in ("", "(null)") and driver.name == NATIVE)
    if not matches or (device / "driver").is_symlink():
        raise OSError(errno.ENODEV, os.strerror(errno.ENODEV), str(driver / "bind"))
    refused = driver / "refuses"
    if refused.exists() and address in refused.read_text().split():
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(driver / "bind"))
    (driver / address).symlink_to(os.path.relpath(device, driver))
    (device / "driver").symlink_to(os.path.relpath(driver, device))
    if driver.name == NATIVE:
        _reset_driver_state(_root(driver).parent / "state", address)
    if driver.name == VFIO:
        dev, number = _dev(driver), (device / "iommu_group").resolve().name
        (dev / "vfio" / number).touch()
        if (dev / "iommu").exists():
            (device / "vfio-dev" / f"vfio{number}").mkdir(parents=True)
            (dev / "vfio/devices").mkdir(exist_ok=True)
            (dev / f"vfio/devices/vfio{number}").touch()


def _unbind(driver: Path, device: Path, address: str) -> None:
    (driver / address).unlink()
    (device / "driver").unlink()
    if driver.name == VFIO:
        dev, number = _dev(driver), (device / "iommu_group").resolve().name
        (dev / "vfio" / number).unlink(missing_ok=True)
        (dev / f"vfio/devices/vfio{number}").unlink(missing_ok=True)
        for folder in (device / "vfio-dev").glob("vfio*"):
            folder.rmdir()


def _reset_driver_state(state: Path, address: str) -> None:
    """Reset the state that the nvidia driver loses when it unbinds a GPU: persistence mode is off, as by default."""
    file = StateFile(state)
    try:
        with file.change() as txn:
            for gpu in txn.state.gpus[: txn.state.gpu_count]:
                if f"{gpu.domain:04x}:{gpu.bus:02x}:{gpu.device:02x}.0" == address:
                    set_field(gpu, "persistence_mode", 0)
    finally:
        file.close()


def _root(driver: Path) -> Path:
    """The driver root, from the folder of a driver in its /sys."""
    return driver.parents[4]


def _dev(driver: Path) -> Path:
    """/dev beside the /sys that holds a driver's folder."""
    return _root(driver) / "dev"
