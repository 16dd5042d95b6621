"""Counters that the allocated claims of a storm of pods consume."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from dra_api.objects import Obj
from dra_conformance.engine.world import World
from dra_conformance.steps.mig_storm import overcommitted

CLAIM = {
    "status": {
        "allocation": {
            "devices": {"results": [{"request": "r", "driver": "gpu.nvidia.com", "pool": "n1", "device": "d"}]}
        }
    }
}


def world(*counters: Obj) -> World:
    uses = [{"counterSet": "gpu-0", "counters": {"memory": {"value": "2"}}}]
    node: Any = SimpleNamespace(
        name="n1",
        driver_name="gpu.nvidia.com",
        devices=lambda: [{"name": "d", "consumesCounters": uses}],
        slices=lambda: [{"spec": {"sharedCounters": list(counters)}}],
    )
    return cast("World", SimpleNamespace(node=lambda name: node))


@pytest.mark.parametrize(
    ("counters", "found"),
    [
        ([{"name": "gpu-0", "counters": {"memory": {"value": "2"}}}], []),
        ([{"name": "gpu-0", "counters": {"memory": {"value": "1"}}}], ["gpu-0/memory: 2 of 1"]),
        ([{"name": "gpu-0", "counters": {"cores": {"value": "9"}}}], ["gpu-0/memory: 2 of 0"]),
        ([], ["gpu-0/memory: 2 of 0"]),
    ],
    ids=["enough", "too-little", "another-counter", "set-not-published"],
)
def test_consumed_counters_are_compared_with_published_ones(counters: list[Obj], found: list[str]) -> None:
    assert overcommitted(world(*counters), "n1", [CLAIM]) == found
