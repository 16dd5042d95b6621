"""The kubelet against the embedded control plane: what it writes must pass the API server's own rules."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kubelet_world import DRIVER, NODE, HealthyDriver, LogFollower

from apiserver_emulator.emulator import ApiServerEmulator
from dra_api.client import KubeClient
from dra_api.clock import AdvanceableClock
from dra_api.objects import EVENTS, NODES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES, uid_of
from dra_api.rpc import DeviceHealth, HealthStatus, PluginServer
from dra_conformance.kubelet import Kubelet


class Cluster:
    def __init__(self, root: Path, release: str) -> None:
        self.clock = AdvanceableClock()
        folder = root / "cp"
        self.plane = ApiServerEmulator(directory=folder, clock=self.clock, https=False, kubernetes_version=release)
        self.plane.start()
        self.client = KubeClient(self.plane.transport(), user_agent="test")
        self.log = LogFollower()
        self.kubelet = Kubelet(self.client.as_agent("kubelet"), self.clock, NODE, root / "n", log=self.log)
        self.kubelet.start()
        self.driver = HealthyDriver(self.kubelet.cdi_roots[0])
        self.server = PluginServer(
            self.driver, DRIVER, self.kubelet.plugins_dir / "d.sock", self.kubelet.registration_dir / "d-reg.sock"
        )
        self.server.start()
        self.kubelet.wait_registered(DRIVER)

    def close(self) -> None:
        self.server.stop(grace=0)
        self.kubelet.stop()
        self.plane.stop()

    def bound_pod(self, name: str) -> dict[str, Any]:
        request = {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}
        claim = self.client.create(
            RESOURCE_CLAIMS,
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaim",
                "metadata": {"name": name, "namespace": "default"},
                "spec": {"devices": {"requests": [request]}},
            },
        )
        pod = self.client.create(
            PODS,
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "namespace": "default"},
                "spec": {
                    "containers": [
                        {"name": "main", "image": "i", "resources": {"claims": [{"name": "c", "request": "gpu"}]}}
                    ],
                    "resourceClaims": [{"name": "c", "resourceClaimName": name}],
                },
            },
        )
        result = {"request": "gpu", "driver": DRIVER, "pool": NODE, "device": f"dev-{name}"}
        claim["status"] = {
            "allocation": {"devices": {"results": [result]}},
            "reservedFor": [{"resource": "pods", "name": name, "uid": uid_of(pod)}],
        }
        self.client.update_status(RESOURCE_CLAIMS, claim)
        mine = {"type": "example.com/Mine", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        patch = {"status": {"conditions": [mine]}}
        self.client.patch(PODS, name, patch, "default", kind="strategic", subresource="status")
        self.client.bind(pod, NODE)
        return pod

    def status(self, name: str) -> dict[str, Any]:
        found = self.client.find(PODS, name, "default")
        return dict(found["status"]) if found else {"phase": "gone"}

    def wait_phase(self, name: str, phase: str) -> dict[str, Any]:
        self.log.wait(lambda: self.status(name)["phase"] == phase)
        return self.status(name)


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    root = Path(tempfile.mkdtemp(prefix="kt"))
    cluster = Cluster(root, getattr(request, "param", "1.37"))
    yield cluster
    cluster.close()
    shutil.rmtree(root)


def test_a_pod_runs_shows_health_and_goes(cluster: Cluster) -> None:
    pod = cluster.bound_pod("p")
    status = cluster.wait_phase("p", "Running")
    conditions = {c["type"]: c["status"] for c in status["conditions"]}
    assert (conditions["Ready"], conditions["example.com/Mine"]) == ("True", "False")
    cluster.driver.feed.publish([DeviceHealth(NODE, "dev-p", HealthStatus.UNHEALTHY, message="XID 79")])

    def shown() -> Any:
        return cluster.status("p")["containerStatuses"][0].get("allocatedResourcesStatus")

    expected = [
        {
            "name": "claim:c/gpu",
            "resources": [{"resourceID": "gpu.example.com/gpu=p", "health": "Unhealthy", "message": "XID 79"}],
        }
    ]
    cluster.log.wait(lambda: shown() == expected)
    cluster.client.delete(PODS, "p", "default")
    cluster.log.wait(lambda: cluster.status("p")["phase"] == "gone")
    assert [c.name for c in cluster.driver.unprepared[0]] == ["p"]
    removed = cluster.log.wait(lambda: cluster.log.of("pod", step="removed"))
    assert removed[0]["uid"] == uid_of(pod)
    assert cluster.log.of("problem") == []


def test_a_failing_pod_has_an_event_and_then_finishes(cluster: Cluster) -> None:
    cluster.driver.prepare_error["p"] = "no memory"
    cluster.bound_pod("p")
    cluster.log.wait(lambda: "no memory" in cluster.kubelet.pod_error("default", "p"))
    cluster.log.wait(lambda: cluster.client.list(EVENTS, "default").items)
    events = [event for event in cluster.client.list(EVENTS, "default").items if event["type"] == "Warning"]
    assert [event["reason"] for event in events] == ["FailedPrepareDynamicResources"]
    assert cluster.status("p")["containerStatuses"][0]["state"]["waiting"]["reason"] == "ContainerCreating"
    cluster.driver.prepare_error.clear()
    cluster.wait_phase("p", "Running")
    cluster.kubelet.finish_pod("default", "p", "Succeeded")
    status = cluster.wait_phase("p", "Succeeded")
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0


def test_the_node_is_ready_and_slices_are_wiped(cluster: Cluster) -> None:
    assert cluster.client.get(NODES, NODE)["status"]["conditions"][0]["type"] == "Ready"
    pool = {"name": NODE, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": NODE, "pool": pool, "devices": [{"name": "d"}]}
    cluster.client.create(
        RESOURCE_SLICES,
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": "s"},
            "spec": spec,
        },
    )
    cluster.server.stop(grace=0)
    cluster.log.wait(lambda: not cluster.kubelet.plugins.instances(DRIVER))
    cluster.clock.advance(31)
    cluster.log.wait(lambda: not cluster.client.list(RESOURCE_SLICES).items)


# The API server of 1.37 refuses what the node never has.
@pytest.mark.parametrize("cluster", ["1.36"], indirect=True)
def test_a_resize_waits_for_room_and_its_condition_goes(cluster: Cluster) -> None:
    def pod(name: str, cpu: str) -> None:
        limits = {"cpu": cpu, "memory": "1Gi"}
        container = {"name": "main", "image": "i", "resources": {"limits": limits, "requests": limits}}
        metadata = {"name": name, "namespace": "default"}
        cluster.client.bind(
            cluster.client.create(PODS, {"metadata": metadata, "spec": {"containers": [container]}}), NODE
        )
        cluster.wait_phase(name, "Running")

    def resize(cpu: str) -> None:
        resources = {"limits": {"cpu": cpu}, "requests": {"cpu": cpu}}
        patch = {"spec": {"containers": [{"name": "main", "resources": resources}]}}
        cluster.client.patch(PODS, "p", patch, "default", kind="strategic", subresource="resize")

    def pending() -> str:
        found = [c for c in cluster.status("p")["conditions"] if c["type"] == "PodResizePending"]
        return str(found[0]["reason"]) if found else ""

    def container() -> dict[str, Any]:
        return dict(cluster.status("p")["containerStatuses"][0])

    pod("p", "10")
    pod("rest", "54")  # the node has 64
    assert container()["allocatedResources"] == {"cpu": "10", "memory": "1Gi"}
    resize("11")
    cluster.log.wait(lambda: pending() == "Deferred")
    resize("65")
    cluster.log.wait(lambda: pending() == "Infeasible")
    assert container()["resources"]["limits"]["cpu"] == "10"
    # A restarted kubelet still knows what the containers have.
    cluster.kubelet.restart()
    resize("12")
    cluster.log.wait(lambda: pending() == "Deferred")
    assert container()["resources"]["limits"]["cpu"] == "10"
    cluster.client.delete(PODS, "rest", "default", grace_period_seconds=0)
    cluster.log.wait(lambda: not pending())
    assert container()["allocatedResources"]["cpu"] == container()["resources"]["limits"]["cpu"] == "12"
    assert container()["restartCount"] == 0
