"""Checks of the components: programs of `exec:`, sockets of drivers, components that would act on a whole cluster."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from dra_conformance.components.reference import CLUSTER_COMPONENTS
from dra_conformance.core.options import RunOptions
from dra_conformance.doctor.finding import Finding, missing, ok, wrong

_AREA = "Components"


def look(options: RunOptions) -> Iterator[Finding]:
    """Yield one finding for each component except the control plane."""
    cluster = options.component("control-plane").kind == "kubeconfig"
    for name, spec in options.components().items():
        if name == "control-plane":
            continue
        if spec.kind == "exec":
            yield _program(name, spec.command[0])
        elif spec.kind == "socket":
            yield _socket(name, Path(spec.argument))
        elif cluster and name in CLUSTER_COMPONENTS and spec.kind == "reference":
            yield ok(_AREA, name, "the reference, beside the cluster's own; it writes to objects of the run only")
        else:
            yield ok(_AREA, name, str(spec))


def _program(component: str, program: str) -> Finding:
    found = shutil.which(program)
    if found:
        return ok(_AREA, component, found)
    if os.path.sep not in program:
        return missing(
            _AREA, component, f"there is no program {program!r} on PATH", f"Write ./{program} for a local one."
        )
    if os.path.isfile(program):
        return wrong(_AREA, component, f"{program} is not executable", f"chmod +x {program}", found=program)
    return missing(_AREA, component, f"there is no program {program}", "Build it, or correct the path.")


def _socket(component: str, path: Path) -> Finding:
    way_out = "Start the driver; name its socket in the kubelet's registration folder."
    if not path.exists():
        return missing(_AREA, component, f"there is no socket {path}", way_out)
    if not path.is_socket():
        return wrong(_AREA, component, f"{path} is no socket", way_out, found=str(path))
    if not os.access(path, os.R_OK | os.W_OK):
        return wrong(_AREA, component, f"this user may not open {path}", "Run as the socket's owner.", found=str(path))
    return ok(_AREA, component, str(path))
