"""Files of the machine that belong to GPUs: /dev, /proc/driver/nvidia and /sys, compared with NVML."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Final

from dra_conformance.core.errors import Untestable
from dra_conformance.steps.nvml_values import Gpu, value
from dra_conformance.steps.proc_devices import character_devices

_PROC: Final = "proc/driver/nvidia"


def pci_address(gpu: Gpu) -> str:
    """Return the PCI address of a GPU as sysfs writes it."""
    # The first four digits of busId are those that sysfs leaves out, as go-nvlib does.
    return str(gpu.nvml.nvmlDeviceGetPciInfo(gpu.handle).busId).lower()[4:]


def _text(path: Path) -> str:
    """Return a file without its line end; a file that is missing, as a text."""
    return path.read_text(encoding="utf-8").rstrip("\n") if path.is_file() else f"{path.name} is missing"


def pci_device(gpu: Gpu) -> Path:
    """Return the folder of a GPU in sysfs. Raises Untestable if the machine hides it."""
    found = gpu.library.root / "sys/bus/pci/devices" / pci_address(gpu)
    if gpu.library.real and not found.is_dir():
        raise Untestable(f"{found} does not exist: this machine hides its PCI devices")
    return found


@value("sysfs folder of busId without its first four digits")
def _(gpu: Gpu) -> object:
    # go-nvlib and the DRA driver find the device in sysfs like this.
    folder = pci_device(gpu)
    return "exists" if folder.exists() else f"{folder.name} does not exist"


@value("sysfs {name:word}")
def _(gpu: Gpu, name: str) -> object:
    return " ".join(_text(pci_device(gpu) / name).split())


@value("PCI device and subsystem by NVML, as sysfs writes them")
def _(gpu: Gpu) -> object:
    pci = gpu.nvml.nvmlDeviceGetPciInfo(gpu.handle)
    numbers = (pci.pciDeviceId, pci.pciSubSystemId)
    return [f"0x{half:04x}" for number in numbers for half in (number & 0xFFFF, number >> 16)]


@value("PCI device and subsystem by sysfs")
def _(gpu: Gpu) -> object:
    return [_text(pci_device(gpu) / name) for name in ("vendor", "device", "subsystem_vendor", "subsystem_device")]


@value("driver of its PCI device")
def _(gpu: Gpu) -> object:
    """Return the driver's name and the address of the device in the driver's folder."""
    link = pci_device(gpu) / "driver"
    driver = link.resolve()
    if not link.is_symlink():
        return "none"
    back = driver / pci_address(gpu)
    return (
        driver.name if back.is_symlink() and back.resolve() == pci_device(gpu).resolve() else f"{driver}: no link back"
    )


@value("GPUs below its PCIe root port")
def _(gpu: Gpu) -> object:
    """Return the indexes of the GPUs whose devices are below the same root port."""
    ports = [pci_device(Gpu(gpu.world, index)).resolve().parent for index in range(gpu.nvml.nvmlDeviceGetCount())]
    return [index for index, port in enumerate(ports) if port == ports[gpu.index]]


@value("PCIe root of its device")
def _(gpu: Gpu) -> object:
    return pci_device(gpu).resolve().parents[1].name


@value("current link speed by NVML")
def _(gpu: Gpu) -> object:
    return f"{gpu.nvml.nvmlDeviceGetPcieSpeed(gpu.handle) / 1000:.1f} GT/s PCIe"


def _information(gpu: Gpu) -> dict[str, str]:
    text = _text(gpu.library.root / _PROC / "gpus" / pci_address(gpu) / "information")
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}


@value("information file of the GPU")
def _(gpu: Gpu) -> object:
    """Return what /proc/driver/nvidia/gpus/*/information says about identities that NVML has as well."""
    found = _information(gpu)
    names = ("Model", "IRQ", "GPU UUID", "Video BIOS", "Bus Location", "Device Minor")
    values = {name: found.get(name, f"no {name}") for name in names}
    return [value.upper() if name == "Video BIOS" else value for name, value in values.items()]


@value("identities of the GPU by NVML")
def _(gpu: Gpu) -> object:
    nvml, handle = gpu.nvml, gpu.handle
    numbers = (nvml.nvmlDeviceGetIrqNum(handle), nvml.nvmlDeviceGetMinorNumber(handle))
    return [
        nvml.nvmlDeviceGetName(handle),
        str(numbers[0]),
        nvml.nvmlDeviceGetUUID(handle),
        nvml.nvmlDeviceGetVbiosVersion(handle).upper(),  # a hexadecimal number, in lower case in /proc
        pci_address(gpu),
        str(numbers[1]),
    ]


@value("files with the driver version that have another one")
def _(gpu: Gpu) -> object:
    version = str(gpu.nvml.nvmlSystemGetDriverVersion())
    texts = {name: _text(gpu.library.root / name) for name in ("sys/module/nvidia/version", f"{_PROC}/version")}
    pattern = re.compile(rf"(?<![0-9.]){re.escape(version)}(?![0-9.])")
    return [f"{name}: {text}" for name, text in texts.items() if not pattern.search(text)]


@value("device files of the driver that are missing")
def _(gpu: Gpu) -> object:
    """Return the control devices that are missing, and the character devices that /proc/devices does not list."""
    folder = gpu.library.root / "dev"
    names = ("nvidiactl", "nvidia-uvm", "nvidia-caps/nvidia-cap1", "nvidia-caps/nvidia-cap2")
    listed = _majors(gpu)
    majors = ("nvidia-frontend", "nvidia-uvm", "nvidia-caps", "nvidia-caps-imex-channels")
    # Drivers before 570 and after it name the front end differently.
    known = {*listed, "nvidia-frontend"} if "nvidia" in listed else set(listed)
    return [name for name in names if not (folder / name).exists()] + [name for name in majors if name not in known]


@value("device files with the numbers of another device")
def _(gpu: Gpu) -> object:
    """Return the character devices whose numbers do not belong to their names; plain files stand for devices."""
    folder, wrong = gpu.library.root / "dev", []
    majors = _majors(gpu)
    control = {"nvidiactl": 255, "nvidia-modeset": 254, "nvidia-uvm": 0, "nvidia-uvm-tools": 1}
    for file in sorted([*folder.glob("nvidia*"), *folder.glob("nvidia-caps/*")]):
        found = re.fullmatch(r"nvidia(?:-cap)?(\d+)", file.name)
        minor = int(found[1]) if found else control.get(file.name)
        status = file.stat()
        if not stat.S_ISCHR(status.st_mode) or minor is None:
            continue
        kind = "nvidia-caps" if "cap" in file.name else "nvidia-uvm" if "uvm" in file.name else "nvidia-frontend"
        expected = (majors.get(kind, 195), minor)
        numbers = (os.major(status.st_rdev), os.minor(status.st_rdev))
        wrong += [f"{file.name} {numbers} instead of {expected}"] if numbers != expected else []
    return wrong


def _majors(gpu: Gpu) -> dict[str, int]:
    return character_devices(_text(gpu.library.root / "proc/devices"))


@value("major number of {name:word}")
def _(gpu: Gpu, name: str) -> object:
    return _majors(gpu).get(name, "not listed")


@value("capability {name:word}")
def _(gpu: Gpu, name: str) -> object:
    """Return the minor number of a capability file, if the table of minors has the same and a device file exists."""
    return _minor(gpu, gpu.library.root / _PROC / "capabilities" / name, name)


@value("file {name:word}")
def _(gpu: Gpu, name: str) -> object:
    """Return the text of a file, its white space reduced to single blanks."""
    return " ".join(_text(gpu.library.root / name).split())


@value("other lines of the information file")
def _(gpu: Gpu) -> object:
    found = _information(gpu)
    return [found.get(name, f"no {name}") for name in ("Bus Type", "DMA Size", "DMA Mask", "GPU Excluded")]


@value("device files that belong to no GPU")
def _(gpu: Gpu) -> object:
    folder = gpu.library.root / "dev"
    return sorted(file.name for file in folder.glob("nvidia*") if not re.fullmatch(r"nvidia\d+", file.name))


@value("device files of GPUs")
def _(gpu: Gpu) -> object:
    files = (re.fullmatch(r"nvidia(\d+)", file.name) for file in (gpu.library.root / "dev").iterdir())
    return sorted(int(found[1]) for found in files if found)


@value("access of capability files")
def _(gpu: Gpu) -> object:
    """Return the different settings of device files in the capability files of all GPUs."""
    texts = [_text(file) for file in (gpu.library.root / _PROC / "capabilities").rglob("*") if file.is_file()]
    return {" ".join(text.split()[2:]) for text in texts}


@value("instances that mig-minors lacks")
def _(gpu: Gpu) -> object:
    """Return the GPU and compute instances that the GPU may have and that have no minor number of their own."""
    rows = dict(line.split() for line in _text(gpu.library.root / "proc/driver/nvidia-caps/mig-minors").splitlines())
    minor = gpu.nvml.nvmlDeviceGetMinorNumber(gpu.handle)
    # Ids of GPU instances are 0 to 14: 1 + 2 + 4 + 8 placements over the eight memory slices.
    names = [f"gpu{minor}/gi{gi}/{part}access" for gi in range(15) for part in ("", *(f"ci{ci}/" for ci in range(8)))]
    numbers = list(rows.values())
    return [name for name in names if name not in rows or numbers.count(rows[name]) != 1]


def _minor(gpu: Gpu, file: Path, name: str) -> str:
    entry = re.search(r"^DeviceFileMinor: (\d+)$", _text(file), re.MULTILINE)
    if entry is None:
        return _text(file)
    table = "mig-minors" if "mig" in Path(name).parts else "sys-minors"
    rows = _text(gpu.library.root / "proc/driver/nvidia-caps" / table).splitlines()
    # The table has gpu0/gi1/access for the file gpu0/mig/gi1/access.
    short = re.sub(r"(^|/)mig/", r"\1", name)
    return entry[1] if f"{short} {entry[1]}" in rows else f"{entry[1]}, but not in {table} for {short}"


@value("MIG capabilities of its instances")
def _(gpu: Gpu) -> object:
    """Return each folder of the GPU's instances with the minor number in its capability file, checked as above."""
    minor = gpu.nvml.nvmlDeviceGetMinorNumber(gpu.handle)
    capabilities = gpu.library.root / _PROC / "capabilities"
    found = []
    for folder in sorted((capabilities / f"gpu{minor}" / "mig").glob("**/[cg]i[0-9]*")):
        name, file = str(folder.relative_to(capabilities / f"gpu{minor}/mig")), folder / "access"
        if not file.exists():
            found.append(f"{name} without access")
            continue
        number = _minor(gpu, file, str(file.relative_to(capabilities)))
        device = gpu.library.root / f"dev/nvidia-caps/nvidia-cap{number}"
        found.append(f"{name} {number}" if device.exists() else f"{name} {number} without {device.name}")
    return found


@value("device files of capabilities that no instance has")
def _(gpu: Gpu) -> object:
    root = gpu.library.root
    texts = [_text(file) for file in (root / _PROC / "capabilities").rglob("*") if file.is_file()]
    wanted = {f"nvidia-cap{number}" for text in texts for number in re.findall(r"DeviceFileMinor: (\d+)", text)}
    return {file.name for file in (root / "dev/nvidia-caps").iterdir()} - wanted


@value("device files of capabilities that several instances have")
def _(gpu: Gpu) -> object:
    files = (gpu.library.root / _PROC / "capabilities").rglob("access")
    minors = [number for file in files for number in re.findall(r"DeviceFileMinor: (\d+)", _text(file))]
    return {number for number in minors if minors.count(number) > 1}
