"""Measure how one scheduler binds the pods of a workload on a real control plane of its own.

A burst of pods exists before the scheduler starts. It is measured from that start until the last pod is bound and has
its event. A steady state replaces each pod that is bound with a new one; it is measured between two bindings, while
pods are always waiting. CPU time is counted from the scheduler's start until every pod has its event.

Before the scheduler starts, kube-scheduler binds the pods that a cluster in use has: both schedulers find the same.
Afterwards the allocation checker judges every claim that is left: a scheduler that allocates a burst wrongly has no
figure. Claims of pods that a steady state has replaced are gone by then and are not judged.
"""

from __future__ import annotations

import itertools
import json
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from dra_api.client import KubeClient
from dra_api.clock import RealClock
from dra_api.informer import Change, Informer
from dra_api.objects import PODS, Obj, Resource, name_of
from dra_conformance.control_plane.binaries import BinariesControlPlane, flags
from dra_conformance.core.process import ManagedProcess
from dra_conformance.oracle.check import check
from dra_conformance.oracle.cluster import Cluster
from dra_conformance.oracle.live import read_cluster
from dra_conformance.oracle.verdict import Case, Settings
from verification.benchmarks import real
from verification.benchmarks.real import Start
from verification.benchmarks.scheduler_perf.objects import NAMESPACE, ROOM, New
from verification.benchmarks.scheduler_perf.workloads import Workload

_AT_ONCE = 8
# Seconds in which at least one pod must be bound.
_STALL = 120.0
_INITIAL = "initial"


@dataclass(frozen=True, slots=True)
class Measured:
    """Pods per second, and CPU milliseconds per pod: of the scheduler, and of all programs together."""

    rate: float
    own_cpu: float
    all_cpu: float


def kube_scheduler(workload: Workload) -> Start:
    """kube-scheduler with its default profile, and the workload's resources in its score."""
    if not workload.scoring:
        return real.kube_scheduler

    def start(plane: BinariesControlPlane, folder: Path) -> list[ManagedProcess]:
        kubeconfig = plane.component_kubeconfig("kube-scheduler")
        file = folder / "kube-scheduler.yaml"
        file.write_text(json.dumps(scoring_configuration(kubeconfig, workload.scoring)))
        words = plane.component_command("kube-scheduler", "scheduler", kubeconfig=kubeconfig)
        words = flags.configured(words, file)
        return [ManagedProcess("kube-scheduler", words, log_path=folder / "s.log")]

    return start


def scoring_configuration(kubeconfig: Path, resources: Sequence[str]) -> Obj:
    """Return a KubeSchedulerConfiguration whose LeastAllocated strategy counts `resources` with weight 1."""
    found: Obj = json.loads(flags.scheduler_configuration(kubeconfig, {}))
    strategy = {"type": "LeastAllocated", "resources": [{"name": name, "weight": 1} for name in resources]}
    found["profiles"][0]["pluginConfig"] = [{"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}]
    return found


def reference(workload: Workload) -> Start:
    """The reference scheduler, which binds directly, with the workload's feature gates."""
    return real.reference("direct", workload.gates)


def measure(start: Start, workload: Workload) -> Measured:
    """Measure one scheduler. Raises RuntimeError if pods stay unbound, or if an allocation breaks a rule."""
    with tempfile.TemporaryDirectory(prefix="dra-bench-") as name, ExitStack() as ending:
        folder = Path(name)
        plane, client = ending.enter_context(real.control_plane(folder, workload.gates))
        _create(client, workload.objects)
        real.make_ready(client, ROOM)
        pods = ending.enter_context(_Pods(client, workload))
        if workload.initial:
            _bind_initial(plane, folder, pods, workload.initial)
        pods.create(workload.backlog or workload.total)
        processes = start(plane, folder)
        before, began = real.cpu_of(plane.pids()), time.monotonic()
        for process in processes:
            process.start()
            ending.callback(process.stop)
        pods.wait_bound(workload.total, processes)
        bound = pods.bound()
        reported = real.last_news(client, bound, real.OF_SCHEDULER)
        own = {process.name: process.pid for process in processes if process.pid is not None}
        after = real.cpu_of({**plane.pids(), **own})
        _check(client, plane)
    used = {program: (seconds - before.get(program, 0.0)) * 1000 / workload.total for program, seconds in after.items()}
    times = sorted(bound.values())
    return Measured(
        steady_rate(times, workload.backlog) if workload.backlog else workload.pods / (reported - began),
        sum(used[program] for program in own),
        sum(used.values()),
    )


def steady_rate(times: Sequence[float], backlog: int) -> float:
    """Return bindings per second between the last binding of the first backlog and the one before the last backlog."""
    return (len(times) - 2 * backlog) / (times[-backlog - 1] - times[backlog - 1])


class _Pods:
    """Creates the pods of a workload, notes when they are bound, and replaces them in a steady state."""

    def __init__(self, client: KubeClient, workload: Workload) -> None:
        self._client = client
        self._workload = workload
        self._changed = threading.Condition()
        self._claimed: set[str] = set()
        self._bound: dict[str, float] = {}
        self._numbers = itertools.count()
        self._replacing: list[Future[None]] = []
        self._pool = ThreadPoolExecutor(_AT_ONCE)
        self._informer = Informer(client, PODS, clock=RealClock())
        self._informer.on_change(self._on_pod)

    def __enter__(self) -> _Pods:
        self._informer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._informer.stop()
        self._pool.shutdown()

    def create(self, count: int, prefix: str = "pod") -> None:
        """Create pods and wait for their claims. Raises RuntimeError if claims are missing."""
        numbers = itertools.count() if prefix == _INITIAL else self._numbers
        made = [self._workload.pod(f"{prefix}-{number:05d}", number) for number in itertools.islice(numbers, count)]
        list(self._pool.map(lambda pod: self._client.create(PODS, pod), made))
        names = {name_of(pod) for pod in made}
        if self._workload.templated:
            self._wait(lambda: len(names & self._claimed), count, "got claims")

    def wait_bound(self, count: int, processes: Sequence[ManagedProcess], prefix: str = "pod") -> None:
        """Wait until `count` pods are bound. Raises RuntimeError with the last output of the programs."""
        try:
            self._wait(lambda: sum(name.startswith(prefix) for name in self._bound), count, "were bound")
        except RuntimeError as error:
            # A pod that could not be replaced is the cause.
            self._raise_failed()
            last = "; ".join(f"{process.name}: {process.last_lines()}" for process in processes)
            raise RuntimeError(f"{error}: {last}") from error
        self._raise_failed()

    def _raise_failed(self) -> None:
        with self._changed:
            replacing = list(self._replacing)
        for future in replacing:
            future.result(timeout=_STALL)

    def bound(self) -> dict[str, float]:
        """Return when each measured pod was first seen bound."""
        with self._changed:
            return {name: at for name, at in self._bound.items() if not name.startswith(_INITIAL)}

    def _wait(self, reached: Callable[[], int], count: int, what: str) -> None:
        """Wait for a count that must grow within each `_STALL` seconds."""
        last, deadline = -1, 0.0
        with self._changed:
            while (now := reached()) < count:
                if now > last:
                    last, deadline = now, time.monotonic() + _STALL
                if not self._changed.wait(deadline - time.monotonic()) and time.monotonic() >= deadline:
                    raise RuntimeError(f"only {now} of {count} pods {what}, the last one {_STALL:.0f} s ago")

    def _on_pod(self, change: Change) -> None:
        pod = change.object
        name = name_of(pod)
        with self._changed:
            if (pod.get("status") or {}).get("resourceClaimStatuses"):
                self._claimed.add(name)
            new = bool(pod["spec"].get("nodeName")) and name not in self._bound
            if new:
                self._bound[name] = time.monotonic()
                if self._workload.backlog and not name.startswith(_INITIAL):
                    self._replacing.append(self._pool.submit(self._replace, name))
            self._changed.notify_all()

    def _replace(self, name: str) -> None:
        """Delete a pod, and create the next one if there is one."""
        self._client.delete(PODS, name, NAMESPACE, grace_period_seconds=0, propagation_policy="Background")
        if (number := next(self._numbers)) < self._workload.total:
            self._client.create(PODS, self._workload.pod(f"pod-{number:05d}", number))


def _bind_initial(plane: BinariesControlPlane, folder: Path, pods: _Pods, count: int) -> None:
    """Let kube-scheduler bind the pods that are there before."""
    pods.create(count, _INITIAL)
    (folder / _INITIAL).mkdir()
    processes = real.kube_scheduler(plane, folder / _INITIAL)
    for process in processes:
        process.start()
    try:
        pods.wait_bound(count, processes, _INITIAL)
    finally:
        for process in processes:
            process.stop()


def _create(client: KubeClient, objects: Sequence[New]) -> None:
    """Create objects in their order, those of one resource at once."""

    def one(resource: Resource, obj: Obj) -> None:
        made = client.create(resource, {key: value for key, value in obj.items() if key != "status"})
        if "status" in obj:
            client.update_status(resource, {**made, "status": obj["status"]})

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for _, group in itertools.groupby(objects, key=lambda new: new[0]):
            list(pool.map(lambda new: one(*new), group))


def _check(client: KubeClient, plane: BinariesControlPlane) -> None:
    """Raise RuntimeError if an allocation of the cluster breaks a rule."""
    off = frozenset(gate for gate, on in plane.feature_gates.items() if not on)
    settings = Settings(release=int(plane.version().split(".")[1]), gates_off=off)
    if found := broken_rule(read_cluster(client), settings):
        raise RuntimeError(found)


def broken_rule(cluster: Cluster, settings: Settings) -> str:
    """Return the first rule that an allocation of the cluster breaks, or an empty string."""
    for claim in cluster.claims:
        if claim.status.allocation is None:
            continue
        if broken := check(Case(cluster, claim, settings)).violations:
            return f"claim {claim.metadata.name} breaks {broken[0].rule}: {broken[0].message}"
    return ""
