"""Errors of the fake in a scenario of NVML are failures of the component under test, others are the harness's."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import fake_nvml
from dra_conformance.components.nvml import is_error_of_library

Make = Callable[..., fake_nvml.Node]


def test_an_error_that_the_fake_raises_is_the_librarys() -> None:
    """The fake refuses an inventory."""
    with pytest.raises(fake_nvml.InventoryError) as caught:
        fake_nvml.Inventory.load("missing")
    assert is_error_of_library(caught.value)


def test_an_error_of_a_call_is_the_librarys(make_node: Make) -> None:
    """A copied pynvml raises the error of a call that the scenario does not expect to fail."""
    nvml = fake_nvml.load_pynvml(make_node())
    with pytest.raises(nvml.NVMLError_Uninitialized) as caught:
        nvml.nvmlDeviceGetCount()
    assert is_error_of_library(caught.value)


def test_an_error_of_a_step_is_not_the_librarys() -> None:
    """A step may fail while nothing of the fake is called."""
    with pytest.raises(ZeroDivisionError) as caught:
        _ = 1 // 0
    assert not is_error_of_library(caught.value)
