"""Text of `nvidia-smi` without arguments: GPUs, MIG devices if any GPU has MIG on, and processes.

The layout is that of nvidia-smi 580.126.09 (on an A100 with MIG devices, and on an L40S and an RTX PRO 6000 with
processes). Where nvidia-smi prints its own name, this prints `fake_nvml`. All values are read through an
initialised `pynvml` module. Pure functions from that module to text.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from fake_nvml.smi_lists import has_mig_on, or_na
from fake_nvml.smi_values import MIB, gpus

_WHOLE: Final = 89  # characters between the outer bars
_NO_INSTANCE: Final = 0xFFFFFFFF
_NAME_OF_GPU: Final = 27
_NAME_OF_PROCESS: Final = 32
_COMPUTE_MODES: Final = ("Default", "E. Thread", "Prohibited", "E. Process")

_GPU_WIDTHS: Final = (41, 24, 22)
_GPU_TITLES: Final = (
    (" GPU  Name                 Persistence-M ", " Bus-Id          Disp.A ", " Volatile Uncorr. ECC "),
    (" Fan  Temp   Perf          Pwr:Usage/Cap ", "           Memory-Usage ", " GPU-Util  Compute M. "),
    ("", "", "               MIG M. "),
)
_MIG_WIDTHS: Final = (18, 34, 11, 23)
_MIG_TITLES: Final = (
    (" GPU  GI  CI  MIG ", "              Shared Memory-Usage ", "        Vol", "        Shared         "),
    ("      ID  ID  Dev ", "                Shared BAR1-Usage ", " SM     Unc", " CE ENC  DEC  OFA  JPG "),
    ("", "", "        ECC", ""),
)
_PROCESS_TITLES: Final = (
    " Processes:",
    "  GPU   GI   CI              PID   Type   Process name                        GPU Memory ",
    "        ID   ID                                                               Usage      ",
)


def table(nvml: Any, *, now: datetime | None = None) -> str:
    """`nvidia-smi` without arguments.

    Args:
        nvml: an initialised pynvml module.
        now: what the first line says; by default the present.
    """
    lines = [f"{now or datetime.now():%a %b %e %H:%M:%S %Y}       ", *_gpu_lines(nvml), ""]
    mig_lines = list(_mig_lines(nvml))
    return "\n".join([*lines, *mig_lines, *([""] if mig_lines else []), *_process_lines(nvml)]) + "\n"


# -- the three tables --------------------------------------------------------------------------------------------------


def _gpu_lines(nvml: Any) -> Iterator[str]:
    driver, cuda = nvml.nvmlSystemGetDriverVersion(), nvml.nvmlSystemGetCudaDriverVersion()
    version = f"{cuda // 1000}.{cuda % 1000 // 10}"
    yield _line()
    yield _row([f"{' fake_nvml':<35}Driver Version: {driver:<15}CUDA Version: {version}"], [_WHOLE])
    yield from _titles(_GPU_TITLES, _GPU_WIDTHS)
    for index, handle in gpus(nvml):
        for cells in _gpu_rows(nvml, index, handle):
            yield _row(cells, _GPU_WIDTHS)
        yield _line(_GPU_WIDTHS)


def _gpu_rows(nvml: Any, index: int, handle: Any) -> list[tuple[str, str, str]]:
    """The three lines of a GPU; one for a GPU that is lost."""
    if handle is None:
        return [(f"{index:>4}  ERR! (GPU is lost)", f"{'ERR!':>23}", f"{'ERR!':>21}")]
    memory = nvml.nvmlDeviceGetMemoryInfo(handle, nvml.nvmlMemory_v2)
    persistence = "On" if nvml.nvmlDeviceGetPersistenceMode(handle) else "Off"
    usage, limit = nvml.nvmlDeviceGetPowerUsage(handle), nvml.nvmlDeviceGetEnforcedPowerLimit(handle)
    watts, state = f"{usage // 1000}W / {limit // 1000:>4}W", f"P{nvml.nvmlDeviceGetPerformanceState(handle)}"
    mig = or_na(nvml, lambda: "Enabled" if nvml.nvmlDeviceGetMigMode(handle)[0] else "Disabled")
    if mig == "Enabled":  # errors and load are those of the MIG devices then
        ecc, util = or_na(nvml, lambda: "On" if nvml.nvmlDeviceGetEccMode(handle)[0] else "Off"), "N/A"
    else:
        ecc = or_na(nvml, lambda: nvml.nvmlDeviceGetTotalEccErrors(handle, 1, 0))
        util = f"{nvml.nvmlDeviceGetUtilizationRates(handle).gpu}%"
    name = _cut_end(nvml.nvmlDeviceGetName(handle), _NAME_OF_GPU)
    temperature = nvml.nvmlDeviceGetTemperature(handle, 0)
    compute = _COMPUTE_MODES[nvml.nvmlDeviceGetComputeMode(handle) % len(_COMPUTE_MODES)]
    return [
        (
            f"{index:>4}  {name:<31}{persistence}",
            f"{nvml.nvmlDeviceGetPciInfo(handle).busId:>19} Off",
            f"{ecc:>21}",
        ),
        (
            f" N/A {temperature:>4}C    {state}{watts:>{26 - len(state)}}",
            f"{memory.used >> MIB:>8}MiB / {memory.total >> MIB:>6}MiB",
            f"{util:>8}{compute:>13}",
        ),
        ("", "", f"{mig:>21}"),
    ]


def _mig_lines(nvml: Any) -> Iterator[str]:
    """Return the lines of MIG devices; none if no GPU has MIG on."""
    parents = [(index, handle) for index, handle in gpus(nvml) if handle is not None and has_mig_on(nvml, handle)]
    if not parents:
        return
    yield _line()
    yield _row([" MIG devices:"], [_WHOLE])
    yield from _titles(_MIG_TITLES, _MIG_WIDTHS)
    found = False
    for index, parent in parents:
        for number, device in _mig_devices(nvml, parent):
            for cells in _mig_rows(nvml, index, number, device):
                yield _row(cells, _MIG_WIDTHS)
            yield _line(_MIG_WIDTHS)
            found = True
    if not found:
        yield _row(["  No MIG devices found"], [_WHOLE])
        yield _line()


def _mig_devices(nvml: Any, parent: Any) -> Iterator[tuple[int, Any]]:
    for number in range(nvml.nvmlDeviceGetMaxMigDeviceCount(parent)):
        try:
            yield number, nvml.nvmlDeviceGetMigDeviceHandleByIndex(parent, number)
        except nvml.NVMLError_NotFound:
            continue


def _mig_rows(nvml: Any, index: int, number: int, device: Any) -> list[tuple[str, str, str, str]]:
    """The two lines of a MIG device."""
    gi, ci = nvml.nvmlDeviceGetGpuInstanceId(device), nvml.nvmlDeviceGetComputeInstanceId(device)
    has, memory = nvml.nvmlDeviceGetAttributes(device), nvml.nvmlDeviceGetMemoryInfo(device)
    bar1 = nvml.nvmlDeviceGetBAR1MemoryInfo(device)
    ecc = or_na(nvml, lambda: nvml.nvmlDeviceGetTotalEccErrors(device, 1, 0))
    return [
        (
            f"{index:>3}{gi:>5}{ci:>4}{number:>4}",
            f"{memory.used >> MIB:>16}MiB / {memory.total >> MIB:>5}MiB",
            f"{has.multiprocessorCount:>3}{ecc:>7}",
            f"{has.sharedCopyEngineCount:>3}{has.sharedEncoderCount:>4}{has.sharedDecoderCount:>5}"
            f"{has.sharedOfaCount:>5}{has.sharedJpegCount:>5}",
        ),
        ("", f"{bar1.bar1Used >> MIB:>16}MiB / {bar1.bar1Total >> MIB:>5}MiB", "", ""),
    ]


def _process_lines(nvml: Any) -> Iterator[str]:
    yield _line()
    for title in _PROCESS_TITLES:
        yield _row([title], [_WHOLE])
    yield _row(["=" * _WHOLE], [_WHOLE])
    rows = [row for index, handle in gpus(nvml) if handle is not None for row in _processes(nvml, index, handle)]
    for row in rows or ["  No running processes found"]:
        yield _row([row], [_WHOLE])
    yield _line()


def _processes(nvml: Any, index: int, handle: Any) -> Iterator[str]:
    """A line for each process of a GPU, those of its MIG devices by their ids."""
    kinds: dict[tuple[int, int, int], str] = {}
    used: dict[tuple[int, int, int], int | None] = {}
    for kind, getter in (
        ("C", nvml.nvmlDeviceGetComputeRunningProcesses),
        ("G", nvml.nvmlDeviceGetGraphicsRunningProcesses),
    ):
        for process in getter(handle):
            key = (_instance(process.gpuInstanceId), _instance(process.computeInstanceId), process.pid)
            kinds[key] = f"{kinds[key]}+{kind}" if key in kinds else kind
            used[key] = process.usedGpuMemory
    for key in sorted(kinds):
        gi, ci, pid = key
        instances = "   N/A  N/A" if gi < 0 else f"{gi:>5}{ci:>5} "
        memory = used[key]
        held = f"{'N/A':>14}" if memory is None else f"{memory >> MIB:>11}MiB"
        name = _cut_start(_process_name(nvml, pid), _NAME_OF_PROCESS)
        yield f"{index:>5}{instances}{pid:>16}{kinds[key]:>7}   {name:<{_NAME_OF_PROCESS}}{held}"


def _process_name(nvml: Any, pid: int) -> str:
    """A process that a test made up, or that has gone, has no name."""
    try:
        return str(nvml.nvmlSystemGetProcessName(pid))
    except nvml.NVMLError_NotFound:
        return "[Not Found]"


# -- drawing -----------------------------------------------------------------------------------------------------------


def _instance(given: int | None) -> int:
    """The id of an instance; -1 for none."""
    return -1 if given is None or given == _NO_INSTANCE else given


def _cut_end(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 3]}..."


def _cut_start(text: str, room: int) -> str:
    return text if len(text) <= room else f"...{text[3 - room :]}"


def _line(widths: tuple[int, ...] = (_WHOLE,)) -> str:
    return "+" + "+".join("-" * width for width in widths) + "+"


def _row(cells: tuple[str, ...] | list[str], widths: tuple[int, ...] | list[int]) -> str:
    return "|" + "|".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)) + "|"


def _titles(rows: tuple[tuple[str, ...], ...], widths: tuple[int, ...]) -> Iterator[str]:
    yield _line(widths)
    for cells in rows:
        yield _row(cells, widths)
    yield "|" + "+".join("=" * width for width in widths) + "|"
