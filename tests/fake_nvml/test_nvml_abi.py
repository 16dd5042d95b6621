"""Exports, versioned structures, buffers and lifetimes: what every C caller relies on."""

from __future__ import annotations

import ctypes
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pynvml
import pytest

import fake_nvml
from fake_nvml.src import gen_layout
from fake_nvml.state import set_field

Make = Callable[..., fake_nvml.Node]
Load = Callable[[fake_nvml.Node], Any]
Run = Callable[[fake_nvml.Node, str], str]
Start = Callable[[fake_nvml.Node, str], "subprocess.Popen[str]"]


def exported() -> set[str]:
    out = subprocess.run(
        ["nm", "-D", "--defined-only", str(fake_nvml.library_path())], capture_output=True, text=True, check=True
    )
    return {line.split()[-1] for line in out.stdout.splitlines() if line.split()[-2] in "TW"}


def test_exports_are_the_reviewed_list_and_all_that_pynvml_knows() -> None:
    """NVML-001, 003."""
    names = exported()
    wanted = set(gen_layout.read_exports())
    known = set(re.findall(r"_nvmlGetFunctionPointer\(\s*[\"'](\w+)[\"']", inspect.getsource(pynvml)))
    assert wanted <= names
    assert known <= names, f"new in nvidia-ml-py: add to src/abi/exports.txt: {sorted(known - names)}"
    assert {name for name in names - wanted if not name.startswith("fnvml_")} == set()


@pytest.mark.parametrize("name", sorted(gen_layout.OUTPUTS))
def test_generated_sources_are_current(name: str) -> None:
    path = Path(gen_layout.__file__).parent / name
    assert path.read_text() == gen_layout.OUTPUTS[name](), "run fake_nvml/src/gen_layout.py and commit"


def test_soname_and_no_undefined_symbols() -> None:
    """NVML-002, 004: binds now, has a SONAME, runs nothing when loaded."""
    out = subprocess.run(
        ["readelf", "-dW", str(fake_nvml.library_path())], capture_output=True, text=True, check=True
    ).stdout
    assert "Library soname: [libnvidia-ml.so.1]" in out
    ctypes.CDLL(str(fake_nvml.library_path()), mode=os.RTLD_NOW)
    segments = subprocess.run(
        ["readelf", "-lW", str(fake_nvml.library_path())], capture_output=True, text=True, check=True
    ).stdout
    assert "TLS" not in segments


def test_uninitialized_and_reference_count(make_node: Make) -> None:
    """NVML-011, 012, 014."""
    lib = fake_nvml.load_pynvml(make_node())
    raw = lib.nvmlLib
    count = ctypes.c_uint()
    assert raw.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 1
    assert raw.nvmlDeviceGetSupportedVgpus(None, None, None) == 1
    assert raw.nvmlShutdown() == 1
    raw.nvmlErrorString.restype = ctypes.c_char_p
    assert raw.nvmlErrorString(0) == b"Success"
    assert raw.nvmlErrorString(15) == b"GPU is lost"
    assert raw.nvmlErrorString(12345) == b"Unknown Error"
    assert [raw.nvmlInit_v2(), raw.nvmlInit_v2(), raw.nvmlShutdown()] == [0, 0, 0]
    assert raw.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0
    assert [raw.nvmlShutdown(), raw.nvmlShutdown()] == [0, 1]
    assert raw.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 1
    fds = len(os.listdir("/proc/self/fd"))
    maps = len(Path("/proc/self/maps").read_text().splitlines())
    for _ in range(1000):
        assert raw.nvmlInit_v2() == 0
        assert raw.nvmlShutdown() == 0
    assert len(os.listdir("/proc/self/fd")) == fds
    assert len(Path("/proc/self/maps").read_text().splitlines()) <= maps + 2


def test_pynvml_names_every_error_as_the_library_does(make_node: Make, nvml: Load) -> None:
    lib = nvml(make_node())
    for code in [*range(1, 31), 999]:
        text = lib.nvmlErrorString(code)
        assert text
        assert (text == "Unknown Error") == (code == 999)


def test_versions_are_checked_before_anything_is_written(make_node: Make, nvml: Load) -> None:
    """NVML-006, 007: wrong version answers an error and leaves the buffer; the right one stays inside its size."""
    lib = nvml(make_node())
    handle = lib.nvmlDeviceGetHandleByIndex(0)
    for function, extra, size, number in (
        ("nvmlDeviceGetMemoryInfo_v2", (), 40, 2),
        ("nvmlDeviceGetGpuFabricInfoV", (), 36, 2),
        ("nvmlDeviceGetGpuFabricInfoV", (), 40, 3),
        ("nvmlDeviceGetGpuInstanceProfileInfoV", (0,), 152, 2),
        ("nvmlDeviceGetGpuInstanceProfileInfoV", (0,), 152, 3),
        ("nvmlDeviceGetPciInfoExt", (), 64, 1),
        ("nvmlDeviceGetTemperatureV", (), 12, 1),
        ("nvmlDeviceGetMarginTemperature", (), 8, 1),
        ("nvmlDeviceGetAddressingMode", (), 8, 1),
        ("nvmlDeviceGetSramEccErrorStatus", (), 104, 1),
    ):
        call = getattr(lib.nvmlLib, function)
        # Recorded on one H100, driver 580.159.04: FUNCTION_NOT_FOUND and INVALID_ARGUMENT of these two.
        other = {"nvmlDeviceGetMemoryInfo_v2": 13, "nvmlDeviceGetGpuInstanceProfileInfoV": 2}.get(function, 25)
        for version, expected in (
            (size | number << 24, 0),
            (0, other),
            (size | 9 << 24, other),
            (size - 4 | number << 24, other),
        ):
            buffer = ctypes.create_string_buffer(
                version.to_bytes(4, "little") + bytes(size - 4) + b"\xaa" * 256, size + 256
            )
            before = buffer.raw
            assert call(handle, *extra, buffer) == expected, (function, hex(version))
            assert buffer.raw[size:] == b"\xaa" * 256
            if expected:
                assert buffer.raw == before


def test_text_buffers(make_node: Make, nvml: Load) -> None:
    """NVML-010: a buffer that cannot hold the end is left alone."""
    lib = nvml(make_node())
    handle = lib.nvmlDeviceGetHandleByIndex(0)
    for function in ("nvmlDeviceGetName", "nvmlDeviceGetUUID", "nvmlDeviceGetSerial", "nvmlDeviceGetVbiosVersion"):
        call = getattr(lib.nvmlLib, function)
        full = ctypes.create_string_buffer(96)
        assert call(handle, full, 96) == 0
        length = len(full.value)
        for size in (0, 1, length):
            buffer = ctypes.create_string_buffer(b"\xaa" * 96, 96)
            assert call(handle, buffer, size) == 7
            assert buffer.raw == b"\xaa" * 96
        assert call(handle, full, length + 1) == 0
        assert call(handle, None, 96) == 2


def test_null_pointers_and_foreign_handles(make_node: Make, nvml: Load) -> None:
    """NVML-009, 045: an argument error, never a crash."""
    lib = nvml(make_node())
    handle = lib.nvmlDeviceGetHandleByIndex(0)
    for function in sorted(gen_layout.implemented()):
        if function in ("nvmlErrorString", "nvmlShutdown") or function.startswith("nvmlInit"):
            continue
        call = getattr(lib.nvmlLib, function)
        takes_handle = function.startswith(("nvmlDevice", "nvmlGpuInstance", "nvmlComputeInstance", "nvmlEventSet"))
        by_address = ("nvmlDeviceModifyDrain", "nvmlDeviceQueryDrain", "nvmlDeviceRemoveGpu", "nvmlDeviceDiscoverGpus")
        if (
            function.startswith(("nvmlDeviceGetCount", "nvmlDeviceGetHandleBy", *by_address))
            or function == "nvmlEventSetCreate"
        ):
            takes_handle = False  # the first argument is a pointer to memory
        foreign = [ctypes.c_void_p(0xDEADBEEF), ctypes.c_void_p(0x5E0000000000 + 2**39), handle]
        for first in [None, *(foreign if takes_handle else [])]:
            code = call(first, None, None, None, None, None)
            assert code in (0, 2, 3, 6, 7, 19, 23, 25, 27, 999), (function, code)


def test_functions_of_newer_branches_answer_as_if_missing(make_node: Make, nvml: Load) -> None:
    lib = nvml(make_node())
    handle = lib.nvmlDeviceGetHandleByIndex(0)
    with pytest.raises(lib.NVMLError_FunctionNotFound):
        lib.nvmlDeviceGetGpuFabricInfo_v4(handle, None)
    with pytest.raises(lib.NVMLError_NotSupported):
        lib.nvmlDeviceGetSupportedVgpus(handle)


def test_a_forked_child_is_uninitialized_until_it_calls_init(make_node: Make, run_python: Run) -> None:
    """NVML-015, and what the H200 machine showed: initialisation is per process."""
    out = run_python(
        make_node(),
        """
import os, ctypes, pynvml as p
p.nvmlInit()
n = ctypes.c_uint()
r, w = os.pipe()
if os.fork() == 0:
    a = p.nvmlLib.nvmlDeviceGetCount_v2(ctypes.byref(n))
    p.nvmlInit()
    s = p.nvmlEventSetCreate()
    p.nvmlDeviceRegisterEvents(p.nvmlDeviceGetHandleByIndex(0), 8, s)
    try: p.nvmlEventSetWait_v2(s, 20)
    except p.NVMLError_Timeout: b = "timeout"
    os.write(w, f"{a} {p.nvmlDeviceGetCount()} {b}".encode()); os._exit(0)
os.wait()
print(os.read(r, 99).decode(), p.nvmlDeviceGetCount())
""",
    )
    assert out.split() == ["1", "8", "timeout", "8"]


def test_threads_see_whole_values(make_node: Make, start_python: Start) -> None:
    """NVML-018: readers of several threads while a writer keeps both fields equal."""
    node = make_node()
    code = """
import sys, threading, pynvml as p
p.nvmlInit()
h = p.nvmlDeviceGetHandleByIndex(0)
stop, bad, n = threading.Event(), [], []
def read():
    k = 0
    while not stop.is_set():
        u = p.nvmlDeviceGetUtilizationRates(h); k += 1
        if u.gpu != u.memory: bad.append((u.gpu, u.memory))
    n.append(k)
ts = [threading.Thread(target=read) for _ in range(8)]
[t.start() for t in ts]
sys.stdin.read()
stop.set(); [t.join() for t in ts]
print(len(bad), min(n) > 0)
"""
    process = start_python(node, code)
    for round_ in range(3000):
        with node.change() as txn:
            for field in ("utilization_gpu", "utilization_memory"):
                set_field(txn.state.gpus[0], field, round_ % 100)
    out, err = process.communicate("", timeout=30)
    assert process.returncode == 0, err
    assert out.split() == ["0", "True"]


def test_no_state_never_means_a_default_machine(tmp_path: Path) -> None:
    code = f"import ctypes; l=ctypes.CDLL({str(fake_nvml.library_path())!r}); print(l.nvmlInit_v2())"
    good = tmp_path / "node"
    with fake_nvml.Node.create("h200", good) as node:
        data = node.state_path.read_bytes()
    cases = {
        "missing": None,
        "empty": b"",
        "truncated": data[:-1],
        "foreign": b"\0" * len(data),
        "newer": data[:8] + (99).to_bytes(4, "little") + data[12:],
        "valid": data,
    }
    expected = {"missing": 9, "empty": 18, "truncated": 18, "foreign": 18, "newer": 18, "valid": 0}
    for name, content in cases.items():
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        out = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "FAKE_NVML_STATE": str(path)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert int(out.stdout) == expected[name], name
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "valid")
    out = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "FAKE_NVML_STATE": str(link)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(out.stdout) == 9


def test_a_damaged_state_never_crashes_a_client(make_node: Make, tmp_path: Path, start_python: Start) -> None:
    """With random bytes anywhere behind the header every getter still returns some code."""
    node = make_node("dgx-h100-mig")
    seed = tmp_path / "seed"
    seed.write_bytes(node.state_path.read_bytes())
    names = sorted(
        name
        for name in gen_layout.implemented()
        if name.startswith("nvmlDeviceGet")
        and not name.startswith(("nvmlDeviceGetCount", "nvmlDeviceGetHandleBy"))
        and "Affinity" not in name  # these take a length: a pointer in its place is the caller's own overrun
        and name not in ("nvmlDeviceGetSupportedPerformanceStates", "nvmlDeviceGetFieldValues")
    )
    indexed = [
        "nvmlDeviceGetGpuInstanceProfileInfo",
        "nvmlDeviceGetGpuInstanceRemainingCapacity",
        "nvmlDeviceGetNvLinkRemotePciInfo_v2",
        "nvmlDeviceGetGpuInstances",
        "nvmlDeviceGetGpuInstanceById",
        "nvmlDeviceGetClockInfo",
        "nvmlDeviceGetTemperatureThreshold",
    ]
    code = f"""
import ctypes, random, os, fake_nvml
data = bytearray(open({str(seed)!r}, "rb").read())
names = {names!r}
indexed = {indexed!r}
raw = ctypes.CDLL({str(fake_nvml.library_path())!r})
raw.fnvml_use_state({str(tmp_path / "damaged").encode()!r})
rng = random.Random(5)
for round_ in range(150):
    copy = bytearray(data)
    for _ in range(rng.choice([10, 1000, 20000])):
        copy[rng.randrange(4096, 4096 + 120000)] = rng.randrange(256)
    open({str(tmp_path / "damaged")!r}, "wb").write(copy)
    if raw.nvmlInit_v2() == 0:
        for gpu in range(3):
            handle = ctypes.c_void_p()
            if raw.nvmlDeviceGetHandleByIndex_v2(gpu, ctypes.byref(handle)): continue
            for name in names:
                buffers = [ctypes.create_string_buffer(65536) for _ in range(4)]
                getattr(raw, name)(handle, *buffers)
            for name in indexed:
                for index in range(20):
                    getattr(raw, name)(handle, index, *buffers)
            for index in range(8):
                mig = ctypes.c_void_p()
                if raw.nvmlDeviceGetMigDeviceHandleByIndex(handle, index, ctypes.byref(mig)) == 0:
                    for name in ("nvmlDeviceGetMemoryInfo", "nvmlDeviceGetAttributes_v2"):
                        getattr(raw, name)(mig, ctypes.create_string_buffer(4096))
                    raw.nvmlDeviceGetName(mig, ctypes.create_string_buffer(96), 96)
        raw.nvmlShutdown()
    os.unlink({str(tmp_path / "damaged")!r})
print("done")
"""
    process = start_python(node, code)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out.strip()) == (0, "done"), err


DAMAGED_COUNT = """
import ctypes, sys
from fake_nvml.layout import Header, State
raw = ctypes.CDLL(sys.argv[1])
first = raw.nvmlInit_v2()
# Both copies of the state, of which one is current.
with open(sys.argv[2], "r+b") as file:
    for copy in range(2):
        file.seek(ctypes.sizeof(Header) + copy * ctypes.sizeof(State) + State.gpu_count.offset)
        file.write(b"\\xff\\xff\\xff\\x7f")
handle = ctypes.c_void_p()
keys = {"UUID": b"GPU-00000000-0000-0000-0000-000000000000", "Serial": b"0", "PciBusId_v2": b"0000:ff:1f.0"}
codes = [getattr(raw, "nvmlDeviceGetHandleBy" + name)(key, ctypes.byref(handle)) for name, key in keys.items()]
print(first, all(codes))
"""


def test_lookups_survive_a_damaged_number_of_gpus(make_node: Make) -> None:
    """A search that trusted the number would read far beyond the file."""
    node = make_node("h200")
    found = subprocess.run(
        [sys.executable, "-c", DAMAGED_COUNT, str(fake_nvml.library_path()), str(node.state_path)],
        env={**os.environ, **node.env()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.returncode, found.stdout.split()) == (0, ["0", "True"]), found.stderr
