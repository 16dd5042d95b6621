"""The GPU driver under load: calls at once, MIG devices made and unmade, and pods through the whole system by stage."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fake_nvml
from benchmarks.cluster import embedded, pod
from benchmarks.figures import Figure, percentile
from benchmarks.prepare import PEER
from dra_api.client import KubeClient
from dra_api.clock import RealClock
from dra_api.informer import Change, Informer
from dra_api.objects import DEVICE_CLASSES, PODS, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS, Obj
from dra_api.rpc import ClaimRef
from dra_conformance.control_plane.embedded import EmbeddedControlPlane
from dra_conformance.kubelet import Kubelet, PluginHandle
from reference_impl.binder import Binder
from reference_impl.claim_controller import ClaimController
from reference_impl.kubelet_plugin.options import FeatureGates, KubeletPluginOptions
from reference_impl.kubelet_plugin.plugin import KubeletPlugin
from reference_impl.scheduler import Scheduler

GPU = "gpu.nvidia.com"
EXAMPLE = "gpu.example.com"
AT_ONCE = 8
ROUNDS = 25
PODS_IN_ALL = 64
NODES = 4


@contextlib.contextmanager
def driver(
    plane: EmbeddedControlPlane, root: Path, name: str, *, inventory: str, gates: FeatureGates | None = None
) -> Iterator[tuple[PluginHandle, KubeletPlugin]]:
    """A node with a kubelet and the reference driver in this process."""
    root.mkdir()
    with (
        fake_nvml.Node.create(inventory, root / "nvml") as node,
        Kubelet(KubeClient(plane.transport(), user_agent="kubelet"), RealClock(), name, root / "k") as kubelet,
    ):
        plugin = KubeletPlugin(
            KubeClient(plane.transport()),
            clock=RealClock(),
            nvml=fake_nvml.load_pynvml(node),
            options=KubeletPluginOptions(
                node_name=name,
                plugins_dir=kubelet.plugins_dir,
                registrar_dir=kubelet.registration_dir,
                cdi_root=kubelet.cdi_roots[0],
                driver_root=node.driver_root,
                gates=gates or FeatureGates(),
            ),
        )
        plugin.start()
        try:
            yield kubelet.wait_registered(GPU, 20.0), plugin
        finally:
            plugin.stop()


@contextlib.contextmanager
def own_process(plane: EmbeddedControlPlane, root: Path) -> Iterator[PluginHandle]:
    """A node with a kubelet here and the reference driver in a process of its own, on eight GPUs."""
    root.mkdir()
    with (
        fake_nvml.Node.create("dgx-h100", root / "nvml") as node,
        Kubelet(KubeClient(plane.transport(), user_agent="kubelet"), RealClock(), "n1", root / "k") as kubelet,
    ):
        command = [
            *(sys.executable, "-m", "reference_impl", "kubelet-plugin", "--kubeconfig", str(plane.kubeconfig)),
            *("--node-name", "n1", "--kubelet-plugins-directory-path", str(kubelet.plugins_dir)),
            *("--kubelet-registrar-directory-path", str(kubelet.registration_dir)),
            *("--cdi-root", str(kubelet.cdi_roots[0]), "--container-driver-root", str(node.driver_root)),
        ]
        program = subprocess.Popen(command, env={**os.environ, **node.env()}, stdout=subprocess.DEVNULL)
        try:
            yield kubelet.wait_registered(GPU, 30.0)
        finally:
            program.terminate()
            program.wait()


def make_class(client: KubeClient) -> None:
    """A DeviceClass for all whole GPUs."""
    expression = f'device.driver == "{GPU}" && device.attributes["{GPU}"].type == "gpu"'
    selectors = [{"cel": {"expression": expression}}]
    client.create(DEVICE_CLASSES, {"metadata": {"name": "gpu"}, "spec": {"selectors": selectors}})


def request() -> Obj:
    """A claim's spec: one device of the class."""
    return {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}


def allocated(client: KubeClient, name: str, node: str, device: str, *, driver_name: str = GPU) -> ClaimRef:
    """A claim that was given one device by hand."""
    made = client.create(RESOURCE_CLAIMS, {"metadata": {"name": name, "namespace": "default"}, "spec": request()})
    result = {"request": "gpu", "driver": driver_name, "pool": node, "device": device}
    made["status"] = {"allocation": {"devices": {"results": [result]}}}
    client.update_status(RESOURCE_CLAIMS, made)
    return ClaimRef("default", made["metadata"]["uid"], name)


def prepared(plugin: PluginHandle, ref: ClaimRef) -> float:
    """Milliseconds of one Prepare. Raises RuntimeError when it fails."""
    began = time.perf_counter()
    answer = plugin.prepare([ref])[ref.uid]
    if answer.error:
        raise RuntimeError(answer.error)
    return (time.perf_counter() - began) * 1000


def unprepared(plugin: PluginHandle, ref: ClaimRef) -> None:
    """One Unprepare. Raises RuntimeError when it fails."""
    if problem := plugin.unprepare([ref]).get(ref.uid):
        raise RuntimeError(problem)


@contextlib.contextmanager
def example_driver(plane: EmbeddedControlPlane, root: Path) -> Iterator[PluginHandle]:
    """The same with the official example driver, whose client limits are raised: they are not what is measured."""
    root.mkdir()
    with Kubelet(KubeClient(plane.transport(), user_agent="kubelet"), RealClock(), "n1", root / "k") as kubelet:
        (kubelet.plugins_dir / EXAMPLE).mkdir(parents=True)
        command = [
            *(str(PEER), "--kubeconfig", str(plane.kubeconfig), "--node-name", "n1", "--num-devices", str(AT_ONCE)),
            *("--cdi-root", str(kubelet.cdi_roots[0]), "--kube-api-qps", "1000", "--kube-api-burst", "2000"),
            *("--kubelet-plugins-directory-path", str(kubelet.plugins_dir)),
            *("--kubelet-registrar-directory-path", str(kubelet.registration_dir)),
        ]
        program = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield kubelet.wait_registered(EXAMPLE, 30.0)
        finally:
            program.kill()
            program.wait()


def at_once(driver_name: str = GPU) -> list[float]:
    """Milliseconds of each of eight calls at once, for eight GPUs."""
    times: list[float] = []
    start = example_driver if driver_name == EXAMPLE else own_process
    with embedded(https=True) as plane, tempfile.TemporaryDirectory(prefix="dra-b-") as folder:
        client = KubeClient(plane.transport())
        make_class(client)
        with start(plane, Path(folder) / "n") as plugin, ThreadPoolExecutor(AT_ONCE) as pool:
            refs = [allocated(client, f"c{gpu}", "n1", f"gpu-{gpu}", driver_name=driver_name) for gpu in range(AT_ONCE)]
            for number in range(ROUNDS + 2):
                found = list(pool.map(lambda ref: prepared(plugin, ref), refs))
                times += found if number >= 2 else []
                for ref in refs:
                    unprepared(plugin, ref)
    return times


def mig() -> tuple[float, float]:
    """Seconds to make, and to unmake, seven MIG devices on each of eight GPUs, one claim each, over the socket."""
    with embedded() as plane, tempfile.TemporaryDirectory(prefix="dra-b-") as folder:
        client = KubeClient(plane.transport())
        make_class(client)
        gates = FeatureGates(DynamicMIG=True, NVMLDeviceHealthCheck=False)
        with driver(plane, Path(folder) / "n", "n1", inventory="dgx-h100", gates=gates) as (plugin, _):
            names = [f"gpu-{gpu}-mig-1g10gb-19-{start}" for gpu in range(8) for start in range(7)]
            refs = [allocated(client, name, "n1", name) for name in names]
            began = time.monotonic()
            for ref in refs:
                prepared(plugin, ref)
            middle = time.monotonic()
            for ref in refs:
                unprepared(plugin, ref)
            return middle - began, time.monotonic() - middle


class Stages:
    """When each pod reached each stage, in seconds since its creation, as watchers see it."""

    NAMES = ("has its claim", "claim allocated", "bound", "running")

    def __init__(self, count: int) -> None:
        self.count = count
        self.created: dict[str, float] = {}
        self.times: dict[str, dict[str, float]] = {name: {} for name in self.NAMES}
        self.done = threading.Event()

    def reached(self, stage: str, name: str) -> None:
        """Note the first time that a pod is seen in a stage."""
        if name in self.created:
            self.times[stage].setdefault(name, time.monotonic() - self.created[name])
        if len(self.times["running"]) == self.count:
            self.done.set()

    def claim(self, change: Change) -> None:
        """A claim changed."""
        owners = change.object["metadata"].get("ownerReferences") or [{}]
        name = str(owners[0].get("name"))
        self.reached("has its claim", name)
        if (change.object.get("status") or {}).get("allocation"):
            self.reached("claim allocated", name)

    def pod(self, change: Change) -> None:
        """A pod changed."""
        name = change.object["metadata"]["name"]
        if change.object["spec"].get("nodeName"):
            self.reached("bound", name)
        if (change.object.get("status") or {}).get("phase") == "Running":
            self.reached("running", name)


def whole_system() -> tuple[float, Stages]:
    """Seconds until all pods run, and when each stage was reached."""
    clock, stages = RealClock(), Stages(PODS_IN_ALL)
    with embedded() as plane, tempfile.TemporaryDirectory(prefix="dra-b-") as folder, contextlib.ExitStack() as ending:
        client = KubeClient(plane.transport())
        make_class(client)
        template = {"metadata": {"name": "one", "namespace": "default"}, "spec": {"spec": request()}}
        client.create(RESOURCE_CLAIM_TEMPLATES, template)
        for number in range(NODES):
            ending.enter_context(driver(plane, Path(folder) / f"n{number}", f"n{number}", inventory="h100-16"))
        parts: list[Any] = [
            ClaimController(KubeClient(plane.transport(), user_agent="claim-controller"), clock=clock),
            Scheduler(KubeClient(plane.transport(), user_agent="scheduler"), clock=clock),
            Binder(KubeClient(plane.transport(), user_agent="binder"), clock=clock),
        ]
        for resource, seen in ((PODS, stages.pod), (RESOURCE_CLAIMS, stages.claim)):
            watcher = Informer(KubeClient(plane.transport()), resource, clock=clock)
            watcher.on_change(seen)
            watcher.start()
            ending.callback(watcher.stop)
        for part in parts:
            part.start()
            ending.callback(part.stop)
        began = time.monotonic()
        for number in range(PODS_IN_ALL):
            name = f"pod-{number:04d}"
            stages.created[name] = time.monotonic()
            client.create(PODS, pod(name))
        if not stages.done.wait(120):
            print(f"  only {len(stages.times['running'])} of {PODS_IN_ALL} pods ran in 120 s")
        return time.monotonic() - began, stages


def figures() -> list[Figure]:
    """Eight Prepares at once, 56 MIG devices, 64 pods."""
    eight = at_once()
    made, unmade = zip(*(mig() for _ in range(3)), strict=True)
    seconds, stages = whole_system()
    found = [
        Figure(
            f"Prepare, {AT_ONCE} at once, own process", "ms p50", eight, "≤ 8", f"p99 {percentile(eight, 0.99):.3g} ms"
        ),
        *(
            Figure(
                f"Prepare, {AT_ONCE} at once, {EXAMPLE}", "ms p50", times, note=f"p99 {percentile(times, 0.99):.3g} ms"
            )
            for times in ([at_once(EXAMPLE)] if PEER.exists() else ())
        ),
        Figure("56 MIG devices made, a claim each", "s", made, "< 2 with the next"),
        Figure("56 MIG devices unmade", "s", unmade),
        Figure(f"{PODS_IN_ALL} pods on {NODES} nodes, create to Running", "s", [seconds]),
    ]
    found += [
        Figure(f"… since the pod's creation: {name}", "s p50", list(times.values()) or [0.0])
        for name, times in stages.times.items()
    ]
    return found
