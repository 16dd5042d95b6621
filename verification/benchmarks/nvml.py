"""The fake NVML through unmodified pynvml: calls beside a call of nothing, how soon changes show, a price of a rack."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fake_nvml
from fake_nvml.library import control_path
from verification.benchmarks.figures import Figure, percentile, repeat

CALLS = 20_000
CHANGES = 300
RACK = 18
RECORDED = Path(__file__).resolve().parents[2] / "fixtures" / "nvml" / "h200_nvml.json"

#: Prints the time of each temperature change that it polls and of each XID event that it waits for.
WATCHER = """
import sys, time, pynvml as p
p.nvmlInit()
h = p.nvmlDeviceGetHandleByIndex(0)
s = p.nvmlEventSetCreate()
p.nvmlDeviceRegisterEvents(h, 8, s)
last = p.nvmlDeviceGetTemperature(h, 0)
print("ready", flush=True)
for _ in range(int(sys.argv[1])):
    while (now := p.nvmlDeviceGetTemperature(h, 0)) == last:
        pass
    print(time.perf_counter(), flush=True)
    last = now
    p.nvmlEventSetWait_v2(s, 10000)
    print(time.perf_counter(), flush=True)
"""


def _per_call(call: Callable[..., Any], *arguments: Any) -> list[float]:
    """Measure processor time: a getter never sleeps, so other load does not count."""

    def once() -> float:
        started = time.thread_time()
        for _ in range(CALLS):
            call(*arguments)
        return (time.thread_time() - started) / CALLS * 1e6

    # The first round loads caches and is not counted.
    once()
    return repeat(5, once)


#: A function of the same library's sources that returns a constant.
_nothing = ctypes.CDLL(str(control_path())).fnvml_file_size


def _calls(node: fake_nvml.Node) -> list[Figure]:
    real = json.loads(RECORDED.read_text(encoding="utf-8"))["mean_call_us"]
    nvml = fake_nvml.load_pynvml(node)
    nvml.nvmlInit()
    handle = nvml.nvmlDeviceGetHandleByIndex(0)
    text, room = ctypes.create_string_buffer(96), ctypes.c_uint(96)
    figures = [
        Figure("a ctypes call of nothing", "µs", _per_call(_nothing, handle, text, room)),
        Figure("nvmlDeviceGetName without pynvml", "µs", _per_call(nvml.nvmlLib.nvmlDeviceGetName, handle, text, room)),
    ]
    for name, arguments, aim in (
        ("nvmlDeviceGetCount", (), "1.5"),
        ("nvmlDeviceGetName", (handle,), "1.5"),
        ("nvmlDeviceGetUUID", (handle,), "1.5"),
        ("nvmlDeviceGetMemoryInfo", (handle,), "1.5"),
        ("nvmlDeviceGetPciInfo", (handle,), "1.5"),
        ("nvmlDeviceGetTemperature", (handle, 0), ""),
        ("nvmlDeviceGetPowerUsage", (handle,), ""),
        ("nvmlDeviceGetUtilizationRates", (handle,), ""),
    ):
        values = _per_call(getattr(nvml, name), *arguments)
        figures.append(Figure(f"{name} (a real H200: {real[name]} µs)", "µs", values, aim))
    nvml.nvmlShutdown()
    return figures


def _seen(node: fake_nvml.Node) -> list[Figure]:
    process = subprocess.Popen(
        [sys.executable, "-c", WATCHER, str(CHANGES)],
        env={**os.environ, **node.env()},
        stdout=subprocess.PIPE,
        text=True,
    )
    out = process.stdout
    assert out is not None
    # The line `ready`: from now on the watcher sees every change.
    out.readline()
    asked, woken = [], []
    for number in range(CHANGES):
        started = time.perf_counter()
        node.set(0, "temperature_gpu", 30 + number % 50)
        asked.append((float(out.readline()) - started) * 1000)
        time.sleep(0.001)  # the watcher is asleep in its wait by now
        started = time.perf_counter()
        node.inject_xid(0, 13)
        woken.append((float(out.readline()) - started) * 1000)
    process.wait()
    notes = [f"95th of 100: {percentile(values, 0.95):.3f} ms" for values in (asked, woken)]
    return [
        Figure("a change, to another process that asks", "ms", asked, "0.2", notes[0]),
        Figure("an XID, to another process that waits", "ms", woken, "", notes[1]),
    ]


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _rack() -> list[Figure]:
    times, busy, disk, memory = [], [], [], []
    # Three racks: the median leaves out the first one, which also fills caches.
    for _ in range(3):
        with tempfile.TemporaryDirectory(prefix="bench-nvml-") as folder:
            before, started, worked = _resident(), time.perf_counter(), time.process_time()
            nodes = fake_nvml.create_rack(Path(folder) / "rack", nodes=RACK)
            times.append(time.perf_counter() - started)
            busy.append(time.process_time() - worked)
            memory.append((_resident() - before) / 2**20)
            states = [path for node in nodes for path in (node.state_path, node.directory / "first")]
            disk.append(sum(path.stat().st_blocks * 512 for path in states) / 2**20)
            for node in nodes:
                node.close()
    return [
        Figure(f"{RACK} nodes of 4 GPUs made", "s", times, "1"),
        Figure("processor time of that", "s", busy),
        Figure("their states on disk", "MiB", disk, "20"),
        Figure("their resident memory in the process that made them", "MiB", memory, "20"),
    ]


def figures() -> list[Figure]:
    """All of the group."""
    with fake_nvml.Node.create("h200") as node:
        return [*_calls(node), *_seen(node), *_rack()]
