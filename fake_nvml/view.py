"""Snapshots of a GPU for tests and tools that read the node without NVML."""

from __future__ import annotations

from dataclasses import dataclass

from fake_nvml.layout import State
from fake_nvml.state import get_field


@dataclass(frozen=True, slots=True)
class GpuView:
    """Identity, modes and condition of one GPU, read at one moment."""

    index: int
    uuid: str
    name: str
    bus_id: str
    minor: int
    mig_enabled: bool
    lost: bool


def view(state: State, index: int) -> GpuView:
    """GPU `index` of one generation of the state."""
    gpu = state.gpus[index]
    return GpuView(
        index=index,
        uuid=str(get_field(gpu, "uuid")[0]),
        name=str(get_field(gpu, "name")[0]),
        bus_id=f"{gpu.domain:08X}:{gpu.bus:02X}:{gpu.device:02X}.0",
        minor=int(get_field(gpu, "minor_number")[0]),
        mig_enabled=get_field(gpu, "mig_mode_current") == (1, 0),
        lost=get_field(gpu, "is_lost")[0] == 1,
    )
