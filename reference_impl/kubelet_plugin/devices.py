"""The devices that a node offers, typed, and how each is written into a ResourceSlice.

Values come from `reference_impl.kubelet_plugin.discovery`, which reads NVML and sysfs once at start. They are frozen: a
change of the hardware is a new list.

Source: cmd/gpu-kubelet-plugin deviceinfo.go, mig.go and partitions.go at 95932046; rules NV-020 to NV-037, NV-041,
NV-042.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias
from uuid import NAMESPACE_DNS, uuid5

from dra_api.objects import Obj
from reference_impl.kubelet_plugin import numa
from reference_impl.kubelet_plugin.numa import NumaNode
from reference_impl.kubelet_plugin.partitions import (
    MEBI,
    MigProfile,
    Partitioning,
    binary_quantity,
    consumed,
    quantity_of,
)

DeviceType: TypeAlias = Literal["gpu", "mig", "vfio"]

_HOPPER = 9  # major compute capability


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One physical GPU, from NVML and sysfs.

    `memory_bytes` is None if NVML has no memory information (unified memory). `pcie_root`, `numa_node` and
    `addressing_mode` are None if the machine does not report them. `partitioning` is set if MIG devices are created
    on demand.
    """

    minor: int
    index: int
    uuid: str
    product_name: str
    brand: str
    architecture: str
    cuda_compute_capability: str
    driver_version: str
    cuda_driver_version: str
    pci_bus_id: str
    memory_bytes: int | None
    addressing_mode: str | None
    pcie_root: str | None
    numa_node: NumaNode | None
    mig_enabled: bool
    partitioning: Partitioning | None = None

    @property
    def name(self) -> str:
        """Return the device's name in the slice."""
        return gpu_name(self.minor)

    @property
    def type(self) -> DeviceType:
        """Return the attribute that device classes select by."""
        return "gpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mig:
    """One MIG device that exists already (static MIG): a compute instance that fills its GPU instance.

    `profile_id` is the hardware's number of the GPU instance profile, not the index of the query; `start` and `size`
    count memory slices; `engines` maps capacity names to how many the instance has.
    """

    parent: Gpu
    uuid: str
    profile: str
    profile_id: int
    start: int
    size: int
    gi_id: int
    ci_id: int
    memory_mib: int
    engines: Mapping[str, int]

    @property
    def name(self) -> str:
        """Return the device's name in the slice."""
        return mig_name(self.parent.minor, self.profile, self.profile_id, self.start)

    @property
    def type(self) -> DeviceType:
        """Return the attribute that device classes select by."""
        return "mig"


@dataclass(frozen=True, slots=True, kw_only=True)
class MigSlot:
    """A MIG device that is made when a claim is prepared: one place of one profile on one GPU."""

    parent: Gpu
    profile: MigProfile
    start: int

    @property
    def name(self) -> str:
        """Return the device's name in the slice; a MIG device that exists has the same."""
        return mig_name(self.parent.minor, self.profile.name, self.profile.id, self.start)

    @property
    def type(self) -> DeviceType:
        """Return the attribute that device classes select by; created before or on demand."""
        return "mig"


@dataclass(frozen=True, slots=True, kw_only=True)
class MigInstance(MigSlot):
    """A MIG device that was made for a claim, with the ids of its GPU instance and its compute instance."""

    gi_id: int
    ci_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Vfio:
    """A GPU as a whole PCI device for a virtual machine, bound to vfio-pci while a claim has it.

    It is the same hardware as the GPU at its address, its twin, under another name. `memory_bytes` is the total size
    of its BARs; `iommufd` is true if the node has the newer IOMMU interface.
    """

    index: int
    address: str
    group: int
    vendor_id: str
    device_id: str
    product_name: str
    memory_bytes: int
    iommufd: bool
    pcie_root: str | None
    numa_node: NumaNode | None

    @property
    def name(self) -> str:
        """Return the device's name in the slice: by position among the node's GPUs, in the order of their addresses."""
        return f"gpu-vfio-{self.index}"

    @property
    def type(self) -> DeviceType:
        """Return the attribute that device classes select by."""
        return "vfio"

    @property
    def uuid(self) -> str:
        """Return a stable id for one address; NVML cannot report the GPU's own uuid while vfio-pci has it."""
        return str(uuid5(NAMESPACE_DNS, self.address))


Device: TypeAlias = Gpu | Mig | MigSlot
"""The devices and partitions that NVML reports."""

AnyDevice: TypeAlias = Device | Vfio


def slots_of(gpu: Gpu) -> list[MigSlot]:
    """Return every place that a MIG device can have on a GPU that is cut on demand."""
    profiles = gpu.partitioning.profiles if gpu.partitioning is not None else ()
    return [MigSlot(parent=gpu, profile=profile, start=start) for profile in profiles for start in profile.starts]


def memory_slices(device: Device) -> Sequence[int]:
    """Return the memory slices of its GPU that a device takes; none of a GPU that is not cut on demand."""
    match device:
        case Gpu(partitioning=whole):
            return range(whole.memory_slices if whole is not None else 0)
        case Mig(start=start, size=size) | MigSlot(start=start, profile=MigProfile(size=size)):
            return range(start, start + size)


def overlap(one: AnyDevice, other: AnyDevice) -> bool:
    """Return whether two devices of different names share hardware."""
    if isinstance(one, Vfio) or isinstance(other, Vfio):
        return pci_address_of(one) == pci_address_of(other)
    if full_gpu(one).uuid != full_gpu(other).uuid:
        return False
    return bool(set(memory_slices(one)) & set(memory_slices(other)))


def gpu_name(minor: int) -> str:
    """Return `gpu-<minor>`: NVML's minor number, not its index (rule NV-020)."""
    return f"gpu-{minor}"


def mig_name(parent_minor: int, profile: str, profile_id: int, start: int) -> str:
    """Return `gpu-0-mig-1g18gb-me-20-3` for profile `1g.18gb+me`, id 20, placement 3 (rules NV-041, NV-042)."""
    # A device name is a DNS label, without dots and plus signs.
    compact = re.sub(r"[^a-z0-9-]", "-", profile.replace(".", "").lower()).strip("-")
    return f"{gpu_name(parent_minor)}-mig-{compact}-{profile_id}-{start}"


def full_gpu(device: Device) -> Gpu:
    """Return the GPU that holds the device."""
    return device if isinstance(device, Gpu) else device.parent


def pci_address_of(device: AnyDevice) -> str:
    """Return the PCI address of the GPU that holds the device."""
    return device.address if isinstance(device, Vfio) else full_gpu(device).pci_bus_id


def can_toggle(gpu: Gpu) -> bool:
    """Return whether MIG mode changes without a reset of the GPU: from Hopper on."""
    return int(gpu.cuda_compute_capability.partition(".")[0]) >= _HOPPER


def to_slice_device(device: AnyDevice) -> Obj:
    """Return the device as an entry of `spec.devices`."""
    if isinstance(device, Vfio):
        return vfio_slice_device(device)
    return {
        "name": device.name,
        "attributes": attributes_of(device),
        **({"capacity": capacity} if (capacity := capacity_of(device)) else {}),
        **({"consumesCounters": counters} if (counters := counters_of(device)) else {}),
    }


def vfio_slice_device(device: Vfio) -> Obj:
    """Return a device for pass-through as an entry of `spec.devices` (rule NV-175)."""
    attributes: Obj = {
        "type": {"string": device.type},
        "uuid": {"string": device.uuid},
        "vendorID": {"string": device.vendor_id},
        "deviceID": {"string": device.device_id},
        "productName": {"string": device.product_name},
        "iommuFDEnabled": {"bool": device.iommufd},
    } | _place(device.address, device)
    capacity = {"addressableMemory": {"value": binary_quantity(device.memory_bytes)}}
    return {"name": device.name, "attributes": attributes, "capacity": capacity}


def _place(address: str, device: Gpu | Vfio) -> Obj:
    """Return the standard attributes for the location of a device (rules NV-024, NV-025); unknown ones are left out."""
    attributes: Obj = {"resource.kubernetes.io/pciBusID": {"string": address}}
    if device.pcie_root is not None:
        attributes["resource.kubernetes.io/pcieRoot"] = {"string": device.pcie_root}
    if device.numa_node is not None:
        attributes["resource.kubernetes.io/numaNode"] = numa.attribute(device.numa_node)
    return attributes


def counters_of(device: Device) -> list[Obj]:
    """Return the amounts of its GPU's counters that the device consumes (rules NV-034 to NV-036)."""
    match device:
        case Gpu(partitioning=Partitioning(amounts=amounts)) | MigSlot(profile=MigProfile(amounts=amounts)):
            return consumed(full_gpu(device).minor, amounts, memory_slices(device))
        case _:
            return []


def attributes_of(device: Device) -> Obj:
    """Return attributes in upstream's names (rules NV-021 to NV-025, NV-028, NV-032)."""
    gpu = full_gpu(device)
    attributes: Obj = {"type": {"string": device.type}}
    # A slot gets its uuid when the MIG device is created.
    if not isinstance(device, MigSlot):
        attributes["uuid"] = {"string": device.uuid}
    if not isinstance(device, Gpu):
        attributes["parentUUID"] = {"string": gpu.uuid}
        attributes["profile"] = {"string": device.profile if isinstance(device, Mig) else device.profile.name}
    attributes |= {
        "productName": {"string": gpu.product_name},
        "brand": {"string": gpu.brand},
        "architecture": {"string": gpu.architecture},
        "cudaComputeCapability": {"version": gpu.cuda_compute_capability},
        "driverVersion": {"version": gpu.driver_version},
        "cudaDriverVersion": {"version": gpu.cuda_driver_version},
    }
    if gpu.addressing_mode is not None:
        attributes["addressingMode"] = {"string": gpu.addressing_mode}
    return attributes | _place(gpu.pci_bus_id, gpu)


def capacity_of(device: Device) -> Obj:
    """Return capacities: memory of a GPU; engines, memory and memory slices of a MIG device (rules NV-026, NV-027,
    NV-031).

    A GPU that is cut on demand has the engines and memory that its partitions share, as its counters have.
    """
    match device:
        case Gpu(partitioning=Partitioning() as whole):
            return {name: {"value": quantity_of(name, number)} for name, number in whole.amounts.items()}
        case Gpu(memory_bytes=total):
            return {} if total is None else {"memory": {"value": binary_quantity(total)}}
        case MigSlot():
            return {name: {"value": quantity_of(name, number)} for name, number in device.profile.amounts.items()}
        case Mig():
            capacity: Obj = {name: {"value": str(count)} for name, count in device.engines.items()}
            capacity["memory"] = {"value": binary_quantity(device.memory_mib * MEBI)}
            for position in range(device.start, device.start + device.size):
                capacity[f"memorySlice{position}"] = {"value": "1"}
            return capacity


def semantic_version(text: str) -> str:
    """Return Semver 2.0.0 of a dotted driver version: three numbers, leading zeros dropped (rule NV-022).

    `550.163.01` is `550.163.1`, `580.95` is `580.95.0`. Raises ValueError when it begins with no number.
    """
    parts = [str(int(part)) for part in text.split(".")]
    return ".".join([*parts, "0", "0"][:3])


def cuda_version(number: int) -> str:
    """Return NVML's CUDA driver version (12040) as semver (12.4.0)."""
    return f"{number // 1000}.{number % 1000 // 10}.0"


def pci_address(bus_id: str) -> str:
    """Return NVML's `00000000:1A:00.0` as Linux writes it, `0000:1a:00.0` (rule NV-023). Raises ValueError when
    malformed.
    """
    domain, device = bus_id.lower().split(":", 1)
    return f"{int(domain, 16):04x}:{device}"
