"""A ComputeDomain over a rack: from its creation to 18 workers that run, with the channel of a node each.

The 18 nodes of an NVL72 are fake, with an emulated kubelet and the reference's ComputeDomain driver each. Controllers,
scheduler and drivers are those of the reference, in this process; the IMEX daemons are simulated and are ready at once.
"""

from __future__ import annotations

import contextlib
import resource
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml

import fake_nvml
from apiserver_emulator import ApiServerEmulator
from dra_api.client import KubeClient
from dra_api.clock import Clock, RealClock
from dra_api.component import Component
from dra_api.informer import Change, Informer
from dra_api.objects import COMPUTE_DOMAINS, DEVICE_CLASSES, NAMESPACES, PODS, RESOURCE_CLAIM_TEMPLATES, Obj, name_of
from dra_conformance.core import assets
from dra_conformance.kubelet import Kubelet
from reference_impl.claim_controller import ClaimController
from reference_impl.compute_domain.controller import ComputeDomainController
from reference_impl.compute_domain.daemon import SimulatedImexDaemons
from reference_impl.compute_domain.objects import DRIVER_NAMESPACE
from reference_impl.compute_domain.options import DRIVER_MANAGED, FabricGates, ImexOptions
from reference_impl.compute_domain.plugin import ComputeDomainPlugin, ComputeDomainPluginOptions
from reference_impl.kubelet_plugin.options import KubeletPluginOptions
from reference_impl.scheduler import Scheduler, SchedulerOptions
from verification.benchmarks.cluster import embedded
from verification.benchmarks.figures import Figure

DRIVER = "compute-domain.nvidia.com"
NODES_OF_RACK = 18
_CLASS = "compute-domain-default-channel.nvidia.com"
_TEMPLATE = "job-channel"
_SECONDS = 120.0
STAGES = {
    "template": "ComputeDomain created to its claim template",
    "bound": "18 workers created to all bound",
    "running": "18 workers created to all Running",
    "ready": "18 workers created to the ComputeDomain Ready",
}


class _Times:
    """When each stage was reached, by what the API server sends."""

    def __init__(self, client: KubeClient, clock: Clock, *, workers: int) -> None:
        self.at: dict[str, float] = {}
        self._workers = workers
        self._bound: set[str] = set()
        self._running: set[str] = set()
        self._changed = threading.Condition()
        followed: list[tuple[Informer, Callable[[Change], None]]] = [
            (Informer(client, PODS, namespace="default", clock=clock), self._on_pod),
            (Informer(client, COMPUTE_DOMAINS, clock=clock), self._on_domain),
            (Informer(client, RESOURCE_CLAIM_TEMPLATES, namespace="default", clock=clock), self._on_template),
        ]
        self._informers = [informer for informer, _ in followed]
        for informer, handler in followed:
            informer.on_change(handler)

    def __enter__(self) -> _Times:
        for informer in self._informers:
            informer.start()
        return self

    def __exit__(self, *_: object) -> None:
        for informer in self._informers:
            informer.stop()

    def wait(self, *stages: str) -> None:
        """Wait until all of these stages are reached. Raises TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(lambda: all(stage in self.at for stage in stages), _SECONDS):
                missing = [stage for stage in stages if stage not in self.at]
                raise TimeoutError(f"not within {_SECONDS:g} s: {missing}; {len(self._running)} workers run")

    def _reached(self, stage: str) -> None:
        with self._changed:
            self.at.setdefault(stage, time.monotonic())
            self._changed.notify_all()

    def _on_template(self, change: Change) -> None:
        if name_of(change.object) == _TEMPLATE:
            self._reached("template")

    def _on_domain(self, change: Change) -> None:
        if (change.object.get("status") or {}).get("status") == "Ready":
            self._reached("ready")

    def _on_pod(self, change: Change) -> None:
        pod = change.object
        if pod["spec"].get("nodeName"):
            self._bound.add(name_of(pod))
        if (pod.get("status") or {}).get("phase") == "Running":
            self._running.add(name_of(pod))
        for stage, pods in (("bound", self._bound), ("running", self._running)):
            if len(pods) == self._workers:
                self._reached(stage)


@contextlib.contextmanager
def _rack(plane: ApiServerEmulator, clock: Clock, folder: Path, *, nodes: int) -> Iterator[None]:
    """The nodes of a rack, each with a kubelet and a ComputeDomain driver that is registered."""
    with contextlib.ExitStack() as stack:
        for number, gpus in enumerate(fake_nvml.create_rack(folder / "rack", nodes=nodes), start=1):
            stack.callback(gpus.close)
            name = f"node-{number:02d}"
            kubelet = Kubelet(KubeClient(plane.transport(), user_agent="kubelet"), clock, name, folder / f"k{number}")
            kubelet.start()
            stack.callback(kubelet.end)
            plugin = ComputeDomainPlugin(
                KubeClient(plane.transport(), user_agent="compute-domain-plugin"),
                clock=clock,
                nvml=fake_nvml.load_pynvml(gpus),
                options=ComputeDomainPluginOptions(
                    node=KubeletPluginOptions(
                        node_name=name,
                        driver_name=DRIVER,
                        plugins_dir=kubelet.plugins_dir,
                        registrar_dir=kubelet.registration_dir,
                        cdi_root=kubelet.cdi_roots[0],
                        driver_root=gpus.driver_root,
                    ),
                    gates=FabricGates(),
                    imex=ImexOptions(mode=DRIVER_MANAGED, isolation="domain"),
                    host_socket="",
                    driver_namespace=DRIVER_NAMESPACE,
                    clique_id=None,
                ),
            )
            plugin.start()
            stack.callback(plugin.stop)
            kubelet.wait_registered(DRIVER, 20.0)
        yield


def run(*, nodes: int = NODES_OF_RACK) -> dict[str, float]:
    """One measurement: seconds of each stage, processor time from the domain on, and the peak memory in MiB so far."""
    clock = RealClock()
    with embedded() as plane, tempfile.TemporaryDirectory(prefix="dra-b-") as folder, contextlib.ExitStack() as stack:

        def client(who: str) -> KubeClient:
            return KubeClient(plane.transport(), user_agent=who)

        admin = client("admin")
        admin.create(NAMESPACES, {"metadata": {"name": DRIVER_NAMESPACE}})
        admin.create(
            DEVICE_CLASSES, yaml.safe_load((assets.fixtures() / "deviceclasses" / f"{_CLASS}.yaml").read_text())
        )
        parts: list[Component] = [
            ClaimController(client("claim-controller"), clock=clock),
            Scheduler(client("scheduler"), clock=clock, options=SchedulerOptions(publish="direct")),
            ComputeDomainController(client("compute-domain-controller"), clock=clock),
            SimulatedImexDaemons(client("imex-daemons"), clock=clock),
        ]
        for part in parts:
            part.start()
            stack.callback(part.stop)
        stack.enter_context(_rack(plane, clock, Path(folder), nodes=nodes))
        times = stack.enter_context(_Times(client("watcher"), clock, workers=nodes))
        began, used = time.monotonic(), time.process_time()
        admin.create(COMPUTE_DOMAINS, _domain(nodes))
        times.wait("template")
        created = time.monotonic()
        for number in range(nodes):
            admin.create(PODS, _worker(number))
        times.wait(*STAGES)
        seconds = {stage: times.at[stage] - (began if stage == "template" else created) for stage in STAGES}
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return {**seconds, "processor": time.process_time() - used, "memory": memory}


def _domain(nodes: int) -> Obj:
    return {
        "metadata": {"name": "job", "namespace": "default"},
        "spec": {"numNodes": nodes, "channel": {"resourceClaimTemplate": {"name": _TEMPLATE}}},
    }


def _worker(number: int) -> Obj:
    container = {"name": "main", "image": "pause", "resources": {"claims": [{"name": "channel"}]}}
    claims = [{"name": "channel", "resourceClaimTemplateName": _TEMPLATE}]
    return {
        "metadata": {"name": f"worker-{number:02d}", "namespace": "default"},
        "spec": {"containers": [container], "resourceClaims": claims},
    }


def figures() -> list[Figure]:
    """Seconds of each stage, over three racks."""
    runs = [run() for _ in range(3)]
    processor = ", ".join(f"{found['processor']:.1f}" for found in runs)
    note = f"IMEX daemons simulated; processor time of all components: {processor} s"
    memory = Figure("peak memory of the whole rack, in one process", "MiB", [found["memory"] for found in runs], "1024")
    stages = [
        Figure(what, "s", [found[stage] for found in runs], note=note if stage == "running" else "")
        for stage, what in STAGES.items()
    ]
    return [*stages, memory]
