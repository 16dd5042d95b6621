"""The simulated kernel below the fake NVML: PCI drivers, IOMMU groups and the files of vfio."""

from __future__ import annotations

import errno
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import orjson

from dra_conformance.core.isolation import Isolation, no_mounts
from dra_conformance.engine.vocabulary import given, then
from dra_conformance.engine.world import World
from dra_conformance.steps.nvml_files import pci_address, pci_device
from dra_conformance.steps.nvml_values import Gpu, value
from fake_nvml import bind_files, pci_kernel

_SECONDS: Final = 60.0
_WRITER: Final = """
import errno, json, os, sys
said = []
for name, text in json.loads(sys.argv[1]):
    path, code = "/sys/bus/pci/" + name, "OK"
    is_driver_file = name.rpartition("/")[2] in ("bind", "unbind")
    file = os.open(path, os.O_RDWR | os.O_TRUNC | (0 if is_driver_file else os.O_CREAT))
    try:
        written = os.write(file, text.encode())
        os.fsync(file)
        if written != len(text):
            code = f"{written} bytes"
    except OSError as error:
        code = errno.errorcode.get(error.errno, str(error))
    if is_driver_file:
        code += os.pread(file, 100, 0).decode()
        if oct(os.fstat(file).st_mode) != "0o100644":
            code += oct(os.fstat(file).st_mode)
    os.close(file)
    said.append(code)
print(json.dumps(said))
"""
"""A program that writes texts to files below /sys/bus/pci, and prints the outcome of each write."""


@given("its node has an IOMMU")
def _(world: World) -> None:
    """Give the fake node an IOMMU group for each GPU and the module vfio-pci."""
    pci_kernel.add_iommu(world.nvml().node.driver_root)


@given("its node has an IOMMU with iommufd")
def _(world: World) -> None:
    """Give the fake node an IOMMU group for each GPU, the module vfio-pci and /dev/iommu."""
    pci_kernel.add_iommu(world.nvml().node.driver_root, iommufd=True)


@then("these writes below sys/bus/pci return")
def _(world: World, datatable: list[list[str]]) -> None:
    """Write a text to a file and let the simulated kernel act; columns: file, text, returns (OK or an errno).

    `GPU 1` stands for the PCI address of that GPU. A file `bind` or `unbind` is empty afterwards.
    """
    library = world.nvml()
    for name, text, returns in datatable[1:]:
        outcome = _written(library.root / "sys/bus/pci" / _named(world, name), _named(world, text))
        world.check(outcome == returns, f"{text} to {name}", expected=returns, observed=outcome)


@then("these writes of a program that has the files mounted return")
def _(world: World, datatable: list[list[str]]) -> None:
    """Let a program in a mount namespace write the texts; columns and placeholders as for writes below sys/bus/pci.

    Each write to `bind` or `unbind` acts before it returns. Without root and /dev/fuse nothing can be mounted: then the
    writes are made in this process, and the simulated kernel acts after each, as for a driver on such a machine.
    """
    library = world.nvml()
    rows = [[_named(world, cell) for cell in row[:2]] for row in datatable[1:]]
    if bind_files.available() and not no_mounts(Isolation()):
        observed = _written_by_program(library.root / "sys", world.run.components.work / f"view{world.suffix}", rows)
    else:
        observed = [_written(library.root / "sys/bus/pci" / name, text) for name, text in rows]
    for (name, text, returns), outcome in zip(datatable[1:], observed, strict=True):
        world.check(outcome == returns, f"{text} to {name}", expected=returns, observed=outcome)


def _written_by_program(sys_folder: Path, view: Path, rows: list[list[str]]) -> list[str]:
    view.mkdir(parents=True, mode=0o700)
    served = bind_files.BindFiles(sys_folder)
    try:
        files = [(one, Path("/sys") / path.relative_to(sys_folder)) for one, path in served.connections.items()]
        shown = Isolation().with_mounts([(sys_folder, Path("/sys"))], view=view)
        command = shown.with_fuse(files, bind_files.OPTIONS).command(
            [sys.executable, "-I", "-S", "-c", _WRITER, orjson.dumps(rows).decode()]
        )
        done = subprocess.run(
            command, capture_output=True, timeout=_SECONDS, check=False, pass_fds=tuple(served.connections)
        )
    except subprocess.TimeoutExpired:
        return [f"no answer in {_SECONDS:.0f} s"] * len(rows)
    finally:
        served.close()
    said = done.stderr.decode(errors="replace").strip().splitlines()
    found: list[str] = orjson.loads(done.stdout) if done.returncode == 0 else [said[-1]] * len(rows)
    return found


def _named(world: World, text: str) -> str:
    return re.sub(r"GPU (\d)", lambda found: pci_address(Gpu(world, int(found[1]))), text)


def _written(file: Path, text: str) -> str:
    file.write_text(text + "\n")
    if file.name not in ("bind", "unbind"):
        return "OK"
    outcome = "OK"
    try:
        pci_kernel.apply(file)
    except OSError as error:
        outcome = errno.errorcode.get(error.errno or 0, str(error))
    return outcome + file.read_text(encoding="utf-8")


@value("IOMMU group of its PCI device")
def _(gpu: Gpu) -> object:
    """Return the number of the group, and the GPUs in it by PCI address."""
    group = (pci_device(gpu) / "iommu_group").resolve()
    inside = sorted(path.name for path in (group / "devices").iterdir() if path.resolve() == pci_device(gpu).resolve())
    return f"{group.relative_to(gpu.library.root.resolve())} {' '.join(inside)}"


@value("files of vfio")
def _(gpu: Gpu) -> object:
    dev = gpu.library.root / "dev"
    found = [*dev.glob("iommu"), *dev.glob("vfio/**/*"), *pci_device(gpu).glob("vfio-dev/*")]
    return sorted(path.name if path.parent.name == "vfio-dev" else str(path.relative_to(dev)) for path in found)


@value("sysfs module {name:word}")
def _(gpu: Gpu, name: str) -> object:
    return "exists" if (gpu.library.root / "sys/module" / name).is_dir() else "missing"


@value("whether its kernel is simulated")
def _(gpu: Gpu) -> object:
    return pci_kernel.is_simulated(gpu.library.root / "sys")
