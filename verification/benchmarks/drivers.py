"""Drivers with a kubelet for their node, and the calls to them: the reference in process and as a program, the official
example driver, and NVIDIA's driver.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import fake_nvml
from apiserver_emulator import ApiServerEmulator
from dra_api.client import KubeClient
from dra_api.clock import RealClock
from dra_api.objects import DEVICE_CLASSES, RESOURCE_CLAIMS, Obj
from dra_api.rpc import ClaimRef
from dra_conformance.components import fake_root
from dra_conformance.control_plane.binaries import BinariesControlPlane
from dra_conformance.core.component_spec import FLAGS, fill
from dra_conformance.core.driver_presets import nvidia
from dra_conformance.core.isolation import Isolation
from dra_conformance.core.process import ManagedProcess
from dra_conformance.kubelet import Kubelet, PluginHandle
from dra_conformance.kubelet.errors import DriverNotRegistered
from reference_impl.kubelet_plugin.options import FeatureGates, KubeletPluginOptions
from reference_impl.kubelet_plugin.plugin import KubeletPlugin
from verification.benchmarks.cluster import BIN

GPU, EXAMPLE = "gpu.nvidia.com", "gpu.example.com"
DEVICES = 8
PEER = BIN / "dra-example-kubeletplugin"


@contextlib.contextmanager
def _kubelet(plane: ApiServerEmulator | BinariesControlPlane, name: str, root: Path) -> Iterator[Kubelet]:
    kubelet = Kubelet(KubeClient(plane.transport(), user_agent="kubelet"), RealClock(), name, root)
    kubelet.start()
    try:
        yield kubelet
    finally:
        kubelet.stop()


@contextlib.contextmanager
def in_process(
    plane: ApiServerEmulator, root: Path, name: str, *, inventory: str, gates: FeatureGates | None = None
) -> Iterator[tuple[PluginHandle, KubeletPlugin]]:
    """A node with a kubelet and the reference driver in this process."""
    root.mkdir()
    with (
        fake_nvml.Node.create(inventory, root / "nvml") as node,
        _kubelet(plane, name, root / "k") as kubelet,
    ):
        plugin = KubeletPlugin(
            KubeClient(plane.transport()),
            clock=RealClock(),
            nvml=fake_nvml.load_pynvml(node),
            options=KubeletPluginOptions(
                node_name=name,
                plugins_dir=kubelet.plugins_dir,
                registrar_dir=kubelet.registration_dir,
                cdi_root=kubelet.cdi_roots[0],
                driver_root=node.driver_root,
                gates=gates or FeatureGates(),
            ),
        )
        plugin.start()
        try:
            yield kubelet.wait_registered(GPU, 20.0), plugin
        finally:
            plugin.stop()


@contextlib.contextmanager
def own_process(
    plane: ApiServerEmulator | BinariesControlPlane, root: Path, *, name: str = "n1"
) -> Iterator[PluginHandle]:
    """A node with a kubelet here and the reference driver in a process of its own, on eight GPUs."""
    root.mkdir()
    with (
        fake_nvml.Node.create("dgx-h100", root / "nvml") as node,
        _kubelet(plane, name, root / "k") as kubelet,
    ):
        command = [
            *(sys.executable, "-m", "reference_impl", "kubelet-plugin", "--kubeconfig", str(plane.kubeconfig)),
            *("--node-name", name, "--kubelet-plugins-directory-path", str(kubelet.plugins_dir)),
            *("--kubelet-registrar-directory-path", str(kubelet.registration_dir)),
            *("--cdi-root", str(kubelet.cdi_roots[0]), "--container-driver-root", str(node.driver_root)),
        ]
        program = subprocess.Popen(command, env={**os.environ, **node.env()}, stdout=subprocess.DEVNULL)
        try:
            yield kubelet.wait_registered(GPU, 30.0)
        finally:
            program.terminate()
            program.wait()


@contextlib.contextmanager
def example_driver(
    plane: ApiServerEmulator | BinariesControlPlane, root: Path, *, name: str = "n1"
) -> Iterator[PluginHandle]:
    """The same with the official example driver. Its client-side rate limits are raised."""
    root.mkdir()
    with _kubelet(plane, name, root / "k") as kubelet:
        (kubelet.plugins_dir / EXAMPLE).mkdir(parents=True)
        command = [
            *(str(PEER), "--kubeconfig", str(plane.kubeconfig), "--node-name", name, "--num-devices", str(DEVICES)),
            *("--cdi-root", str(kubelet.cdi_roots[0]), "--kube-api-qps", "1000", "--kube-api-burst", "2000"),
            *("--kubelet-plugins-directory-path", str(kubelet.plugins_dir)),
            *("--kubelet-registrar-directory-path", str(kubelet.registration_dir)),
        ]
        program = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield kubelet.wait_registered(EXAMPLE, 30.0)
        finally:
            program.kill()
            program.wait()


@contextlib.contextmanager
def nvidia_driver(
    plane: ApiServerEmulator | BinariesControlPlane, root: Path, *, name: str = "n1"
) -> Iterator[PluginHandle]:
    """The same with NVIDIA's driver on eight fake GPUs, in a mount namespace that shows it the fake node."""
    root.mkdir()
    view = root / "view"
    view.mkdir()
    with (
        fake_nvml.Node.create("dgx-h100", root / "nvml") as node,
        _kubelet(plane, name, root / "k") as kubelet,
    ):
        (kubelet.plugins_dir / GPU).mkdir(parents=True)
        fake_root.complete(node.driver_root)
        values = {
            "kubeconfig": str(plane.kubeconfig),
            "node": name,
            "plugins": str(kubelet.plugins_dir),
            "registrar": str(kubelet.registration_dir),
            "cdi": str(kubelet.cdi_roots[0]),
            "driver_root": str(node.driver_root),
        }
        preset = nvidia("driver", "")
        mounts = [(Path(fill(str(source), values)), target) for source, target in preset.mounts]
        program = ManagedProcess(
            "nvidia",
            [fill(word, values) for word in preset.command if word != FLAGS],
            log_path=root / "driver.log",
            env={**node.env(), **fake_root.environment(node.driver_root), "NAMESPACE": "default"},
            isolation=Isolation(reason="a measurement").with_mounts(
                [*mounts, *fake_root.shown_mounts(node.driver_root)], view=view, root=True
            ),
        )
        program.start()
        try:
            try:
                plugin = kubelet.wait_registered(GPU, 30.0)
            except DriverNotRegistered as error:
                error.add_note(program.last_lines())
                raise
            yield plugin
        finally:
            program.stop()


def make_class(client: KubeClient) -> None:
    """A DeviceClass for all whole GPUs."""
    expression = f'device.driver == "{GPU}" && device.attributes["{GPU}"].type == "gpu"'
    selectors = [{"cel": {"expression": expression}}]
    client.create(DEVICE_CLASSES, {"metadata": {"name": "gpu"}, "spec": {"selectors": selectors}})


def request() -> Obj:
    """A claim's spec: one device of the class."""
    return {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}


def allocated(
    client: KubeClient, name: str, node: str, device: str, *, driver_name: str = GPU, admin: bool = False
) -> ClaimRef:
    """A claim that was given one device by hand; with `admin` several claims may have the device."""
    spec = request()
    result: Obj = {"request": "gpu", "driver": driver_name, "pool": node, "device": device}
    if admin:
        spec["devices"]["requests"][0]["exactly"]["adminAccess"] = result["adminAccess"] = True
    made = client.create(RESOURCE_CLAIMS, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})
    made["status"] = {"allocation": {"devices": {"results": [result]}}}
    client.update_status(RESOURCE_CLAIMS, made)
    return ClaimRef("default", made["metadata"]["uid"], name)


def prepared(plugin: PluginHandle, ref: ClaimRef) -> float:
    """Milliseconds of one Prepare. Raises RuntimeError when it fails."""
    began = time.perf_counter()
    answer = plugin.prepare([ref])[ref.uid]
    if answer.error:
        raise RuntimeError(answer.error)
    return (time.perf_counter() - began) * 1000


def unprepared(plugin: PluginHandle, ref: ClaimRef) -> None:
    """One Unprepare. Raises RuntimeError when it fails."""
    if problem := plugin.unprepare([ref]).get(ref.uid):
        raise RuntimeError(problem)
