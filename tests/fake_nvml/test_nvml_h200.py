"""The inventory `h200` answers as one real NVIDIA H200 did (driver 580.159.04, MIG off, PCI pass-through).

`fixtures/nvml/h200_nvml.json` holds every getter's value or NVML error, recorded through nvidia-ml-py on that machine.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import pytest

import fake_nvml
from dra_conformance.components import nvml_recorded
from dra_conformance.components.nvml_recorded import plain, result_of

RECORDED = nvml_recorded.recording()
CASES = list(nvml_recorded.cases(RECORDED))


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any]]:
    with fake_nvml.Node.create("h200", tmp_path_factory.mktemp("h200") / "node") as node:
        module = fake_nvml.load_pynvml(node)
        module.nvmlInit()
        yield module, module.nvmlDeviceGetHandleByIndex(0)
        module.nvmlShutdown()


@pytest.mark.parametrize(("name", "key", "expected"), CASES, ids=lambda value: value if isinstance(value, str) else "")
def test_getter_answers_as_recorded(gpu: tuple[Any, Any], name: str, key: str, expected: dict[str, Any]) -> None:
    """NVML-082, getter by getter."""
    module, handle = gpu
    if not hasattr(module, name):
        pytest.fail(f"the installed nvidia-ml-py has no {name}; the recording is from 13.610.43")
    got = nvml_recorded.read(module, handle, name, key)
    assert nvml_recorded.agrees(name, expected, got), (expected, got)


def test_every_recorded_getter_is_compared_or_named() -> None:
    compared = {name for name, _, _ in CASES}
    assert set(RECORDED["getters"]) - compared == set(nvml_recorded.APART) | nvml_recorded.CRASHED


#: Field values that count or measure: compared by return code and type only.
LIVE_FIELDS = {
    "NVML_FI_DEV_PERF_POLICY_LOW_UTILIZATION",
    "NVML_FI_DEV_PERF_POLICY_TOTAL_APP_CLOCKS",
    "NVML_FI_DEV_PERF_POLICY_TOTAL_BASE_CLOCKS",
    "NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
    "NVML_FI_DEV_ENERGY",
    "NVML_FI_DEV_POWER_AVERAGE",
    "NVML_FI_DEV_POWER_INSTANT",
    "NVML_FI_DEV_PCIE_L0_TO_RECOVERY_COUNTER",
    "NVML_FI_DEV_PCIE_COUNT_TX_BYTES",
    "NVML_FI_DEV_PCIE_COUNT_RX_BYTES",
}


def test_field_values(gpu: tuple[Any, Any]) -> None:
    module, handle = gpu
    differences = {}
    for name, expected in RECORDED["field_values"].items():
        entry = module.nvmlDeviceGetFieldValues(handle, [getattr(module, name)])[0]
        got = {"ret": entry.nvmlReturn, "type": entry.valueType, "ull": entry.value.ullVal}
        want = {key: expected[key] for key in got}
        if name in LIVE_FIELDS:
            got.pop("ull"), want.pop("ull")
        if got != want:
            differences[name] = (want, got)
    assert differences == {}


def test_temperature_thresholds(gpu: tuple[Any, Any]) -> None:
    module, handle = gpu
    for index, expected in RECORDED["temperature_thresholds"].items():
        got = result_of(module, module.nvmlDeviceGetTemperatureThreshold, handle, int(index))
        if isinstance(expected, int):
            assert got == {"ok": expected}
        else:
            assert got == {"err": int(expected.split("(")[1].rstrip(")"))}, index


def test_gpu_instance_profiles(gpu: tuple[Any, Any]) -> None:
    module, handle = gpu
    for key, expected in RECORDED["gpu_instance_profiles"].items():
        number, kind = key.split("/")
        if kind == "remaining":
            profile = module.nvmlDeviceGetGpuInstanceProfileInfo(handle, int(number))
            assert module.nvmlDeviceGetGpuInstanceRemainingCapacity(handle, profile.id) == expected
            continue
        version = [] if kind == "vNone" else [int(kind[1:])]
        got = result_of(module, module.nvmlDeviceGetGpuInstanceProfileInfo, handle, int(number), *version)
        assert got == ({"ok": expected} if isinstance(expected, dict) else {"err": int(expected.split("(")[1][:-1])})


def test_placements_are_those_of_nvidia_smi(gpu: tuple[Any, Any]) -> None:
    """`nvidia-smi mig -lgipp` on that machine, MIG off."""
    module, handle = gpu
    expected = {
        19: ([0, 1, 2, 3, 4, 5, 6], 1),
        20: ([0, 1, 2, 3, 4, 5, 6], 1),
        15: ([0, 2, 4, 6], 2),
        14: ([0, 2, 4], 2),
        9: ([0, 4], 4),
        5: ([0], 4),
        0: ([0], 8),
    }
    for profile, (starts, size) in expected.items():
        count = ctypes.c_uint(0)
        module.nvmlDeviceGetGpuInstancePossiblePlacements(handle, profile, None, ctypes.byref(count))
        assert count.value == len(starts)
        rows = (module.c_nvmlGpuInstancePlacement_t * count.value)()
        module.nvmlDeviceGetGpuInstancePossiblePlacements(handle, profile, rows, ctypes.byref(count))
        assert [(row.start, row.size) for row in rows] == [(start, size) for start in starts]


def test_fabric_info(gpu: tuple[Any, Any]) -> None:
    module, handle = gpu
    info = module.c_nvmlGpuFabricInfoV_t()
    module.nvmlDeviceGetGpuFabricInfoV(handle, ctypes.byref(info))
    expected = RECORDED["fabric_info"]
    assert list(info.clusterUuid) == expected["clusterUuid"]
    assert {key: getattr(info, key) for key in ("cliqueId", "healthMask", "state", "status", "version")} == {
        key: expected[key] for key in ("cliqueId", "healthMask", "state", "status", "version")
    }


def test_violation_status(gpu: tuple[Any, Any]) -> None:
    module, handle = gpu
    live = {"4", "10", "11"}  # low utilization and the totals grow on an idle GPU
    for policy, expected in RECORDED["getters"]["nvmlDeviceGetViolationStatus"].items():
        got = result_of(module, module.nvmlDeviceGetViolationStatus, handle, int(policy))
        if "err" in expected:
            assert got == {"err": expected["err"]}
        elif policy not in live:
            assert got["ok"]["violationTime"] == expected["ok"]["violationTime"]
        else:
            assert isinstance(got["ok"]["violationTime"], int)


def test_clock_text_has_the_recorded_shape(gpu: tuple[Any, Any]) -> None:
    module, handle = gpu
    recorded = RECORDED["getters"]["nvmlDeviceGetCurrentClockFreqs"]["ok"]
    got = plain(module.nvmlDeviceGetCurrentClockFreqs(handle))
    assert [part.split("=")[0] for part in got.split(", ")] == [part.split("=")[0] for part in recorded.split(", ")]
    assert got.split(", ")[1:] == recorded.split(", ")[1:]
