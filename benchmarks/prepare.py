"""NodePrepareResources over the socket: the reference driver beside the official example driver, in one run."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import fake_nvml
from benchmarks.cluster import embedded
from benchmarks.figures import Figure, percentile
from dra_api.client import KubeClient
from dra_api.clock import RealClock
from dra_api.objects import DEVICE_CLASSES, RESOURCE_CLAIMS, RESOURCE_SLICES
from dra_api.rpc import ClaimRef
from dra_conformance.control_plane.embedded import EmbeddedControlPlane
from dra_conformance.kubelet import Kubelet
from reference_impl.kubelet_plugin.options import KubeletPluginOptions
from reference_impl.kubelet_plugin.plugin import KubeletPlugin

PAIRS = 200
PEER = Path(__file__).resolve().parent.parent / "peers" / "bin" / "dra-example-kubeletplugin"


def _claim(client: KubeClient, driver: str) -> ClaimRef:
    listed: list[dict[str, Any]] = []
    deadline = time.monotonic() + 20
    while not listed and time.monotonic() < deadline:
        listed = [o for o in client.list(RESOURCE_SLICES).items if o["spec"]["driver"] == driver]
    spec = listed[0]["spec"]
    client.create(
        DEVICE_CLASSES,
        {"metadata": {"name": "c"}, "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{driver}"'}}]}},
    )
    made = client.create(
        RESOURCE_CLAIMS,
        {
            "metadata": {"name": "claim", "namespace": "default"},
            "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "c"}}]}},
        },
    )
    result = {
        "request": "gpu",
        "driver": driver,
        "pool": spec["pool"]["name"],
        "device": spec["devices"][0]["name"],
    }
    made["status"] = {"allocation": {"devices": {"results": [result]}}}
    client.update_status(RESOURCE_CLAIMS, made)
    return ClaimRef("default", made["metadata"]["uid"], "claim")


def _measure(kubelet: Kubelet, driver: str, claim: ClaimRef) -> tuple[list[float], list[float], list[float]]:
    plugin = kubelet.wait_registered(driver, 20.0)
    first, again, undo = [], [], []
    for number in range(PAIRS + 10):
        t0 = time.perf_counter()
        answer = plugin.prepare([claim])
        t1 = time.perf_counter()
        plugin.prepare([claim])
        t2 = time.perf_counter()
        errors = plugin.unprepare([claim])
        t3 = time.perf_counter()
        if answer[claim.uid].error or errors.get(claim.uid):
            raise RuntimeError(f"{driver}: {answer[claim.uid].error or errors}")
        if number >= 10:
            first.append((t1 - t0) * 1000)
            again.append((t2 - t1) * 1000)
            undo.append((t3 - t2) * 1000)
    return first, again, undo


def reference() -> tuple[list[float], list[float], list[float]]:
    """The reference driver in a process of its own."""
    import sys

    with embedded(https=True) as plane, tempfile.TemporaryDirectory(prefix="dra-b-") as folder:
        root = Path(folder)
        with (
            fake_nvml.Node.create("dgx-h100", root / "nvml") as node,
            Kubelet(KubeClient(plane.transport()), RealClock(), "n1", root / "k") as kubelet,
        ):
            command = [
                *(sys.executable, "-m", "reference_impl", "kubelet-plugin", "--kubeconfig", str(plane.kubeconfig)),
                *("--node-name", "n1", "--kubelet-plugins-directory-path", str(kubelet.plugins_dir)),
                *("--kubelet-registrar-directory-path", str(kubelet.registration_dir)),
                *("--cdi-root", str(kubelet.cdi_roots[0]), "--container-driver-root", str(node.driver_root)),
            ]
            return _with_process(plane, kubelet, "gpu.nvidia.com", command, dict(node.env()))


def reference_in_process() -> tuple[list[float], list[float], list[float]]:
    """The reference driver in this process, as scenarios run it."""
    with embedded() as plane, tempfile.TemporaryDirectory(prefix="dra-b-") as folder:
        root, client = Path(folder), KubeClient(plane.transport())
        with (
            fake_nvml.Node.create("dgx-h100", root / "nvml") as node,
            Kubelet(KubeClient(plane.transport()), RealClock(), "n1", root / "k") as kubelet,
        ):
            plugin = KubeletPlugin(
                client,
                clock=RealClock(),
                nvml=fake_nvml.load_pynvml(node),
                options=KubeletPluginOptions(
                    node_name="n1",
                    plugins_dir=kubelet.plugins_dir,
                    registrar_dir=kubelet.registration_dir,
                    cdi_root=kubelet.cdi_roots[0],
                    driver_root=node.driver_root,
                ),
            )
            plugin.start()
            try:
                return _measure(kubelet, "gpu.nvidia.com", _claim(client, "gpu.nvidia.com"))
            finally:
                plugin.stop()


def peer() -> tuple[list[float], list[float], list[float]]:
    """The official example driver, with its client limits raised so that they are not what is measured."""
    with embedded(https=True) as plane, tempfile.TemporaryDirectory(prefix="dra-b-") as folder:
        root = Path(folder)
        with Kubelet(KubeClient(plane.transport()), RealClock(), "n1", root / "k") as kubelet:
            (kubelet.plugins_dir / "gpu.example.com").mkdir(parents=True)
            command = [
                *(str(PEER), "--kubeconfig", str(plane.kubeconfig), "--node-name", "n1"),
                *("--cdi-root", str(kubelet.cdi_roots[0]), "--kube-api-qps", "1000", "--kube-api-burst", "2000"),
                *("--kubelet-plugins-directory-path", str(kubelet.plugins_dir)),
                *("--kubelet-registrar-directory-path", str(kubelet.registration_dir)),
            ]
            return _with_process(plane, kubelet, "gpu.example.com", command, {})


def _with_process(
    plane: EmbeddedControlPlane, kubelet: Kubelet, driver: str, command: list[str], env: dict[str, str]
) -> tuple[list[float], list[float], list[float]]:
    program = subprocess.Popen(command, env={**os.environ, **env}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        kubelet.wait_registered(driver, 30.0)
        return _measure(kubelet, driver, _claim(KubeClient(plane.transport()), driver))
    finally:
        program.kill()
        program.wait()


def figures() -> list[Figure]:
    """Median and 99th percentile of a first Prepare, a repeated one and an Unprepare, each driver."""
    runs = {"reference, in process": reference_in_process(), "reference, own process": reference()}
    if PEER.exists():
        runs["dra-example-driver"] = peer()
    found = []
    for name, (first, again, undo) in runs.items():
        for what, values in (("Prepare", first), ("Prepare again", again), ("Unprepare", undo)):
            found.append(Figure(f"{what}, {name}", "ms p50", values, note=f"p99 {percentile(values, 0.99):.3g} ms"))
    if PEER.exists():
        ours, theirs = sorted(runs["reference, own process"][0]), sorted(runs["dra-example-driver"][0])
        ratio = ours[len(ours) // 2] / theirs[len(theirs) // 2]
        found.append(Figure("Prepare p50, reference / example driver, own processes", "x", [ratio]))
    else:
        print("  the example driver is not built (make peers): no comparison")
    return found
