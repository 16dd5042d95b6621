"""Functions of monitors and administrators: samples, processes, GPM, accounting, locked clocks."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest

import fake_nvml

Make = Callable[..., fake_nvml.Node]
Load = Callable[[fake_nvml.Node], Any]


def test_samples_repeat_the_present_reading(make_node: Make, nvml: Load) -> None:
    node = make_node("h200")
    lib = nvml(node)
    handle = lib.nvmlDeviceGetHandleByIndex(0)
    node.set(0, "utilization_gpu", 37)
    kind, samples = lib.nvmlDeviceGetSamples(handle, lib.NVML_GPU_UTILIZATION_SAMPLES, 0)
    assert kind == lib.NVML_VALUE_TYPE_UNSIGNED_INT
    assert {sample.sampleValue.uiVal for sample in samples} == {37}
    stamps = [sample.timeStamp for sample in samples]
    assert stamps == sorted(set(stamps))
    _, newer = lib.nvmlDeviceGetSamples(handle, lib.NVML_GPU_UTILIZATION_SAMPLES, stamps[-3])
    assert 2 <= len(newer) < len(samples)
    with pytest.raises(lib.NVMLError_NotFound):
        lib.nvmlDeviceGetSamples(handle, lib.NVML_GPU_UTILIZATION_SAMPLES, 2**63)
    with pytest.raises(lib.NVMLError_InvalidArgument):
        lib.nvmlDeviceGetSamples(handle, 99, 0)


def test_processes_by_every_list(make_node: Make, nvml: Load) -> None:
    node = make_node("dgx-h100-mig")
    lib = nvml(node)
    handle = lib.nvmlDeviceGetHandleByIndex(1)
    with pytest.raises(lib.NVMLError_NotFound):
        lib.nvmlDeviceGetProcessUtilization(handle, 0)
    assert lib.nvmlDeviceGetRunningProcessDetailList(handle, lib.nvmlProcessDetailList_v1, 0) == []
    node.set_process(1, 101, memory=1 << 20, utilization=60)
    node.set_process(1, 102, memory=2 << 20, utilization=30)
    node.set_process(1, 103, memory=3 << 20, graphics=True)
    found = lib.nvmlDeviceGetProcessUtilization(handle, 0)
    assert [(row.pid, row.smUtil) for row in found] == [(101, 60), (102, 30), (103, 0)]
    compute, graphics = (
        lib.nvmlDeviceGetRunningProcessDetailList(handle, lib.nvmlProcessDetailList_v1, mode) for mode in (0, 1)
    )
    assert [(row.pid, row.usedGpuMemory) for row in compute] == [(101, 1 << 20), (102, 2 << 20)]
    assert [row.pid for row in graphics] == [103]
    assert [row.pid for row in lib.nvmlDeviceGetComputeRunningProcesses(handle)] == [101, 102]
    with pytest.raises(lib.NVMLError_ArgumentVersionMismatch):
        lib.nvmlDeviceGetRunningProcessDetailList(handle, 0, 0)
    mig = lib.nvmlDeviceGetMigDeviceHandleByIndex(lib.nvmlDeviceGetHandleByIndex(0), 0)
    gi, ci = lib.nvmlDeviceGetGpuInstanceId(mig), lib.nvmlDeviceGetComputeInstanceId(mig)
    node.set_process(0, 7, memory=1, utilization=9, gi=gi, ci=ci)
    assert [row.pid for row in lib.nvmlDeviceGetProcessUtilization(mig, 0)] == [7]


def test_accounting_is_off_until_it_is_on(make_node: Make, nvml: Load) -> None:
    node = make_node("h200")
    lib = nvml(node)
    handle = lib.nvmlDeviceGetHandleByIndex(0)
    node.set_process(0, 42, memory=4096, utilization=50)
    assert lib.nvmlDeviceGetAccountingPids(handle) == []
    with pytest.raises(lib.NVMLError_NotFound):
        lib.nvmlDeviceGetAccountingStats(handle, 42)
    lib.nvmlDeviceSetAccountingMode(handle, 1)
    assert lib.nvmlDeviceGetAccountingPids(handle) == [42]
    stats = lib.nvmlDeviceGetAccountingStats(handle, 42)
    assert (stats.maxMemoryUsage, stats.gpuUtilization, stats.isRunning) == (4096, 50, 1)


def test_gpm_measures_between_two_samples(make_node: Make, nvml: Load) -> None:
    node = make_node("mixed")
    lib = nvml(node)
    hopper, ampere = lib.nvmlDeviceGetHandleByIndex(0), lib.nvmlDeviceGetHandleByIndex(2)
    assert lib.nvmlGpmQueryDeviceSupport(hopper).isSupportedDevice == 1
    assert lib.nvmlGpmQueryDeviceSupport(ampere).isSupportedDevice == 0
    first, second = lib.nvmlGpmSampleAlloc(), lib.nvmlGpmSampleAlloc()
    with pytest.raises(lib.NVMLError_NotSupported):
        lib.nvmlGpmSampleGet(ampere, first)
    get = lib.c_nvmlGpmMetricsGet_t()
    get.version, get.numMetrics, get.sample1, get.sample2 = 1, 2, first, second
    get.metrics[0].metricId, get.metrics[1].metricId = lib.NVML_GPM_METRIC_GRAPHICS_UTIL, 19
    with pytest.raises(lib.NVMLError_InvalidArgument):  # nothing was sampled yet
        lib.nvmlGpmMetricsGet(get)
    node.set(0, "utilization_gpu", 20)
    lib.nvmlGpmSampleGet(hopper, first)
    node.set(0, "utilization_gpu", 60)
    lib.nvmlGpmSampleGet(hopper, second)
    lib.nvmlGpmMetricsGet(get)
    assert (get.metrics[0].nvmlReturn, get.metrics[0].value) == (0, 40.0)
    assert get.metrics[1].nvmlReturn == lib.NVML_ERROR_NOT_SUPPORTED
    lib.nvmlGpmSampleFree(first)
    with pytest.raises(lib.NVMLError_InvalidArgument):
        lib.nvmlGpmSampleFree(first)


def test_locked_clocks_stay_within_the_board(make_node: Make, nvml: Load) -> None:
    node = make_node("h200")
    lib = nvml(node)
    handle = lib.nvmlDeviceGetHandleByIndex(0)
    lib.nvmlDeviceSetGpuLockedClocks(handle, 345, 1200)
    assert (node.get(0, "clock_locked_graphics_min"), node.get(0, "clock_locked_graphics_max")) == (345, 1200)
    for low, high in ((1200, 345), (99999, 99999)):
        with pytest.raises(lib.NVMLError_InvalidArgument):
            lib.nvmlDeviceSetGpuLockedClocks(handle, low, high)
    lib.nvmlDeviceResetGpuLockedClocks(handle)
    assert node.get(0, "clock_locked_graphics_max") == 0


def test_application_clocks_and_power_limits(make_node: Make, nvml: Load) -> None:
    node = make_node("h200")
    lib = nvml(node)
    handle = lib.nvmlDeviceGetHandleByIndex(0)
    lib.nvmlDeviceSetApplicationsClocks(handle, 2201, 1200)
    assert [lib.nvmlDeviceGetApplicationsClock(handle, clock) for clock in (0, 2)] == [1200, 2201]
    for memory, graphics in ((1234, 1200), (3201, 100), (3201, 5000)):
        with pytest.raises(lib.NVMLError_InvalidArgument):
            lib.nvmlDeviceSetApplicationsClocks(handle, memory, graphics)
    lib.nvmlDeviceResetApplicationsClocks(handle)
    assert [lib.nvmlDeviceGetApplicationsClock(handle, clock) for clock in (0, 2)] == [1980, 3201]
    lib.nvmlDeviceSetPowerManagementLimit_v2(handle, 0, 500_000)
    assert lib.nvmlDeviceGetPowerManagementLimit(handle) == 500_000
    for version, scope, limit, code in (
        (lib.nvmlPowerValue_v2, 1, 500_000, lib.NVML_ERROR_NOT_SUPPORTED),
        (lib.nvmlPowerValue_v2, 0, 5, lib.NVML_ERROR_INVALID_ARGUMENT),
        (0, 0, 500_000, lib.NVML_ERROR_ARGUMENT_VERSION_MISMATCH),
    ):
        value = lib.c_nvmlPowerValue_v2_t(version, scope, limit)  # pynvml's own function drops the return code
        assert lib.nvmlLib.nvmlDeviceSetPowerManagementLimit_v2(handle, ctypes.byref(value)) == code


def test_nvlink_info_and_counters(make_node: Make, nvml: Load) -> None:
    """A second version's tail is not written for a first version's caller."""
    node = make_node("dgx-h200")
    lib = nvml(node)
    handle = lib.nvmlDeviceGetHandleByIndex(0)
    small = ctypes.create_string_buffer(b"\xaa" * 64, 64)
    ctypes.c_uint.from_buffer(small).value = lib.nvmlNvLinkInfo_v1
    lib.nvmlDeviceGetNvLinkInfo(handle, small)
    assert small.raw[4:8] == b"\0" * 4
    assert small.raw[8:] == b"\xaa" * 56
    big = lib.c_nvmlNvLinkInfo_v2_t()
    lib.nvmlDeviceGetNvLinkInfo(handle, ctypes.byref(big))
    assert big.firmwareInfo.numValidEntries == 0
    with node.change() as txn:
        txn.state.gpus[0].links[3].errors[1] = 12
    assert lib.nvmlDeviceGetNvLinkErrorCounter(handle, 3, 1) == 12
    lib.nvmlDeviceResetNvLinkErrorCounters(handle, 3)
    assert lib.nvmlDeviceGetNvLinkErrorCounter(handle, 3, 1) == 0
    with pytest.raises(lib.NVMLError_InvalidArgument):
        lib.nvmlDeviceResetNvLinkErrorCounters(handle, 18)


def test_retired_pages_of_a_board_that_has_them(make_node: Make, nvml: Load) -> None:
    node = make_node("t4")
    lib = nvml(node)
    handle = lib.nvmlDeviceGetHandleByIndex(0)
    node.set(0, "retired_pages_double_bit", 2)
    pages = lib.nvmlDeviceGetRetiredPages(handle, lib.NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR)
    assert len(set(pages)) == 2
    assert all(page % 4096 == 0 for page in pages)
    assert lib.nvmlDeviceGetRetiredPages_v2(handle, 0) == []


def test_vgpu_answers_as_a_gpu_without_it(make_node: Make, nvml: Load) -> None:
    lib = nvml(make_node("h200"))
    handle = lib.nvmlDeviceGetHandleByIndex(0)
    assert lib.nvmlDeviceGetGridLicensableFeatures(handle).isGridLicenseSupported == 0
    for call in (lib.nvmlDeviceGetSupportedVgpus, lib.nvmlDeviceGetActiveVgpus, lib.nvmlDeviceGetHostVgpuMode):
        with pytest.raises(lib.NVMLError_NotSupported):
            call(handle)
