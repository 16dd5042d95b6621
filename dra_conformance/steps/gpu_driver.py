"""GPUs as PCI devices of a fake node, and starts of the driver gpu.nvidia.com that must fail.

The /sys tree and its kernel are simulations (`fake_nvml.pci_kernel`); they belong to the scenario's node.
"""

from __future__ import annotations

import os
from pathlib import Path

from dra_api.quantity import Quantity
from dra_conformance.components import fake_root
from dra_conformance.components.node import ScenarioNode
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import World, in_words
from dra_conformance.steps.driver_calls import kill_while
from dra_conformance.steps.gpu_devices import of_type
from dra_conformance.steps.node_faults import pci_address, sysfs_link

GIB = 1 << 30


def pci_bus(node: ScenarioNode) -> Path:
    """Return the PCI bus of the node's /sys."""
    return Path(node.gpus.driver_root) / "sys/bus/pci"


@given('node "{node}" has an IOMMU with the {interface:word} interface')
def _(world: World, node: str, interface: str) -> None:
    """Give the fake node an IOMMU group for each GPU and the module vfio-pci; IOMMUFD adds /dev/iommu to VFIO."""
    # Imported here: with --nvml real nothing is simulated.
    from fake_nvml import pci_kernel

    if interface not in ("VFIO", "IOMMUFD"):
        raise SpecificationError(f"an IOMMU has the interface VFIO or IOMMUFD, not {interface}")
    pci_kernel.add_iommu(world.node(node).gpus.driver_root, iommufd=interface == "IOMMUFD")


@given('node "{node}" has PCI devices that are no NVIDIA GPUs')
def _(world: World, node: str) -> None:
    """Add an NVSwitch and a display adapter of another vendor to /sys, with addresses before those of the GPUs."""
    # Imported here: with --nvml real nothing is simulated.
    from fake_nvml.driver_root import BARS, modalias

    bus = pci_bus(world.node(node))
    for number, (vendor, kind) in enumerate((("0x10de", "0x068000"), ("0x1a03", "0x030000"))):
        address = f"0000:{number + 1:02x}:00.0"
        folder = bus.parents[1] / "devices/pci0000:00" / address
        folder.mkdir(parents=True)
        files = {
            "vendor": vendor,
            "device": "0x22a3",
            "class": kind,
            "numa_node": "0",
            "resource": BARS,
            "modalias": modalias(0x22A3 << 16 | int(vendor, 16), 0, int(kind, 16)),
        }
        for name, text in files.items():
            (folder / name).write_text(f"{text}\n")
        (bus / "devices" / address).symlink_to(os.path.relpath(folder, bus / "devices"))


@given('node "{node}" has an empty list of IOMMU groups')
def _(world: World, node: str) -> None:
    """Add the folder iommu_groups without groups, as on a kernel with its IOMMU switched off."""
    (pci_bus(world.node(node)).parents[1] / "kernel/iommu_groups").mkdir(parents=True)


_BAR = 0x14220C
"""The flags of a BAR for memory with 64-bit addresses, prefetchable."""


@given('GPU {gpu:d} of "{node}" has {name:word} {value:word}')
def _(world: World, gpu: int, node: str, name: str, value: str) -> None:
    """Set a property of a GPU.

    `numa_node`, `resource` and `sriov_numvfs` are files in sysfs (`none`: there is no file), `driver` is the kernel's,
    `process` the id of a process that uses the GPU, and the rest are fields of NVML. A `resource` such as 64Gi is the
    size of the only BAR.
    """
    component = world.node(node)
    match name:
        case "numa_node" | "resource" | "sriov_numvfs" if value == "none":
            (sysfs_link(component, gpu) / name).unlink()
            if name == "sriov_numvfs":  # the kernel has both files or neither
                (sysfs_link(component, gpu) / "sriov_totalvfs").unlink()
        case "numa_node" | "sriov_numvfs":
            (sysfs_link(component, gpu) / name).write_text(f"{value}\n")
        case "resource":
            start, size = 1 << 40, int(Quantity.parse(value).value)
            bar = f"0x{start:016x} 0x{start + size - 1:016x} 0x{_BAR:016x}\n"
            (sysfs_link(component, gpu) / name).write_text(bar)
        case "driver":
            bind(component, gpu, value)
        case "addressing_mode" | "persistence_mode" | "virtualization_mode":
            component.gpus.set(gpu, name, int(value))
        case "uuid":
            component.gpus.set(gpu, name, value)
        case "process":
            component.gpus.set_process(gpu, int(value), memory=GIB)
            minor = component.gpus.gpus[gpu].minor
            fake_root.use_device(Path(component.gpus.driver_root), f"nvidia{minor}", int(value))
        case _:
            raise SpecificationError(f"a GPU of a scenario has no {name!r} that can be set")


@given('node "{node}" has the NUMA nodes:')
def _(world: World, node: str, datatable: list[list[str]]) -> None:
    """Add NUMA nodes to /sys, from node 0 on: distances to all nodes, the first of four CPUs (or none), the socket."""
    system = pci_bus(world.node(node)).parents[1] / "devices/system"
    for number, (distances, cpu, socket) in enumerate(datatable[1:]):
        folder = system / f"node/node{number}"
        folder.mkdir(parents=True)
        (folder / "distance").write_text(f"{distances}\n")
        # A node that has memory only has an empty list.
        (folder / "cpulist").write_text(f"{cpu}-{int(cpu) + 3}\n" if cpu != "none" else "\n")
        for one in range(int(cpu), int(cpu) + 4) if cpu != "none" else ():
            topology = system / f"cpu/cpu{one}/topology"
            topology.mkdir(parents=True)
            (topology / "physical_package_id").write_text(f"{socket}\n")


def bind(node: ScenarioNode, gpu: int, driver: str) -> None:
    """Bind a GPU to a kernel driver, as an administrator may have done."""
    # Imported here: with --nvml real nothing is simulated.
    from fake_nvml import pci_kernel

    folder, address = pci_bus(node) / "drivers" / driver, pci_address(node, gpu)
    device = (pci_bus(node) / "devices" / address).resolve()
    if driver == pci_kernel.VFIO:
        (device / "driver_override").write_text(driver)
        for file in (device / "driver/unbind", folder / "bind"):
            file = file.resolve()
            file.write_text(address)
            pci_kernel.apply(file)
        return
    folder.mkdir()
    (device / "driver").unlink()
    # Relative, like the links of the kernel in /sys.
    (device / "driver").symlink_to(os.path.relpath(folder, device))


@then('GPU {gpu:d} of "{node}" is bound to {driver:word}')
def _(world: World, gpu: int, node: str, driver: str) -> None:
    """Its link `driver` in /sys leads to this driver, and driver_override permits it."""
    component = world.node(node)
    folder = pci_bus(component) / "devices" / pci_address(component, gpu)
    link = folder / "driver"
    override = (folder / "driver_override").read_text(encoding="utf-8").strip()
    seen = {"driver": os.path.basename(os.readlink(link)) if link.is_symlink() else "none", "override": override}
    # Linux shows "(null)" for an override that is not set.
    ok = seen["driver"] == driver and override in ("", "(null)", driver)
    expected = f"driver: {driver}; override: {driver} or not set"
    shown = in_words(seen | {"override": "not set" if override in ("", "(null)") else override})
    world.check(ok, f"driver of GPU {gpu}", expected=expected, observed=shown)


@when('the driver on "{node}" is killed while GPU {gpu:d} has no driver for claim "{claim}"')
def _(world: World, node: str, gpu: int, claim: str) -> None:
    """Prepare the claim, and kill the driver's process when it has taken the GPU from its driver in the kernel."""
    component = world.node(node)
    link = sysfs_link(component, gpu) / "driver"
    kill_while(world, node, claim, f"GPU {gpu} has no driver", lambda: not link.is_symlink())


@then('GPU {gpu:d} of "{node}" is in persistence mode')
def _(world: World, gpu: int, node: str) -> None:
    """NVML reports persistence mode 1; a GPU that was bound to its driver again has 0 until it is turned on."""
    mode = world.node(node).gpus.get(gpu, "persistence_mode")
    world.check(mode == 1, f"persistence mode of GPU {gpu}", expected=1, observed=mode)


@then('GPU {gpu:d} of "{node}" is not in persistence mode')
def _(world: World, gpu: int, node: str) -> None:
    """NVML reports persistence mode 0."""
    mode = world.node(node).gpus.get(gpu, "persistence_mode")
    world.check(mode == 0, f"persistence mode of GPU {gpu}", expected=0, observed=mode)


@given('node "{node}" has NVSwitches')
def _(world: World, node: str) -> None:
    """Add an NVSwitch to /proc, whose fabric a Fabric Manager partitions; the node has neither that nor its library."""
    (Path(world.node(node).gpus.driver_root) / "proc/driver/nvidia-nvswitch/devices/0000:07:00.0").mkdir(parents=True)


@then('the vfio devices on "{node}" are in the order of their PCI addresses, each with a uuid of its own')
def _(world: World, node: str) -> None:
    """gpu-vfio-<n> is the GPU with the n-th address; no other device has its uuid."""
    devices = {device["name"]: device["attributes"] for device in of_type(world, node, "vfio")}
    found = [
        devices.get(f"gpu-vfio-{number}", {}).get("resource.kubernetes.io/pciBusID", {}).get("string")
        for number in range(len(devices))
    ]
    uuids = [(a.get("uuid") or {}).get("string") for d in world.node(node).devices() for a in [d["attributes"]]]
    wanted = sorted(map(str, found)) or None
    world.check(bool(found) and found == wanted, "order of devices", expected=wanted, observed=found)
    twice = sorted({str(one) for one in uuids if uuids.count(one) > 1})
    world.check(not twice, "uuids that are not of one device", expected=[], observed=twice)


@then('the driver on "{node}" publishes nothing')
def _(world: World, node: str) -> None:
    """There is no slice of the driver for the node now."""
    names = [device["name"] for device in world.node(node).devices()]
    world.check(not names, "published devices", expected=[], observed=names)


@then('the driver on "{node}" does not start with:')
def _(world: World, node: str, datatable: list[list[str]]) -> None:
    """With the flags of each row (flags, error) the driver ends with an error that has this name; none registers."""
    for flags, name in datatable[1:]:
        check_end(world, node, flags, name)


@then('the driver on "{node}" does not start')
def _(world: World, node: str) -> None:
    """With the flags that it has, the driver ends at its start, and does not register."""
    check_end(world, node, " ".join(world.node(node).flags))


def check_end(world: World, node: str, flags: str, name: str = "") -> None:
    """Check that the driver ends at start by itself, with an error that has a name in it, such as a flag's."""
    component = world.node(node)
    component.flags = tuple(flags.split())
    ended = False
    try:
        component.start_driver()
        component.wait_driver()
        observed = "it registered"
    except Untestable as error:
        observed, ended = str(error), component.ended_by_itself
    component.stop_driver()
    what = f"the driver does not start{f' with {flags}' if flags else ''}"
    expected = f"an end with an error{f' that has {name}' if name else ''}"
    world.check(ended and name in observed, what, expected=expected, observed=observed)
