"""The devices that a node offers, typed, and how each is written into a ResourceSlice.

Values come from `reference_impl.kubelet_plugin.discovery`, which reads NVML and sysfs once at start. They are frozen: a
change of the hardware is a new list.

Source: cmd/gpu-kubelet-plugin deviceinfo.go, mig.go and partitions.go at 95932046; rules NV-020 to NV-033, NV-041,
NV-042.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dra_api.objects import Obj

DeviceType: TypeAlias = Literal["gpu", "mig"]

_MEBI = 1 << 20
_SUFFIXES = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One physical GPU, as NVML and sysfs describe it.

    `memory_bytes` is None where NVML has no memory information (unified memory). `pcie_root`, `numa_node` and
    `addressing_mode` are None where the machine does not say.
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
    addressing_mode: str | None = None
    pcie_root: str | None = None
    numa_node: int | None = None
    mig_enabled: bool = False

    @property
    def name(self) -> str:
        """The device's name in the slice."""
        return gpu_name(self.minor)

    @property
    def type(self) -> DeviceType:
        """The attribute that device classes select by."""
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
        """The device's name in the slice."""
        return mig_name(self.parent.minor, self.profile, self.profile_id, self.start)

    @property
    def type(self) -> DeviceType:
        """The attribute that device classes select by."""
        return "mig"


Device: TypeAlias = Gpu | Mig


def gpu_name(minor: int) -> str:
    """`gpu-<minor>`: NVML's minor number, not its index (rule NV-020)."""
    return f"gpu-{minor}"


def mig_name(parent_minor: int, profile: str, profile_id: int, start: int) -> str:
    """`gpu-0-mig-1g18gb-me-20-3` for profile `1g.18gb+me`, id 20, placement 3 (rules NV-041, NV-042)."""
    compact = re.sub(r"[^a-z0-9-]", "-", profile.replace(".", "").lower()).strip("-")
    return f"{gpu_name(parent_minor)}-mig-{compact}-{profile_id}-{start}"


def full_gpu(device: Device) -> Gpu:
    """The GPU that holds the device."""
    return device.parent if isinstance(device, Mig) else device


def to_slice_device(device: Device) -> Obj:
    """The device as an entry of `spec.devices`."""
    return {
        "name": device.name,
        "attributes": attributes_of(device),
        **({"capacity": capacity} if (capacity := capacity_of(device)) else {}),
    }


def attributes_of(device: Device) -> Obj:
    """Attributes in upstream's names (rules NV-021 to NV-025, NV-028, NV-032)."""
    gpu = full_gpu(device)
    attributes: Obj = {"type": {"string": device.type}, "uuid": {"string": device.uuid}}
    if isinstance(device, Mig):
        attributes["parentUUID"] = {"string": gpu.uuid}
        attributes["profile"] = {"string": device.profile}
    attributes |= {
        "productName": {"string": gpu.product_name},
        "brand": {"string": gpu.brand},
        "architecture": {"string": gpu.architecture},
        "cudaComputeCapability": {"version": gpu.cuda_compute_capability},
        "driverVersion": {"version": gpu.driver_version},
        "cudaDriverVersion": {"version": gpu.cuda_driver_version},
        "resource.kubernetes.io/pciBusID": {"string": gpu.pci_bus_id},
    }
    if gpu.addressing_mode is not None:
        attributes["addressingMode"] = {"string": gpu.addressing_mode}
    if gpu.pcie_root is not None:
        attributes["resource.kubernetes.io/pcieRoot"] = {"string": gpu.pcie_root}
    if gpu.numa_node is not None:
        attributes["resource.kubernetes.io/numaNode"] = {"int": gpu.numa_node}
    return attributes


def capacity_of(device: Device) -> Obj:
    """Capacities: memory of a GPU; engines, memory and memory slices of a MIG device (rules NV-026, NV-027, NV-031)."""
    if isinstance(device, Gpu):
        return {} if device.memory_bytes is None else {"memory": {"value": binary_quantity(device.memory_bytes)}}
    capacity: Obj = {name: {"value": str(count)} for name, count in device.engines.items()}
    capacity["memory"] = {"value": binary_quantity(device.memory_mib * _MEBI)}
    for position in range(device.start, device.start + device.size):
        capacity[f"memorySlice{position}"] = {"value": "1"}
    return capacity


def binary_quantity(number: int) -> str:
    """A quantity in its canonical BinarySI form: the largest suffix that divides (`85899345920` is `80Gi`)."""
    step = 0
    while number and number % 1024 == 0 and step + 1 < len(_SUFFIXES):
        number //= 1024
        step += 1
    return f"{number}{_SUFFIXES[step]}"


def semantic_version(text: str) -> str:
    """Semver 2.0.0 of a dotted driver version: three numbers, leading zeros dropped (rule NV-022).

    `550.163.01` is `550.163.1`, `580.95` is `580.95.0`. Raises ValueError when it begins with no number.
    """
    numbers = re.match(r"\d+(?:\.\d+)*", text)
    if numbers is None:
        raise ValueError(f"driver version {text!r} does not begin with a number")
    parts = [str(int(part)) for part in numbers.group().split(".")][:3]
    return ".".join(parts + ["0"] * (3 - len(parts)))


def cuda_version(number: int) -> str:
    """NVML's CUDA driver version (12040) as semver (12.4.0)."""
    return f"{number // 1000}.{number % 1000 // 10}.0"


def pci_address(bus_id: str) -> str:
    """NVML's `00000000:1A:00.0` as Linux writes it, `0000:1a:00.0` (rule NV-023). Raises ValueError when malformed."""
    match = re.fullmatch(r"([0-9a-f]{4,8}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-9a-f])", bus_id.strip().lower())
    if match is None:
        raise ValueError(f"{bus_id!r} is no PCI address")
    domain, bus, slot, function = match.groups()
    return f"{int(domain, 16):04x}:{bus}:{slot}.{function}"
