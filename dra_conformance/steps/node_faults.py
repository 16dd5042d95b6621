"""Faults of a node: files, programs, kernel modules and NVML calls that fail until the node recovers.

Faults change the fake node of the scenario (or the driver's process) from outside and end with it. A fault is a pair of
functions; its name may have numbers, such as the index of a GPU.
"""

from __future__ import annotations

import fcntl
import os
import re
import resource
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from dra_conformance.components.node import ScenarioNode
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.engine.vocabulary import given, when
from dra_conformance.engine.world import World
from dra_conformance.steps.fake_programs import SCRIPTS, imex_control, mps_control, nvidia_smi

CHANNEL_MODULE = "nvidia-caps-imex-channels"
FABRIC_NOT_SUPPORTED, FABRIC_NOT_STARTED, FABRIC_IN_PROGRESS = range(3)
"""The first values of nvmlGpuFabricState_t."""
NVML_ERROR_UNKNOWN = 999


@dataclass(slots=True)
class HeldLocks:
    """Files that a scenario holds a lock on, by node."""

    of_node: dict[str, list[IO[str]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NodeFault:
    """How a node gets a fault, and how it recovers. Both functions get the world, the node and the name's numbers."""

    begin: Callable[..., object]
    end: Callable[..., object] | None = None


def hide_cdi_folder(_world: World, node: ScenarioNode) -> None:
    """Put a plain file in the place of the CDI folder, and the folder aside with its specifications."""
    root = node.kubelet.cdi_roots[0]
    # Not by permissions, which do not stop a driver that runs as root.
    if root.is_dir():
        root.rename(root.with_name(f"{root.name}-aside"))
    root.touch()


def restore_cdi_folder(_world: World, node: ScenarioNode) -> None:
    """Put the CDI folder back."""
    root = node.kubelet.cdi_roots[0]
    root.unlink()
    aside = root.with_name(f"{root.name}-aside")
    if aside.is_dir():
        aside.rename(root)


def limit_files(node: ScenarioNode, size: int) -> None:
    """Limit the size in bytes of files that the driver's process may write (RLIMIT_FSIZE).

    With 0 each write fails as on a full disk. Raises Untestable if the limit cannot be set.
    """
    pid = node.driver_process.pid or 0
    try:
        # Only the soft limit changes: a process without privileges could not raise the hard one again.
        if node.driver_process.isolation.mode == "user":
            # As the driver's user: root without CAP_SYS_RESOURCE may not limit processes of others.
            soft = "unlimited" if size == resource.RLIM_INFINITY else str(size)
            words = ["prlimit", "--pid", str(pid), f"--fsize={soft}:"]
            subprocess.run(node.driver_process.isolation.plain.command(words), check=True, capture_output=True)
        else:
            _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, hard))
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise Untestable(f"the driver's process cannot be limited: {error}") from error


def take_plugin_lock(world: World, node: ScenarioNode) -> None:
    """Lock the driver's lock files, as a second plugin of the node does; NVIDIA's driver has pu.lock and cp.lock.

    Raises Untestable if the driver has none; one that has prepared a claim has made it.
    """
    paths = sorted((node.kubelet.plugins_dir / node.driver_name).glob("*.lock"))
    if not paths:
        raise Untestable("the driver's plugin folder has no file *.lock")
    for path in paths:
        file = path.open("a+")
        world.run.isolation.give(path)
        world.cleanup.callback(file.close)
        fcntl.flock(file, fcntl.LOCK_EX)
        world.state(HeldLocks).of_node.setdefault(node.alias, []).append(file)


def release_plugin_lock(world: World, node: ScenarioNode) -> None:
    """Unlock the files by closing them."""
    for file in world.state(HeldLocks).of_node.pop(node.alias):
        file.close()


def library_folder(node: ScenarioNode) -> Path:
    """Return the folder of the driver's libraries in the node's driver root."""
    return Path(node.gpus.driver_root) / "usr/lib64"


def hide_libraries(_world: World, node: ScenarioNode) -> None:
    """Rename the libraries whose names have the driver's version."""
    for path in library_folder(node).glob("lib*.so.*"):
        # Links to the libraries stay, and lead nowhere until the libraries are back.
        if not path.is_symlink():
            path.rename(path.with_name(f"aside-{path.name}"))


def restore_libraries(_world: World, node: ScenarioNode) -> None:
    """Give the libraries their names back."""
    for path in library_folder(node).glob("aside-*"):
        path.rename(path.with_name(path.name.removeprefix("aside-")))


def make_files_plain(_world: World, node: ScenarioNode) -> None:
    """Replace the device files by plain files, which is all that a node without root privileges can have."""
    for path in (Path(node.gpus.driver_root) / "dev").rglob("*"):
        if path.is_char_device():
            path.unlink()
            path.touch()


def pci_address(node: ScenarioNode, gpu: int) -> str:
    """Return the PCI address of a GPU as Linux writes it."""
    # NVML's PCI domain has eight digits, that of Linux has four.
    return str(node.gpus.gpus[gpu].bus_id).lower()[4:]


def sysfs_link(node: ScenarioNode, gpu: int) -> Path:
    """Return the link of a GPU in sysfs. Raises Untestable if the fake node has none."""
    link = Path(node.gpus.driver_root) / "sys/bus/pci/devices" / pci_address(node, gpu)
    if not link.is_symlink():
        raise Untestable(f"the fake node has no {link}")
    return link


def rejected_file(node: ScenarioNode) -> Path:
    """Return the file that tells the simulated kernel which GPU vfio-pci rejects (EBUSY)."""
    return Path(node.gpus.driver_root) / "sys/bus/pci/drivers/vfio-pci/refuses"


def bind_of_vfio(node: ScenarioNode) -> Path:
    """Return the file of the driver vfio-pci that binds a GPU."""
    return Path(node.gpus.driver_root) / "sys/bus/pci/drivers/vfio-pci/bind"


def hang_bind(_world: World, node: ScenarioNode) -> None:
    """Put a pipe in the place of vfio-pci's file `bind`: a program that opens it for writing waits for a reader."""
    file = bind_of_vfio(node)
    file.rename(file.with_name("bind-aside"))
    os.mkfifo(file)


def restore_bind(_world: World, node: ScenarioNode) -> None:
    """Put the file back."""
    file = bind_of_vfio(node)
    file.with_name("bind-aside").replace(file)


def remove_channel_module(_world: World, node: ScenarioNode) -> None:
    """Remove nvidia-caps-imex-channels from /proc/devices of the fake node."""
    table = Path(node.gpus.driver_root) / "proc/devices"
    lines = table.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if CHANNEL_MODULE not in line]
    if kept == lines:
        raise Untestable(f"{table} does not list {CHANNEL_MODULE}, so it cannot be removed")
    table.write_text("".join(kept))


def set_on_all_gpus(node: ScenarioNode, name: str, value: int) -> None:
    """Change a value of every GPU of the node."""
    for index in range(len(node.gpus.gpus)):
        node.gpus.set(index, name, value)


def set_on_last_gpu(**values: object) -> Callable[[World, ScenarioNode], object]:
    """Return a fault that changes values of the node's last GPU only; the others keep theirs."""

    def begin(_world: World, node: ScenarioNode) -> None:
        for name, value in values.items():
            node.gpus.set(len(node.gpus.gpus) - 1, name, value)

    return begin


def broken_imex_control(node: ScenarioNode) -> Path:
    """Return the file that lets the node's nvidia-imex-ctl print READY and exit with 1."""
    return Path(f"{imex_control(node).path}.breaks")


def refused_gpu(node: ScenarioNode) -> Path:
    """Return the file with the uuid of the GPU for which the node's nvidia-smi fails."""
    return Path(f"{nvidia_smi(node).path}.refuses")


def dying_daemon(node: ScenarioNode) -> Path:
    """Return the file that lets each MPS control daemon of the node end right after its start."""
    return Path(f"{mps_control(node).path}.dies")


def break_links(_world: World, node: ScenarioNode) -> None:
    """Bring every NVLink of the node's last GPU down. Raises Untestable if it has none."""
    gpu = len(node.gpus.gpus) - 1
    count = node.gpus.get(gpu, "nvlink_count")
    if not isinstance(count, int) or not count:
        raise Untestable(f"GPU {gpu} of the fake node has no NVLinks")
    for link in range(count):
        node.gpus.set_link(gpu, link, active=False)


def inject(function: str, error: str) -> Callable[[World, ScenarioNode], object]:
    """Return a fault that makes an NVML function return an error on the node."""

    def begin(_world: World, node: ScenarioNode) -> object:
        return node.gpus.inject_fault(function, error=error)

    return begin


FAULTS: dict[str, NodeFault] = {
    "CDI folder not writable": NodeFault(hide_cdi_folder, restore_cdi_folder),
    "disk full": NodeFault(
        lambda _world, node: limit_files(node, 0), lambda _world, node: limit_files(node, resource.RLIM_INFINITY)
    ),
    "plugin lock held by another process": NodeFault(take_plugin_lock, release_plugin_lock),
    "driver libraries missing": NodeFault(hide_libraries, restore_libraries),
    "nvidia-smi fails": NodeFault(
        lambda _world, node: nvidia_smi(node).fail(), lambda _world, node: nvidia_smi(node).work()
    ),
    r"nvidia-smi fails for GPU (\d+)": NodeFault(
        lambda _world, node, gpu: refused_gpu(node).write_text(str(node.gpus.get(gpu, "uuid"))),
        lambda _world, node, _gpu: refused_gpu(node).unlink(),
    ),
    "nvidia-smi missing": NodeFault(
        lambda _world, node: nvidia_smi(node).path.unlink(missing_ok=True),
        lambda _world, node: nvidia_smi(node).install(SCRIPTS["nvidia-smi"]),
    ),
    "nvidia-cuda-mps-control fails": NodeFault(
        lambda _world, node: mps_control(node).fail(), lambda _world, node: mps_control(node).work()
    ),
    "MPS control daemons die": NodeFault(
        lambda _world, node: dying_daemon(node).touch(), lambda _world, node: dying_daemon(node).unlink()
    ),
    "nvidia-imex not ready": NodeFault(
        lambda _world, node: imex_control(node).fail(), lambda _world, node: imex_control(node).work()
    ),
    "nvidia-imex-ctl fails": NodeFault(
        lambda _world, node: broken_imex_control(node).touch(), lambda _world, node: broken_imex_control(node).unlink()
    ),
    "plain files in place of device files": NodeFault(make_files_plain),
    r"(/dev/\S+) missing": NodeFault(lambda _world, node, path: Path(f"{node.gpus.driver_root}{path}").unlink()),
    "vfio-pci hangs": NodeFault(hang_bind, restore_bind),
    r"vfio-pci rejects GPU (\d+)": NodeFault(
        lambda _world, node, gpu: rejected_file(node).write_text(pci_address(node, gpu)),
        lambda _world, node, _gpu: rejected_file(node).unlink(),
    ),
    r"GPU (\d+) missing in sysfs": NodeFault(lambda _world, node, gpu: sysfs_link(node, gpu).unlink()),
    r"NVML does not support (\w+) of GPU (\d+)": NodeFault(
        lambda _world, node, name, gpu: node.gpus.set(gpu, name, "N/A")
    ),
    r"(nvml\w+) answers (\w+)": NodeFault(
        lambda _world, node, function, error: node.gpus.inject_fault(function, error=error)
    ),
    r"(nvml\w+) of GPU (\d+) answers (\w+)": NodeFault(
        lambda _world, node, function, gpu, error: node.gpus.inject_fault(function, error=error, gpu=gpu)
    ),
    r"NVML events of GPU (\d+) not supported": NodeFault(
        lambda _world, node, gpu: node.gpus.inject_fault("nvmlDeviceRegisterEvents", error="NOT_SUPPORTED", gpu=gpu)
    ),
    r"NVML does not show GPU (\d+)": NodeFault(
        lambda _world, node, gpu: node.gpus.remove_gpu(gpu), lambda _world, node, gpu: node.gpus.restore_gpu(gpu)
    ),
    "NVML events not supported": NodeFault(inject("nvmlDeviceRegisterEvents", "NOT_SUPPORTED")),
    "waiting for NVML events fails once": NodeFault(
        lambda _world, node: node.gpus.inject_fault("nvmlEventSetWait_v2", error="UNKNOWN", times=1)
    ),
    "NVML lost an unknown GPU": NodeFault(
        inject("nvmlEventSetWait_v2", "GPU_IS_LOST"), lambda _world, node: node.gpus.clear_faults()
    ),
    "IMEX channel module missing": NodeFault(remove_channel_module),
    "NVLink fabric in progress": NodeFault(
        lambda _world, node: set_on_all_gpus(node, "fabric_state", FABRIC_IN_PROGRESS)
    ),
    "NVLink fabric not supported": NodeFault(
        lambda _world, node: set_on_all_gpus(node, "fabric_state", FABRIC_NOT_SUPPORTED)
    ),
    r"NVLink clique (\d+)": NodeFault(lambda _world, node, clique: set_on_all_gpus(node, "fabric_clique_id", clique)),
    "NVLink fabric not supported by one GPU": NodeFault(set_on_last_gpu(fabric_state=FABRIC_NOT_SUPPORTED)),
    "NVLink fabric not started on one GPU": NodeFault(set_on_last_gpu(fabric_state=FABRIC_NOT_STARTED)),
    "NVLink fabric in progress on one GPU": NodeFault(set_on_last_gpu(fabric_state=FABRIC_IN_PROGRESS)),
    "NVLink fabric failed on one GPU": NodeFault(set_on_last_gpu(fabric_status=NVML_ERROR_UNKNOWN)),
    "NVLink fabric of one GPU unreadable": NodeFault(inject("nvmlDeviceGetGpuFabricInfo", "UNKNOWN")),
    "NVLinks of one GPU down": NodeFault(break_links),
    "one GPU in another NVLink clique": NodeFault(set_on_last_gpu(fabric_clique_id=7)),
}
"""The faults of a node by their names in sentences, which are regular expressions."""


def fault_named(name: str) -> tuple[NodeFault, list[Any]]:
    """Return the fault of a name and the values in the name. Raises SpecificationError for an unknown one."""
    for pattern, fault in FAULTS.items():
        if found := re.fullmatch(pattern, name):
            return fault, [int(value) if value.isdigit() else value for value in found.groups()]
    raise SpecificationError(f"a node has no fault {name!r}; known: {', '.join(FAULTS)}")


def begin_fault(world: World, node: str, name: str) -> None:
    """Give a node a fault."""
    fault, values = fault_named(name)
    fault.begin(world, world.node(node), *values)


@given('node "{node}" has the fault "{name}"')
def _(world: World, node: str, name: str) -> None:
    """The node has this fault from now on; see FAULTS in this module."""
    begin_fault(world, node, name)


@when('node "{node}" gets the fault "{name}"')
def _(world: World, node: str, name: str) -> None:
    """The node has this fault from now on; see FAULTS in this module."""
    begin_fault(world, node, name)


@when('node "{node}" recovers from "{name}"')
def _(world: World, node: str, name: str) -> None:
    """End a fault that an earlier step began."""
    fault, values = fault_named(name)
    if fault.end is None:
        raise SpecificationError(f"a node does not recover from {name!r}")
    fault.end(world, world.node(node), *values)
