"""The MIG lifecycle: mode, placement, instances, devices, handles."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable
from typing import Any

import pytest

import fake_nvml

Make = Callable[..., fake_nvml.Node]
Load = Callable[[fake_nvml.Node], Any]
Run = Callable[[fake_nvml.Node, str], str]

ID = {"1g": 19, "1g+me": 20, "1g.double": 15, "2g": 14, "3g": 9, "4g": 5, "7g": 0}
SIZE = {19: 1, 20: 1, 15: 2, 14: 2, 9: 4, 5: 4, 0: 8}


def mig_on(lib: Any, index: int = 0) -> Any:
    handle = lib.nvmlDeviceGetHandleByIndex(index)
    assert lib.nvmlDeviceSetMigMode(handle, 1) == 0
    assert lib.nvmlDeviceGetMigMode(handle) == [1, 1]
    return handle


def create(lib: Any, handle: Any, profile: int, start: int | None = None) -> Any:
    if start is None:
        return lib.nvmlDeviceCreateGpuInstance(handle, profile)
    placement = lib.c_nvmlGpuInstancePlacement_t(start, SIZE[profile])
    return lib.nvmlDeviceCreateGpuInstanceWithPlacement(handle, profile, ctypes.byref(placement))


def instances(lib: Any, handle: Any, profile: int) -> list[Any]:
    array, count = (lib.c_nvmlGpuInstance_t * 8)(), ctypes.c_uint(8)
    lib.nvmlDeviceGetGpuInstances(handle, profile, array, ctypes.byref(count))
    return list(array[: count.value])


def test_lifecycle(make_node: Make, nvml: Load, run_python: Run) -> None:
    """NVML-042 to 049."""
    node = make_node()
    lib = nvml(node)
    handle = mig_on(lib)
    assert lib.nvmlDeviceGetMaxMigDeviceCount(handle) == 7
    gi = create(lib, handle, ID["3g"], 4)
    info = lib.nvmlGpuInstanceGetInfo(gi)
    assert (info.id, info.profileId, info.placement.start, info.placement.size) == (2, 9, 4, 4)
    with pytest.raises(lib.NVMLError_NotFound):
        lib.nvmlDeviceGetMigDeviceHandleByIndex(handle, 0)  # no compute instance, no device
    profile = lib.nvmlGpuInstanceGetComputeInstanceProfileInfo(gi, lib.NVML_COMPUTE_INSTANCE_PROFILE_3_SLICE, 0)
    assert (profile.multiprocessorCount, profile.sliceCount, profile.name) == (60, 3, "MIG 3g.40gb")
    ci = lib.nvmlGpuInstanceCreateComputeInstance(gi, profile.id)
    made = lib.nvmlComputeInstanceGetInfo(ci)
    assert (made.id, made.placement.start, made.placement.size) == (0, 0, 4)
    mig = lib.nvmlDeviceGetMigDeviceHandleByIndex(handle, 0)
    uuid = lib.nvmlDeviceGetUUID(mig)
    assert uuid == lib.nvmlDeviceGetUUID(made.device)
    assert uuid.startswith("MIG-")
    assert uuid[18] == "5"  # a name-based UUID, as on hardware
    assert lib.nvmlDeviceGetName(mig) == "NVIDIA H100 80GB HBM3 MIG 3g.40gb"
    assert lib.nvmlDeviceIsMigDeviceHandle(mig).value == 1
    assert lib.nvmlDeviceIsMigDeviceHandle(handle).value == 0
    assert (lib.nvmlDeviceGetGpuInstanceId(mig), lib.nvmlDeviceGetComputeInstanceId(mig)) == (2, 0)
    parent = lib.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(mig)
    assert lib.nvmlDeviceGetUUID(parent) == node.gpus[0].uuid
    assert lib.nvmlDeviceGetUUID(lib.nvmlDeviceGetHandleByUUID(uuid)) == uuid
    assert lib.nvmlDeviceGetUUID(lib.nvmlDeviceGetHandleByUUID(f"MIG-{node.gpus[0].uuid}/2/0")) == uuid
    attributes = lib.nvmlDeviceGetAttributes_v2(mig)
    assert (attributes.multiprocessorCount, attributes.memorySizeMB) == (60, 40448)
    assert (attributes.gpuInstanceSliceCount, attributes.computeInstanceSliceCount) == (3, 3)
    assert lib.nvmlDeviceGetMemoryInfo(mig).total == 40448 << 20
    assert lib.nvmlDeviceGetPciInfo(mig).busId == node.gpus[0].bus_id
    with pytest.raises(lib.NVMLError_NotSupported):
        lib.nvmlDeviceGetTemperature(mig, 0)
    with pytest.raises(lib.NVMLError_NotSupported):
        lib.nvmlDeviceGetRemappedRows(handle)
    assert lib.nvmlDeviceGetCount() == 8
    seen = run_python(
        node,
        "import pynvml as p; p.nvmlInit(); h = p.nvmlDeviceGetHandleByIndex(0);"
        "print(p.nvmlDeviceGetUUID(p.nvmlDeviceGetMigDeviceHandleByIndex(h, 0)))",
    )
    assert seen.strip() == uuid
    assert lib.nvmlDeviceSetMigMode(handle, 0) == 19  # in use
    assert lib.nvmlDeviceGetMigMode(handle) == [1, 1]
    with pytest.raises(lib.NVMLError_InUse):
        lib.nvmlGpuInstanceDestroy(gi)
    lib.nvmlComputeInstanceDestroy(ci)
    with pytest.raises(lib.NVMLError_NotFound):
        lib.nvmlDeviceGetUUID(mig)
    with pytest.raises(lib.NVMLError_NotFound):
        lib.nvmlGpuInstanceGetComputeInstanceById(gi, 0)
    lib.nvmlGpuInstanceDestroy(gi)
    with pytest.raises(lib.NVMLError_NotFound):
        lib.nvmlDeviceGetGpuInstanceById(handle, 2)
    again = create(lib, handle, ID["3g"], 4)
    fresh = lib.nvmlGpuInstanceCreateComputeInstance(again, 2)
    assert lib.nvmlDeviceGetUUID(lib.nvmlComputeInstanceGetInfo(fresh).device) == uuid
    for stale in (gi,):  # the same id, another instance
        with pytest.raises(lib.NVMLError_NotFound):
            lib.nvmlGpuInstanceGetInfo(stale)
    with pytest.raises(lib.NVMLError_NotFound):
        lib.nvmlDeviceGetUUID(mig)


def test_mode_of_ampere_needs_a_reset(make_node: Make, nvml: Load) -> None:
    """NVML-032."""
    node = make_node("dgx-a100-40gb")
    lib = nvml(node)
    handle = lib.nvmlDeviceGetHandleByIndex(0)
    assert lib.nvmlDeviceSetMigMode(handle, 1) == 16
    assert lib.nvmlDeviceGetMigMode(handle) == [0, 1]
    node.reset(0)
    assert lib.nvmlDeviceGetMigMode(handle) == [1, 1]


def test_a_board_without_mig(make_node: Make, nvml: Load) -> None:
    """NVML-031."""
    node = make_node()
    node.set(0, "mig_mode_current", "N/A")
    lib = nvml(node)
    handle = lib.nvmlDeviceGetHandleByIndex(0)
    for name, arguments in (
        ("nvmlDeviceGetMigMode", ()),
        ("nvmlDeviceSetMigMode", (1,)),
        ("nvmlDeviceGetGpuInstanceProfileInfo", (0,)),
        ("nvmlDeviceGetMigDeviceHandleByIndex", (0,)),
    ):
        with pytest.raises(lib.NVMLError_NotSupported):
            getattr(lib, name)(handle, *arguments)
    assert lib.nvmlDeviceGetMaxMigDeviceCount(handle) == 0


def test_placement_rules(make_node: Make, nvml: Load) -> None:
    """NVML-039, 041."""
    lib = nvml(make_node())
    handle = lib.nvmlDeviceGetHandleByIndex(0)
    with pytest.raises(lib.NVMLError_NotSupported):
        create(lib, handle, ID["1g"])  # MIG is off
    mig_on(lib)
    create(lib, handle, ID["4g"], 0)
    with pytest.raises(lib.NVMLError_InsufficientResources):
        create(lib, handle, ID["3g"], 0)
    with pytest.raises(lib.NVMLError_InvalidArgument):
        create(lib, handle, ID["3g"], 2)
    with pytest.raises(lib.NVMLError_InvalidArgument):
        create(lib, handle, 77)
    create(lib, handle, ID["1g+me"])
    with pytest.raises(lib.NVMLError_InsufficientResources):
        create(lib, handle, ID["1g+me"])
    assert lib.nvmlDeviceGetGpuInstanceRemainingCapacity(handle, ID["7g"]) == 0


def test_ids_and_choice_as_seen_on_hardware(make_node: Make, nvml: Load) -> None:
    """`-cgi 19,14,5` gave 13 at 6, 5 at 4 and 1 at 0; the first 3g of an empty H100 went to 4."""
    lib = nvml(make_node())
    handle = mig_on(lib)
    made = []
    for profile in (19, 14, 5):
        info = lib.nvmlGpuInstanceGetInfo(create(lib, handle, profile))
        made.append((info.id, info.placement.start))
    assert made == [(13, 6), (5, 4), (1, 0)]
    other = mig_on(lib, 1)
    assert [lib.nvmlGpuInstanceGetInfo(create(lib, other, 9)).placement.start for _ in range(2)] == [4, 0]


@pytest.mark.parametrize("seed", range(20))
def test_random_operations_keep_the_invariants(make_node: Make, nvml: Load, seed: int) -> None:
    """NVML-038, 040: no two instances overlap, and the remaining capacity is what can still be made."""
    rng = random.Random(seed)  # noqa: S311
    lib = nvml(make_node(rng.choice(["dgx-h100", "h200", "dgx-b200"])))
    handle = lib.nvmlDeviceGetHandleByIndex(0)
    assert lib.nvmlDeviceSetMigMode(handle, 1) == 0
    live: list[Any] = []
    for _ in range(60):
        if live and rng.random() < 0.4:
            lib.nvmlGpuInstanceDestroy(live.pop(rng.randrange(len(live))))
        else:
            profile = rng.choice(list(ID.values()))
            left = lib.nvmlDeviceGetGpuInstanceRemainingCapacity(handle, profile)
            try:
                live.append(create(lib, handle, profile))
                assert left > 0
            except lib.NVMLError_InsufficientResources:
                assert left == 0
        taken: set[int] = set()
        for profile in ID.values():
            for gi in instances(lib, handle, profile):
                place = lib.nvmlGpuInstanceGetInfo(gi).placement
                span = set(range(place.start, place.start + place.size))
                assert not span & taken
                taken |= span
        assert len(taken) <= 8


def test_compute_instances_share_a_gpu_instance(make_node: Make, nvml: Load) -> None:
    lib = nvml(make_node())
    handle = mig_on(lib)
    gi = create(lib, handle, ID["3g"], 0)
    count = ctypes.c_uint(0)
    lib.nvmlGpuInstanceGetComputeInstancePossiblePlacements(gi, 0, None, ctypes.byref(count))
    assert count.value == 3
    assert lib.nvmlGpuInstanceGetComputeInstanceRemainingCapacity(gi, 0) == 3
    first = lib.nvmlGpuInstanceCreateComputeInstance(gi, 0)
    second = lib.nvmlGpuInstanceCreateComputeInstance(gi, 0)
    assert lib.nvmlGpuInstanceGetComputeInstanceRemainingCapacity(gi, 0) == 1
    with pytest.raises(lib.NVMLError_InsufficientResources):
        lib.nvmlGpuInstanceCreateComputeInstance(gi, 2)
    devices = [lib.nvmlDeviceGetMigDeviceHandleByIndex(handle, index) for index in (0, 1)]
    assert lib.nvmlDeviceGetName(devices[1]) == "NVIDIA H100 80GB HBM3 MIG 1c.3g.40gb"
    assert len({lib.nvmlDeviceGetUUID(device) for device in devices}) == 2
    lib.nvmlComputeInstanceDestroy(first)
    with pytest.raises(lib.NVMLError_NotFound):  # a hole in the index space
        lib.nvmlDeviceGetMigDeviceHandleByIndex(handle, 0)
    assert lib.nvmlDeviceGetIndex(lib.nvmlComputeInstanceGetInfo(second).device) == 1


def test_a_declared_layout_is_live(make_node: Make, nvml: Load) -> None:
    lib = nvml(make_node("dgx-h100-mig"))
    handle = lib.nvmlDeviceGetHandleByIndex(0)
    names = []
    for index in range(lib.nvmlDeviceGetMaxMigDeviceCount(handle)):
        try:
            names.append(lib.nvmlDeviceGetName(lib.nvmlDeviceGetMigDeviceHandleByIndex(handle, index)))
        except lib.NVMLError_NotFound:
            continue
    assert [name.split(" MIG ")[1] for name in names] == ["3g.40gb", "2g.20gb", "1g.10gb"]
