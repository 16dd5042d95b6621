"""The files a driver installs beside NVML: a tree with the library, /dev, /proc/driver/nvidia and /sys.

Created and removed with the node. Device files are character devices if this process may create them; otherwise
they are empty plain files of the same name, which is enough for programs that only look for them. Majors: 195 for
nvidiactl and nvidiaN (observed on an H200 machine); the dynamic ones are this module's choice and are listed in
`proc/devices`. The tree under `sys` has the files that drivers read of PCI devices; its root complexes are invented,
one for each PCIe switch of the inventory.
"""

from __future__ import annotations

import os
import shutil
import stat
from functools import lru_cache
from pathlib import Path
from typing import Final

from fake_nvml.layout import State
from fake_nvml.state import get_field

STATE: Final = "run/fake-nvml/state"
"""Path of the node's state below a driver root, and below the root of a container that has the driver."""

MAJOR_FRONTEND: Final = 195
MAJOR_UVM: Final = 510
MAJOR_CAPS: Final = 511
MAJOR_IMEX: Final = 509
CAP_MIG_CONFIG: Final = 1
CAP_MIG_MONITOR: Final = 2
CAP_FABRIC_IMEX: Final = 4323  # seen on an H200 machine, driver 580.159.04
GI_PER_GPU: Final = 15
CAPS_PER_GI: Final = 9  # the instance itself and eight compute instances


def gi_minor(gpu: int, gi: int) -> int:
    """Capability minor of a GPU instance (seen: gpu0/gi1 is 12, gi2 is 21, gi3 is 30)."""
    return 3 + gpu * GI_PER_GPU * CAPS_PER_GI + CAPS_PER_GI * gi


def create(root: Path, library: Path, state: State) -> None:
    """Write the tree under `root`, which does not exist yet."""
    version = state.driver_version.text.decode()
    lib = root / "usr" / "lib64"
    lib.mkdir(parents=True)
    real = lib / f"libnvidia-ml.so.{version}"
    shutil.copyfile(library, real)  # in the kernel, where that can
    real.chmod(0o755)
    # The names of a real installation: programs load the first, linkers look for the second.
    (lib / "libnvidia-ml.so.1").symlink_to(real.name)
    (lib / "libnvidia-ml.so").symlink_to("libnvidia-ml.so.1")
    state_link = root / STATE
    state_link.parent.mkdir(parents=True)
    state_link.symlink_to("../../../state")  # a link to the node's own, beside this root
    dev = root / "dev"
    (dev / "nvidia-caps").mkdir(parents=True)
    (dev / "nvidia-caps-imex-channels").mkdir()
    nodes: dict[str, tuple[int, int]] = {
        # Minors of the front end: 255 and 254 are control devices, lower ones are GPUs.
        "nvidiactl": (MAJOR_FRONTEND, 255),
        "nvidia-modeset": (MAJOR_FRONTEND, 254),
        "nvidia-uvm": (MAJOR_UVM, 0),
        "nvidia-uvm-tools": (MAJOR_UVM, 1),
        f"nvidia-caps/nvidia-cap{CAP_MIG_CONFIG}": (MAJOR_CAPS, CAP_MIG_CONFIG),
        f"nvidia-caps/nvidia-cap{CAP_MIG_MONITOR}": (MAJOR_CAPS, CAP_MIG_MONITOR),
    }
    minors: list[int] = []
    for index in range(state.gpu_count):
        minor = int(get_field(state.gpus[index], "minor_number")[0])
        minors.append(minor)
        nodes[f"nvidia{minor}"] = (MAJOR_FRONTEND, minor)
    for name, (major, minor) in nodes.items():
        _device(dev / name, major, minor)
    proc = root / "proc" / "driver" / "nvidia"
    proc.mkdir(parents=True)
    (proc / "version").write_text(
        f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {version}  Release Build  (fake_nvml)\n",
        encoding="ascii",
    )
    (proc / "params").write_text(
        "ModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: 0\nDeviceFileMode: 438\n", encoding="ascii"
    )
    for index, minor in enumerate(minors):
        _gpu_information(proc, state, index, minor)
    capabilities = proc / "capabilities"
    _capability(capabilities / "mig" / "config", CAP_MIG_CONFIG)
    _capability(capabilities / "mig" / "monitor", CAP_MIG_MONITOR)
    _capability(capabilities / "fabric-imex-mgmt", CAP_FABRIC_IMEX)
    caps = root / "proc" / "driver" / "nvidia-caps"
    caps.mkdir()
    (caps / "sys-minors").write_text(f"fabric-imex-mgmt {CAP_FABRIC_IMEX}\n", encoding="ascii")
    (caps / "mig-minors").write_text(_mig_minors(tuple(minors)), encoding="ascii")
    (root / "proc" / "devices").write_text(
        "Character devices:\n"
        + "".join(
            f"{major:3d} {name}\n"
            for major, name in sorted(
                [
                    (MAJOR_FRONTEND, "nvidia-frontend"),
                    (MAJOR_IMEX, "nvidia-caps-imex-channels"),
                    (MAJOR_UVM, "nvidia-uvm"),
                    (MAJOR_CAPS, "nvidia-caps"),
                ]
            )
        )
        + "\nBlock devices:\n",
        encoding="ascii",
    )
    for links in _PCI_LINKS if state.gpu_count else ():
        (root / "sys" / links).mkdir(parents=True)
    for index in range(state.gpu_count):
        _sysfs_device(f"{root}/sys", state, index)
    module = root / "sys" / "module" / "nvidia"
    module.mkdir(parents=True, exist_ok=True)
    (module / "version").write_text(f"{version}\n", encoding="ascii")
    (module / "refcnt").write_text("1\n", encoding="ascii")
    sync(root, state)


def root_port(state: State, index: int) -> str:
    """Folder of the PCIe root complex and port above a GPU; GPUs on one PCIe switch share it."""
    gpu = state.gpus[index]
    switch, rc = get_field(gpu, "pcie_switch")
    members = [
        state.gpus[other].bus
        for other in range(state.gpu_count)
        if rc == 0
        and get_field(state.gpus[other], "pcie_switch") == (switch, 0)
        and state.gpus[other].domain == gpu.domain
    ]
    # The root takes the bus number before that of its first GPU.
    bus = max(0, min(members, default=gpu.bus) - 1)
    return f"pci{gpu.domain:04x}:{bus:02x}/{gpu.domain:04x}:{bus:02x}:01.0"


def _bars() -> str:
    """The `resource` file: start, end and flags of each BAR, and of a region that is none. The sizes are invented."""
    upper = (0, 0, 0)  # the upper half of the 64-bit BAR before it
    lines = [(0, 16 << 20, 0x40200), (1 << 40, 128 << 30, 0x14220C), upper, (3 << 40, 32 << 20, 0x14220C), upper, upper]
    lines.append((5 << 40, 512 << 30, 0x14220C))  # virtual functions
    return "\n".join(f"0x{at:016x} 0x{at + size - 1 if size else 0:016x} 0x{flags:016x}" for at, size, flags in lines)


BARS: Final = _bars()


def modalias(device: int, subsystem: int, kind: int) -> str:
    """The `modalias` file of a PCI device, from ids with the vendor in the low half and a class of three bytes."""
    ids = f"v{device & 0xFFFF:08X}d{device >> 16:08X}sv{subsystem & 0xFFFF:08X}sd{subsystem >> 16:08X}"
    return f"pci:{ids}bc{kind >> 16:02X}sc{kind >> 8 & 0xFF:02X}i{kind & 0xFF:02X}"


_PCI_DRIVER: Final = "bus/pci/drivers/nvidia"
_PCI_LINKS: Final = ("bus/pci/devices", _PCI_DRIVER)
"""Folders below sys with a link to each GPU."""


def _sysfs_device(sys: str, state: State, index: int) -> None:
    """Write the sysfs files of a PCI device: ids, class, NUMA node, CPUs, link, and the root above it.

    The paths are texts: a node of eight GPUs has 150 of these files and folders.
    """
    gpu = state.gpus[index]
    bus = f"{gpu.domain:04x}:{gpu.bus:02x}:{gpu.device:02x}.0"
    device = f"devices/{root_port(state, index)}/{bus}"
    folder = f"{sys}/{device}"
    os.makedirs(folder)
    numa, rc = get_field(gpu, "numa_node")
    speed, _ = get_field(gpu, "pcie_speed")
    texts = {
        "vendor": f"0x{gpu.pci_device_id & 0xFFFF:04x}",
        "device": f"0x{gpu.pci_device_id >> 16:04x}",
        "subsystem_vendor": f"0x{gpu.pci_subsystem_id & 0xFFFF:04x}",
        "subsystem_device": f"0x{gpu.pci_subsystem_id >> 16:04x}",
        "class": f"0x{gpu.pci_class:06x}",
        "numa_node": str(numa if rc == 0 else -1),
        "local_cpulist": _cpu_list(tuple(gpu.cpu_affinity)),
        "enable": "1",
        "irq": str(get_field(gpu, "irq_number")[0]),
        "current_link_speed": f"{int(speed) / 1000:.1f} GT/s PCIe",
        "current_link_width": str(get_field(gpu, "pcie_width")[0]),
        "max_link_width": str(get_field(gpu, "pcie_width_max")[0]),
        "uevent": f"DRIVER=nvidia\nPCI_SLOT_NAME={bus}",
        "resource": BARS,
        "modalias": modalias(gpu.pci_device_id, gpu.pci_subsystem_id, gpu.pci_class),
    }
    where = os.open(folder, os.O_DIRECTORY)
    try:
        for name, text in texts.items():
            _write_in(where, name, text + "\n")
    finally:
        os.close(where)
    for links in _PCI_LINKS:
        os.symlink(f"{_up(links)}{device}", f"{sys}/{links}/{bus}")
    os.symlink(f"{_up(device)}{_PCI_DRIVER}", f"{folder}/driver")


def _up(folder: str) -> str:
    """The way from a folder to the one that its relative path starts at."""
    return "../" * (folder.count("/") + 1)


def _write_in(folder: int, name: str, text: str) -> None:
    """A new file of a folder by its descriptor: half the system calls of `Path.write_text`, a hundred times a node."""
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=folder)
    try:
        os.write(file, text.encode("ascii"))
    finally:
        os.close(file)


@lru_cache(maxsize=64)  # the same for every node of an inventory
def _cpu_list(affinity: tuple[int, ...]) -> str:
    """CPU numbers as the kernel writes them, of the words of an affinity mask: 0-55,112-167."""
    cpus = [64 * number + bit for number, word in enumerate(affinity) for bit in range(64) if word >> bit & 1]
    spans: list[list[int]] = []
    for cpu in cpus:
        if spans and spans[-1][1] == cpu - 1:
            spans[-1][1] = cpu
        else:
            spans.append([cpu, cpu])
    return ",".join(f"{low}-{high}" if high > low else str(low) for low, high in spans)


def sync(root: Path, state: State) -> None:
    """Make the capability files of MIG match the live instances of `state`, as the driver does.

    Call it after GPU or compute instances came or went; files of instances that are gone are removed.
    """
    proc, dev = root / "proc" / "driver" / "nvidia" / "capabilities", root / "dev" / "nvidia-caps"
    wanted: dict[Path, int] = {}
    for index in range(state.gpu_count):
        gpu = state.gpus[index]
        minor = int(get_field(gpu, "minor_number")[0])
        for gi, instance in enumerate(gpu.instances):
            if not instance.used:
                continue
            folder = proc / f"gpu{minor}" / "mig" / f"gi{gi}"
            wanted[folder / "access"] = gi_minor(minor, gi)
            for ci, compute in enumerate(instance.compute):
                if compute.used:
                    wanted[folder / f"ci{ci}" / "access"] = gi_minor(minor, gi) + 1 + ci
    # Stale files first: a folder that is still needed keeps at least one file.
    for path in sorted(proc.glob("gpu*/mig/**/access"), reverse=True):
        if path not in wanted:
            path.unlink()
    # Deepest first, so that a folder is empty once its subfolders are gone.
    for folder in sorted(proc.glob("gpu*/**/"), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()
    for path, minor in wanted.items():
        if not path.exists():
            _capability(path, minor)
    devices = {f"nvidia-cap{minor}" for minor in (CAP_MIG_CONFIG, CAP_MIG_MONITOR, *wanted.values())}
    for file in dev.iterdir():
        if file.name not in devices:
            file.unlink()
    for minor in wanted.values():
        if not (dev / f"nvidia-cap{minor}").exists():
            _device(dev / f"nvidia-cap{minor}", MAJOR_CAPS, minor)


def _device(path: Path, major: int, minor: int) -> None:
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(major, minor))
    except OSError:  # no CAP_MKNOD, or a filesystem without devices
        path.touch(mode=0o666)


def _gpu_information(proc: Path, state: State, index: int, minor: int) -> None:
    gpu = state.gpus[index]
    bus = f"{gpu.domain:04x}:{gpu.bus:02x}:{gpu.device:02x}.0"
    folder = proc / "gpus" / bus
    folder.mkdir(parents=True)
    text = {name: get_field(gpu, name)[0] for name in ("name", "uuid", "vbios_version", "irq_number")}
    (folder / "information").write_text(
        f"Model: \t\t {text['name']}\nIRQ:   \t\t {text['irq_number']}\nGPU UUID: \t {text['uuid']}\n"
        f"Video BIOS: \t {str(text['vbios_version']).lower()}\nBus Type: \t PCIe\nDMA Size: \t 52 bits\n"
        f"DMA Mask: \t 0xfffffffffffff\nBus Location: \t {bus}\nDevice Minor: \t {minor}\n"
        f"GPU Firmware: \t {state.driver_version.text.decode()}\nGPU Excluded:\t No\n",
        encoding="utf-8",
    )


def _capability(path: Path, minor: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"DeviceFileMinor: {minor}\nDeviceFileMode: 256\nDeviceFileModify: 1\n", encoding="ascii")


@lru_cache(maxsize=8)  # a thousand lines, the same for each node with that many GPUs
def _mig_minors(gpus: tuple[int, ...]) -> str:
    rows = [f"config {CAP_MIG_CONFIG}", f"monitor {CAP_MIG_MONITOR}"]
    for gpu in gpus:
        for gi in range(GI_PER_GPU):
            rows.append(f"gpu{gpu}/gi{gi}/access {gi_minor(gpu, gi)}")
            rows.extend(f"gpu{gpu}/gi{gi}/ci{ci}/access {gi_minor(gpu, gi) + 1 + ci}" for ci in range(CAPS_PER_GI - 1))
    return "\n".join(rows) + "\n"
