"""From a driver's health report to the status of the pod, on a node with 500 pods that have a device each.

The driver reports all devices at every change, as the API demands. One device becomes unhealthy at a time.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from dra_api.client import KubeClient
from dra_api.clock import RealClock
from dra_api.informer import Change, Informer
from dra_api.objects import NODES, PODS, Obj, name_of
from dra_api.rpc import (
    ClaimRef,
    DeviceHealth,
    HealthFeed,
    HealthStatus,
    HealthSubscription,
    PluginServer,
    PreparedDevice,
    PrepareResult,
)
from dra_conformance.kubelet import Kubelet
from verification.benchmarks.cluster import DRIVER, embedded, pod_with_device
from verification.benchmarks.figures import Figure, percentile

PODS_OF_A_NODE = 500
CHANGES = 60
_WARM = 5
_NODE = "n1"
_SECONDS = 120.0


class _Driver:
    """Prepares claims without CDI devices, and reports the health of its devices."""

    def __init__(self, devices: Mapping[str, str]) -> None:
        self.feed = HealthFeed()
        self._device_of = devices
        """The device of each claim, by the claim's name."""

    def prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, PrepareResult]:
        return {
            one.uid: PrepareResult((PreparedDevice(("gpu",), _NODE, self._device_of[one.name], ()),)) for one in claims
        }

    def unprepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, str]:
        return {one.uid: "" for one in claims}

    def watch_health(self) -> HealthSubscription:
        return self.feed.watch_health()

    def report(self, unhealthy: str = "") -> None:
        """Report all devices; one of them is unhealthy."""
        self.feed.publish(
            [
                DeviceHealth(
                    _NODE,
                    device,
                    HealthStatus.UNHEALTHY if device == unhealthy else HealthStatus.HEALTHY,
                    int(time.time()),
                )
                for device in self._device_of.values()
            ]
        )


class _Watch:
    """The health that each pod shows, and when it showed it first."""

    def __init__(self, client: KubeClient) -> None:
        self.shown: dict[str, tuple[str, float]] = {}
        self._changed = threading.Condition()
        self._informer = Informer(client, PODS, clock=RealClock())
        self._informer.on_change(self._on_pod)

    def __enter__(self) -> _Watch:
        self._informer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._informer.stop()

    def wait(self, pod: str, health: str) -> float:
        """Wait until a pod shows this health; return since when, in seconds of the monotonic clock."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.shown.get(pod, ("", 0))[0] == health, _SECONDS):
                raise TimeoutError(f"{pod} does not show {health} within {_SECONDS:g} s")
            return self.shown[pod][1]

    def _on_pod(self, change: Change) -> None:
        health = _health(change.object)
        with self._changed:
            if health and self.shown.get(name_of(change.object), ("", 0))[0] != health:
                self.shown[name_of(change.object)] = (health, time.monotonic())
                self._changed.notify_all()


def _health(pod: Obj) -> str:
    for container in (pod.get("status") or {}).get("containerStatuses") or ():
        for entry in container.get("allocatedResourcesStatus") or ():
            return str(entry["resources"][0]["health"])
    return ""


def run(*, pods: int, changes: int) -> list[float]:
    """Return the milliseconds from each change of a device's health to the status of its pod."""
    devices = {f"pod-{number:03d}": f"gpu-{number}" for number in range(pods)}
    driver = _Driver(devices)
    found = []
    with embedded() as plane, tempfile.TemporaryDirectory(prefix="dra-b-") as folder:
        client = KubeClient(plane.transport())
        client.create(NODES, {"metadata": {"name": _NODE}})
        kubelet = Kubelet(KubeClient(plane.transport(), user_agent="kubelet"), RealClock(), _NODE, Path(folder))
        kubelet.start()
        server = PluginServer(
            driver, DRIVER, kubelet.plugins_dir / "d" / "dra.sock", kubelet.registration_dir / "d-reg.sock"
        )
        server.start()
        try:
            kubelet.wait_registered(DRIVER)
            driver.report()
            with _Watch(client) as seen:
                for pod, device in devices.items():
                    client.bind(pod_with_device(client, pod, pool=_NODE, device=device), _NODE)
                for pod in devices:
                    seen.wait(pod, "Healthy")
                names = list(devices)
                for number in range(changes + _WARM):
                    # Neighbours in the list are far apart in the kubelet's order of pods.
                    pod = names[number * 137 % len(names)]
                    began = time.monotonic()
                    driver.report(devices[pod])
                    took = seen.wait(pod, "Unhealthy") - began
                    driver.report()
                    seen.wait(pod, "Healthy")
                    found += [took * 1000] if number >= _WARM else []
        finally:
            driver.feed.close()
            server.stop()
            kubelet.end()
    return found


def figures() -> list[Figure]:
    """500 pods on a node, a device each."""
    times = run(pods=PODS_OF_A_NODE, changes=CHANGES)
    return [
        Figure(
            f"a device becomes unhealthy, its pod shows it ({PODS_OF_A_NODE} pods)",
            "ms p50",
            times,
            aim="< 100",
            note=f"p99 {percentile(times, 0.99):.3g} ms",
        )
    ]
