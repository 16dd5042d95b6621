"""The NVIDIA driver's files on a node: the device nodes and libraries that a container needs, and their paths.

Reads only. On a fake node the device nodes are plain files, because only root can create real ones; they get the
numbers that the real ones would have.

Source: nvidia-container-toolkit's CDI output as seen with the driver at 95932046 (section 4.7 of its digest); rules
NV-095, NV-097, NV-098; the Linux driver's fixed major number 195.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from dra_api.objects import Obj
from reference_impl.kubelet_plugin.devices import Device, Mig, full_gpu

_NVIDIA_MAJOR = 195
_CONTROL_NODES = (
    ("nvidiactl", _NVIDIA_MAJOR, 255),
    ("nvidia-modeset", _NVIDIA_MAJOR, 254),
    ("nvidia-uvm", None, 0),
    ("nvidia-uvm-tools", None, 1),
)
_LIBRARY_FOLDERS = (
    "",
    "usr/lib64",
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/aarch64-linux-gnu",
    "lib64",
    "lib/x86_64-linux-gnu",
    "lib/aarch64-linux-gnu",
)
_BINARY_FOLDERS = ("opt/bin", "usr/bin", "usr/sbin", "bin", "sbin")
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
        if isinstance(device, Mig):
            instance = f"gi{device.gi_id}"
            for access in (f"{instance}/access", f"{instance}/ci{device.ci_id}/access"):
                nodes.append(self.mig_capability_node(gpu.minor, access))
        return nodes

    def control_nodes(self) -> list[Obj]:
        """Return the nodes that every container with a GPU needs, those that exist (rule NV-095)."""
        dev = os.fspath(self.dev)
        nodes = (self._existing_node(dev, name, major, minor) for name, major, minor in _CONTROL_NODES)
        return [node for node in nodes if node is not None]

    def mig_capability_node(self, gpu_minor: int, access: str) -> Obj:
        """Return the capability node of a GPU or compute instance, from its access file or from the table of all
        minors.
        """
        table = self.procfs / "driver/nvidia-caps/mig-minors"
        file = self.procfs / f"driver/nvidia/capabilities/gpu{gpu_minor}/mig/{access}"
        # Without the table too: `capability_node` then reports the missing file.
        if file.exists() or not table.exists():
            return self.capability_node(file)
        match = re.search(rf"^gpu{gpu_minor}/{re.escape(access)}\s+(\d+)$", table.read_text(), re.MULTILINE)
        if match is None:
            raise DriverRootError(f"{table} has no line for gpu{gpu_minor}/{access}")
        return self.numbered_capability(int(match.group(1)))

    def capability_node(self, access: Path) -> Obj:
        """Return the `/dev/nvidia-caps/nvidia-cap<n>` that a capability's access file names."""
        try:
            match = re.search(r"^DeviceFileMinor:\s*(\d+)", access.read_text(), re.MULTILINE)
        except OSError as error:
            raise DriverRootError(f"no capability file for the MIG device: {error}") from error
        if match is None:
            raise DriverRootError(f"{access} names no DeviceFileMinor")
        return self.numbered_capability(int(match.group(1)))

    def numbered_capability(self, minor: int) -> Obj:
        """Return the device node of a capability's minor number; drivers make these files only when they are needed."""
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
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            if major is None:
                # Handled below like a missing permission: the file becomes a plain one.
                raise PermissionError(f"no major number is known for {name}")
            os.mknod(path, file_mode | stat.S_IFCHR, os.makedev(major, minor))
        except OSError:
            path.touch(mode=file_mode)

    def node(self, name: str, *, major: int | None, minor: int, file_mode: int | None = None) -> Obj:
        """Return one CDI device node, there or not. A real node's own numbers win over `major` and `minor`."""
        dev = os.fspath(self.dev)
        node = _node(dev, name, _stat(dev, name), (major, minor))
        return node if file_mode is None else {**node, "fileMode": file_mode}

    def _existing_node(self, dev: str, name: str, major: int | None, minor: int) -> Obj | None:
        """Return a control node, if it is there; without a fixed major number it is the driver's of that name."""
        found = _stat(dev, name)
        if found is None:
            return None
        # nvidia-uvm-tools is a node of the driver nvidia-uvm.
        if major is None and not stat.S_ISCHR(found.st_mode):
            major = self.major(name.removesuffix("-tools"))
        return _node(dev, name, found, (major, minor))

    def major(self, name: str) -> int | None:
        """Return the major number of a character driver, from /proc/devices (or the root's `proc-devices`)."""
        for path in (self.root / "proc-devices", self.procfs / "devices"):
            try:
                text = path.read_text()
            except OSError:
                continue
            # The second half of the file lists block devices, which have numbers of their own.
            match = re.search(rf"^\s*(\d+)\s+{re.escape(name)}$", text.partition("Block devices:")[0], re.MULTILINE)
            if match:
                return int(match.group(1))
        return None

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
        files = map(os.fspath, [*libraries, *filter(None, [self.nvidia_smi()])])
        above = len(os.fspath(self.root).rstrip("/"))
        return [{"hostPath": file, "containerPath": file[above:], "options": list(_MOUNT_OPTIONS)} for file in files]

    def libraries(self, driver_version: str) -> list[Path]:
        """Return the versioned driver libraries that exist."""
        names = (f"libcuda.so.{driver_version}", f"libnvidia-ml.so.{driver_version}")
        return [path for name in names if (path := self.find(_LIBRARY_FOLDERS, name)) is not None]

    def nvidia_smi(self) -> Path | None:
        """Return the nvidia-smi command."""
        return self.find(_BINARY_FOLDERS, "nvidia-smi")

    def mps_control(self) -> Path | None:
        """Return the control program of MPS."""
        return self.find(_BINARY_FOLDERS, "nvidia-cuda-mps-control")

    def imex_control(self) -> Path | None:
        """Return the control program of nvidia-imex."""
        return self.find(_BINARY_FOLDERS, "nvidia-imex-ctl")

    def find(self, folders: tuple[str, ...], name: str) -> Path | None:
        """Return the first file of that name in the root's `folders`."""
        # Strings: creating path objects took longer than the system calls.
        tried = (os.path.join(self.root, folder, name) for folder in folders)
        return next((Path(path) for path in tried if os.path.isfile(path)), None)


def _stat(dev: str, name: str) -> os.stat_result | None:
    try:
        return os.stat(os.path.join(dev, name))
    except FileNotFoundError:
        return None


def _node(dev: str, name: str, found: os.stat_result | None, numbers: tuple[int | None, int]) -> Obj:
    """Return the CDI node of a device file that is, or may come to be, in the folder `dev`."""
    node: Obj = {"path": f"/dev/{name}", "type": "c"}
    if found is not None and dev != "/dev":
        node["hostPath"] = os.path.join(dev, name)
    if found is not None and stat.S_ISCHR(found.st_mode):
        numbers = os.major(found.st_rdev), os.minor(found.st_rdev)
    major, minor = numbers
    if major is not None:
        node |= {"major": major, "minor": minor}
    return node
