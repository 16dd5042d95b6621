"""The manifests of `deploy/kubernetes` on a kind cluster: a GPU pod runs through scheduler, binder, kubelet and driver.

The nodes, the kubelets and the containers are real; the GPUs are those of the fake NVML.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dra_conformance.control_plane.kind import KindControlPlane, programs
from verification.docker_engine.waiting import until

FOLDER = Path(__file__).resolve().parents[2] / "deploy/kubernetes"
_LOADED, _READY, _CALL = 300.0, 240.0, 60.0
_APPLIED = "/kind/applied"
_NAMESPACE = "dra-reference"
_DRIVER = "app.kubernetes.io/name=gpu-kubelet-plugin"
_GPUS_PER_NODE, _WORKERS = 8, 2


class Cluster:
    """A running kind cluster, with kubectl of its control plane's node."""

    def __init__(self, plane: KindControlPlane) -> None:
        self._plane = plane
        self._node = f"{plane.cluster}-control-plane"

    def load(self, archive: Path) -> None:
        """Load an image archive into every node. Raises AssertionError."""
        words = [programs.KIND, "load", "image-archive", str(archive), "--name", self._plane.cluster]
        _call(words, timeout=_LOADED)

    def kubectl(self, *words: str) -> str:
        """Run kubectl and return its output. Raises AssertionError with its message."""
        return _call([programs.DOCKER, "exec", self._node, "kubectl", *words])

    def apply(self, folder: Path) -> None:
        """Apply the manifests of a folder, in the order of their names."""
        _call([programs.DOCKER, "cp", str(folder), f"{self._node}:{_APPLIED}"])
        self.kubectl("apply", "-f", _APPLIED)
        _call([programs.DOCKER, "exec", self._node, "rm", "-r", _APPLIED])

    def items(self, *words: str) -> list[dict[str, Any]]:
        """Return the objects of `kubectl get`."""
        found: list[dict[str, Any]] = json.loads(self.kubectl("get", *words, "-o", "json"))["items"]
        return found


def _call(words: Sequence[str], *, timeout: float = _CALL) -> str:
    done = programs.run(words, timeout=timeout)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(words)}: {programs.last_lines(done)}")
    return done.stdout


def look(plane: KindControlPlane, archive: Path) -> Iterator[str]:
    """Yield what is not as expected on a started cluster. Raises AssertionError if the checks cannot go on."""
    cluster = Cluster(plane)
    cluster.load(archive)
    cluster.apply(FOLDER)
    until(lambda: _ready(cluster), what="the components are ready", within=_READY)
    slices = until(lambda: _slices(cluster), what="every worker has its ResourceSlices", within=_READY)
    devices = sum(len(each["spec"]["devices"]) for each in slices)
    if devices != _GPUS_PER_NODE * _WORKERS:
        yield f"the nodes have {devices} devices, not {_GPUS_PER_NODE} each"
    yield from _gpu_pod(cluster)
    # As at an upgrade of the DaemonSet: the fake GPUs stay, so the pools have the devices that they had.
    before = sorted(_uuids(slices))
    cluster.kubectl("-n", _NAMESPACE, "delete", "pod", "-l", _DRIVER)
    until(lambda: _ready(cluster), what="the driver is ready again", within=_READY)
    after = sorted(_uuids(until(lambda: _slices(cluster), what="the slices are there again", within=_READY)))
    if before != after:
        yield f"after a restart of the driver the GPUs are others: {before}, {after}"
    yield from _gpu_pod(cluster)


def _ready(cluster: Cluster) -> bool:
    pods = cluster.items("pods", "-n", _NAMESPACE)
    states = [status["ready"] for pod in pods for status in pod.get("status", {}).get("containerStatuses", ())]
    terminating = any("deletionTimestamp" in pod["metadata"] for pod in pods)
    return len(states) == _WORKERS + 2 and all(states) and not terminating


def _slices(cluster: Cluster) -> list[dict[str, Any]] | None:
    found = [each for each in cluster.items("resourceslices") if each["spec"]["driver"] == "gpu.nvidia.com"]
    nodes = {each["spec"]["nodeName"] for each in found}
    return found if len(nodes) == _WORKERS else None


def _uuids(slices: list[dict[str, Any]]) -> list[str]:
    return [device["attributes"]["uuid"]["string"] for each in slices for device in each["spec"]["devices"]]


def _gpu_pod(cluster: Cluster) -> Iterator[str]:
    """Run the example pod from `kubectl apply` to Succeeded, and compare what it saw with its allocation."""
    cluster.apply(FOLDER / "examples")
    pod = until(lambda: _ended(cluster), what="gpu-pod ends", within=_READY)
    logs = cluster.kubectl("logs", "gpu-pod")
    if pod["status"]["phase"] != "Succeeded":
        yield f"gpu-pod ends as {pod['status']['phase']}: {logs}"
    if not any(line.startswith("GPUs: /dev/nvidia") and line.count("/dev/") == 1 for line in logs.splitlines()):
        yield f"gpu-pod does not have exactly one GPU: {logs}"
    cluster.kubectl("delete", "pod", "gpu-pod", "--wait=true")
    until(lambda: not cluster.items("resourceclaims"), what="the claim of gpu-pod is deleted", within=_READY)


def _ended(cluster: Cluster) -> dict[str, Any] | None:
    (pod,) = [each for each in cluster.items("pods") if each["metadata"]["name"] == "gpu-pod"]
    return pod if pod["status"].get("phase") in ("Succeeded", "Failed") else None
