"""The devices that a step allocates by hand: free, untainted, and on request not shareable (rule NV-060)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dra_conformance.core.errors import NotApplicable, Untestable
from dra_conformance.core.status import Status
from dra_conformance.pytest_plugin.runner import _classify
from dra_conformance.steps.claims import free_results


def world(*devices: dict[str, Any], driver: str = "gpu.dra.test", profile: str = "driver-core") -> Any:
    """A world with one slice of these devices and no claim, and a scenario of this profile."""
    spec = {"driver": driver, "pool": {"name": "n1"}, "devices": list(devices)}
    node = SimpleNamespace(slices=lambda: [{"spec": spec}], devices=lambda: list(devices))
    return SimpleNamespace(
        node=lambda alias: node,
        client=SimpleNamespace(list=lambda resource: SimpleNamespace(items=[])),
        scenario=SimpleNamespace(tags=SimpleNamespace(profiles=(profile,))),
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


MIXED = (
    {"name": "gpu-0-mig-1g", "attributes": {"type": {"string": "mig"}}},
    {"name": "gpu-1", "attributes": {"type": {"string": "gpu"}}},
)


@pytest.mark.parametrize(
    ("profile", "names"),
    [
        ("driver-core", ["gpu-1", "gpu-0-mig-1g"]),
        ("driver-mig", ["gpu-0-mig-1g", "gpu-1"]),
    ],
)
def test_whole_gpus_come_first_except_for_mig(profile: str, names: list[str]) -> None:
    found = free_results(world(*MIXED, driver="gpu.nvidia.com", profile=profile), "n1", 2)
    assert [result["device"] for result in found] == names


def test_requirements_on_gpus_are_not_judged_on_mig_devices() -> None:
    with pytest.raises(Untestable, match="the driver has 1"):
        free_results(world(*MIXED, driver="gpu.nvidia.com", profile="driver-gpu"), "n1", 2)
