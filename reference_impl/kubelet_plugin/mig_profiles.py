"""NVML's MIG profiles and placements of one GPU, as `Partitioning`. Reads only; works with MIG mode off too.

Source: cmd/gpu-kubelet-plugin nvlib.go at 95932046 (only profiles that one compute instance fills); NVML's answers for
profiles that a board lacks, NOT_SUPPORTED or INVALID_ARGUMENT; rules NV-034 to NV-040.
"""

from __future__ import annotations

import ctypes
from typing import Any

from reference_impl.kubelet_plugin.partitions import MigProfile, Partitioning

ENGINES = (
    ("multiprocessors", "multiprocessorCount"),
    ("copyEngines", "copyEngineCount"),
    ("decoders", "decoderCount"),
    ("encoders", "encoderCount"),
    ("jpegEngines", "jpegCount"),
    ("ofaEngines", "ofaCount"),
)

# The compute instance profile that fills a GPU instance of so many slices, by its index in NVML.
FILLING = {1: 0, 2: 1, 3: 2, 4: 3, 7: 4, 8: 5, 6: 6}


def partitioning(nvml: Any, handle: Any) -> Partitioning | None:
    """Return the possible partitions of a GPU; None without MIG or under a hypervisor's vGPU. `nvml` has pynvml's
    names.
    """
    if _is_vgpu(nvml, handle):
        return None
    found = []
    for index in range(nvml.NVML_GPU_INSTANCE_PROFILE_COUNT):
        info = tolerant(nvml, lambda i=index: nvml.nvmlDeviceGetGpuInstanceProfileInfo(handle, i))
        if info is None or int(info.sliceCount) not in FILLING:
            continue
        places = placements(nvml, handle, info.id)
        if places:
            found.append(
                MigProfile(
                    id=int(info.id),
                    name=info.name.removeprefix("MIG ").strip(),
                    slices=int(info.sliceCount),
                    size=places[0][1],
                    starts=tuple(sorted(start for start, _ in places)),
                    memory_mib=int(info.memorySizeMB),
                    engines={name: int(getattr(info, member)) for name, member in ENGINES},
                )
            )
    return Partitioning(tuple(found)) if found else None


def placements(nvml: Any, handle: Any, profile_id: int) -> list[tuple[int, int]]:
    """Start and size of every place that an instance of a profile can have, in memory slices."""
    count = ctypes.c_uint(0)
    ask = nvml.nvmlDeviceGetGpuInstancePossiblePlacements
    if tolerant(nvml, lambda: ask(handle, profile_id, None, ctypes.byref(count))) is None or not count.value:
        return []
    room = (nvml.c_nvmlGpuInstancePlacement_t * count.value)()
    ask(handle, profile_id, room, ctypes.byref(count))
    return [(int(place.start), int(place.size)) for place in room[: count.value]]


def tolerant(nvml: Any, call: Any) -> Any:
    """Return the call's value, or None if the GPU does not support it."""
    try:
        return call()
    except nvml.NVMLError as error:
        if error.value in (nvml.NVML_ERROR_NOT_SUPPORTED, nvml.NVML_ERROR_INVALID_ARGUMENT):
            return None
        raise


def _is_vgpu(nvml: Any, handle: Any) -> bool:
    mode = tolerant(nvml, lambda: nvml.nvmlDeviceGetVirtualizationMode(handle))
    return bool(mode == nvml.NVML_GPU_VIRTUALIZATION_MODE_VGPU)
