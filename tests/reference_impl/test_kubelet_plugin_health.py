"""Events to taints and health messages."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pynvml
import pytest
from nvml_double import Card, NvmlDouble, mig_card

from dra_api.clock import RealClock
from dra_api.rpc import DeviceHealth, HealthFeed, HealthStatus
from reference_impl.kubelet_plugin.discovery import Nvml
from reference_impl.kubelet_plugin.health import WHOLE_GPU, DeviceHealthBook, HealthMonitor

DRIVER = "gpu.nvidia.com"


class Bench:
    """Two full GPUs and one that is split into two MIG devices, watched."""

    def __init__(self, *cards: Card, ignored: frozenset[int] = frozenset()) -> None:
        migs = {i: mig_card(2, i + 1, profile="1g.18gb", profile_id=19, start=i, size=1) for i in range(2)}
        self.module = NvmlDouble(
            [*(cards or (Card(0, "GPU-0"), Card(1, "GPU-1"))), Card(2, "GPU-2", mig=True, migs=migs)]
        )
        self.nvml = Nvml(self.module)
        self.nvml.open()
        self.found = self.nvml.discover(Path("/nonexistent"))
        self.changed = threading.Event()
        self.book = DeviceHealthBook(self.found, driver=DRIVER, ignored_xids=ignored, on_change=self.changed.set)
        self.feed = HealthFeed()
        self.monitor = HealthMonitor(self.nvml, self.found, self.book, self.feed, pool="n1", clock=RealClock())

    def xid(self, card: int, xid: int, gi: int = WHOLE_GPU, ci: int = WHOLE_GPU) -> None:
        self.monitor.handle(
            SimpleNamespace(
                eventType=pynvml.nvmlEventTypeXidCriticalError,
                eventData=xid,
                device=self.module.cards[card],
                gpuInstanceId=gi,
                computeInstanceId=ci,
            )
        )

    def tainted(self) -> dict[str, list[tuple[str, str, str]]]:
        return {
            device.name: [(t["key"], t.get("value", ""), t["effect"]) for t in taints]
            for device in self.found.devices
            if (taints := self.book.taints(device.name))
        }

    def health(self) -> dict[str, DeviceHealth]:
        return {device.name: self.monitor.health_of(device, 7) for device in self.found.devices}


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.monitor.stop()


def test_harmful_xid_keeps_new_claims_away(bench: Bench) -> None:
    bench.xid(0, 79)
    assert bench.tainted() == {"gpu-0": [("gpu.nvidia.com/xid", "79", "NoSchedule")]}
    sick = bench.health()["gpu-0"]
    assert (sick.health, sick.pool_name, sick.last_updated) == (HealthStatus.UNHEALTHY, "n1", 7)
    assert "79" in sick.message
    assert bench.health()["gpu-1"].health is HealthStatus.HEALTHY


@pytest.mark.parametrize("xid", [13, 31, 43, 45, 68, 109])
def test_harmless_xid_is_only_shown(bench: Bench, xid: int) -> None:
    bench.xid(1, xid)
    assert bench.tainted() == {"gpu-1": [("gpu.nvidia.com/xid", str(xid), "None")]}
    assert bench.health()["gpu-1"].health is HealthStatus.HEALTHY


def test_ignored_xid() -> None:
    bench = Bench(ignored=frozenset({79}))
    bench.xid(0, 79)
    assert bench.tainted()["gpu-0"][0][2] == "None"


def test_later_xid_replaces_the_earlier(bench: Bench) -> None:
    bench.xid(0, 79)
    bench.xid(0, 43)
    assert bench.tainted() == {"gpu-0": [("gpu.nvidia.com/xid", "43", "None")]}


def test_event_of_a_mig_device_hits_it_alone(bench: Bench) -> None:
    bench.xid(2, 79, gi=2, ci=0)
    assert list(bench.tainted()) == ["gpu-2-mig-1g18gb-19-1"]
    bench.xid(2, 79, gi=9, ci=0)
    bench.xid(0, 79, gi=0, ci=0)
    assert list(bench.tainted()) == ["gpu-2-mig-1g18gb-19-1"]


def test_gpu_that_cannot_be_watched_is_marked() -> None:
    bench = Bench(Card(0, "GPU-0", errors={"nvmlDeviceRegisterEvents": pynvml.NVML_ERROR_NOT_SUPPORTED}))
    bench.monitor.start()
    try:
        assert bench.tainted() == {"gpu-0": [("gpu.nvidia.com/unmonitored", "", "None")]}
        assert bench.health()["gpu-0"].health is HealthStatus.UNKNOWN
    finally:
        bench.monitor.stop()


def test_events_of_a_running_monitor_arrive(bench: Bench) -> None:
    bench.monitor.start()
    first = next(iter(bench.feed.watch_health()))
    assert [device.health for device in first] == [HealthStatus.HEALTHY] * 4
    send = bench.module.events.put
    send(
        SimpleNamespace(
            eventType=pynvml.nvmlEventTypeXidCriticalError,
            eventData=48,
            device=bench.module.cards[1],
            gpuInstanceId=WHOLE_GPU,
            computeInstanceId=WHOLE_GPU,
        )
    )
    assert bench.changed.wait(60)
    assert bench.tainted() == {"gpu-1": [("gpu.nvidia.com/xid", "48", "NoSchedule")]}


def test_lost_gpu_makes_all_suspect(bench: Bench) -> None:
    bench.monitor.start()
    bench.module.events.put(pynvml.NVML_ERROR_GPU_IS_LOST)
    assert bench.changed.wait(60)
    assert set(bench.tainted()) == {device.name for device in bench.found.devices}
    assert bench.tainted()["gpu-0"] == [("gpu.nvidia.com/gpu-lost", "", "NoSchedule")]


def test_harmless_xid_is_not_the_reason_of_a_lost_gpu(bench: Bench) -> None:
    bench.book.lost()
    bench.xid(0, 43)
    sick = bench.health()["gpu-0"]
    assert sick.health is HealthStatus.UNHEALTHY
    assert "43" not in sick.message
    assert "lost" in sick.message
    bench.xid(0, 48)
    assert "48" in bench.health()["gpu-0"].message


def test_stop_ends_the_stream(bench: Bench) -> None:
    bench.monitor.start()
    stream = bench.feed.watch_health()
    next(stream)
    bench.monitor.stop()
    with pytest.raises(StopIteration):
        next(stream)
