"""NodePrepareResources over the socket: the reference driver beside the official example driver, in one run.

On the emulated API server, and on kube-apiserver if `make third-party` has built it.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from dra_api.client import KubeClient
from dra_api.rpc import ClaimRef
from dra_conformance.kubelet import PluginHandle
from verification.benchmarks.cluster import api_server, embedded, has_real_api_server
from verification.benchmarks.drivers import (
    EXAMPLE,
    GPU,
    PEER,
    allocated,
    example_driver,
    in_process,
    make_class,
    own_process,
)
from verification.benchmarks.figures import Figure, percentile

# Enough for a 99th percentile.
PAIRS = 200
WARM = 10
AIM = "≤ 2.65, p99 ≤ 4.9"  # measured with the official example driver on a quiet machine

Times = tuple[list[float], list[float], list[float]]
"""Milliseconds of each first Prepare, each repeated one and each Unprepare."""


def _measure(plugin: PluginHandle, claim: ClaimRef) -> Times:
    first, again, undo = [], [], []
    for number in range(PAIRS + WARM):
        t0 = time.perf_counter()
        answer = plugin.prepare([claim])
        t1 = time.perf_counter()
        # The claim is prepared already: this is what a kubelet does after its restart.
        plugin.prepare([claim])
        t2 = time.perf_counter()
        errors = plugin.unprepare([claim])
        t3 = time.perf_counter()
        if answer[claim.uid].error or errors.get(claim.uid):
            raise RuntimeError(f"{answer[claim.uid].error or errors}")
        if number >= WARM:
            first.append((t1 - t0) * 1000)
            again.append((t2 - t1) * 1000)
            undo.append((t3 - t2) * 1000)
    return first, again, undo


def as_program(driver_name: str, *, real: bool) -> Times:
    """A driver in a process of its own."""
    start = example_driver if driver_name == EXAMPLE else own_process
    with api_server(real=real) as plane, tempfile.TemporaryDirectory(prefix="dra-b-") as folder:
        client = KubeClient(plane.transport())
        make_class(client)
        with start(plane, Path(folder) / "n") as plugin:
            return _measure(plugin, allocated(client, "claim", "n1", "gpu-0", driver_name=driver_name))


def reference_here() -> Times:
    """The reference driver in this process, as scenarios run it."""
    with embedded() as plane, tempfile.TemporaryDirectory(prefix="dra-b-") as folder:
        client = KubeClient(plane.transport())
        make_class(client)
        with in_process(plane, Path(folder) / "n", "n1", inventory="dgx-h100") as (plugin, _):
            return _measure(plugin, allocated(client, "claim", "n1", "gpu-0"))


def figures() -> list[Figure]:
    """Median and 99th percentile of a first Prepare, a repeated one and an Unprepare, each driver and API server."""
    found = _rows({"reference, in process": reference_here()})
    for real in (False, True) if has_real_api_server() else (False,):
        where = "kube-apiserver" if real else "embedded API server"
        ours = as_program(GPU, real=real)
        runs = {f"reference, own process, {where}": ours}
        if PEER.exists():
            theirs = runs[f"{EXAMPLE}, {where}"] = as_program(EXAMPLE, real=real)
        found += _rows(runs, aim=AIM if real else "")
        if PEER.exists():
            ratio = percentile(ours[0], 0.5) / percentile(theirs[0], 0.5)
            found.append(Figure(f"Prepare p50, reference / {EXAMPLE}, {where}", "x", [ratio]))
    if not PEER.exists():
        print("  the example driver is not built (make third-party): no comparison")
    return found


def _rows(runs: Mapping[str, Times], *, aim: str = "") -> list[Figure]:
    return [
        Figure(
            f"{what}, {name}",
            "ms p50",
            values,
            aim=aim if what == "Prepare" and name.startswith("reference") else "",
            note=f"p99 {percentile(values, 0.99):.3g} ms",
        )
        for name, lists in runs.items()
        for what, values in zip(("Prepare", "Prepare again", "Unprepare"), lists, strict=True)
    ]
