"""The measurement of the move from device plugins to DRA, at a small size: it finds nothing wrong, and can find it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dra_conformance.kubelet.device_allocation import DeviceAllocator
from verification.benchmarks import migration


def test_pods_move_to_dra_and_back() -> None:
    found = migration.run(pods=7, nodes=2, devices=4)
    assert found.problems == []
    assert found.by_claim == 7


def test_a_device_that_is_given_out_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def free(self: DeviceAllocator, resource: str) -> Sequence[str]:
        return self.offered.usable(resource) or ()

    monkeypatch.setattr(DeviceAllocator, "_free", free)
    found = migration.run(pods=3, nodes=1, devices=3)
    assert any("is given out twice" in problem for problem in found.problems)
