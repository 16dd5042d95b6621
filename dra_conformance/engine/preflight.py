"""Checks options against this machine before a run starts: programs, sockets, directories, inventories.

Without these checks, a wrong option would end as an error of every scenario.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import fake_nvml
from dra_conformance.components.companions import read_manifests
from dra_conformance.components.reference import check_settings
from dra_conformance.core.companions import PLACEHOLDERS, Companions
from dra_conformance.core.component_spec import (
    DRIVER_ROOT,
    MOUNTED,
    NODE_FOLDERS,
    NODE_PROGRAMS,
    WEBHOOK_PLACEHOLDERS,
    ComponentSpec,
    fill,
)
from dra_conformance.core.driver_presets import Preset
from dra_conformance.core.errors import TargetUnreachable, UsageError
from dra_conformance.core.options import RunOptions
from dra_conformance.core.rules import Catalogue, Version
from dra_conformance.report import signature
from fake_nvml.errors import InventoryError, LibraryMissingError
from fake_nvml.library import control_path, library_path

_OLDEST_KUBELET = 3
"""Minor versions that a kubelet may be older than the API server."""
_PLACEHOLDERS = {
    "webhook": WEBHOOK_PLACEHOLDERS,
    "compute-domain-controller": ("kubeconfig", "namespace", "port", "flags"),
    "compute-domain-daemon": ("kubeconfig", "config_dir", "hosts"),
}
"""The placeholders of components that do not run on a node, if they have more than {kubeconfig}, {port} and {flags}."""


def check(options: RunOptions) -> None:
    """Check everything that the options name.

    Raises:
        UsageError: a rule, inventory, directory or program does not exist.
        TargetUnreachable: the target is not there, such as the socket of a running driver, or is not executable.
    """
    # Deferred: Docker's client and the programs of a real kubelet are needed for these values only.
    if options.component("control-plane").kind == "k3s":
        from dra_conformance.control_plane.k3s import docker_info

        docker_info()
    if options.component("control-plane").kind == "kind":
        from dra_conformance.control_plane.kind import require

        require(options.kind_image)
    if options.component("control-plane").kind == "kubeconfig":
        _kubeconfig(options.component("control-plane").argument)
    if options.component("kubelet").kind == "kubelet":
        from dra_conformance.control_plane.binaries import Wanted, find
        from dra_conformance.kubelet.real import requirements

        server = find(Wanted(options.kubernetes_version), bin_dir=options.bin_dir).version
        check_version_skew(options.kubelet_version or server, server)
        requirements.require(options.kubelet_version or server, bin_dir=options.bin_dir)
    catalogue = Catalogue.load()
    for rule in [*options.rule, *(waiver.rule for waiver in options.waivers)]:
        catalogue.find(rule)
    for folder in options.features:
        if not Path(folder).is_dir():
            raise UsageError(f"--features {folder}: no such directory")
    if options.sign_key:
        signature.check_key(Path(options.sign_key).expanduser())
    _inventory(options.inventory)
    if options.nvml == "real":
        machine_gpus()
        if not Path(options.driver_root).is_dir():
            raise UsageError(
                f"--driver-root {options.driver_root}: no such directory",
                hint="It has the NVIDIA driver's files in usr/lib64, lib64 or usr/lib/x86_64-linux-gnu.",
            )
    elif options.driver_root != "/":
        raise UsageError(
            "--driver-root: requires the GPUs of this machine (--nvml real)",
            hint="The fake GPUs have a driver root of their own.",
        )
    if options.driver_mount and not any(options.component(name).kind == "exec" for name in MOUNTED):
        raise UsageError("--driver-mount: requires a driver that the run starts (--driver exec:COMMAND)")
    if options.scheduler_name and options.component("scheduler").kind not in ("exec", "cluster"):
        raise UsageError(
            "--scheduler-name: requires a scheduler under test (--scheduler exec:COMMAND or cluster)",
            hint="The suite's own scheduler takes pods of the default schedulerName.",
        )
    for name, spec in options.components().items():
        if spec.kind == "reference":
            check_settings(name, spec.settings)
        elif spec.kind == "exec":
            if spec.preset is not None:
                _built(name, spec.preset)
            _program(name, spec.command[0])
            _placeholders(name, spec.command)
            _mounts(spec)
            _companions(options.companions_of(name))
            if name in NODE_PROGRAMS and spec.takes_fake_gpus and options.nvml == "fake":
                _fake_library(name)
        elif spec.kind == "socket" and not Path(spec.argument).exists():
            raise TargetUnreachable(
                f"--{name} socket:{spec.argument}: no such socket",
                hint="Is the driver running, and is this the path of its registration socket?",
            )
        elif spec.kind == "socket" and not Path(spec.argument).is_socket():
            raise UsageError(
                f"--{name} socket:{spec.argument}: not a socket",
                hint="Use the driver's socket in the kubelet's registration directory.",
            )
        elif spec.kind == "socket" and options.component("control-plane").kind != "kubeconfig":
            raise UsageError(
                f"--{name} socket: requires the API server of the running driver (--control-plane kubeconfig:FILE)",
                hint="Run `dra-conformance control-plane serve` to start one.",
            )


def _inventory(name: str) -> None:
    # The scenarios read the inventories of the fake NVML, which may be the component under test.
    if name in fake_nvml.inventory_names():
        return
    try:
        fake_nvml.Inventory.load(name)
    except InventoryError as error:
        raise UsageError(f"--inventory {name}: {error}") from None


def check_version_skew(kubelet: str, server: str) -> None:
    """Raise UsageError for a kubelet that Kubernetes does not support with an API server (its version skew policy)."""
    ours, theirs = Version.parse(kubelet), Version.parse(server)
    if ours.major != theirs.major or not theirs.minor - _OLDEST_KUBELET <= ours.minor <= theirs.minor:
        raise UsageError(
            f"--kubelet kubelet:{kubelet}: not supported with kube-apiserver {server}",
            hint=f"A kubelet is of the API server's minor version, or at most {_OLDEST_KUBELET} older.",
        )


def _kubeconfig(path: str) -> None:
    """Check that a file exists: without this check, the report of an earlier run would be replaced by an empty one."""
    # Deferred: the client of an existing cluster is needed for this control plane only.
    from dra_conformance.control_plane.kubeconfig import KubeconfigControlPlane

    files = KubeconfigControlPlane(path).files
    if not any(file.exists() for file in files):
        raise UsageError(
            f"cannot use the kubeconfig {', '.join(map(str, files))}: no such file",
            hint="Use --control-plane kubeconfig:FILE, or set KUBECONFIG.",
        )


def inventory_gpus(name: str) -> int:
    """Return the number of GPUs of an inventory that `_inventory` has accepted."""
    return len(fake_nvml.Inventory.load(name).gpus)


def machine_gpus() -> int:
    """Return the number of GPUs of this machine. Raises TargetUnreachable if it has no working NVIDIA driver."""
    nvml = fake_nvml.load_pynvml(None)
    try:
        nvml.nvmlInit()
        count = int(nvml.nvmlDeviceGetCount())
    except nvml.NVMLError as error:
        raise TargetUnreachable(
            f"--nvml real: this machine has no working NVIDIA driver ({error})",
            hint="Remove the option to use the fake NVML.",
        ) from None
    nvml.nvmlShutdown()
    return count


def _placeholders(component: str, command: Sequence[str]) -> None:
    """Check the placeholders of a command. Those of a program on a node differ by node, so its node checks them."""
    if component in NODE_PROGRAMS:
        return
    known = _PLACEHOLDERS.get(component, ("kubeconfig", "port", "flags"))
    for word in command:
        fill(word, dict.fromkeys(known, ""))


def _built(component: str, preset: Preset) -> None:
    """Check that the program of a preset is built. The run never uses another one in its place."""
    if missing := preset.missing():
        raise UsageError(
            f"--{component} {preset.name}: not built: there is no {missing[0]}",
            hint=f"In a checkout of the project, with {preset.tools}: {preset.build}; then run the suite there.",
        )


def _companions(companions: Companions) -> None:
    """Check that manifests and programs of companions are there, and their placeholders."""
    for _ in read_manifests(companions):
        pass
    for program in companions.programs:
        _program(program.name, program.command[0])
        for word in program.command:
            fill(word, dict.fromkeys(PLACEHOLDERS, ""))


def _mounts(spec: ComponentSpec) -> None:
    for source, _ in spec.mounts:
        if not (str(source) in NODE_FOLDERS or source.exists()):
            raise UsageError(f"--driver-mount {source}: no such file or directory")


def _fake_library(component: str) -> None:
    try:
        library_path()
        control_path()
    except LibraryMissingError as error:
        raise UsageError(f"--{component}: the word {DRIVER_ROOT} needs the fake NVML: {error}") from None


def _program(component: str, program: str) -> None:
    if os.path.sep not in program:
        if shutil.which(program) is None:
            raise UsageError(
                f"--{component} exec: no program {program!r} in PATH",
                hint=f"Use ./{program} for a program in this directory.",
            )
    elif not os.path.isfile(program):
        raise UsageError(f"--{component} exec: no such program: {program}")
    elif not os.access(program, os.X_OK):
        raise TargetUnreachable(f"--{component} exec: {program} is not executable", hint=f"Run `chmod +x {program}`.")
