"""Rows of `nvidia-smi -q` about a board and its PCI address; see `smi_query`."""

from __future__ import annotations

import ctypes

from fake_nvml.smi_values import Gpu, Row, of, on, plain, plain_text, yes

_ARCHITECTURES = {6: "Turing", 7: "Ampere", 8: "Ada Lovelace", 9: "Hopper", 10: "Blackwell"}
_VIRTUALIZATION = ("None", "Pass-Through", "VGPU", "Host VGPU", "Host VSGA")
_ADDRESSING = ("None", "HMM", "ATS")
_RECOVERY = ("None", "Reset", "Reboot", "Drain P2P", "Drain and Reset")
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


def identity(gpu: Gpu, part: str) -> list[Row]:
    """Return the rows of identity and modes; `part` is the part number, which NVML does not report."""
    mig, brand = gpu.pair("nvmlDeviceGetMigMode", on), gpu.read("nvmlDeviceGetBrand")
    platform = gpu.nvml.c_nvmlPlatformInfo_v2_t()
    placed = gpu.read("nvmlDeviceGetPlatformInfo", ctypes.byref(platform)) is not None
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
        (0, "Display Attached", gpu.text("nvmlDeviceGetDisplayMode", show=yes)),
        (0, "Display Active", gpu.text("nvmlDeviceGetDisplayActive", show=on)),
        (0, "Persistence Mode", gpu.text("nvmlDeviceGetPersistenceMode", show=on)),
        (0, "Addressing Mode", gpu.text("nvmlDeviceGetAddressingMode", show=lambda v: of(_ADDRESSING)(plain(v)))),
        (0, "MIG Mode", None),
        (1, "Current", mig[0]),
        (1, "Pending", mig[1]),
        (0, "Accounting Mode", gpu.text("nvmlDeviceGetAccountingMode", show=on)),
        (0, "Accounting Mode Buffer Size", gpu.text("nvmlDeviceGetAccountingBufferSize")),
        (0, "Driver Model", None),
        (1, "Current", "N/A"),
        (1, "Pending", "N/A"),
        (0, "Serial Number", gpu.text("nvmlDeviceGetSerial")),
        (0, "GPU UUID", gpu.text("nvmlDeviceGetUUID")),
        (0, "GPU PDI", gpu.text("nvmlDeviceGetPdi", show=lambda v: f"0x{plain(v):016x}")),
        (0, "Minor Number", gpu.text("nvmlDeviceGetMinorNumber")),
        (0, "VBIOS Version", gpu.text("nvmlDeviceGetVbiosVersion")),
        (0, "MultiGPU Board", gpu.text("nvmlDeviceGetMultiGpuBoard", show=yes)),
        (0, "Board ID", gpu.text("nvmlDeviceGetBoardId", show=lambda v: f"0x{v:x}")),
        (0, "Board Part Number", gpu.text("nvmlDeviceGetBoardPartNumber")),
        (0, "GPU Part Number", part),
        (0, "FRU Part Number", "N/A"),
        (0, "Platform Info", None),
        (1, "Chassis Serial Number", plain_text(platform.chassisSerialNumber) if placed else "N/A"),
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
        (0, "GPU C2C Mode", gpu.text("nvmlDeviceGetC2cModeInfoV", show=lambda v: on(plain(v)))),
        (0, "GPU Virtualization Mode", None),
        (1, "Virtualization Mode", gpu.text("nvmlDeviceGetVirtualizationMode", show=of(_VIRTUALIZATION))),
        (1, "Host VGPU Mode", "N/A"),
        (1, "vGPU Heterogeneous Mode", "N/A"),
        (0, "GPU Recovery Action", gpu.field(230, lambda v: of(_RECOVERY)(v.uiVal))),
        (0, "GSP Firmware Version", gpu.text("nvmlDeviceGetGspFirmwareVersion", show=plain_text)),
        (0, "IBMNPU", None),
        (1, "Relaxed Ordering Mode", "N/A"),
    ]


def _architecture(value: int) -> str:
    return _ARCHITECTURES.get(value, str(value))


def bus(gpu: Gpu) -> list[Row]:
    """Its PCI address and link, and what holds its clocks down."""
    pci = gpu.read("nvmlDeviceGetPciInfo")
    # The name of the class depends on the release of pynvml.
    extended = gpu.nvml.c_nvmlPciInfoExt_v1_t() if hasattr(gpu.nvml, "c_nvmlPciInfoExt_v1_t") else None
    extended = extended or gpu.nvml.nvmlPciInfoExt_v1_t()
    extended.version = gpu.nvml.nvmlPciInfoExt_v1
    gpu.read("nvmlDeviceGetPciInfoExt", ctypes.byref(extended))
    reasons = gpu.read("nvmlDeviceGetCurrentClocksEventReasons") or 0
    current = gpu.text("nvmlDeviceGetCurrPcieLinkGeneration")
    # The numbers are those of NVML_FI_DEV_CLOCKS_EVENT_REASON_*.
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
