"""What a driver under test sees of a fake node, when its command has the word `{driver_root}`.

The driver root of a fake node has what an installation of NVIDIA's driver has. Programs of other people also use
absolute paths, such as `/sys` and `/proc/devices`; they run in a mount namespace with the files of the fake node there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

from dra_conformance.components.fake_executable import FakeExecutable
from dra_conformance.core.isolation import Isolation

NVIDIA_SMI = """#!/bin/sh
[ ! -e "$0.fails" ] || { echo refused; exit 3; }
[ ! -e "$0.refuses" ] || case "$*" in *"$(cat "$0.refuses")"*) echo refused; exit 3;; esac
echo "$@" >> "$0.log"
"""
"""A script that logs its arguments and changes no hardware. A run that fails sets nothing and is not logged.

The file `$0.refuses` has the uuid of a GPU for which each run fails.
"""

BOOT_ID = "proc/sys/kernel/random/boot_id"
"""The kernel's id of this boot, which a step changes for a reboot of the fake node."""

SHOWN = ("proc/devices", "proc/driver", BOOT_ID, "sys", "lib/modules")
"""Paths of the driver root that a driver sees below `/` too."""

_DEVICES = ("dev/vfio", "dev/iommu")
"""The same on a node with an IOMMU."""

_FUSER = """#!/bin/sh
# fuser, simulated: the file fuser.users has the devices that processes have open.
found=1
[ ! -e "$0.users" ] || while read -r device process; do
    [ "${1##*/}" != "$device" ] || { echo "$1: $process"; found=0; }
done < "$0.users"
exit $found
"""
_ALIASES = "alias vfio_pci:v*d*sv*sd*bc*sc*i* vfio_pci\nalias pci:v000010DEd*sv*sd*bc03sc02i00* nvidia\n"


def complete(root: Path) -> None:
    """Add what programs of other people need of an installation: nvidia-smi, libcuda and the list of kernel modules.

    libcuda is an empty file: libraries before nvidia-container-toolkit 1.19 look for it to find the driver's files, and
    no driver under test calls CUDA.

    Does nothing the second time: a scenario may have moved or removed files.
    """
    modules = root / "lib/modules" / os.uname().release
    if modules.exists():
        return
    smi = FakeExecutable(root / "usr/bin/nvidia-smi")
    if not smi.path.exists():
        smi.install(NVIDIA_SMI)
    for library in sorted((root / "usr/lib64").glob("libnvidia-ml.so.*.*")):
        (library.parent / library.name.replace("libnvidia-ml", "libcuda")).touch()
    boot_id = root / BOOT_ID
    if not boot_id.exists():
        boot_id.parent.mkdir(parents=True)
        boot_id.write_bytes(Path("/", BOOT_ID).read_bytes())
    if (root / "dev/vfio").exists():
        FakeExecutable(root / "usr/bin/fuser").install(_FUSER)
    modules.mkdir(parents=True)
    (modules / "modules.alias").write_text(_ALIASES)


def add_shell(root: Path) -> None:
    """Copy /bin/sh with its libraries into the driver root: some drivers change their root before they run programs."""
    for source in _shell():
        target = root / source.relative_to("/")
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)


@cache
def _shell() -> tuple[Path, ...]:
    """Return /bin/sh and the libraries that ldd lists for it; the shell alone if it needs none."""
    try:
        listed = subprocess.run(["ldd", "/bin/sh"], check=False, capture_output=True, text=True, timeout=10.0).stdout
    except (OSError, subprocess.SubprocessError):
        listed = ""
    return (Path("/bin/sh"), *(Path(word) for word in listed.split() if word.startswith("/")))


def use_device(root: Path, device: str, process: int) -> None:
    """Let the simulated fuser report that a process has a device file open."""
    users = root / "usr/bin/fuser.users"
    users.parent.mkdir(parents=True, exist_ok=True)
    with users.open("a") as file:
        file.write(f"{device} {process}\n")


def environment(root: Path) -> dict[str, str]:
    """Return what a driver needs to find the programs of the fake node."""
    return {"PATH": f"{root / 'usr/bin'}:{os.environ.get('PATH') or os.defpath}"}


def give(isolation: Isolation, folder: Path) -> None:
    """Let a driver of another user change the node as root can: create MIG devices, write to `bind` in /sys."""
    if isolation.mode != "user":
        return
    for path, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.lchown(os.path.join(path, name), isolation.uid, isolation.uid)
    os.chown(folder, isolation.uid, isolation.uid)


def shown_mounts(root: Path) -> list[tuple[Path, Path]]:
    """Return the mounts that show paths of the driver root below `/`."""
    paths = [*SHOWN, *(path for path in _DEVICES if (root / path).exists())]
    return [(root / path, Path("/", path)) for path in paths]
