"""Build the programs of one release from their Go modules into the project's cache.

The module `dra_conformance/go_programs/control_plane` links all of them into one program. For another release than the
pinned one, a go.mod is written in a temporary folder: the staging modules are read from the release's own go.mod.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import orjson

from dra_conformance.control_plane.binaries.install import put
from dra_conformance.control_plane.binaries.programs import NEEDED, cache_folder
from dra_conformance.core.errors import TargetUnreachable, UsageError
from dra_conformance.go_programs import CONTAINERS, SOURCES

PROGRAM = "control-plane"
LINKS = (*NEEDED, "kubelet")
_RELEASE = re.compile(r"v?(1\.\d+(?:\.\d+)?)")
_STAGING = re.compile(r"^\t(\S+) => \./staging/", re.MULTILINE)
_ETCD = re.compile(r"^\tgo\.etcd\.io/etcd/server/v3 (v\S+)", re.MULTILINE)
_GO = re.compile(r"^go (\S+)", re.MULTILINE)


def build(
    release: str, *, environ: Mapping[str, str] | None = None, report: Callable[[str], None] = lambda text: None
) -> Path:
    """Build a release into the cache and return its folder. It takes minutes with an empty Go cache.

    `release` is a full release such as 1.35.4, or a minor release such as 1.35: then its newest patch release.
    Raises UsageError without Go or for an invalid release; TargetUnreachable if Go fails.
    """
    found = _RELEASE.fullmatch(release)
    if not found:
        raise UsageError(f"{release!r} is no release such as 1.37 or 1.37.2")
    go = shutil.which("go")
    if go is None:
        raise UsageError(
            "building needs Go, which is not on PATH", hint="Without --build, the programs are downloaded."
        )
    module = SOURCES / "control_plane"
    cache = cache_folder(environ)
    cache.mkdir(parents=True, exist_ok=True)
    # In the folder of the cache, so that the result can be renamed into place.
    with tempfile.TemporaryDirectory(prefix=".new-", dir=cache) as folder:
        source, made = Path(folder) / "source", Path(folder) / "made"
        source.mkdir()
        made.mkdir(mode=0o755)
        shutil.copy(module / "main.go", source)
        report(f"reading the module list of Kubernetes v{found[1]}")
        version = _write_module(go, source, f"v{found[1]}")
        target = cache / version
        _run(go, source, ["mod", "tidy"])
        report(f"compiling {version}; with a cold cache this takes some minutes")
        flags = ["-trimpath", "-ldflags", link_flags(version)]
        # Without cgo the program is static and runs on every Linux.
        _run(go, source, ["build", *flags, "-o", str(made / PROGRAM), "."], CGO_ENABLED="0")
        for name in LINKS:
            # The program acts as the one by whose name it is called.
            (made / name).symlink_to(PROGRAM)
        put(made, target)
    return target


def build_containers(version: str, *, environ: Mapping[str, str] | None = None, report: Callable[[str], None]) -> Path:
    """Build containerd, runc and the node program of `--kubelet kubelet` beside a cached control plane.

    Args:
        version: a release that is in the cache, such as v1.37.2.
        environ: environment that locates the cache, instead of this process's own.
        report: receives one line per program.

    Returns: the folder of the release.
    Raises: UsageError if Go is missing or the release is not in the cache; TargetUnreachable if Go fails.
    """
    go = shutil.which("go")
    if go is None:
        raise UsageError("building needs Go, which is not on PATH")
    target = cache_folder(environ) / version
    if not target.is_dir():
        raise UsageError(
            f"{version} is not in the cache", hint=f"dra-conformance control-plane install {version.removeprefix('v')}"
        )
    for program in CONTAINERS:
        report(f"building {program.program}")
        done = program.build(go, SOURCES / "containers", target)
        if done.returncode != 0:
            last = done.stderr.decode(errors="replace").strip().splitlines()[-6:]
            raise TargetUnreachable(f"building {program.program} failed:\n" + "\n".join(last))
    return target


def link_flags(version: str) -> str:
    """Linker flags that write the version into the program; a plain build leaves a placeholder there."""
    major, minor, _ = version.removeprefix("v").split(".")
    values = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return " ".join(
        ["-s -w", *(f"-X {package}.{key}={value}" for package in packages for key, value in values.items())]
    )


def module_text(upstream: str, version: str, staging_version: str) -> str:
    """Return a go.mod for one release, from its own go.mod. Raises TargetUnreachable if that has no staging modules."""
    staging, etcd, go = _STAGING.findall(upstream), _ETCD.search(upstream), _GO.search(upstream)
    if not staging or not etcd or not go:
        raise TargetUnreachable(f"the go.mod of k8s.io/kubernetes {version} is not of the known shape")
    lines = [
        "module dra-conformance/control-plane",
        f"go {go[1]}",
        f"godebug default=go{'.'.join(go[1].split('.')[:2])}",
        f"require go.etcd.io/etcd/server/v3 {etcd[1]}",
        f"require k8s.io/component-base {staging_version}",
        f"require k8s.io/kubernetes {version}",
        *(f"replace {name} => {name} {staging_version}" for name in staging),
    ]
    return "\n".join(lines) + "\n"


def _write_module(go: str, source: Path, release: str) -> str:
    """Write the go.mod of a release such as v1.36.2 or v1.36, and return the full release."""
    # `go mod download` needs a module, and the real go.mod depends on its result.
    (source / "go.mod").write_text("module dra-conformance/control-plane\n")
    # Go resolves a version prefix such as v1.36 to the newest patch release.
    answer = orjson.loads(_run(go, source, ["mod", "download", "-json", f"k8s.io/kubernetes@{release}"]))
    version = str(answer["Version"])
    # The staging modules of v1.36.2 are tagged v0.36.2.
    staging = f"v0.{version.removeprefix('v1.')}"
    (source / "go.mod").write_text(module_text(Path(answer["GoMod"]).read_text(encoding="utf-8"), version, staging))
    return version


def _run(go: str, folder: Path, words: list[str], **environment: str) -> bytes:
    done = subprocess.run([go, *words], cwd=folder, env={**os.environ, **environment}, capture_output=True, check=False)
    if done.returncode != 0:
        last = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()[-6:]
        raise TargetUnreachable(f"go {words[0]} failed:\n" + "\n".join(last))
    return done.stdout
