"""What a container with a share of a GPU gets so that HAMi-core limits it: variables, library, cache file and lock.

HAMi-core (`libvgpu.so`) is preloaded into the container's processes and refuses CUDA memory beyond the limit. The
reference does not contain the library: an administrator installs `libvgpu.so` and `ld.so.preload` in the folder of
`--limiter-path`. Without them no container with a share can start. Nothing here limits anything by itself.

A `Limiter` owns `<folder>/claims/<uid>` from Prepare to Unprepare, and `<folder>/lock`.

Source: cmd/hami-kubelet-plugin/hami_core.go of Project-HAMi/k8s-dra-driver at ebeaad9; src/multiprocess of
Project-HAMi/HAMi-core at 8f3a89c; rules HAMI-005 to HAMI-013c.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dra_api.objects import Obj
from dra_api.quantity import Quantity
from reference_impl.kubelet_plugin.checkpoint import ClaimEntry
from reference_impl.kubelet_plugin.device_config import ConfiguredDevice
from reference_impl.kubelet_plugin.devices import AnyDevice, Vfio
from reference_impl.kubelet_plugin.partitions import MEBI

IN_CONTAINER = "/usr/local/vgpu"
"""Where containers find the library and their cache file: `ld.so.preload` has this path."""

_LOCK = "/tmp/vgpulock"  # noqa: S108 - the path that is compiled into HAMi-core
_FOR_ANY_USER = 0o777


def consumed_of(results: Sequence[tuple[str, Mapping[str, object]]]) -> dict[str, dict[str, int]]:
    """Return what results consume of each device, added up; the results are pairs of device and consumed capacity."""
    sums: dict[str, dict[str, int]] = {}
    for device, consumed in results:
        mine = sums.setdefault(device, {})
        for name, amount in consumed.items():
            mine[name] = mine.get(name, 0) + int(Quantity.parse(str(amount)).value)
    return sums


class Limiter:
    """Gives containers the limits of their shares; one of the settings of `ClaimPreparer`.

    `folder` is the host's folder with HAMi-core.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def plan(self, claim_uid: str, configured: Sequence[ConfiguredDevice]) -> Obj:
        """Return the variables of the claim's containers; nothing for a claim that consumes no capacity."""
        gpus = {item.device.name: item.device for item in configured if not isinstance(item.device, Vfio)}
        consumed = consumed_of([(item.device.name, item.result.consumed) for item in configured])
        limits = self.limits([consumed[name] for name in self.ordered(gpus)])
        return {"limiter": {"claim": claim_uid, "limits": limits}} if limits else {}

    def ordered(self, gpus: Mapping[str, AnyDevice]) -> list[str]:
        """Return the names of devices in the order in which NVML numbers them in a container: by PCI address."""
        return sorted(gpus, key=lambda name: (getattr(gpus[name], "pci_bus_id", ""), name))

    def limits(self, consumed: Sequence[Mapping[str, int]]) -> list[str]:
        """Return the variables for the GPUs of a container, from what its claim consumes of each."""
        variables = []
        for index, amounts in enumerate(consumed):
            if "cores" in amounts:
                variables.append(f"CUDA_DEVICE_SM_LIMIT_{index}={amounts['cores']}")
            if "memory" in amounts:
                variables.append(f"CUDA_DEVICE_MEMORY_LIMIT_{index}={amounts['memory'] // MEBI}m")
        return variables

    def apply(self, planned: Obj) -> None:
        """Create the claim's folder for its cache file, and the folder of the lock."""
        if "limiter" in planned:
            # The processes of a container run as any user, and each opens both files for writing.
            for path in (self.claim_folder(planned["limiter"]["claim"]), self.folder / "lock"):
                path.mkdir(parents=True, exist_ok=True)
                path.chmod(_FOR_ANY_USER)

    def undo(self, entry: ClaimEntry, in_use: Collection[str] = ()) -> None:
        """Remove the claim's folder."""
        planned: Any = entry.config_state.get("limiter")
        if planned:
            shutil.rmtree(self.claim_folder(planned["claim"]), ignore_errors=True)

    def edits(self, planned: Obj) -> Obj:
        """Return the CDI edits of every container of the claim."""
        mine = planned.get("limiter")
        if not mine:
            return {}
        inside = f"{IN_CONTAINER}/claims/{mine['claim']}"
        return {
            "env": [*mine["limits"], f"CUDA_DEVICE_MEMORY_SHARED_CACHE={inside}/usage.cache"],
            "mounts": [
                _mount(self.claim_folder(mine["claim"]), inside, "rw"),
                _mount(self.folder / "lock", _LOCK, "rw"),
                *self.library(),
            ],
        }

    def library(self) -> list[Obj]:
        """Return the mounts that load the library into every process of a container."""
        return [
            _mount(self.folder / "libvgpu.so", f"{IN_CONTAINER}/libvgpu.so", "ro"),
            _mount(self.folder / "ld.so.preload", "/etc/ld.so.preload", "ro"),
        ]

    def device_edits(self, planned: Obj, device: AnyDevice) -> Obj:
        """Return nothing: the limits of all devices belong to each container of the claim."""
        return {}

    def sweep(self, claims: Collection[str]) -> Iterator[str]:
        """Remove the folders of claims that are not in the checkpoint. Yield their uids."""
        for path in sorted(self.folder.glob("claims/*")):
            if path.name not in claims:
                shutil.rmtree(path, ignore_errors=True)
                yield path.name

    def claim_folder(self, uid: str) -> Path:
        """Return the folder of the cache file that the containers of a claim share."""
        return self.folder / "claims" / uid


def _mount(host: Path, container: str, access: str) -> Obj:
    return {"hostPath": str(host), "containerPath": container, "options": [access, "nosuid", "nodev", "bind"]}
