"""Modules of pynvml that are used again, node after node."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

import fake_nvml

MakeNode = Callable[..., fake_nvml.Node]


def test_a_module_that_came_back_serves_another_node(make_node: MakeNode) -> None:
    pool = fake_nvml.PynvmlPool()
    served, modules = [], []
    for inventory in ("dgx-h100", "h200", "dgx-h100", "h200", "dgx-h100", "h200", "h200"):
        node = make_node(inventory)
        module = pool.load(node)
        with pytest.raises(module.NVMLError_Uninitialized):
            module.nvmlDeviceGetCount()
        module.nvmlInit()
        module.nvmlInit()
        served.append(module.nvmlDeviceGetCount())
        modules.append(module)
        node.close()
        pool.give_back(module)  # without nvmlShutdown: the next one must start all the same
    assert served == [8, 1, 8, 1, 8, 1, 1]
    assert modules[5] is modules[0]
    assert modules[6] is modules[1]


def test_a_hanging_call_ends_with_its_node(make_node: MakeNode) -> None:
    pool = fake_nvml.PynvmlPool()
    node = make_node()
    module = pool.load(node)
    module.nvmlInit()
    events = module.nvmlEventSetCreate()
    handle = module.nvmlDeviceGetHandleByIndex(0)
    module.nvmlDeviceRegisterEvents(handle, module.nvmlEventTypeXidCriticalError, events)
    told: list[object] = []

    def wait() -> None:
        try:
            module.nvmlEventSetWait_v2(events, 60_000)
        except module.NVMLError as error:
            told.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    node.close()
    thread.join(30)
    assert told
    pool.give_back(module)


def test_modules_that_are_out_are_apart(make_node: MakeNode) -> None:
    pool = fake_nvml.PynvmlPool()
    first, second = pool.load(make_node("dgx-h100")), pool.load(make_node("h200"))
    assert first is not second
    first.nvmlInit()
    with pytest.raises(second.NVMLError_Uninitialized):
        second.nvmlDeviceGetCount()


def test_what_was_not_lent_cannot_come_back(make_node: MakeNode) -> None:
    with pytest.raises(KeyError):
        fake_nvml.PynvmlPool().give_back(fake_nvml.load_pynvml(make_node()))
