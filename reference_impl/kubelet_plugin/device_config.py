"""Devices of a claim with their configs, and the changes that configs make on the node.

Values only. A `Setting` implements one kind of configuration: time slices, MPS, binding to vfio-pci. `plan` returns
what will be changed and how to undo it; the checkpoint stores that before `apply` changes anything, so that the next
plugin process can clean up after a crash in between.

Source: DeviceConfigState in cmd/gpu-kubelet-plugin device_state.go at 95932046.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
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
    """The changes of one kind of configuration on the node. Callers hold the node lock."""

    def plan(self, claim_uid: str, configured: Sequence[ConfiguredDevice]) -> Obj:
        """Return the planned changes as the checkpoint stores them; empty for none. Raises if they are impossible."""
        ...

    def apply(self, planned: Obj) -> None:
        """Make the planned changes. Raises if the node refuses."""
        ...

    def undo(self, entry: ClaimEntry, in_use: Collection[str] = ()) -> None:
        """Undo the changes, also if only some or none of them were made. Raises if the node refuses.

        `in_use` are the uuids of GPUs of which other claims have shares: their settings stay.
        """
        ...

    def edits(self, planned: Obj) -> Obj:
        """Return the CDI edits for every container of the claim: `env`, `deviceNodes` and `mounts`."""
        ...

    def device_edits(self, planned: Obj, device: AnyDevice) -> Obj:
        """Return the CDI edits for containers with this device. Raises if the node does not have it."""
        ...
