"""The recordings of an H200 and an H100 (driver 580.159.04, MIG off, PCI pass-through), and comparisons with them.

`fixtures/nvml` was recorded on these machines through nvidia-ml-py and nvidia-smi; identities are blanked.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from dra_conformance.core import assets, documents

RECORDED: Final[Mapping[int, str]] = {0x233510DE: "h200", 0x233010DE: "h100"}
"""The inventory of each recording, by PCI device id."""

LIVE: Final[Mapping[str, tuple[float, float]]] = {
    "nvmlDeviceGetTemperature": (20, 60),
    "nvmlDeviceGetTemperatureV": (20, 60),
    "nvmlDeviceGetTemperatureV1": (20, 60),
    "nvmlDeviceGetMarginTemperature": (20, 70),
    "nvmlDeviceGetPowerUsage": (50_000, 150_000),
    "nvmlDeviceGetTotalEnergyConsumption": (1, 1e12),
    "nvmlDeviceGetPcieThroughput": (0, 1e6),
    "nvmlDeviceGetClockInfo": (300, 3300),
}
"""Readings that change on a live GPU, with the range of a healthy idle GPU."""

OWN: Final = frozenset({"nvmlDeviceGetUUID", "nvmlDeviceGetSerial", "nvmlDeviceGetPdi"})
"""Getters of the machine's identity, which is blanked in the recording."""

APART: Final[Mapping[str, str]] = {
    "nvmlDeviceGetViolationStatus": "three of its counters are live",
    "nvmlDeviceGetCurrentClockFreqs": "the recording's current clock had moved between two calls",
}
"""Getters that only tests/fake_nvml/test_nvml_recorded.py compares, each with the reason."""

CRASHED: Final = frozenset({"nvmlDeviceGetCapabilities", "nvmlDevicePowerSmoothingActivatePresetProfile"})
"""Calls that crashed pynvml's process on that machine: its wrapper passes a bare handle."""

CONSTANT: Final = (
    "nvmlDeviceGetName",
    "nvmlDeviceGetBrand",
    "nvmlDeviceGetArchitecture",
    "nvmlDeviceGetCudaComputeCapability",
    "nvmlDeviceGetNumGpuCores",
    "nvmlDeviceGetMemoryBusWidth",
    "nvmlDeviceGetGpuMaxPcieLinkGeneration",
)
"""Getters with the same value on every GPU of that board."""


def recording(inventory: str) -> dict[str, Any]:
    """Return a recording: getters with their value or error (for each argument), field values, MIG profiles."""
    text = (assets.fixtures() / "nvml" / f"{inventory}_nvml.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


@cache
def boards() -> list[dict[str, Any]]:
    """Return the captured boards: PCI device id, identity, and values of getters."""
    found: list[dict[str, Any]] = documents.load(assets.fixtures() / "nvml" / "boards.yaml")
    return found


def printed(name: str) -> list[str]:
    """Return the lines of a text that nvidia-smi printed on that machine."""
    path: Path = assets.fixtures() / "nvml" / name
    return path.read_text(encoding="utf-8").splitlines()


def plain(value: Any) -> Any:
    """Return a result of pynvml in the form of the recording."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, int | float | str) or value is None:
        return value
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, ctypes.Array):
        if value._type_ is ctypes.c_char:
            return bytes(value).split(b"\0")[0].decode()
        return [plain(item) for item in value]
    if isinstance(value, ctypes.Structure | ctypes.Union):
        return {str(field[0]): plain(getattr(value, field[0])) for field in value._fields_}
    if hasattr(value, "value"):
        return plain(value.value)
    return repr(value)


def result_of(module: Any, call: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    """Return the result or the error code of a pynvml call, in the form of the recording."""
    try:
        return {"ok": plain(call(*arguments))}
    except module.NVMLError as error:
        return {"err": error.value}


def cases(recorded: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield name, argument (empty for none) and recorded result of each getter that is compared."""
    for name, result in sorted(recorded["getters"].items()):
        if not isinstance(result, dict) or name in APART or name in CRASHED:
            continue
        # Getters with an argument are recorded once for each value of it.
        if set(result) - {"ok", "err", "msg"}:
            yield from ((name, key, result[key]) for key in result)
        else:
            yield name, "", result


def read(module: Any, handle: Any, name: str, key: str) -> dict[str, Any]:
    """Return the present result of a getter of `cases`."""
    device = name.startswith("nvmlDevice") and name != "nvmlDeviceGetCount"
    arguments = ([handle] if device else []) + ([int(key)] if key else [])
    return result_of(module, getattr(module, name), *arguments)


def agrees(name: str, expected: Mapping[str, Any], got: Mapping[str, Any]) -> bool:
    """Return whether a result is the recorded one.

    Live readings agree if they have the type and are in the range of `LIVE`, identities if they have any value.
    """
    if "err" in expected:
        return dict(got) == {"err": expected["err"]}
    if "ok" not in got:
        return False
    if name in LIVE:
        low, high = LIVE[name]
        return type(got["ok"]) is type(expected["ok"]) and low <= got["ok"] <= high
    return got["ok"] is not None if name in OWN else bool(got["ok"] == expected["ok"])
