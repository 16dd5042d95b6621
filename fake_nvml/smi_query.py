"""Text of `nvidia-smi -q` for a fake node.

All values are read through an initialised `pynvml` module. Rows of values that are not supported, and of features that
the fake does not have, are N/A. `tests/fake_nvml` compares the text of the inventory `h200` with the text that
nvidia-smi printed on the H200 from which it was recorded.
"""

from __future__ import annotations

import ctypes
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from fake_nvml.smi_board import bus, identity
from fake_nvml.smi_values import MIB, Gpu, Row, mib, mib_up, of, on, plain, watts, yes

_COLUMN = 55
_COMPUTE_MODES = ("Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process")
_FABRIC_STATES = ("N/A", "Not Started", "In Progress", "Completed")
_POWER_PROFILES = (
    *("Max-P", "Max-Q", "Compute", "Memory Bound", "Network", "Balanced", "LLM Inference", "LLM Training"),
    *("RBM", "DCPCIe", "HMMA Sparse", "HMMA Dense", "Sync Balanced", "HPC", "MIG"),
)
_FABRIC_HEALTH = ("N/A", "Healthy", "Unhealthy", "Limited Capacity")


def query(nvml: Any, part_numbers: Sequence[str], *, now: datetime | None = None) -> str:
    """`nvidia-smi -q`.

    Args:
        nvml: an initialised pynvml module.
        part_numbers: of each GPU, by index; NVML itself does not report them.
        now: the time of the line Timestamp; by default the present.
    """
    cuda = nvml.nvmlSystemGetCudaDriverVersion()
    count = nvml.nvmlDeviceGetCount()
    lines = [
        "",
        "==============NVSMI LOG==============",
        "",
        _line(0, "Timestamp", f"{now or datetime.now(UTC):%a %b %e %H:%M:%S %Y}"),
        _line(0, "Driver Version", nvml.nvmlSystemGetDriverVersion()),
        _line(0, "CUDA Version", f"{cuda // 1000}.{cuda % 1000 // 10}"),
        "",
        _line(0, "Attached GPUs", str(count)),
    ]
    for index in range(count):
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
        except nvml.NVMLError_GpuIsLost:
            lines += [f"GPU {index}: GPU is lost. Reboot the system to recover this GPU", ""]
            continue
        gpu = Gpu(nvml, handle)
        lines.append(f"GPU {nvml.nvmlDeviceGetPciInfo(handle).busId}")
        part = part_numbers[index] if index < len(part_numbers) else "N/A"
        for rows in (identity(gpu, part), bus(gpu), _memory(gpu), _ecc(gpu), _power(gpu), _clocks(gpu), _fabric(gpu)):
            lines += [_line(depth + 1, label, value) for depth, label, value in rows]
        lines.append("")
    return "\n".join(lines) + "\n"


def _line(depth: int, label: str, value: str | None) -> str:
    text = "    " * depth + label
    return text if value is None else f"{text:<{_COLUMN}}: {value}"


def _memory(gpu: Gpu) -> list[Row]:
    memory, bar = gpu.read("nvmlDeviceGetMemoryInfo", gpu.nvml.nvmlMemory_v2), gpu.read("nvmlDeviceGetBAR1MemoryInfo")
    rates = gpu.read("nvmlDeviceGetUtilizationRates")
    # nvidia-smi rounds these two up.
    reserved = -(-memory.reserved // (1 << MIB))
    free = -(-memory.free // (1 << MIB))
    bar_used = bar.bar1Used >> MIB if bar is not None else 0
    bar_rows = (
        [(1, "Total", mib(bar.bar1Total)), (1, "Used", f"{bar_used} MiB"), (1, "Free", mib_up(bar.bar1Free))]
        if bar is not None
        else [(1, label, "N/A") for label in ("Total", "Used", "Free")]
    )
    engines = (("Encoder", "Encoder"), ("Decoder", "Decoder"), ("JPEG", "Jpg"), ("OFA", "Ofa"))
    return [
        (0, "FB Memory Usage", None),
        (1, "Total", mib(memory.total)),
        (1, "Reserved", f"{reserved} MiB"),
        (1, "Used", mib(memory.used)),
        (1, "Free", f"{free} MiB"),
        (0, "BAR1 Memory Usage", None),
        *bar_rows,
        (0, "Conf Compute Protected Memory Usage", None),
        (1, "Total", "0 MiB"),
        (1, "Used", "0 MiB"),
        (1, "Free", "0 MiB"),
        (0, "Compute Mode", gpu.text("nvmlDeviceGetComputeMode", show=of(_COMPUTE_MODES))),
        (0, "Utilization", None),
        (1, "GPU", "N/A" if rates is None else f"{rates.gpu} %"),
        (1, "Memory", "N/A" if rates is None else f"{rates.memory} %"),
        *((1, name, gpu.text(f"nvmlDeviceGet{call}Utilization", show=lambda v: f"{v[0]} %")) for name, call in engines),
        *((depth, label, value) for title in ("Encoder Stats", "FBC Stats") for depth, label, value in _stats(title)),
        (0, "DRAM Encryption Mode", None),
        (1, "Current", "N/A"),
        (1, "Pending", "N/A"),
    ]


def _stats(title: str) -> list[Row]:
    return [(0, title, None), *((1, label, "0") for label in ("Active Sessions", "Average FPS", "Average Latency"))]


def _ecc(gpu: Gpu) -> list[Row]:
    mode = gpu.pair("nvmlDeviceGetEccMode", on)

    def count(kind: int, counter: int, location: int) -> str:
        return gpu.text("nvmlDeviceGetMemoryErrorCounter", kind, counter, location)

    def block(counter: int) -> list[Row]:
        return [
            (2, "SRAM Correctable", count(0, counter, 7)),
            (2, "SRAM Uncorrectable Parity", "0"),
            (2, "SRAM Uncorrectable SEC-DED", count(1, counter, 7)),
            (2, "DRAM Correctable", count(0, counter, 2)),
            (2, "DRAM Uncorrectable", count(1, counter, 2)),
        ]

    repair = gpu.read("nvmlDeviceGetRepairStatus")
    rows = gpu.read("nvmlDeviceGetRemappedRows")
    histogram = gpu.read("nvmlDeviceGetRowRemapperHistogram") if rows is not None else None
    remapped = [str(rows[0]), "0", str(rows[1]), "0", yes(rows[2]), yes(rows[3])] if rows is not None else ["N/A"] * 6
    retired = [gpu.text("nvmlDeviceGetRetiredPages", cause, show=lambda pages: str(len(pages))) for cause in (0, 1)]
    labels = ["Correctable Error", "Inactive Correctable Error", "Uncorrectable Error", "Inactive Uncorrectable Error"]
    labels += ["Pending", "Remapping Failure Occurred"]
    return [
        (0, "ECC Mode", None),
        (1, "Current", mode[0]),
        (1, "Pending", mode[1]),
        (0, "ECC Errors", None),
        (1, "Volatile", None),
        *block(0),
        (1, "Aggregate", None),
        *block(1),
        (2, "SRAM Threshold Exceeded", "No"),
        (1, "Aggregate Uncorrectable SRAM Sources", None),
        *((2, f"SRAM {name}", "0") for name in ("L2", "SM", "Microcontroller", "PCIE")),
        (2, "SRAM Other", count(1, 1, 7)),
        (1, "Channel Repair Pending", "N/A" if repair is None else yes(repair[0])),
        (1, "TPC Repair Pending", "N/A" if repair is None else yes(repair[1])),
        (1, "Unrepairable Memory", gpu.text("nvmlDeviceGetUnrepairableMemoryFlag_v1", show=lambda v: yes(plain(v)))),
        (0, "Retired Pages", None),
        (1, "Single Bit ECC", retired[0]),
        (1, "Double Bit ECC", retired[1]),
        (1, "Pending Page Blacklist", gpu.text("nvmlDeviceGetRetiredPagesPendingStatus", show=yes)),
        (0, "Remapped Rows", None),
        *((1, label, value) for label, value in zip(labels, remapped, strict=True)),
        (1, "Bank Remap Availability Histogram", None),
        *(
            (2, label, "N/A" if histogram is None else f"{value} bank(s)")
            for label, value in zip(
                ("Max", "High", "Partial", "Low", "None"),
                (0,) * 5 if histogram is None else _histogram(histogram),
                strict=True,
            )
        ),
    ]


def _histogram(value: Any) -> tuple[int, ...]:
    if isinstance(value, tuple | list):
        return tuple(int(item) for item in value)
    return tuple(int(getattr(value, name)) for name in ("max", "high", "partial", "low", "none"))


def _power(gpu: Gpu) -> list[Row]:
    def celsius(value: Any) -> str:
        return f"{plain(value)} C"

    def limit(field: int) -> str:
        return gpu.field(field, lambda v: f"{v.siVal} C")

    # The numbers are those of NVML_FI_DEV_POWER_*.
    limits = (
        ("Current Power Limit", 190),
        ("Requested Power Limit", 192),
        ("Default Power Limit", 189),
        ("Min Power Limit", 187),
        ("Max Power Limit", 188),
    )
    profiles = gpu.nvml.c_nvmlWorkloadPowerProfileCurrentProfiles_v1_t()
    has_profiles = gpu.read("nvmlDeviceWorkloadPowerProfileGetCurrentProfiles", ctypes.byref(profiles)) is not None
    requested, enforced = (
        _profile_names(mask) if has_profiles else "N/A"
        for mask in (profiles.requestedProfilesMask, profiles.enforcedProfilesMask)
    )
    return [
        (0, "Temperature", None),
        (1, "GPU Current Temp", gpu.text("nvmlDeviceGetTemperature", 0, show=lambda v: f"{v} C")),
        (1, "GPU T.Limit Temp", gpu.text("nvmlDeviceGetMarginTemperature", show=celsius)),
        (1, "GPU Shutdown T.Limit Temp", limit(193)),
        (1, "GPU Slowdown T.Limit Temp", limit(194)),
        (1, "GPU Max Operating T.Limit Temp", limit(196)),
        (1, "GPU Target Temperature", "N/A"),
        (1, "Memory Current Temp", gpu.field(82, lambda v: f"{v.uiVal} C")),
        (1, "Memory Max Operating T.Limit Temp", limit(195)),
        (0, "GPU Power Readings", None),
        (1, "Average Power Draw", gpu.field(185, lambda v: watts(v.uiVal))),
        (1, "Instantaneous Power Draw", gpu.field(186, lambda v: watts(v.uiVal))),
        *((1, label, gpu.field(field, lambda v: watts(v.uiVal))) for label, field in limits),
        (0, "GPU Memory Power Readings ", None),
        (1, "Average Power Draw", "N/A"),
        (1, "Instantaneous Power Draw", "N/A"),
        (0, "Module Power Readings", None),
        (1, "Average Power Draw", "N/A"),
        (1, "Instantaneous Power Draw", "N/A"),
        *((1, label, "N/A") for label, _ in limits),
        (0, "Power Smoothing", "N/A"),
        (0, "Workload Power Profiles", None),
        (1, "Requested Profiles", requested),
        (1, "Enforced Profiles", enforced),
    ]


def _profile_names(mask: Any) -> str:
    """Names of the workload power profiles in a mask; N/A for none, as on every B200 and GB200 that was looked at."""
    numbers = [32 * word + bit for word, bits in enumerate(mask.mask) for bit in range(32) if bits >> bit & 1]
    return ", ".join(of(_POWER_PROFILES)(number) for number in numbers) or "N/A"


def _clocks(gpu: Gpu) -> list[Row]:
    names = (("Graphics", 0), ("SM", 1), ("Memory", 2), ("Video", 3))

    def block(title: str, call: str, which: Sequence[str]) -> list[Row]:
        rows: list[Row] = [(0, title, None)]
        rows += [(1, n, gpu.text(call, clock, show=lambda v: f"{v} MHz")) for n, clock in names if n in which]
        return rows

    every, two = ("Graphics", "SM", "Memory", "Video"), ("Graphics", "Memory")
    return [
        *block("Clocks", "nvmlDeviceGetClockInfo", every),
        *block("Applications Clocks", "nvmlDeviceGetApplicationsClock", two),
        *block("Default Applications Clocks", "nvmlDeviceGetDefaultApplicationsClock", two),
        (0, "Deferred Clocks", None),
        (1, "Memory", "N/A"),
        *block("Max Clocks", "nvmlDeviceGetMaxClockInfo", every),
        *block("Max Customer Boost Clocks", "nvmlDeviceGetMaxCustomerBoostClock", ("Graphics",)),
        (0, "Clock Policy", None),
        (1, "Auto Boost", "N/A"),
        (1, "Auto Boost Default", "N/A"),
    ]


def _fabric(gpu: Gpu) -> list[Row]:
    info = gpu.nvml.c_nvmlGpuFabricInfo_v3_t()
    fabric = gpu.read("nvmlDeviceGetGpuFabricInfoV", ctypes.byref(info))
    known = fabric is not None and info.state != 0
    done = known and info.state == 3
    cluster = str(uuid.UUID(bytes=bytes(info.clusterUuid)))
    status = "Success" if info.status == 0 else gpu.nvml.nvmlErrorString(info.status)
    details = ("Bandwidth", "Route Recovery in progress", "Route Unhealthy", "Access Timeout Recovery")
    processes = gpu.read("nvmlDeviceGetComputeRunningProcesses") or []
    rows: list[Row] = [
        (0, "Fabric", None),
        (1, "State", of(_FABRIC_STATES)(info.state) if known else "N/A"),
        (1, "Status", status if done else "N/A"),
        (1, "CliqueId", str(info.cliqueId) if done else "N/A"),
        (1, "ClusterUUID", cluster if done else "N/A"),
        (1, "Health", None),
        (2, "Summary", of(_FABRIC_HEALTH)(info.healthSummary) if done else "N/A"),
        *((2, label, "N/A") for label in (*details, "Incorrect Configuration", "Partition Assigned")),
        (0, "Processes", "None" if not processes else None),
    ]
    for process in processes:
        used = "N/A" if process.usedGpuMemory is None else mib(process.usedGpuMemory)
        rows += [(1, "Process ID", str(process.pid)), (2, "Type", "C"), (2, "Used GPU Memory", used)]
    return [*rows, (0, "Capabilities", None), (1, "EGM", gpu.text("nvmlDeviceGetEccMode", show=lambda _: "disabled"))]
