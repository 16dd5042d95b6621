"""Text of `nvidia-smi mig -lgip` and `mig -lgipp` for a fake node.

All values are read through an initialised `pynvml` module, so the text shows the values that any program gets.
Pure functions from that module to text.
"""

from __future__ import annotations

import ctypes
from typing import Any

from fake_nvml.smi_values import gpus

_WIDTH = 79
_NO_PROFILES = "No GPU instance profiles found: Not Found\n"


def mig_profiles(nvml: Any) -> str:
    """`nvidia-smi mig -lgip`."""
    line = "+" + "-" * _WIDTH + "+"
    head = [
        line,
        f"| {'GPU instance profiles:':<{_WIDTH - 1}}|",
        f"| {'GPU   Name               ID    Instances   Memory     P2P    SM    DEC   ENC':<{_WIDTH - 1}}|",
        f"| {'                               Free/Total   GiB              CE    JPEG  OFA':<{_WIDTH - 1}}|",
        "|" + "=" * _WIDTH + "|",
    ]
    rows: list[str] = []
    for index, handle in gpus(nvml):
        for profile in profiles_of(nvml, handle):
            free = nvml.nvmlDeviceGetGpuInstanceRemainingCapacity(handle, profile.id)
            p2p = "Yes" if profile.isP2pSupported else "No"
            memory = f"{profile.memorySizeMB / 1024:.2f}"
            first = (
                f"{index:>3}  {profile.name:<20}{profile.id:>2}     {free}/{profile.instanceCount}"
                f"        {memory:<11}{p2p:<7}{profile.multiprocessorCount:<7}"
                f"{profile.decoderCount:<6}{profile.encoderCount}"
            )
            second = f"{'':<62}{profile.copyEngineCount:<6}{profile.jpegCount:<6}{profile.ofaCount}"
            rows += [f"| {first:<{_WIDTH - 1}}|", f"| {second:<{_WIDTH - 1}}|", line]
    return "\n".join([*head, *rows]) + "\n" if rows else _NO_PROFILES


def mig_placements(nvml: Any) -> str:
    """`nvidia-smi mig -lgipp`."""
    rows = []
    for index, handle in gpus(nvml):
        for profile in profiles_of(nvml, handle):
            count = ctypes.c_uint(0)
            nvml.nvmlDeviceGetGpuInstancePossiblePlacements(handle, profile.id, None, ctypes.byref(count))
            places = (nvml.c_nvmlGpuInstancePlacement_t * count.value)()
            nvml.nvmlDeviceGetGpuInstancePossiblePlacements(handle, profile.id, places, ctypes.byref(count))
            word = "Placement " if count.value == 1 else "Placements"
            starts = ",".join(str(place.start) for place in places)
            rows.append(f"GPU {index:>2} Profile ID {profile.id:>2} {word}: {{{starts}}}:{places[0].size}")
    return "\n".join(rows) + "\n" if rows else _NO_PROFILES


def profiles_of(nvml: Any, handle: Any) -> list[Any]:
    """The MIG profiles of a GPU in the order that nvidia-smi lists them."""
    rows: list[Any] = []
    if handle is None:
        return rows
    for number in (0, 7, 9, 1, 2, 3, 4):
        try:
            rows.append(nvml.nvmlDeviceGetGpuInstanceProfileInfo(handle, number))
        except nvml.NVMLError_NotSupported:
            continue
    return rows
