"""Clusters that exist before a run: it reaches them through a kubeconfig and must leave nothing behind.

`emulated` is the API server of the suite, served with its CRDs. `kubernetes` has Kubernetes' own programs: the control
plane, kube-scheduler, and the controllers that a run with its own control plane starts as components.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal

import orjson

from apiserver_emulator import ApiServerEmulator
from dra_api.client import KubeClient
from dra_api.clock import RealClock
from dra_api.transport import HttpTransport
from dra_conformance.control_plane.binaries import BinariesControlPlane
from dra_conformance.core.isolation import of_kubernetes
from dra_conformance.core.process import ManagedProcess
from dra_conformance.engine import crds
from verification.third_party.catalogue import KUBERNETES

Kind = Literal["emulated", "kubernetes"]

_PROGRAMS = (
    ("kube-scheduler", "scheduler"),
    ("kube-controller-manager", "claim-controller"),
    ("kube-controller-manager", "taint-eviction"),
)
_OF_THE_SERVER = ("rbac.authorization.k8s.io", "flowcontrol.apiserver.k8s.io", "apiregistration.k8s.io")
_SYSTEM = ("default", "kube-system", "kube-public", "kube-node-lease")


@contextmanager
def existing_cluster(kind: Kind, folder: Path, bin_dir: Path) -> Iterator[Path]:
    """Start a cluster in a folder and yield the kubeconfig of its administrator."""
    with ExitStack() as stack:
        if kind == "emulated":
            emulator = stack.enter_context(ApiServerEmulator(directory=folder))
            crds.install(KubeClient(HttpTransport.from_kubeconfig(emulator.kubeconfig)), RealClock())
            yield emulator.kubeconfig
            return
        logs = folder.with_name(f"{folder.name}-logs")
        plane = BinariesControlPlane(kubernetes_version=KUBERNETES, directory=folder, logs=logs, bin_dir=str(bin_dir))
        stack.enter_context(plane)
        for program, component in _PROGRAMS:
            words = plane.component_command(program, component)
            process = ManagedProcess(component, words, log_path=logs / f"{component}.log", isolation=of_kubernetes(()))
            process.start()
            stack.callback(process.kill)
        yield plane.kubeconfig


def objects_of(kubeconfig: Path) -> dict[str, str]:
    """Return all objects of a cluster by UID, each with its resource and name.

    Left out are events, which expire, and what the API server and its controllers create for themselves at any time.
    """
    transport = HttpTransport.from_kubeconfig(kubeconfig)
    try:
        found = {}
        for path in _versions(transport):
            for resource in _get(transport, path).get("resources") or ():
                if "/" in resource["name"] or "list" not in resource["verbs"] or resource["name"] == "events":
                    continue
                for obj in _get(transport, f"{path}/{resource['name']}").get("items") or ():
                    meta = obj["metadata"]
                    if meta.get("namespace") not in _SYSTEM or resource["name"] in ("pods", "resourceclaims"):
                        name = f"{meta.get('namespace', '')}/{meta['name']}".lstrip("/")
                        found[str(meta.get("uid") or name)] = f"{resource['name']} {name}"
        return found
    finally:
        transport.close()


def _versions(transport: HttpTransport) -> list[str]:
    groups = _get(transport, "/apis").get("groups") or ()
    return ["/api/v1"] + [
        f"/apis/{group['preferredVersion']['groupVersion']}" for group in groups if group["name"] not in _OF_THE_SERVER
    ]


def _get(transport: HttpTransport, path: str) -> dict[str, Any]:
    answer = transport.request("GET", path)
    # A resource that only some users may list answers 403, and 405 if it has no list.
    body: dict[str, Any] = orjson.loads(answer.body) if answer.status == 200 else {}
    return body
