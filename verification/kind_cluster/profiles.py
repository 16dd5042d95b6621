"""Whole profiles against the components of kind clusters.

Most of them run outside one cluster, as on any cluster that exists, in shards that run at the same time: scheduler and
controllers are the cluster's own, and most of a scenario's time is waiting. Those of `api-enforcement` need a control
plane of the run, so that the run makes another cluster for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import CompletedProcess

from dra_api.clock import RealClock
from dra_conformance.control_plane.kind import KindControlPlane
from verification.kind_cluster.existing import judged, known_rules, ours

PROFILES = ("api", "claim-lifecycle", "scheduler-core", "device-taints")
"""Those whose rules bind API server, controller manager and scheduler, and that any cluster can be judged by."""
IN_OWN_CLUSTER = "api-enforcement"
SHARDS = 6
_RUN, _MERGED = 3600.0, 300.0


def look(image: str, folder: Path) -> Iterator[str]:
    """Yield what is not as expected. Raises AssertionError if the checks cannot go on."""
    folder.mkdir()
    plane = KindControlPlane(image=image, directory=folder / "kind", logs=folder / "logs", reserve_workers=True)
    clock = RealClock()
    try:
        plane.start()
        began = clock.monotonic()
        words = ["--control-plane", f"kubeconfig:{plane.kubeconfig}", "--progress", "none"]
        words += [word for name in PROFILES for word in ("--profile", name)]
        shards = [folder / str(index) for index in range(1, SHARDS + 1)]
        with ThreadPoolExecutor(SHARDS) as pool:
            ended = list(pool.map(lambda out: _shard(words, out), shards))
        print(f"kind: {', '.join(PROFILES)}: {clock.monotonic() - began:.0f} s in {SHARDS} shards", flush=True)
        for out, done in zip(shards, ended, strict=True):
            if not (out / "report.json").is_file():
                yield f"shard {out.name} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        merged = ours("merge", *map(str, shards), "--out", str(folder / "merged"), within=_MERGED)
        yield from judged(merged, folder / "merged", what="whole profiles", known=known_rules())
    finally:
        plane.stop()
    yield from _in_own_cluster(image, folder / IN_OWN_CLUSTER)


def _in_own_cluster(image: str, out: Path) -> Iterator[str]:
    clock = RealClock()
    began = clock.monotonic()
    words = ["--control-plane", "kind", "--kind-image", image, "--profile", IN_OWN_CLUSTER, "--progress", "none"]
    done = ours("run", *words, "--out", str(out), within=_RUN)
    print(f"kind: {IN_OWN_CLUSTER}: {clock.monotonic() - began:.0f} s in a cluster of its own", flush=True)
    yield from judged(done, out, what=f"profile {IN_OWN_CLUSTER}", known=known_rules())


def _shard(words: Sequence[str], out: Path) -> CompletedProcess[str]:
    return ours("run", *words, "--shard", f"{out.name}/{SHARDS}", "--out", str(out), within=_RUN)
