"""Modules of pynvml that are used again, node after node."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import fake_nvml

MakeNode = Callable[..., fake_nvml.Node]


def test_a_module_that_came_back_serves_another_node(make_node: MakeNode) -> None:
    pool = fake_nvml.PynvmlPool()
    eight, one = make_node("dgx-h100"), make_node("h200")
    module = pool.load(eight)
    module.nvmlInit()
    assert module.nvmlDeviceGetCount() == 8
    pool.give_back(module)  # without nvmlShutdown: the next one must start all the same
    again = pool.load(one)
    assert again is module
    with pytest.raises(again.NVMLError_Uninitialized):
        again.nvmlDeviceGetCount()
    again.nvmlInit()
    assert again.nvmlDeviceGetName(again.nvmlDeviceGetHandleByIndex(0)) == "NVIDIA H200"


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
