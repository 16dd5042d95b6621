"""Unmodified pynvml finds what an inventory describes, by every way NVML has of finding a GPU."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fake_nvml
from fake_nvml import inventory_names
from fake_nvml.boards import board_names, load_board
from fake_nvml.rack import create_rack

Make = Callable[..., fake_nvml.Node]
Load = Callable[[fake_nvml.Node], Any]
Run = Callable[[fake_nvml.Node, str], str]
Start = Callable[[fake_nvml.Node, str], "subprocess.Popen[str]"]


@pytest.mark.parametrize("name", inventory_names())
def test_every_inventory_is_found_whole(make_node: Make, nvml: Load, name: str) -> None:
    """NVML-021, 022, 024, 025: identities, and the same GPU by index, UUID, bus id and serial."""
    node = make_node(name)
    lib = nvml(node)
    uuids = set()
    assert lib.nvmlDeviceGetCount() == len(node.gpus) > 0
    for view in node.gpus:
        handle = lib.nvmlDeviceGetHandleByIndex(view.index)
        uuid = lib.nvmlDeviceGetUUID(handle)
        assert re.fullmatch(r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", uuid)
        uuids.add(uuid)
        pci = lib.nvmlDeviceGetPciInfo(handle)
        assert re.fullmatch(r"[0-9A-F]{8}:[0-9A-F]{2}:[0-9A-F]{2}\.0", pci.busId)
        assert pci.busId == f"{pci.domain:08X}:{pci.bus:02X}:{pci.device:02X}.0" == view.bus_id
        assert pci.busIdLegacy == f"{pci.domain:04X}:{pci.bus:02X}:{pci.device:02X}.0"
        for other in (
            lib.nvmlDeviceGetHandleByUUID(uuid),
            lib.nvmlDeviceGetHandleByUUID(uuid.encode()),
            lib.nvmlDeviceGetHandleByPciBusId(pci.busId),
            lib.nvmlDeviceGetHandleByPciBusId(pci.busIdLegacy.lower()),
        ):
            assert lib.nvmlDeviceGetIndex(other) == view.index
        serial = lib.nvmlDeviceGetSerial(handle)
        if [node.get(gpu.index, "serial") for gpu in node.gpus].count(serial) == 1:
            assert lib.nvmlDeviceGetIndex(lib.nvmlDeviceGetHandleBySerial(serial)) == view.index
        else:  # GPUs of one module: the documented answer, not an arbitrary one of them
            with pytest.raises(lib.NVMLError_InvalidArgument):
                lib.nvmlDeviceGetHandleBySerial(serial)
        first, second = lib.nvmlDeviceGetMemoryInfo(handle), lib.nvmlDeviceGetMemoryInfo(handle, lib.nvmlMemory_v2)
        assert first.total == first.used + first.free == second.total
        assert second.total == second.used + second.free + second.reserved
        assert lib.nvmlDeviceGetArchitecture(handle) >= lib.NVML_DEVICE_ARCH_TURING
    assert len(uuids) == len(node.gpus)


def test_lookups_that_fail(make_node: Make, nvml: Load) -> None:
    """NVML-023."""
    lib = nvml(make_node())
    for call, argument, error in (
        (lib.nvmlDeviceGetHandleByIndex, 8, lib.NVMLError_InvalidArgument),
        (lib.nvmlDeviceGetHandleByUUID, "GPU-00000000-0000-0000-0000-000000000000", lib.NVMLError_NotFound),
        (lib.nvmlDeviceGetHandleByUUID, "MIG-00000000-0000-0000-0000-000000000000", lib.NVMLError_NotFound),
        (lib.nvmlDeviceGetHandleByUUID, "hello", lib.NVMLError_NotFound),
        (lib.nvmlDeviceGetHandleByPciBusId, "00000000:FF:1F.0", lib.NVMLError_NotFound),
        (lib.nvmlDeviceGetHandleByPciBusId, "zz", lib.NVMLError_InvalidArgument),
        (lib.nvmlDeviceGetHandleBySerial, b"xyz", lib.NVMLError_NotFound),
    ):
        with pytest.raises(error):
            call(argument)


def test_another_process_with_the_plain_module(make_node: Make, run_python: Run) -> None:
    node = make_node()
    out = run_python(
        node,
        "import pynvml as p; p.nvmlInit(); print(p.nvmlDeviceGetCount(), p.nvmlSystemGetDriverVersion(),"
        "p.nvmlDeviceGetUUID(p.nvmlDeviceGetHandleByIndex(3)))",
    )
    assert out.split() == ["8", "580.105.08", node.gpus[3].uuid]


def test_the_library_in_a_driver_root_finds_its_node_without_environment(make_node: Make) -> None:
    node = make_node("h200")
    library = node.driver_root / "usr" / "lib64" / "libnvidia-ml.so.1"
    load = f"import ctypes, pynvml as p; p.nvmlLib = ctypes.CDLL({str(library)!r})"
    code = f"{load}; p.nvmlInit(); print(p.nvmlDeviceGetCount())"
    kept = {key: os.environ[key] for key in ("LD_PRELOAD", "ASAN_OPTIONS") if key in os.environ}  # of a sanitizer
    out = subprocess.run([sys.executable, "-c", code], env=kept, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "1"


def test_many_nodes_at_once_in_one_process(make_node: Make, nvml: Load) -> None:
    first, second = make_node(), make_node("gb200-nvl72-node")
    one, two = nvml(first), nvml(second)
    assert (one.nvmlDeviceGetCount(), two.nvmlDeviceGetCount()) == (8, 4)
    assert one.nvmlLib is not two.nvmlLib
    first.set(0, "temperature_gpu", 71)
    assert one.nvmlDeviceGetTemperature(one.nvmlDeviceGetHandleByIndex(0), 0) == 71
    assert two.nvmlDeviceGetTemperature(two.nvmlDeviceGetHandleByIndex(0), 0) == 33
    assert {gpu.uuid for gpu in first.gpus}.isdisjoint(gpu.uuid for gpu in second.gpus)


def test_a_closed_node_answers_driver_not_loaded(make_node: Make, nvml: Load) -> None:
    node = make_node()
    lib = nvml(node)
    handle = lib.nvmlDeviceGetHandleByIndex(0)
    node.close()
    node.close()
    with pytest.raises(lib.NVMLError_DriverNotLoaded):
        lib.nvmlDeviceGetName(handle)
    assert not node.directory.exists()


def test_fabric_of_a_rack(make_node: Make, nvml: Load) -> None:
    """NVML-066, 067, 068."""
    nodes = [make_node("gb200-nvl72-node"), make_node("gb200-nvl72-node")]
    seen = set()
    for node in nodes:
        lib = nvml(node)
        for index in range(4):
            handle = lib.nvmlDeviceGetHandleByIndex(index)
            old, new = lib.c_nvmlGpuFabricInfo_t(), lib.c_nvmlGpuFabricInfoV_t()
            third = lib.c_nvmlGpuFabricInfo_v3_t()
            lib.nvmlDeviceGetGpuFabricInfo(handle, ctypes.byref(old))
            lib.nvmlDeviceGetGpuFabricInfoV(handle, ctypes.byref(new))
            lib.nvmlDeviceGetGpuFabricInfoV(handle, ctypes.byref(third))
            for info in (old, new, third):
                seen.add((bytes(info.clusterUuid), info.cliqueId, info.state, info.status))
            assert (new.healthMask, third.healthSummary) == (0xAA, 1)
    assert len(seen) == 1
    assert next(iter(seen))[1:] == (2, 3, 0)
    assert any(next(iter(seen))[0])
    single = nvml(make_node())
    info = single.c_nvmlGpuFabricInfoV_t()
    single.nvmlDeviceGetGpuFabricInfoV(single.nvmlDeviceGetHandleByIndex(0), ctypes.byref(info))
    assert (info.state, bytes(info.clusterUuid)) == (3, bytes(16))


def test_a_rack_is_one_fabric_of_eighteen_nodes(tmp_path: Path, nvml: Load) -> None:
    """NVML-067, 068: 72 GPUs in one cluster and clique; every node is in a tray of its own."""
    nodes = create_rack(tmp_path / "rack", name="r1")
    try:
        seen, trays = set(), set()
        for node in nodes:
            lib = nvml(node)
            assert lib.nvmlDeviceGetCount() == 4
            for index in range(4):
                handle = lib.nvmlDeviceGetHandleByIndex(index)
                fabric = lib.c_nvmlGpuFabricInfo_v3_t()
                lib.nvmlDeviceGetGpuFabricInfoV(handle, ctypes.byref(fabric))
                seen.add((bytes(fabric.clusterUuid), fabric.cliqueId, fabric.state))
                place = lib.c_nvmlPlatformInfo_v2_t()
                lib.nvmlDeviceGetPlatformInfo(handle, ctypes.byref(place))
                trays.add((place.chassisSerialNumber, ord(place.trayIndex)))
        assert len(seen) == 1
        assert next(iter(seen))[0] != bytes(16)
        assert len(trays) == 18
        assert len({serial for serial, _ in trays}) == 1
        assert len({gpu.uuid for node in nodes for gpu in node.gpus}) == 72
    finally:
        for node in nodes:
            node.close()
    assert list((tmp_path / "rack").iterdir()) == []


def test_gpus_of_different_kinds_in_one_node(make_node: Make, nvml: Load) -> None:
    """Each answers as its own board does; what one supports another may not."""
    node = make_node("mixed")
    lib = nvml(node)
    rows = []
    for index in range(lib.nvmlDeviceGetCount()):
        handle = lib.nvmlDeviceGetHandleByIndex(index)
        try:
            mig = lib.nvmlDeviceGetMigMode(handle)
        except lib.NVMLError_NotSupported:
            mig = None
        rows.append((lib.nvmlDeviceGetName(handle), lib.nvmlDeviceGetCudaComputeCapability(handle), mig))
    assert rows == [
        ("NVIDIA H200", (9, 0), [0, 0]),
        ("NVIDIA H100 80GB HBM3", (9, 0), [0, 0]),
        ("NVIDIA A100-SXM4-80GB", (8, 0), [0, 0]),
        ("NVIDIA L40S", (8, 9), None),
        ("Tesla T4", (7, 5), None),
    ]
    old, new = lib.nvmlDeviceGetHandleByIndex(4), lib.nvmlDeviceGetHandleByIndex(3)
    assert lib.nvmlDeviceGetRetiredPages(old, 1) == []
    with pytest.raises(lib.NVMLError_NotSupported):
        lib.nvmlDeviceGetRemappedRows(old)
    with pytest.raises(lib.NVMLError_NotSupported):
        lib.nvmlDeviceGetRetiredPages(new, 1)
    assert lib.nvmlDeviceGetRemappedRows(new) == (0, 0, 0, 0)


def test_a_removed_gpu_shifts_the_indices_and_comes_back(make_node: Make, nvml: Load) -> None:
    """Hot unplug, as a bind to vfio looks from NVML: handles of the other GPUs stay what they were."""
    node = make_node()
    lib = nvml(node)
    third, fourth = (lib.nvmlDeviceGetHandleByIndex(index) for index in (2, 3))
    uuid, pci = lib.nvmlDeviceGetUUID(fourth), lib.nvmlDeviceGetPciInfo(third)
    node.set_process(2, 4711, memory=1)
    with pytest.raises(lib.NVMLError_InUse):
        lib.nvmlDeviceRemoveGpu(pci)
    node.set_process(2, 4711, memory=0)
    lib.nvmlDeviceModifyDrainState(pci, 1)
    assert lib.nvmlDeviceQueryDrainState(pci) == 1
    lib.nvmlDeviceRemoveGpu(pci)
    assert lib.nvmlDeviceGetCount() == 7
    assert (lib.nvmlDeviceGetIndex(fourth), lib.nvmlDeviceGetUUID(lib.nvmlDeviceGetHandleByIndex(2))) == (2, uuid)
    assert lib.nvmlDeviceGetMinorNumber(fourth) == 3
    for call in (lambda: lib.nvmlDeviceGetName(third), lambda: lib.nvmlDeviceGetHandleByPciBusId(pci.busId)):
        with pytest.raises(lib.NVMLError):
            call()
    lib.nvmlDeviceDiscoverGpus(pci)
    assert lib.nvmlDeviceGetCount() == 8
    assert lib.nvmlDeviceGetIndex(fourth) == 3
    assert lib.nvmlDeviceGetName(third) == "NVIDIA H100 80GB HBM3"


def test_nvlink_and_topology(make_node: Make, nvml: Load) -> None:
    node = make_node()
    lib = nvml(node)
    first, second, far = (lib.nvmlDeviceGetHandleByIndex(index) for index in (0, 1, 4))
    assert [lib.nvmlDeviceGetNvLinkState(first, link) for link in range(18)] == [1] * 18
    assert lib.nvmlDeviceGetNvLinkRemoteDeviceType(first, 0) == lib.NVML_NVLINK_DEVICE_TYPE_SWITCH
    assert lib.nvmlDeviceGetNvLinkRemotePciInfo(first, 1).busId == "00000000:08:00.0"
    with pytest.raises(lib.NVMLError_InvalidArgument):
        lib.nvmlDeviceGetNvLinkState(first, 18)
    node.set_link(0, 3, active=False)
    assert lib.nvmlDeviceGetNvLinkState(first, 3) == 0
    assert lib.nvmlDeviceGetTopologyCommonAncestor(first, second) == lib.NVML_TOPOLOGY_NODE
    assert lib.nvmlDeviceGetTopologyCommonAncestor(first, far) == lib.NVML_TOPOLOGY_SYSTEM
    assert len(lib.nvmlDeviceGetTopologyNearestGpus(first, lib.NVML_TOPOLOGY_NODE)) == 3
    assert lib.nvmlDeviceGetP2PStatus(first, far, lib.NVML_P2P_CAPS_INDEX_NVLINK) == 0
    assert list(lib.nvmlDeviceGetCpuAffinity(far, 4)) == [
        sum(1 << (cpu % 64) for cpu in (*range(56, 112), *range(168, 224)) if cpu // 64 == word) for word in range(4)
    ]
    assert list(lib.nvmlDeviceGetMemoryAffinity(far, 1, 0)) == [2]


def test_processes_use_each_versions_layout(make_node: Make, nvml: Load) -> None:
    """NVML-008: the first version's entries are 16 bytes apart, the later ones' 24."""
    node = make_node()
    lib = nvml(node)
    handle = lib.nvmlDeviceGetHandleByIndex(0)
    assert lib.nvmlDeviceGetComputeRunningProcesses(handle) == []
    node.set_process(0, 4242, memory=1 << 30)
    node.set_process(0, 4343, memory=2 << 30)
    rows = lib.nvmlDeviceGetComputeRunningProcesses(handle)
    assert [(row.pid, row.usedGpuMemory) for row in rows] == [(4242, 1 << 30), (4343, 2 << 30)]
    assert lib.nvmlDeviceGetMemoryInfo(handle, lib.nvmlMemory_v2).used == 3 << 30
    buffer = ctypes.create_string_buffer(b"\xaa" * 64, 64)
    count = ctypes.c_uint(2)
    assert lib.nvmlLib.nvmlDeviceGetComputeRunningProcesses(handle, ctypes.byref(count), buffer) == 0
    assert int.from_bytes(buffer.raw[16:20], "little") == 4343
    assert buffer.raw[32:] == b"\xaa" * 32


def test_driver_root_has_what_a_driver_installs(make_node: Make) -> None:
    """NVML-004, 029."""
    node = make_node("dgx-h100-mig")
    root = node.driver_root
    link = root / "usr/lib64/libnvidia-ml.so.1"
    assert link.is_symlink()
    assert link.resolve().name == "libnvidia-ml.so.580.105.08"
    for gpu in node.gpus:
        assert (root / "dev" / f"nvidia{gpu.minor}").exists()
        bus = gpu.bus_id[4:].lower()
        assert gpu.uuid in (root / "proc/driver/nvidia/gpus" / bus / "information").read_text()
    minors = dict(line.split() for line in (root / "proc/driver/nvidia-caps/mig-minors").read_text().splitlines())
    access = root / "proc/driver/nvidia/capabilities/gpu0/mig/gi1/ci0/access"
    assert f"DeviceFileMinor: {minors['gpu0/gi1/ci0/access']}\n" in access.read_text()
    assert minors["gpu0/gi1/ci0/access"] == "13"
    node.reset(0)
    assert not access.exists()
    assert sorted(path.name for path in (root / "dev/nvidia-caps").iterdir()) == ["nvidia-cap1", "nvidia-cap2"]


def test_mig_names_follow_from_the_memory_sizes() -> None:
    """The rule by which go-nvlib computes a profile's name gives the name that each board's table holds."""
    for name in board_names():
        board = load_board(name)
        total = int(board.values["memory_total"].value) / 2**20
        for profile in board.profiles:
            eighths = -(-8 * profile.memory_mib // total) / 8
            size = int(eighths * -(-total // 1024) + 0.5)
            assert profile.name.split("+")[0] == f"{profile.slices}g.{size}gb", name


def test_driver_root_library_is_a_copy_of_the_built_one(make_node: Make) -> None:
    node = make_node()
    installed = node.driver_root / "usr/lib64/libnvidia-ml.so.1"
    assert installed.read_bytes() == Path(fake_nvml.library_path()).read_bytes()
