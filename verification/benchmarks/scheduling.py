"""Pods per second through claim controller, scheduler and binder, from the first create to the last bound pod."""

from __future__ import annotations

import resource
import threading
import time
from collections import Counter

from dra_api.client import KubeClient
from dra_api.clock import RealClock
from dra_api.component import Component
from dra_api.informer import Change, Informer
from dra_api.objects import PODS, RESOURCE_CLAIMS
from reference_impl.binder import Binder
from reference_impl.claim_controller import ClaimController
from reference_impl.scheduler import Scheduler, SchedulerOptions
from verification.benchmarks.cluster import embedded, pod, populate
from verification.benchmarks.figures import Figure


def run(*, pods: int, nodes: int, devices: int, publish: str) -> tuple[float, Counter[str], float]:
    """One measurement: seconds until all pods are bound, requests a pod by component, CPU ms a pod."""
    clock = RealClock()
    with embedded() as plane:
        client = KubeClient(plane.transport())
        populate(client, nodes=nodes, devices=devices)
        parts: list[Component] = [
            ClaimController(KubeClient(plane.transport(), user_agent="claim-controller"), clock=clock),
            Scheduler(
                KubeClient(plane.transport(), user_agent="scheduler"),
                clock=clock,
                options=SchedulerOptions(publish="direct" if publish == "direct" else "bind-request"),
            ),
        ]
        if publish != "direct":
            parts.append(Binder(KubeClient(plane.transport(), user_agent="binder"), clock=clock))
        bound: set[str] = set()
        done = threading.Event()

        def on_pod(change: Change) -> None:
            if change.object["spec"].get("nodeName"):
                bound.add(change.object["metadata"]["name"])
                if len(bound) == pods:
                    done.set()

        watcher = Informer(KubeClient(plane.transport()), PODS, clock=clock)
        watcher.on_change(on_pod)
        watcher.start()
        for part in parts:
            part.start()
        writes: Counter[str] = Counter()
        # Only now: writes of the set-up do not count.
        plane.server.store.on_commit(lambda kind, event: writes.update([kind[1]]))
        used = resource.getrusage(resource.RUSAGE_SELF)
        began = time.monotonic()
        for number in range(pods):
            client.create(PODS, pod(f"pod-{number:04d}"))
        if not done.wait(120):
            print(f"  only {len(bound)} of {pods} pods were bound in 120 s")
        seconds = time.monotonic() - began
        after = resource.getrusage(resource.RUSAGE_SELF)
        held = [
            (result["pool"], result["device"])
            for claim in client.list(RESOURCE_CLAIMS).items
            for result in claim["status"]["allocation"]["devices"]["results"]
        ]
        if len(held) != len(set(held)):
            print("  WRONG: a device was allocated twice")
        for part in reversed(parts):
            part.stop()
        watcher.stop()
    cpu = (after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime) * 1000 / pods
    return seconds, writes, cpu


def figures() -> list[Figure]:
    """200 pods with one claim each on 50 nodes of 8 devices, by BindRequest and directly."""
    found = []
    for publish in ("bind-request", "direct"):
        runs = [run(pods=200, nodes=50, devices=8, publish=publish) for _ in range(3)]
        writes = runs[-1][1]
        per_pod = ", ".join(f"{kind} {count / 200:.1f}" for kind, count in writes.most_common())
        found.append(
            Figure(
                f"200 pods, 50 nodes x 8, {publish}, create to bound",
                "pods/s",
                [200 / seconds for seconds, _, _ in runs],
                aim=">= 100" if publish == "bind-request" else "",
                note=f"writes a pod: {per_pod}; CPU a pod, server and all parts: {runs[-1][2]:.1f} ms",
            )
        )
    return found
