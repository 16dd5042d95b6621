"""Checks of the components: programs of `exec:`, sockets of drivers, components that would act on a whole cluster."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from dra_conformance.components.reference import CLUSTER_COMPONENTS
from dra_conformance.core import driver_placeholders
from dra_conformance.core.component_spec import ComponentSpec
from dra_conformance.core.driver_presets import Preset
from dra_conformance.core.options import RunOptions
from dra_conformance.doctor.finding import Finding, missing, ok, wrong
from dra_conformance.engine import target_isolation

_AREA = "Components"


def look(options: RunOptions) -> Iterator[Finding]:
    """Yield one finding for each component except the control plane."""
    cluster = options.component("control-plane").kind == "kubeconfig"
    for name, spec in options.components().items():
        if name == "control-plane":
            continue
        if spec.kind == "exec":
            yield _preset(name, spec.preset) if spec.preset is not None else _program(name, spec.command[0])
            if name in driver_placeholders.OPTIONAL:
                yield from _placeholders(options, spec)
        elif spec.kind == "socket":
            yield _socket(name, Path(spec.argument))
        elif cluster and name in CLUSTER_COMPONENTS and spec.kind == "reference":
            yield ok(_AREA, name, "the reference, beside the cluster's own; it writes to objects of the run only")
        else:
            yield ok(_AREA, name, str(spec))


def _preset(component: str, preset: Preset) -> Finding:
    if absent := preset.missing():
        return missing(_AREA, component, f"{preset.name} is not built: there is no {absent[0]}", preset.build)
    return ok(_AREA, component, preset.label)


def _placeholders(options: RunOptions, spec: ComponentSpec) -> Iterator[Finding]:
    """Yield what the placeholders of a command gain, and whether its program can see the files that it needs."""
    component = spec.component
    lacking = driver_placeholders.absent(spec, options.driver_name)
    for one in driver_placeholders.OPTIONAL[component]:
        name = f"{component}: {one.word}"
        if one in lacking:
            way_out = f"Pass it to a flag of the {component}; it becomes {one.gives}."
            yield missing(_AREA, name, f"without this word no {one.judged}", way_out, needed=False)
        elif one.word in spec.argument:
            yield ok(_AREA, name, one.judged)
    if spec.mounts or (spec.takes_fake_gpus and options.nvml == "fake"):
        on_node = spec.takes_fake_gpus
        shown = "/sys, /proc/devices" if on_node else ", ".join(str(target) for _, target in spec.mounts)
        if problem := target_isolation.no_driver_view(options):
            way_out = "Run as root, or permit user namespaces; without them its scenarios are untestable."
            yield missing(_AREA, f"{component}: {shown}", f"no mount namespace for these files: {problem}", way_out)
        else:
            whose = "those of the scenario's fake node" if on_node else "those that the program has built in"
            yield ok(_AREA, f"{component}: {shown}", f"{whose}, in a mount namespace")


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
