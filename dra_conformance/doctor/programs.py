"""Checks of the programs of control planes: Kubernetes' binaries on this machine, and Docker."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from dra_api.feature_gates import FeatureGateError, effective_gates
from dra_conformance.control_plane.binaries.programs import (
    API_SERVER,
    NEEDED,
    ProgramsMissing,
    Wanted,
    find,
    folders,
    installed,
)
from dra_conformance.control_plane.k3s import docker_info
from dra_conformance.control_plane.kind import advice, requirements
from dra_conformance.core.errors import TargetUnreachable
from dra_conformance.core.options import RunOptions
from dra_conformance.doctor.finding import Finding, missing, ok, wrong

_AREA = "Control plane"


def look(options: RunOptions) -> Iterator[Finding]:
    """Yield findings about the prerequisites of this run's control plane, and of the others."""
    kind = options.component("control-plane").kind
    yield from _embedded(options, needed=kind == "embedded")
    yield from _binaries(options, needed=kind == "binaries")
    yield from _kind(options, needed=kind == "kind")
    yield _docker(needed=kind == "k3s")


def _embedded(options: RunOptions, *, needed: bool) -> Iterator[Finding]:
    if not needed:
        return
    try:
        gates = effective_gates(options.kubernetes_version, options.gates())
    except FeatureGateError as error:
        yield wrong(_AREA, "embedded", str(error), "--feature-gates and --kubernetes-version must fit together.")
        return
    off = sorted(name for name, on in gates.items() if not on)
    text = f"emulates Kubernetes {options.kubernetes_version} (a rehearsal, not evidence)"
    yield ok(_AREA, "embedded", f"{text}; gates off: {', '.join(off) or 'none'}")


def _binaries(options: RunOptions, *, needed: bool) -> Iterator[Finding]:
    wanted = Wanted(options.kubernetes_version)
    way_out = (
        f"`dra-conformance control-plane install {options.kubernetes_version}`, or `make third-party` in a checkout."
    )
    try:
        programs = find(wanted, bin_dir=options.bin_dir)
    except ProgramsMissing as error:
        there = [f"{release} in {folder}" for _, folder, release, _ in installed(options.bin_dir)]
        looked = ", ".join(source for source, _ in folders(options.bin_dir))
        cause = f"{error.message.splitlines()[0]} (looked in: {looked})"
        if there:
            yield wrong(_AREA, API_SERVER, cause, way_out, found="; ".join(there), needed=needed)
        else:
            yield missing(_AREA, API_SERVER, cause, way_out, needed=needed)
        return
    for name in NEEDED:
        yield ok(_AREA, name, f"{programs.version if name != 'etcd' else 'there'}: {programs[name]}", needed=needed)
    if needed:
        yield from _gates(options, programs.default_gates())
        if shutil.which("setpriv") is None:
            cause = "without it the programs outlive a harness that is killed with SIGKILL"
            yield missing(_AREA, "setpriv", cause, "Install util-linux.", needed=False)


def _gates(options: RunOptions, known: dict[str, bool]) -> Iterator[Finding]:
    unknown = sorted(name for name in options.gates() if name not in known)
    if unknown:
        cause = f"this kube-apiserver does not know {', '.join(unknown)}"
        yield wrong(_AREA, "feature gates", cause, "`kube-apiserver --help` lists its gates.")
        return
    gates = {**known, **options.gates()}
    off = sorted(name for name, on in gates.items() if name.startswith("DRA") and not on)
    yield ok(_AREA, "feature gates", f"DRA gates off: {', '.join(off) or 'none'}")


def _kind(options: RunOptions, *, needed: bool) -> Iterator[Finding]:
    for need in requirements(options.kind_image):
        name = f"{need.name} (kind)" if need.name != "kind" else "kind"
        if need.lacks:
            yield missing(_AREA, name, need.lacks, need.way_out, needed=needed)
        else:
            yield ok(_AREA, name, need.found, needed=needed)
    if not needed:
        return
    for hint in advice(options.kind_image):
        name = f"{hint.name} (kind)"
        if hint.lacks:
            yield wrong(_AREA, name, hint.lacks, hint.way_out, needed=False)
        else:
            yield ok(_AREA, name, hint.found)


def _docker(*, needed: bool) -> Finding:
    """Return a finding about Docker's API, which `--control-plane k3s` uses without the docker program."""
    name = "Docker (k3s)"
    try:
        text = docker_info()
    except TargetUnreachable as error:
        cause = error.message.removeprefix("--control-plane k3s: ")
        state = missing if "is not installed" in cause else wrong
        return state(_AREA, name, cause, error.hint, needed=needed)
    release, cgroup, driver = (text.get(key) or "?" for key in ("ServerVersion", "CgroupVersion", "Driver"))
    return ok(_AREA, name, f"daemon {release}, cgroup v{cgroup}, storage {driver}", needed=needed)
