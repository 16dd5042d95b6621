"""The measurements of taint eviction, device health and Allocate, at a small size."""

from __future__ import annotations

from verification.benchmarks import device_plugin, eviction, health


def test_pods_are_evicted_at_the_rate() -> None:
    found = eviction.run(pods=30, rate=50.0, burst=10, period=0.5)
    assert found.problems == []
    assert len(found.times) == 30
    assert found.times[-1] >= 0.35  # 20 pods after the burst
    assert found.peak >= found.before > 0


def test_more_pods_than_the_rate_allows_are_found() -> None:
    at_once = [0.1] * 200
    assert eviction._too_fast(at_once, 100.0, 50)
    in_time = [max(0, number - 50) / 100 + 0.1 for number in range(200)]
    assert not eviction._too_fast(in_time, 100.0, 50)


def test_the_status_of_a_pod_follows_the_health_of_its_device() -> None:
    times = health.run(pods=5, changes=3)
    assert len(times) == 3
    assert min(times) > 0


def test_plugins_are_called_in_turns() -> None:
    found = device_plugin.measure(turns=2)
    assert device_plugin.REFERENCE in found
    for by_count in found.values():
        assert {count: len(times) for count, times in by_count.items()} == {1: 16, 8: 16}
