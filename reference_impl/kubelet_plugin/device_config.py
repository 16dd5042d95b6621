"""What a claim chose, and what its choice changes on the node beside the devices themselves.

Values only. A `Setting` is what one kind of configuration does: time slices, MPS, binding to vfio-pci. `plan` says what
will be changed and what undoes it; the checkpoint keeps that before `apply` changes anything, so that a plugin that
dies in between is cleared up after by the next.

Source: DeviceConfigState in cmd/gpu-kubelet-plugin device_state.go at 95932046.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from dra_api.objects import Obj
from reference_impl.kubelet_plugin.checkpoint import ClaimEntry
from reference_impl.kubelet_plugin.claims import Result
from reference_impl.kubelet_plugin.configs import Config
from reference_impl.kubelet_plugin.devices import AnyDevice


@dataclass(frozen=True, slots=True)
class ConfiguredDevice:
    """An allocation result with the device and the config that belong to it."""

    result: Result
    device: AnyDevice
    config: Config


class Setting(Protocol):
    """What one kind of configuration changes on the node. Callers hold the node lock."""

    def plan(self, claim_uid: str, configured: Sequence[ConfiguredDevice]) -> Obj:
        """What will be changed, as the checkpoint keeps it; empty for nothing. Raises when it cannot be."""
        ...

    def apply(self, planned: Obj) -> None:
        """Change it. Raises when the node refuses."""
        ...

    def undo(self, entry: ClaimEntry) -> None:
        """Change it back, whole, half or not at all as it was changed. Raises when the node refuses."""
        ...

    def edits(self, planned: Obj) -> Obj:
        """What every container with a device of the claim gets of it: `env`, `deviceNodes` and `mounts` of CDI."""
        ...

    def device_edits(self, planned: Obj, device: AnyDevice) -> Obj:
        """What a container gets of it with this device. Raises when the node does not have it."""
        ...
