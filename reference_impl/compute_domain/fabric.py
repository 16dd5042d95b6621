"""Which NVLink clique a node is in, as NVML says; and the node's IMEX channel files.

Read once at start. Nothing here is owned but the stand-in files of a fake node's channels.

Source: cmd/compute-domain-kubelet-plugin nvlib.go at 95932046; rules NV-016, NV-017, NV-163, NV-170.
"""

from __future__ import annotations

import ctypes
import uuid
from pathlib import Path
from typing import Any

from dra_api.objects import Obj
from reference_impl.kubelet_plugin.discovery import Nvml
from reference_impl.kubelet_plugin.driver_root import DriverRoot
from reference_impl.runtime import PartError

CHANNEL_COUNT = 2048
CHANNEL_DRIVER = "nvidia-caps-imex-channels"
_FILE_MODE = 0o666


class FabricError(PartError):
    """The node's fabric is in a state that must not be used."""


def clique_id(nvml: Nvml) -> str:
    """The node's clique, `<cluster uuid>.<clique number>`; empty when its GPUs are in none.

    Raises FabricError when a GPU's fabric is not up yet or its GPUs disagree (rule NV-017).
    """
    found = {clique for handle in nvml.handles() if (clique := gpu_clique(nvml, handle))}
    if len(found) > 1:
        raise FabricError(f"the node's GPUs are in different NVLink cliques: {', '.join(sorted(found))}")
    return found.pop() if found else ""


def gpu_clique(nvml: Nvml, handle: Any) -> str:
    """One GPU's clique; empty where NVML knows no fabric."""
    module = nvml.module
    info = module.c_nvmlGpuFabricInfo_t()
    try:
        module.nvmlDeviceGetGpuFabricInfo(handle, ctypes.byref(info))
    except module.NVMLError as error:
        if error.value in (module.NVML_ERROR_NOT_SUPPORTED, module.NVML_ERROR_FUNCTION_NOT_FOUND):
            return ""
        raise FabricError(f"NVML cannot tell the state of the NVLink fabric: {error}") from error
    if info.state == module.NVML_GPU_FABRIC_STATE_NOT_SUPPORTED:
        return ""
    if info.state != module.NVML_GPU_FABRIC_STATE_COMPLETED or info.status != module.NVML_SUCCESS:
        raise FabricError(
            f"refusing to start: a GPU supports NVLink fabric, but its state is {info.state} and its status "
            f"{info.status}; is the fabric manager running?"
        )
    cluster = bytes(info.clusterUuid)
    return f"{uuid.UUID(bytes=cluster)}.{info.cliqueId}" if any(cluster) else ""


class Channels:
    """The node's IMEX channels, `/dev/nvidia-caps-imex-channels/channel<n>`."""

    def __init__(self, root: DriverRoot) -> None:
        self._root = root

    def check(self) -> None:
        """Refuse a machine without the channel driver (rule NV-016). A fake node may lack it."""
        if self._root.root == Path("/") and self.major is None:
            raise FabricError(f"/proc/devices has no {CHANNEL_DRIVER}: the NVIDIA driver has no IMEX support here")

    @property
    def major(self) -> int | None:
        """The major number of channel files."""
        return self._root.major(CHANNEL_DRIVER)

    def nodes(self, mode: str) -> list[Obj]:
        """The CDI device nodes of a claim: channel 0, or every channel in mode `All` (rule NV-163)."""
        ids = range(CHANNEL_COUNT) if mode == "All" else range(1)
        major = self.major
        return [self.node(number, major) for number in ids]

    def node(self, number: int, major: int | None) -> Obj:
        """One channel's device node."""
        name = f"{CHANNEL_DRIVER}/channel{number}"
        self._root.make_node(name, major=major, minor=number, file_mode=_FILE_MODE)
        return self._root.node(name, major=major, minor=number, file_mode=_FILE_MODE)
