"""NVML and sysfs to typed devices, once.

NVML comes in as a module object with pynvml's names, so the same code reads real hardware, the fake library, and any
number of fake nodes in one process. `Nvml` owns one initialisation of the library between `open` and `close`.

Source: cmd/gpu-kubelet-plugin nvlib.go at 95932046 and its return-code contract; rules NV-024 to NV-030.
"""

from __future__ import annotations

import ctypes
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from reference_impl.errors import ComponentError
from reference_impl.kubelet_plugin.devices import (
    AnyDevice,
    Device,
    Gpu,
    Mig,
    Vfio,
    can_toggle,
    cuda_version,
    pci_address,
    semantic_version,
    slots_of,
)
from reference_impl.kubelet_plugin.mig_profiles import ENGINES, partitioning
from reference_impl.kubelet_plugin.numa import numa_node

log = logging.getLogger(__name__)

# The names of go-nvlib by the numbers of NVML (rule NV-021b).
_BRANDS = {
    1: "Quadro",
    2: "Tesla",
    3: "NVS",
    4: "Grid",
    5: "GeForce",
    6: "Titan",
    7: "NvidiaVApps",
    8: "NvidiaVPC",
    9: "NvidiaVCS",
    10: "NvidiaVWS",
    11: "NvidiaCloudGaming",
    12: "QuadroRTX",
    13: "NvidiaRTX",
    14: "Nvidia",
    15: "GeForceRTX",
    16: "TitanRTX",
}
_ARCHITECTURES = {
    2: "Kepler",
    3: "Maxwell",
    4: "Pascal",
    5: "Volta",
    6: "Turing",
    7: "Ampere",
    8: "Ada Lovelace",
    9: "Hopper",
    10: "Blackwell",
}
_NEW = "Unknown"
_ADDRESSING = {0: "None", 1: "HMM", 2: "ATS"}


class DiscoveryError(ComponentError):
    """NVML did not give what a driver cannot do without."""


@dataclass(frozen=True, slots=True)
class Found:
    """The devices of a node: every physical GPU, the devices to publish, and those to pass through."""

    gpus: tuple[Gpu, ...]
    devices: tuple[Device, ...]
    passthrough: tuple[Vfio, ...] = ()

    @property
    def all(self) -> tuple[AnyDevice, ...]:
        """Return every publishable device."""
        return (*self.devices, *self.passthrough)

    def device(self, name: str) -> AnyDevice | None:
        """Return the publishable device of that name."""
        return next((device for device in self.all if device.name == name), None)


class Nvml:
    """One initialised NVML and the queries of a driver.

    `module` has pynvml's functions and constants. `numa_lists`: NUMA nodes have the list form. Safe to use from several
    threads, as NVML is.
    """

    def __init__(self, module: ModuleType, *, numa_lists: bool = False) -> None:
        self.module: Any = module
        self._numa_lists = numa_lists

    def open(self) -> None:
        """Initialise the library. Raises DiscoveryError with a hint if there is none."""
        try:
            self.module.nvmlInit()
        except self.module.NVMLError as error:
            raise DiscoveryError(
                f"NVML cannot be initialised: {error}. Is the NVIDIA driver (or the fake library) where "
                "the loader finds libnvidia-ml.so.1?"
            ) from error

    def close(self) -> None:
        """Give the library back."""
        self.module.nvmlShutdown()

    def handles(self) -> list[Any]:
        """Handles of all physical GPUs, by NVML index."""
        return [self.module.nvmlDeviceGetHandleByIndex(i) for i in range(self.module.nvmlDeviceGetCount())]

    def identity(self, handle: Any) -> int:
        """Return a number that two handles of one GPU share, also when the GPU is lost and answers no question any
        more.
        """
        # NVML returns the same pointer for the same GPU.
        return ctypes.cast(handle, ctypes.c_void_p).value or 0

    def discover(self, sysfs: Path, *, dynamic_mig: bool = False) -> Found:
        """Read every GPU and MIG device; with `dynamic_mig` every possible placement of a MIG device.

        Raises DiscoveryError if an essential NVML call fails.
        """
        pairs: list[tuple[Any, Gpu]] = []
        try:
            driver_version = semantic_version(self.raw_driver_version())
            cuda_driver_version = cuda_version(self.module.nvmlSystemGetCudaDriverVersion())
            for index, handle in enumerate(self.handles()):
                pairs.append((handle, self._gpu(handle, index, driver_version, cuda_driver_version, sysfs)))
            if dynamic_mig:
                pairs = [(handle, self.cut(handle, gpu)) for handle, gpu in pairs]
            devices: list[Device] = []
            for handle, gpu in pairs:
                devices += self.publishable(handle, gpu)
        except (self.module.NVMLError, ValueError) as error:
            raise DiscoveryError(f"discovery failed after {len(pairs)} GPUs: {error}") from error
        return Found(gpus=tuple(gpu for _, gpu in pairs), devices=tuple(devices))

    def raw_driver_version(self) -> str:
        """Return the driver version as NVML spells it; library files are named after it."""
        version: str = self.module.nvmlSystemGetDriverVersion()
        return version

    def cut(self, handle: Any, gpu: Gpu) -> Gpu:
        """Return the GPU with the possible placements of MIG devices, if it supports creating them on demand.

        Before Hopper, MIG mode changes only with a reset, so MIG must be on already there (rule NV-040).
        """
        if gpu.mig_enabled or can_toggle(gpu):
            return replace(gpu, partitioning=partitioning(self.module, handle))
        return gpu

    def publishable(self, handle: Any, gpu: Gpu) -> list[Device]:
        """Return the GPU itself or, if MIG is on, its MIG devices, even if there are none (rules NV-029, NV-030).

        With MIG devices on demand: the GPU itself if MIG mode can be turned off, and every placement (rules NV-034,
        NV-040).
        """
        if gpu.partitioning is not None:
            return [*([gpu] if can_toggle(gpu) else []), *slots_of(gpu)]
        if not gpu.mig_enabled:
            return [gpu]
        found = list(self._mig_devices(handle, gpu))
        if not found:
            log.warning("%s has MIG enabled but no MIG device; nothing is published for it", gpu.name)
        return [*found]

    def processes(self, gpu: Gpu) -> list[int]:
        """Return the processes that compute on a GPU. Raises NVMLError if NVML does not report them."""
        handle = self.module.nvmlDeviceGetHandleByUUID(gpu.uuid)
        return [int(process.pid) for process in self.module.nvmlDeviceGetComputeRunningProcesses(handle)]

    def at(self, address: str) -> Any:
        """Return the handle of the GPU at a PCI address. Raises NVMLError if NVML shows none."""
        return self.module.nvmlDeviceGetHandleByPciBusId(address.encode())

    # -- one GPU ---------------------------------------------------------------------------------------------------

    def _gpu(self, handle: Any, index: int, driver_version: str, cuda_driver_version: str, sysfs: Path) -> Gpu:
        nvml = self.module
        address = pci_address(nvml.nvmlDeviceGetPciInfo(handle).busId)
        major, minor = nvml.nvmlDeviceGetCudaComputeCapability(handle)
        memory = self._optional(lambda: nvml.nvmlDeviceGetMemoryInfo(handle).total, "NOT_SUPPORTED")
        mode = self._optional(lambda: nvml.nvmlDeviceGetMigMode(handle)[0], "NOT_SUPPORTED", "FUNCTION_NOT_FOUND")
        return Gpu(
            minor=nvml.nvmlDeviceGetMinorNumber(handle),
            index=index,
            uuid=nvml.nvmlDeviceGetUUID(handle),
            product_name=nvml.nvmlDeviceGetName(handle),
            brand=_BRANDS.get(nvml.nvmlDeviceGetBrand(handle), _NEW),
            architecture=_ARCHITECTURES.get(nvml.nvmlDeviceGetArchitecture(handle), _NEW),
            cuda_compute_capability=f"{major}.{minor}.0",
            driver_version=driver_version,
            cuda_driver_version=cuda_driver_version,
            pci_bus_id=address,
            memory_bytes=None if memory is None else int(memory),
            addressing_mode=self._addressing_mode(handle),
            pcie_root=pcie_root(sysfs, address),
            numa_node=numa_node(sysfs, address, as_list=self._numa_lists),
            mig_enabled=mode == nvml.NVML_DEVICE_MIG_ENABLE,
        )

    def _addressing_mode(self, handle: Any) -> str | None:
        # The symbol is newer than many drivers, and its struct is versioned (rule NV-028).
        mode = self._optional(
            lambda: self.module.nvmlDeviceGetAddressingMode(handle),
            "NOT_SUPPORTED",
            "FUNCTION_NOT_FOUND",
            "ARGUMENT_VERSION_MISMATCH",
            "INVALID_ARGUMENT",
        )
        return None if mode is None else _ADDRESSING.get(int(mode))

    # -- MIG -------------------------------------------------------------------------------------------------------

    def _mig_devices(self, parent: Any, gpu: Gpu) -> list[Mig]:
        nvml = self.module
        found: list[Mig] = []
        for index in range(nvml.nvmlDeviceGetMaxMigDeviceCount(parent)):
            handle = self._optional(partial(nvml.nvmlDeviceGetMigDeviceHandleByIndex, parent, index), "NOT_FOUND")
            if handle is not None:
                found.append(self._mig(parent, gpu, handle))
        return found

    def _mig(self, parent: Any, gpu: Gpu, handle: Any) -> Mig:
        nvml = self.module
        gi_id = nvml.nvmlDeviceGetGpuInstanceId(handle)
        info = nvml.nvmlGpuInstanceGetInfo(nvml.nvmlDeviceGetGpuInstanceById(parent, gi_id))
        profile = self._gi_profile(parent, info.profileId)
        return Mig(
            parent=gpu,
            uuid=nvml.nvmlDeviceGetUUID(handle),
            # The name of the device and not of its GPU instance: a compute instance may have a part of that, as 1c.2g.
            profile=nvml.nvmlDeviceGetName(handle).rpartition("MIG ")[2],
            profile_id=info.profileId,
            start=info.placement.start,
            size=info.placement.size,
            gi_id=gi_id,
            ci_id=nvml.nvmlDeviceGetComputeInstanceId(handle),
            memory_mib=int(profile.memorySizeMB),
            engines={name: int(getattr(profile, member)) for name, member in ENGINES},
        )

    def _gi_profile(self, parent: Any, profile_id: int) -> Any:
        # Profile info is queried by index and returns the hardware's id: the one that instances carry.
        profiles = (
            self._optional(partial(self.module.nvmlDeviceGetGpuInstanceProfileInfo, parent, index), "NOT_SUPPORTED")
            for index in range(self.module.NVML_GPU_INSTANCE_PROFILE_COUNT)
        )
        for info in profiles:
            if info is not None and info.id == profile_id:
                return info
        # A driver can be newer than pynvml, whose number of profiles is a constant.
        raise ValueError(f"a GPU instance has profile {profile_id}, but NVML lists no such profile")

    def _optional(self, call: Callable[[], Any], *accepted: str) -> Any:
        """Return the call's value, or None when NVML answers with one of the `accepted` return codes."""
        codes = {getattr(self.module, f"NVML_ERROR_{name}", None) for name in accepted}
        try:
            return call()
        except self.module.NVMLError as error:
            if error.value in codes:
                return None
            raise


def pcie_root(sysfs: Path, address: str) -> str | None:
    """Return the PCIe root (`pci0000:00`) of a device, from its link in sysfs; None if sysfs has none (rule NV-024)."""
    link = sysfs / "bus/pci/devices" / address
    # A link leads through the whole hierarchy: /sys/devices/pci0000:00/0000:00:01.0/…
    return next(iter(re.findall(r"pci[0-9a-f]+:[0-9a-f]+", str(link.resolve()))), None)
