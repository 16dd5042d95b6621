"""Verify every flag that the control plane passes to k3s by its effect on a running cluster.

Two clusters: one with defaults, and one with other gates, versions and externally provided components. An external
driver (dra-example-driver) registers with the kubelet of the first one through the shared folders.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from testcontainers.core.config import ConnectionMode, testcontainers_config

from dra_api.client import KubeClient, NotFound
from dra_api.objects import DEVICE_CLASSES, NODES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES, uid_of
from dra_conformance.control_plane.k3s import K3sControlPlane
from verification.docker_engine.runs import WITHOUT_REAPER, Runs
from verification.docker_engine.waiting import until

_GATE = "DRADeviceTaintRules"  # beta; the first cluster disables it, the second enables it
_DRIVER = "dra-example-kubeletplugin"
_NAMESPACE = "default"


def look(runs: Runs, folder: Path) -> Iterator[str]:
    """Return everything that does not match the flags."""
    os.environ.update({**WITHOUT_REAPER, "DOCKER_HOST": runs.engine.host})
    testcontainers_config.ryuk_disabled = True
    with _plane(runs, folder / "own", gates={_GATE: False}) as plane:
        yield from _own_parts(runs, plane)
        yield from _driver(runs, plane, folder)
    yield from (f"after a cluster with a driver there is {each}" for each in runs.left())
    mode = testcontainers_config.connection_mode_override
    # Under another host name than the default: otherwise --tls-san has no visible effect.
    testcontainers_config.connection_mode_override = ConnectionMode.gateway_ip
    try:
        with _plane(
            runs,
            folder / "other",
            gates={_GATE: True},
            versions={"resource.k8s.io/v1beta1": False},
            foreign=("scheduler", "claim-controller", "taint-eviction"),
        ) as plane:
            yield from _other_parts(runs, plane)
    finally:
        testcontainers_config.connection_mode_override = mode
    yield from (f"after a cluster without a driver there is {each}" for each in runs.left())


@contextlib.contextmanager
def _plane(
    runs: Runs,
    directory: Path,
    *,
    gates: dict[str, bool],
    versions: dict[str, bool] | None = None,
    foreign: tuple[str, ...] = (),
) -> Iterator[K3sControlPlane]:
    plane = K3sControlPlane(
        image=runs.image, directory=directory, feature_gates=gates, runtime_config=versions, foreign_components=foreign
    )
    plane.start()
    try:
        yield plane
    except AssertionError as error:
        raise AssertionError("\n".join([str(error), *worst(_log(runs))[-20:]])) from None
    finally:
        plane.stop()
        if directory.exists():
            raise AssertionError(f"{directory} is still there: {sorted(directory.rglob('*'))[:5]}")


def worst(log: str) -> list[str]:
    """Return the lines of a log that report errors or warnings."""
    # klog begins them with E and W.
    return [line for line in log.splitlines() if line.startswith(("E", "W"))]


def _own_parts(runs: Runs, plane: K3sControlPlane) -> Iterator[str]:
    """Verify a cluster with defaults: all versions served, all components its own."""
    client = KubeClient(plane.transport())
    yield from _served(client, {"v1", "v1beta2", "v1beta1", "v1alpha3"})
    yield from _gates(plane, runs, on=False)
    if not _started(runs, "kube-scheduler"):
        yield "no kube-scheduler runs in a cluster whose scheduler is its own"


def _other_parts(runs: Runs, plane: K3sControlPlane) -> Iterator[str]:
    """Verify a cluster with external components, reached under another host name."""
    name = re.search(r"https://([^:/]+):", plane.kubeconfig.read_text())
    if name is None or name[1] in ("localhost", "127.0.0.1"):
        yield f"the API server is reached as {name and name[1]}, so nothing is seen of --tls-san"
    client = KubeClient(plane.transport())
    yield from _served(client, {"v1", "v1beta2", "v1alpha3"})
    yield from _gates(plane, runs, on=True)
    if _started(runs, "kube-scheduler"):
        yield "kube-scheduler runs although the scheduler is not the cluster's own"
    for controller in ("resourceclaim-controller", "device-taint-eviction-controller"):
        shown = rf'"(Warning: controller is disabled|Controller is disabled[^"]*)" controller="{controller}"'
        if not re.search(shown, _log(runs)):
            yield f"kube-controller-manager does not say that it leaves out the {controller}"


def _served(client: KubeClient, wanted: set[str]) -> Iterator[str]:
    found = set(client.served("resource.k8s.io"))
    if found != wanted:
        yield f"of resource.k8s.io is served {sorted(found)}, not {sorted(wanted)}"


def _gates(plane: K3sControlPlane, runs: Runs, *, on: bool) -> Iterator[str]:
    shown = plane.transport().request("GET", "/metrics", headers={"Accept": "text/plain"}, timeout=10.0).body.decode()
    if not re.search(rf'^kubernetes_feature_enabled{{name="{_GATE}"[^}}]*}} {int(on)}$', shown, re.MULTILINE):
        yield f"kube-apiserver does not have {_GATE} {'on' if on else 'off'}"
    given = f"--feature-gates={_GATE}={str(on).lower()}"
    for program in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet"):
        if any(given not in words for words in _started(runs, program)):
            yield f"{program} was not given {given}"
    if plane.feature_gates[_GATE] is not on:
        yield f"the class does not know that {_GATE} is {'on' if on else 'off'}"


def _driver(runs: Runs, plane: K3sControlPlane, folder: Path) -> Iterator[str]:
    """A driver outside the container, a pod on the cluster's own node: they meet in the shared folders."""
    client = KubeClient(plane.transport())
    node = client.list(NODES).items[0]["metadata"]["name"]
    with _driver_process(runs, plane, node, folder):
        until(lambda: client.list(RESOURCE_SLICES).items or None, what="ResourceSlices of the driver")
        client.create(
            DEVICE_CLASSES,
            {"metadata": {"name": "any"}, "spec": {"selectors": [{"cel": {"expression": "true"}}]}},
        )
        exactly = {"exactly": {"deviceClassName": "any"}}
        claim = client.create(
            RESOURCE_CLAIMS,
            {
                "metadata": {"name": "c", "namespace": _NAMESPACE},
                "spec": {"devices": {"requests": [{"name": "r", **exactly}]}},
            },
        )
        volume = {"name": "memory", "emptyDir": {"medium": "Memory"}}
        mount = {"name": "memory", "mountPath": "/memory"}
        container: dict[str, Any] = {"name": "main", "image": "nothing", "volumeMounts": [mount]}
        container["resources"] = {"claims": [{"name": "c"}]}
        spec = {
            "containers": [container],
            "volumes": [volume],
            "resourceClaims": [{"name": "c", "resourceClaimName": "c"}],
        }
        client.create(PODS, {"metadata": {"name": "p", "namespace": _NAMESPACE}, "spec": spec})
        until(lambda: _placed(client), what=f"a pod with a claim on the cluster's node {node}")
        root = str(plane.kubelet_root)
        # The mounts appear outside only if the folder is shared with the container in both directions.
        until(lambda: _mounted(f"{root}/pods/"), what=f"the mounts of a pod below {root}, outside of the container")
        until(
            lambda: [each for each in plane.cdi.iterdir() if uid_of(claim) in each.name] or None,
            what=f"the claim's CDI file in {plane.cdi}: the cluster's kubelet calls the driver outside",
        )
        if not (plane.kubelet_root / "dra_manager_state").exists():
            yield f"no checkpoint of the cluster's kubelet in {root}"


@contextlib.contextmanager
def _driver_process(runs: Runs, plane: K3sControlPlane, node: str, folder: Path) -> Iterator[None]:
    root = plane.kubelet_root
    words = [str(runs.bin_dir / _DRIVER), "--kubeconfig", str(plane.kubeconfig), "--node-name", node]
    words += ["--cdi-root", str(plane.cdi), "--kubelet-registrar-directory-path", str(root / "plugins_registry")]
    words += ["--kubelet-plugins-directory-path", str(root / "plugins")]
    with (folder / "driver.log").open("wb") as log:
        process = subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT)
        try:
            yield
        finally:
            # What the driver leaves behind ends with the cluster.
            process.kill()
            process.wait()


def _placed(client: KubeClient) -> bool:
    try:
        return bool(client.get(PODS, "p", _NAMESPACE)["spec"].get("nodeName"))
    except NotFound:
        return False


def _mounted(start: str) -> bool:
    return any(line.split()[1].startswith(start) for line in Path("/proc/self/mounts").read_text().splitlines())


def _only(runs: Runs) -> Any:
    (container,) = runs.engine.client.containers.list()
    return container


def _started(runs: Runs, program: str) -> list[str]:
    """The command lines of a program in the only container that runs."""
    shown = _only(runs).top(ps_args="-eo pid,args")
    column = shown["Titles"].index("COMMAND")
    lines = [str(row[column]) for row in shown["Processes"]]
    return [line for line in lines if line.split()[0].endswith(f"/{program}")]


def _log(runs: Runs) -> str:
    return str(_only(runs).logs().decode(errors="replace"))
