"""The NVLink clique of a node as NVML reports it, and the node's IMEX channel files.

Source: cmd/compute-domain-kubelet-plugin nvlib.go at 95932046; rules NV-016, NV-017, NV-163, NV-170.
"""

from __future__ import annotations

import ctypes
import logging
import uuid
from typing import Any

from dra_api.objects import Obj
from reference_impl.errors import ComponentError
from reference_impl.kubelet_plugin.discovery import Nvml
from reference_impl.kubelet_plugin.driver_root import DriverRoot

log = logging.getLogger(__name__)

CHANNEL_COUNT = 2048
CHANNEL_DRIVER = "nvidia-caps-imex-channels"
_FILE_MODE = 0o666


class FabricError(ComponentError):
    """The node's fabric is in a state that must not be used."""


def clique_id(nvml: Nvml, *, strict: bool) -> str:
    """Return the node's clique, `<cluster uuid>.<clique number>`; empty when its GPUs are in none.

    Raises FabricError when its GPUs disagree and, if `strict`, when a GPU's fabric is not up (rule NV-017).
    """
    found = {clique for handle in nvml.handles() if (clique := gpu_clique(nvml, handle, strict=strict))}
    if len(found) > 1:
        raise FabricError(f"the node's GPUs are in different NVLink cliques: {', '.join(sorted(found))}")
    return found.pop() if found else ""


def gpu_clique(nvml: Nvml, handle: Any, *, strict: bool) -> str:
    """Return one GPU's clique; empty if NVML supports no fabric and, unless `strict`, if the fabric is not up."""
    module = nvml.module
    info = module.c_nvmlGpuFabricInfo_t()
    try:
        module.nvmlDeviceGetGpuFabricInfo(handle, ctypes.byref(info))
    except module.NVMLError as error:
        if error.value == module.NVML_ERROR_NOT_SUPPORTED:
            return ""
        raise FabricError(f"NVML cannot report the state of the NVLink fabric: {error}") from error
    if info.state == module.NVML_GPU_FABRIC_STATE_NOT_SUPPORTED:
        return ""
    if info.state != module.NVML_GPU_FABRIC_STATE_COMPLETED or info.status != module.NVML_SUCCESS:
        if strict:
            raise FabricError(
                f"refusing to start: a GPU supports NVLink fabric, but its state is {info.state} and its status "
                f"{info.status}; is the fabric manager running? "
                "(CrashOnNVLinkFabricErrors=false starts without a clique)"
            )
        log.warning("a GPU with fabric state %s, status %s: taken for one without", info.state, info.status)
        return ""
    cluster = bytes(info.clusterUuid)
    # A cluster UUID of zeros means that the GPU belongs to no fabric.
    return f"{uuid.UUID(bytes=cluster)}.{info.cliqueId}" if any(cluster) else ""


class Channels:
    """The node's IMEX channels, `/dev/nvidia-caps-imex-channels/channel<n>`."""

    def __init__(self, root: DriverRoot) -> None:
        self._root = root

    def check(self) -> None:
        """Raise FabricError on a machine without the channel driver (rule NV-016)."""
        if self.major is None:
            raise FabricError(
                f"/proc/devices has no {CHANNEL_DRIVER}: the NVIDIA driver has no IMEX support here, so this node has "
                "no channel to give; do not run this plugin on it"
            )

    @property
    def major(self) -> int | None:
        """Return the major number of channel files."""
        return self._root.major(CHANNEL_DRIVER)

    def nodes(self, mode: str) -> list[Obj]:
        """Return the CDI device nodes of a claim: channel 0, or every channel in mode `All` (rule NV-163)."""
        ids = range(CHANNEL_COUNT) if mode == "All" else range(1)
        major = self.major
        return [self.node(number, major) for number in ids]

    def node(self, number: int, major: int | None) -> Obj:
        """Return one channel's device node."""
        # The file may not exist yet: the container runtime creates the node from its numbers.
        return self._root.node(f"{CHANNEL_DRIVER}/channel{number}", major=major, minor=number, file_mode=_FILE_MODE)
