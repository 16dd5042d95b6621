"""Write docs/reference/fake-nvml-functions.md: implemented functions, and those that return NOT_SUPPORTED.

Read from the export list, the C sources and the recording of one H200. Run as `python tools/gen_nvml_functions.py`
after any change to those; `tests/fake_nvml/test_nvml_functions.py` fails when the page is stale, when a function has no
group here, and when the recording disagrees with the answer.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Run by path, the checkout is not in sys.path.
sys.path.insert(0, str(ROOT))

from fake_nvml.src import gen_layout  # noqa: E402 - found from the checkout

PAGE = ROOT / "docs" / "reference" / "fake-nvml-functions.md"
RECORDED = ROOT / "fixtures" / "nvml" / "h200_nvml.json"

#: Pattern and reason, first match first; every function without an implementation has one.
GROUPS: tuple[tuple[str, str], ...] = (
    (r"InternalGetExportTable", "The undocumented function table of nvidia-smi; `fake-nvml smi` replaces it."),
    (
        r"Vgpu|vgpu|VGPU|GridLicens|PgpuMetadata",
        "A vGPU host's. No board here is one, and no vGPU type or instance exists.",
    ),
    (r"VirtualizationMode", "Turns a GPU into a vGPU host."),
    (r"DriverModel", "Windows only."),
    (r"GpuOperationMode", "Kepler's GK110 boards only."),
    (r"BridgeChip|ClkMon|CoolerInfo|ThermalSettings|TemperatureThreshold|PowerMizer", "Graphics cards' own."),
    (r"NvLinkUtilization", "Deprecated; replaced by field values since Volta."),
    (r"DetailedEcc|SramUniqueUncorrected", "Counters by place; `nvmlDeviceGetMemoryErrorCounter` tells the sums."),
    (r"NvlinkBwMode|NvlinkSupportedBwModes|LowPowerThreshold|Telemetry", "NVLink's power and width modes."),
    (r"PowerSmoothing", "Blackwell's power smoothing; nvidia-smi says N/A for it on the H200."),
    (r"ConfCompute", "Confidential computing; it is off."),
    (r"DramEncryption", "Memory encryption of later boards."),
    (r"Hostname", "A name that an administrator gave the GPU."),
    (r".*", "Not in the library of the 580 branch."),
)


@dataclass(frozen=True, slots=True)
class Missing:
    """A function that has no implementation: its group, what it answers and what the H200 answered."""

    name: str
    reason: str
    answer: str
    recorded: str


def missing() -> list[Missing]:
    """Every exported function without an implementation, by name."""
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))["getters"]
    have = gen_layout.implemented()
    rows = []
    for name, branch in sorted(gen_layout.read_exports().items()):
        if name in have:
            continue
        # The recorded H200 has driver 580: a later function is absent there, whatever group its name suggests.
        newer = branch != "580"
        reason = GROUPS[-1][1] if newer else next(text for pattern, text in GROUPS if re.search(pattern, name))
        rows.append(Missing(name, reason, "13" if newer else "3", _code(recorded.get(name))))
    return rows


def _code(result: object) -> str:
    """The error that was recorded; empty if the getter was not called, crashed, or has no single error."""
    if not isinstance(result, dict):
        return ""
    results = [result] if set(result) & {"ok", "err", "crashed"} else list(result.values())
    codes = {str(each["err"]) if "err" in each else "0" if "ok" in each else "" for each in results}
    return codes.pop() if len(codes) == 1 else "several"


def page() -> str:
    """Text of the page."""
    rows, names = missing(), gen_layout.read_exports()
    lines = [
        "# What the fake NVML implements",
        "",
        "Written by `tools/gen_nvml_functions.py`; a test keeps it in step with the sources. How to use the library is",
        "described in [fake-nvml.md](../how-to/fake-nvml.md).",
        "",
        f"The library exports {len(names)} functions and implements {len(names) - len(rows)} of them: all that the DRA",
        "driver, go-nvlib, gpustat and nvitop call, all that DCGM calls apart from vGPU, and all that nvidia-smi looks",
        f"up apart from those below. The other {len(rows)} answer as a GPU without the feature does: Not Supported",
        "(3), or Function Not Found (13) where the library of the modelled driver branch does not have the function.",
        "*H200* is what one H200 with driver 580.159.04 returned from the getters that were called there.",
        "",
        "Workload power profiles work on the Blackwell boards. Which profiles a real one has is not verified.",
        "`nvmlDeviceReadWritePRM_v1` and `nvmlDeviceReadPRMCounters_v1` look at handle and buffer, and then say Not",
        "Supported on every board: registers and counters of NVLink's firmware are not modelled, not even on",
        "Blackwell, which has them.",
        "",
        "| Why | Answer | H200 | Functions |",
        "|---|---|---|---|",
    ]
    groups: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        groups.setdefault((row.reason, row.answer, row.recorded), []).append(f"`{row.name}`")
    for (reason, answer, recorded), functions in sorted(groups.items()):
        lines.append(f"| {reason} | {answer} | {recorded or 'not called'} | {', '.join(functions)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
