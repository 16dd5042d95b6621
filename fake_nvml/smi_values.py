"""Reading values for the texts of `nvidia-smi`, and writing numbers; see `smi_query` and `smi_table`."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, Final

MIB: Final = 20  # bits

#: Depth, label and value of a line; None for a title.
Row = tuple[int, str, str | None]


class Gpu:
    """Getters of one GPU; values that it does not support are N/A."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self.nvml = nvml
        self.handle = handle

    def read(self, name: str, *arguments: Any) -> Any:
        """Return the value of a getter, None if it is not supported."""
        try:
            return getattr(self.nvml, name)(self.handle, *arguments)
        except (self.nvml.NVMLError_NotSupported, self.nvml.NVMLError_NotReady):
            return None

    def text(self, name: str, *arguments: Any, show: Callable[[Any], str] = str) -> str:
        """The answer as a person reads it."""
        value = self.read(name, *arguments)
        return "N/A" if value is None else show(value)

    def pair(self, name: str, show: Callable[[Any], str]) -> tuple[str, str]:
        """A current and a pending value."""
        value = self.read(name)
        return ("N/A", "N/A") if value is None else (show(value[0]), show(value[1]))

    def field(self, field: int, show: Callable[[Any], str]) -> str:
        """One field value."""
        entry = self.nvml.nvmlDeviceGetFieldValues(self.handle, [field])[0]
        return "N/A" if entry.nvmlReturn else show(entry.value)


def gpus(nvml: Any) -> list[tuple[int, Any]]:
    """Index and handle of every GPU; no handle for a lost one."""
    rows: list[tuple[int, Any]] = []
    for index in range(nvml.nvmlDeviceGetCount()):
        try:
            rows.append((index, nvml.nvmlDeviceGetHandleByIndex(index)))
        except nvml.NVMLError_GpuIsLost:
            rows.append((index, None))
    return rows


def on(value: int) -> str:
    """A switch."""
    return "Enabled" if value else "Disabled"


def yes(value: int) -> str:
    """A yes or no."""
    return "Yes" if value else "No"


def of(names: Sequence[str]) -> Callable[[int], str]:
    """Return the name of a number."""
    return lambda value: names[value] if 0 <= value < len(names) else f"Unknown ({value})"


def watts(value: int) -> str:
    """Milliwatts, as watts."""
    return f"{value / 1000:.2f} W"


def plain_text(value: Any) -> str:
    """A text that some releases of pynvml hand back as bytes."""
    return value.decode() if isinstance(value, bytes) else str(value)


def plain(value: Any) -> int:
    """The one number of a small versioned structure, or the number itself."""
    if isinstance(value, ctypes.Structure):
        name = next(field[0] for field in value._fields_ if field[0] != "version")
        return int(getattr(value, name))
    return int(value)


def mib(value: int) -> str:
    """Bytes, as MiB, rounded down."""
    return f"{value >> MIB} MiB"


def mib_up(value: int) -> str:
    """Return used or reserved memory in MiB, rounded up as nvidia-smi does."""
    return f"{(value + (1 << MIB) - 1) >> MIB} MiB"
