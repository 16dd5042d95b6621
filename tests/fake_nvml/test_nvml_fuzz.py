"""Random functions with random arguments: any return code is accepted, a crash or a hang is not.

Prototypes are read from the C sources as the preprocessor leaves them, so every implemented function takes part, with
handles, numbers and buffers of the right kind and every wrong content: stale and foreign handles, NULL, odd versions,
huge numbers. Only invalid memory of the caller is excluded: a length or count is never larger than its buffer.

Each function must get past the checks of its arguments: versions are found by trying, and handles of every kind and
objects that random calls removed are created again after each thousand. With the sanitizers (`make nvml-sanitized`)
each write beyond a structure is found too.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable

import fake_nvml
from fake_nvml.src import gen_layout
from tests.fake_nvml.prototypes import prototypes

Make = Callable[..., fake_nvml.Node]
Start = Callable[[fake_nvml.Node, str], "subprocess.Popen[str]"]

SECONDS = float(os.environ.get("NVML_FUZZ_SECONDS", "3"))

#: Calls before the outcome is judged: a number and no time, so that a slow machine sees the same calls.
CALLS = 20_000

FUZZ = r"""
import ctypes, json, os, random, re, signal, sys, time
import pynvml as p
from fake_nvml import Node
prototypes, seed, seconds, calls_at_least = %r, %r, %r, %r
rng = random.Random(seed)
node = Node.open(os.path.dirname(os.environ["FAKE_NVML_STATE"]))
p.nvmlInit()
lib = p.nvmlLib
ODD = [0, 0x10, 0xDEADBEEF, 0x5E0000000000, 0x5E0000000000 + 2**39, 2**47 - 2, 2**64 - 1]
ODD += [rng.randrange(0x5E0000000000, 0x5E0000000000 + 2**40) for _ in range(9)]
numbers = [0, 0, 1, 1, 2, 2, 3, 5, 7, 9, 14, 15, 19, 20, 63, 64, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1]
SIZE = 1 << 16
buffers = [ctypes.create_string_buffer(SIZE) for _ in range(6)]
def numbers_of(kind):
    found = re.findall(r"_v(\d)", kind.__name__)
    return [ctypes.sizeof(kind) | int(n) << 24 for n in (found or "12")]

kinds = [k for k in vars(p).values() if isinstance(k, type) and issubclass(k, ctypes.Structure)]
kinds = [k for k in kinds if getattr(k, "_fields_", None) and k._fields_[0][0] == "version"]
versions = sorted({v for k in kinds for v in numbers_of(k)} | {1, 2})
stale, handles, texts, known, made_here, devices = [], [], [], {}, {}, set()
value = lambda handle: ctypes.cast(handle, ctypes.c_void_p).value

def begin_again():
    "Everything that the calls took away is there again, and handles of every kind are known."
    global handles, texts, known
    node.restore()
    p.nvmlShutdown()
    p.nvmlInit()  # the former session's sets and samples are gone
    stale.extend(rng.sample(handles, min(3, len(handles))))
    handles, texts = [], [b"", b"GPU-", b"MIG-", b"GPU-0/1/2", b"::::", b"x" * 300, b"0000:00:1E.0"]
    made, number, samples = ctypes.c_void_p(), ctypes.c_uint(), ctypes.c_void_p()
    for index in range(p.nvmlDeviceGetCount()):
        gpu = p.nvmlDeviceGetHandleByIndex(index)
        handles += [value(gpu)] * 2
        devices.add(value(gpu))
        texts += [p.nvmlDeviceGetUUID(gpu).encode(), p.nvmlDeviceGetPciInfo(gpu).busId.encode()] if index < 2 else []
        for gi in range(15):
            if lib.nvmlDeviceGetGpuInstanceById(gpu, gi, ctypes.byref(made)) == 0:
                instance = made.value
                handles += [instance] * 3
                for ci in range(8):
                    if lib.nvmlGpuInstanceGetComputeInstanceById(made, ci, ctypes.byref(samples)) == 0:
                        handles += [samples.value] * 3
        for mig in range(7):
            if lib.nvmlDeviceGetMigDeviceHandleByIndex(gpu, mig, ctypes.byref(made)) == 0:
                handles += [made.value] * 3
    known = {"gi": [], "handle": [h for h in handles if h not in devices], "set": [], "sample": []}
    for kind, make in (("set", lib.nvmlEventSetCreate), ("sample", lib.nvmlGpmSampleAlloc)):
        for _ in range(2):
            if make(ctypes.byref(made)) == 0:
                known[kind].append(made.value)
    made_here["sample"] = known["sample"]
    request = ctypes.create_string_buffer((16 | 1 << 24).to_bytes(4, "little"), 64)
    if lib.nvmlSystemEventSetCreate(request) == 0:
        made_here["system"] = [int.from_bytes(request[8:16], "little")]
    known["gi"] = known["handle"]
    for sample in known["sample"]:
        lib.nvmlGpmSampleGet(ctypes.c_void_p(handles[0]), ctypes.c_void_p(sample))

def handle_for(parameter):
    "One of the kind that the function takes, where the name of its parameter says which."
    return rng.choice(known.get(parameter) or handles)

def fill(buffer, name, free):
    "A structure's beginning; pointers inside of it are NULL."
    good = accepted.get(name)
    version = rng.choice(good) if good and free > 1 else rng.choice(versions) if free else 0
    head = version.to_bytes(4, "little") + rng.choice(numbers).to_bytes(4, "little")
    body = (rng.choice(numbers).to_bytes(4, "little") if rng.random() < 0.5 else bytes(4)) + bytes(200)
    if name.startswith(("nvmlSystemEvent", "nvmlSystemRegister", "nvmlGpmMetrics")):  # these hold handles
        inner = made_here.get("sample" if "Gpm" in name else "system") or [0]
        body = b"".join(rng.choice(inner + [handles[0]]).to_bytes(8, "little") for _ in range(2)) + body
    if name == "nvmlSystemEventSetWait":  # it waits as long as it is told, and writes elsewhere
        room = rng.choice([0, ctypes.addressof(buffers[5])]).to_bytes(8, "little")
        head, body = head[:4] + bytes(4), body[:8] + room + rng.randrange(9).to_bytes(4, "little") + bytes(40)
    buffer[0 : len(head + body)] = head + body

def arguments_for(name, parameters, keep):
    free = rng.randrange(6)
    good = rng.random() < 0.7  # nothing but arguments of the right kind
    arguments = []
    for place, (kind, parameter) in enumerate(parameters):
        buffer = buffers[place %% len(buffers)]
        if kind == "handle":
            arguments.append(ctypes.c_void_p(handle_for(parameter) if good else rng.choice(ODD + stale + handles[:9])))
        elif kind == "text":
            arguments.append(ctypes.c_char_p(rng.choice(texts if good else [None, *texts])))
        elif kind == "count":
            keep.append(ctypes.c_uint(rng.randrange(0, 64)))
            arguments.append(ctypes.byref(keep[-1]) if good else rng.choice([None, ctypes.byref(keep[-1])]))
        elif kind == "pointer":
            fill(buffer, name, free)
            arguments.append(buffer if good else rng.choice([None, buffer]))
        elif kind == "length":
            arguments.append(ctypes.c_uint(rng.choice([0, 1, 8, 64, 96, 512])))
        elif kind == "wait":
            arguments.append(ctypes.c_uint(rng.choice([0, 0, 1])))
        else:
            arguments.append(ctypes.c_ulonglong(rng.choice(numbers if rng.random() < 0.5 else [0, 0, 1, 2])))
    return arguments

accepted = {}
begin_again()
signal.alarm(int(seconds) + 600)
for name, parameters in prototypes:  # which versions a function takes it says itself
    if any(kind == "pointer" for kind, _ in parameters):
        for version in versions:
            words = []
            for place, (kind, _) in enumerate(parameters):
                buffers[place][0:12] = version.to_bytes(4, "little") + bytes(8)
                words.append(ctypes.c_void_p(handles[0]) if kind == "handle" else buffers[place] if kind == "pointer"
                             else None if kind == "text" else ctypes.byref(ctypes.c_uint(1)) if kind == "count"
                             else 96 if kind == "length" else 0)
            if getattr(lib, name)(*words) != 25:
                accepted.setdefault(name, []).append(version)
accepted = {name: found for name, found in accepted.items() if len(found) < len(versions)}
end, calls, codes = time.monotonic() + seconds, 0, {name: set() for name, _ in prototypes}
while calls < calls_at_least or time.monotonic() < end:
    begin_again()
    for _ in range(1000):
        name, parameters = prototypes[calls %% len(prototypes)] if calls %% 2 else rng.choice(prototypes)
        keep = []
        arguments = arguments_for(name, parameters, keep)
        code = getattr(lib, name)(*arguments)
        if calls < calls_at_least:
            codes[name].add(code)
        calls += 1
        for place, (kind, parameter) in enumerate(parameters):  # handles that came back are used again
            if kind == "pointer" and arguments[place] is not None and len(handles) < 300:
                got = int.from_bytes(buffers[place %% len(buffers)][:8], "little")
                if 0x5E0000000000 <= got < 0x5E0000000000 + 2**41:
                    handles.append(got)
for name, parameters in prototypes:  # chance has passed over some that need much at once
    for turn in range(3000):
        if codes[name] - {1, 2, 25} or name.startswith("nvmlUnit"):
            break
        turn %% 300 or begin_again()
        keep = []
        codes[name].add(getattr(lib, name)(*arguments_for(name, parameters, keep)))
print(json.dumps([calls, {name: sorted(found) for name, found in codes.items()}]))
"""

#: Implemented functions that can only refuse what they are asked, each group with its reason.
REFUSES = (
    r"nvmlUnit(Get|Set)",  # an S-class unit, of which no node has one
    r"nvmlGet(Excluded|Blacklist)DeviceInfoByIndex",  # no GPU is excluded
)


def test_all_implemented_functions_take_part() -> None:
    found = {name for name, _ in prototypes()}
    left_out = {"nvmlErrorString", "nvmlInit", "nvmlInit_v2", "nvmlInitWithFlags", "nvmlShutdown"}
    assert gen_layout.implemented() - left_out <= found


def test_random_calls_end_in_an_answer(make_node: Make, start_python: Start) -> None:
    """And not in the first check of their arguments: each function is seen to do its work, or to have none to do."""
    seed = int(os.environ.get("NVML_FUZZ_SEED", "1"))
    seen: dict[str, set[int]] = {}
    for inventory in ("dgx-h100-mig", "mixed"):
        process = start_python(make_node(inventory), FUZZ % (prototypes(), seed, SECONDS / 2, CALLS))
        out, err = process.communicate(timeout=SECONDS + 660)
        assert process.returncode == 0, f"{inventory}, seed {seed}: {err[-4000:]}"
        calls, codes = json.loads(out)
        assert calls >= CALLS
        for name, found in codes.items():
            seen.setdefault(name, set()).update(found)
    shallow = [name for name in sorted(gen_layout.implemented() & seen.keys()) if seen[name] <= {1, 2, 25}]
    assert [name for name in shallow if not any(re.match(row, name) for row in REFUSES)] == []
