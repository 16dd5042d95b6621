"""Commands of programs that a checkout of the project can build (`--driver nvidia`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dra_conformance.core import assets
from dra_conformance.core.companions import NONE, Companions
from dra_conformance.core.errors import unknown
from dra_conformance.core.option_table import NVIDIA_RELEASES

NVIDIA = "nvidia"

_CLIENT = (
    *("--kubeconfig", "{kubeconfig}"),
    *("--kube-api-qps", "1000"),
    *("--kube-api-burst", "2000"),
)

_ON_NODE = (
    *_CLIENT,
    *("--node-name", "{node}"),
    *("--kubelet-plugins-directory-path", "{plugins}"),
    *("--kubelet-registrar-directory-path", "{registrar}"),
    *("--cdi-root", "{cdi}"),
    *("--nvidia-driver-root", "{driver_root}"),
    *("--container-driver-root", "{driver_root}"),
    # The program copies its own hook into its folder if this is empty.
    *("--nvidia-cdi-hook-path", "/usr/bin/nvidia-cdi-hook"),
)

_IMAGE = "nvidia-dra-driver-gpu"

_WORDS: Mapping[str, tuple[str, ...]] = {
    "driver": ("gpu-kubelet-plugin", *_ON_NODE, "--image-name", _IMAGE),
    "compute-domain-plugin": ("compute-domain-kubelet-plugin", *_ON_NODE, "--namespace", "{namespace}", "{flags}"),
    "compute-domain-controller": (
        "compute-domain-controller",
        *_CLIENT,
        *("--namespace", "{namespace}"),
        # The begin of its identity if it takes part in an election.
        *("--pod-name", "compute-domain-controller"),
        *("--image-name", _IMAGE),
        *("--log-verbosity-cd-daemon", "0"),
        "{flags}",
    ),
    # Its connection is that of its pod's service account: it has no option for another one.
    "compute-domain-daemon": ("compute-domain-daemon",),
    "webhook": (
        "webhook",
        *("--port", "{port}"),
        *("--tls-cert-file", "{tls_cert}"),
        *("--tls-private-key-file", "{tls_key}"),
        *("--feature-gates", "{feature_gates}"),
    ),
}
"""Program and arguments of each component, for all releases."""

_FEATURES: Mapping[str, tuple[str, ...]] = {
    "driver": ("device-metadata", "helper-library", "device-taints", "nvidia-checkpoint"),
    "compute-domain-plugin": ("nvidia-checkpoint",),
}


VOLUME_LIMIT = 120.0
"""Seconds that a binder waits for volumes by default (KAI-492)."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A program's command, what it needs at paths of the machine, and how it is built. `label` names it in reports.

    `features` are its optional features, `release` selects the rules that apply (of NVIDIA's driver; empty for others).
    `companions` is what it needs beside itself. `scheduler_name` and `pod_labels` are those of pods for a scheduler.
    `revision` is the one of the BindRequest protocol that it has, and `tools` what its build needs. `volume_limit` is a
    binder's time limit for volumes in seconds.
    """

    name: str
    label: str
    command: tuple[str, ...]
    mounts: tuple[tuple[Path, Path], ...]
    build: str
    features: tuple[str, ...] = ()
    release: str = NVIDIA_RELEASES[0]
    companions: Companions = NONE
    scheduler_name: str = ""
    pod_labels: tuple[tuple[str, str], ...] = ()
    revision: str = ""
    volume_limit: float = VOLUME_LIMIT
    tools: str = "Go and a C compiler"

    def missing(self) -> list[Path]:
        """Return the files that are not built. Placeholders of a node's folders are no files."""
        companions = self.companions
        beside = (*companions.manifests, *(program.command[0] for program in companions.programs))
        needed = (Path(self.command[0]), *(source for source, _ in self.mounts), *map(Path, beside))
        return [path for path in needed if not str(path).startswith("{") and not path.exists()]


def nvidia(component: str, release: str) -> Preset:
    """Return NVIDIA's program for a component: its driver runs on the scenario's fake GPUs.

    Raises UsageError for another release.
    """
    release = release or NVIDIA_RELEASES[0]
    if release not in NVIDIA_RELEASES:
        raise unknown("release of NVIDIA's driver", release, NVIDIA_RELEASES)
    folder = assets.third_party_programs() / f"nvidia-{release}"
    name = label = f"{NVIDIA}:{release}"
    old = release == "v0.4.1"
    program, *words = _WORDS[component]
    mounts: tuple[tuple[Path, Path], ...] = ()
    if component in ("driver", "compute-domain-plugin", "compute-domain-controller"):
        mounts = ((folder / "templates", Path("/templates")),)
    if component == "driver":
        # Metadata of devices: the helper library writes CDI files there, whatever --cdi-root says.
        mounts += ((Path("{cdi}"), Path("/var/run/cdi")),)
        if old:  # it has no flag for the root of the host
            mounts += ((Path("/"), Path("/host-root")),)
            scripts = ("bind_to_driver.sh", "unbind_from_driver.sh")
            mounts += tuple((folder / "scripts" / name, Path("/usr/bin") / name) for name in scripts)
        words += [*(() if old else ("--host-root", "/")), "{flags}"]
    if not old and component in ("driver", "compute-domain-plugin"):
        label += " (built without github.com/NVIDIA/go-nvfm, which cannot be downloaded)"
    return Preset(
        name=name,
        label=label,
        command=(str(folder / program), *words),
        mounts=mounts,
        build=f"python -m verification build nvidia-driver-{release}",
        features=_FEATURES.get(component, ()),
        release=release,
    )
