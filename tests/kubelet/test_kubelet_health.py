"""Device health from the driver's stream to allocatedResourcesStatus."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from kubelet_world import DRIVER, NODE, Driver, HealthyDriver, World

from dra_api.clock import AdvanceableClock
from dra_api.rpc import (
    HEALTH_V1,
    HEALTH_V1ALPHA1,
    DeviceHealth,
    HealthNotSupported,
    HealthStatus,
    PreparedDevice,
)
from dra_conformance.kubelet import Gates
from dra_conformance.kubelet.health import HealthCache, cut_message


def health(device: str, status: HealthStatus, **more: Any) -> DeviceHealth:
    return DeviceHealth(NODE, device, status, **more)


def shown(world: World, pod: str = "p") -> Any:
    return world.status(pod)["containerStatuses"][0].get("allocatedResourcesStatus")


def start(world: World, *, uses: tuple[str, ...] = ("c",), gates: Gates | None = None) -> HealthyDriver:
    world.make(gates=gates).start()
    driver = world.driver(HealthyDriver)
    assert isinstance(driver, HealthyDriver)
    driver.devices["c"] = (
        PreparedDevice(("a",), NODE, "d0", ("gpu.example.com/gpu=d0",)),
        PreparedDevice(("b",), NODE, "d1", ("gpu.example.com/gpu=d1",)),
    )
    world.claim("c", "p")
    world.pod("p", "c", uses=uses)
    world.wait_phase("p", "Running")
    return driver


def entry(world: World, name: str = "claim:c") -> dict[str, str]:
    found = {e["name"]: {r["resourceID"]: r["health"] for r in e["resources"]} for e in shown(world) or ()}
    return found.get(name, {})


def test_unreported_devices_are_unknown_then_as_reported(world: World) -> None:
    driver = start(world)
    assert entry(world) == {"gpu.example.com/gpu=d0": "Unknown", "gpu.example.com/gpu=d1": "Unknown"}
    driver.feed.publish([health("d0", HealthStatus.UNHEALTHY, message="XID 79"), health("d1", HealthStatus.HEALTHY)])
    world.log.wait(lambda: entry(world).get("gpu.example.com/gpu=d0") == "Unhealthy")
    assert entry(world)["gpu.example.com/gpu=d1"] == "Healthy"
    assert shown(world)[0]["resources"][0]["message"] == "XID 79"
    assert world.phase("p") == "Running"
    assert [c.name for calls in driver.prepared for c in calls] == ["c"]


def test_a_request_shows_only_its_devices(world: World) -> None:
    driver = start(world, uses=("c/b",))
    driver.feed.publish([health("d0", HealthStatus.HEALTHY), health("d1", HealthStatus.UNHEALTHY)])
    world.log.wait(lambda: entry(world, "claim:c/b") == {"gpu.example.com/gpu=d1": "Unhealthy"})


def test_silence_becomes_unknown_after_each_devices_own_timeout(world: World) -> None:
    driver = start(world)
    healthy = HealthStatus.HEALTHY
    driver.feed.publish([health("d0", healthy), health("d1", healthy, timeout_seconds=100)])
    world.log.wait(lambda: entry(world).get("gpu.example.com/gpu=d0") == "Healthy")
    world.clock.advance(31)
    world.log.wait(lambda: entry(world).get("gpu.example.com/gpu=d0") == "Unknown")
    assert entry(world)["gpu.example.com/gpu=d1"] == "Healthy"
    world.clock.advance(70)
    world.log.wait(lambda: entry(world).get("gpu.example.com/gpu=d1") == "Unknown")


def test_the_end_of_the_stream_is_unknown_and_the_kubelet_comes_back(world: World) -> None:
    driver = start(world)
    driver.feed.publish([health("d0", HealthStatus.HEALTHY), health("d1", HealthStatus.HEALTHY)])
    world.log.wait(lambda: entry(world).get("gpu.example.com/gpu=d0") == "Healthy")
    world.servers[0].stop_service()
    world.log.wait(lambda: entry(world).get("gpu.example.com/gpu=d0") == "Unknown")
    world.servers[0].start_service()
    world.wait_connected()
    world.log.wait(lambda: world.log.of("health", step="stream ended"))
    world.clock.advance(6)
    world.log.wait(lambda: entry(world).get("gpu.example.com/gpu=d0") == "Healthy")


def test_one_resource_id_appears_once(world: World) -> None:
    world.kubelet.start()
    driver = world.driver(HealthyDriver)
    same = ("gpu.example.com/gpu=whole",)
    driver.devices["c"] = (PreparedDevice((), NODE, "d0", same), PreparedDevice((), NODE, "d1", same))
    world.claim("c", "p")
    world.pod("p", "c")
    world.wait_phase("p", "Running")
    assert [r["resourceID"] for r in shown(world)[0]["resources"]] == ["gpu.example.com/gpu=whole"]


def test_a_device_without_cdi_id_is_named_by_driver_pool_and_device(world: World) -> None:
    world.kubelet.start()
    driver = world.driver(HealthyDriver)
    driver.devices["c"] = (PreparedDevice((), NODE, "d0", ()),)
    world.claim("c", "p")
    world.pod("p", "c")
    world.wait_phase("p", "Running")
    assert entry(world) == {f"{DRIVER}/{NODE}/d0": "Unknown"}


def test_the_gate_off_shows_nothing(world: World) -> None:
    driver = start(world, gates=Gates(resource_health_status=False))
    driver.feed.publish([health("d0", HealthStatus.UNHEALTHY)])
    assert shown(world) is None
    assert world.log.of("health") == []


def test_the_message_gate_off_shows_no_message(world: World) -> None:
    driver = start(world, gates=Gates(resource_health_status_message=False))
    driver.feed.publish([health("d0", HealthStatus.UNHEALTHY, message="XID 79")])
    world.log.wait(lambda: entry(world).get("gpu.example.com/gpu=d0") == "Unhealthy")
    assert "message" not in shown(world)[0]["resources"][0]


def test_a_driver_without_a_health_service_has_no_stream(world: World) -> None:
    world.kubelet.start()
    world.driver(Driver)
    world.wait_connected()
    assert world.log.of("registration", step="registered")[0].get("health", "") == ""
    assert world.log.of("health") == []


class WithoutReports(Driver):
    """Announces its health services and has nothing to report."""

    def watch_health(self) -> Iterator[Sequence[DeviceHealth]]:
        raise HealthNotSupported("no monitoring")


def streams_of_driver_without_reports(world: World) -> list[str]:
    server = world.serve(WithoutReports(world.kubelet.cdi_roots[0]), start=False)
    streams: list[str] = []
    server.on_health_stream = streams.append
    server.start()
    world.log.wait(lambda: world.log.of("health", step="stream ended"))
    return streams


def test_a_driver_without_reports_is_called_once(world: World) -> None:
    world.kubelet.start()
    streams = streams_of_driver_without_reports(world)
    world.log.wait(lambda: not [one for one in threading.enumerate() if one.name == f"health-{DRIVER}"])
    world.clock.advance(60)
    (ended,) = world.log.of("health")
    assert ended["reason"].startswith("UNIMPLEMENTED")
    assert streams == [HEALTH_V1]


def test_a_kubelet_of_1_36_calls_v1alpha1_again_and_again(world: World) -> None:
    world.make(negotiates_health=False).start()
    streams = streams_of_driver_without_reports(world)
    world.clock.advance(6)
    world.log.wait(lambda: streams == [HEALTH_V1ALPHA1, HEALTH_V1ALPHA1])


@pytest.mark.parametrize("versions", [(HEALTH_V1,), (HEALTH_V1ALPHA1,), (HEALTH_V1ALPHA1, HEALTH_V1)])
def test_health_is_read_through_any_announced_version(world: World, versions: tuple[str, ...]) -> None:
    world.kubelet.start()
    driver = HealthyDriver(world.kubelet.cdi_roots[0])
    world.serve(driver, health_versions=versions)
    driver.feed.publish([health("d0", HealthStatus.UNHEALTHY, message="XID 79", timeout_seconds=9)])
    received = world.log.wait(lambda: world.log.of("health", step="received"))[0]["devices"][0]
    assert (received["health"], received["message"], received["timeout_seconds"]) == ("UNHEALTHY", "XID 79", 9)
    wanted = HEALTH_V1 if HEALTH_V1 in versions else HEALTH_V1ALPHA1
    assert [one["health"] for one in world.log.of("registration", step="registered")] == [wanted]


@pytest.mark.parametrize(
    ("message", "expected"),
    [("x" * 1024, "x" * 1024), ("x" * 1025, "x" * 1021 + "..."), ("é" * 600, "é" * 510 + "...")],
)
def test_long_messages_are_cut(message: str, expected: str) -> None:
    assert cut_message(message) == expected


def test_a_negative_timeout_is_the_default() -> None:
    clock = AdvanceableClock()
    cache = HealthCache(clock, 30.0)
    cache.update("d", [health("d0", HealthStatus.HEALTHY, timeout_seconds=-5)])
    assert cache.holds("d", NODE, "d0") == pytest.approx(30.0, abs=1.0)
    clock.advance(29)
    assert cache.get("d", NODE, "d0") == ("Healthy", "")
    clock.advance(2)
    assert cache.get("d", NODE, "d0") == ("Unknown", "")
