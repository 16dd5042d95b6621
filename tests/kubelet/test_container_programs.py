"""Deployments on a node: the simulated controller, the container as a process, its probe, the MPS control program."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from apiserver_emulator.emulator import ApiServerEmulator
from dra_api.client import KubeClient
from dra_api.clock import AdvanceableClock
from dra_api.objects import DEPLOYMENTS, PODS
from dra_conformance.components.container_programs import ContainerPrograms
from dra_conformance.components.deployments import Deployments
from dra_conformance.components.fake_executable import FakeExecutable
from dra_conformance.components.simulated_mps import MPS_CONTROL, PROGRAM, daemons_ended, running_daemons
from dra_conformance.core.isolation import Isolation, no_mounts
from dra_conformance.kubelet import Kubelet

NODE = "n1"
START = "set -e; nvidia-cuda-mps-control -d; : > /driver-root/log/ready; exec tail -f /driver-root/log/control.log"


class Cluster:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.driver_root = root / "n" / "driver"
        self.mps = FakeExecutable(self.driver_root / "usr/bin" / PROGRAM)
        self.mps.install(MPS_CONTROL)
        self.clock = AdvanceableClock()
        self.plane = ApiServerEmulator(directory=root / "cp", clock=self.clock, https=False)
        self.plane.start()
        self.client = KubeClient(self.plane.transport(), user_agent="test")
        programs = ContainerPrograms(
            root=root / "n",
            logs=root / "logs",
            clock=self.clock,
            prepare=self.isolation,
            ended=lambda folders: daemons_ended(self.driver_root, folders),
        )
        self.kubelet = Kubelet(
            self.client.as_agent("kubelet"), self.clock, NODE, root / "n", programs=programs, wipe_at_start=False
        )
        self.kubelet.start()
        self.controller = Deployments(self.client, clock=self.clock, namespace="default", node=NODE)
        self.controller.start()

    def isolation(self, mounts: Any, uid: str) -> Isolation:
        view = self.root / f"view-{uid}"
        view.mkdir()
        return Isolation().with_mounts([(host, path) for path, host in mounts.items()], view=view)

    def close(self) -> None:
        self.controller.stop()
        self.kubelet.end()
        self.plane.stop()

    def volume(self, name: str) -> Path:
        folder = self.root / "n" / name
        folder.mkdir(exist_ok=True)
        return folder

    def deploy(self, name: str, *, node: str = NODE, pipe: Path | None = None) -> None:
        volumes = {"root": self.driver_root, "pipe": pipe or self.volume("pipe"), "log": self.volume("log")}
        paths = {"root": "/driver-root", "pipe": "/driver-root/pipe", "log": "/driver-root/log"}
        container = {
            "name": "daemon",
            "image": "any",
            "command": ["sh", "-c"],
            "args": [f"PATH=/driver-root/usr/bin:$PATH; {START}"],
            "env": [
                {"name": "CUDA_VISIBLE_DEVICES", "value": "GPU-b,GPU-a"},
                {"name": "CUDA_MPS_PIPE_DIRECTORY", "value": "/driver-root/pipe"},
                {"name": "CUDA_MPS_LOG_DIRECTORY", "value": "/driver-root/log"},
            ],
            "volumeMounts": [{"name": name, "mountPath": path} for name, path in paths.items()],
            "startupProbe": {"exec": {"command": ["cat", "/driver-root/log/ready"]}, "periodSeconds": 1},
        }
        labels = {"app": name}
        spec = {
            "nodeName": node,
            "containers": [container],
            "volumes": [{"name": name, "hostPath": {"path": str(path)}} for name, path in volumes.items()],
        }
        self.client.create(
            DEPLOYMENTS,
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": name, "namespace": "default"},
                "spec": {
                    "selector": {"matchLabels": labels},
                    "template": {"metadata": {"labels": labels}, "spec": spec},
                },
            },
        )

    def ready(self, name: str) -> int:
        found = self.client.get(DEPLOYMENTS, name, "default")
        return int((found.get("status") or {}).get("readyReplicas", 0))

    def running(self) -> dict[str, str]:
        return running_daemons(self.mps.recorded())


def comes(condition: Callable[[], bool], seconds: float = 60.0) -> bool:
    never = threading.Event()
    return any(condition() or never.wait(0.05) for _ in range(int(seconds / 0.05)))


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    root = Path(tempfile.mkdtemp(prefix="dra-"))
    if problem := no_mounts(Isolation()):
        pytest.skip(problem)  # containers of these tests need a mount namespace, which not every machine permits
    made = Cluster(root)
    yield made
    made.close()
    shutil.rmtree(root, ignore_errors=True)


def test_the_container_of_a_deployment_runs_until_the_deployment_is_deleted(cluster: Cluster) -> None:
    cluster.deploy("mps")
    assert comes(lambda: cluster.ready("mps") == 1)
    assert cluster.running() == {str(cluster.root / "n/pipe"): "GPU-b,GPU-a"}
    assert (cluster.root / "n/pipe/control").exists()
    cluster.client.delete(DEPLOYMENTS, "mps", "default", propagation_policy="Foreground")
    assert comes(lambda: not cluster.running())
    assert comes(lambda: not cluster.client.list(PODS, "default").items)


def test_a_container_that_ends_is_not_ready_and_is_started_again(cluster: Cluster) -> None:
    cluster.mps.fail()
    cluster.deploy("mps")

    def restarts() -> int:
        pods = cluster.client.list(PODS, "default").items
        return max(
            (one["restartCount"] for pod in pods for one in pod["status"].get("containerStatuses", ())), default=0
        )

    assert comes(lambda: restarts() > 0)
    assert cluster.ready("mps") == 0
    cluster.mps.work()
    assert comes(lambda: cluster.ready("mps") == 1)


def test_the_controller_leaves_other_nodes_alone_and_mounts_nothing_from_outside(cluster: Cluster) -> None:
    cluster.deploy("elsewhere", node="n2")
    outside = cluster.root / "outside"
    outside.mkdir()
    cluster.deploy("mps", pipe=outside)
    assert comes(lambda: bool(cluster.client.list(PODS, "default").items))
    assert comes(lambda: bool(cluster.mps.recorded()))
    assert [pod["spec"]["nodeName"] for pod in cluster.client.list(PODS, "default").items] == [NODE]
    assert not (outside / "control").exists()
