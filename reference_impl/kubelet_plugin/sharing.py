"""Time slicing: nvidia-smi changes a GPU's scheduling and changes it back.

The setting outlives every process, so the checkpoint records it. Off unless the gate `TimeSlicingSettings` is on.

Source: cmd/gpu-kubelet-plugin nvlib.go and sharing.go at 95932046; rules NV-082, NV-085 to NV-087, NV-089, NV-111,
NV-111b.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from dra_api.objects import Obj
from reference_impl.kubelet_plugin.checkpoint import ClaimEntry
from reference_impl.kubelet_plugin.configs import INTERVALS, ConfigError, GpuConfig
from reference_impl.kubelet_plugin.device_config import ConfiguredDevice
from reference_impl.kubelet_plugin.devices import AnyDevice, Gpu

Run = Callable[[Sequence[str]], None]
_TIMEOUT = 30.0


class SharingError(Exception):
    """nvidia-smi could not apply a setting."""


class NvidiaSmi:
    """Runs the driver root's nvidia-smi."""

    def __init__(self, binary: Callable[[], Path | None]) -> None:
        self._binary = binary

    def __call__(self, arguments: Sequence[str]) -> None:
        """Run it with `arguments`, at most 30 s.

        Raises SharingError if it fails, OSError or subprocess.TimeoutExpired if it cannot be run or does not end.
        """
        binary = self._binary()
        if binary is None:
            raise SharingError("error running nvidia-smi: the driver root has no nvidia-smi")
        done = subprocess.run([str(binary), *arguments], capture_output=True, text=True, timeout=_TIMEOUT, check=False)
        if done.returncode != 0:
            raise SharingError(f"error running nvidia-smi: exit status {done.returncode}: {done.stdout}{done.stderr}")


class TimeSlicing:
    """Applies and resets time slices of full GPUs."""

    def __init__(self, *, run: Run) -> None:
        self._run = run

    def plan(self, claim_uid: str, configured: Sequence[ConfiguredDevice]) -> Obj:
        """Return the time slices that the configs request, by GPU uuid, as the checkpoint stores them."""
        intervals: Obj = {}
        for item in configured:
            device, sharing = item.device, item.config.sharing if isinstance(item.config, GpuConfig) else None
            if sharing is None or sharing.strategy != "TimeSlicing" or not isinstance(device, Gpu):
                continue
            if sharing.mps is not None:
                raise ConfigError("cannot use MpsConfig with the 'TimeSlicing' strategy")
            intervals[device.uuid] = sharing.interval or "Default"
        return {"timeSlices": intervals} if intervals else {}

    def apply(self, planned: Obj) -> None:
        """Set planned slices."""
        for uuid, interval in (planned.get("timeSlices") or {}).items():
            self.set(uuid, interval)

    def edits(self, planned: Obj) -> Obj:
        """Return nothing: time slicing needs no edits."""
        return {}

    def device_edits(self, planned: Obj, device: AnyDevice) -> Obj:
        """Return nothing: time slicing needs no edits."""
        return {}

    def undo(self, entry: ClaimEntry, in_use: Collection[str] = ()) -> None:
        """Give the GPUs of a claim their default slice back, except those in use (rules NV-111, NV-111b)."""
        planned: Any = entry.config_state.get("timeSlices")
        for uuid in planned or ():
            # Claims with shares of one GPU have one configuration (rule NV-065).
            if uuid not in in_use:
                self.set(uuid, "Default")

    def set(self, uuid: str, interval: str) -> None:
        """Set one GPU's time slice (rule NV-085)."""
        self._run(["-i", uuid, "-c", "DEFAULT"])
        self._run(["compute-policy", "-i", uuid, "--set-timeslice", str(INTERVALS[interval])])
