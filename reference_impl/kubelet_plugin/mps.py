"""NVIDIA's Multi-Process Service: one control daemon for the GPUs that a claim shares by one configuration.

The daemon is `nvidia-cuda-mps-control` of the driver root, a process of the node that outlives the plugin: its
parameters are in the checkpoint, its pipe, log and shared memory are in `<plugin folder>/mps/<id>`, and it
ends with the claim. Off unless the gate `MPSSupport` is on. Upstream runs the same program in a Deployment of one pod
on its own node, and mounts a tmpfs in place of the plain folder.

Source: cmd/gpu-kubelet-plugin sharing.go and templates/mps-control-daemon.tmpl.yaml at 95932046; rules NV-066 and
NV-090 to NV-092.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dra_api.objects import Obj
from dra_api.quantity import Quantity
from reference_impl.kubelet_plugin import configs
from reference_impl.kubelet_plugin.checkpoint import ClaimEntry
from reference_impl.kubelet_plugin.configs import ConfigError
from reference_impl.kubelet_plugin.device_config import ConfiguredDevice
from reference_impl.kubelet_plugin.devices import AnyDevice, Gpu, MigSlot
from reference_impl.kubelet_plugin.partitions import MEBI
from reference_impl.kubelet_plugin.sharing import Run, SharingError

_TIMEOUT = 30.0
_VOLTA = 7  # major compute capability
_SHARED_MEMORY, _PIPE = "/dev/shm", "/tmp/nvidia-mps"  # noqa: S108 - the path that clients use in a container
_MOUNT_OPTIONS = ["rw", "nosuid", "nodev", "bind"]


class Mps:
    """Starts and ends control daemons.

    Arguments:
        folder: parent of the daemons' folders; created with the first daemon.
        binary: returns the path of the control program, if the driver root has it.
        smi: runs nvidia-smi, which sets the GPUs' compute mode.
    """

    def __init__(self, folder: Path, *, binary: Callable[[], Path | None], smi: Run) -> None:
        self.folder = folder
        self._binary = binary
        self._smi = smi

    def plan(self, claim_uid: str, configured: Sequence[ConfiguredDevice]) -> Obj:
        """Return one daemon for all devices that share one configuration. Raises ConfigError (rules NV-090, NV-091)."""
        groups: dict[int, list[ConfiguredDevice]] = {}
        for item in configured:
            if configs.mps_settings(item.config) is not None:
                groups.setdefault(id(item.config), []).append(item)
        # A claim has a daemon for each configuration.
        daemons = [self.daemon(f"{claim_uid}-{number}", group) for number, group in enumerate(groups.values())]
        return {"mps": daemons} if daemons else {}

    def daemon(self, name: str, group: Sequence[ConfiguredDevice]) -> Obj:
        """Return the parameters of one daemon: its devices and their limits."""
        settings = configs.mps_settings(group[0].config) or {}
        devices = [item.device for item in group if not isinstance(item.device, MigSlot)]
        uuids = sorted(device.uuid for device in devices)
        gpus = [device for device in devices if isinstance(device, Gpu)]
        if settings.get("multiUser") and any(_capability(gpu) < _VOLTA for gpu in gpus):
            raise ConfigError("multiuser mode was requested but is not supported: it needs compute capability 7.0")
        percentage = settings.get("defaultActiveThreadPercentage")
        return {
            "id": name,
            "uuids": uuids,
            "gpus": sorted(gpu.uuid for gpu in gpus),
            "threads": percentage,
            "limits": memory_limits(settings, uuids),
            "multiUser": bool(settings.get("multiUser")),
        }

    def apply(self, planned: Obj) -> None:
        """Start the planned daemons and set their limits (rules NV-092, NV-092b)."""
        for daemon in planned.get("mps") or ():
            self.reserve(daemon)
            self.run(daemon, ["-d", *(["-M"] if daemon["multiUser"] else [])])
            lines = [f"set_default_device_pinned_mem_limit {key} {limit}" for key, limit in daemon["limits"].items()]
            if daemon["threads"] is not None:
                lines.append(f"set_default_active_thread_percentage {daemon['threads']}")
            # The last command only checks the daemon: one that does not answer fails the claim.
            for line in [*lines, "get_server_list"]:
                self.run(daemon, [], stdin=line)

    def reserve(self, daemon: Obj) -> None:
        """Make a daemon's folder, and let only the daemon's server use its GPUs; the workloads connect to it.

        Raises SharingError if nvidia-smi fails; then nothing of the daemon is left.
        """
        for name in ("pipe", "log", "shm"):
            (self.folder / daemon["id"] / name).mkdir(parents=True)
        for position, uuid in enumerate(daemon["gpus"]):
            try:
                self._smi(["-i", uuid, "-c", "EXCLUSIVE_PROCESS"])
            except SharingError:
                # Only the GPUs before this one have changed. To reset this one too would fail for the same reason, now
                # and at every Unprepare, as long as nvidia-smi fails.
                self.end({**daemon, "gpus": daemon["gpus"][:position]})
                raise

    def undo(self, entry: ClaimEntry, in_use: Collection[str] = ()) -> None:
        """End the claim's daemons, and give its GPUs their compute mode back (rule NV-092c)."""
        planned: Any = entry.config_state.get("mps")
        for daemon in planned or ():
            self.end(daemon)

    def end(self, daemon: Obj) -> None:
        """End one daemon, running or not, and remove its folder. Raises SharingError when it does not end."""
        folder = self.folder / daemon["id"]
        if not folder.exists():
            return
        # The daemon creates this pipe; without it none is running.
        if (folder / "pipe/control").exists():
            self.run(daemon, [], stdin="quit")
        for uuid in daemon["gpus"]:
            self._smi(["-i", uuid, "-c", "DEFAULT"])
        shutil.rmtree(folder)

    def edits(self, planned: Obj) -> Obj:
        """Return nothing for the whole claim: each device has the edits of its own daemon."""
        return {}

    def device_edits(self, planned: Obj, device: AnyDevice) -> Obj:
        """Return the pipe and shared memory of the device's daemon (rule NV-092)."""
        for daemon in planned.get("mps") or ():
            if not isinstance(device, MigSlot) and device.uuid in daemon["uuids"]:
                folder = self.folder / daemon["id"]
                return {
                    "env": [f"CUDA_MPS_PIPE_DIRECTORY={_PIPE}"],
                    "mounts": [
                        {"hostPath": str(folder / host), "containerPath": path, "options": list(_MOUNT_OPTIONS)}
                        for host, path in (("shm", _SHARED_MEMORY), ("pipe", _PIPE))
                    ],
                }
        return {}

    def sweep(self, claims: Collection[str]) -> Iterator[str]:
        """Remove the folders of claims that are not in the checkpoint, as after a reboot. Yield their names."""
        left = [path for path in self.folder.glob("*") if path.name.rpartition("-")[0] not in claims]
        for path in left:
            self.end({"id": path.name, "gpus": []})
            yield path.name

    def run(self, daemon: Obj, arguments: Sequence[str], *, stdin: str = "") -> None:
        """Run the control program for one daemon, at most 30 s; `stdin` is a line of input.

        Raises SharingError if it fails, OSError or subprocess.TimeoutExpired if it cannot be run or does not end.
        """
        binary = self._binary()
        if binary is None:
            raise SharingError("error starting MPS control daemon: the driver root has no nvidia-cuda-mps-control")
        folder = self.folder / daemon["id"]
        environment = {
            **os.environ,
            "CUDA_VISIBLE_DEVICES": ",".join(daemon.get("uuids") or ()),
            "CUDA_MPS_PIPE_DIRECTORY": str(folder / "pipe"),
            "CUDA_MPS_LOG_DIRECTORY": str(folder / "log"),
        }
        done = subprocess.run(
            [str(binary), *arguments],
            input=f"{stdin}\n".encode(),
            stdout=subprocess.DEVNULL,  # a daemon keeps what it was given, and a pipe would wait for its end
            stderr=subprocess.DEVNULL,
            env=environment,
            timeout=_TIMEOUT,
            check=False,
        )
        if done.returncode != 0:
            command = stdin or " ".join(arguments)
            raise SharingError(f"error starting MPS control daemon: {command}: exit status {done.returncode}")


def _capability(gpu: Gpu) -> int:
    return int(gpu.cuda_compute_capability.partition(".")[0])


def memory_limits(settings: Mapping[str, object], uuids: Sequence[str]) -> dict[str, str]:
    """Return the memory limit of each device, in whole MiB (`1024M`). Raises ConfigError (rules NV-090, NV-092b).

    A key of the limits by device is a uuid, or the position among the sorted uuids; it goes before the limit for all.
    """
    by_device = settings.get("defaultPerDevicePinnedMemoryLimit") or {}
    if not isinstance(by_device, dict):
        raise ConfigError("invalid limit: defaultPerDevicePinnedMemoryLimit must map devices to quantities")
    limits: dict[str, str] = {}
    if (default := settings.get("defaultPinnedDeviceMemoryLimit")) is not None:
        limits = dict.fromkeys(uuids, mebibytes("defaultPinnedDeviceMemoryLimit", default))
    positions = {str(position): uuid for position, uuid in enumerate(uuids)}
    for key, value in by_device.items():
        uuid = positions.get(key) or key
        if uuid not in uuids:
            raise ConfigError(
                f"invalid device: defaultPerDevicePinnedMemoryLimit has {key!r}, which is no uuid or index"
            )
        limits[uuid] = mebibytes(f"defaultPerDevicePinnedMemoryLimit[{key}]", value)
    return limits


def mebibytes(where: str, value: object) -> str:
    """Return a quantity rounded down to whole MiB, as the control program reads it. Raises ConfigError."""
    try:
        whole = int(Quantity.parse(str(value)).value) // MEBI
    except ValueError as error:
        raise ConfigError(f"invalid limit: {where}: {error}") from error
    if whole < 1:
        raise ConfigError(f"invalid limit: {where} is {value}, less than 1Mi")
    return f"{whole}M"
