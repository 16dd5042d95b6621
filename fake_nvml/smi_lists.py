"""Text of `nvidia-smi -L` and `mig -lgi` for a fake node; see `smi`."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from fake_nvml.smi import profiles_of
from fake_nvml.smi_values import gpus


def list_gpus(nvml: Any) -> str:
    """`nvidia-smi -L`."""
    lines = []
    for index, handle in gpus(nvml):
        if handle is None:
            lines.append(f"GPU {index}: GPU is lost")
            continue
        lines.append(f"GPU {index}: {nvml.nvmlDeviceGetName(handle)} (UUID: {nvml.nvmlDeviceGetUUID(handle)})")
        for mig_index in range(nvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
            try:
                mig = nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, mig_index)
            except nvml.NVMLError_NotFound:
                continue
            profile = nvml.nvmlDeviceGetName(mig).split(" MIG ", 1)[1]
            lines.append(f"  MIG {profile:<11} Device  {mig_index}: (UUID: {nvml.nvmlDeviceGetUUID(mig)})")
    return "\n".join(lines) + "\n" if lines else "No devices were found\n"


def mig_instances(nvml: Any) -> str:
    """`nvidia-smi mig -lgi`."""
    line = "+" + "-" * 55 + "+"
    rows = [
        line,
        f"| {'GPU instances:':<54}|",
        f"| {'GPU   Name             Profile  Instance   Placement':<54}|",
        f"| {'                         ID       ID       Start:Size':<54}|",
        "|" + "=" * 55 + "|",
    ]
    found = False
    for index, handle in gpus(nvml):
        if handle is None or not has_mig_on(nvml, handle):
            continue
        for profile in profiles_of(nvml, handle):
            array = (nvml.c_nvmlGpuInstance_t * max(profile.instanceCount, 1))()
            count = ctypes.c_uint(profile.instanceCount)
            nvml.nvmlDeviceGetGpuInstances(handle, profile.id, array, ctypes.byref(count))
            for instance in array[: count.value]:
                info = nvml.nvmlGpuInstanceGetInfo(instance)
                place = f"{info.placement.start}:{info.placement.size}"
                text = f"{index:>3}  {profile.name:<19}{info.profileId:>5}{info.id:>9}{place:>14}"
                rows += [f"| {text:<54}|", line]
                found = True
    return "\n".join(rows) + "\n" if found else "No GPU instances found: Not Found\n"


def or_na(nvml: Any, getter: Callable[[], Any]) -> str:
    """Return the value as text, N/A if it is not supported."""
    try:
        return str(getter())
    except nvml.NVMLError_NotSupported:
        return "N/A"


def has_mig_on(nvml: Any, handle: Any) -> bool:
    """Whether a GPU can be cut up now."""
    return or_na(nvml, lambda: nvml.nvmlDeviceGetMigMode(handle)[0]) == "1"
