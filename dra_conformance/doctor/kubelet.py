"""Checks of the prerequisites of a real kubelet with real containers on this machine.

They are those of `dra_conformance.kubelet.real.requirements`, without which `--kubelet kubelet` does not start.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from dra_conformance.core.errors import TargetUnreachable
from dra_conformance.doctor.finding import Finding, missing, ok, wrong
from dra_conformance.kubelet.real import programs, requirements

_AREA = "Real kubelet"


def look(
    *,
    root: Path = Path("/"),
    which: requirements.Which = shutil.which,
    needed: bool = False,
    release: str = "",
    bin_dir: str = "",
) -> Iterator[Finding]:
    """Yield one finding for each prerequisite. `release` is the kubelet's; empty means any."""
    for need in requirements.look(root=root, which=which):
        if not need.lacks:
            yield ok(_AREA, need.name, need.found, needed=needed)
        elif need.found:
            yield wrong(_AREA, need.name, need.lacks, need.way_out, found=need.found, needed=needed)
        else:
            yield missing(_AREA, need.name, need.lacks, need.way_out, needed=needed)
    try:
        found = programs.find(release, bin_dir=bin_dir)
    except TargetUnreachable as error:
        cause = error.message.removeprefix("--kubelet kubelet: ")
        yield missing(_AREA, "programs", cause, error.hint, needed=needed)
        return
    yield ok(_AREA, "kubelet", f"{found.kubelet}: {found[programs.KUBELET]}", needed=needed)
    yield ok(_AREA, "containerd", f"{found.containerd}: {found[programs.CONTAINERD]}", needed=needed)
    seccomp = "" if found.seccomp else " (without seccomp: containers run without a filter)"
    yield ok(_AREA, "runc", f"{found[programs.RUNC]}{seccomp}", needed=needed)
