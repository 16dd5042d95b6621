"""GPUs that are handed to virtual machines: their PCI devices in the fake node's /sys, and who has them.

The tree and its kernel are simulations (`fake_nvml.pci_kernel`); they belong to the scenario's node and go with it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from dra_api.objects import Obj
from dra_api.quantity import Quantity
from dra_conformance.core import manifests
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World
from dra_conformance.kubelet import CDIRegistry
from dra_conformance.kubelet.errors import CDIError
from dra_conformance.steps.claims import allocate_by_hand, claim_object, claim_spec, driver_class
from dra_conformance.steps.driver_calls import answer_for
from dra_conformance.steps.gpu_driver import full_gpus

VFIO_TYPES = {
    "type": "string",
    "uuid": "string",
    "vendorID": "string",
    "deviceID": "string",
    "productName": "string",
    "iommuFDEnabled": "bool",
    "resource.kubernetes.io/pciBusID": "string",
}


@given('node "{node}" has an IOMMU')
def _(world: World, node: str) -> None:
    """Give the fake node one group a GPU and the module vfio-pci; its kernel is a simulation."""
    add_iommu(world, node, iommufd=False)


@given('node "{node}" has an IOMMU with IOMMUFD')
def _(world: World, node: str) -> None:
    """The same with the newer interface, /dev/iommu."""
    add_iommu(world, node, iommufd=True)


def add_iommu(world: World, node: str, *, iommufd: bool) -> None:
    """Extend the driver root of the node's fake GPUs."""
    from fake_nvml import pci_kernel

    pci_kernel.add_iommu(world.node(node).gpus.driver_root, iommufd=iommufd)


def bus(world: World, node: str) -> Path:
    """The PCI bus of the node's /sys."""
    root: Path = world.node(node).gpus.driver_root
    return root / "sys/bus/pci"


def address_of(world: World, node: str, gpu: int) -> str:
    """A GPU's PCI address as Linux writes it."""
    found: str = world.node(node).gpus.gpus[gpu].bus_id
    return found.lower()[4:]


# -- what others do to a GPU -------------------------------------------------------------------------------------------


@when('the kernel of "{node}" refuses to bind GPU {gpu:d} to vfio-pci')
def _(world: World, node: str, gpu: int) -> None:
    """Let writes to vfio-pci's `bind` fail with EBUSY for this GPU."""
    (bus(world, node) / "drivers/vfio-pci/refuses").write_text(address_of(world, node, gpu))


@when('the kernel of "{node}" binds every GPU to vfio-pci again')
def _(world: World, node: str) -> None:
    """Let them succeed."""
    (bus(world, node) / "drivers/vfio-pci/refuses").unlink()


@given('GPU {gpu:d} of "{node}" has {count:d} virtual functions')
def _(world: World, gpu: int, node: str, count: int) -> None:
    """Set sriov_numvfs of a GPU."""
    (bus(world, node) / "devices" / address_of(world, node, gpu) / "sriov_numvfs").write_text(f"{count}\n")


@given('GPU {gpu:d} of "{node}" is bound to another driver')
def _(world: World, gpu: int, node: str) -> None:
    """Bind a GPU to nouveau, as an administrator may have."""
    folder, address = bus(world, node), address_of(world, node, gpu)
    (folder / "drivers/nouveau").mkdir()
    link = folder / "devices" / address / "driver"
    (link.parent.resolve() / "driver").unlink()
    (link.parent.resolve() / "driver").symlink_to(os.path.relpath(folder / "drivers/nouveau", link.parent.resolve()))


@given('process {pid:d} computes on GPU {gpu:d} of "{node}"')
def _(world: World, pid: int, gpu: int, node: str) -> None:
    """NVML shows a process that holds 1 GiB of a GPU."""
    world.node(node).gpus.set_process(gpu, pid, memory=1 << 30)


# -- claims ------------------------------------------------------------------------------------------------------------


@given('a ResourceClaim "{claim}" allocated the devices "{devices}" on "{node}" with the parameters:')
def _(world: World, claim: str, devices: str, node: str, datatable: list[list[str]]) -> None:
    """A hand-written allocation to devices by name, a request for each with its own parameters (YAML) of the table."""
    requests = [f"device-{position}" for position, _ in enumerate(words(devices))]
    spec = claim_spec(driver_class(world))
    spec["devices"]["requests"] = [{**spec["devices"]["requests"][0], "name": name} for name in requests]
    world.create(claim_object(world, claim, spec))
    driver = world.run.options.driver_name
    results = [
        {"request": request, "driver": driver, "pool": world.name(node), "device": device}
        for request, device in zip(requests, words(devices), strict=True)
    ]
    config = [
        {
            "source": "FromClaim",
            "requests": [request],
            "opaque": {"driver": driver, "parameters": manifests.parse_value(row[0])},
        }
        for request, row in zip(requests, datatable[1:], strict=True)
    ]
    allocate_by_hand(world, claim, world.name(node), results, config=config)


# -- what is seen ------------------------------------------------------------------------------------------------------


def passed_through(world: World, node: str) -> list[Obj]:
    """The published devices that are GPUs to pass through."""
    return [
        device
        for device in world.node(node).devices()
        if ((device.get("attributes") or {}).get("type") or {}).get("string") == "vfio"
    ]


@then('every GPU on "{node}" is published a second time, to be passed through')
def _(world: World, node: str) -> None:
    """For each GPU there is a device gpu-vfio-<n> of its PCI address, with its attributes, ids and memory."""
    wrong: dict[str, object] = {}
    for device in passed_through(world, node):
        attributes: dict[str, Any] = device.get("attributes") or {}
        bad = [name for name, kind in VFIO_TYPES.items() if kind not in (attributes.get(name) or {})]
        value = ((device.get("capacity") or {}).get("addressableMemory") or {}).get("value")
        if bad or value is None or Quantity.parse(str(value)).value <= 0 or not device["name"].startswith("gpu-vfio-"):
            wrong[device["name"]] = {"attributes": bad, "addressableMemory": value}
    key = "resource.kubernetes.io/pciBusID"
    wanted = sorted(device["attributes"][key]["string"] for device in full_gpus(world, node))
    told = sorted(device["attributes"][key]["string"] for device in passed_through(world, node))
    ok = bool(wanted) and told == wanted and not wrong
    world.check(ok, "devices to pass through", expected=wanted, observed=wrong or told)


@then('no GPU on "{node}" is published to be passed through')
def _(world: World, node: str) -> None:
    """There are GPUs, and no device of type vfio."""
    told = [device["name"] for device in passed_through(world, node)]
    ok = not told and bool(full_gpus(world, node))
    world.check(ok, "devices to pass through", expected="none beside GPUs", observed=told or "no GPU")


@then('the driver on "{node}" comes to publish "{there}" and not "{gone}"')
def _(world: World, node: str, there: str, gone: str) -> None:
    """The slices come to hold the first devices (comma-separated) and none of the others; `none` stands for none."""

    def look() -> Seen:
        told = {device["name"] for device in world.node(node).devices()}
        ok = set(words(there)) <= told and not set(words(gone)) & told
        return ok, sorted(name for name in told if name in {*words(there), *words(gone)}) or "none of them"

    world.eventually("twins of prepared GPUs", look, expected=f"{there}, without {gone}")


@then('GPU {gpu:d} of "{node}" is bound to {driver:word}')
def _(world: World, gpu: int, node: str, driver: str) -> None:
    """Its link `driver` in /sys leads there, and driver_override lets no other driver take it."""
    folder = bus(world, node) / "devices" / address_of(world, node, gpu)
    link = folder / "driver"
    override = (folder / "driver_override").read_text().strip()
    seen = {"driver": os.path.basename(os.readlink(link)) if link.is_symlink() else "none", "override": override}
    ok = seen["driver"] == driver and override in ("", "(null)", driver)
    world.check(ok, f"GPU {gpu}", expected=driver, observed=seen)


@then('GPU {gpu:d} of "{node}" is in persistence mode')
def _(world: World, gpu: int, node: str) -> None:
    """NVML says so; a GPU that got its driver anew is not until somebody switches it on."""
    mode = world.node(node).gpus.get(gpu, "persistence_mode")
    world.check(mode == 1, f"persistence mode of GPU {gpu}", expected=1, observed=mode)


@then('a container with claim "{claim}" on "{node}" would have the device files "{paths}" and no other')
def _(world: World, claim: str, node: str, paths: str) -> None:
    """The device nodes that the claim's CDI devices bring are these; `none` stands for none."""
    registry = CDIRegistry.read(world.node(node).kubelet.cdi_roots)
    try:
        found = registry.resolve(i for device in answer_for(world, claim) for i in device.cdi_device_ids)
    except CDIError as error:
        world.check(False, "CDI ids resolve", expected=paths, observed=str(error))
        return
    edits = [*(device.edits for device in found), *(device.spec.edits for device in found)]
    seen = sorted({raw["path"] for edit in edits for raw in edit.get("deviceNodes") or ()})
    world.check(seen == sorted(words(paths)), f"device files of {claim}", expected=sorted(words(paths)), observed=seen)
