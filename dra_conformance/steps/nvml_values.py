"""Values of GPUs that must agree: NVML with NVML, with files of the machine, or with constants."""

from __future__ import annotations

import ctypes
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dra_conformance.components.nvml import OK, NvmlLibrary
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.engine.vocabulary import Sentence, then
from dra_conformance.engine.world import World
from dra_conformance.steps.nvml import FirstSession
from fake_nvml.boards import board_names, load_board

_CAPABILITY: Final = ("compute_capability_major", "compute_capability_minor")
_GETTER: Final = re.compile(r"(nvml\w+)\(([^()]*)\)(?:\.(\w+)|\[(\d+)\])?")
_GPUS: Final = re.compile(r"every GPU(?: but GPU (\d+))?|GPU (\d+)")


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU of the library under test."""

    world: World
    index: int

    @property
    def library(self) -> NvmlLibrary:
        """The library under test."""
        return self.world.nvml()

    @property
    def nvml(self) -> Any:
        """The pynvml module of the library."""
        return self.library.module

    @property
    def handle(self) -> Any:
        """The GPU's handle. Raises Untestable if there is no such GPU."""
        return self.library.handle(self.index)


Read = Callable[..., object]
_VALUES: Final[list[tuple[Sentence, Read]]] = []


def value(name: str) -> Callable[[Read], Read]:
    """Register a function that reads a named value of a GPU; `name` may have fields, as sentences have."""

    def register(function: Read) -> Read:
        _VALUES.append((Sentence(name), function))
        return function

    return register


def read(gpu: Gpu, cell: str) -> object:
    """Return what a cell of a table stands for.

    A cell is a named value, a getter such as `nvmlDeviceGetMemoryInfo().total`, or a constant.
    """
    for sentence, function in _VALUES:
        fields = sentence.parse_arguments(cell)
        if fields is not None:
            return function(gpu, **fields)
    if cell.startswith("nvml"):
        return _getter(gpu, cell)
    return cell


def _getter(gpu: Gpu, text: str) -> Any:
    found = _GETTER.fullmatch(text.strip())
    if found is None:
        raise SpecificationError(f"not a getter: {text!r}", hint="Write it as nvmlDeviceGetMemoryInfo().total.")
    function, inside, name, place = found.groups()
    words = [word.strip() for word in inside.split(",") if word.strip()]
    arguments = [int(word) if word.isdigit() else getattr(gpu.nvml, word) for word in words]
    # nvmlDeviceGetCount has no handle, unlike the other functions with this prefix.
    if function.startswith("nvmlDevice") and function != "nvmlDeviceGetCount":
        arguments.insert(0, gpu.handle)
    result = gpu.library.outcome(getattr(gpu.nvml, function), *arguments)
    # A text is a value itself or the name of an error: neither has fields.
    if isinstance(result, str) or (name is None and place is None):
        return result
    return getattr(result, name) if name is not None else result[int(place)]


def shown(found: object) -> str:
    """Return a value as tables write it: the items of a list with commas, none for an empty one."""
    if isinstance(found, list | tuple | set | frozenset):
        return ", ".join(map(str, sorted(found) if isinstance(found, set | frozenset) else found)) or "none"
    return str(found)


def agree(observed: object, expected: object) -> bool:
    """Return whether a value is the expected one, or matches an expected /regular expression/."""
    wanted = shown(expected)
    if len(wanted) > 1 and wanted.startswith("/") and wanted.endswith("/"):
        return re.fullmatch(wanted[1:-1], shown(observed)) is not None
    return shown(observed) == wanted


def _selected(world: World, gpus: str) -> list[Gpu]:
    found = _GPUS.fullmatch(gpus)
    if found is None:
        raise SpecificationError(f"which GPUs are {gpus!r}?", hint="every GPU, every GPU but GPU 2, or GPU 2.")
    but, one = found.groups()
    if one is not None:
        return [Gpu(world, int(one))]
    return [Gpu(world, i) for i in range(world.nvml().module.nvmlDeviceGetCount()) if but is None or i != int(but)]


@then("these values agree for {gpus}")
def _(world: World, gpus: str, datatable: list[list[str]]) -> None:
    """Compare values of GPUs with each other or with constants; columns: value, expected.

    `gpus` is `every GPU`, `every GPU but GPU 2`, or `GPU 2`.
    """
    for gpu in _selected(world, gpus):
        for name, wanted in datatable[1:]:
            observed, expected = read(gpu, name), read(gpu, wanted)
            world.check(
                agree(observed, expected),
                f"{name} of GPU {gpu.index}",
                expected=shown(expected),
                observed=shown(observed),
            )


# -- identity ------------------------------------------------------------------------------------------------------


@value("UUID in the first session")
def _(gpu: Gpu) -> object:
    return gpu.world.state(FirstSession).uuids[gpu.index]


@value("other GPUs with its UUID")
def _(gpu: Gpu) -> object:
    uuids = [gpu.nvml.nvmlDeviceGetUUID(handle) for handle in gpu.library.handles]
    return [index for index, text in enumerate(uuids) if index != gpu.index and text == uuids[gpu.index]]


@value("name in the first session")
def _(gpu: Gpu) -> object:
    return gpu.world.state(FirstSession).names[gpu.index]


@value("number of GPUs in the first session")
def _(gpu: Gpu) -> object:
    return len(gpu.world.state(FirstSession).uuids)


@value("index")
def _(gpu: Gpu) -> object:
    return gpu.index


@value("index by {way}")
def _(gpu: Gpu, way: str) -> object:
    nvml, handle = gpu.nvml, gpu.handle
    pci = nvml.nvmlDeviceGetPciInfo(handle)
    ways: dict[str, Callable[[], Any]] = {
        "index": lambda: handle,
        "UUID": lambda: nvml.nvmlDeviceGetHandleByUUID(nvml.nvmlDeviceGetUUID(handle)),
        "PCI address": lambda: nvml.nvmlDeviceGetHandleByPciBusId(pci.busId),
        "short PCI address": lambda: nvml.nvmlDeviceGetHandleByPciBusId(pci.busIdLegacy),
        "PCI address in lower case": lambda: nvml.nvmlDeviceGetHandleByPciBusId(pci.busId.lower()),
        "serial number": lambda: nvml.nvmlDeviceGetHandleBySerial(nvml.nvmlDeviceGetSerial(handle)),
    }
    return gpu.library.outcome(lambda: nvml.nvmlDeviceGetIndex(ways[way]()))


@value("PCI address with {digits:d} domain digits")
def _(gpu: Gpu, digits: int) -> object:
    pci = gpu.nvml.nvmlDeviceGetPciInfo(gpu.handle)
    return f"{pci.domain:0{digits}X}:{pci.bus:02X}:{pci.device:02X}.0"


def _board(gpu: Gpu) -> tuple[object, ...]:
    nvml, handle = gpu.nvml, gpu.handle
    return (
        nvml.nvmlDeviceGetName(handle),
        nvml.nvmlDeviceGetArchitecture(handle),
        nvml.nvmlDeviceGetBrand(handle),
        *nvml.nvmlDeviceGetCudaComputeCapability(handle),
    )


@value("name, architecture, brand and compute capability")
def _(gpu: Gpu) -> object:
    return _board(gpu)


@value("the board with its PCI id")
def _(gpu: Gpu) -> object:
    number = gpu.nvml.nvmlDeviceGetPciInfo(gpu.handle).pciDeviceId
    boards = [load_board(name) for name in board_names()]
    rows = [
        tuple(board.values[field].value for field in ("name", "architecture", "brand", *_CAPABILITY))
        for board in boards
        if board.pci_device_id == number
    ]
    if not rows:
        raise Untestable(f"no known board has the PCI id {number:#x}")
    return next((row for row in rows if row == _board(gpu)), rows[0])  # boards of one PCI id differ in their name


# -- memory --------------------------------------------------------------------------------------------------------


def _memory(gpu: Gpu, version: int) -> Any:
    versions = () if version == 1 else (gpu.nvml.nvmlMemory_v2,)
    return gpu.nvml.nvmlDeviceGetMemoryInfo(gpu.handle, *versions)


@value("total memory, version {version:d}")
def _(gpu: Gpu, version: int) -> object:
    return _memory(gpu, version).total


@value("used and free memory, version 1")  # the first version counts reserved memory as used
def _(gpu: Gpu) -> object:
    return _memory(gpu, 1).used + _memory(gpu, 1).free


@value("used, free and reserved, version 2")
def _(gpu: Gpu) -> object:
    memory = _memory(gpu, 2)
    return memory.used + memory.free + memory.reserved


# -- files of the machine ------------------------------------------------------------------------------------------


@value("device file of the minor number")
def _(gpu: Gpu) -> object:
    path = gpu.library.root / "dev" / f"nvidia{gpu.nvml.nvmlDeviceGetMinorNumber(gpu.handle)}"
    return "exists" if path.exists() else f"{path} does not exist"


@value("CPUs near the GPU")
def _(gpu: Gpu) -> object:
    # 16 words of 64 bits: room for 1024 CPUs.
    words = gpu.nvml.nvmlDeviceGetCpuAffinity(gpu.handle, 16)
    return {bit for bit in range(1024) if words[bit // 64] >> (bit % 64) & 1}


@value("CPUs of local_cpulist")
def _(gpu: Gpu) -> object:
    # sysfs has PCI domains of four hexadecimal digits, like busIdLegacy; busId has eight.
    address = str(gpu.nvml.nvmlDeviceGetPciInfo(gpu.handle).busIdLegacy).lower()
    path: Path = gpu.library.root / "sys/bus/pci/devices" / address / "local_cpulist"
    if not path.exists():
        raise Untestable(f"{path} does not exist")
    cpus: set[int] = set()
    for span in filter(None, path.read_text(encoding="ascii").strip().split(",")):
        low, _, high = span.partition("-")
        cpus |= set(range(int(low), int(high or low) + 1))
    return cpus


# -- links and fabric ----------------------------------------------------------------------------------------------


def _reaches(gpu: Gpu, first: int, second: int) -> bool:
    nvml = gpu.nvml
    status = gpu.library.outcome(
        nvml.nvmlDeviceGetP2PStatus,
        gpu.library.handle(first),
        gpu.library.handle(second),
        nvml.NVML_P2P_CAPS_INDEX_NVLINK,
    )
    # NVML_P2P_STATUS_OK. An error is a text here and not equal to it either.
    return bool(status == 0)


def _others(gpu: Gpu) -> list[int]:
    others = [index for index in range(gpu.nvml.nvmlDeviceGetCount()) if index != gpu.index]
    if not others:
        raise Untestable("there is only one GPU")
    return others


@value("GPUs that it reaches by NVLink")
def _(gpu: Gpu) -> object:
    return [index for index in _others(gpu) if _reaches(gpu, gpu.index, index)]


@value("GPUs that reach it by NVLink")
def _(gpu: Gpu) -> object:
    return [index for index in _others(gpu) if _reaches(gpu, index, gpu.index)]


@value("all GPUs but itself and GPU {other:d}")
def _(gpu: Gpu, other: int) -> object:
    return [index for index in _others(gpu) if index != other]


def _fabric(gpu: Gpu, version: int) -> tuple[int, str, int, int]:
    """Return state, cluster UUID, clique and status from one version of the structure."""
    kinds = {1: "c_nvmlGpuFabricInfo_t", 2: "c_nvmlGpuFabricInfo_v2_t", 3: "c_nvmlGpuFabricInfo_v3_t"}
    info = getattr(gpu.nvml, kinds[version])()
    function = "nvmlDeviceGetGpuFabricInfo" if version == 1 else "nvmlDeviceGetGpuFabricInfoV"
    if version > 1:
        # NVML's version word: the size, and the version in the highest byte. The first version has no such field.
        info.version = ctypes.sizeof(info) | version << 24
    code = gpu.library.call(function, gpu.handle, ctypes.byref(info))
    if code != OK:
        raise Untestable(f"{function}: {gpu.library.error_name(code)}")
    return info.state, str(uuid.UUID(bytes=bytes(info.clusterUuid))), info.cliqueId, info.status


@value("fabric information, version {version:d}")
def _(gpu: Gpu, version: int) -> object:
    return _fabric(gpu, version)


@value("fabric information of GPU 0")
def _(gpu: Gpu) -> object:
    return _fabric(Gpu(gpu.world, 0), 2)


@value("fabric state")
def _(gpu: Gpu) -> object:
    return _fabric(gpu, 2)[0]


@value("fabric cluster UUID")
def _(gpu: Gpu) -> object:
    return _fabric(gpu, 2)[1]


@value("fabric status")
def _(gpu: Gpu) -> object:
    return _fabric(gpu, 2)[3]


# -- processes -----------------------------------------------------------------------------------------------------


@value("process ids in the {size:d}-byte entries of {function:word}")
def _(gpu: Gpu, size: int, function: str) -> object:
    buffer, count = ctypes.create_string_buffer(1024), ctypes.c_uint(16)
    code = gpu.library.call(function, gpu.handle, ctypes.byref(count), buffer)
    if code != OK:
        return gpu.library.error_name(code)
    # The process id is the first field in all versions of the entries.
    return [int.from_bytes(buffer.raw[size * n : size * n + 4], "little") for n in range(count.value)]
