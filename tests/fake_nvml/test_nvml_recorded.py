"""The inventories `h200` and `h100` answer as a real H200 and H100 did (driver 580.159.04, MIG off, PCI pass-through).

`fixtures/nvml/*_nvml.json` hold every getter's value or NVML error, recorded through nvidia-ml-py on these machines.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

import fake_nvml
from dra_conformance.components import nvml_recorded
from dra_conformance.components.nvml_recorded import plain, result_of

Recorded = dict[str, Any]
RECORDED = {name: nvml_recorded.recording(name) for name in nvml_recorded.RECORDED.values()}
CASES = [(board, *case) for board, recorded in RECORDED.items() for case in nvml_recorded.cases(recorded)]


@pytest.fixture(scope="module", params=sorted(RECORDED))
def board(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def recorded(board: str) -> Recorded:
    return RECORDED[board]


Gpu = tuple[Any, Any]


@pytest.fixture(scope="module")
def gpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Gpu]]:
    """Return the NVML module and the handle of each recorded board."""
    with ExitStack() as nodes:
        found = {}
        for board in RECORDED:
            node = nodes.enter_context(fake_nvml.Node.create(board, tmp_path_factory.mktemp(board) / "node"))
            module = fake_nvml.load_pynvml(node)
            module.nvmlInit()
            nodes.callback(module.nvmlShutdown)
            found[board] = (module, module.nvmlDeviceGetHandleByIndex(0))
        yield found


@pytest.fixture
def gpu(gpus: dict[str, Gpu], board: str) -> Gpu:
    return gpus[board]


@pytest.mark.parametrize(
    ("case", "name", "key", "expected"), CASES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_getter_answers_as_recorded(
    gpus: dict[str, Gpu], case: str, name: str, key: str, expected: dict[str, Any]
) -> None:
    """NVML-082, getter by getter."""
    module, handle = gpus[case]
    if not hasattr(module, name):
        pytest.fail(f"the installed nvidia-ml-py has no {name}; the recordings are from 13.610.43 and later")
    got = nvml_recorded.read(module, handle, name, key)
    assert nvml_recorded.agrees(name, expected, got), (expected, got)


def test_every_recorded_getter_is_compared_or_named(board: str, recorded: Recorded) -> None:
    compared = {name for of, name, _, _ in CASES if of == board}
    assert set(recorded["getters"]) - compared == set(nvml_recorded.APART) | nvml_recorded.CRASHED


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
    "NVML_FI_DEV_PCIE_COUNT_BAD_TLP",
    "NVML_FI_DEV_PCIE_COUNT_LANE_ERROR",
    "NVML_FI_DEV_PCIE_COUNT_NAKS_SENT",
    "NVML_FI_DEV_PCIE_COUNT_RECEIVER_ERROR",
}


def test_field_values(gpu: Gpu, recorded: Recorded) -> None:
    module, handle = gpu
    differences = {}
    for name, expected in recorded["field_values"].items():
        entry = module.nvmlDeviceGetFieldValues(handle, [getattr(module, name)])[0]
        got = {"ret": entry.nvmlReturn, "type": entry.valueType, "ull": entry.value.ullVal}
        want = {key: expected[key] for key in got}
        if name in LIVE_FIELDS:
            got.pop("ull"), want.pop("ull")
        if got != want:
            differences[name] = (want, got)
    assert differences == {}


def test_temperature_thresholds(gpu: Gpu, recorded: Recorded) -> None:
    module, handle = gpu
    for index, expected in recorded["temperature_thresholds"].items():
        got = result_of(module, module.nvmlDeviceGetTemperatureThreshold, handle, int(index))
        if isinstance(expected, int):
            assert got == {"ok": expected}
        else:
            assert got == {"err": int(expected.split("(")[1].rstrip(")"))}, index


def test_gpu_instance_profiles(gpu: Gpu, recorded: Recorded) -> None:
    module, handle = gpu
    for key, expected in recorded["gpu_instance_profiles"].items():
        number, kind = key.split("/")
        if kind == "remaining":
            profile = module.nvmlDeviceGetGpuInstanceProfileInfo(handle, int(number))
            assert module.nvmlDeviceGetGpuInstanceRemainingCapacity(handle, profile.id) == expected
            continue
        version = [] if kind == "vNone" else [int(kind[1:])]
        got = result_of(module, module.nvmlDeviceGetGpuInstanceProfileInfo, handle, int(number), *version)
        assert got == ({"ok": expected} if isinstance(expected, dict) else {"err": int(expected.split("(")[1][:-1])})


def test_placements_are_those_of_nvidia_smi(gpu: Gpu) -> None:
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


def test_fabric_info(gpu: Gpu, recorded: Recorded) -> None:
    module, handle = gpu
    info = module.c_nvmlGpuFabricInfoV_t()
    module.nvmlDeviceGetGpuFabricInfoV(handle, ctypes.byref(info))
    expected = recorded["fabric_info"]
    assert list(info.clusterUuid) == expected["clusterUuid"]
    assert {key: getattr(info, key) for key in ("cliqueId", "healthMask", "state", "status", "version")} == {
        key: expected[key] for key in ("cliqueId", "healthMask", "state", "status", "version")
    }


def test_violation_status(gpu: Gpu, recorded: Recorded) -> None:
    module, handle = gpu
    live = {"4", "10", "11"}  # low utilization and the totals grow on an idle GPU
    for policy, expected in recorded["getters"]["nvmlDeviceGetViolationStatus"].items():
        got = result_of(module, module.nvmlDeviceGetViolationStatus, handle, int(policy))
        if "err" in expected:
            assert got == {"err": expected["err"]}
        elif policy not in live:
            assert got["ok"]["violationTime"] == expected["ok"]["violationTime"]
        else:
            assert isinstance(got["ok"]["violationTime"], int)


def test_clock_text_has_the_recorded_shape(gpu: Gpu, recorded: Recorded) -> None:
    module, handle = gpu
    text = recorded["getters"]["nvmlDeviceGetCurrentClockFreqs"]["ok"]
    got = plain(module.nvmlDeviceGetCurrentClockFreqs(handle))
    assert [part.split("=")[0] for part in got.split(", ")] == [part.split("=")[0] for part in text.split(", ")]
    assert got.split(", ")[1:] == text.split(", ")[1:]
