"""The fake in the processes that load it: its dependencies, its side effects, and the state that processes share."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fake_nvml
from dra_conformance.components import elf
from fake_nvml.cli import main as command
from fake_nvml.describe import describe_lines

Make = Callable[..., fake_nvml.Node]
Load = Callable[[fake_nvml.Node], Any]
Start = Callable[[fake_nvml.Node, str], "subprocess.Popen[str]"]
Run = Callable[[fake_nvml.Node, str], str]

LIBRARY = f"import ctypes, os, sys\nlibrary = ctypes.CDLL({str(fake_nvml.library_path())!r})\n"

_NAMES = """
    __cxa_finalize __ctype_b_loc __errno_location __fxstat __gmon_start__ __stack_chk_fail __stack_chk_guard
    __xmknodat _ITM_deregisterTMCloneTable _ITM_registerTMCloneTable access bcmp clock_gettime close dladdr faccessat
    fclose fcntl fopen fread fstat getpid madvise memcmp memcpy memmove memset mkdirat mknodat mmap munmap nanosleep
    open openat read realpath sched_setaffinity secure_getenv snprintf sprintf strcmp strcpy strlen strncmp strnlen
    strrchr strtoul syscall unlinkat write
"""
IN_BOTH_C_LIBRARIES = frozenset(_NAMES.split())
"""Functions that glibc 2.17 and musl 1.2 both have; look a new one up in both before adding it."""

sanitized = pytest.mark.skipif("FAKE_NVML_LIB" in os.environ, reason="the sanitizers' runtime does this itself")


@sanitized
def test_the_library_needs_only_functions_that_glibc_and_musl_have() -> None:
    """A loader that misses one name does not load the library at all."""
    tables = elf.read(fake_nvml.library_path())
    assert tables.undefined - IN_BOTH_C_LIBRARIES == set()
    assert [name for name in tables.needed if not name.startswith(("libc.", "libdl."))] == []


@sanitized
def test_the_library_has_no_thread_storage() -> None:
    assert not elf.read(fake_nvml.library_path()).thread_storage


UNCHANGED = """
import re
def process():
    with open("/proc/self/status") as file:
        return re.findall(r"^(Threads|SigCgt|SigIgn|SigBlk):\\s*(\\w+)", file.read(), re.M)
before = process()
codes = [library.nvmlInit_v2()]
handle, events, room = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.create_string_buffer(256)
codes += [library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle))]
codes += [library.nvmlEventSetCreate(ctypes.byref(events))]
codes += [library.nvmlDeviceRegisterEvents(handle, ctypes.c_ulonglong(8), events)]
codes += [library.nvmlEventSetWait_v2(events, room, 20) - 10]
print(any(codes), before == process() or (before, process()))
"""


def test_the_library_leaves_threads_and_signals_of_its_process_alone(make_node: Make, run_python: Run) -> None:
    assert run_python(make_node(), LIBRARY + UNCHANGED).split() == ["False", "True"]


NO_SYSTEM_CALLS = """
import platform, struct
machine = ctypes.CDLL(None)
write, leave = {"x86_64": (1, 231), "aarch64": (64, 94)}.get(platform.machine(), (0, 0))
handle, room, number = ctypes.c_void_p(), ctypes.create_string_buffer(4096), ctypes.c_uint()
library.nvmlInit_v2()
library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle))
calls = [(library.nvmlDeviceGetCount_v2, (ctypes.byref(number),)),
    (library.nvmlDeviceGetName, (handle, room, 96)), (library.nvmlDeviceGetUUID, (handle, room, 96)),
    (library.nvmlDeviceGetMemoryInfo, (handle, room)), (library.nvmlDeviceGetPciInfo_v3, (handle, room)),
    (library.nvmlDeviceGetTemperature, (handle, 0, ctypes.byref(number))),
    (library.nvmlDeviceGetUtilizationRates, (handle, room))]
def read():
    for call, arguments in calls:
        if call(*arguments):
            return b"failed\\n"
    return b"read\\n"
for _ in range(20):
    read()
rule = lambda code, yes, no, value: struct.pack("HBBI", code, yes, no, value)
allowed, killed = 0x7FFF0000, 0x80000000
rules = ctypes.create_string_buffer(rule(0x20, 0, 0, 0) + rule(0x15, 2, 0, write) + rule(0x15, 1, 0, leave)
    + rule(0x06, 0, 0, killed) + rule(0x06, 0, 0, allowed))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 5, ctypes.addressof(rules)))
confine = machine.prctl
if not leave or confine(38, 1, 0, 0, 0) or confine(22, 2, program, 0, 0):
    print("unconfined")
    raise SystemExit
os.write(1, read())
os._exit(0)
"""


@sanitized
def test_a_getter_makes_no_system_call(make_node: Make, run_python: Run) -> None:
    """Seven getters run in a process that the kernel kills at any system call but a final write."""
    found = run_python(make_node(), LIBRARY + NO_SYSTEM_CALLS).strip()
    if found == "unconfined":
        pytest.skip("this kernel does not confine processes (seccomp)")
    assert found == "read"


WAKE_UPS = """
import resource
handle, events, data = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.create_string_buffer(64)
library.nvmlInit_v2()
library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle))
library.nvmlEventSetCreate(ctypes.byref(events))
library.nvmlDeviceRegisterEvents(handle, ctypes.c_ulonglong(8), events)
def wake_ups():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
    library.nvmlEventSetWait_v2(events, data, 250)
    return resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before
least = wake_ups()
for _ in range(5):  # a busy machine adds context switches
    least = least if least < 4 else min(least, wake_ups())
print(least, flush=True)
code = library.nvmlEventSetWait_v2(events, data, 60000)
print(code, int.from_bytes(data.raw[16:24], "little"), flush=True)
"""


def test_waiting_for_an_event_does_not_poll(make_node: Make, start_python: Start) -> None:
    """A wait of 250 ms wakes up at most every 100 ms, and an event ends a wait of a minute at once."""
    node = make_node()
    process = start_python(node, LIBRARY + WAKE_UPS)
    assert process.stdout is not None
    assert process.stdout.readline().strip() in ("1", "2", "3")
    node.inject_xid(0, 43)
    assert process.stdout.readline().strip() == "0 43"


def test_nodes_of_one_rack_have_separate_fabric_states(make_node: Make) -> None:
    node, other = make_node("gb200-nvl72-node"), make_node("gb200-nvl72-node")
    for gpu in node.gpus:
        node.set(gpu.index, "fabric_state", 2)
    assert {node.get(gpu.index, "fabric_state") for gpu in node.gpus} == {2}
    assert {other.get(gpu.index, "fabric_state") for gpu in other.gpus} == {3}


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_a_state_that_is_no_regular_file_is_rejected(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "state"
    path.mkdir() if kind == "folder" else os.mkfifo(path)
    result = subprocess.run(
        [sys.executable, "-c", LIBRARY + "print(library.nvmlInit_v2())"],
        env={**os.environ, "FAKE_NVML_STATE": str(path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.strip() == "9"


READER_LOCK = """
import fcntl, struct
os.chdir({folder!r})
os.setgroups([]), os.setgid(65534), os.setuid(65534)
file = os.open("state", os.O_RDONLY)
fcntl.flock(file, fcntl.LOCK_EX)
try:
    fcntl.fcntl(file, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
    print("locked", flush=True)
except OSError:
    print("rejected", flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a process without privileges")
def test_a_reader_cannot_block_a_writer(start_python: Start) -> None:
    """It holds a flock and is denied a write lock; a change goes through meanwhile."""
    folder = Path("/tmp") / f"fake-nvml-lock-{os.getpid()}"  # noqa: S108 - pytest's folders are closed to other users
    with fake_nvml.Node.create("h200", folder) as node:
        folder.chmod(0o711)
        node.state_path.chmod(0o644)
        code = "import os, sys\n" + READER_LOCK.format(folder=str(folder))
        process = start_python(node, code)
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "rejected"
        # In a thread: a writer that waits for the reader's lock must fail this test instead of blocking it.
        writer = threading.Thread(target=node.set, args=(0, "persistence_mode", 1), daemon=True)
        writer.start()
        writer.join(60)
        blocked = writer.is_alive()
        process.kill()  # ends the lock
        writer.join()
        assert not blocked
        assert node.get(0, "persistence_mode") == 1


def test_a_change_is_one_generation_by_every_interface(make_node: Make, nvml: Load) -> None:
    node = make_node()
    lib = nvml(node)
    handle = lib.nvmlDeviceGetHandleByIndex(0)
    by_command: Any = command.main
    arguments = ["set", "--node", str(node.directory), "0", "power_usage", "123 W"]
    changes: list[Callable[[], object]] = [
        lambda: lib.nvmlDeviceSetComputeMode(handle, 3),
        lambda: node.set(0, "temperature_gpu", 77),
        lambda: by_command(args=arguments, standalone_mode=False),
    ]
    for change in changes:
        before = node.generation
        change()
        assert node.generation == before + 1
    assert node.get(0, "compute_mode") == 3
    assert lib.nvmlDeviceGetTemperature(handle, 0) == 77
    assert lib.nvmlDeviceGetPowerUsage(handle) == 123_000


@pytest.mark.parametrize("name", fake_nvml.inventory_names())
def test_describe_marks_every_unverified_value(name: str) -> None:
    inventory = fake_nvml.Inventory.load(name)
    boards = {spec.board.name: spec.board for spec in inventory.gpus}.values()
    assert all(value.source.strip() for board in boards for value in board.values.values())
    unverified = sum(not value.verified for board in boards for value in board.values.values())
    lines = list(describe_lines(inventory))
    marked = [line for line in lines if re.match(r"\? [a-z0-9_]+ {2,}", line)]
    assert len(marked) == unverified
    assert lines[-1].startswith("warning: ") == bool(unverified)


@pytest.mark.parametrize(
    "line",
    [
        "colour: red",
        "values: {temprature_gpu: 40}",
        "values: {power_limit: 700 MHz}",
        "uuid: GPU-1",
        "mig: [7g.80gb, 1g.10gb]",
        "mig: [4g.40gb, 4g.40gb]",
        "mig: [{profile: 3g.40gb, start: 2}]",
        "mig: [1g.10gb+me, 1g.10gb+me]",
    ],
)
def test_a_mistake_in_an_inventory_is_reported_with_file_line_and_key(tmp_path: Path, line: str) -> None:
    path = tmp_path / "node.yaml"
    head = 'driver_version: "580.105.08"\ncuda_version: "13.0"\ngpus:\n'
    path.write_text(f'{head}  - board: h100-sxm5-80gb\n    bus: "00000000:53:00.0"\n    {line}\n')
    with pytest.raises(fake_nvml.InventoryError) as failure:
        fake_nvml.Inventory.load(path)
    assert str(failure.value).startswith(f"{path}:6: gpus[0].{line.partition(':')[0]}")


def test_lookups_work_on_a_node_of_sixteen_gpus(make_node: Make, nvml: Load) -> None:
    lib = nvml(make_node("h100-16"))
    assert lib.nvmlDeviceGetCount() == 16
    for index in range(16):
        handle = lib.nvmlDeviceGetHandleByIndex(index)
        by_uuid = lib.nvmlDeviceGetHandleByUUID(lib.nvmlDeviceGetUUID(handle))
        by_address = lib.nvmlDeviceGetHandleByPciBusId(lib.nvmlDeviceGetPciInfo(handle).busId)
        assert [lib.nvmlDeviceGetIndex(found) for found in (handle, by_uuid, by_address)] == [index] * 3
