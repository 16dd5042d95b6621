"""The checks: `python -m verification.kind_cluster.inside FOLDER ARCHIVES [--start-engine] [--ci]`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from dra_api.clock import RealClock
from dra_conformance.control_plane.kind import KindControlPlane, programs
from verification.docker_engine import place
from verification.kind_cluster import compute_domains, device_plugins, leftovers, manifests, nodes, suite
from verification.kind_cluster.cluster import Cluster
from verification.kind_cluster.engine import Engine

COMPONENTS, NODE = "components.tar", "node.tar"
START, SUBSET = "--start-engine", "--ci"
_LOADED = 300.0

Check = Callable[[], Iterator[str]]


def main(folder: Path, archives: Path, *, start_engine: bool = False, subset: bool = False) -> int:
    """Run all checks, or those of CI, in `folder`; 1 when something is wrong."""
    with contextlib.ExitStack() as stack:
        if start_engine:
            place.settle()
            stack.enter_context(Engine(folder, cgroup=folder.name))
        done = programs.run([programs.DOCKER, "load", "--input", str(archives / NODE)], timeout=_LOADED)
        if done.returncode != 0:
            print(f"kind: the node image cannot be loaded: {programs.last_lines(done)}")
            return 1
        image = done.stdout.strip().splitlines()[-1].partition(": ")[2]
        before = leftovers.there()
        wrong = 0
        if not subset:
            wrong += _look("suite", lambda: suite.look(image, folder / "report"))
        wrong += _on_cluster(image, folder, archives / COMPONENTS, subset=subset)
        return int(wrong + _look("leftovers", lambda: iter(sorted(leftovers.there() - before))) > 0)


def _look(name: str, check: Check) -> int:
    """Run a check, print what it found, and return how much."""
    clock = RealClock()
    began = clock.monotonic()
    found: list[str] = []
    try:
        found += check()
    # A check that cannot go on is one finding; the others still run.
    except AssertionError as error:
        found.append(str(error))
    print(f"kind: {name}: {len(found)} wrong ({clock.monotonic() - began:.0f} s)", flush=True)
    for line in found:
        print(f"  {line}", flush=True)
    return len(found)


def _on_cluster(image: str, folder: Path, archive: Path, *, subset: bool) -> int:
    """Run the checks of the manifests, one after the other, on one cluster."""
    plane = KindControlPlane(image=image, directory=folder / "kind", logs=folder / "logs")
    clock = RealClock()
    began = clock.monotonic()
    with contextlib.ExitStack() as stack:
        stack.callback(plane.stop)
        plane.start()
        print(f"kind: the cluster is ready after {clock.monotonic() - began:.0f} s", flush=True)
        cluster = Cluster(plane)
        checks: Mapping[str, Check] = {
            "manifests": lambda: manifests.look(cluster, archive),
            "nodes": lambda: nodes.look(cluster),
            "device plugins to DRA": lambda: device_plugins.look(cluster),
            "ComputeDomains": lambda: compute_domains.look(cluster),
        }
        return sum(_look(name, check) for name, check in checks.items() if not subset or name == "manifests")


if __name__ == "__main__":
    given = sys.argv[3:]
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), start_engine=START in given, subset=SUBSET in given))
