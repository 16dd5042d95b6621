"""Finds the programs of a real control plane and their release.

Searched in this order: the folder of `--bin-dir`, KUBEBUILDER_ASSETS, the cache of setup-envtest, the project's own
cache, `verification/bin` of a checkout with its folders of older releases. kube-apiserver decides the release;
kube-controller-manager and kube-scheduler must have the same one, but may be in a later folder (envtest's archives
contain neither). Read-only.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dra_conformance.core import assets
from dra_conformance.core.errors import TargetUnreachable
from dra_conformance.core.process import printed

ETCD, API_SERVER = "etcd", "kube-apiserver"
CONTROLLERS, SCHEDULER = "kube-controller-manager", "kube-scheduler"
NEEDED = (ETCD, API_SERVER, CONTROLLERS, SCHEDULER)

BIN_DIR = "--bin-dir"

_VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(?:[-+][0-9A-Za-z.+-]*)?")
# Newer releases write the component before the name of a gate.
_GATE = re.compile(r"(?:kube:)?(\w+)=true\|false \((?:\w+ - )?default=(true|false)\)")
_LOOK_TIMEOUT = 30.0


class ProgramsMissing(TargetUnreachable):
    """A program of the control plane is missing in the requested release."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A requested release: `1.36` matches any patch release, `v1.36.2` only that one."""

    text: str

    def matches(self, version: str) -> bool:
        """Whether a version such as v1.36.2 matches."""
        wanted, found = self.text.removeprefix("v").split("."), version.removeprefix("v").split(".")
        return not self.text or found[: len(wanted)] == wanted


@dataclass(frozen=True, slots=True)
class Programs:
    """The programs of one control plane, all of the release `version` (etcd has its own)."""

    version: str
    paths: Mapping[str, Path]

    def __getitem__(self, name: str) -> Path:
        return self.paths[name]

    def default_gates(self) -> dict[str, bool]:
        """Return the feature gates of this API server with their defaults, from its help text.

        Of a gate with several defaults the first one holds: those after it need --min-compatibility-version.
        """
        found = _GATE.findall(_output(self.paths[API_SERVER], "--help"))
        return {name: value == "true" for name, value in reversed(found)}


def cache_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Return the project's cache of control planes, one folder per release (XDG_CACHE_HOME, else ~/.cache)."""
    env = os.environ if environ is None else environ
    base = env.get("XDG_CACHE_HOME") or str(Path(env.get("HOME") or Path.home()) / ".cache")
    return Path(base) / "dra-conformance" / "control-plane"


def envtest_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Return setup-envtest's cache, one folder per release (its `tools/setup-envtest/store`)."""
    env = os.environ if environ is None else environ
    home = Path(env.get("HOME") or Path.home())
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "io.kubebuilder.envtest" / "k8s"
    return Path(env.get("XDG_DATA_HOME") or home / ".local" / "share") / "kubebuilder-envtest" / "k8s"


def folders(bin_dir: str = "", environ: Mapping[str, str] | None = None) -> list[tuple[str, Path]]:
    """Return all folders to search, in order, with the name of their source. Folders need not exist.

    They are absolute, because a program in namespaces of its own starts in another working directory.
    """
    env = os.environ if environ is None else environ
    found: list[tuple[str, Path]] = []
    if bin_dir:
        found.append((BIN_DIR, Path(bin_dir)))
    if assets_dir := env.get("KUBEBUILDER_ASSETS"):
        found.append(("KUBEBUILDER_ASSETS", Path(assets_dir)))
    found += [("setup-envtest", folder) for folder in _releases(envtest_folder(env))]
    found += [("cache", folder) for folder in _releases(cache_folder(env))]
    built = assets.features().parent / "verification" / "bin"
    found += [("verification/bin", folder) for folder in (built, *_releases(built, prefix="kubernetes-"))]
    return [(source, folder.absolute()) for source, folder in found]


def find(wanted: Wanted, *, bin_dir: str = "", environ: Mapping[str, str] | None = None) -> Programs:
    """Return the first control plane of a release.

    Raises ProgramsMissing with the searched folders and contents; also if the folder of `--bin-dir` has another
    release, because another folder's programs are not what the user named.
    """
    places = folders(bin_dir, environ)
    if bin_dir and not Path(bin_dir).is_dir():
        raise ProgramsMissing(f"--bin-dir {bin_dir}: there is no such folder")
    rejected: list[str] = []
    for source, server in _each(API_SERVER, places):
        version = version_of(server)
        if not wanted.matches(version):
            rejected.append(f"{source} has {API_SERVER} {version or 'that reports no version'}")
            if source == BIN_DIR and version:
                raise ProgramsMissing(
                    f"no control plane of Kubernetes {wanted.text.removeprefix('v')}: {rejected[-1]}",
                    hint=f"`--kubernetes-version {version.removeprefix('v').rpartition('.')[0]}` uses it.",
                )
            continue
        paths = {API_SERVER: server}
        # etcd has a release of its own, and any of them works.
        if etcd := next((path for _, path in _each(ETCD, places)), None):
            paths[ETCD] = etcd
        for name in (CONTROLLERS, SCHEDULER):
            if found := next((path for _, path in _each(name, places) if version_of(path) == version), None):
                paths[name] = found
        missing = [name for name in NEEDED if name not in paths]
        if not missing:
            return Programs(version, paths)
        rejected.append(f"{source} has {API_SERVER} {version}, without {' and '.join(missing)} of that release")
    looked = ", ".join(dict.fromkeys(f"{source} ({path})" for source, path in places))
    seen = f"; {'; '.join(dict.fromkeys(rejected))}" if rejected else ""
    release = f"Kubernetes {wanted.text.removeprefix('v')}" if wanted.text else "Kubernetes"
    raise ProgramsMissing(
        f"no control plane of {release}: looked in {looked}{seen}",
        hint=f"`dra-conformance control-plane install {wanted.text.removeprefix('v')}` fetches or builds one.".replace(
            " `", "`"
        ),
    )


def version_of(program: Path) -> str:
    """Return the version that a program prints, such as v1.36.2; empty if it prints none."""
    found = _VERSION.search(_output(program, "--version"))
    return f"v{found[0].removeprefix('v')}" if found else ""


def installed(
    bin_dir: str = "", environ: Mapping[str, str] | None = None
) -> list[tuple[str, Path, str, Sequence[str]]]:
    """Return every folder with a kube-apiserver: its source, path, release and programs."""
    return [
        (source, server.parent, version_of(server), [name for name in NEEDED if (server.parent / name).exists()])
        for source, server in _each(API_SERVER, folders(bin_dir, environ))
    ]


def _each(name: str, places: Sequence[tuple[str, Path]]) -> Iterator[tuple[str, Path]]:
    for source, folder in places:
        path = folder / name
        if path.is_file() and os.access(path, os.X_OK):
            yield source, path


def _releases(folder: Path, *, prefix: str = "") -> list[Path]:
    """Return sub-folders named by a release (`v1.36.2`, `1.36.0-linux-amd64`) after `prefix`, the newest first."""
    if not folder.is_dir():
        return []
    found = [
        (tuple(int(part) for part in match.groups()), path)
        for path in folder.iterdir()
        if path.name.startswith(prefix) and (match := _VERSION.match(path.name.removeprefix(prefix)))
    ]
    return [path for _, path in sorted(found, reverse=True)]


def _output(program: Path, flag: str) -> str:
    return "".join(printed(program, flag, timeout=_LOOK_TIMEOUT))
