"""Many ComputeDomains beside each other: how the work and the memory of the controller grow with their number.

Each ComputeDomain has one node, which joins it; the IMEX daemons are simulated. Controller, daemons and API server run
in one process of their own for each number, so that no measurement has the memory of another one.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Unpack

from dra_api.client import KubeClient
from dra_api.clock import RealClock
from dra_api.informer import Change, Informer
from dra_api.objects import COMPUTE_DOMAINS, NAMESPACES, NODES, Obj, name_of, uid_of
from dra_api.transport import RequestOptions, Response, Transport, TransportAround
from reference_impl.compute_domain.controller import ComputeDomainController
from reference_impl.compute_domain.daemon import SimulatedImexDaemons
from reference_impl.compute_domain.objects import DOMAIN_LABEL, DRIVER_NAMESPACE, NODE_CLIQUE_LABEL
from verification.benchmarks.cluster import embedded
from verification.benchmarks.figures import Figure

NUMBERS = (25, 50, 100)
_SECONDS = 300.0


class _Counted(TransportAround):
    """Counts the requests of the controller, and records those that write the status of a ComputeDomain."""

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        self.count = 0
        self.status_of: list[str] = []

    def request(self, method: str, path: str, **options: Unpack[RequestOptions]) -> Response:
        """Count and forward a request."""
        self.count += 1
        if method in ("PUT", "PATCH") and "/computedomains/" in path and path.endswith("/status"):
            self.status_of.append(path.split("/")[-2])
        return super().request(method, path, **options)


class _Ready:
    """Which ComputeDomains are Ready, by what the API server sends."""

    def __init__(self, client: KubeClient) -> None:
        self._names: set[str] = set()
        self._changed = threading.Condition()
        self._informer = Informer(client, COMPUTE_DOMAINS, clock=RealClock())
        self._informer.on_change(self._on_domain)

    def __enter__(self) -> _Ready:
        self._informer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._informer.stop()

    def wait(self, count: int) -> None:
        """Wait until this number of ComputeDomains is Ready. Raises TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._names) == count, _SECONDS):
                raise TimeoutError(f"not within {_SECONDS:g} s: {len(self._names)} of {count} ComputeDomains are Ready")

    def _on_domain(self, change: Change) -> None:
        ready = (change.object.get("status") or {}).get("status") == "Ready"
        with self._changed:
            (self._names.add if ready else self._names.discard)(name_of(change.object))
            self._changed.notify_all()


def run(number: int) -> dict[str, float]:
    """One measurement in this process: requests, processor time and memory until all are Ready; then one changes."""
    clock = RealClock()
    with embedded() as plane, contextlib.ExitStack() as stack:

        def client(who: str) -> KubeClient:
            return KubeClient(plane.transport(), user_agent=who)

        admin = client("admin")
        admin.create(NAMESPACES, {"metadata": {"name": DRIVER_NAMESPACE}})
        counted = _Counted(plane.transport())
        for part in (
            ComputeDomainController(KubeClient(counted, user_agent="compute-domain-controller"), clock=clock),
            SimulatedImexDaemons(client("imex-daemons"), clock=clock),
        ):
            part.start()
            stack.callback(part.stop)
        ready = stack.enter_context(_Ready(client("watcher")))
        gc.collect()
        memory, used, began = _memory(), time.process_time(), time.monotonic()
        for at in range(number):
            created = admin.create(COMPUTE_DOMAINS, _domain(at))
            labels = {DOMAIN_LABEL: uid_of(created), NODE_CLIQUE_LABEL: "rack.0"}
            admin.create(NODES, {"metadata": {"name": f"node-{at:03d}", "labels": labels}})
        ready.wait(number)
        gc.collect()
        found = {
            "requests": float(counted.count),
            "processor": time.process_time() - used,
            "seconds": time.monotonic() - began,
            "memory": float(_memory() - memory),
        }
        counted.status_of.clear()
        # One node leaves. Its ComputeDomain is not Ready any more, and the others have no reason to change.
        admin.patch(NODES, "node-000", {"metadata": {"labels": {DOMAIN_LABEL: None}}})
        ready.wait(number - 1)
        return {**found, "others": float(len([name for name in counted.status_of if name != "job-000"]))}


def _domain(at: int) -> Obj:
    return {
        "metadata": {"name": f"job-{at:03d}", "namespace": "default"},
        "spec": {"numNodes": 1, "channel": {"resourceClaimTemplate": {"name": f"job-{at:03d}-channel"}}},
    }


def _memory() -> int:
    """Return the resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _apart(number: int) -> dict[str, float]:
    """Return the measurement of a process of its own."""
    command = [sys.executable, "-m", __name__, str(number)]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=2 * _SECONDS).stdout
    found: dict[str, float] = json.loads(output)
    return found


def figures() -> list[Figure]:
    """The cost of each of 25, 50 and 100 ComputeDomains; it is the same for each number if the growth is linear."""
    shown: list[Figure] = []
    for number in NUMBERS:
        found = _apart(number)
        note = f"all Ready after {found['seconds']:.1f} s"
        shown.extend(
            (
                Figure(f"{number} ComputeDomains: requests for each", "", [found["requests"] / number], note=note),
                Figure(f"{number} ComputeDomains: processor time for each", "ms", [found["processor"] * 1e3 / number]),
                Figure(f"{number} ComputeDomains: memory for each", "KiB", [found["memory"] / 1024 / number]),
                Figure(
                    f"{number} ComputeDomains: status writes to others when one changes", "", [found["others"]], "0"
                ),
            )
        )
    return shown


if __name__ == "__main__":
    print(json.dumps(run(int(sys.argv[1]))))
