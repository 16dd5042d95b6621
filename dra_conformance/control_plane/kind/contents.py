"""What the user puts into a new kind cluster: image archives and manifests, such as those of a driver.

kubectl of the control plane's node applies the manifests, in the order of the option. Source: `kind load image-archive
--help` (sigs.k8s.io/kind v0.33.0), `kubectl apply --help`, `kubectl rollout status --help`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dra_api import regular_file
from dra_conformance.control_plane.kind import programs
from dra_conformance.core import documents
from dra_conformance.core.errors import TargetUnreachable, UsageError

_ROLLS_OUT = ("deployment", "daemonset", "statefulset")
_SUFFIXES = (".yaml", ".yml", ".json")
_LOADED_WITHIN, _APPLIED_WITHIN, _ROLLED_OUT_WITHIN = 600.0, 120.0, 240.0
_COPIED = "/kind/applied"


@dataclass(frozen=True, slots=True)
class Workload:
    """An object whose pods must run before the suite begins: its kind in small letters, namespace and name."""

    kind: str
    namespace: str
    name: str


def check(archives: Sequence[Path], manifests: Sequence[Path]) -> None:
    """Raise UsageError if a file cannot be read or is not YAML, before a cluster is made."""
    for archive in archives:
        if not archive.is_file():
            raise UsageError(
                f"--kind-load {archive}: no such file", hint="`docker save IMAGE --output FILE` makes one."
            )
    for path in manifests:
        list(workloads(path))


def workloads(path: Path) -> Iterator[Workload]:
    """Yield the workloads in a file of manifests, or in the files of a folder. Raises UsageError."""
    if path.is_dir():
        files = sorted(each for each in path.iterdir() if each.suffix in _SUFFIXES)
        if not files:
            raise UsageError(f"--kind-apply {path}: the folder has no manifest ({', '.join(_SUFFIXES)})")
    else:
        files = [path]
    for file in files:
        try:
            text = regular_file.read_text(file)
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--kind-apply: cannot read {file}: {error}") from None
        for document in documents.load_all(text, where=str(file)):
            yield from _workloads(document, file)


def load(archive: Path, *, cluster: str) -> None:
    """Load an image archive into every node. Raises TargetUnreachable."""
    words = [programs.KIND, "load", "image-archive", str(archive), "--name", cluster]
    _call(words, what=f"--kind-load {archive}", within=_LOADED_WITHIN)


def apply(path: Path, *, node: str) -> None:
    """Apply a file or folder and wait until its workloads have rolled out. Raises TargetUnreachable with the cause.

    `node` is the container of the control plane.
    """
    what = f"--kind-apply {path}"
    inside = [programs.DOCKER, "exec", node]
    copied = f"{_COPIED}{'' if path.is_dir() else path.suffix}"
    _call([programs.DOCKER, "cp", str(path), f"{node}:{copied}"], what=what, within=_APPLIED_WITHIN)
    try:
        _call([*inside, "kubectl", "apply", "--filename", copied], what=what, within=_APPLIED_WITHIN)
    finally:
        programs.run([*inside, "rm", "-rf", copied], timeout=_APPLIED_WITHIN)
    for one in workloads(path):
        status = ["kubectl", "rollout", "status", f"{one.kind}/{one.name}", "--namespace", one.namespace]
        status.append(f"--timeout={_ROLLED_OUT_WITHIN:.0f}s")
        _call([*inside, *status], what=what, within=_ROLLED_OUT_WITHIN + _APPLIED_WITHIN)


def _call(words: Sequence[str], *, what: str, within: float) -> None:
    done = programs.run(words, timeout=within)
    if done.returncode != 0:
        raise TargetUnreachable(f"{what}: `{' '.join(words[:5])}` fails:\n{programs.last_lines(done)}")


def _workloads(document: Any, file: Path) -> Iterator[Workload]:
    """Yield the workload that an object is, or those of a List."""
    if not isinstance(document, dict) or not isinstance(kind := document.get("kind"), str):
        raise UsageError(f"--kind-apply: {file} has a document that is no Kubernetes object (it has no kind)")
    if kind == "List":
        for item in document.get("items") or []:
            yield from _workloads(item, file)
        return
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if kind.lower() in _ROLLS_OUT and isinstance(metadata, dict) and isinstance(name, str):
        yield Workload(kind.lower(), str(metadata.get("namespace") or "default"), name)
