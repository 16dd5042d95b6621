"""Time slicing: nvidia-smi told to change a GPU's scheduling, and told to change it back.

The setting is the hardware's and outlives every process, so what was applied is remembered in the checkpoint. Off
unless the gate `TimeSlicingSettings` is on. Of MPS only the settings are read and checked: the control daemon that
would carry them out is not part of this reference, so a claim that asks for it is refused, and says so.

Source: cmd/gpu-kubelet-plugin nvlib.go and sharing.go at 95932046; rules NV-066, NV-082, NV-085, NV-086,
NV-089 to NV-091, NV-111.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from dra_api.objects import Obj
from dra_api.quantity import Quantity
from reference_impl.kubelet_plugin.checkpoint import ClaimEntry
from reference_impl.kubelet_plugin.configs import INTERVALS, ConfigError, EnabledSharing, Sharing
from reference_impl.kubelet_plugin.devices import Device, Gpu
from reference_impl.kubelet_plugin.partitions import MEBI

Run = Callable[[Sequence[str]], None]
_TIMEOUT = 30.0


class SharingError(Exception):
    """nvidia-smi could not apply a setting."""


class NvidiaSmi:
    """Runs the driver root's nvidia-smi. Raises SharingError when it fails."""

    def __init__(self, binary: Callable[[], Path | None]) -> None:
        self._binary = binary

    def __call__(self, arguments: Sequence[str]) -> None:
        """Run it with `arguments`, at most 30 s."""
        binary = self._binary()
        if binary is None:
            raise SharingError("error running nvidia-smi: the driver root has no nvidia-smi")
        try:
            done = subprocess.run([str(binary), *arguments], capture_output=True, timeout=_TIMEOUT, check=False)
        except (OSError, subprocess.SubprocessError) as error:
            raise SharingError(f"error running nvidia-smi: {error}") from error
        if done.returncode != 0:
            said = (done.stderr or done.stdout).decode(errors="replace").strip()[:300]
            raise SharingError(f"error running nvidia-smi: exit status {done.returncode}: {said}")


class TimeSlicing:
    """Applies and resets time slices of full GPUs."""

    def __init__(self, *, enabled: bool, run: Run, mps: bool = False) -> None:
        self.enabled = EnabledSharing(time_slicing=enabled, mps=mps)
        self._run = run

    def plan(self, wanted: Iterable[tuple[Device, Sharing | None]]) -> Obj:
        """The slices that the configs ask for, by GPU uuid, as the checkpoint keeps them."""
        intervals: Obj = {}
        for device, sharing in wanted:
            if sharing is None or not isinstance(device, Gpu):
                continue
            if sharing.mps is not None:
                raise ConfigError("cannot use MpsConfig with the 'TimeSlicing' strategy")
            intervals[device.uuid] = sharing.interval or "Default"
        return {"timeSlices": intervals} if intervals else {}

    def apply(self, planned: Obj) -> None:
        """Set planned slices."""
        for uuid, interval in planned["timeSlices"].items():
            self.set(uuid, interval)

    def undo(self, entry: ClaimEntry) -> None:
        """Give the GPUs of a claim their default slice back."""
        planned = entry.config_state.get("timeSlices")
        for uuid in planned if isinstance(planned, dict) else ():
            self.set(str(uuid), "Default")

    def set(self, uuid: str, interval: str) -> None:
        """Set one GPU's time slice (rule NV-085)."""
        self._run(["-i", uuid, "-c", "DEFAULT"])
        self._run(["compute-policy", "-i", uuid, "--set-timeslice", str(INTERVALS[interval])])


def check_mps(sharing: Sharing, uuids: Sequence[str]) -> None:
    """Check the memory limits of an mpsConfig for devices with these uuids. Raises ConfigError (rule NV-090).

    A key of the limits by device is a uuid, or the position among the sorted uuids.
    """
    settings = sharing.mps or {}
    limits: dict[str, object] = {}
    if (default := settings.get("defaultPinnedDeviceMemoryLimit")) is not None:
        limits["defaultPinnedDeviceMemoryLimit"] = default
    by_device = settings.get("defaultPerDevicePinnedMemoryLimit") or {}
    if not isinstance(by_device, dict):
        raise ConfigError("invalid limit: defaultPerDevicePinnedMemoryLimit must map devices to quantities")
    known = {*uuids, *(str(position) for position in range(len(uuids)))}
    for key, value in by_device.items():
        if key not in known:
            raise ConfigError(
                f"invalid device: defaultPerDevicePinnedMemoryLimit has {key!r}, which is no uuid or index"
            )
        limits[f"defaultPerDevicePinnedMemoryLimit[{key}]"] = value
    for where, value in limits.items():
        try:
            mebibytes = int(Quantity.parse(str(value)).value) // MEBI
        except ValueError as error:
            raise ConfigError(f"invalid limit: {where}: {error}") from error
        if mebibytes < 1:
            raise ConfigError(f"invalid limit: {where} is {value}, less than 1Mi")
