"""The values of --watch-lag."""

from __future__ import annotations

import random

import pytest

from dra_conformance.core.errors import UsageError
from dra_conformance.core.watch_lag import WatchLag


@pytest.mark.parametrize(
    ("text", "longest", "resources", "shown"),
    [
        ("", 0.0, {}, ""),
        ("0.0", 0.0, {}, ""),
        ("0.03", 0.03, {}, "watches up to 0.03 s late"),
        ("pods=0.05", 0.0, {"pods": 0.05}, "watches of pods 0.05 s late"),
        (
            "0.1, resourceslices=1,pods=0",
            0.1,
            {"resourceslices": 1.0, "pods": 0.0},
            "watches up to 0.1 s late, watches of resourceslices 1 s late, watches of pods 0 s late",
        ),
    ],
)
def test_a_lag_is_read(text: str, longest: float, resources: dict[str, float], shown: str) -> None:
    lag = WatchLag.parse(text)
    assert (lag.longest, lag.resources, str(lag)) == (longest, resources, shown)
    assert bool(lag) == bool(shown)


@pytest.mark.parametrize("text", ["x", "pods=", "=1", "pods=x", "-1", "2", "nan", "Pods=1", "pods=inf", "pods 1"])
def test_another_value_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="--watch-lag "):
        WatchLag.parse(text)


def test_a_resource_has_its_own_lag_and_half_of_the_others_a_random_one() -> None:
    lag, chance = WatchLag.parse("0.5,pods=0.2,nodes=0"), random.Random(1)  # noqa: S311 - no secret
    assert {lag.of("pods", chance) for _ in range(20)} == {0.2}
    assert {lag.of("nodes", chance) for _ in range(20)} == {0.0}
    drawn = [lag.of("resourceslices", chance) for _ in range(40)]
    assert 5 < drawn.count(0.0) < 35
    assert 0 <= min(drawn) < max(drawn) <= 0.5
    assert WatchLag.parse("pods=0.2").of("nodes", chance) == 0.0
