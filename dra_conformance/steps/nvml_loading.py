"""NVML as a file that processes load: its name and tables, how it is loaded, and what it does to its process."""

from __future__ import annotations

import re

from dra_conformance.components import elf
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import then
from dra_conformance.engine.world import World

_LOAD = """
import ctypes, os, sys
mode = {"RTLD_NOW": os.RTLD_NOW, "RTLD_LAZY": os.RTLD_LAZY | os.RTLD_GLOBAL}[sys.argv[2]]
library = ctypes.CDLL(sys.argv[1], mode=mode)
print(library.nvmlInit_v2(), library.nvmlShutdown())
"""

_PROCESS = """
import ctypes, re, sys
def held():
    with open("/proc/self/status") as file:
        return re.findall(r"^(Threads|SigCgt|SigIgn|SigBlk):\\s*(\\w+)", file.read(), re.M)
before = held()
library = ctypes.CDLL(sys.argv[1])
codes = [library.nvmlInit_v2()]
handle, events, room = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.create_string_buffer(256)
codes += [library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle))]
codes += [library.nvmlEventSetCreate(ctypes.byref(events))]
codes += [library.nvmlDeviceRegisterEvents(handle, ctypes.c_ulonglong(8), events)]
codes += [library.nvmlEventSetWait_v2(events, room, 20) - 10]
print(any(codes), before == held() or (before, held()))
"""

_CROWD = """
import ctypes, sys, threading
library = ctypes.CDLL(sys.argv[1])
library.nvmlInit_v2()
count = ctypes.c_uint()
library.nvmlDeviceGetCount_v2(ctypes.byref(count))
handles = [ctypes.c_void_p() for _ in range(count.value)]
def uuid(gpu):
    room = ctypes.create_string_buffer(96)
    code = library.nvmlDeviceGetUUID(handles[gpu], room, 96)
    return code, room.value
for gpu, handle in enumerate(handles):
    library.nvmlDeviceGetHandleByIndex_v2(gpu, ctypes.byref(handle))
alone = [uuid(gpu) for gpu in range(count.value)]
wrong, start = [], threading.Barrier(32)
def ask(number):
    gpu = number % count.value
    start.wait()
    for _ in range(200):
        memory = (ctypes.c_ulonglong * 3)()
        code = library.nvmlDeviceGetMemoryInfo(handles[gpu], memory)
        if uuid(gpu) != alone[gpu] or code or memory[0] != memory[1] + memory[2]:
            wrong.append(gpu)
threads = [threading.Thread(target=ask, args=(number,)) for number in range(32)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(wrong))
"""

_QUIET = """
import ctypes, os, platform, struct, sys
library, machine = ctypes.CDLL(sys.argv[1]), ctypes.CDLL(None)
write, leave = {"x86_64": (1, 231), "aarch64": (64, 94)}.get(platform.machine(), (0, 0))
handle, room, number = ctypes.c_void_p(), ctypes.create_string_buffer(4096), ctypes.c_uint()
library.nvmlInit_v2()
library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle))
calls = [(library.nvmlDeviceGetCount_v2, (ctypes.byref(number),)),
    (library.nvmlDeviceGetName, (handle, room, 96)), (library.nvmlDeviceGetUUID, (handle, room, 96)),
    (library.nvmlDeviceGetMemoryInfo, (handle, room)), (library.nvmlDeviceGetPciInfo_v3, (handle, room)),
    (library.nvmlDeviceGetTemperature, (handle, 0, ctypes.byref(number))),
    (library.nvmlDeviceGetUtilizationRates, (handle, room))]
def ask():
    for call, arguments in calls:
        if call(*arguments):
            return b"failed\\n"
    return b"answered\\n"
for _ in range(20):
    ask()
rule = lambda code, yes, no, value: struct.pack("HBBI", code, yes, no, value)
allowed, killed = 0x7FFF0000, 0x80000000
rules = ctypes.create_string_buffer(rule(0x20, 0, 0, 0) + rule(0x15, 2, 0, write) + rule(0x15, 1, 0, leave)
    + rule(0x06, 0, 0, killed) + rule(0x06, 0, 0, allowed))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 5, ctypes.addressof(rules)))
confine = machine.prctl
if not leave or confine(38, 1, 0, 0, 0) or confine(22, 2, program, 0, 0):
    print("unconfined")
    raise SystemExit
os.write(1, ask())
os._exit(0)
"""

_WORDS_OF_BOTH = """
__cxa_finalize __ctype_b_loc __errno_location __fxstat __gmon_start__ __stack_chk_fail __stack_chk_guard __xmknodat
_ITM_deregisterTMCloneTable _ITM_registerTMCloneTable access bcmp clock_gettime close dladdr faccessat fclose fcntl
fopen fread fstat getpid madvise memcmp memcpy memmove memset mkdirat mknodat mmap munmap nanosleep open openat read
realpath sched_setaffinity secure_getenv snprintf sprintf strcmp strcpy strlen strncmp strnlen strrchr strtoul syscall
unlinkat write
"""
_OF_BOTH = frozenset(_WORDS_OF_BOTH.split())
"""Functions that glibc 2.17 and musl 1.2 both have; a new one is looked up in both before it is added here."""


@then("NVML asks the C library only for what glibc and musl both have")
def _(world: World) -> None:
    """No other library is needed, and no function that one of the two lacks: else its processes cannot load it."""
    tables = elf.read(world.nvml().library)
    strange = sorted(tables.undefined - _OF_BOTH)
    world.check(not strange, "functions that only one of them has", expected=[], observed=strange)
    others = sorted(name for name in tables.needed if not name.startswith(("libc.", "libdl.")))
    world.check(not others, "other libraries", expected=[], observed=others)


@then("asking a GPU makes no system call")
def _(world: World) -> None:
    """Seven getters in a process to which the kernel allows nothing but to print the outcome."""
    component = world.nvml()
    found = component.tell(_QUIET, str(component.library))
    if found == ["unconfined"]:
        raise Untestable("this kernel does not confine processes (seccomp)")
    world.check(found == ["answered"], "the getters", expected="answered", observed=" ".join(found))


@then("NVML can be loaded at once and lazily, and lacks no function of its own")
def _(world: World) -> None:
    """By dlopen with RTLD_NOW, as C and Python do, and with RTLD_LAZY and RTLD_GLOBAL, as Go does."""
    component = world.nvml()
    for mode in ("RTLD_NOW", "RTLD_LAZY"):
        found = component.tell(_LOAD, str(component.library), mode)
        world.check(found == ["0", "0"], f"loaded with {mode}", expected="0 0", observed=" ".join(found))
    missing = sorted(name for name in elf.read(component.library).undefined if name.startswith("nvml"))
    world.check(not missing, "functions that it calls and does not have", expected=[], observed=missing)


@then("NVML exports its own functions and nothing else")
def _(world: World) -> None:
    """Names that begin with nvml, or with fnvml_, which is the fake's own."""
    foreign = sorted(n for n in elf.read(world.nvml().library).exported if not n.startswith(("nvml", "fnvml_")))
    world.check(not foreign, "other names", expected=[], observed=foreign)


@then("the library's file is the one of the driver's version, under the name that programs ask for")
def _(world: World) -> None:
    """libnvidia-ml.so.1 leads to the regular file libnvidia-ml.so.<driver version>, whose SONAME is the short one."""
    component = world.nvml()
    version = component.module.nvmlSystemGetDriverVersion()
    found = (component.library.resolve().name, component.library.is_file(), elf.read(component.library).name)
    wanted = (f"libnvidia-ml.so.{version}", True, "libnvidia-ml.so.1")
    world.check(found == wanted, "file, whether regular, SONAME", expected=wanted, observed=found)


@then("each number that a GPU has arrives in its own field")
def _(world: World) -> None:
    """Numbers that are all different are set, and read where the binding of each structure looks for them."""
    component = world.nvml()
    nvml, handle = component.module, component.handle()
    for field, value in {
        "memory_total": 80 << 30,
        "memory_reserved": 7 << 20,
        "memory_used": 11 << 20,
        "bar1_total": 13 << 20,
        "bar1_used": 3 << 20,
        "utilization_gpu": 17,
        "utilization_memory": 19,
    }.items():
        component.node.set(0, field, value)
    memory, bar = nvml.nvmlDeviceGetMemoryInfo(handle, nvml.nvmlMemory_v2), nvml.nvmlDeviceGetBAR1MemoryInfo(handle)
    rates = nvml.nvmlDeviceGetUtilizationRates(handle)
    found = {
        "total": memory.total,
        "reserved": memory.reserved,
        "used": memory.used,
        "bar1Total": bar.bar1Total,
        "bar1Used": bar.bar1Used,
        "bar1Free": bar.bar1Free,
        "gpu": rates.gpu,
        "memory": rates.memory,
    }
    wanted = {
        "total": 80 << 30,
        "reserved": 7 << 20,
        "used": 11 << 20,
        "bar1Total": 13 << 20,
        "bar1Used": 3 << 20,
        "bar1Free": 10 << 20,
        "gpu": 17,
        "memory": 19,
    }
    world.check(found == wanted, "fields of three structures", expected=wanted, observed=found)


@then("NVML leaves the threads and signals of its process alone")
def _(world: World) -> None:
    """As many threads, the same signals caught, ignored and blocked; and no storage for each thread."""
    component = world.nvml()
    found = component.tell(_PROCESS, str(component.library))
    world.check(found == ["False", "True"], "threads and signals", expected="unchanged", observed=" ".join(found))
    storage = elf.read(component.library).thread_storage
    world.check(not storage, "thread-local storage", expected="none", observed="some")


@then("32 threads at once get the answers that one gets alone")
def _(world: World) -> None:
    """UUID and memory of every GPU, asked 200 times by each thread, in a process that ends in order."""
    component = world.nvml()
    found = component.tell(_CROWD, str(component.library), much=True)
    told = re.fullmatch(r"\d+", found[0]) if len(found) == 1 else None
    world.check(bool(told) and found == ["0"], "wrong answers", expected="0", observed=" ".join(found))
