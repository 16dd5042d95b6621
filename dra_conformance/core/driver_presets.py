"""Commands of drivers that a checkout of the project can build (`--driver nvidia`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dra_conformance.core import assets
from dra_conformance.core.errors import unknown
from dra_conformance.core.option_table import NVIDIA_RELEASES

NVIDIA = "nvidia"

_WORDS = (
    *("--kubeconfig", "{kubeconfig}"),
    *("--node-name", "{node}"),
    *("--kubelet-plugins-directory-path", "{plugins}"),
    *("--kubelet-registrar-directory-path", "{registrar}"),
    *("--cdi-root", "{cdi}"),
    *("--nvidia-driver-root", "{driver_root}"),
    *("--container-driver-root", "{driver_root}"),
    # The program copies its own hook into its folder if this is empty.
    *("--nvidia-cdi-hook-path", "/usr/bin/nvidia-cdi-hook"),
    *("--image-name", "nvidia-dra-driver-gpu"),
    *("--kube-api-qps", "1000"),
    *("--kube-api-burst", "2000"),
)


@dataclass(frozen=True, slots=True)
class Preset:
    """A driver's command, what it needs at paths of the machine, and how it is built. `label` names it in reports.

    `features` are its optional features, `release` selects the rules that apply.
    """

    name: str
    label: str
    command: tuple[str, ...]
    mounts: tuple[tuple[Path, Path], ...]
    build: str
    features: tuple[str, ...] = ()
    release: str = NVIDIA_RELEASES[0]

    def missing(self) -> list[Path]:
        """Return the files that are not built."""
        return [path for path in (Path(self.command[0]), *(source for source, _ in self.mounts)) if not path.exists()]


def nvidia(release: str) -> Preset:
    """Return NVIDIA's gpu-kubelet-plugin on the scenario's fake GPUs. Raises UsageError for another release."""
    release = release or NVIDIA_RELEASES[0]
    if release not in NVIDIA_RELEASES:
        raise unknown("release of NVIDIA's driver", release, NVIDIA_RELEASES)
    folder = assets.third_party_programs() / f"nvidia-{release}"
    name = label = f"{NVIDIA}:{release}"
    host_root: tuple[str, ...] = ()
    mounts: tuple[tuple[Path, Path], ...] = ((folder / "templates", Path("/templates")),)
    if release == "v0.4.1":  # it has no flag for the root of the host, and does not use go-nvfm
        mounts += ((Path("/"), Path("/host-root")),)
        scripts = ("bind_to_driver.sh", "unbind_from_driver.sh")
        mounts += tuple((folder / "scripts" / name, Path("/usr/bin") / name) for name in scripts)
    else:
        host_root = ("--host-root", "/")
        label += " (built without github.com/NVIDIA/go-nvfm, which cannot be downloaded)"
    return Preset(
        name=name,
        label=label,
        command=(str(folder / "gpu-kubelet-plugin"), *_WORDS, *host_root, "{flags}"),
        mounts=mounts,
        build=f"python -m verification build nvidia-driver-{release}",
        features=("helper-library", "device-taints", "nvidia-checkpoint"),
        release=release,
    )
