"""The checks: `python -m verification.kind_cluster.inside FOLDER ARCHIVES [--start-engine]`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from dra_api.clock import RealClock
from dra_conformance.control_plane.kind import KindControlPlane, programs
from verification.docker_engine import place
from verification.kind_cluster import leftovers, manifests, suite
from verification.kind_cluster.engine import Engine

COMPONENTS, NODE = "components.tar", "node.tar"
_LOADED = 300.0


def main(folder: Path, archives: Path, *, start_engine: bool) -> int:
    """Run all checks in `folder`; 1 when something is wrong."""
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
        parts: dict[str, Callable[[], Iterator[str]]] = {
            "suite": lambda: suite.look(image, folder / "report"),
            "manifests": lambda: _manifests(image, folder, archives / COMPONENTS),
            "leftovers": lambda: iter(sorted(leftovers.there() - before)),
        }
        return int(sum(_look(name, part) for name, part in parts.items()) > 0)


def _look(name: str, part: Callable[[], Iterator[str]]) -> int:
    clock = RealClock()
    began = clock.monotonic()
    try:
        found = list(part())
    # A check that cannot go on is one finding; the other parts still run.
    except AssertionError as error:
        found = [str(error)]
    print(f"kind: {name}: {len(found)} wrong ({clock.monotonic() - began:.0f} s)", flush=True)
    for line in found:
        print(f"  {line}", flush=True)
    return len(found)


def _manifests(image: str, folder: Path, archive: Path) -> Iterator[str]:
    plane = KindControlPlane(image=image, directory=folder / "kind", logs=folder / "logs")
    clock = RealClock()
    began = clock.monotonic()
    plane.start()
    try:
        print(f"kind: the cluster is ready after {clock.monotonic() - began:.0f} s", flush=True)
        yield from manifests.look(plane, archive)
    finally:
        plane.stop()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), start_engine="--start-engine" in sys.argv[3:]))
