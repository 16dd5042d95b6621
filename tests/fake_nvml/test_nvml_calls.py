"""Every exported function begins once: under its own name, with one line in the call log, counted once by a rule."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import fake_nvml
from tests.fake_nvml.prototypes import prototypes

#: Functions that look at an argument before anything else: what to hand them so that they go on.
ARGUMENTS: dict[str, dict[str, int]] = {
    "nvmlDeviceSetPowerManagementLimit_v2": {"version": 0x0200000C},
}
BUFFER = 1 << 16


class Caller:
    """One node with a MIG layout, and calls of its C functions with handles that are good."""

    def __init__(self, node: fake_nvml.Node, module: Any) -> None:
        self.node, self.module = node, module
        self.gpu, self.instance, self.compute, self.events = (ctypes.c_void_p() for _ in range(4))

    def begin_anew(self) -> None:
        """The node as it was made, with handles of its first MIG device."""
        lib = self.module.nvmlLib
        self.node.restore()
        assert lib.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(self.gpu)) == 0
        found = [number for number in range(15) if not self._instance(number)]
        assert found, "the node has a GPU instance"
        assert not lib.nvmlGpuInstanceGetComputeInstanceById(self.instance, 0, ctypes.byref(self.compute))
        if not self.events:
            assert not lib.nvmlEventSetCreate(ctypes.byref(self.events))

    def _instance(self, number: int) -> int:
        code = self.module.nvmlLib.nvmlDeviceGetGpuInstanceById(self.gpu, number, ctypes.byref(self.instance))
        return int(code) if self.instance.value is None else 0

    def call(self, name: str, parameters: list[tuple[str, str]]) -> int:
        buffers = [ctypes.create_string_buffer(BUFFER) for _ in parameters]
        for buffer in buffers:
            buffer[0:4] = ARGUMENTS.get(name, {}).get("version", 0).to_bytes(4, "little")
        arguments: list[Any] = []
        for place, (kind, parameter) in enumerate(parameters):
            if kind == "handle":
                arguments.append(self._handle(name, parameter))
            elif kind == "text":
                arguments.append(ctypes.c_char_p(b"GPU-00000000-0000-0000-0000-000000000000"))
            elif kind in ("count", "pointer"):
                arguments.append(buffers[place])
            else:
                arguments.append(ctypes.c_ulonglong(1 if kind == "length" else 0))
        return int(getattr(self.module.nvmlLib, name)(*arguments))

    def _handle(self, name: str, parameter: str) -> ctypes.c_void_p:
        if parameter == "set":
            return self.events
        if name.startswith("nvmlGpuInstance"):
            return self.instance
        return self.compute if name.startswith("nvmlComputeInstance") else self.gpu


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    with fake_nvml.Node.create("dgx-h100-mig", tmp_path_factory.mktemp("calls") / "node") as node:
        module = fake_nvml.load_pynvml(node)
        module.nvmlInit()
        yield Caller(node, module)
        module.nvmlShutdown()


@pytest.fixture(autouse=True)
def own_cpus() -> Iterator[None]:
    """nvmlDeviceSetCpuAffinity moves the thread that calls it."""
    before = os.sched_getaffinity(0)
    yield
    os.sched_setaffinity(0, before)


def rows() -> list[Any]:
    found = [row for row in prototypes() if row[0] not in ("nvmlErrorString", "nvmlEventSetFree")]
    return [pytest.param(*row, id=row[0]) for row in sorted(found)]


@pytest.mark.parametrize(("name", "parameters"), rows())
def test_a_call_counts_once(caller: Caller, name: str, parameters: list[tuple[str, str]]) -> None:
    """A rule that matches every function, and never acts, has seen one call; the log has the one line."""
    caller.begin_anew()
    rule = caller.node.inject_fault("nvml*", error="UNKNOWN", after=10**6)
    caller.node.log_calls()
    caller.call(name, parameters)
    caller.node.log_calls(False)
    assert [call.function for call in caller.node.calls()] == [name]
    assert caller.node.read().faults[rule].seen == 1


@pytest.mark.parametrize(("name", "parameters"), rows())
def test_a_rule_acts_under_the_name_that_was_called(
    caller: Caller, name: str, parameters: list[tuple[str, str]]
) -> None:
    caller.begin_anew()
    rule = caller.node.inject_fault(name, error="IRQ_ISSUE")
    assert caller.call(name, parameters) == 11
    assert caller.node.fault_hits(rule) == 1


@pytest.mark.parametrize("name", ["nvmlInit", "nvmlInit_v2", "nvmlInitWithFlags"])
def test_initialisation_counts_once(make_node: Callable[..., fake_nvml.Node], name: str) -> None:
    node = make_node("t4")
    library = ctypes.CDLL(str(node.copy_library()))
    assert library.fnvml_use_state(str(node.state_path).encode()) == 0
    rule = node.inject_fault("nvmlInit*", error="UNKNOWN", times=1)
    assert getattr(library, name)(0) == 999
    assert getattr(library, name)(0) == 0
    assert (node.fault_hits(rule), node.read().faults[rule].seen) == (1, 2)
    assert library.nvmlShutdown() == 0


def test_after_lets_so_many_calls_on_an_instance_through(caller: Caller) -> None:
    """The calls on instances used to count twice: once for themselves, once for the GPU below."""
    caller.begin_anew()
    caller.node.inject_fault("nvmlGpuInstanceGetInfo", error="UNKNOWN", after=3)
    codes = [caller.call("nvmlGpuInstanceGetInfo", [("handle", "handle"), ("pointer", "out")]) for _ in range(5)]
    assert codes == [0, 0, 0, 999, 999]


def test_of_two_gpus_the_first_is_the_one_of_the_call(caller: Caller) -> None:
    caller.begin_anew()
    module = caller.module
    first, second = module.nvmlDeviceGetHandleByIndex(0), module.nvmlDeviceGetHandleByIndex(1)
    rule = caller.node.inject_fault("nvmlDeviceGetP2PStatus", error="UNKNOWN", gpu=1)
    status = ctypes.c_uint()
    ask = module.nvmlLib.nvmlDeviceGetP2PStatus
    assert (ask(first, second, 0, ctypes.byref(status)), ask(second, first, 0, ctypes.byref(status))) == (0, 999)
    assert caller.node.fault_hits(rule) == 1
