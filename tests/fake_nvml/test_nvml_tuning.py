"""Settings of administrators, events of the system, and features that no board has: all are implemented, no stubs."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import fake_nvml

Make = Callable[..., fake_nvml.Node]
Load = Callable[[fake_nvml.Node], Any]


@pytest.fixture
def own_cpus() -> Iterator[set[int]]:
    """The CPUs of this thread, which are given back."""
    before = os.sched_getaffinity(0)
    yield before
    os.sched_setaffinity(0, before)


def system_set(nvml: Any, types: int = 3) -> Any:
    made = nvml.nvmlSystemEventSetCreate(nvml.nvmlSystemEventSetCreateRequest_v1)
    nvml.nvmlSystemRegisterEvents(nvml.nvmlSystemRegisterEventRequest_v1, types, made)
    return made


def wait(nvml: Any, events: Any, *, room: int = 8, timeout: int = 0) -> list[tuple[int, int]] | str:
    """Type and GPU of the events that a set has, or the error's name."""
    data = (nvml.c_nvmlSystemEventData_v1_t * room)()
    request = nvml.c_nvmlSystemEventSetWaitRequest_v1_t()
    request.timeoutms, request.set, request.dataSize = timeout, events, room
    request.data = ctypes.cast(data, ctypes.POINTER(nvml.c_nvmlSystemEventData_v1_t))
    code = nvml.nvmlLib.nvmlSystemEventSetWait(ctypes.byref(request))
    if code:
        return str(fake_nvml.fault_list.error_name(code))
    return [(int(data[place].eventType), int(data[place].gpuId)) for place in range(request.numEvent)]


def test_the_driver_leaves_a_gpu_and_comes_back(make_node: Make, nvml: Load) -> None:
    node = make_node("dgx-h100")
    module = nvml(node)
    node.remove_gpu(0)  # before the registration: nobody hears of it
    node.restore_gpu(0)
    both, only_bind = system_set(module), system_set(module, 2)
    devices = module.nvmlEventSetCreate()
    module.nvmlDeviceRegisterEvents(module.nvmlDeviceGetHandleByIndex(1), 0x1 | 0x2, devices)
    assert wait(module, both) == "TIMEOUT"
    node.remove_gpu(3)
    node.restore_gpu(3)
    node.inject_event(1, 0x1, 0)  # an event of a GPU has the same number
    gpu = node.read().gpus[3]
    place = gpu.domain << 16 | gpu.bus << 8 | gpu.device
    assert wait(module, both) == [(1, place), (2, place)]
    assert wait(module, only_bind) == [(2, place)]
    assert wait(module, both) == "TIMEOUT"
    event = module.c_nvmlEventData_t()
    assert module.nvmlLib.nvmlEventSetWait_v2(devices, ctypes.byref(event), 0) == 0
    assert event.eventType == 0x1
    assert module.nvmlLib.nvmlEventSetWait_v2(devices, ctypes.byref(event), 0) == 10
    module.nvmlSystemEventSetFree(module.nvmlSystemEventSetFreeRequest_v1, both)
    assert wait(module, both) == "INVALID_ARGUMENT"
    foreign = ctypes.cast(devices, type(both))
    assert wait(module, foreign) == "INVALID_ARGUMENT"


def test_removing_by_nvml_is_an_event_too_and_wakes_a_waiter(make_node: Make, nvml: Load) -> None:
    node = make_node("dgx-h100")
    module = nvml(node)
    events = system_set(module)
    heard: list[Any] = []
    waiter = threading.Thread(target=lambda: heard.append(wait(module, events, timeout=30_000)))
    waiter.start()
    pci = module.nvmlDeviceGetPciInfo(module.nvmlDeviceGetHandleByIndex(2))
    assert module.nvmlLib.nvmlDeviceRemoveGpu_v2(ctypes.byref(pci), 0, 0) == 0
    waiter.join(30)
    assert [kind for kind, _ in heard[0]] == [1]
    assert module.nvmlLib.nvmlDeviceDiscoverGpus(ctypes.byref(pci)) == 0
    assert [kind for kind, _ in wait(module, events, room=1)] == [2]


def test_wrong_requests_for_system_events(make_node: Make, nvml: Load) -> None:
    module = nvml(make_node("t4"))
    request = module.c_nvmlSystemEventSetCreateRequest_v1_t()
    request.version = 0
    assert module.nvmlLib.nvmlSystemEventSetCreate(ctypes.byref(request)) == 25
    assert module.nvmlLib.nvmlSystemEventSetCreate(None) == 2
    events = module.nvmlSystemEventSetCreate(module.nvmlSystemEventSetCreateRequest_v1)
    with pytest.raises(module.NVMLError_NotSupported):
        module.nvmlSystemRegisterEvents(module.nvmlSystemRegisterEventRequest_v1, 0x10, events)


def test_the_calling_thread_goes_to_the_cpus_of_the_gpu(make_node: Make, nvml: Load, own_cpus: set[int]) -> None:
    node = make_node("t4")
    module = nvml(node)
    handle = module.nvmlDeviceGetHandleByIndex(0)
    here = min(own_cpus)
    with node.change() as txn:
        for word in range(16):
            txn.state.gpus[0].cpu_affinity[word] = 0
        txn.state.gpus[0].cpu_affinity[here // 64] = 1 << (here % 64)
    module.nvmlDeviceSetCpuAffinity(handle)
    assert os.sched_getaffinity(0) == {here}
    module.nvmlDeviceClearCpuAffinity(handle)
    assert os.sched_getaffinity(0) >= own_cpus
    with node.change() as txn:
        txn.state.gpus[0].cpu_affinity[here // 64] = 0
    with pytest.raises(module.NVMLError_Unknown):
        module.nvmlDeviceSetCpuAffinity(handle)


def test_restrictions_and_offsets(make_node: Make, nvml: Load) -> None:
    node = make_node("h200")
    module = nvml(node)
    handle = module.nvmlDeviceGetHandleByIndex(0)
    module.nvmlDeviceSetAPIRestriction(handle, 1, 1)
    assert module.nvmlDeviceGetAPIRestriction(handle, 1) == 1
    with pytest.raises(module.NVMLError_NotSupported):
        module.nvmlDeviceSetAPIRestriction(handle, 0, 1)
    with pytest.raises(module.NVMLError_InvalidArgument):
        module.nvmlDeviceSetAPIRestriction(handle, 2, 1)
    with pytest.raises(module.NVMLError_NotSupported):
        module.nvmlDeviceSetAutoBoostedClocksEnabled(handle, 1)
    module.nvmlDeviceSetGpcClkVfOffset(handle, 0)
    for set_offset in (module.nvmlDeviceSetGpcClkVfOffset, module.nvmlDeviceSetMemClkVfOffset):
        with pytest.raises(module.NVMLError_InvalidArgument):
            set_offset(handle, -15)
    offset = module.c_nvmlClockOffset_t()
    offset.version, offset.type, offset.pstate, offset.maxClockOffsetMHz = module.nvmlClockOffset_v1, 0, 0, 7
    assert module.nvmlLib.nvmlDeviceGetClockOffsets(handle, ctypes.byref(offset)) == 0
    assert (offset.clockOffsetMHz, offset.minClockOffsetMHz, offset.maxClockOffsetMHz) == (0, 0, 0)
    offset.clockOffsetMHz = 100
    assert module.nvmlLib.nvmlDeviceSetClockOffsets(handle, ctypes.byref(offset)) == 2
    offset.version = 1
    assert module.nvmlLib.nvmlDeviceGetClockOffsets(handle, ctypes.byref(offset)) == 25


def test_clocks_of_a_state_of_performance(make_node: Make, nvml: Load) -> None:
    module = nvml(make_node("h200"))
    handle = module.nvmlDeviceGetHandleByIndex(0)
    states = module.nvmlDeviceGetSupportedPerformanceStates(handle)
    low, high = module.nvmlDeviceGetMinMaxClockOfPState(handle, 0, states[0])
    assert 0 < low < high == module.nvmlDeviceGetMaxClockInfo(handle, 0)
    memory = module.nvmlDeviceGetMinMaxClockOfPState(handle, 2, 0)
    assert memory[0] == memory[1] == module.nvmlDeviceGetMaxClockInfo(handle, 2)
    with pytest.raises(module.NVMLError_InvalidArgument):
        module.nvmlDeviceGetMinMaxClockOfPState(handle, 0, 12)


def test_field_values_are_cleared_one_by_one(make_node: Make, nvml: Load) -> None:
    module = nvml(make_node("h200"))
    handle = module.nvmlDeviceGetHandleByIndex(0)
    cleared = module.nvmlDeviceClearFieldValues(handle, [95, 1, 60000])
    assert [row.nvmlReturn for row in cleared] == [0, 3, 2]


def test_the_inforom_is_sound_until_a_rule_says_otherwise(make_node: Make, nvml: Load) -> None:
    node = make_node("h200")
    module = nvml(node)
    handle = module.nvmlDeviceGetHandleByIndex(0)
    module.nvmlDeviceValidateInforom(handle)
    node.inject_fault("nvmlDeviceValidateInforom", error="CORRUPTED_INFOROM")
    with pytest.raises(module.NVMLError_CorruptedInforom):
        module.nvmlDeviceValidateInforom(handle)
    node.clear_faults()
    node.set(0, "inforom_image", "N/A")
    with pytest.raises(module.NVMLError_NotSupported):
        module.nvmlDeviceValidateInforom(handle)


def test_what_is_not_there_has_no_index_and_no_handle(make_node: Make, nvml: Load) -> None:
    module = nvml(make_node("t4"))
    lib, count, room = module.nvmlLib, ctypes.c_uint(9), ctypes.create_string_buffer(4096)
    for function in ("nvmlGetBlacklistDeviceCount", "nvmlGetExcludedDeviceCount", "nvmlUnitGetCount"):
        assert (getattr(lib, function)(ctypes.byref(count)), count.value) == (0, 0)
    for function in ("nvmlGetExcludedDeviceInfoByIndex", "nvmlGetBlacklistDeviceInfoByIndex"):
        assert getattr(lib, function)(0, room) == 2
    assert lib.nvmlUnitGetUnitInfo(None, room) == 2
    assert lib.nvmlDeviceGetFanSpeed(module.nvmlDeviceGetHandleByIndex(0), ctypes.byref(count)) == 3
    assert lib.nvmlDeviceSetFanSpeed_v2(module.nvmlDeviceGetHandleByIndex(0), 0, 50) == 2
    settings = module.c_nvmlSystemConfComputeSettings_v1_t()
    settings.environment = 5
    assert (lib.nvmlSystemGetConfComputeSettings(ctypes.byref(settings)), settings.environment) == (0, 0)


def test_the_far_end_of_a_link_in_both_layouts(make_node: Make, nvml: Load) -> None:
    node = make_node("dgx-h100")
    module = nvml(node)
    handle = module.nvmlDeviceGetHandleByIndex(0)
    new, old = module.nvmlDeviceGetNvLinkRemotePciInfo(handle, 0), module.nvmlPciInfo_v2_t()
    room = ctypes.create_string_buffer(b"\xaa" * 256, 256)
    assert module.nvmlLib.nvmlDeviceGetNvLinkRemotePciInfo(handle, 0, room) == 0
    ctypes.memmove(ctypes.byref(old), room, ctypes.sizeof(old))
    assert room.raw[ctypes.sizeof(old) :] == b"\xaa" * (256 - ctypes.sizeof(old))
    assert (old.busId, old.bus, old.pciDeviceId) == (new.busIdLegacy, new.bus, new.pciDeviceId)
