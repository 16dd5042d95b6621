"""The state behind the fake NVML: what a damaged one is, who may change it, and that nobody ever sees half a change.

Other processes take part, started by the scenario (`NvmlLibrary.child`) and gone with it. Those that are to have no rights
give theirs up themselves, which needs root; the node's folder is opened to them for the scenario.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fake_nvml
from dra_conformance.components.nvml import NvmlLibrary
from dra_conformance.components.nvml_child import NOTHING
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import then, when
from dra_conformance.engine.world import World
from fake_nvml.cli import main as command
from fake_nvml.describe import describe_lines

# -- a state that is none ------------------------------------------------------------------------------------------

_INIT = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).nvmlInit_v2())"


def _spoil(case: str, path: Path, good: bytes) -> None:
    """Put at `path` what the case says, made from a state that is good."""
    contents = {
        "empty": b"",
        "cut short": good[:-1],
        "of something else": bytes(len(good)),
        "of a newer layout": good[:8] + (99).to_bytes(4, "little") + good[12:],
    }
    if case in contents:
        path.write_bytes(contents[case])
    elif case == "a symbolic link":
        path.with_suffix(".target").write_bytes(good)
        path.symlink_to(path.with_suffix(".target"))
    elif case == "a folder":
        path.mkdir()
    elif case == "a pipe":
        os.mkfifo(path)
    elif case != "missing":
        raise Untestable(f"nobody knows how a state file is {case!r}")


@then('a state file that is "{case}" is refused with {error:word}')
def _(world: World, case: str, error: str) -> None:
    """nvmlInit of another process answers so: there is no machine to take its place."""
    component = world.nvml()
    path = component.node.directory / "spoiled"
    _spoil(case, path, component.node.state_path.read_bytes())
    child = component.child(_INIT, str(component.library), environment={"FAKE_NVML_STATE": str(path)})
    found = child.words(world.run.patience)
    name = component.error_name(int(found[0])) if re.fullmatch(r"\d+", found[0]) else found[0]
    world.check(name == error, f"nvmlInit on a state that is {case}", expected=error, observed=name)


_DAMAGED = """
import ctypes, random, sys
library, path = ctypes.CDLL(sys.argv[1]), sys.argv[2].encode()
library.fnvml_use_state(path)
good = open(path, "rb").read()
rng = random.Random(7)
room = ctypes.create_string_buffer(1 << 16)
number, other, handle = ctypes.c_uint(), ctypes.c_uint(), ctypes.c_void_p()
for round_ in range(60):
    open(path, "r+b").write(good)
    if library.nvmlInit_v2() or library.nvmlDeviceGetHandleByIndex_v2(round_ % 3, ctypes.byref(handle)):
        raise SystemExit("the good state is none")
    with open(path, "r+b") as file:
        for _ in range(rng.choice([20, 2000])):
            file.seek(4096 + rng.randrange(120000))
            file.write(bytes([rng.randrange(256)]))
        if round_ % 4 == 0:  # a node of four billion GPUs
            for copy in (0, 1):
                file.seek(4096 + copy * int(sys.argv[3]))
                file.write(bytes([255, 255, 255, 255]))
    library.nvmlDeviceGetHandleByPciBusId_v2(b"00000000:EE:1F.0", ctypes.byref(handle))
    library.nvmlDeviceGetHandleByUUID(b"GPU-00000000-0000-0000-0000-000000000000", ctypes.byref(handle))
    for name in ("Name", "UUID", "Serial", "VbiosVersion"):
        getattr(library, "nvmlDeviceGet" + name)(handle, room, 96)
    for name in ("PciInfo_v3", "MemoryInfo", "UtilizationRates", "BAR1MemoryInfo", "GpuFabricInfo"):
        getattr(library, "nvmlDeviceGet" + name)(handle, room)
    number.value = 8
    library.nvmlDeviceGetComputeRunningProcesses_v3(handle, ctypes.byref(number), room)
    for profile in (0, 5, 9, 14, 15, 19, 20):
        library.nvmlDeviceGetGpuInstanceRemainingCapacity(handle, profile, ctypes.byref(number))
        library.nvmlDeviceGetGpuInstances(handle, profile, room, ctypes.byref(number))
    library.nvmlDeviceGetMigMode(handle, ctypes.byref(number), ctypes.byref(other))
    library.nvmlDeviceSetPersistenceMode(handle, round_ % 2)
    library.nvmlShutdown()
print("alive")
"""


@then("no damage to the state ends a process that reads it")
def _(world: World) -> None:
    """Bytes change at random, the same in every run, under a process that has the state open; each call comes back."""
    component = world.nvml()
    path = component.node.directory / "damaged"
    path.write_bytes(component.node.state_path.read_bytes())
    size = (path.stat().st_size - 4096 - fake_nvml.layout.RING_SIZE * 40) // 2
    found = component.tell(_DAMAGED, str(component.library), str(path), str(size), much=True)
    world.check(found == ["alive"], "the process", expected="alive", observed=" ".join(found))


# -- who may not change anything -----------------------------------------------------------------------------------

_NOBODY = """
import ctypes, fcntl, os, struct, sys
library = ctypes.CDLL(sys.argv[1])
if sys.argv[2]:
    os.chdir(sys.argv[2])
    library.fnvml_use_state(b"state")
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
handle, number, events = ctypes.c_void_p(), ctypes.c_uint(), ctypes.c_void_p()
library.nvmlInit_v2() and print("init")
library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle)) and print("handle")
"""
_SETS = (
    _NOBODY
    + """
for name in ("PersistenceMode", "ComputeMode"):
    code = getattr(library, "nvmlDeviceGet" + name)(handle, ctypes.byref(number))
    print(name, code or getattr(library, "nvmlDeviceSet" + name)(handle, number))
"""
)
_WAITS = (
    _NOBODY
    + """
data, room = ctypes.create_string_buffer(64), ctypes.create_string_buffer(96)
codes = [library.nvmlDeviceGetName(handle, room, 96), library.nvmlEventSetCreate(ctypes.byref(events))]
codes += [library.nvmlDeviceRegisterEvents(handle, ctypes.c_ulonglong(8), events)]
print(*codes, flush=True)
code = library.nvmlEventSetWait_v2(events, data, 60000)
print(code, int.from_bytes(data.raw[16:24], "little"), flush=True)
"""
)
_LOCKS = (
    _NOBODY
    + """
file = os.open("state", os.O_RDONLY)
fcntl.flock(file, fcntl.LOCK_EX)
try:
    fcntl.fcntl(file, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
    print("locked", flush=True)
except OSError:
    print("refused", flush=True)
sys.stdin.read()
"""
)
_WRITES = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
handle = ctypes.c_void_p()
library.nvmlInit_v2()
library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle))
print(library.nvmlDeviceSetPersistenceMode(handle, 1))
"""


def _open_to_nobody(component: NvmlLibrary) -> str:
    """The folder to which such a process goes before it gives its rights up; empty on a real GPU."""
    if os.geteuid() != 0:
        raise Untestable("only root can start a process without rights of its own")
    if component.fake is None:
        return ""
    component.fake.directory.chmod(0o711)
    component.fake.state_path.chmod(0o644)
    return str(component.fake.directory)


@then("a process without rights is refused every change with NO_PERMISSION")
def _(world: World) -> None:
    """It sets modes to what they are, so that a library which let it pass would have changed nothing."""
    component = world.nvml()
    found = component.tell(_SETS, str(component.library), _open_to_nobody(component))
    wanted = ["PersistenceMode", "4", "ComputeMode", "4"]
    world.check(found == wanted, "setters and their codes", expected=" ".join(wanted), observed=" ".join(found))


@then("a process without rights reads the GPU and hears of XID {xid:d}")
def _(world: World, xid: int) -> None:
    """Getters and the wait for an event need no right to write; the XID is reported while the process waits."""
    component = world.nvml()
    child = component.child(_WAITS, str(component.library), _open_to_nobody(component))
    first = child.line(world.run.patience)
    world.check(first == "0 0 0", "name, event set, registration", expected="0 0 0", observed=first)
    component.node.inject_xid(0, xid)
    heard = child.line(world.run.patience)
    world.check(heard == f"0 {xid}", "the event", expected=f"0 {xid}", observed=heard)


@then("a process that may only read holds up nobody who writes")
def _(world: World) -> None:
    """It keeps the only lock that it can have on the state; a change by another process goes through meanwhile."""
    component = world.nvml()
    child = component.child(_LOCKS, str(component.library), _open_to_nobody(component))
    said = child.line(world.run.patience)
    world.check(said == "refused", "its lock for writing", expected="refused", observed=said)
    found = component.tell(_WRITES, str(component.library))
    world.check(found == ["0"], "a change by another process", expected="0", observed=" ".join(found))


# -- changes -------------------------------------------------------------------------------------------------------

_KILLS = """
import ctypes, os, random, signal, sys, time
library, rng = ctypes.CDLL(sys.argv[1]), random.Random(11)
library.nvmlInit_v2()
handle, current, pending, activation = ctypes.c_void_p(), ctypes.c_uint(), ctypes.c_uint(), ctypes.c_int()
library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle))
torn = stuck = 0
for round_ in range(60):
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:
        library.nvmlInit_v2()
        for number in range(round_, sys.maxsize):
            library.nvmlDeviceSetMigMode(handle, number % 2, ctypes.byref(activation))
            number > round_ or os.write(tell, b"x")
    os.read(ready, 1)
    os.close(ready), os.close(tell)
    end = time.perf_counter() + rng.random() * 0.002
    while time.perf_counter() < end:
        pass
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    code = library.nvmlDeviceGetMigMode(handle, ctypes.byref(current), ctypes.byref(pending))
    torn += code != 0 or current.value != pending.value
    wanted = 1 - current.value
    code = library.nvmlDeviceSetMigMode(handle, wanted, ctypes.byref(activation))
    library.nvmlDeviceGetMigMode(handle, ctypes.byref(current), ctypes.byref(pending))
    stuck += code != 0 or current.value != wanted
print(torn, stuck)
"""
_READS = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.nvmlInit_v2()
handle, rates, torn = ctypes.c_void_p(), (ctypes.c_uint * 2)(), 0
library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle))
print("reads", flush=True)
for _ in range(400):
    library.nvmlDeviceGetUtilizationRates(handle, rates)
    torn += rates[0] != rates[1]
print(torn, flush=True)
"""


@then("no kill of a process that changes the state leaves half a change, or holds up the next")
def _(world: World) -> None:
    """Sixty processes that switch the MIG mode without end are killed, each at another moment."""
    component = world.nvml()
    found = component.tell(_KILLS, str(component.library), much=True)
    world.check(found == ["0", "0"], "half changes and failed ones", expected="0 0", observed=" ".join(found))


@then("two numbers that change together are never read apart")
def _(world: World) -> None:
    """Another process reads both in one call, 400 times, while changes without end keep them equal."""
    component = world.nvml()
    child = component.child(_READS, str(component.library))
    begins = child.line(world.run.patience)
    world.check(begins == "reads", "the reader", expected="reads", observed=begins)
    deadline, number = world.log.clock.monotonic() + world.run.patience, 0
    while (found := child.line(0.0)) == NOTHING and world.log.clock.monotonic() < deadline:
        number += 1
        with component.node.change() as txn:
            for field in ("utilization_gpu", "utilization_memory"):
                fake_nvml.state.set_field(txn.state.gpus[0], field, number % 100)
    world.check(found == "0", "numbers read apart", expected="0", observed=found)


@then("a change by NVML, by Python and by command is one generation of the state each")
def _(world: World) -> None:
    """All three are the same transaction: what is changed is read at once by the others."""
    component = world.nvml()
    node, nvml, handle = component.node, component.module, component.handle()
    by_command: Any = command.main
    arguments = ["set", "--node", str(node.directory), "0", "power_usage", "123 W"]
    changes: dict[str, Callable[[], Any]] = {
        "NVML": lambda: nvml.nvmlDeviceSetComputeMode(handle, 3),
        "Python": lambda: node.set(0, "temperature_gpu", 77),
        "command": lambda: by_command(args=arguments, standalone_mode=False),
    }
    for name, change in changes.items():
        before = node.generation
        change()
        world.check(node.generation == before + 1, f"by {name}", expected=before + 1, observed=node.generation)
    found = (
        node.get(0, "compute_mode"),
        nvml.nvmlDeviceGetTemperature(handle, 0),
        nvml.nvmlDeviceGetPowerUsage(handle),
    )
    world.check(found == (3, 77, 123_000), "what each of them set", expected=(3, 77, 123_000), observed=found)


# -- faults --------------------------------------------------------------------------------------------------------

_HANGS = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
handle, room = ctypes.c_void_p(), ctypes.create_string_buffer(96)
library.nvmlInit_v2()
library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle))
print("asks", flush=True)
print(library.nvmlDeviceGetName(handle, room, 96), flush=True)
"""


@when("another process hangs in nvmlDeviceGetName")
def _(world: World) -> None:
    """A fault rule of the fake holds its call back; the scenario goes on when it is in there."""
    component = world.nvml()
    world.memory["rule"] = component.node.inject_fault("nvmlDeviceGetName", hang=True)
    world.memory["child"] = child = component.child(_HANGS, str(component.library))
    if child.line(world.run.patience) != "asks":
        raise Untestable("the other process does not begin")
    deadline = world.log.clock.monotonic() + world.run.patience
    while True:
        generation = component.node.generation
        if component.node.fault_hits(world.memory["rule"]):
            return
        if not component.node.wait_change(generation, max(0.0, deadline - world.log.clock.monotonic())):
            raise Untestable("the rule did not act")


@then("others change the node meanwhile, and the call comes back when the rule is cleared")
def _(world: World) -> None:
    """A call that a rule delays holds no lock that another process could wait for."""
    component = world.nvml()
    found = component.tell(_WRITES, str(component.library))
    world.check(found == ["0"], "a change by another process", expected="0", observed=" ".join(found))
    component.node.clear_faults(world.memory["rule"])
    back = world.memory["child"].line(world.run.patience)
    world.check(back == "0", "the call that hung", expected="0", observed=back)


# -- the tables ----------------------------------------------------------------------------------------------------


@then("every value of every shipped board has its source, and what nobody saw on hardware is marked")
def _(world: World) -> None:
    """`fake-nvml describe` puts a question mark before each such value and a warning behind them all."""
    for name in fake_nvml.inventory_names():
        inventory = fake_nvml.Inventory.load(name)
        values = {field: v for spec in inventory.gpus for field, v in spec.board.values.items()}
        nameless = sorted(field for field, value in values.items() if not value.source.strip())
        world.check(not nameless, f"values of {name} without a source", expected=[], observed=nameless)
        lines = list(describe_lines(inventory))
        boards = {spec.board.name: spec.board for spec in inventory.gpus}.values()
        doubtful = sum(not value.verified for board in boards for value in board.values.values())
        marked = sum(line.startswith("? ") and re.match(r"\? [a-z0-9_]+ {2,}", line) is not None for line in lines)
        world.check(marked == doubtful, f"marked values of {name}", expected=doubtful, observed=marked)
        warned = lines[-1].startswith("warning: ")
        world.check(warned == bool(doubtful), f"a warning for {name}", expected=bool(doubtful), observed=warned)
