"""The components of the survey and the source files that belong to them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The root of the checkout. The survey needs a checkout; the wheel has no verification package."""


@dataclass(frozen=True, slots=True)
class Component:
    """The source of one component: files and folders below the root, without those of `without`.

    `starts` are the scenarios that judge whether the component starts. They run first: if it does not, all others end
    without a judgement. `judges` are those in which the component is the target, for one that serves other components
    too: in their scenarios a failure of it is an error of the harness. Both are beginnings of ids.
    """

    name: str
    paths: tuple[str, ...]
    without: tuple[str, ...] = ()
    starts: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()


COMPONENTS = (
    # bug_compatible reproduces known deviations of upstream for the differential test; no run of the suite uses it by
    # default, and the scenarios describe the behaviour without them.
    # The command.py of a component parses the arguments of `python -m reference_impl NAME`; the suite starts some
    # components only in its own process, without arguments.
    Component(
        "scheduler",
        ("reference_impl/scheduler",),
        ("reference_impl/scheduler/bug_compatible", "reference_impl/scheduler/command.py"),
    ),
    Component(
        "binder",
        ("reference_impl/binder",),
        ("reference_impl/binder/command.py",),
        starts=("bind_requests/binder#",),
        judges=("bind_requests/", "faults/binding"),
    ),
    Component(
        "claim-controller",
        ("reference_impl/claim_controller",),
        ("reference_impl/claim_controller/command.py",),
        starts=("claims/lifecycle#",),
        judges=("faults/claims",),
    ),
    Component(
        "taint-eviction",
        ("reference_impl/taint_eviction",),
        ("reference_impl/taint_eviction/command.py",),
        starts=("taints/eviction#",),
        judges=("taints/", "faults/eviction"),
    ),
    Component(
        "compute-domain",
        ("reference_impl/compute_domain",),
        starts=(
            "imex/host_managed#the-controller-does-not-start",
            "imex/starts#",
            "imex/domains#",
            "imex/daemons#",
            "imex/channels#every-node-publishes",
        ),
        judges=("imex/", "faults/compute_domains"),
    ),
    Component(
        "device-plugin",
        ("reference_impl/device_plugin",),
        starts=(
            "device_plugins/registration#the-program-of-a-plugin",
            "device_plugins/registration#a-plugin-that-starts-beside-a-kubelet",
            "device_plugins/nvidia_flags#the-program-of-a-plugin-with-flags",
            "device_plugins/nvidia_flags#a-configuration-file-without-a-version",
            "device_plugins/restarts#the-program-of-a-plugin-ends",
        ),
        judges=("device_plugins/",),
    ),
    Component(
        "webhook",
        ("reference_impl/webhook",),
        ("reference_impl/webhook/command.py",),
        starts=("webhook/protocol#",),
        judges=("webhook/",),
    ),
    Component(
        "driver",
        ("reference_impl/kubelet_plugin", "reference_impl/inventory_plugin"),
        ("reference_impl/inventory_plugin/command.py",),
        starts=(
            "driver/kep_5970#driver-registration",
            "driver/kep_5970#resourceslice-publishing",
            "driver/gpu_flags#the-driver-starts-with-each-of-its-feature-gates",
            # A driver that cannot update its slices waits ten seconds at each start.
            "health/xid#a-critical-xid-taints-its-gpu-only",
        ),
    ),
    # What several reference components share.
    Component(
        "shared",
        (
            "reference_impl/binding_conditions.py",
            "reference_impl/errors.py",
            "reference_impl/loop.py",
            "reference_impl/node_selector.py",
            "reference_impl/recorder.py",
            "reference_impl/runtime.py",
            "reference_impl/tolerations.py",
        ),
        starts=(
            # The driver is a program of `runtime`; the others share loop and recorder.
            "driver/kep_5970#driver-registration",
            "driver/kep_5970#resourceslice-publishing",
            "claims/lifecycle#",
            "taints/eviction#",
            "bind_requests/binder#",
        ),
    ),
    # kubelet/real starts the real kubelet and containerd; nothing of it is emulated.
    Component(
        "kubelet",
        ("dra_conformance/kubelet",),
        ("dra_conformance/kubelet/real",),
        starts=(
            "driver/kubelet_status#a-kubelet-registers-its-node",
            "driver/kubelet_registration#the-kubelet-calls-getinfo",
            "driver/kubelet_registration#drivers-are-registered-again",
            "driver/kubelet_pods#all-claims-of-a-driver",
            "driver/kubelet_shared_claims#a-claim-is-prepared-again",
        ),
        judges=("driver/kubelet_", "device_plugins/kubelet_", "health/pod_status"),
    ),
    Component("api-server", ("apiserver_emulator",)),
    # The command line, what only it uses, and the compiler call are tools around the fake library, not part of its
    # behaviour: no NVML call and no file of a node depends on them.
    Component(
        "fake-nvml",
        ("fake_nvml",),
        (
            "fake_nvml/__main__.py",
            "fake_nvml/build.py",
            "fake_nvml/call_log.py",
            "fake_nvml/cli.py",
            "fake_nvml/describe.py",
            "fake_nvml/fault_list.py",
            "fake_nvml/removal.py",
            "fake_nvml/smi_lists.py",
            "fake_nvml/smi_table.py",
            "fake_nvml/src",
            "fake_nvml/watch.py",
        ),
    ),
)

_READ_BY_SCENARIOS = ("dra_api", "dra_conformance", "reference_impl", "apiserver_emulator", "fake_nvml", "fixtures")


def files_of(component: Component, root: Path = ROOT) -> list[Path]:
    """Return the Python files of a component, sorted."""
    left_out = [root / path for path in component.without]
    found: set[Path] = set()
    for path in component.paths:
        folder = root / path
        found.update([folder] if folder.suffix == ".py" else folder.rglob("*.py"))
    return sorted(one for one in found if not any(one.is_relative_to(other) for other in left_out))


def module_of(path: Path, root: Path = ROOT) -> str:
    """Return the dotted name of the module in a file."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def find(names: Sequence[str]) -> list[Component]:
    """Return the components with these names, all if there are none. Raises ValueError for an unknown name."""
    known = {one.name: one for one in COMPONENTS}
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"unknown component {', '.join(unknown)} (choose from {', '.join(known)})")
    return [known[name] for name in names] or list(COMPONENTS)


def digest(root: Path = ROOT) -> str:
    """Return a digest of all source that can change the result of a mutant: programs, scenarios and fixtures."""
    total = hashlib.sha256()
    for folder in (*_READ_BY_SCENARIOS, "features"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".py", ".feature", ".yaml", ".json", ".c", ".h") and "__pycache__" not in path.parts:
                total.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()[:16]
