"""Writers killed at a thousand random points, and thirty-two readers at once: no reader sees a partial write."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import fake_nvml
from fake_nvml import build
from fake_nvml.layout import State
from fake_nvml.state import set_field

Make = Callable[..., fake_nvml.Node]
Start = Callable[[fake_nvml.Node, str], "subprocess.Popen[str]"]

#: One C transaction writes both MIG modes of a Hopper GPU; one C call reads both. Killed in between, they would differ.
#: A writer is a forked child that does nothing else, so nearly every instant of it lies inside a transaction.
SWEEP = """
import ctypes, os, random, signal, sys, time
import pynvml as p
rng = random.Random(11)
p.nvmlInit()
lib, handle = p.nvmlLib, p.nvmlDeviceGetHandleByIndex(0)
current, pending, activation = ctypes.c_uint(), ctypes.c_uint(), ctypes.c_int()
torn = late = progress = 0
last = None
for round_ in range(1000):
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            lib.nvmlInit_v2()
            mode = round_ % 2
            lib.nvmlDeviceSetMigMode(handle, mode, ctypes.byref(activation))
            os.write(tell, b"x")
            while True:
                mode ^= 1
                lib.nvmlDeviceSetMigMode(handle, mode, ctypes.byref(activation))
        finally:
            os._exit(1)
    os.close(tell)
    os.read(ready, 1)
    os.close(ready)
    end = time.perf_counter() + rng.random() * 0.002
    while time.perf_counter() < end:
        pass
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    code = lib.nvmlDeviceGetMigMode(handle, ctypes.byref(current), ctypes.byref(pending))
    torn += code != 0 or current.value != pending.value
    seen = current.value
    started = time.perf_counter()
    code = lib.nvmlDeviceSetMigMode(handle, 1 - seen, ctypes.byref(activation))
    late += code != 0 or time.perf_counter() - started > 30
    lib.nvmlDeviceGetMigMode(handle, ctypes.byref(current), ctypes.byref(pending))
    progress += current.value == pending.value == 1 - seen
print(torn, late, progress)
"""

READERS = """
import ctypes, os, sys
import pynvml as p
ready, tell = os.pipe()
children = []
for number in range(32):
    out, result = os.pipe()
    if (child := os.fork()) == 0:
        os.close(out)
        p.nvmlInit()
        lib, handle = p.nvmlLib, p.nvmlDeviceGetHandleByIndex(0)
        current, pending = ctypes.c_uint(), ctypes.c_uint()
        util = p.c_nvmlUtilization_t()
        field = (p.c_nvmlFieldValue_t * 2)()
        field[0].fieldId, field[1].fieldId = 187, 188
        os.write(tell, b"x")
        reads = torn = 0
        going = True
        while going:
            going = os.path.exists(sys.argv[1])  # also a process that runs late reads once
            for _ in range(200):
                lib.nvmlDeviceGetMigMode(handle, ctypes.byref(current), ctypes.byref(pending))
                lib.nvmlDeviceGetUtilizationRates(handle, ctypes.byref(util))
                lib.nvmlDeviceGetFieldValues(handle, 2, field)
                torn += current.value != pending.value or util.gpu != util.memory
                torn += field[0].value.uiVal != field[1].value.uiVal
                reads += 3
        os.write(result, f"{reads} {torn}".encode())
        os._exit(0)
    os.close(result)
    children.append((child, out))
for _ in children:
    os.read(ready, 1)
print("ready", flush=True)
for child, out in children:
    print(os.read(out, 100).decode())
    os.waitpid(child, 0)
"""


def test_a_writer_killed_at_a_thousand_points_leaves_every_reader_correct(make_node: Make, start_python: Start) -> None:
    """No kill leaves a torn state, and the next writer succeeds."""
    process = start_python(make_node(), SWEEP)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert out.split() == ["0", "0", "1000"]


def test_thirty_two_reader_processes_see_no_torn_value(make_node: Make, start_python: Start) -> None:
    """NVML-018: three kinds of readings that one transaction keeps equal, while they change all the time."""
    node = make_node()
    flag = node.directory / "go"
    flag.touch()
    code = READERS.replace("sys.argv[1]", repr(str(flag)))
    with node.change() as txn:
        _write(txn.state, 0)
    process = start_python(node, code)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    for number in range(4000):
        with node.change() as txn:
            _write(txn.state, number)
    flag.unlink()
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    rows = [tuple(map(int, line.split())) for line in out.splitlines()]
    assert len(rows) == 32
    assert all(reads > 0 for reads, _ in rows)
    assert sum(torn for _, torn in rows) == 0


def _write(state: State, number: int) -> None:
    for fields, value in (
        (("mig_mode_current", "mig_mode_pending"), number % 2),
        (("utilization_gpu", "utilization_memory"), number % 100),
        (("power_limit_min", "power_limit_max"), 100_000 + number),
    ):
        for field in fields:
            set_field(state.gpus[0], field, value)


def test_the_sweep_finds_a_library_that_changes_the_state_in_place(make_node: Make, tmp_path: Path) -> None:
    """Check that the two tests above can fail: without the second copy, kills leave a partial write behind."""
    library = build.variant(
        tmp_path / "variant",
        "state/state.c",
        "txn->state = (fn_State *)(base + STATE_OFFSET(gen + 1));",
        "txn->state = (fn_State *)(base + STATE_OFFSET(gen));",
    )
    node = make_node()
    result = subprocess.run(
        [sys.executable, "-c", SWEEP],
        env={**os.environ, **node.env(), "LD_LIBRARY_PATH": str(library)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    assert int(result.stdout.split()[0]) > 0
