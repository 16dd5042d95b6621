"""Trouble: a full disk, nodes that never become ready, no privileged containers.

The run ends with the cause, and leaves nothing. Each trouble has an engine of its own, so the checks run after the
engine of all others has stopped.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from deploy.manifests.parts import object_of, text_of
from dra_conformance.control_plane.kind import programs
from dra_conformance.core.errors import ExitCode
from verification.kind_cluster import leftovers
from verification.kind_cluster.cluster import call
from verification.kind_cluster.engine import Engine, lacks_sys_resource

_LOADED, _ENDED, _CALL = 300.0, 600.0, 120.0
_SPARE = 3.0
"""A small disk of an engine is so many times as large as the archive of the node image, until it is filled.

Docker unpacks the archive and each layer beside the image.
"""


def look(archive: Path, folder: Path, *, cgroup: str) -> Iterator[str]:
    """Yield what is not as expected. `archive` is that of the node image. Raises AssertionError."""
    yield from _in_trouble(
        "a full disk", _fill, archive, folder / "full", cgroup=cgroup, hint="Docker's disk is full", small=True
    )
    hint = "the nodes are not ready after"
    yield from _in_trouble(
        "nodes without a network", _without_network, archive, folder / "network", cgroup=cgroup, hint=hint
    )
    if lacks_sys_resource():
        hint = "refuses privileged containers"
        yield from _in_trouble(
            "no privileged containers", _leave, archive, folder / "refused", cgroup=cgroup, hint=hint, wrapped=False
        )
    else:
        print("kind: no privileged containers: not run: this machine has CAP_SYS_RESOURCE", flush=True)


def _in_trouble(
    name: str,
    disturb: Callable[[Path, str], str],
    archive: Path,
    folder: Path,
    *,
    cgroup: str,
    hint: str,
    wrapped: bool = True,
    small: bool = False,
) -> Iterator[str]:
    """Start an engine, if `small` on a disk of its own, disturb it, start a run, and yield what is not as expected."""
    folder.mkdir()
    with contextlib.ExitStack() as stack:
        if small:
            size = int(archive.stat().st_size * _SPARE) >> 20
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}m", "tmpfs", str(folder)], check=True)
            stack.callback(subprocess.run, ["umount", "--lazy", str(folder)], check=True)
        with Engine(folder, cgroup=cgroup, wrapped=wrapped):
            done = programs.run([programs.DOCKER, "load", "--input", str(archive)], timeout=_LOADED)
            if done.returncode != 0:
                raise AssertionError(f"{name}: the node image cannot be loaded: {programs.last_lines(done)}")
            image = done.stdout.strip().splitlines()[-1].partition(": ")[2]
            before = leftovers.there()
            image = disturb(folder, image)
            for problem in _refused(image, folder.with_suffix(".report"), hint=hint):
                yield f"{name}: {problem}"
            for each in sorted(leftovers.there() - before):
                yield f"{name} leaves {each}"


def _refused(image: str, out: Path, *, hint: str) -> Iterator[str]:
    """Start a run and yield what is not as expected of one that cannot create its cluster."""
    command = [sys.executable, "-m", "dra_conformance", "run", "--control-plane", "kind", "--kind-image", image]
    command += ["--focus", "^claims/api_claims", "--out", str(out), "--progress", "plain"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_ENDED)
    said = f"{done.stdout}{done.stderr}"
    if done.returncode != ExitCode.TARGET_UNREACHABLE:
        yield f"exit code {done.returncode}, not {ExitCode.TARGET_UNREACHABLE}:\n{said[-2000:]}"
    elif hint not in re.sub(r"\s+", " ", said):
        yield f"the message does not say {hint!r}:\n{said[-2000:]}"
    if "Traceback" in said:
        yield f"a traceback:\n{said[-2000:]}"


# What disturbs an engine with a node image in a folder returns the image that the run is given.


def _fill(folder: Path, image: str) -> str:
    """Leave no byte on the disk of the folder."""
    found = os.statvfs(folder)
    with (folder / "filler").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, found.f_bavail * found.f_frsize)
    return image


def _without_network(folder: Path, image: str) -> str:
    """Make an image whose nodes get no network for pods, without which the kubelet does not report ready."""
    manifest = folder / "network.yaml"
    manifest.write_text(text_of([object_of("v1", "ConfigMap", "no-network", namespace="default")]), encoding="utf-8")
    made = image.replace(":", "-without-network:")
    container = call([programs.DOCKER, "create", image], timeout=_CALL).strip()
    call([programs.DOCKER, "cp", str(manifest), f"{container}:/kind/manifests/default-cni.yaml"], timeout=_CALL)
    call([programs.DOCKER, "commit", container, made], timeout=_CALL)
    call([programs.DOCKER, "rm", container], timeout=_CALL)
    return made


def _leave(_folder: Path, image: str) -> str:
    """Disturb nothing: the engine itself is the trouble."""
    return image
