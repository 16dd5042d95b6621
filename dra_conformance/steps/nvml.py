"""NVML as a C library: lifetimes, versions of structures, buffers, and what it does with what nobody should hand it."""

from __future__ import annotations

import ctypes
import inspect
import os
import re
import subprocess
import sys
from typing import Any

import fake_nvml
from dra_conformance.components.nvml import OK, NvmlLibrary
from dra_conformance.core import assets
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import World

CANARY = b"\xaa"
_TEXTS = (
    "nvmlDeviceGetName",
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetVbiosVersion",
    "nvmlSystemGetDriverVersion",
    "nvmlSystemGetNVMLVersion",
)


@given("NVML")
def _(world: World) -> None:
    """The NVML library under test is loaded and initialised; on the fake, with the GPUs of the run's inventory."""
    world.nvml().init()


@given("NVML that nobody initialised")
def _(world: World) -> None:
    """The library is loaded, and not initialised."""
    component = world.nvml()
    if component.lib is None:
        raise Untestable("the library cannot be loaded")


@given('NVML on the GPUs of "{inventory}"')
def _(world: World, inventory: str) -> None:
    """The fake NVML with the GPUs of another inventory, initialised."""
    world.nvml(inventory=inventory).init()


@given("NVML without GPUs that nobody initialised")
def _(world: World) -> None:
    """The fake with a driver and no GPU."""
    world.nvml(inventory=str(assets.fixtures() / "inventories" / "no-gpus.yaml"))


@when("NVML is initialised {count:d} times")
def _(world: World, count: int) -> None:
    """So many calls of nvmlInit."""
    for _number in range(count):
        world.nvml().init()


def _versioned(component: NvmlLibrary) -> dict[str, tuple[int, int, tuple[Any, ...]]]:
    """Getters of versioned structures: size, the right number, and arguments between handle and structure."""
    nvml = component.module
    return {
        "nvmlDeviceGetMemoryInfo_v2": (ctypes.sizeof(nvml.c_nvmlMemory_v2_t), 2, ()),
        "nvmlDeviceGetGpuFabricInfoV": (ctypes.sizeof(nvml.c_nvmlGpuFabricInfo_v2_t), 2, ()),
        "nvmlDeviceGetGpuInstanceProfileInfoV": (152, 2, (ctypes.c_uint(0),)),
    }


def _ask_version(
    component: NvmlLibrary, function: str, version: int, extra: tuple[Any, ...]
) -> tuple[int, bytes, bytes]:
    buffer = ctypes.create_string_buffer(version.to_bytes(4, "little") + CANARY * 508, 512)
    before = buffer.raw
    return component.call(function, component.handle(), *extra, buffer), before, buffer.raw


@then("NVML refuses every wrong version of a structure and writes nothing")
def _(world: World) -> None:
    """0, a number from the future and a wrong size: ARGUMENT_VERSION_MISMATCH (25), and the buffer is as it was."""
    component = world.nvml()
    for function, (size, number, extra) in _versioned(component).items():
        right, _, _ = _ask_version(component, function, size | number << 24, extra)
        if right == component.module.NVML_ERROR_NOT_SUPPORTED:
            continue
        for version in (0, size | 99 << 24, (size + 8) | number << 24, size - 8 | number << 24):
            code, before, after = _ask_version(component, function, version, extra)
            world.check(
                (code, after == before) == (25, True),
                f"{function} refuses the version {version:#x} and leaves the structure alone",
                expected=(25, "untouched"),
                observed=(code, "untouched" if after == before else "written"),
            )


@then("NVML never writes beyond the structure of the caller's version")
def _(world: World) -> None:
    """With the right version the call succeeds, and what lies behind the structure keeps its content."""
    component = world.nvml()
    for function, (size, number, extra) in _versioned(component).items():
        code, before, after = _ask_version(component, function, size | number << 24, extra)
        if code == component.module.NVML_ERROR_NOT_SUPPORTED:
            continue
        world.check(
            (code, after[size:]) == (OK, before[size:]),
            f"{function} writes {size} bytes at most",
            expected=(OK, "intact"),
            observed=(code, "intact" if after[size:] == before[size:] else "overwritten"),
        )


@then("NVML answers INVALID_ARGUMENT to NULL in every place for a result")
def _(world: World) -> None:
    """NULL instead of a result's address is an argument error, not a crash."""
    component = world.nvml()
    handle = component.handle()
    cases: dict[str, tuple[Any, ...]] = {
        "nvmlDeviceGetCount_v2": (None,),
        "nvmlDeviceGetHandleByIndex_v2": (0, None),
        "nvmlDeviceGetName": (handle, None, 96),
        "nvmlDeviceGetMemoryInfo": (handle, None),
        "nvmlDeviceGetPciInfo_v3": (handle, None),
        "nvmlDeviceGetUtilizationRates": (handle, None),
        "nvmlDeviceGetTemperature": (handle, 0, None),
        "nvmlEventSetCreate": (None,),
        "nvmlSystemGetDriverVersion": (None, 80),
    }
    for function, arguments in cases.items():
        code = component.call(function, *arguments)
        world.check(code == 2, f"{function} with NULL is refused", expected=2, observed=code)


@then("NVML leaves a text buffer alone that is too short by one")
def _(world: World) -> None:
    """A buffer without room for the closing NUL: INSUFFICIENT_SIZE (7) and nothing written; one byte more will do."""
    component = world.nvml()
    for function in _TEXTS:
        first = (component.handle(),) if function.startswith("nvmlDevice") else ()
        full = ctypes.create_string_buffer(256)
        code = component.call(function, *first, full, 256)
        world.check(code == OK, f"{function} answers", expected=OK, observed=code)
        length = len(full.value)
        for size in (1, length):
            buffer = ctypes.create_string_buffer(CANARY * 256, 256)
            code = component.call(function, *first, buffer, size)
            untouched = buffer.raw == CANARY * 256
            world.check(
                (code, untouched) == (7, True),
                f"{function} refuses a buffer of {size} bytes for {length} characters",
                expected=(7, "untouched"),
                observed=(code, "untouched" if untouched else "written"),
            )
        code = component.call(function, *first, full, length + 1)
        world.check(code == OK, f"{function} takes a buffer that just fits", expected=OK, observed=code)


@then("NVML answers UNINITIALIZED to every question")
def _(world: World) -> None:
    """Before nvmlInit, and after the last nvmlShutdown; only nvmlErrorString works."""
    component = world.nvml()
    count = ctypes.c_uint()
    cases: dict[str, tuple[Any, ...]] = {
        "nvmlDeviceGetCount_v2": (ctypes.byref(count),),
        "nvmlDeviceGetHandleByIndex_v2": (0, ctypes.byref(ctypes.c_void_p())),
        "nvmlSystemGetDriverVersion": (ctypes.create_string_buffer(80), 80),
        "nvmlEventSetCreate": (ctypes.byref(ctypes.c_void_p()),),
        "nvmlShutdown": (),
    }
    for function, arguments in cases.items():
        code = component.call(function, *arguments)
        world.check(code == 1, f"{function} is refused", expected=1, observed=code)
    text = component.lib.nvmlErrorString
    text.restype = ctypes.c_char_p
    world.check(
        (text(0), text(1)) == (b"Success", b"Uninitialized"),
        "nvmlErrorString works without nvmlInit",
        expected=("Success", "Uninitialized"),
        observed=(text(0), text(1)),
    )


@then("NVML works until it was shut down {count:d} times")
def _(world: World, count: int) -> None:
    """Each nvmlInit needs its nvmlShutdown; one more of these is refused."""
    component = world.nvml()
    number = ctypes.c_uint()
    for done in range(1, count + 1):
        code = component.shut_down_once()
        world.check(code == OK, f"shutdown {done} is taken", expected=OK, observed=code)
        code = component.call("nvmlDeviceGetCount_v2", ctypes.byref(number))
        wanted = OK if done < count else 1
        world.check(code == wanted, f"after shutdown {done} of {count}", expected=wanted, observed=code)
    code = component.call("nvmlShutdown")
    world.check(code == 1, "one shutdown too many is refused", expected=1, observed=code)


def _open_files() -> list[str]:
    found = []
    for entry in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{entry}"))
        except OSError:  # closed meanwhile, by another thread of this process
            continue
    return [path for path in found if "nvidia" in path or path.endswith("/state")]


@then("NVML leaks nothing over {count:d} sessions")
def _(world: World, count: int) -> None:
    """Files of the driver that are open, and its mappings, are as many after so many inits and shutdowns as before."""
    component = world.nvml()

    def held() -> tuple[int, int]:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            maps = [line for line in file if "nvidia" in line or line.rstrip().endswith("/state")]
        return len(_open_files()), len(maps)

    component.call("nvmlInit_v2"), component.call("nvmlShutdown")
    before = held()
    for _number in range(count):
        if component.call("nvmlInit_v2") or component.call("nvmlShutdown"):
            break
    world.check(held() == before, "files and mappings of the driver", expected=before, observed=held())
    component.init()
    name = component.outcome(component.module.nvmlDeviceGetName, component.handle())
    world.check(isinstance(name, str) and bool(name), "a new session works", expected="a name", observed=name)


_FORK = """
import ctypes, os, pynvml as p
p.nvmlInit()
count = ctypes.c_uint()
ready, tell = os.pipe()
if os.fork() == 0:
    before = p.nvmlLib.nvmlDeviceGetCount_v2(ctypes.byref(count))
    p.nvmlLib.nvmlInit_v2()
    after = p.nvmlLib.nvmlDeviceGetCount_v2(ctypes.byref(count))
    os.write(tell, f"{before} {after}".encode())
    os._exit(0)
os.wait()
print(os.read(ready, 99).decode(), p.nvmlLib.nvmlDeviceGetCount_v2(ctypes.byref(count)))
"""


@then("NVML of a forked child answers UNINITIALIZED until the child initialises it")
def _(world: World) -> None:
    """A session belongs to the process that began it; the parent's goes on."""
    result = subprocess.run(
        [sys.executable, "-c", _FORK],
        env=world.nvml().environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    told = result.stdout.split() or [result.stderr.strip()[-200:]]
    world.check(told == ["1", "0", "0"], "child, child after init, parent", expected="1 0 0", observed=" ".join(told))


@then("the library has every function that pynvml knows")
def _(world: World) -> None:
    """No name that the installed pynvml looks up is missing: a Go program would end at such a name, not return."""
    component = world.nvml()
    known = set(re.findall(r"_nvmlGetFunctionPointer\(\s*[\"'](\w+)[\"']", inspect.getsource(component.module)))
    missing = sorted(name for name in known if not hasattr(component.lib, name))
    world.check(not missing, f"{len(known)} functions are exported", expected=[], observed=missing)


@then("a function that the fake does not implement answers NOT_SUPPORTED and stands in the call log")
def _(world: World) -> None:
    """It is answered as on a GPU without the feature, and `fake-nvml calls --unimplemented` lists it."""
    component = world.nvml()
    component.node.log_calls()
    code = component.call("nvmlDeviceGetCoolerInfo", component.handle(), ctypes.create_string_buffer(64))
    component.node.log_calls(False)
    missing = [call.function for call in component.node.calls() if not call.implemented]
    world.check(
        (code, missing) == (3, ["nvmlDeviceGetCoolerInfo"]),
        "nvmlDeviceGetCoolerInfo is refused, and listed as not implemented",
        expected=(3, ["nvmlDeviceGetCoolerInfo"]),
        observed=(code, missing),
    )


@then("NVML begins with the flag for no GPUs and not without it")
def _(world: World) -> None:
    """nvmlInitWithFlags(NVML_INIT_FLAG_NO_GPUS) succeeds on a node without GPUs; nvmlInit_v2 does not."""
    component = world.nvml()
    plain = component.call("nvmlInit_v2")
    world.check(plain != OK, "without the flag", expected="an error", observed=component.error_name(plain))
    flagged = component.call("nvmlInitWithFlags", 1)
    world.check(flagged == OK, "with the flag", expected="SUCCESS", observed=component.error_name(flagged))
    world.check(component.call("nvmlShutdown") == OK, "that session ends", expected=OK, observed="an error")


@then('an inventory whose GPU has "{line}" is refused with file, line and key')
def _(world: World, line: str) -> None:
    """The message begins with the file and the line of the mistake, names the key, and says what is wrong."""
    path = world.run.components.work / f"inventory-{world.suffix}.yaml"
    head = 'driver_version: "580.105.08"\ncuda_version: "13.0"\ngpus:\n'
    gpu = '  - board: h100-sxm5-80gb\n    bus: "00000000:53:00.0"\n'
    path.write_text(f"{head}{gpu}    {line}\n", encoding="utf-8")
    world.cleanup.callback(path.unlink)
    try:
        fake_nvml.Inventory.load(path)
        told = "accepted"
    except fake_nvml.InventoryError as error:
        told = str(error)
    key = line.partition(":")[0]
    good = told.startswith(f"{path}:6: gpus[0].{key}")
    world.check(good, "the refusal", expected=f"{path.name}:6: gpus[0].{key}…", observed=told)
