"""A running kind cluster as an administrator uses it: kubectl, images, manifests, and commands on its nodes."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from deploy.manifests.parts import text_of
from dra_api.objects import Obj
from dra_conformance.control_plane.kind import KindControlPlane, contents, programs
from dra_conformance.core.errors import TargetUnreachable
from verification.docker_engine.waiting import until

READY = 240.0
"""Seconds until pods on a busy machine must be where they should be."""

T = TypeVar("T")
_LOADED, _CALL = 300.0, 60.0
_APPLIED, _COPIED = "/kind/applied", "/kind/copied"


class Cluster:
    """A running kind cluster, with kubectl of its control plane's node."""

    def __init__(self, plane: KindControlPlane) -> None:
        self.plane = plane
        self._node = f"{plane.cluster}-control-plane"

    def load(self, archive: Path) -> None:
        """Load an image archive into every node. Raises AssertionError, as everything here."""
        try:
            contents.load(archive, cluster=self.plane.cluster)
        except TargetUnreachable as error:
            raise AssertionError(error.message) from None

    def kubectl(self, *words: str, timeout: float = _CALL) -> str:
        """Run kubectl and return its output. Raises AssertionError with its message."""
        return call([programs.DOCKER, "exec", self._node, "kubectl", *words], timeout=timeout)

    def apply(self, folder: Path) -> None:
        """Apply the manifests of a folder, in the order of their names."""
        call([programs.DOCKER, "cp", str(folder), f"{self._node}:{_APPLIED}"])
        self.kubectl("apply", "-f", _APPLIED)
        call([programs.DOCKER, "exec", self._node, "rm", "-r", _APPLIED])

    def delete(self, folder: Path) -> None:
        """Delete the objects of a folder's manifests, and wait until they are gone."""
        call([programs.DOCKER, "cp", str(folder), f"{self._node}:{_APPLIED}"])
        self.kubectl("delete", "--ignore-not-found", "--wait=true", "-f", _APPLIED, timeout=READY)
        call([programs.DOCKER, "exec", self._node, "rm", "-r", _APPLIED])

    def copy_from(self, pod: str, path: str, target: Path, *, namespace: str) -> None:
        """Copy a folder of a pod to this machine, with `kubectl cp`."""
        self.kubectl("--namespace", namespace, "cp", f"{pod}:{path}", _COPIED, timeout=_LOADED)
        call([programs.DOCKER, "cp", f"{self._node}:{_COPIED}", str(target)], timeout=_LOADED)
        call([programs.DOCKER, "exec", self._node, "rm", "-r", _COPIED])

    def apply_objects(self, objects: Iterable[Obj]) -> None:
        """Apply objects."""
        with tempfile.TemporaryDirectory(prefix="dra-kind-objects-") as folder:
            Path(folder, "objects.yaml").write_text(text_of(objects), encoding="utf-8")
            self.apply(Path(folder))

    def items(self, *words: str) -> list[dict[str, Any]]:
        """Return the objects of `kubectl get`."""
        found: list[dict[str, Any]] = json.loads(self.kubectl("get", *words, "-o", "json"))["items"]
        return found

    def get(self, *words: str) -> dict[str, Any] | None:
        """Return the object of `kubectl get RESOURCE NAME`; None if it does not exist."""
        text = self.kubectl("get", *words, "-o", "json", "--ignore-not-found")
        found: dict[str, Any] | None = json.loads(text) if text.strip() else None
        return found

    def on_node(self, node: str, *words: str) -> str:
        """Run a command in the container that is a node. Raises AssertionError with its message."""
        return call([programs.DOCKER, "exec", node, *words])

    def wait(self, what: str, look: Callable[[], T | None]) -> T:
        """Return the first true result of `look`. Raises AssertionError naming `what`, with the pods that are there."""
        try:
            return until(look, what=what, within=READY)
        except AssertionError as error:
            pods = self.kubectl("get", "pods", "--all-namespaces", "--output", "wide")
            events = self.kubectl("get", "events", "--all-namespaces", "--sort-by=.lastTimestamp").splitlines()[-12:]
            raise AssertionError("\n".join([str(error), pods, *events])) from None

    @property
    def workers(self) -> list[str]:
        """The names of the nodes without the control plane, sorted."""
        names = [each["metadata"]["name"] for each in self.items("nodes")]
        return sorted(name for name in names if name != self._node)


def call(words: Sequence[str], *, timeout: float = _CALL) -> str:
    """Run a program and return its output. Raises AssertionError with its last lines."""
    done = programs.run(words, timeout=timeout)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(words)}: {programs.last_lines(done)}")
    return done.stdout
