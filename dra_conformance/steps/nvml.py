"""NVML as a C library: sessions, return codes, versions of structures, buffers, and its file."""

from __future__ import annotations

import ctypes
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from dra_conformance.components import elf, nvml_calls
from dra_conformance.components.nvml import OK, NvmlLibrary
from dra_conformance.components.nvml_child import Child
from dra_conformance.components.nvml_programs import PROGRAMS, Program
from dra_conformance.core import assets
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import World

CANARY: Final = b"\xaa"
_ROOM: Final = 512


@dataclass(slots=True)
class FirstSession:
    """UUID, name and PCI address of each GPU when the scenario began, by index; the address as events have it."""

    uuids: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Running:
    """The program that a scenario runs in another process."""

    program: Program | None = None
    process: Child | None = None


# -- sessions ------------------------------------------------------------------------------------------------------


def _initialise(world: World, library: NvmlLibrary) -> None:
    library.init()
    nvml, first = library.module, world.state(FirstSession)
    first.uuids = [str(nvml.nvmlDeviceGetUUID(handle)) for handle in library.handles]
    first.names = [str(nvml.nvmlDeviceGetName(handle)) for handle in library.handles]
    addresses = [nvml.nvmlDeviceGetPciInfo(handle) for handle in library.handles]
    first.ids = [pci.domain << 16 | pci.bus << 8 | pci.device for pci in addresses]


@given("NVML")
def _(world: World) -> None:
    """Load and initialise the NVML library under test; on the fake, with the GPUs of the run's inventory."""
    _initialise(world, world.nvml())


@given('NVML on the GPUs of "{inventory}"')
def _(world: World, inventory: str) -> None:
    """Load and initialise the fake NVML with the GPUs of another inventory."""
    _initialise(world, world.nvml(inventory=inventory))


@given("NVML that is not initialised")
def _(world: World) -> None:
    """Load the library without calling nvmlInit."""
    if world.nvml().lib is None:
        raise Untestable("the library cannot be loaded")


@given('NVML on the GPUs of this suite\'s inventory "{inventory}"')
def _(world: World, inventory: str) -> None:
    """Load and initialise the fake NVML with the GPUs of an inventory in `fixtures/inventories`."""
    _initialise(world, world.nvml(inventory=str(assets.fixtures() / "inventories" / f"{inventory}.yaml")))


@given('NVML that is not initialised, on the GPUs of "{inventory}"')
def _(world: World, inventory: str) -> None:
    """Load the fake NVML with the GPUs of an inventory of this suite, without calling nvmlInit."""
    world.nvml(inventory=str(assets.fixtures() / "inventories" / f"{inventory}.yaml"))


# -- calls and their codes -----------------------------------------------------------------------------------------


@then("these calls return")
def _(world: World, datatable: list[list[str]]) -> None:
    """Make the calls of the table in order; columns: call, returns, and (optional) the values of names that it sets.

    `nvml_calls` describes how calls are written. `returns` is the name of a code, several with "or" between them, or
    "an error" for any but SUCCESS.
    """
    library, names = world.nvml(), world.state(nvml_calls.CallNames)
    for text, returns, *rest in datatable[1:]:
        outcome = nvml_calls.call(library, names, text)
        good = outcome != "SUCCESS" if returns == "an error" else outcome in returns.split(" or ")
        world.check(good, text, expected=returns, observed=outcome)
        for pair in filter(None, "".join(rest).split(",")):
            name, _, wanted = pair.strip().partition("=")
            value = names.values.get(name, -1)
            shown = str(value) if wanted.isdigit() else library.error_name(value)
            world.check(shown == wanted, f"{name} of {text}", expected=wanted, observed=shown)


@dataclass(frozen=True, slots=True)
class Versioned:
    """A getter of a versioned structure: the size and number of its version, and arguments before the structure."""

    size: int
    number: int
    arguments: tuple[Any, ...] = ()

    def version(self, case: str) -> int:
        """Return the version word of a case: a number, `its own`, or a structure of another size."""
        match case.split():
            case ["its", "own"]:
                return self.size | self.number << 24
            case [number] if number.isdigit():
                # 0: the caller never set the field, not even its size.
                return self.size | int(number) << 24 if int(number) else 0
            case [count, "bytes", ("larger" | "smaller") as word]:
                size = self.size + int(count) if word == "larger" else self.size - int(count)
                return size | self.number << 24
        raise SpecificationError(f"unknown version {case!r}")


def _versioned(library: NvmlLibrary, function: str) -> Versioned:
    nvml = library.module
    known = {
        "nvmlDeviceGetMemoryInfo_v2": Versioned(ctypes.sizeof(nvml.c_nvmlMemory_v2_t), 2),
        "nvmlDeviceGetGpuFabricInfoV": Versioned(ctypes.sizeof(nvml.c_nvmlGpuFabricInfo_v2_t), 2),
        # 152: size of nvmlGpuInstanceProfileInfo_v2_t in nvml.h.
        "nvmlDeviceGetGpuInstanceProfileInfoV": Versioned(152, 2, (ctypes.c_uint(0),)),
    }
    if function not in known:
        raise SpecificationError(f"no versioned structure of {function} is known", hint=f"Known: {', '.join(known)}")
    return known[function]


@then("{function:word} returns for these versions of its structure")
def _(world: World, function: str, datatable: list[list[str]]) -> None:
    """Call a getter with the versions of the table; columns: version, returns, structure (unchanged or filled).

    `returns` is the name of a code, or several with "or" between them. A filled structure is not written beyond its
    end. Untestable if the GPU does not support the function.
    """
    library = world.nvml()
    known = _versioned(library, function)

    def get(version: int) -> tuple[str, bytes, bytes]:
        # The version word, which NVML reads, and then canary bytes that show what the call writes.
        buffer = ctypes.create_string_buffer(version.to_bytes(4, "little") + CANARY * (_ROOM - 4), _ROOM)
        before = buffer.raw
        code = library.call(function, library.handle(), *known.arguments, buffer)
        return library.error_name(code), before, buffer.raw

    if get(known.version("its own"))[0] == "NOT_SUPPORTED":
        raise Untestable(f"{function} is not supported on GPU 0")
    for case, returns, structure in datatable[1:]:
        code, before, after = get(known.version(case))
        written = len(after.rstrip(CANARY)) if structure == "filled" else 0
        intact = after[known.size :] == before[known.size :] if structure == "filled" else after == before
        as_told = "nothing written beyond it" if structure == "filled" else "unchanged"
        world.check(
            code in returns.split(" or ") and intact,
            f"{function} with version {case}",
            expected=[returns, as_told],
            observed=[code, as_told if intact else f"written up to byte {written or len(after)}"],
        )


@then("{function:word} returns for these sizes of its buffer")
def _(world: World, function: str, datatable: list[list[str]]) -> None:
    """Call a text getter with the sizes of the table; columns: size, returns, buffer (unchanged or filled).

    `length` is the length of the text without its closing NUL.
    """
    library = world.nvml()
    first = (library.handle(),) if function.startswith("nvmlDevice") else ()
    full = ctypes.create_string_buffer(256)
    code = library.call(function, *first, full, 256)
    world.check(code == OK, f"{function} with 256 bytes", expected="SUCCESS", observed=library.error_name(code))
    sizes = {"length": len(full.value), "length and NUL": len(full.value) + 1}
    for case, returns, content in datatable[1:]:
        buffer = ctypes.create_string_buffer(CANARY * 256, 256)
        code = library.call(function, *first, buffer, sizes[case] if case in sizes else int(case))
        unchanged = buffer.raw == CANARY * 256
        observed = [library.error_name(code), "unchanged" if unchanged else "filled"]
        world.check(
            observed == [returns, content],
            f"{function} with a buffer of size {case}, for {len(full.value)} characters",
            expected=[returns, content],
            observed=observed,
        )


# -- the file ------------------------------------------------------------------------------------------------------


def _missing_names(library: NvmlLibrary) -> list[str]:
    # pynvml looks up each function on its first call, so its source lists what programs may need.
    known = set(re.findall(r"_nvmlGetFunctionPointer\(\s*[\"'](\w+)[\"']", inspect.getsource(library.module)))
    return sorted(name for name in known if not hasattr(library.lib, name))


def _undefined_names(library: NvmlLibrary) -> list[str]:
    return sorted(name for name in elf.read(library.library).undefined if name.startswith("nvml"))


def _other_names(library: NvmlLibrary) -> list[str]:
    # fnvml_ is the prefix of the fake's own functions
    return sorted(n for n in elf.read(library.library).exported if not n.startswith(("nvml", "fnvml_")))


_PROPERTIES: Final[Mapping[str, Callable[[NvmlLibrary], Any]]] = {
    "missing names of pynvml": _missing_names,
    "undefined NVML names": _undefined_names,
    "other exported names": _other_names,
    "file name": lambda library: library.library.resolve().name,
    "file type": lambda library: "regular" if library.library.is_file() else "not regular",
    "SONAME": lambda library: elf.read(library.library).name,
}


@then("the library file has these properties")
def _(world: World, datatable: list[list[str]]) -> None:
    """Compare the file and its ELF tables with the table; columns: property, value."""
    library = world.nvml()
    for name, value in datatable[1:]:
        found = _PROPERTIES[name](library)
        wanted: Any = [] if value == "none" else value
        if isinstance(value, str) and value.endswith(" and driver version"):
            wanted = f"{value.removesuffix(' and driver version')}{library.module.nvmlSystemGetDriverVersion()}"
        world.check(found == wanted, name, expected=wanted, observed=found)


# -- other processes -----------------------------------------------------------------------------------------------


@when('the program "{name}" runs in another process')
def _(world: World, name: str) -> None:
    """Start one of the programs of `nvml_programs`."""
    library, running = world.nvml(), world.state(Running)
    if name not in PROGRAMS:
        raise SpecificationError(f"unknown program {name!r}", hint=f"Known: {', '.join(PROGRAMS)}")
    program = PROGRAMS[name]
    arguments = [library.unprivileged_folder()] if program.unprivileged else []
    running.program = program
    running.process = library.child(program.code, str(library.library), *arguments, *program.arguments)


@then('it prints "{text}"')
def _(world: World, text: str) -> None:
    """Compare what the program prints; an interactive one prints its next line, others everything until they exit."""
    running, library = world.state(Running), world.nvml()
    if running.program is None or running.process is None:
        raise SpecificationError("no program runs")
    patience = library.patience(long=running.program.long)
    if running.program.interactive:
        # An empty line makes the program print its next one.
        running.process.say("")
        found = running.process.line(patience)
    else:
        found = " ".join(running.process.words(patience))
    world.check(found == text, "output of the program", expected=text, observed=found)
