"""What NVML says of GPUs: who they are, what they hold, where they sit, and the fabric between them."""

from __future__ import annotations

import ctypes
import re
import uuid
from pathlib import Path
from typing import Any

import fake_nvml
from dra_conformance.components.nvml import OK, NvmlLibrary
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import World
from fake_nvml.boards import board_names, load_board

_CAPABILITY = ("compute_capability_major", "compute_capability_minor")
_UUID = re.compile(r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@then("every GPU has a UUID of its own, the same in every session")
def _(world: World) -> None:
    """GPU- and a lower-case UUID; no two GPUs share one, and it is still theirs after a new nvmlInit."""
    component = world.nvml()
    first = [component.module.nvmlDeviceGetUUID(handle) for handle in component.handles]
    broken = [text for text in first if not _UUID.fullmatch(text)]
    world.check(not broken, "GPU- and a lower-case UUID", expected=[], observed=broken)
    world.check(len(set(first)) == len(first), "no two alike", expected=len(first), observed=len(set(first)))
    component.shut_down()
    component.init()
    again = [component.module.nvmlDeviceGetUUID(handle) for handle in component.handles]
    world.check(again == first, "the same in a new session", expected=first, observed=again)


@then("every way to a GPU leads to the same one")
def _(world: World) -> None:
    """By index, UUID, and PCI address in both widths and any case; the index is that by which it was found."""
    component = world.nvml()
    nvml = component.module
    for index, handle in enumerate(component.handles):
        pci = nvml.nvmlDeviceGetPciInfo(handle)
        ways = {
            "index": lambda index=index: nvml.nvmlDeviceGetHandleByIndex(index),
            "UUID": lambda handle=handle: nvml.nvmlDeviceGetHandleByUUID(nvml.nvmlDeviceGetUUID(handle)),
            "PCI address": lambda pci=pci: nvml.nvmlDeviceGetHandleByPciBusId(pci.busId),
            "short PCI address": lambda pci=pci: nvml.nvmlDeviceGetHandleByPciBusId(pci.busIdLegacy),
            "PCI address in small letters": lambda pci=pci: nvml.nvmlDeviceGetHandleByPciBusId(pci.busId.lower()),
        }
        for name, way in ways.items():
            found = component.outcome(lambda way=way: nvml.nvmlDeviceGetIndex(way()))
            world.check(found == index, f"GPU {index} by {name}", expected=index, observed=found)


@then("a GPU that does not exist is {error:word} by {way:word}")
def _(world: World, error: str, way: str) -> None:
    """`way` is index, uuid or address; the error is NVML's name of it."""
    component = world.nvml()
    nvml = component.module
    asked = {
        "index": lambda: nvml.nvmlDeviceGetHandleByIndex(nvml.nvmlDeviceGetCount()),
        "uuid": lambda: nvml.nvmlDeviceGetHandleByUUID("GPU-00000000-0000-0000-0000-000000000000"),
        "address": lambda: nvml.nvmlDeviceGetHandleByPciBusId("00000000:FF:1F.0"),
    }
    if way not in asked:
        raise Untestable(f"there is no way {way!r} to a GPU")
    found = component.outcome(asked[way])
    world.check(found == error, f"unknown {way}", expected=error, observed=found)


@then("every PCI address is written in eight and in four digits, and its numbers agree")
def _(world: World) -> None:
    """busId is domain:bus:device.0 with eight digits of domain, busIdLegacy with four, both in capitals."""
    component = world.nvml()
    for handle in component.handles:
        pci = component.module.nvmlDeviceGetPciInfo(handle)
        wanted = f"{pci.domain:08X}:{pci.bus:02X}:{pci.device:02X}.0"
        world.check(pci.busId == wanted, "busId", expected=wanted, observed=pci.busId)
        short = f"{pci.domain:04X}:{pci.bus:02X}:{pci.device:02X}.0"
        world.check(pci.busIdLegacy == short, "busIdLegacy", expected=short, observed=pci.busIdLegacy)


@then("the parts of every GPU's memory make up its total in both versions")
def _(world: World) -> None:
    """The first version counts what is reserved as used, the second tells it apart; the totals are the same."""
    component = world.nvml()
    for handle in component.handles:
        one = component.module.nvmlDeviceGetMemoryInfo(handle)
        two = component.module.nvmlDeviceGetMemoryInfo(handle, component.module.nvmlMemory_v2)
        world.check(one.total == one.used + one.free, "first version", expected=one.total, observed=one.used + one.free)
        parts = two.used + two.free + two.reserved
        world.check(two.total == parts, "second version", expected=two.total, observed=parts)
        world.check(one.total == two.total, "one total", expected=one.total, observed=two.total)


@then("the driver version is one, and the CUDA version is 1000 times its major and 10 times its minor")
def _(world: World) -> None:
    """A version such as 580.159.04, and a number such as 13000 that the driver's generation can have."""
    component = world.nvml()
    driver, cuda = component.module.nvmlSystemGetDriverVersion(), component.module.nvmlSystemGetCudaDriverVersion()
    world.check(
        bool(re.fullmatch(r"\d{3}(\.\d+){1,2}", driver)), "driver version", expected="nnn.nn[.nn]", observed=driver
    )
    plausible = 10000 <= cuda < 20000 and cuda % 10 == 0
    world.check(plausible, "CUDA version", expected="1000 * major + 10 * minor", observed=cuda)


@then("the device file of every GPU's minor number exists")
def _(world: World) -> None:
    """/dev/nvidiaN below the root that the driver of the library's machine has."""
    component = world.nvml()
    for handle in component.handles:
        path = component.root / "dev" / f"nvidia{component.module.nvmlDeviceGetMinorNumber(handle)}"
        world.check(path.exists(), "the device file", expected=str(path), observed="there" if path.exists() else "none")


def _sysfs(component: NvmlLibrary, handle: Any) -> Path:
    return (
        component.root / "sys/bus/pci/devices" / str(component.module.nvmlDeviceGetPciInfo(handle).busIdLegacy).lower()
    )


@then("NVML and sysfs agree on the CPUs near every GPU")
def _(world: World) -> None:
    """nvmlDeviceGetCpuAffinity and local_cpulist of the same PCI device name the same CPUs."""
    component = world.nvml()
    for handle in component.handles:
        path = _sysfs(component, handle) / "local_cpulist"
        if not path.exists():
            raise Untestable(f"{path} does not exist")
        wanted: set[int] = set()
        for span in filter(None, path.read_text(encoding="ascii").strip().split(",")):
            low, _, high = span.partition("-")
            wanted |= set(range(int(low), int(high or low) + 1))
        words = component.module.nvmlDeviceGetCpuAffinity(handle, 16)
        found = {bit for bit in range(1024) if words[bit // 64] >> (bit % 64) & 1}
        world.check(found == wanted, f"CPUs of {path.parent.name}", expected=sorted(wanted), observed=sorted(found))


@then("every GPU is what one row of the board table says")
def _(world: World) -> None:
    """The row is found by the PCI id; name, architecture, brand and compute capability are those of the same board."""
    component = world.nvml()
    nvml = component.module
    boards = [load_board(name) for name in board_names()]
    for handle in component.handles:
        number = nvml.nvmlDeviceGetPciInfo(handle).pciDeviceId
        rows = {
            tuple(board.values[field].value for field in ("name", "architecture", "brand", *_CAPABILITY))
            for board in boards
            if board.pci_device_id == number
        }
        if not rows:
            raise Untestable(f"no board of the table has the PCI id {number:#x}")
        found = (
            nvml.nvmlDeviceGetName(handle),
            nvml.nvmlDeviceGetArchitecture(handle),
            nvml.nvmlDeviceGetBrand(handle),
        )
        found += tuple(nvml.nvmlDeviceGetCudaComputeCapability(handle))
        world.check(found in rows, f"the board of PCI id {number:#x}", expected=sorted(rows), observed=found)


# -- links ---------------------------------------------------------------------------------------------------------


def _reach(component: NvmlLibrary) -> set[tuple[int, int]]:
    """Pairs of GPUs of which the first reaches the second over NVLink."""
    nvml, handles = component.module, component.handles
    return {
        (one, two)
        for one, first in enumerate(handles)
        for two, second in enumerate(handles)
        if one != two
        and component.outcome(nvml.nvmlDeviceGetP2PStatus, first, second, nvml.NVML_P2P_CAPS_INDEX_NVLINK) == 0
    }


@when("every NVLink of GPU {gpu:d} goes down")
def _(world: World, gpu: int) -> None:
    """All links that the GPU has."""
    component = world.nvml()
    for link in range(int(component.node.get(gpu, "nvlink_count"))):
        component.node.set_link(gpu, link, active=False)


@then("GPUs reach each other over NVLink in both directions or not at all")
def _(world: World) -> None:
    """What one GPU says of another the other says of it."""
    component = world.nvml()
    if len(component.handles) < 2:
        raise Untestable("there is one GPU only")
    found = _reach(component)
    one_way = sorted(pair for pair in found if pair[::-1] not in found)
    world.check(not one_way, "pairs that reach in one direction", expected=[], observed=one_way)


@then("no GPU reaches GPU {gpu:d} over NVLink, and the others reach each other")
def _(world: World, gpu: int) -> None:
    """In either direction."""
    component = world.nvml()
    others = [index for index in range(len(component.handles)) if index != gpu]
    wanted = sorted((one, two) for one in others for two in others if one != two)
    found = sorted(_reach(component))
    world.check(found == wanted, "pairs that reach each other", expected=wanted, observed=found)


# -- fabric --------------------------------------------------------------------------------------------------------


def _fabric(component: NvmlLibrary, handle: Any, version: int) -> tuple[int, str, int, int]:
    """State, cluster, clique and status, asked with one version of the structure."""
    kinds = {1: "c_nvmlGpuFabricInfo_t", 2: "c_nvmlGpuFabricInfo_v2_t", 3: "c_nvmlGpuFabricInfo_v3_t"}
    info = getattr(component.module, kinds[version])()
    function = "nvmlDeviceGetGpuFabricInfo" if version == 1 else "nvmlDeviceGetGpuFabricInfoV"
    if version > 1:
        info.version = ctypes.sizeof(info) | version << 24
    code = component.call(function, handle, ctypes.byref(info))
    if code != OK:
        raise Untestable(f"{function}: {component.error_name(code)}")
    return info.state, str(uuid.UUID(bytes=bytes(info.clusterUuid))), info.cliqueId, info.status


@then("all versions of the fabric's structure tell the same")
def _(world: World) -> None:
    """State, cluster UUID, clique and status of every GPU, by versions 1, 2 and 3."""
    component = world.nvml()
    for handle in component.handles:
        first = _fabric(component, handle, 1)
        for version in (2, 3):
            found = _fabric(component, handle, version)
            world.check(found == first, f"version {version} as version 1", expected=first, observed=found)


@then("the fabric of every GPU is complete and has no cluster")
def _(world: World) -> None:
    """A node with switches of its own and no rack: COMPLETED (3), success, and a cluster UUID of zeros."""
    component = world.nvml()
    for handle in component.handles:
        state, cluster, _, status = _fabric(component, handle, 2)
        wanted = (3, str(uuid.UUID(int=0)), 0)
        world.check(
            (state, cluster, status) == wanted, "the fabric", expected=wanted, observed=(state, cluster, status)
        )


@then("all GPUs are in one cluster and one clique")
def _(world: World) -> None:
    """A rack's nodes: COMPLETED (3), one cluster UUID that is not zero, one clique."""
    component = world.nvml()
    found = {_fabric(component, handle, 2) for handle in component.handles}
    alike = len(found) == 1 and next(iter(found))[0] == 3 and next(iter(found))[1] != str(uuid.UUID(int=0))
    world.check(alike, "one cluster and clique", expected="one that is not zero", observed=sorted(found))


@given("another node of the rack")
def _(world: World) -> None:
    """A second fake node of the same inventory, on this machine; it ends with the scenario."""
    component = world.nvml()
    folder = component.node.directory.with_name(f"{component.node.directory.name}-other")
    other = fake_nvml.Node.create(world.run.inventory("gb200-nvl72-node"), folder)
    component.cleanup.callback(other.close)
    world.memory["other"] = other


@when("the fabric of this node is in progress again")
def _(world: World) -> None:
    """On all its GPUs."""
    component = world.nvml()
    for index in range(len(component.handles)):
        component.node.set(index, "fabric_state", 2)


@then("the fabric of the other node is complete, and of this one in progress")
def _(world: World) -> None:
    """What happens on one node is in that node's state, and in no other."""
    component = world.nvml()
    here = {_fabric(component, handle, 2)[0] for handle in component.handles}
    world.check(here == {2}, "states of this node's GPUs", expected={2}, observed=here)
    other = world.memory["other"]
    there = {other.get(index, "fabric_state") for index in range(len(other.gpus))}
    world.check(there == {3}, "states of the other node's GPUs", expected={3}, observed=there)


# -- processes -----------------------------------------------------------------------------------------------------


@given("{count:d} processes on GPU {gpu:d}")
def _(world: World, count: int, gpu: int) -> None:
    """So many processes with 1 MiB each, from process id 1001 on."""
    for number in range(count):
        world.nvml().node.set_process(gpu, 1001 + number, memory=1 << 20)


@then("the first version of the process list has entries of 16 bytes, the later ones of 24")
def _(world: World) -> None:
    """Each function fills the layout of its own name, read here byte by byte."""
    component = world.nvml()
    for suffix, size in (("", 16), ("_v2", 24), ("_v3", 24)):
        buffer, count = ctypes.create_string_buffer(1024), ctypes.c_uint(16)
        function = f"nvmlDeviceGetComputeRunningProcesses{suffix}"
        code = component.call(function, component.handle(), ctypes.byref(count), buffer)
        pids = [int.from_bytes(buffer.raw[size * n : size * n + 4], "little") for n in range(count.value)]
        wanted = [1001 + number for number in range(count.value)]
        world.check(
            (code, pids) == (OK, wanted) and count.value > 1,
            f"{function} has {size} bytes an entry",
            expected=(OK, wanted),
            observed=(code, pids),
        )


# -- GPUs that come and go -----------------------------------------------------------------------------------------


@when("GPU {gpu:d} falls off the bus")
def _(world: World, gpu: int) -> None:
    """XID 79: the GPU is lost."""
    world.nvml().handle(gpu)
    world.nvml().node.lose_gpu(gpu)


@then("GPU {gpu:d} is lost, and every other GPU answers as before")
def _(world: World, gpu: int) -> None:
    """Calls on it answer GPU_IS_LOST; the number of GPUs and the others' names stay."""
    component = world.nvml()
    nvml = component.module
    found = component.outcome(nvml.nvmlDeviceGetHandleByIndex, gpu)
    world.check(found == "GPU_IS_LOST", f"the handle of GPU {gpu}", expected="GPU_IS_LOST", observed=found)
    count = len(component.node.gpus)
    world.check(nvml.nvmlDeviceGetCount() == count, "the count", expected=count, observed=nvml.nvmlDeviceGetCount())
    for index in range(count):
        if index != gpu:
            name = component.outcome(lambda index=index: nvml.nvmlDeviceGetName(nvml.nvmlDeviceGetHandleByIndex(index)))
            wanted = component.node.get(index, "name")
            world.check(name == wanted, f"GPU {index}", expected=wanted, observed=name)
