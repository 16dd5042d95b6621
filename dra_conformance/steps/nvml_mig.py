"""NVML's MIG: modes, profiles, placements, instances and the devices that they make."""

from __future__ import annotations

import ctypes
import random
from typing import Any

from dra_conformance.components.nvml import OK, NvmlLibrary
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import World

#: Ids by enum, as A100, H100, H200, B200 and GB200 have them.
IDS = {0: 19, 1: 14, 2: 9, 3: 5, 4: 0, 7: 20, 9: 15}
LARGE = 9  # id of the profile of three compute and four memory slices


@given("MIG is on for GPU 0, without instances")
def _(world: World) -> None:
    """The mode is switched on; on a real GPU it is switched off again when the scenario ends."""
    component = world.nvml()
    component.enable_mig(component.handle())
    component.destroy_instances(component.handle())


def _needs_mig(component: NvmlLibrary) -> None:
    """Raises Untestable where GPU 0 is of a board without MIG: NVML-031 judges what that one answers."""
    if component.outcome(component.module.nvmlDeviceGetMigMode, component.handle()) == "NOT_SUPPORTED":
        raise Untestable("the board of GPU 0 has no MIG")


def _made(component: NvmlLibrary, profile: int, *, start: int | None = None) -> Any:
    made = component.create_instance(component.handle(), profile, start=start)
    if isinstance(made, str):
        raise Untestable(f"no GPU instance of profile {profile}: {made}")
    return made


@when("a GPU instance of profile {profile:d} is made")
def _(world: World, profile: int) -> None:
    """On GPU 0, where the library chooses."""
    world.memory["instance"] = _made(world.nvml(), profile)


@when("a GPU instance of profile {profile:d} is made at {start:d}")
def _(world: World, profile: int, start: int) -> None:
    """On GPU 0, at a memory slice."""
    world.memory["instance"] = _made(world.nvml(), profile, start=start)


@when("a compute instance over all of it is made")
def _(world: World) -> None:
    """In the GPU instance that was made last."""
    world.memory["compute"] = world.nvml().create_compute(world.memory["instance"])


@then("no MIG call is supported on GPU 0")
def _(world: World) -> None:
    """A board without MIG answers NOT_SUPPORTED to the mode and to all that needs it."""
    component = world.nvml()
    nvml, handle = component.module, component.handle()
    count = ctypes.c_uint(0)
    found = {
        "mode": component.outcome(nvml.nvmlDeviceGetMigMode, handle),
        "set mode": component.outcome(nvml.nvmlDeviceSetMigMode, handle, 1),
        "profile": component.outcome(nvml.nvmlDeviceGetGpuInstanceProfileInfo, handle, 0),
        "placements": component.error_name(
            component.call("nvmlDeviceGetGpuInstancePossiblePlacements_v2", handle, 19, None, ctypes.byref(count))
        ),
        "create": component.outcome(nvml.nvmlDeviceCreateGpuInstance, handle, 19),
    }
    for call, answer in found.items():
        world.check(answer == "NOT_SUPPORTED", call, expected="NOT_SUPPORTED", observed=answer)


@then("MIG is on at once, current and pending")
def _(world: World) -> None:
    """Hopper and later: SetMigMode acts without a reset."""
    component = world.nvml()
    found = list(component.module.nvmlDeviceGetMigMode(component.handle()))
    world.check(found == [1, 1], "current and pending", expected=[1, 1], observed=found)


@then("switching MIG on is only pending until GPU 0 is reset")
def _(world: World) -> None:
    """Ampere: the activation says RESET_REQUIRED, and the current mode changes with the reset."""
    component = world.nvml()
    handle, activation = component.handle(), ctypes.c_int(-1)
    code = component.call("nvmlDeviceSetMigMode", handle, 1, ctypes.byref(activation))
    found = (code, activation.value, list(component.module.nvmlDeviceGetMigMode(handle)))
    world.check(found == (OK, 16, [0, 1]), "pending only", expected=(OK, 16, [0, 1]), observed=found)
    component.node.reset(0)
    after = list(component.module.nvmlDeviceGetMigMode(handle))
    world.check(after == [1, 1], "after the reset", expected=[1, 1], observed=after)


@then("MIG cannot be switched off while the instance is there")
def _(world: World) -> None:
    """The activation says IN_USE (19) and the mode stays."""
    component = world.nvml()
    activation = ctypes.c_int(-1)
    code = component.call("nvmlDeviceSetMigMode", component.handle(), 0, ctypes.byref(activation))
    mode = component.module.nvmlDeviceGetMigMode(component.handle())[0]
    refused = 19 in (code, activation.value)
    world.check(refused and mode == 1, "in use", expected=("IN_USE", 1), observed=(code, activation.value, mode))


@then("a profile that is asked by its number has the id by which instances are made")
def _(world: World) -> None:
    """The number of the question and the id in the answer are different things: 0 has 19, 4 has 0."""
    component = world.nvml()
    _needs_mig(component)
    for number, wanted in IDS.items():
        info = component.outcome(component.module.nvmlDeviceGetGpuInstanceProfileInfo, component.handle(), number)
        found = info if isinstance(info, str) else info.id
        world.check(found == wanted, f"profile number {number}", expected=wanted, observed=found)
        places = component.placements(component.handle(), wanted)
        world.check(bool(places), f"placements of id {wanted}", expected="some", observed=places)


@then("a profile number beyond the last is INVALID_ARGUMENT, one that the board lacks NOT_SUPPORTED")
def _(world: World) -> None:
    """Callers try all numbers and tell the two apart."""
    component = world.nvml()
    _needs_mig(component)
    ask = component.module.nvmlDeviceGetGpuInstanceProfileInfo
    found = (component.outcome(ask, component.handle(), 40), component.outcome(ask, component.handle(), 5))
    wanted = ("INVALID_ARGUMENT", "NOT_SUPPORTED")
    world.check(found == wanted, "numbers 40 and 5", expected=wanted, observed=found)


@then("both versions of every profile tell the same")
def _(world: World) -> None:
    """Field by field; the second version has a name beside them."""
    component = world.nvml()
    _needs_mig(component)
    nvml = component.module
    for number in IDS:
        first = nvml.c_nvmlGpuInstanceProfileInfo_t()
        code = component.call("nvmlDeviceGetGpuInstanceProfileInfo", component.handle(), number, ctypes.byref(first))
        if code != OK:
            continue
        second = nvml.nvmlDeviceGetGpuInstanceProfileInfo(component.handle(), number, 2)
        names = [field[0] for field in first._fields_]
        one = {name: getattr(first, name) for name in names}
        two = {name: getattr(second, name) for name in names}
        world.check(one == two, f"profile number {number}", expected=one, observed=two)


@then("placements are counted with NULL, listed in ascending order, and told with MIG off too")
def _(world: World) -> None:
    """The way that callers learn how much room to give."""
    component = world.nvml()
    _needs_mig(component)
    for profile in IDS.values():
        starts = [start for start, _ in component.placements(component.handle(), profile)]
        good = bool(starts) and starts == sorted(set(starts))
        world.check(good, f"starts of profile {profile}", expected="ascending, at least one", observed=starts)


@then("no two GPU instances overlap, whatever is made and destroyed")
def _(world: World) -> None:
    """A hundred and twenty operations, mixed by chance and the same in every run; small profiles are more frequent."""
    component = world.nvml()
    handle, rng = component.handle(), random.Random(38)  # noqa: S311
    live: list[Any] = []
    for step in range(120):
        if live and rng.random() < 0.4:
            component.outcome(component.module.nvmlGpuInstanceDestroy, live.pop(rng.randrange(len(live))))
        else:
            made = component.create_instance(handle, rng.choice((19, 19, 20, 15, 14, 14, 9, 5)))
            live += [] if isinstance(made, str) else [made]
        taken: list[int] = []
        for instance in live:
            place = component.module.nvmlGpuInstanceGetInfo(instance).placement
            taken += range(place.start, place.start + place.size)
        world.check(
            len(taken) == len(set(taken)),
            f"slices after operation {step}",
            expected="each once",
            observed=sorted(taken),
        )


@then("another one at {start:d} fails with INSUFFICIENT_RESOURCES")
def _(world: World, start: int) -> None:
    """The place is taken: not ALREADY_EXISTS, not IN_USE."""
    component = world.nvml()
    found = component.create_instance(component.handle(), LARGE, start=start)
    world.check(found == "INSUFFICIENT_RESOURCES", "a taken place", expected="INSUFFICIENT_RESOURCES", observed=found)


@then("as many more GPU instances of profile {profile:d} can be made as the remaining capacity says")
def _(world: World, profile: int) -> None:
    """Made one by one until the library refuses."""
    component = world.nvml()
    left = component.module.nvmlDeviceGetGpuInstanceRemainingCapacity(component.handle(), profile)
    made = 0
    while made < 9 and not isinstance(component.create_instance(component.handle(), profile), str):
        made += 1
    world.check(made == left, "instances that could be made", expected=left, observed=made)


@then("a second GPU instance of profile {profile:d} is refused")
def _(world: World, profile: int) -> None:
    """Only one instance has the media extensions."""
    found = world.nvml().create_instance(world.nvml().handle(), profile)
    world.check(found == "INSUFFICIENT_RESOURCES", "a second one", expected="INSUFFICIENT_RESOURCES", observed=found)


@then("GPU 0 has {count:d} MIG devices")
def _(world: World, count: int) -> None:
    """Each compute instance is one MIG device with a UUID MIG-…; a GPU instance alone is none."""
    component = world.nvml()
    found = [component.module.nvmlDeviceGetUUID(device) for device in component.mig_devices(component.handle())]
    good = len(found) == count == len(set(found)) and all(text.startswith("MIG-") for text in found)
    world.check(good, "MIG devices", expected=count, observed=found)


@then("the compute instance names its MIG device")
def _(world: World) -> None:
    """The device in its information is the MIG device, with the UUID that the device has by its index."""
    component = world.nvml()
    nvml = component.module
    named = component.outcome(
        lambda: nvml.nvmlDeviceGetUUID(nvml.nvmlComputeInstanceGetInfo(world.memory["compute"]).device)
    )
    listed = [nvml.nvmlDeviceGetUUID(device) for device in component.mig_devices(component.handle())]
    world.check([named] == listed, "the device of the compute instance", expected=listed, observed=named)


@then("the GPU instance can be destroyed after its compute instance only")
def _(world: World) -> None:
    """IN_USE while the compute instance lives; both gone, its id is NOT_FOUND."""
    component = world.nvml()
    nvml, instance = component.module, world.memory["instance"]
    number = nvml.nvmlGpuInstanceGetInfo(instance).id
    busy = component.error_name(component.call("nvmlGpuInstanceDestroy", instance))
    world.check(busy == "IN_USE", "with its compute instance", expected="IN_USE", observed=busy)
    codes = (
        component.call("nvmlComputeInstanceDestroy", world.memory["compute"]),
        component.call("nvmlGpuInstanceDestroy", instance),
    )
    world.check(codes == (OK, OK), "one after the other", expected=(OK, OK), observed=codes)
    gone = component.outcome(nvml.nvmlDeviceGetGpuInstanceById, component.handle(), number)
    world.check(gone == "NOT_FOUND", "its id afterwards", expected="NOT_FOUND", observed=gone)


@then("a handle to a destroyed GPU instance is refused, though its place is taken again")
def _(world: World) -> None:
    """An error, never the instance that lies there now."""
    component = world.nvml()
    old = world.memory["instance"]
    place = component.module.nvmlGpuInstanceGetInfo(old).placement.start
    component.module.nvmlGpuInstanceDestroy(old)
    _made(component, LARGE, start=place)
    found = component.outcome(component.module.nvmlGpuInstanceGetInfo, old)
    world.check(isinstance(found, str), "the old handle", expected="an error", observed=found)


@then("with MIG off there is no room for MIG devices, and none by index")
def _(world: World) -> None:
    """The largest number of MIG devices is 0, and index 0 is NOT_FOUND."""
    component = world.nvml()
    _needs_mig(component)
    handle = component.handle()
    found = (
        component.module.nvmlDeviceGetMaxMigDeviceCount(handle),
        component.outcome(component.module.nvmlDeviceGetMigDeviceHandleByIndex, handle, 0),
    )
    world.check(found == (0, "NOT_FOUND"), "count and index 0", expected=(0, "NOT_FOUND"), observed=found)


@then("the MIG device has the memory of its slice and the PCI address of its GPU")
def _(world: World) -> None:
    """Its memory is that of its profile, give or take what the driver keeps of it; its address is its parent's."""
    component = world.nvml()
    nvml = component.module
    device = component.mig_devices(component.handle())[0]
    total, slice_ = nvml.nvmlDeviceGetMemoryInfo(device).total, nvml.nvmlDeviceGetAttributes(device).memorySizeMB << 20
    near = abs(total - slice_) <= slice_ // 16
    world.check(near, "memory of the slice", expected=f"about {slice_}", observed=total)
    own, parent = nvml.nvmlDeviceGetPciInfo(device).busId, nvml.nvmlDeviceGetPciInfo(component.handle()).busId
    world.check(own == parent, "PCI address", expected=parent, observed=own)


@then("remapped rows are not told while the instance is there")
def _(world: World) -> None:
    """NOT_SUPPORTED, as documented for a GPU with active MIG instances."""
    component = world.nvml()
    found = component.outcome(component.module.nvmlDeviceGetRemappedRows, component.handle())
    world.check(found == "NOT_SUPPORTED", "remapped rows", expected="NOT_SUPPORTED", observed=found)


@then("the instance and its compute instance have capability files, and lose them when they are destroyed")
def _(world: World) -> None:
    """/proc/driver/nvidia/capabilities/gpuN/mig/giX/access and …/ciY/access, each naming the minor of a device file."""
    component = world.nvml()
    nvml, instance, compute = component.module, world.memory["instance"], world.memory["compute"]
    gpu = nvml.nvmlDeviceGetMinorNumber(component.handle())
    gi, ci = nvml.nvmlGpuInstanceGetInfo(instance).id, nvml.nvmlComputeInstanceGetInfo(compute).id
    folder = component.root / f"proc/driver/nvidia/capabilities/gpu{gpu}/mig/gi{gi}"
    files = [folder / "access", folder / f"ci{ci}" / "access"]
    for file in files:
        text = file.read_text(encoding="ascii") if file.exists() else "none"
        minor = text.partition("DeviceFileMinor:")[2].split("\n")[0].strip()
        there = minor.isdigit() and (component.root / f"dev/nvidia-caps/nvidia-cap{minor}").exists()
        world.check(there, f"{file.parent.name}/access and its device file", expected="both there", observed=text)
    nvml.nvmlComputeInstanceDestroy(compute)
    nvml.nvmlGpuInstanceDestroy(instance)
    left = [str(file) for file in files if file.exists()]
    world.check(not left, "files of what is gone", expected=[], observed=left)


@then("ids of instances are those of their size, one for each, and come again with the place")
def _(world: World) -> None:
    """Seven instances of one slice have ids from 7 to 14, one of them made anew its former id; pairs have 3 to 6."""
    component = world.nvml()
    handle, nvml = component.handle(), component.module

    def ids() -> dict[int, int]:
        found = [nvml.nvmlGpuInstanceGetInfo(instance) for instance in component.instances(handle)]
        return {info.placement.start: info.id for info in found}

    for profile, starts, room in ((19, range(7), range(7, 15)), (14, (0, 2, 4), range(3, 7))):
        for start in starts:
            _made(component, profile, start=start)
        first = ids()
        good = set(first) == set(starts) and len(set(first.values())) == len(first) and set(first.values()) <= set(room)
        world.check(good, f"ids of profile {profile} by start", expected=f"each one of {list(room)}", observed=first)
        middle = next(
            i for i in component.instances(handle) if nvml.nvmlGpuInstanceGetInfo(i).placement.start == starts[1]
        )
        nvml.nvmlGpuInstanceDestroy(middle)
        _made(component, profile, start=starts[1])
        world.check(ids() == first, "ids after one was made anew", expected=first, observed=ids())
        component.destroy_instances(handle)


_COUNTS = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.nvmlInit_v2()
handle, found, count = ctypes.c_void_p(), (ctypes.c_void_p * 8)(), ctypes.c_uint()
library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle))
for _ in sys.stdin:
    code = library.nvmlDeviceGetGpuInstances(handle, 19, found, ctypes.byref(count))
    print(code, count.value, flush=True)
"""


@given("another process that counts the GPU instances of profile 19")
def _(world: World) -> None:
    """Its session began before the instances that the scenario makes."""
    component = world.nvml()
    world.memory["counter"] = child = component.child(_COUNTS, str(component.library))
    child.say("count")
    if child.line(world.run.patience) != "0 0":
        raise Untestable("the other process does not count")


@then("the other process counts {count:d} of them")
def _(world: World, count: int) -> None:
    """At its next call."""
    child = world.memory["counter"]
    child.say("count")
    found = child.line(world.run.patience)
    world.check(found == f"0 {count}", "code and number", expected=f"0 {count}", observed=found)


@when("the GPU instance is destroyed")
def _(world: World) -> None:
    """The one that was made last."""
    world.nvml().module.nvmlGpuInstanceDestroy(world.memory["instance"])


@then("the name of every profile follows from its memory as drivers compute it")
def _(world: World) -> None:
    """Memory in eighths of the GPU's, rounded up, times the GPU's in GiB; the DRA driver's device names have it."""
    component = world.nvml()
    _needs_mig(component)
    nvml, handle = component.module, component.handle()
    total = nvml.nvmlDeviceGetMemoryInfo(handle).total / 2**20
    for number in IDS:
        info = nvml.c_nvmlGpuInstanceProfileInfo_t()
        if component.call("nvmlDeviceGetGpuInstanceProfileInfo", handle, number, ctypes.byref(info)) != OK:
            continue
        eighths = -(-8 * info.memorySizeMB // total) / 8
        computed = f"{info.sliceCount}g.{int(eighths * -(-total // 1024) + 0.5)}gb"
        name = nvml.nvmlDeviceGetGpuInstanceProfileInfo(handle, number, 2).name
        name = (name.decode() if isinstance(name, bytes) else name).removeprefix("MIG ").split("+")[0]
        world.check(name == computed, f"profile number {number}", expected=name, observed=computed)
