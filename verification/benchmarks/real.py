"""The reference scheduler beside kube-scheduler, on the same real API server in one run.

Pods and claims exist before the clock starts, so that the schedulers are compared and not the client that creates them.
Needs the programs of `make third-party`.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from dra_api.allocations import results_of_allocation
from dra_api.client import KubeClient
from dra_api.clock import RealClock
from dra_api.feature_gates import gate_list
from dra_api.informer import Change, Informer
from dra_api.objects import (
    BIND_REQUESTS,
    CRDS,
    EVENTS,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    SERVICE_ACCOUNTS,
    Obj,
)
from dra_api.objects import NODES as NODE_OBJECTS
from dra_conformance.control_plane.binaries import BinariesControlPlane
from dra_conformance.core import assets
from dra_conformance.core.process import ManagedProcess
from verification.benchmarks.cluster import BIN, embedded, pod, populate, programs_in_bin
from verification.benchmarks.figures import Figure, repeat

NODES, DEVICES = 50, 8
_LIMIT = 90.0
# What each pod has at last.
OF_SCHEDULER = ("Scheduled",)
_OF_BINDER = ("Succeeded", "Scheduled", "Bound")
# The unit of CPU time in /proc/PID/stat.
_TICKS = os.sysconf("SC_CLK_TCK")
# Of a node.
_ROOM: Mapping[str, str] = {"pods": "110", "cpu": "64", "memory": "256Gi"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One measurement: seconds from the scheduler's start to the last binding and from the first binding to the last,
    the number of pods, CPU milliseconds per pod by program, and write requests per pod.

    `reported` is the seconds from the start until every pod has its event and, if BindRequests are used, all have
    phase Succeeded; `reported_cpu` and `reported_writes` are all CPU milliseconds and requests per pod until then: work
    after a binding counts too. `doubled` are devices in two claims.
    """

    pods: int
    whole: float
    binding: float
    cpu: Mapping[str, float]
    writes: Mapping[str, float]
    reported: float
    reported_cpu: float
    reported_writes: float
    doubled: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Workload:
    """The pod of a number, and what else is created before the pods."""

    make: Callable[[int], Obj] = lambda number: pod(f"pod-{number:04d}")
    prepare: Callable[[KubeClient], None] = lambda client: None


Start = Callable[[BinariesControlPlane, Path], list[ManagedProcess]]


def kube_scheduler(plane: BinariesControlPlane, folder: Path) -> list[ManagedProcess]:
    """kube-scheduler with its default profile."""
    return [
        ManagedProcess(
            "kube-scheduler", plane.component_command("kube-scheduler", "scheduler"), log_path=folder / "s.log"
        )
    ]


def reference(publish: str, gates: Mapping[str, bool] | None = None) -> Start:
    """Start the reference scheduler as a process, and the binder as another if BindRequests are used.

    `gates` are feature gates that have another value than their default.
    """

    def start(plane: BinariesControlPlane, folder: Path) -> list[ManagedProcess]:
        def part(name: str, *more: str) -> ManagedProcess:
            words = [sys.executable, "-m", "reference_impl", name, "--kubeconfig", str(plane.kubeconfig), *more]
            words += [f"--feature-gates={gate_list(gates)}"] if gates else []
            return ManagedProcess(name, words, log_path=folder / f"{name}.log")

        found = [part("scheduler", "--publish", publish)]
        return found if publish == "direct" else [*found, part("binder")]

    return start


def null_client(plane: BinariesControlPlane, folder: Path) -> list[ManagedProcess]:
    """The client that only writes: the limit of the API server."""
    words = [sys.executable, "-m", "verification.benchmarks.null_client", "--kubeconfig", str(plane.kubeconfig)]
    return [ManagedProcess("null-client", words, log_path=folder / "null.log")]


NULL_CLIENT = "null client"
SCHEDULERS: Mapping[str, Start] = {
    "kube-scheduler": kube_scheduler,
    "reference, direct": reference("direct"),
    "reference, BindRequest": reference("bind-request"),
}


@contextmanager
def control_plane(
    folder: Path, gates: Mapping[str, bool] | None = None
) -> Iterator[tuple[BinariesControlPlane, KubeClient]]:
    """A fresh real control plane with CRDs and the claim controller of kube-controller-manager.

    All its programs have the feature gates `gates`.
    """
    plane = programs_in_bin(folder, gates)
    with ExitStack() as ending:
        plane.start()
        ending.callback(plane.stop)
        client = KubeClient(plane.transport())
        for path in sorted((assets.fixtures() / "crds").glob("*.yaml")):
            for crd in yaml.safe_load_all(path.read_text()):
                client.create(CRDS, crd)
        command = plane.component_command("kube-controller-manager", "claim-controller")
        controller = ManagedProcess("claim-controller", command, log_path=folder / "claims.log")
        controller.start()
        ending.callback(controller.stop)
        # The API server refuses pods in a namespace without this account.
        with client.watch(SERVICE_ACCOUNTS, "default", field_selector="metadata.name=default") as events:
            next(iter(events))
        yield plane, client


@contextmanager
def real(folder: Path, *, nodes: int, devices: int) -> Iterator[tuple[BinariesControlPlane, KubeClient]]:
    """Such a control plane with nodes and slices."""
    with control_plane(folder) as (plane, client):
        populate(client, nodes=nodes, devices=devices)
        make_ready(client)
        yield plane, client


def measure(
    start: Start,
    *,
    pods: int,
    nodes: int = NODES,
    devices: int = DEVICES,
    workload: Workload | None = None,
    may_double: bool = False,
    limit: float = _LIMIT,
) -> Outcome:
    """Measure how one scheduler binds `pods` pods that exist, with their claims, when it starts.

    Raises RuntimeError if pods are not bound within `limit` seconds, or if a device is in two claims and the scheduler
    is not one that `may_double`.
    """
    workload = workload or Workload()
    with tempfile.TemporaryDirectory(prefix="dra-bench-") as name, ExitStack() as ending:
        folder = Path(name)
        plane, client = ending.enter_context(real(folder, nodes=nodes, devices=devices))
        workload.prepare(client)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda number: client.create(PODS, workload.make(number)), range(pods)))
        bound: dict[str, float] = {}
        claimed: set[str] = set()
        ready, done = threading.Event(), threading.Event()

        def on_pod(change: Change) -> None:
            key = change.object["metadata"]["name"]
            if (change.object.get("status") or {}).get("resourceClaimStatuses"):
                claimed.add(key)
            if change.object["spec"].get("nodeName"):
                # The first time counts: later changes of the pod arrive here too.
                bound.setdefault(key, time.monotonic())
            if len(claimed) == pods:
                ready.set()
            if len(bound) == pods:
                done.set()

        watcher = Informer(client, PODS, clock=RealClock())
        watcher.on_change(on_pod)
        watcher.start()
        ending.callback(watcher.stop)
        if not ready.wait(_LIMIT):
            raise RuntimeError(f"only {len(claimed)} of {pods} pods got their claims within {_LIMIT:.0f} s")
        # Created, not started: CPU time and requests are counted from here.
        processes = start(plane, folder)
        before, writes = cpu_of(plane.pids()), writes_of(plane)
        began = time.monotonic()
        for process in processes:
            process.start()
            ending.callback(process.stop)
        if not done.wait(limit):
            last = "; ".join(f"{p.name}: {p.last_lines()}" for p in processes)
            raise RuntimeError(f"only {len(bound)} of {pods} pods were bound within {limit:.0f} s: {last}")
        own = {process.name: process.pid for process in processes if process.pid is not None}
        after = cpu_of({**plane.pids(), **own})
        written = writes_of(plane) - writes
        seconds = last_news(client, bound, _OF_BINDER if "binder" in own else OF_SCHEDULER) - began
        cpu = sum(cpu_of({**plane.pids(), **own}).values()) - sum(before.values())
        all_writes = (writes_of(plane) - writes).total()
        doubled = _doubled(client)
        if doubled and not may_double:
            raise RuntimeError(f"devices were allocated twice: {doubled[:3]}")
    return Outcome(
        pods,
        max(bound.values()) - began,
        max(bound.values()) - min(bound.values()),
        {name: (seconds - before.get(name, 0.0)) * 1000 / pods for name, seconds in after.items()},
        # Rare requests do not depend on the number of pods.
        {what: count / pods for what, count in written.items() if count >= pods / 10},
        seconds,
        cpu * 1000 / pods,
        all_writes / pods,
        doubled,
    )


def last_news(client: KubeClient, pods: Collection[str], awaited: Sequence[str]) -> float:
    """Return the monotonic time at which each pod has all that is awaited: events by reason, phases of BindRequests.

    `pods` are names. Raises RuntimeError if something is missing after 90 seconds.
    """
    seen: dict[str, set[str]] = {what: set() for what in awaited}
    done = threading.Event()

    def note(what: str, name: str) -> None:
        if what in seen and name in pods:
            seen[what].add(name)
            if all(len(names) == len(pods) for names in seen.values()):
                done.set()

    requests = Informer(client, BIND_REQUESTS, clock=RealClock())
    requests.on_change(
        lambda it: note((it.object.get("status") or {}).get("phase") or "", it.object["spec"]["podName"])
    )
    events = Informer(client, EVENTS, clock=RealClock())
    events.on_change(lambda it: note(it.object["reason"], it.object["involvedObject"]["name"]))
    with ExitStack() as ending:
        for informer in (requests, events):
            informer.start()
            ending.callback(informer.stop)
        if not done.wait(_LIMIT):
            seen_names = ", ".join(f"{what} {len(names)}" for what, names in seen.items())
            raise RuntimeError(
                f"of {len(pods)} pods reached their last phase and events within {_LIMIT:.0f} s: {seen_names}"
            )
        return time.monotonic()


def held_up(start: Start) -> tuple[float, float]:
    """Return the median and longest seconds that a suitable pod waits while one is pending that can never fit.

    The impossible pod requests one device more than a node has, in separate requests: a search that does not count
    tries every order of equal devices.
    """
    with tempfile.TemporaryDirectory(prefix="dra-bench-") as name, ExitStack() as ending:
        folder = Path(name)
        plane, client = ending.enter_context(real(folder, nodes=NODES, devices=DEVICES))
        created: dict[str, float] = {}
        waits: dict[str, float] = {}
        done = threading.Event()

        def on_pod(change: Change) -> None:
            key = change.object["metadata"]["name"]
            if change.object["spec"].get("nodeName") and key in created and key not in waits:
                waits[key] = time.monotonic() - created[key]
                if len(waits) == 5:
                    done.set()

        watcher = Informer(client, PODS, clock=RealClock())
        watcher.on_change(on_pod)
        watcher.start()
        ending.callback(watcher.stop)
        for process in start(plane, folder):
            process.start()
            ending.callback(process.stop)
        _warm_up(client, watcher)
        requests = [{"name": f"r{at}", "exactly": {"deviceClassName": "gpu"}} for at in range(DEVICES + 1)]
        template: Obj = {
            "metadata": {"name": "impossible", "namespace": "default"},
            "spec": {"spec": {"devices": {"requests": requests}}},
        }
        client.create(RESOURCE_CLAIM_TEMPLATES, template)
        impossible = pod("impossible")
        impossible["spec"]["resourceClaims"][0]["resourceClaimTemplateName"] = "impossible"  # type: ignore[index]
        client.create(PODS, impossible)
        never = threading.Event()
        for number in range(5):
            never.wait(0.3)  # spread over the attempt at the impossible one
            created[f"good-{number}"] = time.monotonic()
            client.create(PODS, pod(f"good-{number}"))
        done.wait(60)
        values = sorted(waits.values()) or [60.0]
        return values[len(values) // 2], values[-1]


def make_ready(client: KubeClient, room: Mapping[str, str] = _ROOM) -> None:
    """Set room and the Ready condition as a kubelet would: until then every new node has a taint."""
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "simulated"}
    status = {"conditions": [ready], "capacity": dict(room), "allocatable": dict(room)}
    nodes = [node["metadata"]["name"] for node in client.list(NODE_OBJECTS).items]
    for name in nodes:
        client.patch(NODE_OBJECTS, name, {"status": status}, subresource="status")
        client.patch(NODE_OBJECTS, name, {"spec": {"taints": None}})
    deadline = time.monotonic() + _LIMIT
    while any(node["spec"].get("taints") for node in client.list(NODE_OBJECTS).items):
        if time.monotonic() > deadline:
            raise RuntimeError("the nodes keep their not-ready taint")
        threading.Event().wait(0.2)


def _warm_up(client: KubeClient, watcher: Informer) -> None:
    """Wait until a first pod is bound: the scheduler has started."""
    client.create(PODS, pod("first"))
    if not watcher.wait_for(
        lambda: bool(((watcher.get("first", "default") or {}).get("spec") or {}).get("nodeName")), 60
    ):
        raise RuntimeError("the scheduler bound nothing within 60 s")


def _doubled(client: KubeClient) -> list[tuple[str, str]]:
    held = Counter(
        (result["pool"], result["device"])
        for claim in client.list(RESOURCE_CLAIMS).items
        for result in results_of_allocation((claim.get("status") or {}).get("allocation"))
    )
    return [device for device, count in held.items() if count > 1]


def cpu_of(pids: Mapping[str, int]) -> dict[str, float]:
    """CPU seconds that processes have used so far."""
    found = {}
    for name, pid in pids.items():
        # The name of the program, in parentheses, may contain blanks.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        found[name] = (int(fields[11]) + int(fields[12])) / _TICKS  # utime and stime
    return found


def writes_of(plane: BinariesControlPlane) -> Counter[str]:
    """Requests that change something, by verb and resource, as the API server counts them."""
    answer = plane.transport().request("GET", "/metrics")
    found: Counter[str] = Counter()
    for line in answer.body.decode().splitlines():
        if line.startswith("apiserver_request_total{"):
            labels = dict(
                part.split("=", 1) for part in line[line.index("{") + 1 : line.index("}")].split(",") if "=" in part
            )
            verb = labels.get("verb", "").strip('"')
            if verb in ("POST", "PUT", "PATCH", "APPLY"):
                what = "/".join(filter(None, (labels[key].strip('"') for key in ("resource", "subresource"))))
                found[f"{verb} {what}"] += int(float(line.rsplit(" ", 1)[1]))
    return found


def figures() -> list[Figure]:
    """Measure start-up of both control planes, three schedulers and the null client with pods, and blocked pods."""
    if not (BIN / "kube-apiserver").exists():
        print("  the real control plane is not built (make third-party): nothing is compared with it")
        return []
    found = [
        Figure("embedded control plane, start to ready", "s", repeat(3, _ready_embedded)),
        Figure("real control plane, start to ready", "s", repeat(3, _ready_real)),
    ]
    measured = {**SCHEDULERS, NULL_CLIENT: null_client}
    for pods, devices in ((200, DEVICES), (1000, 20)):
        first: Sequence[float] = ()
        # Round by round, so that other load affects all alike.
        rounds = [
            {name: measure(start, pods=pods, devices=devices) for name, start in measured.items()}
            for _ in range(3 if pods == 200 else 1)
        ]
        for name in measured:
            runs = [one[name] for one in rounds]
            rates = [run.pods / run.whole for run in runs]
            first = first or rates
            last = runs[-1]
            figure = Figure(f"{pods} pods, {NODES} nodes x {devices}, {name}, start to last bind", "pods/s", rates)
            ratio = figure.middle / Figure("", "", first).middle
            cpu = ", ".join(f"{program} {ms:.1f}" for program, ms in last.cpu.items())
            writes = ", ".join(f"{what} {count:.1f}" for what, count in sorted(last.writes.items()))
            aims = {"reference, direct": ">= 1 x", "reference, BindRequest": ">= 0.67 x"}
            note = f"{ratio:.2f} x kube-scheduler; first to last bind {pods / last.binding:.0f} pods/s; "
            note += (
                f"to the last phase and event {pods / last.reported:.0f} pods/s, {last.reported_cpu:.1f} ms and "
                f"{last.reported_writes:.1f} writes a pod in all; "
            )
            found.append(
                Figure(
                    figure.what, "pods/s", rates, aim=aims.get(name, ""), note=f"{note}CPU ms a pod: {cpu}; {writes}"
                )
            )
    for name, start in SCHEDULERS.items():
        middle, longest = held_up(start)
        found.append(
            Figure(
                f"a pod's wait beside an impossible pod, {name}", "s", [middle], note=f"longest of five {longest:.2f} s"
            )
        )
    return found


def _ready_embedded() -> float:
    began = time.monotonic()
    with embedded(https=True):
        return time.monotonic() - began


def _ready_real() -> float:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="dra-bench-") as name:
        plane = programs_in_bin(Path(name))
        try:
            plane.start()
            return time.monotonic() - began
        finally:
            plane.stop()
