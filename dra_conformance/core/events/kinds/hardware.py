"""The GPUs that scenarios ran on."""

from __future__ import annotations

import msgspec

from dra_conformance.core.events.kinds.event import Event

MACHINE = "this machine"
"""The name of real GPUs."""


class MigPlacement(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A GPU instance: the name of its profile, and its place. `start` and `size` are in memory slices."""

    profile: str
    start: int
    size: int


class GpuOnNode(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One GPU and its neighbourhood.

    `numaNode` is -1 if it is unknown. `pcieSwitch` is equal for GPUs below one PCIe switch, -1 for one alone.
    `migSlices` is the number of memory slices, 0 if MIG is off; `mig` has the GPU instances at the start.
    `nvlinks` is the number of active NVLink links, `nvlinkPeers` the PCI addresses that they end at, each once.
    `clique` is empty for a GPU that is in no multi-node NVLink fabric.
    """

    product: str
    pci_address: str
    memory_mib: int
    numa_node: int = -1
    pcie_switch: int = -1
    mig_slices: int = 0
    mig: tuple[MigPlacement, ...] = ()
    nvlinks: int = 0
    nvlink_peers: tuple[str, ...] = ()
    clique: str = ""


class InventoryUsed(Event, tag="inventory", frozen=True, kw_only=True):
    """A scenario ran on these GPUs for the first time: an inventory of the fake NVML, or those of this machine."""

    name: str
    real: bool = False
    gpus: tuple[GpuOnNode, ...] = ()
