"""Creation and destruction of MIG devices: GPU instance and compute instance at one placement of a GPU.

The instances outlive every process; the checkpoint records which claim has them. Callers hold the node lock.

Source: cmd/gpu-kubelet-plugin nvlib.go at 95932046, with the roll-back of pull request 1476; rules NV-113 to NV-117.
"""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Collection, Iterator
from typing import Any

from reference_impl.kubelet_plugin.devices import Gpu, MigInstance, MigSlot, can_toggle, slots_of
from reference_impl.kubelet_plugin.discovery import Found, Nvml
from reference_impl.kubelet_plugin.mig_profiles import FILLING

log = logging.getLogger(__name__)

_COMPUTE_INSTANCES = 8  # of one GPU instance, at most


class MigError(Exception):
    """A MIG device cannot be created or destroyed now; the message has the device and NVML's error."""


class MigInstances:
    """Creates and destroys MIG devices of one node, through an NVML that its owner opened."""

    def __init__(self, nvml: Nvml) -> None:
        self._nvml = nvml

    def create(self, slot: MigSlot) -> MigInstance:
        """Create the device: MIG mode, GPU instance, compute instance. Raises MigError; then `destroy` undoes it."""
        nvml = self._nvml.module
        try:
            handle = self.handle(slot.parent)
            if nvml.nvmlDeviceGetMigMode(handle)[0] != nvml.NVML_DEVICE_MIG_ENABLE:
                # Takes effect at once: slots exist only for GPUs that need no reset, or that have MIG on already.
                nvml.nvmlDeviceSetMigMode(handle, nvml.NVML_DEVICE_MIG_ENABLE)
            place = nvml.c_nvmlGpuInstancePlacement_t(slot.start, slot.profile.size)
            instance = nvml.nvmlDeviceCreateGpuInstanceWithPlacement(handle, slot.profile.id, ctypes.byref(place))
            try:
                return self.fill(slot, instance)
            except nvml.NVMLError:
                self.clear(instance)
                raise
        except nvml.NVMLError as error:
            raise MigError(f"error creating MIG device {slot.name}: {error}") from error

    def fill(self, slot: MigSlot, instance: Any) -> MigInstance:
        """Make the compute instance that takes the whole of a GPU instance."""
        nvml = self._nvml.module
        profile = nvml.nvmlGpuInstanceGetComputeInstanceProfileInfo(
            instance, FILLING[slot.profile.slices], nvml.NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED
        )
        compute = nvml.nvmlGpuInstanceCreateComputeInstance(instance, profile.id)
        return self.describe(slot, instance, compute)

    def describe(self, slot: MigSlot, instance: Any, compute: Any) -> MigInstance:
        """Return the MIG device of a live GPU instance and its compute instance."""
        nvml = self._nvml.module
        return MigInstance(
            parent=slot.parent,
            profile=slot.profile,
            start=slot.start,
            gi_id=int(nvml.nvmlGpuInstanceGetInfo(instance).id),
            ci_id=int(nvml.nvmlComputeInstanceGetInfo_v2(compute).id),
        )

    def live(self, slot: MigSlot) -> MigInstance | None:
        """Return the whole MIG device at this place, if there is one."""
        found = (
            self.describe(slot, instance, compute)
            for instance in self.instances(slot)
            for compute in self.computes(instance)
        )
        return next(found, None)

    def destroy(self, slot: MigSlot) -> None:
        """Destroy the instance at this placement, even a partial one (rules NV-113, NV-114). Raises MigError."""
        nvml = self._nvml.module
        try:
            for instance in self.instances(slot):
                self.clear(instance)
            self.settle(slot.parent)
        except nvml.NVMLError as error:
            raise MigError(f"error deleting MIG device {slot.name}: {error}") from error

    def clear(self, instance: Any) -> None:
        """Destroy a GPU instance, its compute instances first."""
        nvml = self._nvml.module
        # A GPU instance cannot be destroyed while it has compute instances.
        for compute in self.computes(instance):
            nvml.nvmlComputeInstanceDestroy(compute)
        nvml.nvmlGpuInstanceDestroy(instance)

    def sweep(self, found: Found, keep: Collection[str]) -> Iterator[str]:
        """Destroy every MIG device whose name is not in `keep`. Yield their names (rule NV-115).

        One that cannot be destroyed stays: others are not kept for it (rule NV-415).
        """
        for gpu in found.gpus:
            for slot in slots_of(gpu):
                if slot.name in keep or not any(True for _ in self.instances(slot)):
                    continue
                try:
                    self.destroy(slot)
                except MigError as error:
                    log.warning("a MIG device that no claim has cannot be removed: %s", error)
                    continue
                yield slot.name

    def settle(self, gpu: Gpu) -> None:
        """Turn MIG mode off if no instance is left and that needs no reset (Hopper and later; rule NV-113)."""
        if not can_toggle(gpu) or any(True for slot in slots_of(gpu) for _ in self.instances(slot)):
            return
        nvml = self._nvml.module
        try:
            handle = self.handle(gpu)
            if nvml.nvmlDeviceGetMigMode(handle)[0] == nvml.NVML_DEVICE_MIG_ENABLE:
                nvml.nvmlDeviceSetMigMode(handle, nvml.NVML_DEVICE_MIG_DISABLE)
        except nvml.NVMLError as error:
            log.warning("MIG mode of %s stays on: %s", gpu.name, error)

    def handle(self, gpu: Gpu) -> Any:
        """Return NVML's handle of a GPU."""
        return self._nvml.module.nvmlDeviceGetHandleByUUID(gpu.uuid)

    def instances(self, slot: MigSlot) -> Iterator[Any]:
        """Return the GPU instance at this very place, if there is one."""
        nvml = self._nvml.module
        handle = self.handle(slot.parent)
        if nvml.nvmlDeviceGetMigMode(handle)[0] != nvml.NVML_DEVICE_MIG_ENABLE:
            return
        count = ctypes.c_uint(len(slot.profile.starts))
        # One profile has at most one instance at each of its placements.
        room = (nvml.c_nvmlGpuInstance_t * count.value)()
        nvml.nvmlDeviceGetGpuInstances(handle, slot.profile.id, room, ctypes.byref(count))
        for instance in room[: count.value]:
            if nvml.nvmlGpuInstanceGetInfo(instance).placement.start == slot.start:
                yield instance

    def computes(self, instance: Any) -> Iterator[Any]:
        """Return the compute instances of a GPU instance."""
        nvml = self._nvml.module
        for number in range(_COMPUTE_INSTANCES):
            try:
                yield nvml.nvmlGpuInstanceGetComputeInstanceById(instance, number)
            except nvml.NVMLError as error:
                # Ids may have gaps: instances end in any order.
                if error.value not in (nvml.NVML_ERROR_NOT_FOUND, nvml.NVML_ERROR_INVALID_ARGUMENT):
                    raise
