"""The simulated kernel below the fake NVML: PCI drivers, IOMMU groups and the files of vfio."""

from __future__ import annotations

import errno
import re
from pathlib import Path

from dra_conformance.engine.vocabulary import given, then
from dra_conformance.engine.world import World
from dra_conformance.steps.nvml_files import pci_address, pci_device
from dra_conformance.steps.nvml_values import Gpu, value
from fake_nvml import pci_kernel


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

    def named(text: str) -> str:
        return re.sub(r"GPU (\d)", lambda found: pci_address(Gpu(world, int(found[1]))), text)

    for name, text, returns in datatable[1:]:
        file: Path = library.root / "sys/bus/pci" / named(name)
        file.write_text(named(text) + "\n")
        outcome = "OK"
        if file.name in ("bind", "unbind"):
            try:
                pci_kernel.apply(file)
            except OSError as error:
                outcome = errno.errorcode.get(error.errno or 0, str(error))
            outcome += file.read_text(encoding="utf-8")
        world.check(outcome == returns, f"{text} to {name}", expected=returns, observed=outcome)


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
