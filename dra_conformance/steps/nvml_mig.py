"""NVML's MIG: modes, profiles, placements, instances and MIG devices."""

from __future__ import annotations

import ctypes
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from dra_conformance.components.nvml import OK, NvmlLibrary
from dra_conformance.components.nvml_calls import CallNames
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import World
from dra_conformance.steps.nvml_values import Gpu, value, version_word

_IN_USE: Final = 19  # NVML_ERROR_IN_USE
_RANDOM_PROFILES: Final = (19, 19, 20, 15, 14, 14, 9, 5)  # ids; small profiles are more frequent


@dataclass(slots=True)
class Instances:
    """Instances that a scenario created on GPU 0, and facts about ones that are destroyed."""

    created: list[Any] = field(default_factory=list)
    computes: list[Any] = field(default_factory=list)
    capability_files: list[Path] = field(default_factory=list)
    ids_before: dict[int, int] = field(default_factory=dict)
    shared: list[int] = field(default_factory=list)


# -- mode and instances --------------------------------------------------------------------------------------------


@given("GPU 0 supports MIG")
def _(world: World) -> None:
    """Untestable if the board of GPU 0 has no MIG; NVML-031 specifies what such a board returns."""
    library = world.nvml()
    if library.outcome(library.module.nvmlDeviceGetMigMode, library.handle()) == "NOT_SUPPORTED":
        raise Untestable("the board of GPU 0 has no MIG")


@given("MIG is on for GPU 0, without instances")
def _(world: World) -> None:
    """Switch MIG on; on a real GPU the mode is restored at the end of the scenario."""
    library = world.nvml()
    library.enable_mig(library.handle())
    library.destroy_instances(library.handle())


def _create(world: World, profile: int, start: int | None = None) -> None:
    """Create a GPU instance on GPU 0 and bind its handle: `instance`, the second one `instance2`, and so on."""
    library, instances, names = world.nvml(), world.state(Instances), world.state(CallNames)
    created = library.create_instance(library.handle(), profile, start=start)
    if isinstance(created, str):
        raise Untestable(f"a GPU instance of profile {profile} cannot be created: {created}")
    instances.created.append(created)
    number = str(len(instances.created)) if len(instances.created) > 1 else ""
    names.bind_handle(f"instance{number}", created)
    names.values[f"instance{number}_id"] = library.module.nvmlGpuInstanceGetInfo(created).id


@when("a GPU instance of profile {profile:d} is created")
def _(world: World, profile: int) -> None:
    """Create a GPU instance on GPU 0; NVML chooses its placement."""
    _create(world, profile)


@when('GPU instances of profile {profile:d} are created at "{starts}"')
def _(world: World, profile: int, starts: str) -> None:
    """Create GPU instances on GPU 0, each at one of these memory slices."""
    for start in words(starts):
        _create(world, profile, int(start))


@when("a compute instance over the whole GPU instance is created")
def _(world: World) -> None:
    """Create a compute instance in the GPU instance that was created last.

    Its handle is bound: `compute`, the second one `compute2`, and so on.
    """
    library, instances = world.nvml(), world.state(Instances)
    nvml, instance = library.module, instances.created[-1]
    compute = library.create_compute(instance)
    instances.computes.append(compute)
    number = str(len(instances.computes)) if len(instances.computes) > 1 else ""
    world.state(CallNames).bind_handle(f"compute{number}", compute)
    minor = nvml.nvmlDeviceGetMinorNumber(library.handle())
    gi, ci = nvml.nvmlGpuInstanceGetInfo(instance).id, nvml.nvmlComputeInstanceGetInfo(compute).id
    folder = library.root / f"proc/driver/nvidia/capabilities/gpu{minor}/mig/gi{gi}"
    instances.capability_files = [folder / "access", folder / f"ci{ci}" / "access"]


def _by_start(library: NvmlLibrary) -> dict[int, Any]:
    nvml = library.module
    return {nvml.nvmlGpuInstanceGetInfo(i).placement.start: i for i in library.instances(library.handle())}


def _ids(library: NvmlLibrary) -> dict[int, int]:
    return {start: library.module.nvmlGpuInstanceGetInfo(i).id for start, i in sorted(_by_start(library).items())}


@when("the GPU instance at {start:d} is destroyed")
def _(world: World, start: int) -> None:
    """Destroy the GPU instance of GPU 0 that begins at this memory slice."""
    library, instances = world.nvml(), world.state(Instances)
    instances.ids_before = _ids(library)
    library.module.nvmlGpuInstanceDestroy(_by_start(library)[start])


@then("switching MIG off on GPU 0 is refused with IN_USE")
def _(world: World) -> None:
    """Check that the code or the activation status is IN_USE and that the mode stays."""
    library = world.nvml()
    activation = ctypes.c_int(-1)
    code = library.call("nvmlDeviceSetMigMode", library.handle(), 0, ctypes.byref(activation))
    mode = library.module.nvmlDeviceGetMigMode(library.handle())[0]
    refused = _IN_USE in (code, activation.value)
    seen = f"{library.error_name(code)}, activation status {library.error_name(activation.value)}, mode {mode}"
    expected = "IN_USE as code or activation status, mode 1"
    world.check(refused and mode == 1, "in use", expected=expected, observed=seen)


@then("the remaining capacity of profile {profile:d} is the number of GPU instances that can be created")
def _(world: World, profile: int) -> None:
    """Read the remaining capacity, then create GPU instances until NVML refuses."""
    library = world.nvml()
    capacity = library.module.nvmlDeviceGetGpuInstanceRemainingCapacity(library.handle(), profile)
    created = 0
    # No GPU has more than 7 instances: 9 ends the loop if NVML refuses nothing.
    while created < 9 and not isinstance(library.create_instance(library.handle(), profile), str):
        created += 1
    world.check(created == capacity, "GPU instances that could be created", expected=capacity, observed=created)


@when("{count:d} GPU instances are created and destroyed in random order")
def _(world: World, count: int) -> None:
    """Do so many operations on GPU 0, the same in every run, and collect memory slices that two instances share."""
    library, instances = world.nvml(), world.state(Instances)
    rng = random.Random(38)  # noqa: S311 - a fixed sequence, not a secret
    live: list[Any] = []
    for _step in range(count):
        # Fewer removals than creations, so that the GPU fills up.
        if live and rng.random() < 0.4:
            library.outcome(library.module.nvmlGpuInstanceDestroy, live.pop(rng.randrange(len(live))))
        else:
            created = library.create_instance(library.handle(), rng.choice(_RANDOM_PROFILES))
            live += [] if isinstance(created, str) else [created]
        taken: list[int] = []
        for instance in live:
            placement = library.module.nvmlGpuInstanceGetInfo(instance).placement
            taken += range(placement.start, placement.start + placement.size)
        instances.shared += [number for number in set(taken) if taken.count(number) > 1]


@value("memory slices of two GPU instances")
def _(gpu: Gpu) -> object:
    return gpu.world.state(Instances).shared


# -- values of profiles and placements -----------------------------------------------------------------------------


def _information(gpu: Gpu, number: int, version: int) -> Any:
    """Return one version of a profile's information; None if the board does not have the profile."""
    first = gpu.nvml.c_nvmlGpuInstanceProfileInfo_t()
    if gpu.library.call("nvmlDeviceGetGpuInstanceProfileInfo", gpu.handle, number, ctypes.byref(first)) != OK:
        return None
    if version == 1:
        return first
    if version == 2:
        return gpu.nvml.nvmlDeviceGetGpuInstanceProfileInfo(gpu.handle, number, 2)
    return _third_version(gpu, number)


# nvmlGpuInstanceProfileInfo_v3_t of nvml.h; pynvml declares no structure for it. A P2P capability is bit 0.
_THIRD: Final = (
    "id sliceCount instanceCount multiprocessorCount copyEngineCount decoderCount encoderCount jpegCount ofaCount"
)


class _Third(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_uint),
        *((name, ctypes.c_uint) for name in _THIRD.split()),
        ("memorySizeMB", ctypes.c_ulonglong),
        ("name", ctypes.c_char * 96),
        ("capabilities", ctypes.c_uint),
    )

    @property
    def isP2pSupported(self) -> int:  # noqa: N802 - the name in the other versions
        return int(self.capabilities & 1)


def _third_version(gpu: Gpu, number: int) -> Any:
    info = _Third(version=version_word(_Third, 3))
    code = gpu.library.call("nvmlDeviceGetGpuInstanceProfileInfoV", gpu.handle, number, ctypes.byref(info))
    if code == gpu.nvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH and gpu.library.real:
        # Drivers of the 580 branch do not have it.
        return gpu.nvml.nvmlDeviceGetGpuInstanceProfileInfo(gpu.handle, number, 2)
    return info if code == OK else None


@value("information of profile {number:d}, version {version:d}")
def _(gpu: Gpu, number: int, version: int) -> object:
    info = _information(gpu, number, version)
    names = [field[0] for field in gpu.nvml.c_nvmlGpuInstanceProfileInfo_t._fields_]  # those that both versions have
    return "absent" if info is None else [f"{name}={getattr(info, name)}" for name in names]


@value("GPU instance profile {number:d}")
def _(gpu: Gpu, number: int) -> object:
    """Return a profile as `nvidia-smi mig -lgip` and -lgipp print it; memory in MiB, placements in memory slices."""
    info = _information(gpu, number, 2)
    if info is None:
        return "absent"
    places = gpu.library.placements(gpu.handle, info.id)
    engines = (info.copyEngineCount, info.decoderCount, info.encoderCount, info.jpegCount, info.ofaCount)
    starts = ",".join(str(start) for start, _ in places)
    sizes = ",".join(sorted({str(size) for _, size in places}))
    return (
        f"{_name_of(info)} id {info.id} x{info.instanceCount} {info.sliceCount} slices {info.memorySizeMB} MiB "
        f"{info.multiprocessorCount} SM {'/'.join(map(str, engines))} P2P {info.isP2pSupported} at {starts}:{sizes}"
    )


def _name_of(info: Any) -> str:
    name = info.name.decode() if isinstance(info.name, bytes) else str(info.name)
    return name.removeprefix("MIG ")


@value("name of profile {number:d}")
def _(gpu: Gpu, number: int) -> object:
    info = _information(gpu, number, 2)
    if info is None:
        return "absent"
    return _name_of(info).split("+")[0]


@value("name of profile {number:d} by its memory")
def _(gpu: Gpu, number: int) -> object:
    info = _information(gpu, number, 1)
    if info is None:
        return "absent"
    total = gpu.nvml.nvmlDeviceGetMemoryInfo(gpu.handle).total / 2**20
    # Names have the memory in eighths of the GPU's whole GiB; the share is rounded up.
    eighths = -(-8 * info.memorySizeMB // total) / 8
    return f"{info.sliceCount}g.{int(eighths * -(-total // 1024) + 0.5)}gb"


def _starts(gpu: Gpu, profile: int) -> list[int]:
    return [start for start, _ in gpu.library.placements(gpu.handle, profile)]


@value("placements of id {profile:d}")
def _(gpu: Gpu, profile: int) -> object:
    return _starts(gpu, profile)


@value("sorted placements of id {profile:d}")
def _(gpu: Gpu, profile: int) -> object:
    return sorted(set(_starts(gpu, profile))) or "at least one placement"


@value("ids without placements among {profiles}")
def _(gpu: Gpu, profiles: str) -> object:
    return [profile for profile in words(profiles) if not _starts(gpu, int(profile))]


# -- values of instances and MIG devices ---------------------------------------------------------------------------


@value("GPU instances")
def _(gpu: Gpu) -> object:
    """Return id, profile id, start and size of each GPU instance."""
    found = [gpu.nvml.nvmlGpuInstanceGetInfo(instance) for instance in gpu.library.instances(gpu.handle)]
    rows = sorted((info.placement.start, info.placement.size, info.profileId, info.id) for info in found)
    return [f"{number} of profile {profile} at {start}:{size}" for start, size, profile, number in rows]


@value("MIG devices")
def _(gpu: Gpu) -> object:
    """Return the GPU instance and compute instance of each MIG device, by index, with its memory in MiB and slices."""
    nvml, rows = gpu.nvml, []
    for device in gpu.library.mig_devices(gpu.handle):
        has = nvml.nvmlDeviceGetAttributes(device)
        ids = f"{nvml.nvmlDeviceGetGpuInstanceId(device)}/{nvml.nvmlDeviceGetComputeInstanceId(device)}"
        slices = f"{has.gpuInstanceSliceCount}g.{has.computeInstanceSliceCount}c"
        rows.append(f"{ids} {slices} {has.multiprocessorCount} SM {has.memorySizeMB} MiB")
    return rows


@value("MIG devices whose UUID has another version than 5, or another MIG device has it")
def _(gpu: Gpu) -> object:
    uuids = [
        gpu.nvml.nvmlDeviceGetUUID(device)
        for handle in gpu.library.handles
        for device in gpu.library.mig_devices(handle)
    ]
    form = re.compile(r"MIG-[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
    return [text for text in uuids if not form.fullmatch(text) or uuids.count(text) > 1]


@value("GPU instance ids by start")
def _(gpu: Gpu) -> object:
    return _ids(gpu.library)


@value("GPU instance ids by start before the removal")
def _(gpu: Gpu) -> object:
    return gpu.world.state(Instances).ids_before


@value("number of different GPU instance ids")
def _(gpu: Gpu) -> object:
    return len(set(_ids(gpu.library).values()))


@value("GPU instance ids outside {first:d} to {last:d}")
def _(gpu: Gpu, first: int, last: int) -> object:
    return [number for number in _ids(gpu.library).values() if not first <= number <= last]


@value("UUIDs of MIG devices")
def _(gpu: Gpu) -> object:
    return [gpu.nvml.nvmlDeviceGetUUID(device) for device in gpu.library.mig_devices(gpu.handle)]


@value("UUID of the compute instance's device")
def _(gpu: Gpu) -> object:
    nvml, compute = gpu.nvml, gpu.world.state(Instances).computes[-1]
    return gpu.library.outcome(lambda: nvml.nvmlDeviceGetUUID(nvml.nvmlComputeInstanceGetInfo(compute).device))


def _with_profiles(gpu: Gpu) -> Iterator[tuple[Any, Any]]:
    """Yield each MIG device of a GPU, by index, with the information of its GPU instance's profile."""
    nvml, profiles = gpu.nvml, gpu.library.profiles(gpu.handle)
    for device in gpu.library.mig_devices(gpu.handle):
        instance = nvml.nvmlDeviceGetGpuInstanceById(gpu.handle, nvml.nvmlDeviceGetGpuInstanceId(device))
        yield device, profiles[nvml.nvmlGpuInstanceGetInfo(instance).profileId]


@value("MIG devices with other memory than their profile")
def _(gpu: Gpu) -> object:
    """Compare the total of each MIG device with its attributes and its profile, and the parts with the total."""
    nvml, wrong = gpu.nvml, []
    for index, (device, profile) in enumerate(_with_profiles(gpu)):
        expected = profile.memorySizeMB
        attributes = nvml.nvmlDeviceGetAttributes(device).memorySizeMB
        memory = nvml.nvmlDeviceGetMemoryInfo(device)
        total = int(memory.total) >> 20
        # The driver reserves a part of the memory.
        good = attributes == expected and abs(total - expected) <= expected // 16
        if not good or memory.used + memory.free != memory.total:
            wrong.append(f"{index}: {total} MiB, {attributes} MiB by its attributes, {expected} MiB by its profile")
    return wrong


@value("PCI addresses of its MIG devices")
def _(gpu: Gpu) -> object:
    return {str(gpu.nvml.nvmlDeviceGetPciInfo(device).busId) for device in gpu.library.mig_devices(gpu.handle)}


@value("slices of its MIG devices")
def _(gpu: Gpu) -> object:
    devices = gpu.library.mig_devices(gpu.handle)
    return [gpu.nvml.nvmlDeviceGetAttributes(device).gpuInstanceSliceCount for device in devices]


@value("MIG devices without the name of their GPU and profile")
def _(gpu: Gpu) -> object:
    nvml, wrong = gpu.nvml, []
    for device, profile in _with_profiles(gpu):
        name = nvml.nvmlDeviceGetName(device)
        wrong += [name] if name != f"{nvml.nvmlDeviceGetName(gpu.handle)} MIG {_name_of(profile)}" else []
    return wrong


@value("readings of a whole GPU that a MIG device has")
def _(gpu: Gpu) -> object:
    room = ctypes.create_string_buffer(64)
    found = []
    for name, arguments in (("Temperature", (0,)), ("PowerUsage", ()), ("ClockInfo", (0,)), ("EnforcedPowerLimit", ())):
        for device in gpu.library.mig_devices(gpu.handle):
            if gpu.library.call(f"nvmlDeviceGet{name}", device, *arguments, room) == OK:
                found.append(name)
    return found


@value("MIG devices whose parent is another GPU")
def _(gpu: Gpu) -> object:
    nvml = gpu.nvml
    parents = [nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(d) for d in gpu.library.mig_devices(gpu.handle)]
    return [number for number, parent in enumerate(parents) if nvml.nvmlDeviceGetIndex(parent) != gpu.index]


@value("capability files of both instances")
def _(gpu: Gpu) -> object:
    files = gpu.world.state(Instances).capability_files
    found = {str(file): _device_file(gpu, file) for file in files}
    if all(found.values()):
        return "exist"
    return [name for name in found if Path(name).exists()]


def _device_file(gpu: Gpu, file: Path) -> bool:
    """Return whether a capability file exists and names the minor number of a device file that exists."""
    text = file.read_text(encoding="ascii") if file.exists() else ""
    minor = text.partition("DeviceFileMinor:")[2].split("\n")[0].strip()
    return minor.isdigit() and (gpu.library.root / f"dev/nvidia-caps/nvidia-cap{minor}").exists()
