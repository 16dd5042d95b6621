"""The GPU driver under load: calls at once, MIG devices made and unmade, and pods through the whole system by stage."""

from __future__ import annotations

import contextlib
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from dra_api.client import KubeClient
from dra_api.clock import RealClock
from dra_api.informer import Change, Informer
from dra_api.objects import PODS, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS
from reference_impl.binder import Binder
from reference_impl.claim_controller import ClaimController
from reference_impl.kubelet_plugin.options import FeatureGates
from reference_impl.scheduler import Scheduler
from verification.benchmarks.cluster import api_server, embedded, has_real_api_server, pod
from verification.benchmarks.drivers import (
    DEVICES,
    EXAMPLE,
    GPU,
    PEER,
    allocated,
    example_driver,
    in_process,
    make_class,
    own_process,
    prepared,
    request,
    unprepared,
)
from verification.benchmarks.figures import Figure, percentile

AT_ONCE = DEVICES
ROUNDS = 25
PODS_IN_ALL = 64
NODES = 4


def at_once(driver_name: str = GPU, *, real: bool = False) -> list[float]:
    """Milliseconds of each of eight calls at once, for eight GPUs."""
    times: list[float] = []
    start = example_driver if driver_name == EXAMPLE else own_process
    with api_server(real=real) as plane, tempfile.TemporaryDirectory(prefix="dra-b-") as folder:
        client = KubeClient(plane.transport())
        make_class(client)
        with start(plane, Path(folder) / "n") as plugin, ThreadPoolExecutor(AT_ONCE) as pool:
            refs = [allocated(client, f"c{gpu}", "n1", f"gpu-{gpu}", driver_name=driver_name) for gpu in range(AT_ONCE)]
            for number in range(ROUNDS + 2):
                found = list(pool.map(lambda ref: prepared(plugin, ref), refs))
                # The first two rounds warm up.
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
        with in_process(plane, Path(folder) / "n", "n1", inventory="dgx-h100", gates=gates) as (plugin, _):
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
            # The first time counts: later changes of the object arrive here too.
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
            ending.enter_context(in_process(plane, Path(folder) / f"n{number}", f"n{number}", inventory="h100-16"))
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
            # Before the request: a watcher may see the pod before the response arrives.
            stages.created[name] = time.monotonic()
            client.create(PODS, pod(name))
        if not stages.done.wait(120):
            print(f"  only {len(stages.times['running'])} of {PODS_IN_ALL} pods ran in 120 s")
        return time.monotonic() - began, stages


def _at_once_rows() -> list[Figure]:
    found = []
    for real in (False, True) if has_real_api_server() else (False,):
        where = "kube-apiserver" if real else "embedded API server"
        for name in (GPU, EXAMPLE) if PEER.exists() else (GPU,):
            times = at_once(name, real=real)
            what = "own process" if name == GPU else name
            found.append(
                Figure(
                    f"Prepare, {AT_ONCE} at once, {what}, {where}",
                    "ms p50",
                    times,
                    aim="≤ 8" if name == GPU else "",
                    note=f"p99 {percentile(times, 0.99):.3g} ms",
                )
            )
    return found


def figures() -> list[Figure]:
    """Eight Prepares at once, 56 MIG devices, 64 pods."""
    eight = _at_once_rows()
    made, unmade = zip(*(mig() for _ in range(3)), strict=True)
    seconds, stages = whole_system()
    found = [
        *eight,
        Figure("56 MIG devices made, a claim each", "s", made, "< 2 with the next"),
        Figure("56 MIG devices unmade", "s", unmade),
        Figure(f"{PODS_IN_ALL} pods on {NODES} nodes, create to Running", "s", [seconds]),
    ]
    found += [
        Figure(f"… since the pod's creation: {name}", "s p50", list(times.values()) or [0.0])
        for name, times in stages.times.items()
    ]
    return found
