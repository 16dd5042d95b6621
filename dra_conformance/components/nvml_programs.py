"""Small programs that use NVML in a process of their own, by name; each prints its outcome as one line.

They check what only a separate process shows: how the library is loaded, forks, threads, and missing privileges. The
first argument of each is the path of the library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Program:
    """One program.

    Attributes:
        code: Python source, run with `python -c`.
        arguments: what follows the library's path.
        long: whether its work takes its time on a busy machine.
        interactive: whether it prints one line for each line that it reads, instead of one in all.
        unprivileged: whether it gives up root; its second argument is then the node's folder.
    """

    code: str
    arguments: tuple[str, ...] = ()
    long: bool = False
    interactive: bool = False
    unprivileged: bool = False


_LOAD: Final = """
import ctypes, os, sys
mode = {"RTLD_NOW": os.RTLD_NOW, "RTLD_LAZY": os.RTLD_LAZY | os.RTLD_GLOBAL}[sys.argv[2]]
library = ctypes.CDLL(sys.argv[1], mode=mode)
print(f"init {library.nvmlInit_v2()}, shutdown {library.nvmlShutdown()}")
"""

_LOAD_BY_NAME: Final = """
import ctypes, shutil, sys, tempfile
def gpus(library):
    count = ctypes.c_uint()
    library.nvmlInit_v2(), library.nvmlDeviceGetCount_v2(ctypes.byref(count)), library.nvmlShutdown()
    return f"{count.value} GPUs"
# By name first: the loader would find the copy by its SONAME.
first = gpus(ctypes.CDLL("libnvidia-ml.so.1"))
with tempfile.TemporaryDirectory() as folder:
    print(f"by name {first}, a copy {gpus(ctypes.CDLL(shutil.copy(sys.argv[1], folder)))}")
"""

_SESSIONS: Final = """
import ctypes, os, sys
library = ctypes.CDLL(sys.argv[1])
def resources():
    files = []
    for entry in os.listdir("/proc/self/fd"):
        try:
            files.append(os.readlink(f"/proc/self/fd/{entry}"))
        except OSError:  # the descriptor of this listing
            continue
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        maps = [line for line in file if "nvidia" in line or line.rstrip().endswith("/state")]
    return len([path for path in files if "nvidia" in path or path.endswith("/state")]), len(maps)
library.nvmlInit_v2(), library.nvmlShutdown()
files, maps = resources()
for _ in range(200):
    if library.nvmlInit_v2() or library.nvmlShutdown():
        break
more = resources()
count = ctypes.c_uint()
library.nvmlInit_v2()
print(f"more files {more[0] - files}, more mappings {more[1] - maps}, "
      f"next session {library.nvmlDeviceGetCount_v2(ctypes.byref(count))}")
"""

_FORK: Final = """
import ctypes, os, sys
library = ctypes.CDLL(sys.argv[1])
count = ctypes.c_uint()
library.nvmlInit_v2()
source, sink = os.pipe()
if os.fork() == 0:
    before = library.nvmlDeviceGetCount_v2(ctypes.byref(count))
    library.nvmlInit_v2()
    after = library.nvmlDeviceGetCount_v2(ctypes.byref(count))
    os.write(sink, f"child {before}, child after nvmlInit {after}".encode())
    os._exit(0)
os.wait()
print(f"{os.read(source, 99).decode()}, parent {library.nvmlDeviceGetCount_v2(ctypes.byref(count))}")
"""

_THREADS: Final = """
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
def read(number):
    gpu = number % count.value
    start.wait()
    for _ in range(200):
        memory = (ctypes.c_ulonglong * 3)()
        code = library.nvmlDeviceGetMemoryInfo(handles[gpu], memory)
        if uuid(gpu) != alone[gpu] or code or memory[0] != memory[1] + memory[2]:
            wrong.append(gpu)
threads = [threading.Thread(target=read, args=(number,)) for number in range(32)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(f"wrong values {len(wrong)}")
"""

_COUNT: Final = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.nvmlInit_v2()
handle, found, count = ctypes.c_void_p(), (ctypes.c_void_p * 8)(), ctypes.c_uint()
library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle))
for _ in sys.stdin:
    code = library.nvmlDeviceGetGpuInstances(handle, 19, found, ctypes.byref(count))
    print(f"error {code}" if code else f"{count.value} instances", flush=True)
"""

_SET_MODES: Final = """
import ctypes, os, sys
library = ctypes.CDLL(sys.argv[1])
if sys.argv[2]:
    os.chdir(sys.argv[2])
    library.fnvml_use_state(b"state")
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
handle, number = ctypes.c_void_p(), ctypes.c_uint()
library.nvmlInit_v2() and print("nvmlInit failed")
library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle)) and print("no GPU 0")
codes = []
for name in ("PersistenceMode", "ComputeMode"):  # set to the present value: a library that permits it changes nothing
    code = getattr(library, "nvmlDeviceGet" + name)(handle, ctypes.byref(number))
    codes.append(f"{name} {code or getattr(library, 'nvmlDeviceSet' + name)(handle, number)}")
print(", ".join(codes))
"""

# On a busy machine a thread may begin its wait after the call that should find it waiting: hence several attempts.
_BESIDE_A_WAIT: Final = """
import ctypes, sys, threading, time
library, call, expected = ctypes.CDLL(sys.argv[1]), sys.argv[2], sys.argv[3]
library.nvmlInit_v2()
handle, data = ctypes.c_void_p(), ctypes.create_string_buffer(64)
library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle))
for attempt in range(5):
    events, more, outcome, began = ctypes.c_void_p(), ctypes.c_void_p(), [], threading.Event()
    library.nvmlEventSetCreate(ctypes.byref(events))
    library.nvmlDeviceRegisterEvents(handle, ctypes.c_ulonglong(8), events)
    def wait():
        began.set()
        code = library.nvmlEventSetWait_v2(events, data, 600)
        outcome.extend((code, time.monotonic()))
    thread = threading.Thread(target=wait)
    thread.start()
    began.wait()
    time.sleep(0.2)  # until the thread is in its call; a miss is tried again
    code = {
        "EventSetFree": lambda: library.nvmlEventSetFree(events),
        "EventSetCreate": lambda: library.nvmlEventSetCreate(ctypes.byref(more)),
        "RegisterEvents": lambda: library.nvmlDeviceRegisterEvents(handle, ctypes.c_ulonglong(8), events),
        "Shutdown": lambda: library.nvmlShutdown(),
        "DeviceGetCount": lambda: library.nvmlDeviceGetCount_v2(ctypes.byref(ctypes.c_uint())),
        "Init": lambda: library.nvmlInit_v2(),
    }[call]()
    returned = time.monotonic()
    thread.join()
    when = "after" if returned > outcome[1] - 0.1 else "during"
    if (when, outcome[0]) == (expected, 10):
        break
    library.nvmlInit_v2()
print(f"{call} {code}, {when} the wait, which ends with {outcome[0]}")
"""
_AFTER: Final = ("EventSetFree", "EventSetCreate", "RegisterEvents", "Shutdown")
_DURING: Final = ("DeviceGetCount", "Init")

PROGRAMS: Final[Mapping[str, Program]] = {
    "load with RTLD_NOW": Program(_LOAD, ("RTLD_NOW",)),
    "load with RTLD_LAZY and RTLD_GLOBAL": Program(_LOAD, ("RTLD_LAZY",)),
    "load by name": Program(_LOAD_BY_NAME),
    "200 sessions": Program(_SESSIONS, long=True),
    "fork": Program(_FORK),
    "32 threads": Program(_THREADS, long=True),
    "count GPU instances of profile 19": Program(_COUNT, interactive=True),
    "set modes without privileges": Program(_SET_MODES, unprivileged=True),
    **{f"{call} beside a wait": Program(_BESIDE_A_WAIT, (call, "after"), long=True) for call in _AFTER},
    **{f"{call} beside a wait": Program(_BESIDE_A_WAIT, (call, "during"), long=True) for call in _DURING},
}
"""All programs. RTLD_NOW is how C and Python load libraries, RTLD_LAZY with RTLD_GLOBAL how go-nvml does."""
