"""Workload power profiles on Blackwell, their absence elsewhere, and the registers that nothing here has."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from click.testing import CliRunner

import fake_nvml
from fake_nvml.cli import main

Make = Callable[..., fake_nvml.Node]
Load = Callable[[fake_nvml.Node], Any]

SUPPORTED = [0, 1, 2, 3, 4, 5, 6, 7, 13]
MAX_P, MAX_Q, COMPUTE, BALANCED, HPC = 0, 1, 2, 5, 13


def names(mask: Any) -> list[int]:
    return [32 * word + bit for word, bits in enumerate(mask.mask) for bit in range(32) if bits >> bit & 1]


def wanted(module: Any, profiles: Iterable[int]) -> Any:
    request = module.c_nvmlWorkloadPowerProfileRequestedProfiles_v1_t()
    for profile in profiles:
        request.requestedProfilesMask.mask[profile // 32] |= 1 << profile % 32
    return ctypes.byref(request)


def now(module: Any, handle: Any) -> tuple[list[int], list[int]]:
    """Return the requested and the enforced profiles."""
    current = module.c_nvmlWorkloadPowerProfileCurrentProfiles_v1_t()
    module.nvmlDeviceWorkloadPowerProfileGetCurrentProfiles(handle, ctypes.byref(current))
    assert names(current.perfProfilesMask) == SUPPORTED
    return names(current.requestedProfilesMask), names(current.enforcedProfilesMask)


@pytest.mark.parametrize("inventory", ["dgx-b200", "gb200-nvl72-node"])
def test_the_profiles_of_a_board(make_node: Make, nvml: Load, inventory: str) -> None:
    module = nvml(make_node(inventory))
    handle = module.nvmlDeviceGetHandleByIndex(0)
    info = module.c_nvmlWorkloadPowerProfileProfilesInfo_v1_t()
    ctypes.memset(ctypes.byref(info, 4), 0xAA, ctypes.sizeof(info) - 4)
    module.nvmlDeviceWorkloadPowerProfileGetProfilesInfo(handle, ctypes.byref(info))
    assert names(info.perfProfilesMask) == SUPPORTED
    told = [(number, row.profileId, row.version) for number, row in enumerate(info.perfProfile) if row.version]
    assert told == [(number, number, module.nvmlWorkloadPowerProfileInfo_v1) for number in SUPPORTED]
    assert bytes(info.perfProfile[8]) == bytes(ctypes.sizeof(info.perfProfile[8]))  # nothing of the caller's is left
    rivals = {number: names(info.perfProfile[number].conflictingmask) for number in SUPPORTED}
    assert {number: found for number, found in rivals.items() if found} == {
        MAX_P: [MAX_Q, BALANCED],
        MAX_Q: [MAX_P, BALANCED],
        BALANCED: [MAX_P, MAX_Q],
    }
    assert info.perfProfile[MAX_P].priority < info.perfProfile[BALANCED].priority
    assert now(module, handle) == ([], [])


def test_requests_add_up_and_the_highest_priority_is_enforced(make_node: Make, nvml: Load) -> None:
    node = make_node("dgx-b200")
    module, other = nvml(node), nvml(node)
    handle = module.nvmlDeviceGetHandleByIndex(0)
    ask, clear = (
        module.nvmlDeviceWorkloadPowerProfileSetRequestedProfiles,
        module.nvmlDeviceWorkloadPowerProfileClearRequestedProfiles,
    )
    ask(handle, wanted(module, [BALANCED, HPC]))
    assert now(module, handle) == ([BALANCED, HPC], [BALANCED, HPC])
    ask(handle, wanted(module, [MAX_Q]))
    assert now(other, other.nvmlDeviceGetHandleByIndex(0)) == ([MAX_Q, BALANCED, HPC], [MAX_Q, HPC])
    shown = CliRunner().invoke(main, ["smi", "--node", str(node.directory), "-q"]).output
    assert f"{'        Requested Profiles':<55}: Max-Q, Balanced, HPC" in shown
    assert f"{'        Enforced Profiles':<55}: Max-Q, HPC" in shown
    clear(handle, wanted(module, [MAX_Q, COMPUTE]))  # one of them was not requested
    assert now(module, handle) == ([BALANCED, HPC], [BALANCED, HPC])
    ask(handle, wanted(module, []))
    assert now(module, handle) == ([BALANCED, HPC], [BALANCED, HPC])
    assert now(module, module.nvmlDeviceGetHandleByIndex(1)) == ([], [])
    for change in (ask, clear):
        for profile in (8, 40, 254):
            with pytest.raises(module.NVMLError_InvalidArgument):
                change(handle, wanted(module, [HPC, profile]))
    assert now(module, handle) == ([BALANCED, HPC], [BALANCED, HPC])
    node.restore()
    assert now(module, module.nvmlDeviceGetHandleByIndex(0)) == ([], [])


FUNCTIONS = {
    "GetProfilesInfo": "ProfilesInfo",
    "GetCurrentProfiles": "CurrentProfiles",
    "SetRequestedProfiles": "RequestedProfiles",
    "ClearRequestedProfiles": "RequestedProfiles",
}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_versions_handles_and_boards_without_profiles(make_node: Make, nvml: Load, function: str) -> None:
    def ask(module: Any, handle: Any, version: int | None = None) -> int:
        argument = getattr(module, f"c_nvmlWorkloadPowerProfile{FUNCTIONS[function]}_v1_t")()
        argument.version = argument.version if version is None else version
        call = getattr(module.nvmlLib, f"nvmlDeviceWorkloadPowerProfile{function}")
        return int(call(handle, ctypes.byref(argument)))

    node = make_node("dgx-b200")
    module = nvml(node)
    handle = module.nvmlDeviceGetHandleByIndex(0)
    assert ask(module, handle) == 0
    assert ask(module, handle, version=0x2000008) == 25
    assert getattr(module.nvmlLib, f"nvmlDeviceWorkloadPowerProfile{function}")(handle, None) == 2
    assert ask(module, None) == 2
    node.lose_gpu(0)
    assert ask(module, handle) == 15
    for older in ("h200", "dgx-a100-80gb", "l40s", "t4"):
        module = nvml(make_node(older))
        assert ask(module, module.nvmlDeviceGetHandleByIndex(0)) == 3


@pytest.mark.parametrize("inventory", ["h200", "dgx-b200"])
def test_registers_of_the_links_firmware_are_on_no_board(make_node: Make, nvml: Load, inventory: str) -> None:
    node = make_node(inventory)
    module = nvml(node)
    ask, handle = module.nvmlLib.nvmlDeviceReadWritePRM_v1, module.nvmlDeviceGetHandleByIndex(0)
    buffer = module.c_nvmlPRMTLV_v1_t(16)
    before = bytes(buffer)
    assert (ask(handle, ctypes.byref(buffer)), bytes(buffer)) == (3, before)
    assert ask(handle, None) == 2
    assert ask(None, ctypes.byref(buffer)) == 2
    buffer.dataSize = module.NVML_PRM_DATA_MAX_SIZE + 1
    assert ask(handle, ctypes.byref(buffer)) == 2
    node.lose_gpu(0)
    assert ask(handle, ctypes.byref(buffer)) == 15


@pytest.mark.parametrize("inventory", ["h200", "dgx-b200"])
def test_counters_of_the_links_firmware_are_on_no_board(make_node: Make, nvml: Load, inventory: str) -> None:
    node = make_node(inventory)
    module = nvml(node)
    ask, handle = module.nvmlLib.nvmlDeviceReadPRMCounters_v1, module.nvmlDeviceGetHandleByIndex(0)
    counters = (module.c_nvmlPRMCounter_v1_t * 2)()
    wanted = module.c_nvmlPRMCounterList_v1_t(2, counters)
    before = bytes(counters)
    assert (ask(handle, ctypes.byref(wanted)), bytes(counters)) == (3, before)
    assert ask(handle, None) == 2
    assert ask(None, ctypes.byref(wanted)) == 2
    assert ask(handle, ctypes.byref(module.c_nvmlPRMCounterList_v1_t(0, counters))) == 2
    assert ask(handle, ctypes.byref(module.c_nvmlPRMCounterList_v1_t(2, None))) == 2
    node.lose_gpu(0)
    assert ask(handle, ctypes.byref(wanted)) == 15
    module.nvmlShutdown()
    assert ask(handle, ctypes.byref(wanted)) == 1
    module.nvmlInit()
