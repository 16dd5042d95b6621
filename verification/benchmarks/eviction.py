"""A DeviceTaintRule that hits 1,000 pods: how fast the taint eviction deletes them, and how much memory it takes.

The taint eviction is a process of its own, so that its memory can be read. It runs twice: without a limit, and with a
rate and a burst.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from apiserver_emulator import ApiServerEmulator
from dra_api.client import KubeClient
from dra_api.clock import RealClock
from dra_api.informer import Change, Informer
from dra_api.objects import DEVICE_TAINT_RULES, NODES, PODS, RESOURCE_SLICES, Obj, name_of
from verification.benchmarks.cluster import DRIVER, embedded, pod_with_device
from verification.benchmarks.figures import Figure

PODS_OF_A_RULE = 1000
RATE, BURST = 100.0, 50
_DEVICES = 100
"""Devices of a node, each with a pod."""
_SECONDS = 300.0
_RULE = "bad-driver"


@dataclass(slots=True)
class Outcome:
    """When each pod was evicted after the rule was created, in seconds, and the controller's memory in MiB."""

    times: list[float] = field(default_factory=list)
    before: float = 0.0
    peak: float = 0.0
    status_writes: int = 0
    problems: list[str] = field(default_factory=list)


def memory(pid: int, name: str) -> float:
    """Return a size of a process in MiB: VmRSS is the present one, VmHWM the greatest so far."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    raise LookupError(name)


@contextlib.contextmanager
def _controller(plane: ApiServerEmulator, options: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "reference_impl", "taint-eviction", "--kubeconfig", str(plane.kubeconfig)]
    program = subprocess.Popen([*command, *options], env=dict(os.environ), stdout=subprocess.DEVNULL)
    try:
        yield program
    finally:
        program.terminate()
        program.wait()


def _populate(client: KubeClient, pods: int) -> None:
    """Create pods with a device of their own each, bound to nodes as by a scheduler."""
    for first in range(0, pods, _DEVICES):
        devices = range(first, min(first + _DEVICES, pods))
        node = f"node-{first:04d}"
        client.create(NODES, {"metadata": {"name": node}})
        spec: Obj = {
            "driver": DRIVER,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"gpu-{one}"} for one in devices],
        }
        client.create(RESOURCE_SLICES, {"metadata": {"name": node}, "spec": spec})
        for one in devices:
            # No kubelet ends the containers: the pod goes with its deletion.
            spec = {"nodeName": node, "terminationGracePeriodSeconds": 0}
            pod_with_device(client, f"pod-{one:04d}", pool=node, device=f"gpu-{one}", **spec)


class _Watch:
    """Sees the pods go and the status of the rule change."""

    def __init__(self, client: KubeClient) -> None:
        self.gone: dict[str, float] = {}
        self.messages: list[str] = []
        self.changed = threading.Condition()
        clock = RealClock()
        self._informers = [Informer(client, PODS, clock=clock), Informer(client, DEVICE_TAINT_RULES, clock=clock)]
        self._informers[0].on_change(self._on_pod)
        self._informers[1].on_change(self._on_rule)

    def __enter__(self) -> _Watch:
        for informer in self._informers:
            informer.start()
            informer.wait_synced(30)
        return self

    def __exit__(self, *_: object) -> None:
        for informer in self._informers:
            informer.stop()

    def _on_pod(self, change: Change) -> None:
        if change.type == "DELETED":
            with self.changed:
                self.gone.setdefault(name_of(change.object), time.monotonic())
                self.changed.notify_all()

    def _on_rule(self, change: Change) -> None:
        conditions = (change.object.get("status") or {}).get("conditions") or ()
        with self.changed:
            self.messages += [f"{one['reason']}: {one.get('message', '')}" for one in conditions]
            self.changed.notify_all()


def run(*, pods: int, rate: float = 0.0, burst: int = 1, period: float = 2.0) -> Outcome:
    """Create pods, start the controller, create the rule, and wait until all pods are gone and the rule says so."""
    outcome = Outcome()
    with embedded(https=True) as plane:
        client = KubeClient(plane.transport())
        _populate(client, pods)
        options = ["--rule-status-period", str(period), "--eviction-rate", str(rate), "--eviction-burst", str(burst)]
        with _Watch(client) as seen, _controller(plane, options) as program:
            # The status of a rule without effect shows that the controller knows all pods.
            _rule(client, "trial", "None")
            if not _wait(seen, lambda: any(f" {pods} pods would" in one for one in seen.messages)):
                raise TimeoutError(f"the taint eviction does not see {pods} pods: {seen.messages}")
            outcome.before = memory(program.pid, "VmRSS")
            with seen.changed:
                seen.messages.clear()
            began = time.monotonic()
            _rule(client, _RULE, "NoExecute")
            if not _wait(seen, lambda: len(seen.gone) == pods):
                outcome.problems.append(f"only {len(seen.gone)} of {pods} pods were evicted in {_SECONDS:g} s")
            done = f"Completed: {pods} pods evicted"
            if not _wait(seen, lambda: any(one.startswith(done) for one in seen.messages)):
                outcome.problems.append(f"the rule's last status is {seen.messages[-1:]}")
            outcome.peak = memory(program.pid, "VmHWM")
            outcome.times = sorted(at - began for at in seen.gone.values())
            outcome.status_writes = len(seen.messages)
    if rate:
        outcome.problems += _too_fast(outcome.times, rate, burst)
    return outcome


def _too_fast(times: Sequence[float], rate: float, burst: int) -> list[str]:
    """Return where more pods were evicted than the rate allows since the rule was created."""
    # Ten more: their deletions are observed a moment after they were decided.
    wrong = [number for number, at in enumerate(times) if number + 1 > burst + rate * at + 10]
    return [f"{wrong[0] + 1} pods were evicted after {times[wrong[0]]:.2f} s"] if wrong else []


def _rule(client: KubeClient, name: str, effect: str) -> None:
    spec = {"deviceSelector": {"driver": DRIVER}, "taint": {"key": "bench.dra.test/bad", "effect": effect}}
    client.create(DEVICE_TAINT_RULES, {"metadata": {"name": name}, "spec": spec})


def _wait(seen: _Watch, holds: Callable[[], bool]) -> bool:
    with seen.changed:
        return seen.changed.wait_for(holds, _SECONDS)


def figures() -> list[Figure]:
    """1,000 pods, without a limit and at a rate of 100 pods a second after a burst of 50."""
    found = []
    for what, rate, burst in (("no limit", 0.0, 1), (f"{RATE:g} pods/s, burst {BURST}", RATE, BURST)):
        outcome = run(pods=PODS_OF_A_RULE, rate=rate, burst=burst)
        for problem in outcome.problems:
            print(f"  WRONG: {problem}")
        times = outcome.times
        late = times[burst:] or times
        found += [
            Figure(
                f"a rule evicts {len(times)} pods, {what}",
                "pods/s",
                [(len(late) - 1) / (late[-1] - late[0])],
                aim=f"{rate:g}" if rate else "",
                note=f"first after {times[0]:.2f} s, last {times[-1]:.2f} s, {outcome.status_writes} status writes",
            ),
            Figure(
                f"memory that the taint eviction needs more, {what}",
                "MiB",
                [outcome.peak - outcome.before],
                aim="≤ 32",
                note=f"peak {outcome.peak:.0f} MiB, {outcome.before:.0f} MiB before the rule",
            ),
        ]
    return found
