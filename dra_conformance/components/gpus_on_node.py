"""The GPUs of a node and their neighbourhood, for the report: from an inventory of the fake NVML, or from NVML.

Nothing here takes part in a verdict.
"""

from __future__ import annotations

import contextlib
import ctypes
import uuid
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, TypeVar

from dra_conformance.core.events import GpuOnNode, MigPlacement
from fake_nvml.inventory import GpuSpec, Inventory, MigInstance

_MOST_INSTANCES = 8
"""Room for GPU instances of one profile; a GPU has at most seven."""
_T = TypeVar("_T")
_COMPLETED = 3
"""NVML_GPU_FABRIC_STATE_COMPLETED."""


def of_inventory(inventory: Inventory) -> tuple[GpuOnNode, ...]:
    """Return the GPUs of an inventory of the fake NVML, in its order."""
    values = [spec.value("pcie_switch") for spec in inventory.gpus]
    switches = _numbered([value if isinstance(value, int) else None for value in values])
    return tuple(_of_spec(spec, switch) for spec, switch in zip(inventory.gpus, switches, strict=True))


def _numbered(places: Sequence[Hashable | None]) -> list[int]:
    """Number the places that several have, in the order of their first occurrence; -1: alone, or unknown (None)."""
    counts = Counter(places)
    shared = [place for place in counts if place is not None and counts[place] > 1]
    return [shared.index(place) if place in shared else -1 for place in places]


def _of_spec(spec: GpuSpec, switch: int) -> GpuOnNode:
    links = _number(spec.value("nvlink_count"), 0) if spec.nvlink_switches else 0
    cluster = uuid.UUID(bytes=spec.cluster_uuid)
    in_fabric = spec.value("fabric_state") == _COMPLETED and cluster.int
    return GpuOnNode(
        product=str(spec.value("name")),
        pci_address=f"{spec.domain:08X}:{spec.bus:02X}:{spec.device:02X}.0",
        memory_mib=_number(spec.value("memory_total"), 0) >> 20,
        numa_node=_number(spec.value("numa_node"), -1),
        pcie_switch=switch,
        mig_slices=_slices(spec),
        mig=tuple(sorted(map(_placement, spec.mig), key=_start)),
        nvlinks=links,
        nvlink_peers=tuple(sorted(set(spec.nvlink_switches[:links]))),
        clique=f"{cluster}.{spec.value('fabric_clique_id')}" if in_fabric else "",
    )


def _placement(one: MigInstance) -> MigPlacement:
    return MigPlacement(profile=one.profile.name, start=one.start, size=one.profile.size)


def _slices(spec: GpuSpec) -> int:
    if spec.value("mig_mode_current") != 1:
        return 0
    return max((start + profile.size for profile in spec.board.profiles for start in profile.starts), default=0)


def _number(value: int | str, unknown: int) -> int:
    return value if isinstance(value, int) else unknown


def of_machine(nvml: Any) -> tuple[GpuOnNode, ...]:
    """Return the GPUs that NVML finds, in its order; what a GPU does not support is unknown.

    Args:
        nvml: a loaded pynvml module.

    Raises: `nvml.NVMLError` if NVML cannot be initialised or does not find a GPU.
    """
    nvml.nvmlInit()
    try:
        handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
        switches = _numbered(_first_below_switch(nvml, handles))
        return tuple(_of_handle(nvml, handle, switch) for handle, switch in zip(handles, switches, strict=True))
    finally:
        nvml.nvmlShutdown()


def _of_handle(nvml: Any, handle: Any, switch: int) -> GpuOnNode:
    profiles = _profiles(nvml, handle) if _or(nvml, 0, lambda: nvml.nvmlDeviceGetMigMode(handle)[0]) == 1 else []
    links = [link for link in range(nvml.NVML_NVLINK_MAX_LINKS) if _is_active(nvml, handle, link)]
    peers = {_peer(nvml, handle, link) for link in links}
    return GpuOnNode(
        product=nvml.nvmlDeviceGetName(handle),
        pci_address=_address(nvml.nvmlDeviceGetPciInfo(handle)),
        memory_mib=_or(nvml, 0, lambda: nvml.nvmlDeviceGetMemoryInfo(handle).total) >> 20,
        numa_node=_or(nvml, -1, lambda: _memory_node(nvml, handle)),
        pcie_switch=switch,
        mig_slices=max((end for profile in profiles for end in _ends(nvml, handle, profile)), default=0),
        mig=tuple(sorted(_instances(nvml, handle, profiles), key=_start)),
        nvlinks=len(links),
        nvlink_peers=tuple(sorted(peers - {""})),
        clique=_or(nvml, "", lambda: _clique(nvml, handle)),
    )


def _first_below_switch(nvml: Any, handles: Sequence[Any]) -> list[int]:
    """Return for each GPU the index of the first one below the same PCIe switch, or switches in a row."""
    return [
        next((first for first in range(index) if _is_below_one_switch(nvml, handles[first], handle)), index)
        for index, handle in enumerate(handles)
    ]


def _is_below_one_switch(nvml: Any, one: Any, other: Any) -> bool:
    level = _or(nvml, None, lambda: nvml.nvmlDeviceGetTopologyCommonAncestor(one, other))
    return level is not None and level <= nvml.NVML_TOPOLOGY_MULTIPLE


def _memory_node(nvml: Any, handle: Any) -> int:
    (nodes,) = nvml.nvmlDeviceGetMemoryAffinity(handle, 1, nvml.NVML_AFFINITY_SCOPE_NODE)
    return int(nodes).bit_length() - 1 if int(nodes).bit_count() == 1 else -1


def _is_active(nvml: Any, handle: Any, link: int) -> bool:
    return bool(_or(nvml, 0, lambda: nvml.nvmlDeviceGetNvLinkState(handle, link)) == nvml.NVML_FEATURE_ENABLED)


def _peer(nvml: Any, handle: Any, link: int) -> str:
    return _or(nvml, "", lambda: _address(nvml.nvmlDeviceGetNvLinkRemotePciInfo(handle, link)))


def _address(info: Any) -> str:
    return f"{info.domain:08X}:{info.bus:02X}:{info.device:02X}.0"


def _clique(nvml: Any, handle: Any) -> str:
    info = nvml.c_nvmlGpuFabricInfo_t()
    nvml.nvmlDeviceGetGpuFabricInfo(handle, ctypes.byref(info))
    cluster = uuid.UUID(bytes=bytes(info.clusterUuid))
    return f"{cluster}.{info.cliqueId}" if info.state == _COMPLETED and cluster.int else ""


def _profiles(nvml: Any, handle: Any) -> list[Any]:
    found = []
    for number in range(nvml.NVML_GPU_INSTANCE_PROFILE_COUNT):
        with contextlib.suppress(nvml.NVMLError):
            found.append(nvml.nvmlDeviceGetGpuInstanceProfileInfo(handle, number))
    return found


def _ends(nvml: Any, handle: Any, profile: Any) -> list[int]:
    """Return the memory slices at which instances of a profile can end."""
    count = ctypes.c_uint(0)
    nvml.nvmlDeviceGetGpuInstancePossiblePlacements(handle, profile.id, None, ctypes.byref(count))
    rows = (nvml.c_nvmlGpuInstancePlacement_t * max(count.value, 1))()
    nvml.nvmlDeviceGetGpuInstancePossiblePlacements(handle, profile.id, rows, ctypes.byref(count))
    return [row.start + row.size for row in rows[: count.value]]


def _instances(nvml: Any, handle: Any, profiles: Sequence[Any]) -> Iterator[MigPlacement]:
    for profile in profiles:
        array, count = (nvml.c_nvmlGpuInstance_t * _MOST_INSTANCES)(), ctypes.c_uint(_MOST_INSTANCES)
        nvml.nvmlDeviceGetGpuInstances(handle, profile.id, array, ctypes.byref(count))
        for instance in array[: count.value]:
            place = nvml.nvmlGpuInstanceGetInfo(instance).placement
            name = str(profile.name).removeprefix("MIG ")
            yield MigPlacement(profile=name, start=place.start, size=place.size)


def _start(placement: MigPlacement) -> int:
    return placement.start


def _or(nvml: Any, unknown: _T, read: Callable[[], _T]) -> _T:
    """Return what NVML answers, or `unknown` if it cannot answer."""
    try:
        return read()
    except nvml.NVMLError:
        return unknown
