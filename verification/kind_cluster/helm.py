"""Helm on a kind cluster, with folders of its own: nothing of the user's configuration is read or written."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from verification.kind_cluster.cluster import READY, Cluster

PROGRAM = "helm"
_MORE = 60.0


def install(cluster: Cluster, release: str, chart: Path, *, namespace: str, values: Sequence[str] = ()) -> None:
    """Install a chart in a namespace that it makes, and wait until its pods are ready. Raises AssertionError."""
    _helm(cluster, "install", release, str(chart), "--create-namespace", *_options(namespace, values))


def upgrade(cluster: Cluster, release: str, chart: Path, *, namespace: str, values: Sequence[str]) -> None:
    """Change the values of a release, and wait until its pods are ready. Raises AssertionError."""
    _helm(cluster, "upgrade", release, str(chart), "--reset-then-reuse-values", *_options(namespace, values))


def uninstall(cluster: Cluster, release: str, *, namespace: str) -> None:
    """Uninstall a release, and delete the namespace, which Helm leaves. Raises AssertionError."""
    _helm(cluster, "uninstall", release, "--namespace", namespace, "--wait")
    cluster.kubectl("delete", "namespace", namespace, "--wait=true", timeout=READY)


def _options(namespace: str, values: Sequence[str]) -> Iterator[str]:
    yield from ("--namespace", namespace, "--wait", "--timeout", f"{READY:.0f}s")
    for value in values:
        yield from ("--set", value)


def _helm(cluster: Cluster, *words: str) -> None:
    with tempfile.TemporaryDirectory(prefix="dra-helm-") as home:
        done = subprocess.run(
            [PROGRAM, *words],
            env=environment(Path(home), cluster.plane.kubeconfig),
            capture_output=True,
            text=True,
            check=False,
            timeout=READY + _MORE,
        )
    if done.returncode != 0:
        pods = cluster.kubectl("get", "pods", "--all-namespaces", "--output", "wide")
        raise AssertionError(f"helm {' '.join(words[:3])}: {done.stderr.strip()}\n{pods}")


def environment(home: Path, kubeconfig: Path) -> Mapping[str, str]:
    """Return the environment of Helm with its folders in `home`."""
    folders = {f"HELM_{name}_HOME": str(home / name.lower()) for name in ("CACHE", "CONFIG", "DATA")}
    return {"PATH": os.environ["PATH"], "HOME": str(home), "KUBECONFIG": str(kubeconfig), **folders}
