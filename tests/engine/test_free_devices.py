"""The devices that a step allocates by hand: free, untainted, and on request not shareable (rule NV-060)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dra_conformance.core.errors import NotApplicable, Untestable
from dra_conformance.core.status import Status
from dra_conformance.pytest_plugin.runner import _classify
from dra_conformance.steps.claims import free_results


def world(*devices: dict[str, Any]) -> Any:
    """A world with one slice of these devices and no claim."""
    spec = {"driver": "gpu.dra.test", "pool": {"name": "n1"}, "devices": list(devices)}
    node = SimpleNamespace(slices=lambda: [{"spec": spec}], devices=lambda: list(devices))
    return SimpleNamespace(
        node=lambda alias: node, client=SimpleNamespace(list=lambda resource: SimpleNamespace(items=[]))
    )


SHARED = {"name": "shared", "allowMultipleAllocations": True}


def test_a_shareable_device_is_passed_over() -> None:
    found = free_results(world(SHARED, {"name": "own"}), "n1", 1, exclusive=True)
    assert [result["device"] for result in found] == ["own"]
    assert [result["device"] for result in free_results(world(SHARED), "n1", 1)] == ["shared"]


def test_a_driver_with_shareable_devices_only_is_not_judged() -> None:
    with pytest.raises(NotApplicable, match="every device of the driver allows multiple allocations") as caught:
        free_results(world(SHARED), "n1", 1, exclusive=True)
    assert _classify(caught.value, "call", None)[0] is Status.NOT_APPLICABLE


def test_a_driver_without_a_free_device_is_untestable() -> None:
    with pytest.raises(Untestable, match="needs 1 free devices"):
        free_results(world(SHARED, {"name": "own", "taints": [{"key": "k"}]}), "n1", 1, exclusive=True)
