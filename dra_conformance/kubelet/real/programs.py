"""Find the programs of a node with real containers. Nothing is written.

They are searched in the folders of the control plane's programs, in their order (`--bin-dir` first,
`verification/bin` of a checkout last), then on PATH. The kubelet must have the control plane's release; containerd
must be 2.x, which reads CDI specs by default.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dra_conformance.control_plane.binaries.programs import folders, version_of
from dra_conformance.core.errors import TargetUnreachable
from dra_conformance.core.process import printed

KUBELET, CONTAINERD, SHIM, CTR, RUNC, NODE = (
    "kubelet",
    "containerd",
    "containerd-shim-runc-v2",
    "ctr",
    "runc",
    "dra-node",
)
NEEDED = (KUBELET, CONTAINERD, SHIM, CTR, RUNC, NODE)
_CONTAINERD_MAJOR = 2
_LOOK_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class NodePrograms:
    """The programs of a node, each with its path.

    `containerd` is its version, such as v2.3.7; `seccomp` is whether runc was built with it.
    """

    paths: Mapping[str, Path]
    kubelet: str
    containerd: str
    seccomp: bool

    def __getitem__(self, name: str) -> Path:
        return self.paths[name]


def find(release: str, *, bin_dir: str = "", environ: Mapping[str, str] | None = None) -> NodePrograms:
    """Return the programs for a node of this Kubernetes release (such as v1.36.2; empty: any release).

    Raises TargetUnreachable with everything that is missing in one message.
    """
    places = [folder for _, folder in folders(bin_dir, environ)]
    paths: dict[str, Path] = {}
    wrong: list[str] = []
    for name in NEEDED:
        found = _candidates(name, places, environ)
        if name == KUBELET:
            versions = {path: version_of(path) for path in found}
            wrong += [f"{path} is {version or 'of no known release'}" for path, version in versions.items()]
            found = [path for path, version in versions.items() if version and release in ("", version)]
        elif name == CONTAINERD:
            versions = {path: _containerd_version(path) for path in found}
            wrong += [f"{path} is {version or 'of no known release'}" for path, version in versions.items()]
            found = [path for path, version in versions.items() if version.startswith(f"v{_CONTAINERD_MAJOR}.")]
        if found:
            paths[name] = found[0]
    missing = [name for name in NEEDED if name not in paths]
    if missing:
        wanted = {KUBELET: f"{KUBELET} {release}".strip(), CONTAINERD: f"{CONTAINERD} {_CONTAINERD_MAJOR}.x"}
        names = ", ".join(wanted.get(name, name) for name in missing)
        unfit = [text for text in wrong if any(f"/{name} " in text for name in missing)]
        seen = f" ({'; '.join(unfit)})" if unfit else ""
        looked = ", ".join(str(place) for place in dict.fromkeys(places))
        raise TargetUnreachable(
            f"--kubelet kubelet: not found: {names}{seen}; looked in {looked} and on PATH",
            hint="`dra-conformance control-plane install 1.37.2 --build --containers` builds them (needs Go).",
        )
    return NodePrograms(
        paths,
        kubelet=release or version_of(paths[KUBELET]),
        containerd=_containerd_version(paths[CONTAINERD]),
        seccomp="libseccomp" in _said(paths[RUNC]),
    )


def _candidates(name: str, places: list[Path], environ: Mapping[str, str] | None) -> list[Path]:
    env = os.environ if environ is None else environ
    found = [place / name for place in dict.fromkeys(places)]
    if on_path := shutil.which(name, path=env.get("PATH", "")):
        found.append(Path(on_path).absolute())
    return [path for path in found if path.is_file() and os.access(path, os.X_OK)]


def _containerd_version(program: Path) -> str:
    found = re.search(r"\bv?(\d+\.\d+\.\d+\S*)", _said(program))
    return f"v{found[1]}" if found else ""


def _said(program: Path) -> str:
    return printed(program, "--version", timeout=_LOOK_TIMEOUT)[0]
