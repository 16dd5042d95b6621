"""Decides how the programs under test of a run are isolated, and describes it for the report."""

from __future__ import annotations

import os
import socket
import struct
import sys
from collections.abc import Iterator
from dataclasses import replace

from dra_conformance.control_plane.binaries import Wanted, find
from dra_conformance.core import isolation
from dra_conformance.core.component_spec import MOUNTED, ComponentSpec
from dra_conformance.core.errors import TargetUnreachable
from dra_conformance.core.isolation import NOT_ISOLATED, Isolation
from dra_conformance.core.options import RunOptions

_PEER_SECONDS = 5.0
_ADMINISTRATOR = "the kubeconfig's user has every permission; use one with the roles of `dra-conformance rbac`"


def choose(options: RunOptions, *, run_id: str) -> Isolation:
    """Return the isolation of the programs that the run starts. Raises UsageError if `--isolation` is impossible."""
    specs = options.components().values()
    if not any(_is_started(spec) for spec in specs):
        return isolation.NONE
    chosen = isolation.choose(options.isolation, run_id=run_id, programs=_programs(options))
    return replace(chosen, pass_env=options.pass_env)


def no_driver_view(options: RunOptions) -> str:
    """Return why a program on a node cannot see the files of a fake node at their usual paths; empty if none needs it.

    A controller needs it for files that its program has built in, a daemon of ComputeDomains for its hosts file.
    """
    specs = [options.component(name) for name in MOUNTED]
    if options.component("compute-domain-daemon").kind == "exec":
        return isolation.no_mounts(choose(options, run_id="0"))
    if not any(
        spec.kind == "exec" and (spec.mounts or (spec.takes_fake_gpus and options.nvml == "fake")) for spec in specs
    ):
        return ""
    return isolation.no_mounts(choose(options, run_id="0"))


def labels(options: RunOptions, chosen: Isolation, *, as_administrator: bool = False) -> dict[str, str]:
    """Return the isolation of each component that is a program under test.

    `as_administrator`: the programs act as a user with every permission of the cluster, so that what they write cannot
    be distinguished from what the harness and other components write.
    """
    found: dict[str, str] = {}
    for name, spec in options.components().items():
        if name == "control-plane":
            continue  # the environment of the run
        if spec.kind == "kubelet":
            found[name] = f"{NOT_ISOLATED}: a kubelet with containers needs root"
        elif spec.kind == "socket":
            found[name] = _of_socket(spec.argument)
        elif spec.kind == "cluster":
            found[name] = "cluster"
        elif _is_started(spec):
            found[name] = f"{NOT_ISOLATED}: {_ADMINISTRATOR}" if as_administrator else chosen.label
    return found


def _is_started(spec: ComponentSpec) -> bool:
    """Whether the run starts a program under test that can be isolated."""
    return spec.component != "control-plane" and (
        spec.kind == "exec" or (spec.is_kubernetes and spec.kind != "kubelet")
    )


def _programs(options: RunOptions) -> Iterator[str]:
    if options.component("compute-domain-daemon").kind == "exec":
        yield sys.executable  # the daemon starts the simulated nvidia-imex, which is in Python
    for spec in options.components().values():
        if spec.kind == "exec":
            yield spec.command[0]
        elif _is_started(spec):
            try:
                yield str(find(Wanted(options.kubernetes_version), bin_dir=options.bin_dir)[spec.kind])
            except (TargetUnreachable, KeyError):
                continue  # the control plane reports that it is missing


def _of_socket(path: str) -> str:
    """Return the isolation of a program that the user has started, from the peer of its socket."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_PEER_SECONDS)
            connection.connect(path)
            packed = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    except OSError:
        return f"{NOT_ISOLATED}: its socket does not answer"
    pid, uid, _ = struct.unpack("3i", packed)
    if pid == 0:
        return "namespace"  # the kernel shows no process id across PID namespaces
    if uid in (0, os.geteuid()):
        return f"{NOT_ISOLATED}: it runs as {'root' if uid == 0 else 'the user of the harness'}"
    return "user"
