"""Passthrough of whole GPUs to virtual machines: unbind from the driver nvidia, bind to vfio-pci, and back.

The driver of a PCI device is kernel state and outlives every process, so the previous driver of a GPU is recorded in
the checkpoint. Off unless the gate `PassthroughSupport` is on. On a fake node, whose /sys is a tree of
plain files, `fake_nvml.pci_kernel` simulates the kernel.

Unlike upstream, which waits up to 60 s for the processes of a GPU to end, a GPU in use is refused at once and the
kubelet retries. Persistence mode, which the driver nvidia loses with the GPU, is restored afterwards; upstream switches
it on.

Source: cmd/gpu-kubelet-plugin vfio-device.go, vfio-cdi.go and nvlib.go at 95932046; Linux,
Documentation/ABI/testing/sysfs-bus-pci; rules NV-175 to NV-184.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from dra_api.objects import Obj
from fake_nvml import pci_kernel
from reference_impl.errors import ComponentError
from reference_impl.kubelet_plugin.checkpoint import ClaimEntry
from reference_impl.kubelet_plugin.configs import ConfigError, VfioDeviceConfig
from reference_impl.kubelet_plugin.device_config import ConfiguredDevice
from reference_impl.kubelet_plugin.devices import AnyDevice, Gpu, Mig, Vfio, overlap
from reference_impl.kubelet_plugin.discovery import Found, pcie_root
from reference_impl.kubelet_plugin.driver_root import DriverRoot
from reference_impl.kubelet_plugin.numa import numa_node

log = logging.getLogger(__name__)

NATIVE = "nvidia"
VFIO = "vfio-pci"
_NVIDIA = 0x10DE
_DISPLAY = 0x03  # PCI base class of display controllers
_BARS = 6
_MEMORY_TYPE, _MEMORY_64_BIT = 0x6, 0x4  # flags of a BAR, see PCI_BASE_ADDRESS_MEM_TYPE_64


class PassthroughError(Exception):
    """A GPU cannot be passed through, or not be taken back, now; the text names it and the cause."""


class Persistence(Protocol):
    """The persistence mode of GPUs, by their PCI addresses; `reference_impl.kubelet_plugin.discovery.Nvml` has it."""

    def is_on(self, address: str) -> bool:
        """Return whether a GPU stays initialised without users; False if that is unknown."""

    def switch_on(self, address: str) -> None:
        """Switch persistence mode on. A failure is only logged: without it the GPU works, but starts more slowly."""


class Passthrough:
    """Passes the GPUs of one node through.

    `processes` returns the processes that use a GPU; a GPU in use is not unbound. `persistence` reads and
    switches on the persistence mode of the GPU at a PCI address. `numa_lists`: NUMA nodes have the list form.
    """

    def __init__(
        self,
        root: DriverRoot,
        *,
        processes: Callable[[Gpu], list[int]],
        found: Callable[[], Found],
        persistence: Persistence,
        numa_lists: bool = False,
    ) -> None:
        self._root = root
        self._processes = processes
        self._found = found
        self.persistence = persistence
        self._numa_lists = numa_lists

    def check(self) -> None:
        """Raise ComponentError if the kernel isolates no devices (rule NV-183)."""
        groups = self._root.sysfs / "kernel/iommu_groups"
        if not any(groups.glob("*")):
            raise ComponentError(
                f"feature gate PassthroughSupport: IOMMU is not enabled in the kernel ({groups} is empty): switch it "
                "on (intel_iommu=on or amd_iommu=on) or the gate off"
            )

    def discover(self, found: Found) -> tuple[Vfio, ...]:
        """Return a device for each NVIDIA GPU of the PCI bus, except those with MIG (rule NV-175).

        From sysfs alone: NVML does not show a GPU that vfio-pci has.
        """
        cut = {device.parent.pci_bus_id for device in found.devices if isinstance(device, Mig)}
        names = {gpu.pci_bus_id: gpu.product_name for gpu in found.gpus}
        return tuple(
            self.describe(index, address, names.get(address))
            for index, address in enumerate(self.addresses())
            if address not in cut
        )

    def addresses(self) -> Iterator[str]:
        """Return the PCI addresses of the node's NVIDIA GPUs, in order."""
        for link in sorted((self._root.sysfs / "bus/pci/devices").glob("*")):
            if number_in(link / "vendor") == _NVIDIA and number_in(link / "class") >> 16 == _DISPLAY:
                yield link.name

    def describe(self, index: int, address: str, product_name: str | None) -> Vfio:
        """Return one device, from its folder. The product name is NVML's, or else the PCI ids."""
        folder = self._root.sysfs / "bus/pci/devices" / address
        vendor, device = f"0x{number_in(folder / 'vendor'):04x}", f"0x{number_in(folder / 'device'):04x}"
        try:
            group = int((folder / "iommu_group").resolve().name)
        except (OSError, ValueError) as error:
            raise ComponentError(f"{address} has no IOMMU group, so it cannot be passed through: {error}") from error
        return Vfio(
            index=index,
            address=address,
            group=group,
            vendor_id=vendor,
            device_id=device,
            product_name=product_name or f"{vendor}:{device}",
            memory_bytes=addressable(folder / "resource"),
            iommufd=(self._root.dev / "iommu").exists(),
            pcie_root=pcie_root(self._root.sysfs, address),
            numa_node=numa_node(self._root.sysfs, address, as_list=self._numa_lists),
        )

    # -- a setting of a claim --------------------------------------------------------------------------------------

    def plan(self, claim_uid: str, configured: Sequence[ConfiguredDevice]) -> Obj:
        """Return the driver that each GPU has now, which is the one to give it back to."""
        mine = [(item.device, item.config) for item in configured if isinstance(item.device, Vfio)]
        if not mine:
            return {}
        configs = {config for _, config in mine if isinstance(config, VfioDeviceConfig)}
        if len(configs) > 1:
            raise ConfigError("the claim has several VfioDeviceConfigs; at most one is supported for a claim")
        for device, _ in mine:
            self.check_free(device)
        (config,) = configs
        prefer = config.backend_policy == "PreferIommuFD" and mine[0][0].iommufd
        return {
            "passthrough": {
                "formerDrivers": {device.address: self.driver_of(device.address) for device, _ in mine},
                "persistent": [device.address for device, _ in mine if self.persistence.is_on(device.address)],
                "apiDevice": ("iommu" if prefer else "vfio/vfio") if config.enable_api_device else "",
                "iommuFD": prefer,
            }
        }

    def apply(self, planned: Obj) -> None:
        """Bind the planned GPUs to vfio-pci (rule NV-176)."""
        for address in (planned.get("passthrough") or {}).get("formerDrivers", ()):
            self.rebind(address, VFIO)

    def undo(self, entry: ClaimEntry, in_use: Collection[str] = ()) -> None:
        """Give the claim's GPUs back to the drivers and the mode that they had (rules NV-177, NV-177b)."""
        planned: Any = entry.config_state.get("passthrough") or {"formerDrivers": {}, "persistent": []}
        for address, driver in planned["formerDrivers"].items():
            self.rebind(address, driver)
        for address in planned["persistent"]:
            self.persistence.switch_on(address)

    def edits(self, planned: Obj) -> Obj:
        """Return the device file of the IOMMU's interface, if the config requests it (rule NV-180)."""
        name = (planned.get("passthrough") or {}).get("apiDevice")
        return {"deviceNodes": [self._root.node(name)]} if name else {}

    def device_edits(self, planned: Obj, device: AnyDevice) -> Obj:
        """Return the device file of one GPU: its group's, or its own if that is requested (rules NV-176, NV-180)."""
        if not isinstance(device, Vfio):
            return {}
        return {"deviceNodes": [self.device_node(device, iommufd=planned["passthrough"]["iommuFD"])]}

    def device_node(self, device: Vfio, *, iommufd: bool) -> Obj:
        """Return one GPU's device file. Raises PassthroughError if the kernel made none."""
        if not iommufd:
            return self._root.node(f"vfio/{device.group}")
        folder = self._root.sysfs / "bus/pci/devices" / device.address / "vfio-dev"
        name = next((path.name for path in sorted(folder.glob("vfio*"))), None)
        if name is None:
            raise PassthroughError(f"missing iommufd cdev for GPU {device.address}: {folder} has none")
        return self._root.node(f"vfio/devices/{name}")

    # -- the bus ---------------------------------------------------------------------------------------------------

    def check_free(self, device: Vfio) -> None:
        """Refuse a GPU that something else has. Raises PassthroughError (rule NV-182)."""
        driver = self.driver_of(device.address)
        if driver == VFIO:
            return
        if driver != NATIVE:
            raise PassthroughError(
                f"GPU {device.address} is bound to {driver or 'no driver'!r}, expected {NATIVE!r} or {VFIO!r}"
            )
        functions = number_in(self._root.sysfs / "bus/pci/devices" / device.address / "sriov_numvfs")
        if functions > 0:
            raise PassthroughError(f"GPU {device.address} has {functions} virtual functions, cannot unbind")
        users = [pid for gpu in self._found().gpus if gpu.pci_bus_id == device.address for pid in self._processes(gpu)]
        if users:
            raise PassthroughError(f"GPU {device.address} is in use by process(es) {', '.join(map(str, users))}")

    def driver_of(self, address: str) -> str:
        """Return the driver that a PCI device is bound to; empty for none."""
        link = self._root.sysfs / "bus/pci/devices" / address / "driver"
        return os.path.basename(os.readlink(link)) if link.is_symlink() else ""

    def rebind(self, address: str, driver: str) -> None:
        """Give a PCI device to a driver, from wherever an earlier attempt left it. Raises PassthroughError.

        The override comes first: from the moment that a device has no driver the kernel may look for one.
        """
        bus, current = self._root.sysfs / "bus/pci", self.driver_of(address)
        if current == driver:
            return
        try:
            # An empty line clears the override, so that the device has its usual drivers again.
            self.write(bus / "devices" / address / "driver_override", VFIO if driver == VFIO else "")
            if current:
                self.write(bus / "drivers" / current / "unbind", address)
            if driver:
                self.write(bus / "drivers" / driver / "bind", address)
        except OSError as error:
            raise PassthroughError(f"error binding GPU {address} to driver {driver!r}: {error}") from error
        log.info("GPU %s went from driver %r to %r", address, current, driver)

    def write(self, file: Path, text: str) -> None:
        """Write to one of the kernel's files; if it does not exist, the kernel does not support the operation."""
        # Without O_CREAT: on a fake node, whose sysfs has plain files, a missing file must fail as the kernel's does.
        descriptor = os.open(file, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        try:
            os.write(descriptor, f"{text}\n".encode())
        finally:
            os.close(descriptor)
        if file.name in ("bind", "unbind") and pci_kernel.is_simulated(self._root.sysfs):
            pci_kernel.apply(file)


def twins(found: Found, held: set[str]) -> set[str]:
    """Return the devices that are the same GPU as one of `held` under another name, so unavailable (rule NV-178)."""
    taken: list[AnyDevice] = [device for device in found.all if device.name in held]
    return {
        device.name
        for device in found.all
        for other in taken
        # The allocation prevents other overlaps by counters, of which passthrough devices have none.
        if isinstance(device, Vfio) != isinstance(other, Vfio) and overlap(device, other)
    }


def number_in(file: Path) -> int:
    """Return the number in a file of sysfs, decimal or `0x…`; 0 if there is none."""
    try:
        return int(file.read_text().strip(), 0)
    except (OSError, ValueError):
        return 0


def addressable(resource: Path) -> int:
    """Return the bytes that the 64-bit BARs of a PCI device address, rounded up to a power of two.

    `resource` is its file in sysfs: start, end and flags of each BAR, then of other regions. A virtual machine gets an
    address window of that size. Source: GetTotalAddressableMemory of go-nvlib v0.12.0, pkg/nvpci/resources.go.
    """
    total = 0
    for line in resource.read_text().splitlines()[:_BARS]:
        start, end, flags = (int(word, 0) for word in line.split())
        if end > start and flags & _MEMORY_TYPE == _MEMORY_64_BIT:
            total += end - start + 1
    return 1 << (total - 1).bit_length() if total else 0
