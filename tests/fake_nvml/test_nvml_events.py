"""Events, XIDs and faults, across processes."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import fake_nvml

Make = Callable[..., fake_nvml.Node]
Load = Callable[[fake_nvml.Node], Any]
Start = Callable[[fake_nvml.Node, str], "subprocess.Popen[str]"]

WAITER = """
import sys, time, pynvml as p
p.nvmlInit()
s = p.nvmlEventSetCreate()
for i in range(p.nvmlDeviceGetCount()):
    p.nvmlDeviceRegisterEvents(p.nvmlDeviceGetHandleByIndex(i), p.nvmlEventTypeXidCriticalError, s)
print("ready", flush=True)
for _ in range(int(sys.stdin.readline())):
    e = p.nvmlEventSetWait_v2(s, 20000)
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    print(e.eventData, p.nvmlDeviceGetIndex(e.device), hex(e.gpuInstanceId), now, flush=True)
"""


def xid_set(lib: Any, gpus: list[int]) -> Any:
    events = lib.nvmlEventSetCreate()
    for gpu in gpus:
        lib.nvmlDeviceRegisterEvents(lib.nvmlDeviceGetHandleByIndex(gpu), lib.nvmlEventTypeXidCriticalError, events)
    return events


def test_every_waiting_process_gets_every_event_once_and_soon(make_node: Make, start_python: Start) -> None:
    """NVML-058, 060."""
    node = make_node()
    waiters = [start_python(node, WAITER) for _ in range(2)]
    for process in waiters:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "ready\n"
        process.stdin.write("60\n")
        process.stdin.flush()
    delays: list[int] = []
    for number in range(60):
        sent = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        node.inject_xid(number % 8, 1000 + number)
        for process in waiters:
            assert process.stdout is not None
            row = process.stdout.readline().split()
            assert row[:3] == [str(1000 + number), str(number % 8), "0xffffffff"]
            delays.append(int(row[3]) - sent)
    for process in waiters:
        out, err = process.communicate(timeout=30)
        assert (process.returncode, out) == (0, ""), err
    # The next event comes when the last was told, so a poll of 100 ms would be late by most of that each time; a wake
    # is late only where the machine is busy, and not for each of 120.
    assert min(delays) < 50_000_000


def test_registration_and_timeouts(make_node: Make, nvml: Load) -> None:
    """NVML-055, 056, 057."""
    node = make_node()
    lib = nvml(node)
    first, second = lib.nvmlDeviceGetHandleByIndex(0), lib.nvmlDeviceGetHandleByIndex(1)
    assert lib.nvmlDeviceGetSupportedEventTypes(first) == 65439
    node.inject_xid(0, 13)
    events = xid_set(lib, [0])
    with pytest.raises(lib.NVMLError_Timeout):
        lib.nvmlEventSetWait_v2(events, 0)  # what came before the registration is not delivered
    with pytest.raises(lib.NVMLError_NotSupported):
        lib.nvmlDeviceRegisterEvents(first, 1 << 40, events)
    node.inject_xid(1, 31)
    node.inject_xid(0, 43, gi=7, ci=0)
    event = lib.nvmlEventSetWait_v2(events, 1000)
    assert (event.eventData, event.eventType, event.gpuInstanceId, event.computeInstanceId) == (43, 8, 7, 0)
    lib.nvmlDeviceRegisterEvents(second, lib.nvmlEventTypeXidCriticalError, events)
    with pytest.raises(lib.NVMLError_Timeout):
        lib.nvmlEventSetWait_v2(events, 0)
    # Of this thread: threads of earlier tests may still be busy.
    started, cpu = time.monotonic(), time.thread_time()
    with pytest.raises(lib.NVMLError_Timeout):
        lib.nvmlEventSetWait_v2(events, 250)
    assert time.monotonic() - started >= 0.25
    assert time.thread_time() - cpu < 0.1
    lib.nvmlEventSetFree(events)
    with pytest.raises(lib.NVMLError_InvalidArgument):
        lib.nvmlEventSetFree(events)


def test_the_end_of_the_node_lets_a_waiter_go(make_node: Make) -> None:
    node = make_node()
    lib = fake_nvml.load_pynvml(node)
    lib.nvmlInit()
    events = xid_set(lib, [0])
    seen: list[Any] = []

    def wait() -> None:
        try:
            lib.nvmlEventSetWait_v2(events, 30_000)
        except lib.NVMLError as error:
            seen.append(error.value)

    thread = threading.Thread(target=wait)
    thread.start()
    node.close()
    thread.join(timeout=60)
    assert not thread.is_alive()
    assert seen == [9]


def test_xid_79_loses_one_gpu_everywhere(make_node: Make, nvml: Load, start_python: Start) -> None:
    """NVML-061."""
    node = make_node()
    lib = nvml(node)
    handle = lib.nvmlDeviceGetHandleByIndex(2)
    events = xid_set(lib, [2])
    node.lose_gpu(2)
    assert lib.nvmlEventSetWait_v2(events, 1000).eventData == 79
    for call in (lib.nvmlDeviceGetName, lib.nvmlDeviceGetUUID, lib.nvmlDeviceGetMemoryInfo):
        with pytest.raises(lib.NVMLError_GpuIsLost):
            call(handle)
    with pytest.raises(lib.NVMLError_GpuIsLost):
        lib.nvmlDeviceGetHandleByIndex(2)
    assert lib.nvmlDeviceGetCount() == 8
    assert lib.nvmlDeviceGetName(lib.nvmlDeviceGetHandleByIndex(3))
    assert [gpu.lost for gpu in node.gpus] == [index == 2 for index in range(8)]
    node.recover_gpu(2)
    assert lib.nvmlDeviceGetUUID(handle) == node.gpus[2].uuid


def test_ecc_xids_move_their_counters(make_node: Make, nvml: Load) -> None:
    """NVML-062, 063."""
    node = make_node()
    lib = nvml(node)
    handle = lib.nvmlDeviceGetHandleByIndex(0)
    node.inject_xid(0, 48)
    node.inject_xid(0, 94)
    assert lib.nvmlDeviceGetTotalEccErrors(handle, 1, 0) == 2
    assert lib.nvmlDeviceGetTotalEccErrors(handle, 1, 1) == 2
    assert lib.nvmlDeviceGetMemoryErrorCounter(handle, 1, 0, lib.NVML_MEMORY_LOCATION_DRAM) == 1
    assert lib.nvmlDeviceGetRemappedRows(handle) == (0, 1, 1, 0)
    node.reload_driver()
    with pytest.raises(lib.NVMLError_DriverNotLoaded):
        lib.nvmlDeviceGetTotalEccErrors(handle, 1, 0)
    lib.nvmlShutdown()
    lib.nvmlInit()
    handle = lib.nvmlDeviceGetHandleByIndex(0)
    assert (lib.nvmlDeviceGetTotalEccErrors(handle, 1, 0), lib.nvmlDeviceGetTotalEccErrors(handle, 1, 1)) == (0, 2)


def test_a_storm_drops_only_the_oldest(make_node: Make, nvml: Load) -> None:
    """A set that is too slow keeps the newest events, in order and without a gap."""
    node = make_node("h200")
    lib = nvml(node)
    events = xid_set(lib, [0])
    for start in range(0, 6000, 500):
        with node.change() as txn:
            for number in range(start, start + 500):
                txn.event(0, 8, number)
    got = []
    while True:
        try:
            got.append(lib.nvmlEventSetWait_v2(events, 0).eventData)
        except lib.NVMLError_Timeout:
            break
    assert got == list(range(6000 - len(got), 6000))
    assert len(got) >= 2048


def test_faults(make_node: Make, nvml: Load) -> None:
    node = make_node()
    lib = nvml(node)
    first, second = lib.nvmlDeviceGetHandleByIndex(0), lib.nvmlDeviceGetHandleByIndex(1)
    rule = node.inject_fault("nvmlDeviceGetName", error="NVML_ERROR_UNKNOWN", times=2, after=1, gpu=0)
    assert lib.nvmlDeviceGetName(second)
    assert lib.nvmlDeviceGetName(first)
    for _ in range(2):
        with pytest.raises(lib.NVMLError_Unknown):
            lib.nvmlDeviceGetName(first)
    assert lib.nvmlDeviceGetName(first)
    assert node.fault_hits(rule) == 2
    node.inject_fault("nvmlDeviceGetUUID", delay=0.05)
    started = time.monotonic()
    assert lib.nvmlDeviceGetUUID(first)
    assert time.monotonic() - started >= 0.05
    node.inject_fault("nvmlDeviceGetSupportedVgpus", error="TIMEOUT")  # a function that is a stub otherwise
    with pytest.raises(lib.NVMLError_Timeout):
        lib.nvmlDeviceGetSupportedVgpus(first)
    node.clear_faults()
    with pytest.raises(lib.NVMLError_NotSupported):
        lib.nvmlDeviceGetSupportedVgpus(first)
    node.fail_init("DRIVER_NOT_LOADED")
    other = fake_nvml.load_pynvml(node)
    with pytest.raises(other.NVMLError_DriverNotLoaded):
        other.nvmlInit()
    node.fail_init("SUCCESS")
    other.nvmlInit()
    other.nvmlShutdown()


def test_setters_are_seen_by_all(make_node: Make, nvml: Load) -> None:
    """NVML-049: a change through NVML is the same transaction as one through the control API."""
    node = make_node()
    lib = nvml(node)
    handle = lib.nvmlDeviceGetHandleByIndex(5)
    generation = node.generation
    lib.nvmlDeviceSetComputeMode(handle, lib.NVML_COMPUTEMODE_EXCLUSIVE_PROCESS)
    assert node.wait_change(generation, 60)
    assert node.get(5, "compute_mode") == 3
    lib.nvmlDeviceSetPowerManagementLimit(handle, 350_000)
    assert node.get(5, "power_limit") == 350_000
    with pytest.raises(lib.NVMLError_InvalidArgument):
        lib.nvmlDeviceSetPowerManagementLimit(handle, 1)
    node.set(5, "temperature_gpu", "N/A")
    with pytest.raises(lib.NVMLError_NotSupported):
        lib.nvmlDeviceGetTemperature(handle, 0)
