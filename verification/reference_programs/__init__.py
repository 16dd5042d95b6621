"""The reference components, started as programs are: judged as other people's programs, in real time.

In the default run the reference components are parts of the harness's process, and its clock is advanced for them. A
check that they pass there can still fail a correct program, which waits and repeats in real time. So each component is
a program under test here, and must pass.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dra_conformance.core.errors import ExitCode

_START = Path(__file__).with_name("start.py")
_CLUSTER = "--kubeconfig {kubeconfig}"
_NODE = "--node-name {node} --cdi-root {cdi} --kubelet-registrar-directory-path {registrar} " + (
    "--kubelet-plugins-directory-path {plugins} --container-driver-root {driver_root}"
)
_REPORTS = Path("dra-report", "programs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """What is started, and what it is judged by.

    Args:
        component: the option of `run`, which is the name of the program too, unless `program` differs.
        words: the program's arguments.
        profiles: those that judge it.
        takes: measured seconds on two cores, for the order of the jobs.
        options: further options of `run`.
        program: the component of `python -m reference_impl`.
    """

    component: str
    words: str
    profiles: tuple[str, ...]
    takes: float
    options: tuple[str, ...] = ()
    program: str = ""

    def command(self, name: str) -> list[str]:
        """Return the command line of the run."""
        words = f"exec:{sys.executable} {_START} {self.program or self.component} {self.words}"
        profiles = [word for profile in self.profiles for word in ("--profile", profile)]
        return [
            *(sys.executable, "-m", "dra_conformance", "run", "-n", "2", "--out", str(_REPORTS / name)),
            *(f"--{self.component}", words, "--pass-env", "PYTHONPATH", *profiles, *self.options),
        ]


SEATS = {
    "binder": Seat(component="binder", words=f"{_CLUSTER} {{flags}}", profiles=("bind-requests",), takes=600),
    "claim-controller": Seat(component="claim-controller", words=_CLUSTER, profiles=("claim-lifecycle",), takes=100),
    "compute-domain-controller": Seat(
        component="compute-domain-controller",
        program="compute-domain",
        words=f"{_CLUSTER} --namespace {{namespace}} {{flags}}",
        profiles=("imex",),
        takes=300,
    ),
    "device-plugin": Seat(
        component="device-plugin",
        words="--device-plugin-path {device_plugins} --cdi-root {cdi} --container-driver-root {driver_root} {flags}",
        profiles=("device-plugins",),
        takes=60,
    ),
    "driver": Seat(
        component="driver",
        program="kubelet-plugin",
        words=f"{_CLUSTER} --driver-name {{driver}} {_NODE} {{flags}}",
        profiles=("driver-core", "driver-gpu", "driver-mig", "device-health"),
        options=("--driver-name", "gpu.nvidia.com"),
        takes=400,
    ),
    "scheduler": Seat(component="scheduler", words=_CLUSTER, profiles=("scheduler-core",), takes=400),
    "taint-eviction": Seat(component="taint-eviction", words=_CLUSTER, profiles=("device-taints",), takes=200),
    "webhook": Seat(
        component="webhook",
        words="--host {host} --port {port} --tls-cert-file {tls_cert} --tls-private-key-file {tls_key} "
        "--driver-feature-gates {feature_gates}",
        profiles=("webhook",),
        takes=30,
    ),
}
"""By name. The plugin and the daemon of a ComputeDomain are programs in every run of the profile imex."""


def run(words: Sequence[str]) -> int:
    """Judge the named programs, or all; return the worst exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m verification programs",
        description="Judge the reference components as other people's programs are judged.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(SEATS)} (default: all)")
    names = parser.parse_args(words).names or list(SEATS)
    if unknown := set(names) - set(SEATS):
        parser.error(f"unknown name {', '.join(sorted(unknown))} (choose from {', '.join(SEATS)})")
    worst = int(ExitCode.OK)
    for name in names:
        code = subprocess.run(SEATS[name].command(name), check=False).returncode
        print(f"programs: {name}: exit code {code}; report in {_REPORTS / name}", flush=True)
        worst = max(worst, code)
    return worst
