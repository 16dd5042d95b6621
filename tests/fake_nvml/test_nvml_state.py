"""The shared state survives what processes do to it: killed writers, read-only users, many nodes."""

from __future__ import annotations

import ctypes
import os
import random
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fake_nvml
from fake_nvml.errors import StateError
from fake_nvml.state import StateFile, set_field

Make = Callable[..., fake_nvml.Node]
Load = Callable[[fake_nvml.Node], Any]
Start = Callable[[fake_nvml.Node, str], "subprocess.Popen[str]"]

WRITER = """
import os
import fake_nvml
from pathlib import Path
from fake_nvml.state import set_field
node = fake_nvml.Node.open(Path(os.environ["FAKE_NVML_STATE"]).parent)
print("ready", flush=True)
n = 0
while True:
    n += 1
    with node.change() as txn:
        for gpu in range(8):
            set_field(txn.state.gpus[gpu], "utilization_gpu", n % 100)
            set_field(txn.state.gpus[gpu], "utilization_memory", n % 100)
"""

READER = """
import sys, threading, pynvml as p
p.nvmlInit()
handles = [p.nvmlDeviceGetHandleByIndex(i) for i in range(8)]
stop = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), stop.set())).start()
print("ready", flush=True)
reads = bad = 0
while not stop.is_set():
    for h in handles:
        u = p.nvmlDeviceGetUtilizationRates(h)
        reads += 1
        bad += u.gpu != u.memory
print(reads, bad)
"""


def test_killed_writers_leave_readers_and_later_writers_fine(make_node: Make, start_python: Start) -> None:
    """SIGKILL at random instants causes no torn read, and the next change succeeds at once."""
    node = make_node()
    readers = [start_python(node, READER) for _ in range(2)]
    for process in readers:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    rng = random.Random(7)  # noqa: S311
    waits: list[float] = []
    for _ in range(40):
        pid = os.fork()
        if pid == 0:  # a writer of the same code, without the start of an interpreter
            try:
                own = StateFile(node.state_path)
                number = 0
                while True:
                    number += 1
                    with own.change() as txn:
                        for gpu in range(8):
                            set_field(txn.state.gpus[gpu], "utilization_gpu", number % 100)
                            set_field(txn.state.gpus[gpu], "utilization_memory", number % 100)
            finally:
                os._exit(1)
        time.sleep(0.005 + rng.random() * 0.02)
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        started = time.monotonic()
        node.set(0, "temperature_gpu", rng.randrange(30, 90))
        waits.append(time.monotonic() - started)
    assert sorted(waits)[20] < 1  # nobody waits for the dead; a busy machine is late now and then, not each time
    for process in readers:
        out, err = process.communicate("", timeout=30)
        assert process.returncode == 0, err
        reads, bad = map(int, out.split())
        assert reads > 1000
        assert bad == 0


def test_a_writer_process_can_be_killed(make_node: Make, start_python: Start, nvml: Load) -> None:
    node = make_node()
    lib = nvml(node)
    process = start_python(node, WRITER)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    generation = node.generation
    assert node.wait_change(generation, 60)
    process.kill()
    process.wait()
    util = lib.nvmlDeviceGetUtilizationRates(lib.nvmlDeviceGetHandleByIndex(7))
    assert util.gpu == util.memory
    node.set(7, "utilization_gpu", 1)


def test_an_aborted_change_is_none(make_node: Make) -> None:
    node = make_node()
    before = node.generation

    class Stop(Exception):
        pass

    def change_and_stop() -> None:
        with node.change() as txn:
            txn.state.gpus[0].present = 0
            raise Stop

    with pytest.raises(Stop):
        change_and_stop()
    assert node.generation == before
    assert node.gpus[0].uuid


@pytest.mark.skipif(os.geteuid() != 0, reason="dropping privileges needs root; a user's run has no root to drop")
def test_a_reader_cannot_change_the_state(tmp_path: Path) -> None:
    """NVML-053: getters and waits work on a read-only state; setters return NO_PERMISSION."""
    open_dir = Path("/tmp") / f"fake-nvml-ro-{os.getpid()}"  # noqa: S108
    with fake_nvml.Node.create("h200", open_dir) as node:
        open_dir.chmod(0o755)
        node.state_path.chmod(0o644)
        library = node.copy_library()
        library.chmod(0o755)
        library.parent.chmod(0o755)
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                os.setgid(65534)
                os.setuid(65534)
                raw = ctypes.CDLL(str(library))
                raw.fnvml_use_state(str(node.state_path).encode())
                handle, mode = ctypes.c_void_p(), ctypes.c_int()
                events, data = ctypes.c_void_p(), ctypes.create_string_buffer(64)
                results = [
                    raw.nvmlInit_v2(),
                    raw.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle)),
                    raw.nvmlDeviceSetComputeMode(handle, 3),
                    raw.nvmlDeviceSetMigMode(handle, 1, ctypes.byref(mode)),
                    raw.nvmlEventSetCreate(ctypes.byref(events)),
                    raw.nvmlDeviceRegisterEvents(handle, ctypes.c_ulonglong(8), events),
                    raw.nvmlEventSetWait_v2(events, data, 20),
                ]
                os.write(write, repr(results).encode())
                code = 0
            finally:
                os._exit(code)
        os.close(write)
        assert os.waitpid(pid, 0)[1] == 0
        assert os.read(read, 200) == b"[0, 0, 4, 4, 0, 0, 10]"
        os.close(read)
        assert node.get(0, "compute_mode") == 0


def test_a_rack_is_small(make_node: Make) -> None:
    """18 nodes of 4 GPUs; how long they take to make is the benchmarks' business."""
    nodes = [make_node("gb200-nvl72-node") for _ in range(18)]
    assert sum(node.state_path.stat().st_blocks * 512 for node in nodes) < 20_000_000
    assert len({gpu.uuid for node in nodes for gpu in node.gpus}) == 72


def test_a_state_that_is_not_one(tmp_path: Path) -> None:
    path = tmp_path / "state"
    with pytest.raises(StateError, match="does not exist"):
        StateFile(path)
    path.write_bytes(b"x" * 100)
    with pytest.raises(StateError, match="create the node again"):
        StateFile(path)


class _Signals:
    """The native library, with an event that is set when a thread begins to wait for a change."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self.began = threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)

    def fnvml_wait(self, *arguments: Any) -> Any:
        self.began.set()
        return self._library.fnvml_wait(*arguments)


def test_closing_a_state_does_not_unmap_it_under_a_call(make_node: Make) -> None:
    """A thread that waits for a change ends with that change, and has left before the mapping is gone."""
    node = make_node()
    seen = []

    def wait(file: StateFile) -> None:
        seen.append(file.wait_change(file.generation, 30))

    for number in range(10):
        file = StateFile(node.state_path)
        signals = _Signals(file._library)
        file._library = signals  # type: ignore[assignment]
        thread = threading.Thread(target=wait, args=(file,))
        thread.start()
        assert signals.began.wait(30)
        file.close()
        with pytest.raises(StateError, match="closed"):
            file.read()
        node.set(0, "power_usage", 100_000 + number)
        thread.join(30)
    assert seen == [True] * 10
