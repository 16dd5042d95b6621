"""NVML held against what one H200 answered and nvidia-smi printed there, and against what known programs ask."""

from __future__ import annotations

import ctypes
from typing import Any, Final

from dra_conformance.components import nvml_recorded
from dra_conformance.engine.vocabulary import then
from dra_conformance.engine.world import World
from fake_nvml.smi import mig_placements, mig_profiles
from fake_nvml.smi_query import query

MOVES: Final = frozenset(
    {
        "Timestamp",
        "Serial Number",
        "GPU UUID",
        "GPU PDI",
        "Module Id",  # 5 by nvmlDeviceGetModuleId on that GPU, and 2 in this text
        "Tx Throughput",
        "Rx Throughput",
        "GPU Current Temp",
        "GPU T.Limit Temp",
        "Memory Current Temp",
        "Average Power Draw",
        "Instantaneous Power Draw",
        "Graphics",
        "SM",
        "Video",
    }
)
"""Lines of `nvidia-smi -q` that differ between two GPUs or moments, and one that NVML does not tell."""

_MUST: Final = (
    "GetIndex",
    "GetName",
    "GetUUID",
    "GetPciInfo_v3",
    "GetMemoryInfo",
    "GetArchitecture",
    "GetBrand",
    "GetCudaComputeCapability",
    "IsMigDeviceHandle",
)
"""nvmlDevice functions at whose failure gpustat 1.1.1 or go-nvlib v0.12.0 ends, and nvitop 1.7.2 knows no GPU."""
_MAY: Final = (
    "GetTemperature",
    "GetFanSpeed",
    "GetUtilizationRates",
    "GetEncoderUtilization",
    "GetDecoderUtilization",
    "GetPowerUsage",
    "GetEnforcedPowerLimit",
    "GetPowerManagementLimit",
    "GetComputeRunningProcesses_v3",
    "GetGraphicsRunningProcesses_v3",
    "GetMigMode",
    "GetAddressingMode",
    "GetClockInfo",
    "GetMaxClockInfo",
    "GetPerformanceState",
    "GetPersistenceMode",
    "GetDisplayActive",
    "GetBAR1MemoryInfo",
    "GetTotalEccErrors",
)
"""What they ask too, and show as N/A where it is Not Supported."""
_NUMBERED: Final = {"GetTemperature": (0,), "GetClockInfo": (0,), "GetMaxClockInfo": (0,), "GetTotalEccErrors": (1, 0)}
_TEXT: Final = frozenset({"GetName", "GetUUID"})


@then("what nvidia-smi would print of it is what it printed of an H200")
def _(world: World) -> None:
    """The texts of -q, mig -lgip and mig -lgipp, line by line; all that is left out is named in this module."""
    component = world.nvml()
    parts = [str(component.node.get(gpu.index, "gpu_part_number")) for gpu in component.node.gpus]
    got = query(component.module, parts).splitlines()
    want = nvml_recorded.printed("h200_nvidia_smi_q.txt")
    labels = [[line.split(":")[0].strip() for line in lines] for lines in (want, got)]
    world.check(labels[0] == labels[1], "labels of -q", expected=f"{len(want)} lines", observed=f"{len(got)} lines")
    rows = zip(labels[0], want, got, strict=True)
    unlike = [(w, g) for label, w, g in rows if w != g and label not in MOVES]
    world.check(not unlike, "lines of -q that differ", expected=[], observed=unlike)
    table = (mig_profiles(component.module) + mig_placements(component.module)).splitlines()
    wanted = nvml_recorded.printed("h200_nvidia_smi_mig.txt")
    world.check(table == wanted, "mig -lgip and -lgipp", expected="as printed", observed=_unlike(wanted, table))


def _unlike(want: list[str], got: list[str]) -> list[str]:
    return [line for line in got if line not in want] or [f"{len(got)} lines of {len(want)}"]


@then("it answers what a GPU of its board answered when it was recorded")
def _(world: World) -> None:
    """The fake in every getter; a real GPU of that board in what no machine changes. On other boards, and besides,
    each getter ends in a value or in one of NVML's errors.
    """
    component = world.nvml()
    nvml, handle = component.module, component.handle()
    same_board = nvml.nvmlDeviceGetPciInfo(handle).pciDeviceId == nvml_recorded.BOARD
    unlike: dict[str, tuple[object, object]] = {}
    for name, key, expected in nvml_recorded.cases(nvml_recorded.recording()):
        got = nvml_recorded.ask(nvml, handle, name, key)
        judged = same_board and (not component.real or name in nvml_recorded.CONSTANT)
        if judged and not nvml_recorded.agrees(name, expected, got):
            unlike[f"{name}({key})"] = (expected, got)
        elif "err" in got and component.error_name(got["err"]).isdigit():
            unlike[f"{name}({key})"] = ("a value or an error of NVML", got)
    world.check(not unlike, "getters that answer otherwise", expected={}, observed=unlike)


@then("programs that list GPUs get an answer to all that they ask")
def _(world: World) -> None:
    """gpustat, nvitop and go-nvlib: what they cannot do without succeeds, and the rest may be Not Supported."""
    component = world.nvml()
    failed: dict[str, str] = {}
    for index in range(len(component.handles)):
        handle = component.handle(index)
        for name in (*_MUST, *_MAY):
            outcome = component.error_name(component.call(f"nvmlDevice{name}", handle, *_rooms(component.module, name)))
            if outcome != "SUCCESS" and (name in _MUST or outcome != "NOT_SUPPORTED"):
                failed[f"nvmlDevice{name} of GPU {index}"] = outcome
    world.check(not failed, "functions that fail", expected={}, observed=failed)


def _rooms(nvml: Any, name: str) -> list[Any]:
    """Arguments behind the handle, with room for any answer."""
    room = ctypes.create_string_buffer(1 << 16)
    if name in _TEXT:
        return [room, 96]
    if name == "GetAddressingMode":
        room = ctypes.create_string_buffer(int(nvml.nvmlDeviceAddressingMode_v1).to_bytes(4, "little"), 64)
    if name.endswith("RunningProcesses_v3"):
        return [ctypes.byref(ctypes.c_uint(1000)), room]
    return [*_NUMBERED.get(name, ()), room, ctypes.create_string_buffer(64)]
