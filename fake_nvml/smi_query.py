"""What `nvidia-smi -q` prints, for a person who looks at a fake node.

Everything is asked through an initialised `pynvml` module; a row whose question is not supported says N/A, and so do
the rows of features that the fake does not have. `tests/fake_nvml` compares the text of the inventory `h200` with what
nvidia-smi printed on the H200 that it was made from.
"""

from __future__ import annotations

import ctypes
import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

_COLUMN = 55
_MIB = 20
_ARCHITECTURES = {6: "Turing", 7: "Ampere", 8: "Ada Lovelace", 9: "Hopper", 10: "Blackwell"}
_COMPUTE_MODES = ("Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process")
_VIRTUALIZATION = ("None", "Pass-Through", "VGPU", "Host VGPU", "Host VSGA")
_ADDRESSING = ("None", "HMM", "ATS")
_RECOVERY = ("None", "Reset", "Reboot", "Drain P2P", "Drain and Reset")
_FABRIC_STATES = ("N/A", "Not Started", "In Progress", "Completed")
_FABRIC_HEALTH = ("N/A", "Healthy", "Unhealthy", "Limited Capacity")
_REASONS = (
    (0, "Idle", 0x1),
    (0, "Applications Clocks Setting", 0x2),
    (0, "SW Power Cap", 0x4),
    (0, "HW Slowdown", 0x8),
    (1, "HW Thermal Slowdown", 0x40),
    (1, "HW Power Brake Slowdown", 0x80),
    (0, "Sync Boost", 0x10),
    (0, "SW Thermal Slowdown", 0x20),
    (0, "Display Clock Setting", 0x100),
)

Row = tuple[int, str, str | None]


def query(nvml: Any, part_numbers: Sequence[str], *, now: datetime | None = None) -> str:
    """`nvidia-smi -q`.

    Args:
        nvml: an initialised pynvml module.
        part_numbers: of each GPU, by index; NVML itself does not tell them.
        now: what the line Timestamp says; by default the present.
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
        gpu = _Gpu(nvml, handle)
        lines.append(f"GPU {nvml.nvmlDeviceGetPciInfo(handle).busId}")
        part = part_numbers[index] if index < len(part_numbers) else "N/A"
        for rows in (_identity(gpu, part), _pci(gpu), _memory(gpu), _ecc(gpu), _power(gpu), _clocks(gpu), _fabric(gpu)):
            lines += [_line(depth + 1, label, value) for depth, label, value in rows]
        lines.append("")
    return "\n".join(lines) + "\n"


def _line(depth: int, label: str, value: str | None) -> str:
    text = "    " * depth + label
    return text if value is None else f"{text:<{_COLUMN}}: {value}"


class _Gpu:
    """Asks one GPU; what it does not support is N/A."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self.nvml = nvml
        self.handle = handle

    def ask(self, name: str, *arguments: Any) -> Any:
        """The answer of a getter, None where it is not supported."""
        try:
            return getattr(self.nvml, name)(self.handle, *arguments)
        except (self.nvml.NVMLError_NotSupported, self.nvml.NVMLError_NotReady):
            return None

    def text(self, name: str, *arguments: Any, show: Callable[[Any], str] = str) -> str:
        """The answer as a person reads it."""
        value = self.ask(name, *arguments)
        return "N/A" if value is None else show(value)

    def pair(self, name: str, show: Callable[[Any], str]) -> tuple[str, str]:
        """A current and a pending value."""
        value = self.ask(name)
        return ("N/A", "N/A") if value is None else (show(value[0]), show(value[1]))

    def field(self, field: int, show: Callable[[Any], str]) -> str:
        """One field value."""
        entry = self.nvml.nvmlDeviceGetFieldValues(self.handle, [field])[0]
        return "N/A" if entry.nvmlReturn else show(entry.value)


def _on(value: int) -> str:
    return "Enabled" if value else "Disabled"


def _yes(value: int) -> str:
    return "Yes" if value else "No"


def _of(names: Sequence[str]) -> Callable[[int], str]:
    return lambda value: names[value] if 0 <= value < len(names) else f"Unknown ({value})"


def _watts(value: int) -> str:
    return f"{value / 1000:.2f} W"


def _identity(gpu: _Gpu, part: str) -> list[Row]:
    mig, brand = gpu.pair("nvmlDeviceGetMigMode", _on), gpu.ask("nvmlDeviceGetBrand")
    platform = gpu.nvml.c_nvmlPlatformInfo_v2_t()
    placed = gpu.ask("nvmlDeviceGetPlatformInfo", ctypes.byref(platform)) is not None
    slot, tray, host = (
        (str(ord(getattr(platform, name))) if placed else "N/A") for name in ("slotNumber", "trayIndex", "hostId")
    )
    inforom = [gpu.text("nvmlDeviceGetInforomVersion", which) for which in range(3)]
    return [
        (0, "Product Name", gpu.text("nvmlDeviceGetName")),
        (0, "Product Brand", "NVIDIA" if brand == gpu.nvml.NVML_BRAND_NVIDIA else str(brand)),
        (
            0,
            "Product Architecture",
            gpu.text("nvmlDeviceGetArchitecture", show=_architecture),
        ),
        (0, "Display Mode", "Requested functionality has been deprecated"),
        (0, "Display Attached", gpu.text("nvmlDeviceGetDisplayMode", show=_yes)),
        (0, "Display Active", gpu.text("nvmlDeviceGetDisplayActive", show=_on)),
        (0, "Persistence Mode", gpu.text("nvmlDeviceGetPersistenceMode", show=_on)),
        (0, "Addressing Mode", gpu.text("nvmlDeviceGetAddressingMode", show=lambda v: _of(_ADDRESSING)(_plain(v)))),
        (0, "MIG Mode", None),
        (1, "Current", mig[0]),
        (1, "Pending", mig[1]),
        (0, "Accounting Mode", gpu.text("nvmlDeviceGetAccountingMode", show=_on)),
        (0, "Accounting Mode Buffer Size", gpu.text("nvmlDeviceGetAccountingBufferSize")),
        (0, "Driver Model", None),
        (1, "Current", "N/A"),
        (1, "Pending", "N/A"),
        (0, "Serial Number", gpu.text("nvmlDeviceGetSerial")),
        (0, "GPU UUID", gpu.text("nvmlDeviceGetUUID")),
        (0, "GPU PDI", gpu.text("nvmlDeviceGetPdi", show=lambda v: f"0x{_plain(v):016x}")),
        (0, "Minor Number", gpu.text("nvmlDeviceGetMinorNumber")),
        (0, "VBIOS Version", gpu.text("nvmlDeviceGetVbiosVersion")),
        (0, "MultiGPU Board", gpu.text("nvmlDeviceGetMultiGpuBoard", show=_yes)),
        (0, "Board ID", gpu.text("nvmlDeviceGetBoardId", show=lambda v: f"0x{v:x}")),
        (0, "Board Part Number", gpu.text("nvmlDeviceGetBoardPartNumber")),
        (0, "GPU Part Number", part),
        (0, "FRU Part Number", "N/A"),
        (0, "Platform Info", None),
        (1, "Chassis Serial Number", _text(platform.chassisSerialNumber) if placed else "N/A"),
        (1, "Slot Number", slot),
        (1, "Tray Index", tray),
        (1, "Host ID", host),
        (1, "Peer Type", ("Direct Connected", "Switch Connected")[ord(platform.peerType) % 2] if placed else "N/A"),
        (1, "Module Id", gpu.text("nvmlDeviceGetModuleId")),
        (1, "GPU Fabric GUID", "N/A"),
        (0, "Inforom Version", None),
        (1, "Image Version", gpu.text("nvmlDeviceGetInforomImageVersion")),
        (1, "OEM Object", inforom[0]),
        (1, "ECC Object", inforom[1]),
        (1, "Power Management Object", inforom[2]),
        (0, "Inforom BBX Object Flush", None),
        (1, "Latest Timestamp", "N/A"),
        (1, "Latest Duration", "N/A"),
        (0, "GPU Operation Mode", None),
        (1, "Current", "N/A"),
        (1, "Pending", "N/A"),
        (0, "GPU C2C Mode", gpu.text("nvmlDeviceGetC2cModeInfoV", show=lambda v: _on(_plain(v)))),
        (0, "GPU Virtualization Mode", None),
        (1, "Virtualization Mode", gpu.text("nvmlDeviceGetVirtualizationMode", show=_of(_VIRTUALIZATION))),
        (1, "Host VGPU Mode", "N/A"),
        (1, "vGPU Heterogeneous Mode", "N/A"),
        (0, "GPU Recovery Action", gpu.field(230, lambda v: _of(_RECOVERY)(v.uiVal))),
        (0, "GSP Firmware Version", gpu.text("nvmlDeviceGetGspFirmwareVersion", show=_text)),
        (0, "IBMNPU", None),
        (1, "Relaxed Ordering Mode", "N/A"),
    ]


def _architecture(value: int) -> str:
    return _ARCHITECTURES.get(value, str(value))


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _plain(value: Any) -> int:
    """The one number of a small versioned structure, or the number itself."""
    if isinstance(value, ctypes.Structure):
        name = next(field[0] for field in value._fields_ if field[0] != "version")
        return int(getattr(value, name))
    return int(value)


def _pci(gpu: _Gpu) -> list[Row]:
    pci = gpu.ask("nvmlDeviceGetPciInfo")
    extended = gpu.nvml.c_nvmlPciInfoExt_v1_t() if hasattr(gpu.nvml, "c_nvmlPciInfoExt_v1_t") else None
    extended = extended or gpu.nvml.nvmlPciInfoExt_v1_t()
    extended.version = gpu.nvml.nvmlPciInfoExt_v1
    gpu.ask("nvmlDeviceGetPciInfoExt", ctypes.byref(extended))
    reasons = gpu.ask("nvmlDeviceGetCurrentClocksEventReasons") or 0
    current = gpu.text("nvmlDeviceGetCurrPcieLinkGeneration")
    counters = [(74, "SW Power Capping"), (76, "Sync Boost"), (269, "SW Thermal Slowdown")]
    counters += [(270, "HW Thermal Slowdown"), (271, "HW Power Braking")]
    return [
        (0, "PCI", None),
        (1, "Bus", f"0x{pci.bus:02X}"),
        (1, "Device", f"0x{pci.device:02X}"),
        (1, "Domain", f"0x{pci.domain:04X}"),
        (1, "Base Classcode", f"0x{extended.baseClass:X}"),
        (1, "Sub Classcode", f"0x{extended.subClass:X}"),
        (1, "Device Id", f"0x{pci.pciDeviceId:08X}"),
        (1, "Bus Id", pci.busId),
        (1, "Sub System Id", f"0x{pci.pciSubSystemId:08X}"),
        (1, "GPU Link Info", None),
        (2, "PCIe Generation", None),
        (3, "Max", gpu.text("nvmlDeviceGetMaxPcieLinkGeneration")),
        (3, "Current", current),
        (3, "Device Current", current),
        (3, "Device Max", gpu.text("nvmlDeviceGetGpuMaxPcieLinkGeneration")),
        (3, "Host Max", "N/A"),
        (2, "Link Width", None),
        (3, "Max", gpu.text("nvmlDeviceGetMaxPcieLinkWidth", show=lambda v: f"{v}x")),
        (3, "Current", gpu.text("nvmlDeviceGetCurrPcieLinkWidth", show=lambda v: f"{v}x")),
        (1, "Bridge Chip", None),
        (2, "Type", "N/A"),
        (2, "Firmware", "N/A"),
        (1, "Replays Since Reset", gpu.text("nvmlDeviceGetPcieReplayCounter")),
        (1, "Replay Number Rollovers", gpu.field(95, lambda v: str(v.uiVal))),
        (1, "Tx Throughput", gpu.text("nvmlDeviceGetPcieThroughput", 0, show=lambda v: f"{v} KB/s")),
        (1, "Rx Throughput", gpu.text("nvmlDeviceGetPcieThroughput", 1, show=lambda v: f"{v} KB/s")),
        (1, "Atomic Caps Outbound", "N/A"),
        (1, "Atomic Caps Inbound", "N/A"),
        (0, "Fan Speed", "N/A"),
        (0, "Performance State", gpu.text("nvmlDeviceGetPerformanceState", show=lambda v: f"P{v}")),
        (0, "Clocks Event Reasons", None),
        *((depth + 1, label, "Active" if reasons & bit else "Not Active") for depth, label, bit in _REASONS),
        (0, "Clocks Event Reasons Counters", None),
        *((1, label, gpu.field(field, lambda v: f"{v.ullVal // 1000} us")) for field, label in counters),
        (0, "Sparse Operation Mode", "Disabled"),
    ]


def _mib(value: int) -> str:
    return f"{value >> _MIB} MiB"


def _mib_up(value: int) -> str:
    """What is used or reserved is rounded up, as nvidia-smi does."""
    return f"{(value + (1 << _MIB) - 1) >> _MIB} MiB"


def _memory(gpu: _Gpu) -> list[Row]:
    memory, bar = gpu.ask("nvmlDeviceGetMemoryInfo", gpu.nvml.nvmlMemory_v2), gpu.ask("nvmlDeviceGetBAR1MemoryInfo")
    rates = gpu.ask("nvmlDeviceGetUtilizationRates")
    reserved = -(-memory.reserved // (1 << _MIB))
    free = -(-memory.free // (1 << _MIB))
    bar_used = bar.bar1Used >> _MIB if bar is not None else 0
    bar_rows = (
        [(1, "Total", _mib(bar.bar1Total)), (1, "Used", f"{bar_used} MiB"), (1, "Free", _mib_up(bar.bar1Free))]
        if bar is not None
        else [(1, label, "N/A") for label in ("Total", "Used", "Free")]
    )
    engines = (("Encoder", "Encoder"), ("Decoder", "Decoder"), ("JPEG", "Jpg"), ("OFA", "Ofa"))
    return [
        (0, "FB Memory Usage", None),
        (1, "Total", _mib(memory.total)),
        (1, "Reserved", f"{reserved} MiB"),
        (1, "Used", _mib(memory.used)),
        (1, "Free", f"{free} MiB"),
        (0, "BAR1 Memory Usage", None),
        *bar_rows,
        (0, "Conf Compute Protected Memory Usage", None),
        (1, "Total", "0 MiB"),
        (1, "Used", "0 MiB"),
        (1, "Free", "0 MiB"),
        (0, "Compute Mode", gpu.text("nvmlDeviceGetComputeMode", show=_of(_COMPUTE_MODES))),
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


def _ecc(gpu: _Gpu) -> list[Row]:
    mode = gpu.pair("nvmlDeviceGetEccMode", _on)

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

    repair = gpu.ask("nvmlDeviceGetRepairStatus")
    rows = gpu.ask("nvmlDeviceGetRemappedRows")
    histogram = gpu.ask("nvmlDeviceGetRowRemapperHistogram") if rows is not None else None
    remapped = [str(rows[0]), "0", str(rows[1]), "0", _yes(rows[2]), _yes(rows[3])] if rows is not None else ["N/A"] * 6
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
        (1, "Channel Repair Pending", "N/A" if repair is None else _yes(repair[0])),
        (1, "TPC Repair Pending", "N/A" if repair is None else _yes(repair[1])),
        (1, "Unrepairable Memory", gpu.text("nvmlDeviceGetUnrepairableMemoryFlag_v1", show=lambda v: _yes(_plain(v)))),
        (0, "Retired Pages", None),
        (1, "Single Bit ECC", retired[0]),
        (1, "Double Bit ECC", retired[1]),
        (1, "Pending Page Blacklist", gpu.text("nvmlDeviceGetRetiredPagesPendingStatus", show=_yes)),
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


def _power(gpu: _Gpu) -> list[Row]:
    def celsius(value: Any) -> str:
        return f"{_plain(value)} C"

    def limit(field: int) -> str:
        return gpu.field(field, lambda v: f"{v.siVal} C")

    limits = (
        ("Current Power Limit", 190),
        ("Requested Power Limit", 192),
        ("Default Power Limit", 189),
        ("Min Power Limit", 187),
        ("Max Power Limit", 188),
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
        (1, "Average Power Draw", gpu.field(185, lambda v: _watts(v.uiVal))),
        (1, "Instantaneous Power Draw", gpu.field(186, lambda v: _watts(v.uiVal))),
        *((1, label, gpu.field(field, lambda v: _watts(v.uiVal))) for label, field in limits),
        (0, "GPU Memory Power Readings ", None),
        (1, "Average Power Draw", "N/A"),
        (1, "Instantaneous Power Draw", "N/A"),
        (0, "Module Power Readings", None),
        (1, "Average Power Draw", "N/A"),
        (1, "Instantaneous Power Draw", "N/A"),
        *((1, label, "N/A") for label, _ in limits),
        (0, "Power Smoothing", "N/A"),
        (0, "Workload Power Profiles", None),
        (1, "Requested Profiles", "N/A"),
        (1, "Enforced Profiles", "N/A"),
    ]


def _clocks(gpu: _Gpu) -> list[Row]:
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


def _fabric(gpu: _Gpu) -> list[Row]:
    info = gpu.nvml.c_nvmlGpuFabricInfo_v3_t()
    asked = gpu.ask("nvmlDeviceGetGpuFabricInfoV", ctypes.byref(info))
    known = asked is not None and info.state != 0
    done = known and info.state == 3
    cluster = str(uuid.UUID(bytes=bytes(info.clusterUuid)))
    status = "Success" if info.status == 0 else gpu.nvml.nvmlErrorString(info.status)
    details = ("Bandwidth", "Route Recovery in progress", "Route Unhealthy", "Access Timeout Recovery")
    processes = gpu.ask("nvmlDeviceGetComputeRunningProcesses") or []
    rows: list[Row] = [
        (0, "Fabric", None),
        (1, "State", _of(_FABRIC_STATES)(info.state) if known else "N/A"),
        (1, "Status", status if done else "N/A"),
        (1, "CliqueId", str(info.cliqueId) if done else "N/A"),
        (1, "ClusterUUID", cluster if done else "N/A"),
        (1, "Health", None),
        (2, "Summary", _of(_FABRIC_HEALTH)(info.healthSummary) if done else "N/A"),
        *((2, label, "N/A") for label in (*details, "Incorrect Configuration", "Partition Assigned")),
        (0, "Processes", "None" if not processes else None),
    ]
    for process in processes:
        used = "N/A" if process.usedGpuMemory is None else _mib(process.usedGpuMemory)
        rows += [(1, "Process ID", str(process.pid)), (2, "Type", "C"), (2, "Used GPU Memory", used)]
    return [*rows, (0, "Capabilities", None), (1, "EGM", gpu.text("nvmlDeviceGetEccMode", show=lambda _: "disabled"))]
