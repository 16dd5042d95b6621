"""What `nvidia-smi` prints, for a person who looks at a fake node: `-L`, the table, `mig -lgi`, `mig -lgip`.

Everything is asked through an initialised `pynvml` module, so the text shows what any program of the node would see.
Pure functions from that module to text.
"""

from __future__ import annotations

import ctypes
from typing import Any

_WIDTH = 79

_HEADINGS = (
    ("GPU  Name                 Persistence-M", "Bus-Id          Disp.A", "Volatile Uncorr. ECC"),
    ("Fan  Temp   Perf          Pwr:Usage/Cap", "Memory-Usage", "GPU-Util  Compute M."),
    ("", "", "MIG M."),
)


def list_gpus(nvml: Any) -> str:
    """`nvidia-smi -L`."""
    lines = []
    for index, handle in _gpus(nvml):
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


def table(nvml: Any) -> str:
    """`nvidia-smi` without arguments, without the process list."""
    driver, cuda = nvml.nvmlSystemGetDriverVersion(), nvml.nvmlSystemGetCudaDriverVersion()
    version = f"{cuda // 1000}.{cuda % 1000 // 10}"
    rule = "+" + "-" * 41 + "+" + "-" * 24 + "+" + "-" * 22 + "+"
    heavy = "|" + "=" * 41 + "+" + "=" * 24 + "+" + "=" * 22 + "|"
    lines = [
        "+" + "-" * 89 + "+",
        f"| fake_nvml{'':<24}Driver Version: {driver:<21}CUDA Version: {version:<4}|",
        rule,
        *(f"| {left:<39} | {middle:>22} | {right:>20} |" for left, middle, right in _HEADINGS),
        heavy,
    ]
    for index, handle in _gpus(nvml):
        if handle is None:
            lines += [f"| {index:>3}  {'ERR! (GPU is lost)':<34} | {'ERR!':<22} | {'ERR!':>20} |", rule]
            continue
        memory = nvml.nvmlDeviceGetMemoryInfo(handle, nvml.nvmlMemory_v2)
        persistence = "On" if nvml.nvmlDeviceGetPersistenceMode(handle) else "Off"
        usage, limit = nvml.nvmlDeviceGetPowerUsage(handle), nvml.nvmlDeviceGetEnforcedPowerLimit(handle)
        watts = f"{usage // 1000}W / {limit // 1000:>4}W"
        used = f"{memory.used >> 20}MiB / {memory.total >> 20:>6}MiB"
        ecc = _or_na(nvml, lambda device=handle: nvml.nvmlDeviceGetTotalEccErrors(device, 1, 0))
        mig = _or_na(nvml, lambda device=handle: "Enabled" if nvml.nvmlDeviceGetMigMode(device)[0] else "Disabled")
        modes = ("Default", "E. Thread", "Prohibited", "E. Process")
        mode = modes[nvml.nvmlDeviceGetComputeMode(handle) % 4]
        status = f"N/A  {nvml.nvmlDeviceGetTemperature(handle, 0):>3}C    P{nvml.nvmlDeviceGetPerformanceState(handle)}"
        name = f"{index:>3}  {nvml.nvmlDeviceGetName(handle):<27}{persistence:>5}"
        bus = nvml.nvmlDeviceGetPciInfo(handle).busId
        util = f"{nvml.nvmlDeviceGetUtilizationRates(handle).gpu:>3}%"
        lines += [
            f"| {name:<39} | {bus + ' Off':<22} | {ecc:>20} |",
            f"| {f'{status:<22}{watts:>16}':<39} | {used:>22} | {f'{util:<8}{mode:>12}':>20} |",
            f"| {'':<39} | {'':<22} | {mig:>20} |",
            rule,
        ]
    return "\n".join(lines) + "\n"


def mig_profiles(nvml: Any) -> str:
    """`nvidia-smi mig -lgip`."""
    line = "+" + "-" * _WIDTH + "+"
    rows = [
        line,
        f"| {'GPU instance profiles:':<{_WIDTH - 1}}|",
        f"| {'GPU   Name               ID    Instances   Memory     P2P    SM    DEC   ENC':<{_WIDTH - 1}}|",
        f"| {'                               Free/Total   GiB              CE    JPEG  OFA':<{_WIDTH - 1}}|",
        "|" + "=" * _WIDTH + "|",
    ]
    for index, handle in _gpus(nvml):
        for profile in _profiles(nvml, handle):
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
    return "\n".join(rows) + "\n"


def mig_placements(nvml: Any) -> str:
    """`nvidia-smi mig -lgipp`."""
    rows = []
    for index, handle in _gpus(nvml):
        for profile in _profiles(nvml, handle):
            count = ctypes.c_uint(0)
            nvml.nvmlDeviceGetGpuInstancePossiblePlacements(handle, profile.id, None, ctypes.byref(count))
            places = (nvml.c_nvmlGpuInstancePlacement_t * count.value)()
            nvml.nvmlDeviceGetGpuInstancePossiblePlacements(handle, profile.id, places, ctypes.byref(count))
            word = "Placement " if count.value == 1 else "Placements"
            starts = ",".join(str(place.start) for place in places)
            rows.append(f"GPU {index:>2} Profile ID {profile.id:>2} {word}: {{{starts}}}:{places[0].size}")
    return "\n".join(rows) + "\n" if rows else "No GPU instance profiles found: Not Found\n"


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
    for index, handle in _gpus(nvml):
        if handle is None or _or_na(nvml, lambda device=handle: str(nvml.nvmlDeviceGetMigMode(device)[0])) != "1":
            continue
        for profile in _profiles(nvml, handle):
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


def _gpus(nvml: Any) -> list[tuple[int, Any]]:
    """Index and handle of every GPU; no handle for a lost one."""
    rows: list[tuple[int, Any]] = []
    for index in range(nvml.nvmlDeviceGetCount()):
        try:
            rows.append((index, nvml.nvmlDeviceGetHandleByIndex(index)))
        except nvml.NVMLError_GpuIsLost:
            rows.append((index, None))
    return rows


def _profiles(nvml: Any, handle: Any) -> list[Any]:
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


def _or_na(nvml: Any, ask: Any) -> str:
    try:
        return str(ask())
    except nvml.NVMLError_NotSupported:
        return "N/A"
