"""What can be known to be wrong before anything starts.

A mistake found here costs the user one sentence; found in the middle of a run it would cost an error a scenario.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from dra_conformance.components.reference import check_settings
from dra_conformance.core.component_spec import WEBHOOK_PLACEHOLDERS, fill
from dra_conformance.core.errors import TargetUnreachable, UsageError
from dra_conformance.core.options import RunOptions
from dra_conformance.core.rules import Catalogue


def check(options: RunOptions) -> None:
    """Raise UsageError for rules, inventories, feature folders and programs that are not there.

    Raises TargetUnreachable for a socket that is not there: that is the target's state, not a slip of the pen.
    """
    if options.component("control-plane").kind == "k3s":
        from dra_conformance.control_plane.k3s import docker_info

        docker_info()
    if options.component("kubelet").kind == "kubelet":
        from dra_conformance.control_plane.binaries import Wanted, find
        from dra_conformance.kubelet.real import requirements

        release = find(Wanted(options.kubernetes_version), bin_dir=options.bin_dir).version
        requirements.require(release, bin_dir=options.bin_dir)
    catalogue = Catalogue.load()
    for rule in [*options.rule, *(waiver.rule for waiver in options.waivers)]:
        catalogue.find(rule)
    for folder in options.features:
        if not Path(folder).is_dir():
            raise UsageError(f"--features {folder}: there is no such folder")
    _inventory(options.inventory)
    if options.nvml == "real":
        machine_gpus()
    for name, spec in options.components().items():
        if spec.kind == "reference":
            check_settings(name, spec.settings)
        elif spec.kind == "exec":
            _program(name, spec.command[0])
            _placeholders(name, spec.command)
        elif spec.kind == "socket" and not Path(spec.argument).exists():
            raise TargetUnreachable(
                f"--{name} socket:{spec.argument}: there is no such socket",
                hint="Is the driver running, and is this the path of its registration socket?",
            )
        elif spec.kind == "socket" and not Path(spec.argument).is_socket():
            raise UsageError(
                f"--{name} socket:{spec.argument}: that is no socket",
                hint="Name the driver's socket in the kubelet's registration folder.",
            )
        elif spec.kind == "socket" and options.component("control-plane").kind != "kubeconfig":
            raise UsageError(
                f"--{name} socket: a driver that runs already talks to an API server that runs already",
                hint="Name it with --control-plane kubeconfig:FILE; `dra-conformance control-plane serve` offers one.",
            )


def _inventory(name: str) -> None:
    import fake_nvml
    from fake_nvml.errors import InventoryError

    try:
        fake_nvml.Inventory.load(name)
    except InventoryError as error:
        raise UsageError(f"--inventory {name}: {error}") from None


def machine_gpus() -> int:
    """How many GPUs this machine has. Raises TargetUnreachable where no driver answers."""
    import fake_nvml

    nvml = fake_nvml.load_pynvml(None)
    try:
        nvml.nvmlInit()
        count = int(nvml.nvmlDeviceGetCount())
    except nvml.NVMLError as error:
        raise TargetUnreachable(
            f"--nvml real: this machine has no NVIDIA driver that answers ({error})",
            hint="Leave the option out: then the GPUs are those of the fake NVML.",
        ) from None
    nvml.nvmlShutdown()
    return count


def _placeholders(component: str, command: Sequence[str]) -> None:
    """Of components whose command is filled in once a run; a driver's placeholders are known to its node."""
    if component == "driver":
        return
    known = WEBHOOK_PLACEHOLDERS if component == "webhook" else ("kubeconfig",)
    for word in command:
        fill(word, dict.fromkeys(known, ""))


def _program(component: str, program: str) -> None:
    if os.path.sep not in program:
        if shutil.which(program) is None:
            raise UsageError(
                f"--{component} exec: there is no program {program!r} on PATH",
                hint=f"Write ./{program} for a local one.",
            )
    elif not os.path.isfile(program):
        raise UsageError(f"--{component} exec: there is no program {program}")
    elif not os.access(program, os.X_OK):
        raise UsageError(f"--{component} exec: {program} is not executable", hint=f"chmod +x {program}")
