"""Values of GPUs that must agree: NVML with NVML, with files of the machine, or with constants."""

from __future__ import annotations

import ctypes
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dra_conformance.components import nvml_recorded
from dra_conformance.components.nvml import OK, NvmlLibrary
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.engine.vocabulary import Sentence, then
from dra_conformance.engine.world import World
from dra_conformance.steps.nvml import FirstSession

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
    if function.startswith(("nvmlDevice", "nvmlGpm")) and function != "nvmlDeviceGetCount":
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
    return found.decode() if isinstance(found, bytes) else str(found)


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


def version_word(structure: Any, version: int) -> int:
    """Return NVML's version word of a structure: its size, and the version in the highest byte."""
    return ctypes.sizeof(structure) | version << 24


# -- identity ------------------------------------------------------------------------------------------------------


@value("UUID in the first session")
def _(gpu: Gpu) -> object:
    return gpu.world.state(FirstSession).uuids[gpu.index]


@value("UUID of GPU {index:d} in the first session")
def _(gpu: Gpu, index: int) -> object:
    return gpu.world.state(FirstSession).uuids[index]


@value("GPUs of the first session that are found by UUID")
def _(gpu: Gpu) -> object:
    uuids = gpu.world.state(FirstSession).uuids
    found = [gpu.library.outcome(gpu.nvml.nvmlDeviceGetHandleByUUID, text) for text in uuids]
    return [index for index, handle in enumerate(found) if not isinstance(handle, str)]


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
        "short PCI address in lower case": lambda: nvml.nvmlDeviceGetHandleByPciBusId(pci.busIdLegacy.lower()),
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


def _captured(gpu: Gpu) -> Mapping[str, Any]:
    """Return the captured board with the PCI id of a GPU. Raises Untestable if there is none."""
    number = gpu.nvml.nvmlDeviceGetPciInfo(gpu.handle).pciDeviceId
    found = next((board for board in nvml_recorded.boards() if board["pci_device_id"] == number), None)
    if found is None:
        raise Untestable(f"no captured board has the PCI id {number:#x}")
    return found


@value("the board with its PCI id")
def _(gpu: Gpu) -> object:
    return _captured(gpu)["identity"]


@value("values that differ from those of its captured board")
def _(gpu: Gpu) -> object:
    """Read each value that was captured of the board, also one that this board does not support."""
    wrong = []
    for name, expected in _captured(gpu)["getters"].items():
        try:
            observed = read(gpu, name)
        except Untestable as error:
            observed = str(error).rpartition(" ")[2]
        if not agree(observed, expected):
            wrong.append(f"{name} {shown(observed)} instead of {shown(expected)}")
    return wrong


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
    info = _fabric_information(gpu, version)
    return info.state, str(uuid.UUID(bytes=bytes(info.clusterUuid))), info.cliqueId, info.status


def _fabric_information(gpu: Gpu, version: int) -> Any:
    kinds = {1: "c_nvmlGpuFabricInfo_t", 2: "c_nvmlGpuFabricInfo_v2_t", 3: "c_nvmlGpuFabricInfo_v3_t"}
    info = getattr(gpu.nvml, kinds[version])()
    function = "nvmlDeviceGetGpuFabricInfo" if version == 1 else "nvmlDeviceGetGpuFabricInfoV"
    if version > 1:  # the first version has no version word
        info.version = version_word(info, version)
    code = gpu.library.call(function, gpu.handle, ctypes.byref(info))
    if code != OK:
        raise Untestable(f"{function}: {gpu.library.error_name(code)}")
    return info


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


@value("fabric clique")
def _(gpu: Gpu) -> object:
    return _fabric(gpu, 2)[2]


@value("fabric health mask")
def _(gpu: Gpu) -> object:
    return _fabric_information(gpu, 3).healthMask


@value("fabric health summary")
def _(gpu: Gpu) -> object:
    return _fabric_information(gpu, 3).healthSummary


@value("NVLinks that are up")
def _(gpu: Gpu) -> object:
    nvml = gpu.nvml
    links = range(nvml.NVML_NVLINK_MAX_LINKS)
    return [link for link in links if gpu.library.outcome(nvml.nvmlDeviceGetNvLinkState, gpu.handle, link) == 1]


@value("switch at NVLink {link:d}")
def _(gpu: Gpu, link: int) -> object:
    nvml = gpu.nvml
    kind = gpu.library.outcome(nvml.nvmlDeviceGetNvLinkRemoteDeviceType, gpu.handle, link)
    pci = gpu.library.outcome(nvml.nvmlDeviceGetNvLinkRemotePciInfo, gpu.handle, link)
    if isinstance(pci, str) or kind != nvml.NVML_NVLINK_DEVICE_TYPE_SWITCH:
        return f"none: {kind}, {pci}"
    return f"{pci.busId} {pci.pciDeviceId & 0xFFFF:04x}"


@value("encryption of NVLinks")
def _(gpu: Gpu) -> object:
    info = gpu.nvml.c_nvmlNvLinkInfo_v1_t()
    info.version = version_word(info, 1)
    code = gpu.library.call("nvmlDeviceGetNvLinkInfo", gpu.handle, ctypes.byref(info))
    return info.isNvleEnabled if code == OK else gpu.library.error_name(code)


# -- other structures ----------------------------------------------------------------------------------------------


@value("field value {number:d}")
def _(gpu: Gpu, number: int) -> object:
    entry = gpu.nvml.nvmlDeviceGetFieldValues(gpu.handle, [number])[0]
    kinds = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")  # NVML_VALUE_TYPE_*, in this order
    if entry.nvmlReturn != OK:
        return gpu.library.error_name(entry.nvmlReturn)
    return getattr(entry.value, kinds[entry.valueType])


@value("platform {name:word}")
def _(gpu: Gpu, name: str) -> object:
    info = gpu.library.outcome(platform_information, gpu.nvml, gpu.handle)
    if isinstance(info, str):
        return info
    found = getattr(info, name)
    # pynvml declares the numbers as single characters.
    return found if name == "chassisSerialNumber" else ord(found)


def platform_information(nvml: Any, handle: Any) -> Any:
    """Return where a GPU is in its rack. Raises NVMLError."""
    info = nvml.c_nvmlPlatformInfo_v2_t()
    info.version = version_word(info, 2)
    nvml.nvmlDeviceGetPlatformInfo(handle, ctypes.byref(info))
    return info


@value("retired pages of cause {cause:d}")
def _(gpu: Gpu, cause: int) -> object:
    pages = gpu.library.outcome(gpu.nvml.nvmlDeviceGetRetiredPages, gpu.handle, cause)
    return pages if isinstance(pages, str) else len(pages)


@value("drain state")
def _(gpu: Gpu) -> object:
    return gpu.nvml.nvmlDeviceQueryDrainState(gpu.nvml.nvmlDeviceGetPciInfo(gpu.handle))


@value("memory nodes near the GPU")
def _(gpu: Gpu) -> object:
    words = gpu.nvml.nvmlDeviceGetMemoryAffinity(gpu.handle, 2, gpu.nvml.NVML_AFFINITY_SCOPE_NODE)
    return {bit for bit in range(128) if words[bit // 64] >> (bit % 64) & 1}


@value("levels of the topology above it and each other GPU")
def _(gpu: Gpu) -> object:
    nvml = gpu.nvml
    return [nvml.nvmlDeviceGetTopologyCommonAncestor(gpu.handle, gpu.library.handle(i)) for i in _others(gpu)]


# -- processes -----------------------------------------------------------------------------------------------------


@value("process ids in the {size:d}-byte entries of {function:word}")
def _(gpu: Gpu, size: int, function: str) -> object:
    buffer, count = ctypes.create_string_buffer(1024), ctypes.c_uint(16)
    code = gpu.library.call(function, gpu.handle, ctypes.byref(count), buffer)
    if code != OK:
        return gpu.library.error_name(code)
    # The process id is the first field in all versions of the entries.
    return [int.from_bytes(buffer.raw[size * n : size * n + 4], "little") for n in range(count.value)]


@value("memory of its processes")
def _(gpu: Gpu) -> object:
    rows = gpu.nvml.nvmlDeviceGetComputeRunningProcesses(gpu.handle)
    return sorted(f"{row.pid} {row.usedGpuMemory}" for row in rows)


@value("utilization of its processes")
def _(gpu: Gpu) -> object:
    samples = gpu.library.outcome(gpu.nvml.nvmlDeviceGetProcessUtilization, gpu.handle, 0)
    return samples if isinstance(samples, str) else [f"{sample.pid} {sample.smUtil}" for sample in samples]


@value("processes of its MIG devices")
def _(gpu: Gpu) -> object:
    """Return the ids of the processes of each MIG device, behind the ids of its instances."""
    nvml, found = gpu.nvml, []
    for index in range(nvml.nvmlDeviceGetMaxMigDeviceCount(gpu.handle)):
        device = gpu.library.outcome(nvml.nvmlDeviceGetMigDeviceHandleByIndex, gpu.handle, index)
        if isinstance(device, str):
            continue
        ids = f"{nvml.nvmlDeviceGetGpuInstanceId(device)}/{nvml.nvmlDeviceGetComputeInstanceId(device)}"
        rows = nvml.nvmlDeviceGetComputeRunningProcesses(device)
        found.append(" ".join([ids, *(f"{row.pid}:{row.usedGpuMemory}" for row in rows)]))
    return sorted(found)
