"""The checks: `python -m verification.kind_cluster.inside FOLDER ARCHIVES`, with the options of the command."""

from __future__ import annotations

import argparse
import contextlib
import shutil
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

from dra_api.clock import RealClock
from dra_conformance.control_plane.kind import KindControlPlane, programs
from dra_conformance.core.errors import SuiteError
from verification.docker_engine import place
from verification.kind_cluster import (
    campaigns,
    charts,
    components,
    compute_domains,
    device_plugins,
    existing,
    helm,
    images,
    installed,
    interrupted,
    leftovers,
    manifests,
    nodes,
    profiles,
    shards,
    sonobuoy,
    suite,
    troubles,
)
from verification.kind_cluster.cluster import Cluster
from verification.kind_cluster.engine import Engine

COMPONENTS, NODE = "components.tar", "node.tar"
START, SUBSET, ONLY = "--start-engine", "--ci", "--only"
CHECKS = (
    "existing",
    "shards",
    "campaigns",
    "sonobuoy",
    "chart",
    "manifests",
    "nodes",
    "device-plugins",
    "compute-domains",
    "components",
    "installed",
    "ctrl-c",
    "suite",
    "troubles",
)
"""In the order in which they run. `nodes`, `device-plugins` and `compute-domains` need `manifests`."""
ON_REQUEST = ("profiles",)
"""Checks that run only if they are named."""
_NEEDS: Mapping[str, tuple[str, ...]] = {
    "existing": (images.EXAMPLE_DRIVER, images.CHART),
    "shards": (images.READER,),
    "campaigns": (images.READER, campaigns.ARCHIVE),
    "sonobuoy": (images.SONOBUOY,),
}
"""The files that checks need beside the two images."""
_ON_CLUSTER = CHECKS[: CHECKS.index("components")]
_OF_CI = ("manifests",)
_LOADED = 300.0

Check = Callable[[], Iterator[str]]


def main(folder: Path, archives: Path, *, start_engine: bool = False, only: Collection[str] = CHECKS) -> int:
    """Run checks in `folder`; 1 when something is wrong."""
    if start_engine:
        place.settle()
    wrong = 0
    if set(only) - {"troubles"}:
        wrong += _with_engine(folder, archives, start_engine=start_engine, only=only)
    if "troubles" in only:
        if start_engine:
            wrong += _look("troubles", lambda: troubles.look(archives / NODE, folder, cgroup=folder.name))
        else:
            print(f"kind: troubles: not run: they need engines of their own ({START})", flush=True)
    return int(wrong > 0)


def _with_engine(folder: Path, archives: Path, *, start_engine: bool, only: Collection[str]) -> int:
    """Run the checks that share an engine, and return how much is wrong."""
    with contextlib.ExitStack() as stack:
        if start_engine:
            stack.enter_context(Engine(folder, cgroup=folder.name))
        done = programs.run([programs.DOCKER, "load", "--input", str(archives / NODE)], timeout=_LOADED)
        if done.returncode != 0:
            print(f"kind: the node image cannot be loaded: {programs.last_lines(done)}")
            return 1
        image = done.stdout.strip().splitlines()[-1].partition(": ")[2]
        before = leftovers.there()
        wrong = 0
        if set(only) & set(_ON_CLUSTER):
            wrong += _on_cluster(image, folder, archives, only)
        if "components" in only:
            wrong += _look("components", lambda: components.look(image, folder, archives / COMPONENTS))
        if "installed" in only:
            wrong += _look("installed", lambda: installed.look(image, archives / COMPONENTS, folder / "installed"))
        if "ctrl-c" in only:
            wrong += _look("ctrl-c", lambda: interrupted.look(image, folder, archives))
        if "suite" in only:
            wrong += _look("suite", lambda: suite.look(image, folder / "report"))
        if "profiles" in only:
            wrong += _look("profiles", lambda: profiles.look(image, folder / "profiles"))
        return wrong + _look("leftovers", lambda: iter(sorted(leftovers.there() - before)))


def _look(name: str, check: Check) -> int:
    """Run a check, print what it found, and return how much."""
    clock = RealClock()
    began = clock.monotonic()
    found: list[str] = []
    try:
        found += check()
    # A check that cannot go on is one finding; the others still run.
    except (AssertionError, SuiteError) as error:
        found.append(str(error))
    print(f"kind: {name}: {len(found)} wrong ({clock.monotonic() - began:.0f} s)", flush=True)
    for line in found:
        print(f"  {line}", flush=True)
    return len(found)


def _on_cluster(image: str, folder: Path, archives: Path, only: Collection[str]) -> int:
    """Run the checks that need a cluster, one after the other, on one cluster."""
    plane = KindControlPlane(image=image, directory=folder / "kind", logs=folder / "logs")
    clock = RealClock()
    began = clock.monotonic()
    archive = archives / COMPONENTS
    wrong = 0
    try:
        plane.start()
        print(f"kind: the cluster is ready after {clock.monotonic() - began:.0f} s", flush=True)
        cluster = Cluster(plane)
        checks: Mapping[str, Check] = {
            "existing": lambda: existing.look(cluster, archives, folder),
            "shards": lambda: shards.look(cluster, archive, archives, folder),
            "campaigns": lambda: campaigns.look(cluster, archives, folder),
            "sonobuoy": lambda: sonobuoy.look(cluster, archive, archives, folder),
            "chart": lambda: charts.look(cluster, archive),
            "manifests": lambda: manifests.look(cluster, archive),
            "nodes": lambda: nodes.look(cluster),
            "device-plugins": lambda: device_plugins.look(cluster),
            "compute-domains": lambda: compute_domains.look(cluster),
        }
        for name in (name for name in _ON_CLUSTER if name in only):
            if reason := lacking(name, archives):
                print(f"kind: {name}: not run: {reason}", flush=True)
            else:
                wrong += _look(name, checks[name])
    finally:
        wrong += _look("end of the cluster", lambda: _stopped(plane))
    return wrong


def _stopped(plane: KindControlPlane) -> Iterator[str]:
    """Stop a cluster. Raises TargetUnreachable, which is a finding, so that the other checks run."""
    plane.stop()
    yield from ()


def lacking(name: str, archives: Path) -> str:
    """Return what a check needs and is not there; empty if all is."""
    for needed in _NEEDS.get(name, ()):
        if not (archives / needed).exists():
            return f"there is no {archives / needed}"
    if name in ("existing", "chart") and shutil.which(helm.PROGRAM) is None:
        return "there is no helm (python -m verification build helm)"
    if name == "sonobuoy" and shutil.which(sonobuoy.PROGRAM) is None:
        return "there is no sonobuoy (python -m verification build sonobuoy)"
    return ""


def chosen(words: argparse.Namespace) -> Collection[str]:
    """Return the checks that the options select."""
    return _OF_CI if words.ci else words.only or CHECKS


def options() -> argparse.ArgumentParser:
    """Return the options that `python -m verification kind` has, too."""
    parser = argparse.ArgumentParser(prog="python -m verification kind", allow_abbrev=False)
    parser.add_argument(START, action="store_true", help="start an installed dockerd in namespaces of its own")
    parser.add_argument(SUBSET, action="store_true", help="run the part that CI includes")
    parser.add_argument(
        ONLY, action="append", choices=(*CHECKS, *ON_REQUEST), help="run this check only; may be repeated"
    )
    return parser


if __name__ == "__main__":
    given = options().parse_args(sys.argv[3:])
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), start_engine=given.start_engine, only=chosen(given)))
