"""NVML compared with the recording of one H200, with nvidia-smi's text of it, and with the calls of known programs."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from dra_conformance.components import nvml_recorded
from dra_conformance.engine.vocabulary import then
from dra_conformance.engine.world import World
from fake_nvml.smi import mig_placements, mig_profiles
from fake_nvml.smi_query import query

_PRINTED: Final[Mapping[str, int | str]] = {
    "serial": "0000000000000",
    "module_id": 2,  # nvmlDeviceGetModuleId returned 5 on that GPU
    "pcie_throughput_tx": 845,
    "pcie_throughput_rx": 441,
    "temperature_gpu": 41,
    "margin_temperature": 46,
    "temperature_memory": 38,
    "clock_graphics": 1980,
    "clock_sm": 1980,
    "clock_video": 1545,
    "power_usage": 128390,
}
"""Identities, which are blanked in the text, and readings of the moment at which `nvidia-smi -q` ran."""

_FORMS: Final[Mapping[str, str]] = {
    "Timestamp": r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}",
    "GPU UUID": r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    # NVML had one power reading; nvidia-smi printed two, and that of the memory.
    "Average Power Draw": r"\d+\.\d\d W|N/A",
    "Instantaneous Power Draw": r"\d+\.\d\d W|N/A",
}
"""Lines of `nvidia-smi -q` of which only the form is compared."""

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
"""nvmlDevice functions whose failure ends gpustat 1.1.1 or go-nvlib v0.12.0, or hides the GPU from nvitop 1.7.2."""
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
"""Functions that they call as well; they show N/A for one that is Not Supported."""
# Arguments before the result: sensor or clock 0; ECC errors that are uncorrected (1) and volatile (0).
_NUMBERED: Final = {"GetTemperature": (0,), "GetClockInfo": (0,), "GetMaxClockInfo": (0,), "GetTotalEccErrors": (1, 0)}
_TEXT: Final = frozenset({"GetName", "GetUUID"})


@then("its values render to the text that nvidia-smi printed on an H200")
def _(world: World) -> None:
    """Compare -q, mig -lgip and mig -lgipp line by line, with the readings of the moment at which -q was printed.

    `_FORMS` names the lines of which only the form is compared.
    """
    library = world.nvml()
    for field, reading in _PRINTED.items():
        library.node.set(0, field, reading)
    parts = [str(library.node.get(gpu.index, "gpu_part_number")) for gpu in library.node.gpus]
    got = query(library.module, parts).splitlines()
    want = nvml_recorded.printed("h200_nvidia_smi_q.txt")
    labels = [[line.split(":")[0].strip() for line in lines] for lines in (want, got)]
    world.check(labels[0] == labels[1], "labels of -q", expected=labels[0], observed=labels[1])
    unlike = _differences(want, got, _FORMS)
    world.check(not unlike, "lines of -q that differ", expected=[], observed=unlike)
    table = (mig_profiles(library.module) + mig_placements(library.module)).splitlines()
    wanted = nvml_recorded.printed("h200_nvidia_smi_mig.txt")
    world.check(
        table == wanted, "lines of mig -lgip and -lgipp that differ", expected=[], observed=_unlike(wanted, table)
    )


@then('its values render to the text "{name}"')
def _(world: World, name: str) -> None:
    """Compare -q, mig -lgip and mig -lgipp with a text in `fixtures/nvml`, up to the last line of that text.

    The form alone is compared for times and for identities that are made for the node.
    """
    library = world.nvml()
    parts = [str(library.node.get(gpu.index, "gpu_part_number")) for gpu in library.node.gpus]
    got = query(library.module, parts) + mig_profiles(library.module) + mig_placements(library.module)
    want = nvml_recorded.printed(f"{name}.txt")
    lines = got.splitlines()[: len(want)]
    unlike = _differences(want, lines, {**_FORMS, "Serial Number": r"\d{13}"})
    world.check(not unlike, "lines that differ", expected=[], observed=unlike)
    world.check(len(lines) == len(want), "number of lines", expected=len(want), observed=len(lines))


def _differences(want: Sequence[str], got: Sequence[str], forms: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the lines that differ. Of those with a label in `forms`, the form of the value is compared."""
    rows = [(w.split(":")[0].strip(), w, g) for w, g in zip(want, got, strict=False)]
    return [(w, g) for label, w, g in rows if w != g and not (label in forms and _has_form(forms[label], w, g))]


def _has_form(form: str, wanted: str, line: str) -> bool:
    """Return whether a line has a form, at the place where the other has its value."""
    place = wanted.find(": ") + 2
    return line[:place] == wanted[:place] and re.fullmatch(form, line[place:]) is not None


def _unlike(want: list[str], got: list[str]) -> list[str]:
    return [line for line in got if line not in want] or [f"{len(got)} lines of {len(want)}"]


@then("every getter returns the value that was recorded on the GPU's board")
def _(world: World) -> None:
    """Compare all getters of a fake GPU of a recorded machine, and the constant ones of other GPUs of its board.

    On other boards, and in all other getters, the result must be a value or one of NVML's errors.
    """
    library = world.nvml()
    nvml, handle = library.module, library.handle()
    board = nvml_recorded.RECORDED.get(nvml.nvmlDeviceGetPciInfo(handle).pciDeviceId)
    # The recordings were made in virtual machines, where a GPU has no NVLink.
    passed_through = nvml.nvmlDeviceGetVirtualizationMode(handle) == nvml.NVML_GPU_VIRTUALIZATION_MODE_PASSTHROUGH
    whole = not library.real and passed_through
    unlike: dict[str, tuple[object, object]] = {}
    for name, key, expected in nvml_recorded.cases(nvml_recorded.recording(board or "h200")):
        got = nvml_recorded.read(nvml, handle, name, key)
        judged = board is not None and (whole or name in nvml_recorded.CONSTANT)
        if judged and not nvml_recorded.agrees(name, expected, got):
            unlike[f"{name}({key})"] = (expected, got)
        elif "err" in got and library.error_name(got["err"]).isdigit():
            unlike[f"{name}({key})"] = ("a value or an error of NVML", got)
    world.check(not unlike, "getters that return other values", expected={}, observed=unlike)


@then("every function that gpustat, nvitop and go-nvlib call succeeds or is not supported")
def _(world: World) -> None:
    """Call the functions of `_MUST`, which must succeed, and of `_MAY`, which may be Not Supported, on every GPU."""
    library = world.nvml()
    failed: dict[str, str] = {}
    for index in range(len(library.handles)):
        handle = library.handle(index)
        for name in (*_MUST, *_MAY):
            outcome = library.error_name(library.call(f"nvmlDevice{name}", handle, *_rooms(library.module, name)))
            if outcome != "SUCCESS" and (name in _MUST or outcome != "NOT_SUPPORTED"):
                failed[f"nvmlDevice{name} of GPU {index}"] = outcome
    world.check(not failed, "functions that fail", expected={}, observed=failed)


def _rooms(nvml: Any, name: str) -> list[Any]:
    """Return the arguments behind the handle, with room for any result."""
    room = ctypes.create_string_buffer(1 << 16)
    if name in _TEXT:
        # NVML_DEVICE_NAME_V2_BUFFER_SIZE and NVML_DEVICE_UUID_V2_BUFFER_SIZE.
        return [room, 96]
    if name == "GetAddressingMode":
        # The function reads the version from the structure.
        room = ctypes.create_string_buffer(int(nvml.nvmlDeviceAddressingMode_v1).to_bytes(4, "little"), 64)
    if name.endswith("RunningProcesses_v3"):
        return [ctypes.byref(ctypes.c_uint(1000)), room]
    # Some getters have a second result, such as GetEncoderUtilization; the others ignore the last argument.
    return [*_NUMBERED.get(name, ()), room, ctypes.create_string_buffer(64)]
