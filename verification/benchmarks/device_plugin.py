"""Allocate of the reference device plugin and of NVIDIA's, in turns.

Both run at the same time as programs, each on a fake node of eight GPUs with a device manager of its own. They are
called one after the other, so that other load of the machine affects both alike.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import fake_nvml
from dra_api.clock import RealClock
from dra_conformance.components import fake_root
from dra_conformance.core.isolation import Isolation
from dra_conformance.core.process import ManagedProcess
from dra_conformance.kubelet.device_plugins import ConnectedPlugin, DeviceManager
from verification.benchmarks.cluster import BIN
from verification.benchmarks.figures import Figure, percentile

NVIDIA = BIN / "nvidia-device-plugin"
REFERENCE = "reference"
_TURNS, _CALLS, _WARM_UP = 50, 8, 2
_SECONDS = 30.0

Start = Callable[[Path], AbstractContextManager[ConnectedPlugin]]


@contextlib.contextmanager
def _manager(folder: Path) -> Iterator[DeviceManager]:
    manager = DeviceManager(folder, clock=RealClock(), record=lambda event: None)
    manager.start()
    try:
        yield manager
    finally:
        manager.stop()


def _registered(manager: DeviceManager) -> ConnectedPlugin:
    deadline = time.monotonic() + _SECONDS
    while not (ready := [one for one in manager.plugins() if one.devices]):
        if time.monotonic() > deadline:
            raise TimeoutError(f"no device plugin with devices within {_SECONDS:g} s; {manager.attempts}")
        time.sleep(0.01)  # a benchmark on real time; no event says that a list has come
    return ready[0]


@contextlib.contextmanager
def reference(root: Path) -> Iterator[ConnectedPlugin]:
    """The reference plugin in a process of its own, on eight GPUs."""
    root.mkdir()
    (root / "cdi").mkdir()
    with fake_nvml.Node.create("dgx-h100", root / "nvml") as node, _manager(root / "dp") as manager:
        command = [
            *(sys.executable, "-m", "reference_impl", "device-plugin", "--device-plugin-path", str(root / "dp")),
            *("--cdi-root", str(root / "cdi"), "--container-driver-root", str(node.driver_root)),
        ]
        program = subprocess.Popen(command, env={**os.environ, **node.env()}, stdout=subprocess.DEVNULL)
        try:
            yield _registered(manager)
        finally:
            program.terminate()
            program.wait()


@contextlib.contextmanager
def nvidia(root: Path) -> Iterator[ConnectedPlugin]:
    """The same with NVIDIA's plugin, in a mount namespace that shows it the fake node."""
    root.mkdir()
    for name in ("cdi", "view"):
        (root / name).mkdir()
    with fake_nvml.Node.create("dgx-h100", root / "nvml") as node, _manager(root / "dp") as manager:
        fake_root.complete(node.driver_root)
        mounts = [(root / "dp", Path("/var/lib/kubelet/device-plugins")), (root / "cdi", Path("/var/run/cdi"))]
        program = ManagedProcess(
            "nvidia",
            [str(NVIDIA), f"--driver-root-ctr-path={node.driver_root}"],
            log_path=root / "plugin.log",
            env={**node.env(), **fake_root.environment(node.driver_root)},
            isolation=Isolation(reason="a measurement").with_mounts(
                [*mounts, *fake_root.shown_mounts(node.driver_root)], view=root / "view", root=True
            ),
        )
        program.start()
        try:
            try:
                plugin = _registered(manager)
            except TimeoutError as error:
                error.add_note(program.last_lines())
                raise
            yield plugin
        finally:
            program.stop()


def plugins() -> dict[str, Start]:
    """Return the plugins that can be measured here, by name."""
    found: dict[str, Start] = {REFERENCE: reference}
    if not NVIDIA.exists():
        print("  NVIDIA's device plugin is not built (make third-party): no comparison")
    elif os.geteuid() != 0:
        print("  the mount namespace of NVIDIA's device plugin needs root here: no comparison")
    else:
        found["nvidia v0.19.0"] = nvidia
    return found


def measure(*, turns: int) -> dict[str, dict[int, list[float]]]:
    """Return the milliseconds of Allocate by plugin and by the number of devices."""
    found: dict[str, dict[int, list[float]]] = {}
    with tempfile.TemporaryDirectory(prefix="dra-b-") as folder, contextlib.ExitStack() as ending:
        running = {
            name: ending.enter_context(start(Path(folder) / f"n{number}"))
            for number, (name, start) in enumerate(plugins().items())
        }
        for turn in range(turns + _WARM_UP):
            for name, plugin in running.items():
                ids = [device.id for device in plugin.devices]
                for count in (1, len(ids)):
                    times = [_allocate(plugin, [*ids, *ids][one : one + count]) for one in range(_CALLS)]
                    if turn >= _WARM_UP:
                        found.setdefault(name, {}).setdefault(count, []).extend(times)
    return found


def _allocate(plugin: ConnectedPlugin, ids: list[str]) -> float:
    began = time.perf_counter()
    answers = plugin.allocate(ids)
    took = (time.perf_counter() - began) * 1000
    if len(answers) != 1:
        raise RuntimeError(f"{len(answers)} answers of Allocate for one container")
    return took


def figures() -> list[Figure]:
    """Allocate of one device and of all eight, and the reference relative to NVIDIA's plugin."""
    found = measure(turns=_TURNS)
    rows = [
        Figure(f"Allocate of {count}, {name}", "ms p50", times, note=f"p99 {percentile(times, 0.99):.3g} ms")
        for name, by_count in found.items()
        for count, times in by_count.items()
    ]
    for name, by_count in found.items():
        for count, times in by_count.items() if name != REFERENCE else ():
            ratio = percentile(found[REFERENCE][count], 0.5) / percentile(times, 0.5)
            rows.append(Figure(f"Allocate of {count}, reference / {name}", "x", [ratio]))
    return rows
