"""Whole profiles against the components of one kind cluster, in shards that run at the same time.

The suite runs outside the cluster, as on any cluster that exists. The shards act on the same cluster: its scheduler and
controllers are its own. Most of a scenario's time is waiting, so that several shards on few processors save time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import CompletedProcess

from dra_api.clock import RealClock
from dra_conformance.control_plane.kind import KindControlPlane
from verification.kind_cluster.existing import judged, known_rules, ours

PROFILES = ("api", "api-enforcement", "claim-lifecycle", "scheduler-core", "device-taints")
"""Those whose rules bind API server, controller manager and scheduler."""
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


def _shard(words: Sequence[str], out: Path) -> CompletedProcess[str]:
    return ours("run", *words, "--shard", f"{out.name}/{SHARDS}", "--out", str(out), within=_RUN)
