"""Write `state/layout.h`, `abi/nvml_types.h` and `system/stubs.c`.

The first comes from `fake_nvml.layout`, the second from pynvml's ctypes structures, the third from `abi/exports.txt`.

Run as `python -m fake_nvml.src.gen_layout` or by path after any change to those; the outputs are checked in so that a
build needs a C compiler only. `tests/fake_nvml/test_nvml_abi.py` fails when they are stale.
"""

from __future__ import annotations

import ctypes
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent

_PRIMITIVES = {
    ctypes.c_char: "char",
    ctypes.c_byte: "signed char",
    ctypes.c_ubyte: "unsigned char",
    ctypes.c_short: "short",
    ctypes.c_ushort: "unsigned short",
    ctypes.c_int: "int",
    ctypes.c_uint: "unsigned int",
    ctypes.c_long: "long",
    ctypes.c_ulong: "unsigned long",
    ctypes.c_longlong: "long long",
    ctypes.c_ulonglong: "unsigned long long",
    ctypes.c_double: "double",
    ctypes.c_float: "float",
    ctypes.c_char_p: "const char *",
}

#: Structures of the public API that the library fills: C name -> class name in pynvml.
NVML_TYPES = {
    "nvmlPciInfo_v2_t": "nvmlPciInfo_v2_t",
    "nvmlPciInfo_t": "nvmlPciInfo_t",
    "nvmlPciInfoExt_v1_t": "nvmlPciInfoExt_v1_t",
    "nvmlMemory_t": "c_nvmlMemory_t",
    "nvmlMemory_v2_t": "c_nvmlMemory_v2_t",
    "nvmlBAR1Memory_t": "c_nvmlBAR1Memory_t",
    "nvmlUtilization_t": "c_nvmlUtilization_t",
    "nvmlProcessInfo_v2_t": "c_nvmlProcessInfo_v2_t",
    "nvmlProcessDetail_v1_t": "c_nvmlProcessDetail_v1_t",
    "nvmlProcessDetailList_v1_t": "c_nvmlProcessDetailList_v1_t",
    "nvmlEventData_t": "c_nvmlEventData_t",
    "nvmlDeviceAttributes_t": "c_nvmlDeviceAttributes",
    "nvmlGpuInstancePlacement_t": "c_nvmlGpuInstancePlacement_t",
    "nvmlGpuInstanceProfileInfo_t": "c_nvmlGpuInstanceProfileInfo_t",
    "nvmlGpuInstanceProfileInfo_v2_t": "c_nvmlGpuInstanceProfileInfo_v2_t",
    "nvmlGpuInstanceInfo_t": "c_nvmlGpuInstanceInfo_t",
    "nvmlComputeInstancePlacement_t": "c_nvmlComputeInstancePlacement_t",
    "nvmlComputeInstanceProfileInfo_t": "c_nvmlComputeInstanceProfileInfo_t",
    "nvmlComputeInstanceProfileInfo_v2_t": "c_nvmlComputeInstanceProfileInfo_v2_t",
    "nvmlComputeInstanceInfo_t": "c_nvmlComputeInstanceInfo_t",
    "nvmlGpuFabricInfo_t": "c_nvmlGpuFabricInfo_t",
    "nvmlGpuFabricInfo_v2_t": "c_nvmlGpuFabricInfo_v2_t",
    "nvmlGpuFabricInfo_v3_t": "c_nvmlGpuFabricInfo_v3_t",
    "nvmlFieldValue_t": "c_nvmlFieldValue_t",
    "nvmlViolationTime_t": "c_nvmlViolationTime_t",
    "nvmlRowRemapperHistogramValues_t": "c_nvmlRowRemapperHistogramValues",
    "nvmlGpuDynamicPstatesInfo_t": "c_nvmlGpuDynamicPstatesInfo_t",
    "nvmlTemperature_v1_t": "c_nvmlTemperature_v1_t",
    "nvmlMarginTemperature_v1_t": "c_nvmlMarginTemperature_v1_t",
    "nvmlPdi_t": "c_nvmlPdi_t",
    "nvmlRepairStatus_t": "c_nvmlRepairStatus_t",
    "nvmlDeviceAddressingMode_t": "c_nvmlDeviceAddressingMode_t",
    "nvmlUnrepairableMemoryStatus_v1_t": "c_nvmlUnrepairableMemory_v1_t",
    "nvmlC2cModeInfo_v1_t": "c_nvmlC2cModeInfo_v1_t",
    "nvmlSystemDriverBranchInfo_v1_t": "c_nvmlSystemDriverBranchInfo_v1_t",
    "nvmlDeviceCapabilities_v1_t": "c_nvmlDeviceCapabilities_v1_t",
    "nvmlEccSramErrorStatus_v1_t": "c_nvmlEccSramErrorStatus_v1_t",
    "nvmlDeviceClockText_v1_t": "c_nvmlDeviceCurrentClockFreqs_v1_t",
    "nvmlConfComputeSystemState_t": "c_nvmlConfComputeSystemState_t",
    "nvmlConfComputeSystemCaps_t": "c_nvmlConfComputeSystemCaps_t",
    "nvmlConfComputeMemSizeInfo_t": "c_nvmlConfComputeMemSizeInfo_t",
    "nvmlConfComputeGetKeyRotationThresholdInfo_t": "c_nvmlConfComputeGetKeyRotationThresholdInfo_t",
    "nvmlFBCStats_t": "c_nvmlFBCStats_t",
    "nvmlFanSpeedInfo_t": "c_nvmlFanSpeedInfo_t",
    "nvmlRemappedRowsInfo_v2_t": "c_nvmlRemappedRowsInfo_v2_t",
    "nvmlUUID_t": "c_nvmlUUID_t",
    "nvmlSample_t": "c_nvmlSample_t",
    "nvmlProcessUtilizationSample_t": "c_nvmlProcessUtilizationSample_t",
    "nvmlProcessUtilizationInfo_v1_t": "c_nvmlProcessUtilizationInfo_v1_t",
    "nvmlProcessesUtilizationInfo_v1_t": "c_nvmlProcessesUtilizationInfo_v1_t",
    "nvmlAccountingStats_t": "c_nvmlAccountingStats_t",
    "nvmlPlatformInfo_v1_t": "c_nvmlPlatformInfo_v1_t",
    "nvmlPlatformInfo_v2_t": "c_nvmlPlatformInfo_v2_t",
    "nvmlNvLinkInfo_v1_t": "c_nvmlNvLinkInfo_v1_t",
    "nvmlNvLinkInfo_v2_t": "c_nvmlNvLinkInfo_v2_t",
    "nvmlGpmSupport_t": "c_nvmlGpmSupport_t",
    "nvmlGpmMetric_t": "c_nvmlGpmMetric_t",
    "nvmlEccErrorCounts_t": "c_nvmlEccErrorCounts_t",
    "nvmlBridgeChipHierarchy_t": "c_nvmlBridgeChipHierarchy_t",
    "nvmlGridLicensableFeatures_v4_t": "c_nvmlGridLicensableFeatures_v4_t",
    "nvmlGridLicensableFeatures_v3_t": "c_nvmlGridLicensableFeatures_v3_t",
    "nvmlGridLicensableFeatures_v2_t": "c_nvmlGridLicensableFeatures_v2_t",
    "nvmlGridLicensableFeatures_t": "c_nvmlGridLicensableFeatures_t",
    "nvmlVgpuVersion_t": "c_nvmlVgpuVersion_t",
    "nvmlPowerValue_v2_t": "c_nvmlPowerValue_v2_t",
    "nvmlSystemEventSetCreateRequest_v1_t": "c_nvmlSystemEventSetCreateRequest_v1_t",
    "nvmlSystemEventSetFreeRequest_v1_t": "c_nvmlSystemEventSetFreeRequest_v1_t",
    "nvmlSystemRegisterEventRequest_v1_t": "c_nvmlSystemRegisterEventRequest_v1_t",
    "nvmlSystemEventData_v1_t": "c_nvmlSystemEventData_v1_t",
    "nvmlSystemEventSetWaitRequest_v1_t": "c_nvmlSystemEventSetWaitRequest_v1_t",
    "nvmlClockOffset_v1_t": "c_nvmlClockOffset_t",
    "nvmlSystemConfComputeSettings_v1_t": "c_nvmlSystemConfComputeSettings_v1_t",
    "nvmlMask255_t": "c_nvmlMask255_t",
    "nvmlWorkloadPowerProfileInfo_v1_t": "c_nvmlWorkloadPowerProfileInfo_v1_t",
    "nvmlWorkloadPowerProfileProfilesInfo_v1_t": "c_nvmlWorkloadPowerProfileProfilesInfo_v1_t",
    "nvmlWorkloadPowerProfileCurrentProfiles_v1_t": "c_nvmlWorkloadPowerProfileCurrentProfiles_v1_t",
    "nvmlWorkloadPowerProfileRequestedProfiles_v1_t": "c_nvmlWorkloadPowerProfileRequestedProfiles_v1_t",
    "nvmlPRMTLV_v1_t": "c_nvmlPRMTLV_v1_t",
    "nvmlPRMCounterList_v1_t": "c_nvmlPRMCounterList_v1_t",
}


def _c_type(kind: Any, name: str, known: dict[Any, str]) -> str:
    dims = ""
    while hasattr(kind, "_length_") and hasattr(kind, "_type_") and issubclass(kind, ctypes.Array):
        dims += f"[{kind._length_}]"
        kind = kind._type_
    if kind in known:
        return f"{known[kind]} {name}{dims}"
    if kind in _PRIMITIVES:
        return f"{_PRIMITIVES[kind]} {name}{dims}"
    if issubclass(kind, (ctypes._Pointer, ctypes.c_void_p)):
        return f"void *{name}{dims}"
    raise TypeError(f"no C type for field {name} of {kind!r}")


def _declare(kind: Any, name: str, known: dict[Any, str], out: list[str]) -> None:
    if kind in known:
        return
    for field in kind._fields_:
        # C needs the types of members before the struct.
        inner = field[1]
        while issubclass(inner, ctypes.Array):
            inner = inner._type_
        if issubclass(inner, (ctypes.Structure, ctypes.Union)) and inner not in known:
            _declare(inner, f"{name}_{field[0]}", known, out)
    known[kind] = name
    word = "union" if issubclass(kind, ctypes.Union) else "struct"
    out.append(f"typedef {word} {{")
    for field in kind._fields_:
        bits = f" : {field[2]}" if len(field) > 2 else ""
        out.append(f"    {_c_type(field[1], field[0], known)}{bits};")
    out.append(f"}} {name};")
    out.append(f'_Static_assert(sizeof({name}) == {ctypes.sizeof(kind)}, "{name}");')
    out.extend(
        f'_Static_assert(offsetof({name}, {f[0]}) == {getattr(kind, f[0]).offset}, "{name}.{f[0]}");'
        for f in kind._fields_
        # offsetof does not work on bit fields, which have a third element.
        if len(f) == 2
    )
    out.append("")


def layout_header() -> str:
    """Text of `layout.h`."""
    # Not at the top: run by path, this file extends sys.path first.
    from fake_nvml import fields, layout

    known: dict[Any, str] = {}
    out = [
        "/* Written by gen_layout.py from fake_nvml/layout.py and fields.py. Do not edit. */",
        "#ifndef FNVML_LAYOUT_H",
        "#define FNVML_LAYOUT_H",
        "#include <stddef.h>",
        "#include <stdint.h>",
        "",
        f"#define FNVML_MAGIC 0x{layout.MAGIC:X}ULL",
    ]
    for name in [
        "LAYOUT_VERSION",
        "MAX_GPUS",
        "MAX_PROFILES",
        "MAX_STARTS",
        "MAX_GPU_INSTANCES",
        "MAX_COMPUTE_INSTANCES",
        "MAX_LINKS",
        "MAX_FAULTS",
        "MAX_PROCESSES",
        "RING_SIZE",
        "STRING_SIZE",
        "AFFINITY_WORDS",
        "SCALAR_COUNT",
        "STRING_COUNT",
    ]:
        out.append(f"#define {name} {getattr(layout, name)}")
    out.append("")
    out.append("enum scalar_field {")
    out.extend(f"    F_{name}," for name in fields.SCALARS)
    out.append("};")
    out.append("enum string_field {")
    out.extend(f"    S_{name}," for name in fields.STRINGS)
    out.append("};")
    out.append("")
    for kind in layout.STRUCTURES:
        _declare(kind, f"fn_{kind.__name__}", known, out)
    out.append("#endif")
    return "\n".join(out) + "\n"


def types_header() -> str:
    """Text of `nvml_types.h`."""
    # Only this header needs pynvml.
    import pynvml

    known: dict[Any, str] = {}
    out = [
        "/* Written by gen_layout.py: structure layouts as the public nvidia-ml-py binding sees them. Do not edit. */",
        "#ifndef FNVML_NVML_TYPES_H",
        "#define FNVML_NVML_TYPES_H",
        "#include <stddef.h>",
        "",
    ]
    for name, source in NVML_TYPES.items():
        _declare(getattr(pynvml, source), name, known, out)
    out.append("#endif")
    return "\n".join(out) + "\n"


def read_exports() -> dict[str, str]:
    """Symbol -> "580" (in the real library of that branch) or "newer" (known to nvidia-ml-py only)."""
    rows: dict[str, str] = {}
    for line in (HERE / "abi" / "exports.txt").read_text(encoding="ascii").splitlines():
        if line and not line.startswith("#"):
            name, branch = line.split()
            rows[name] = branch
    return rows


def implemented() -> set[str]:
    """Names that the hand-written sources define."""
    names: set[str] = set()
    for path in sorted(HERE.rglob("*.c")):
        # Otherwise the former stubs would count as implementations.
        if path.name != "stubs.c":
            text = path.read_text(encoding="utf-8")
            names |= set(re.findall(r"^API\s+(?:nvmlReturn_t|const char \*)\s*(nvml\w+)\(", text, re.M))
            names |= set(re.findall(r"^[A-Z][A-Z0-9_]*\((nvml\w+)[,)]", text, re.M))
    return names


def stubs_source() -> str:
    """Text of `stubs.c`: every exported name that has no implementation."""
    have = implemented()
    out = [
        "/* Written by gen_layout.py from exports.txt: functions that are not implemented. Do not edit.",
        " * A name of the 580 branch returns NOT_SUPPORTED, as on a GPU without that feature. A name that only newer",
        " * libraries export returns FUNCTION_NOT_FOUND, as bindings report for a missing symbol. */",
        '#include "calls/enter.h"',
        "",
    ]
    for name, branch in sorted(read_exports().items()):
        if name not in have:
            out.append(f"API nvmlReturn_t {name}(void) {{ return fn_stub(__func__, {int(branch != '580')}); }}")
    return "\n".join(out) + "\n"


OUTPUTS = {
    "state/layout.h": layout_header,
    "abi/nvml_types.h": types_header,
    "system/stubs.c": stubs_source,
}
"""The generated files, relative to this folder, and the functions that return their text."""


def main() -> None:
    """Write all outputs."""
    for name, make in OUTPUTS.items():
        (HERE / name).write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent.parent))
    main()
