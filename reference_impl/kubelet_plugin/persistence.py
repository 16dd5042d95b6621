"""Persistence mode: whether a GPU stays initialised without users. The driver nvidia stores it, with the GPU.

Queried from NVML each time.

Source: nvmlDeviceGetPersistenceMode and nvmlDeviceSetPersistenceMode; rule NV-177b.
"""

from __future__ import annotations

import logging

from reference_impl.kubelet_plugin.discovery import Nvml

log = logging.getLogger(__name__)


class PersistenceMode:
    """The mode of each GPU of a node, by PCI address."""

    def __init__(self, nvml: Nvml) -> None:
        self.nvml = nvml

    def is_on(self, address: str) -> bool:
        """Return whether a GPU stays initialised without users; False if NVML does not report it."""
        try:
            return bool(self.nvml.module.nvmlDeviceGetPersistenceMode(self.nvml.at(address)))
        except self.nvml.module.NVMLError:
            return False

    def switch_on(self, address: str) -> None:
        """Switch persistence mode on. A failure is only logged: without it the GPU works, but starts more slowly."""
        try:
            self.nvml.module.nvmlDeviceSetPersistenceMode(self.nvml.at(address), 1)
        except self.nvml.module.NVMLError as error:
            log.warning("GPU %s: persistence mode cannot be switched on again: %s", address, error)
