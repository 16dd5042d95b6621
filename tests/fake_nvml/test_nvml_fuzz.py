"""Random functions with random arguments: any answer is good, a crash or a hang is not.

Prototypes are read from the C sources as the preprocessor leaves them, so every implemented function takes part, with
handles, numbers and buffers of the right kind and every wrong content: stale and foreign handles, NULL, odd versions,
huge numbers. What only the caller can break is spared: a length or count is never larger than the buffer behind it.
With the sanitizers (`make nvml-sanitized`) each write beyond a structure is found too.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

import pytest

import fake_nvml
from fake_nvml.src import gen_layout
from tests.fake_nvml.prototypes import prototypes

Make = Callable[..., fake_nvml.Node]
Start = Callable[[fake_nvml.Node, str], "subprocess.Popen[str]"]

SECONDS = float(os.environ.get("NVML_FUZZ_SECONDS", "3"))

FUZZ = r"""
import ctypes, random, signal, sys, time
import pynvml as p
prototypes, seed, seconds = %r, %r, %r
rng = random.Random(seed)
p.nvmlInit()
lib = p.nvmlLib
handles = [0, 0x10, 0xDEADBEEF, 0x5E0000000000, 0x5E0000000000 + 2**39, 2**47 - 2, 2**64 - 1]
handles += [rng.randrange(0x5E0000000000, 0x5E0000000000 + 2**40) for _ in range(20)]
for index in range(p.nvmlDeviceGetCount()):
    handles += [ctypes.cast(p.nvmlDeviceGetHandleByIndex(index), ctypes.c_void_p).value] * 4
numbers = [0, 1, 2, 3, 5, 7, 9, 14, 15, 19, 20, 63, 64, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1]
SIZE = 1 << 16
buffers = [ctypes.create_string_buffer(SIZE) for _ in range(6)]
texts = [b"", b"GPU-", b"MIG-", b"GPU-0/1/2", b"00000000:53:00.0", b"::::", b"x" * 300, b"0000:00:1E.0"]
versions = [0, 1, 0x02000028, 0x01000008, 0x02000098, 0x03000098, 0x02000088, 0x02000024, 0x03000028, 0xFFFFFFFF]
signal.alarm(int(seconds) + 60)
end, calls, codes, keep = time.monotonic() + seconds, 0, set(), []
while time.monotonic() < end:
    for _ in range(200):
        name, parameters = prototypes[rng.randrange(len(prototypes))]
        arguments, keep = [], []
        for place, (kind, parameter) in enumerate(parameters):
            buffer = buffers[place %% len(buffers)]
            if kind == "handle":
                arguments.append(ctypes.c_void_p(handles[rng.randrange(len(handles))]))
            elif kind == "text":
                arguments.append(ctypes.c_char_p(rng.choice([None, *texts])))
            elif kind == "count":
                keep.append(ctypes.c_uint(rng.randrange(0, 64)))
                arguments.append(rng.choice([None, ctypes.byref(keep[-1])]))
            elif kind == "pointer":
                head = rng.choice(versions).to_bytes(4, "little") + rng.choice(numbers).to_bytes(4, "little")
                body = bytes(16) + bytes(8 * rng.randrange(0, 8))  # pointers inside a structure are NULL
                buffer[0 : len(head + body)] = head + body
                arguments.append(rng.choice([None, buffer, buffer, buffer]))
            elif kind == "length":
                arguments.append(ctypes.c_uint(rng.choice([0, 1, 8, 64, 96, 512])))
            elif kind == "wait":
                arguments.append(ctypes.c_uint(rng.choice([0, 1, 3])))
            else:
                arguments.append(ctypes.c_ulonglong(rng.choice(numbers)))
        codes.add(getattr(lib, name)(*arguments))
        calls += 1
        for place, (kind, parameter) in enumerate(parameters):  # handles that came back are used again
            if kind == "pointer" and arguments[place] is not None and len(handles) < 300:
                value = int.from_bytes(buffers[place %% len(buffers)][:8], "little")
                if 0x5E0000000000 <= value < 0x5E0000000000 + 2**41:
                    handles.append(value)
print(calls, len(codes))
"""


def test_all_implemented_functions_take_part() -> None:
    found = {name for name, _ in prototypes()}
    left_out = {"nvmlErrorString", "nvmlInit", "nvmlInit_v2", "nvmlInitWithFlags", "nvmlShutdown"}
    assert gen_layout.implemented() - left_out <= found


@pytest.mark.parametrize("inventory", ["dgx-h100-mig", "mixed"])
def test_random_calls_end_in_an_answer(make_node: Make, start_python: Start, inventory: str) -> None:
    seed = int(os.environ.get("NVML_FUZZ_SEED", "1"))
    process = start_python(make_node(inventory), FUZZ % (prototypes(), seed, SECONDS / 2))
    out, err = process.communicate(timeout=SECONDS + 90)
    assert process.returncode == 0, f"seed {seed}: {err[-4000:]}"
    calls, codes = map(int, out.split())
    assert calls > 1000
    assert codes >= 5
