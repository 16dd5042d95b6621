"""The NVIDIA driver's files on a node: the device nodes and libraries that a container needs, and their paths.

Reads only. On a fake node the device nodes are plain files, because only root can create real ones; they get the
numbers that the real ones would have. Containers also get the state of the fake GPUs, and the library under the names
that programs load: NVIDIA's CDI hooks make such links in a container, and a fake root has no hooks.

Source: nvidia-container-toolkit's CDI output as seen with the driver at 95932046 (section 4.7 of its digest); rules
NV-095, NV-097, NV-098; the Linux driver's fixed major number 195.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dra_api.objects import Obj
from fake_nvml.driver_root import STATE
from reference_impl.kubelet_plugin.devices import Device, Mig, MigInstance, full_gpu

LIBRARY_FOLDERS = (
    "",
    "usr/lib64",
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/aarch64-linux-gnu",
    "lib64",
    "lib/x86_64-linux-gnu",
    "lib/aarch64-linux-gnu",
)
"""Where a driver root may have its libraries, in the order of the search."""

_NVIDIA_MAJOR = 195
_MOUNT_OPTIONS = ["ro", "nosuid", "nodev", "rbind", "rprivate"]


class DriverRootError(Exception):
    """A file that preparing needs is not in the driver root. Prepare may succeed once it appears."""


@dataclass(frozen=True, slots=True)
class DriverRoot:
    """The folder that holds the driver's files; `/` on a plain host."""

    root: Path

    @property
    def dev(self) -> Path:
        """Return the folder of device nodes: the root's own, or the machine's."""
        return self._or_machine("dev")

    @property
    def sysfs(self) -> Path:
        """Return the folder of sysfs: the root's own, or the machine's."""
        return self._or_machine("sys")

    @property
    def procfs(self) -> Path:
        """Return the folder of procfs: the root's own, or the machine's."""
        return self._or_machine("proc")

    def _or_machine(self, name: str) -> Path:
        own = os.path.join(self.root, name)
        return Path(own) if os.path.isdir(own) else Path("/") / name

    # -- device nodes ----------------------------------------------------------------------------------------------

    def device_nodes(self, device: Device) -> list[Obj]:
        """Return the nodes of one device: its GPU's, and for MIG the capabilities of both instances (rule NV-097)."""
        gpu = full_gpu(device)
        nodes = [self.node(f"nvidia{gpu.minor}", major=_NVIDIA_MAJOR, minor=gpu.minor)]
        if isinstance(device, Mig | MigInstance):
            folder = self.procfs / f"driver/nvidia/capabilities/gpu{gpu.minor}/mig/gi{device.gi_id}"
            nodes += [self.capability_node(at / "access") for at in (folder, folder / f"ci{device.ci_id}")]
        return nodes

    def control_nodes(self) -> list[Obj]:
        """Return the nodes that every container with a GPU needs, those that exist (rule NV-095)."""
        uvm = self.major("nvidia-uvm")
        known = (
            ("nvidiactl", _NVIDIA_MAJOR, 255),
            ("nvidia-modeset", _NVIDIA_MAJOR, 254),
            ("nvidia-uvm", uvm, 0),
            ("nvidia-uvm-tools", uvm, 1),
        )
        dev = os.fspath(self.dev)
        return [
            self.node(name, major=major, minor=minor)
            for name, major, minor in known
            if os.path.exists(os.path.join(dev, name))
        ]

    def capability_node(self, access: Path) -> Obj:
        """Return the `/dev/nvidia-caps/nvidia-cap<n>` that a capability's access file names.

        Drivers make these device files only when they are needed.
        """
        values = dict(line.split(": ") for line in access.read_text().splitlines())
        minor = int(values["DeviceFileMinor"])
        name, major = f"nvidia-caps/nvidia-cap{minor}", self.major("nvidia-caps")
        self.make_node(name, major=major, minor=minor, file_mode=0o444)
        return self.node(name, major=major, minor=minor)

    def make_node(self, name: str, *, major: int | None, minor: int, file_mode: int) -> None:
        """Create a device file if the root has a /dev of its own; a plain file if creating a real one needs root.

        Nothing is created in the machine's own /dev: the container runtime creates the node from its numbers.
        """
        path = self.dev / name
        if self.dev == Path("/dev") or path.exists():
            return
        path.parent.mkdir(exist_ok=True)
        with contextlib.suppress(OSError):
            os.mknod(path, file_mode | stat.S_IFCHR, os.makedev(major or 0, minor))
        path.touch(mode=file_mode)

    def node(self, name: str, *, major: int | None = None, minor: int = 0, file_mode: int | None = None) -> Obj:
        """Return one CDI device node, there or not. A real node's own numbers win over `major` and `minor`."""
        # Strings: creating path objects took longer than the system calls.
        path = os.path.join(self.dev, name)
        node: Obj = {"path": f"/dev/{name}", "type": "c"}
        if os.path.exists(path):
            node["hostPath"] = path
            found = os.stat(path)
            if stat.S_ISCHR(found.st_mode):
                major, minor = os.major(found.st_rdev), os.minor(found.st_rdev)
        if major is not None:
            node |= {"major": major, "minor": minor}
        return node if file_mode is None else {**node, "fileMode": file_mode}

    def major(self, name: str) -> int | None:
        """Return the major number of a character driver, from /proc/devices."""
        # The second half of the file lists block devices, which have numbers of their own.
        characters = (self.procfs / "devices").read_text().partition("Block devices:")[0]
        found = re.search(rf"^\s*(\d+)\s+{re.escape(name)}$", characters, re.MULTILINE)
        return int(found.group(1)) if found else None

    # -- files -----------------------------------------------------------------------------------------------------

    def mounts(self, driver_version: str) -> list[Obj]:
        """Return bind mounts of the driver's libraries and of nvidia-smi.

        `driver_version` is NVML's own spelling. Raises DriverRootError when neither libcuda nor libnvidia-ml of that
        version is there: a container would get a driver that does not match the kernel's (rule NV-098).
        """
        libraries = self.libraries(driver_version)
        if not libraries:
            raise DriverRootError(
                f"failed to locate libcuda.so.{driver_version} or libnvidia-ml.so.{driver_version} in the driver root "
                f"{self.root}: the library files must match the version that NVML reports"
            )
        files = [*libraries, *filter(None, [self.nvidia_smi()])]
        pairs = [(file, os.fspath("/" / file.relative_to(self.root))) for file in files]
        return [
            {"hostPath": os.fspath(file), "containerPath": path, "options": list(_MOUNT_OPTIONS)}
            for file, path in [*pairs, *self.simulated(libraries)]
        ]

    def simulated(self, libraries: Sequence[Path]) -> list[tuple[Path, str]]:
        """Return the files that NVML needs in a container with fake GPUs, each with its path there."""
        state = self.root / STATE
        if self.root == Path("/") or not state.is_file():
            return []
        nvml = [file for file in libraries if file.name.startswith("libnvidia-ml.")]
        # Loaders of different distributions search different ones of these folders.
        names = ("/usr/lib64/libnvidia-ml.so.1", "/usr/lib/libnvidia-ml.so.1")
        return [(state, f"/{STATE}"), *((file, name) for file in nvml[:1] for name in names)]

    def libraries(self, driver_version: str) -> list[Path]:
        """Return the versioned driver libraries that exist."""
        names = (f"libcuda.so.{driver_version}", f"libnvidia-ml.so.{driver_version}")
        return [path for name in names if (path := self.find(LIBRARY_FOLDERS, name)) is not None]

    def nvidia_smi(self) -> Path | None:
        """Return the nvidia-smi command."""
        return self.command("nvidia-smi")

    def mps_control(self) -> Path | None:
        """Return the control program of MPS."""
        return self.command("nvidia-cuda-mps-control")

    def imex_control(self) -> Path | None:
        """Return the control program of nvidia-imex."""
        return self.command("nvidia-imex-ctl")

    def command(self, name: str) -> Path | None:
        """Return the first program of that name in the root."""
        return self.find(("opt/bin", "usr/bin", "usr/sbin", "bin", "sbin"), name)

    def find(self, folders: tuple[str, ...], name: str) -> Path | None:
        """Return the first file of that name in the root's `folders`."""
        # Strings: creating path objects took longer than the system calls.
        tried = (os.path.join(self.root, folder, name) for folder in folders)
        return next((Path(path) for path in tried if os.path.isfile(path)), None)
