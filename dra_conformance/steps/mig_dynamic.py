"""MIG devices that are made on demand: the places that are published, their counters, the instances in NVML.

An instance is meant by the hardware's profile id and its first memory slice, such as 19-3: how its device's name ends.
"""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Iterator
from typing import Any

from dra_api.objects import Obj, name_of
from dra_api.quantity import Quantity
from dra_conformance.errors import Untestable
from dra_conformance.kubelet import CDIRegistry
from dra_conformance.kubelet.errors import CDIError, KubeletError
from dra_conformance.steps.claims import allocate_by_hand, claim_object, claim_spec, driver_class
from dra_conformance.steps.driver_calls import (
    answer_for,
    calls,
    prepare,
    problem_of,
    reference_to,
    start_anew,
    unprepare,
    unprepare_problem,
)
from dra_conformance.steps.mig import attribute, capability_minor
from dra_conformance.suite.vocabulary import given, then, when, words
from dra_conformance.suite.world import Seen, World

PLACE = re.compile(r"gpu-(\d+)-mig-(.+-\d+)-(\d+)")
ENDING = re.compile(r"gpu-\d+-mig-.+-(\d+-\d+)")


def places(world: World, node: str) -> list[Obj]:
    """The published devices of type mig."""
    return [device for device in world.node(node).devices() if attribute(device, "type") == "mig"]


def wholes(world: World, node: str) -> list[Obj]:
    """The published devices of type gpu."""
    return [device for device in world.node(node).devices() if attribute(device, "type") == "gpu"]


def counter_sets(world: World, node: str) -> dict[str, dict[str, int]]:
    """The published counters by set."""
    return {
        counters["name"]: {name: int(Quantity.parse(str(c["value"])).value) for name, c in counters["counters"].items()}
        for obj in world.node(node).slices()
        for counters in obj["spec"].get("sharedCounters") or ()
    }


def taken_by(device: Obj) -> dict[str, dict[str, int]]:
    """What a device takes of each counter set."""
    return {
        use["counterSet"]: {name: int(Quantity.parse(str(c["value"])).value) for name, c in use["counters"].items()}
        for use in device.get("consumesCounters") or ()
    }


def memory_slices(counters: dict[str, int]) -> list[int]:
    """The memory slices among counters."""
    return sorted(int(name.removeprefix("memory-slice-")) for name in counters if name.startswith("memory-slice-"))


# -- slices ------------------------------------------------------------------------------------------------------------


@then('GPU {gpu:d} on "{node}" is published whole and cut as "{table}"')
def _(world: World, gpu: int, node: str, table: str) -> None:
    """The devices of a GPU are itself and each place of the table: `profile-id: starts; …`."""
    minor = world.node(node).gpus.gpus[gpu].minor
    wanted = {f"gpu-{minor}"}
    for row in table.split(";"):
        profile, _, starts = row.strip().partition(": ")
        for part in starts.split(","):
            first, _, last = part.partition("-")
            wanted |= {f"gpu-{minor}-mig-{profile}-{start}" for start in range(int(first), int(last or first) + 1)}
    uuid = world.node(node).gpus.get(gpu, "uuid")
    found = {
        d["name"] for d in world.node(node).devices() if uuid in (attribute(d, "uuid"), attribute(d, "parentUUID"))
    }
    world.check(found == wanted, f"devices of GPU {gpu}", expected=sorted(wanted), observed=sorted(found))


@then('every MIG device on "{node}" is a place without uuid that takes counters of its own GPU')
def _(world: World, node: str) -> None:
    """No uuid and no memorySlice capacity; one consumesCounters entry, of gpu-<minor>-counter-set."""
    wrong = {}
    for device in places(world, node):
        match = PLACE.fullmatch(device["name"])
        told = {
            "uuid": attribute(device, "uuid"),
            "slices": [name for name in device.get("capacity") or () if name.startswith("memorySlice")],
            "sets": list(taken_by(device)),
        }
        wanted = {"uuid": None, "slices": [], "sets": [f"gpu-{match.group(1)}-counter-set"] if match else []}
        if told != wanted or not match:
            wrong[device["name"]] = told
    ok = not wrong and bool(places(world, node))
    world.check(ok, "MIG devices are places", expected="no uuid, one counter set", observed=wrong or "no MIG device")


@then('every MIG device on "{node}" takes its own memory slices and no other')
def _(world: World, node: str) -> None:
    """memory-slice-<n> of each slice from the placement's start on, as many as NVML says; and its capacities."""
    sizes = profile_sizes(world, node)
    wrong: dict[str, dict[str, int]] = {}
    for device in places(world, node):
        match = PLACE.fullmatch(device["name"])
        if match is None:
            wrong[device["name"]] = {}
            continue
        start, profile = int(match.group(3)), int(match.group(2).rpartition("-")[2])
        wanted = list(range(start, start + sizes[profile]))
        found = [memory_slices(counters) for counters in taken_by(device).values()]
        amounts = {name: number for counters in taken_by(device).values() for name, number in counters.items()}
        capacity = {
            kebab(name): int(Quantity.parse(str(entry["value"])).value)
            for name, entry in (device.get("capacity") or {}).items()
        }
        if found != [wanted] or _without_slices(amounts) != capacity:
            wrong[device["name"]] = amounts
    world.check(not wrong, "counters of MIG devices", expected="their memory slices and capacities", observed=wrong)


def _without_slices(amounts: dict[str, int]) -> dict[str, int]:
    return {name: number for name, number in amounts.items() if not name.startswith("memory-slice-")}


def kebab(name: str) -> str:
    """copy-engines for copyEngines."""
    return re.sub(r"([A-Z])", r"-\1", name).lower()


def profile_sizes(world: World, node: str) -> dict[int, int]:
    """Memory slices of each profile that NVML knows on GPU 0, by the hardware's id."""
    nvml = world.node(node).nvml
    nvml.nvmlInit()
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(0)
        return dict(_sizes(nvml, handle))
    finally:
        nvml.nvmlShutdown()


def _sizes(nvml: Any, handle: Any) -> Iterator[tuple[int, int]]:
    for index in range(nvml.NVML_GPU_INSTANCE_PROFILE_COUNT):
        try:
            profile = nvml.nvmlDeviceGetGpuInstanceProfileInfo(handle, index).id
        except nvml.NVMLError:
            continue
        count = ctypes.c_uint(0)
        nvml.nvmlDeviceGetGpuInstancePossiblePlacements(handle, profile, None, ctypes.byref(count))
        room = (nvml.c_nvmlGpuInstancePlacement_t * count.value)()
        nvml.nvmlDeviceGetGpuInstancePossiblePlacements(handle, profile, room, ctypes.byref(count))
        if count.value:
            yield profile, room[0].size


@then('every whole GPU on "{node}" takes all that its counters have')
def _(world: World, node: str) -> None:
    """Its one consumesCounters entry is its whole counter set."""
    sets = counter_sets(world, node)
    wanted = {
        d["name"]: {f"{d['name']}-counter-set": sets.get(f"{d['name']}-counter-set")} for d in wholes(world, node)
    }
    found = {device["name"]: taken_by(device) for device in wholes(world, node)}
    world.check(bool(found) and found == wanted, "counters of whole GPUs", expected=wanted, observed=found)


@then('the counters on "{node}" are named after the capacities, and none is taken that is not there')
def _(world: World, node: str) -> None:
    """Every set has the kebab-case of each capacity and memory-slice-<n> without gaps; every taken counter exists."""
    sets = counter_sets(world, node)
    names = {kebab(name) for device in places(world, node) for name in device.get("capacity") or ()}
    wrong: dict[str, object] = {}
    for name, counters in sets.items():
        slices = memory_slices(counters)
        if set(counters) - {f"memory-slice-{n}" for n in slices} != names or slices != list(range(len(slices))):
            wrong[name] = sorted(counters)
    for device in world.node(node).devices():
        for name, used in taken_by(device).items():
            if missing := {c for c, n in used.items() if sets.get(name, {}).get(c, -1) < n}:
                wrong[device["name"]] = sorted(missing)
    world.check(not wrong and bool(sets), "names of counters", expected=sorted(names), observed=wrong or list(sets))


def slice_contents(world: World, node: str) -> list[tuple[int, int]]:
    """Counter sets and devices of each slice, by the slices' names."""
    return [
        (len(obj["spec"].get("sharedCounters") or ()), len(obj["spec"].get("devices") or ()))
        for obj in sorted(world.node(node).slices(), key=name_of)
    ]


@then('the slices of the driver on "{node}" are one of counters and one for each GPU')
def _(world: World, node: str) -> None:
    """The first slice has all counter sets and no device; each other one has the devices of one GPU."""
    gpus = len(world.node(node).gpus.gpus)

    def look() -> Seen:
        found = slice_contents(world, node)
        rest = all(sets == 0 and devices > 1 for sets, devices in found[1:])
        return len(found) == gpus + 1 and found[0] == (gpus, 0) and rest, found

    world.eventually("slices", look, expected=f"({gpus}, 0) and {gpus} times (0, devices)")


@then('the slices of the driver on "{node}" are one for each GPU with its counters and devices')
def _(world: World, node: str) -> None:
    """Each slice has one counter set and the devices of one GPU."""
    gpus = len(world.node(node).gpus.gpus)

    def look() -> Seen:
        found = slice_contents(world, node)
        return len(found) == gpus and all(sets == 1 and devices > 1 for sets, devices in found), found

    world.eventually("slices", look, expected=f"{gpus} times (1, devices)")


@given('MIG was turned on for GPU {gpu:d} of "{node}" and the GPU reset')
def _(world: World, gpu: int, node: str) -> None:
    """Give a GPU MIG mode, as an administrator and a reset do before the driver starts."""
    gpus = world.node(node).gpus
    gpus.set(gpu, "mig_mode_current", 1)
    gpus.set(gpu, "mig_mode_pending", 1)


@then('GPU {gpu:d} on "{node}" is published as MIG devices with their counters, and not whole')
def _(world: World, gpu: int, node: str) -> None:
    """There are places of the GPU and its counter set, and no device that is the whole of it."""
    seat = world.node(node)
    uuid, minor = seat.gpus.get(gpu, "uuid"), seat.gpus.gpus[gpu].minor
    found = {
        "whole": [d["name"] for d in wholes(world, node) if attribute(d, "uuid") == uuid],
        "places": sum(attribute(d, "parentUUID") == uuid for d in places(world, node)) > 0,
        "counters": f"gpu-{minor}-counter-set" in counter_sets(world, node),
    }
    wanted = {"whole": [], "places": True, "counters": True}
    world.check(found == wanted, f"devices of GPU {gpu}", expected=wanted, observed=found)


# -- instances ---------------------------------------------------------------------------------------------------------


def instances(world: World, node: str, gpu: int) -> list[str] | None:
    """The GPU instances that NVML shows, as profile id and start; None where MIG is off."""
    nvml = world.node(node).nvml
    nvml.nvmlInit()
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(gpu)
        if not nvml.nvmlDeviceGetMigMode(handle)[0]:
            return None
        found = []
        for number in range(16):
            try:
                info = nvml.nvmlGpuInstanceGetInfo(nvml.nvmlDeviceGetGpuInstanceById(handle, number))
            except nvml.NVMLError:
                continue
            found.append(f"{info.profileId}-{info.placement.start}")
        return sorted(found)
    finally:
        nvml.nvmlShutdown()


@then('NVML on "{node}" shows the instances "{wanted}" on GPU {gpu:d} and no other')
def _(world: World, node: str, wanted: str, gpu: int) -> None:
    """The live GPU instances are exactly these."""
    found = instances(world, node, gpu)
    world.check(
        found == sorted(words(wanted)), f"instances of GPU {gpu}", expected=sorted(words(wanted)), observed=found
    )


@then('NVML on "{node}" shows MIG off on GPU {gpu:d}')
def _(world: World, node: str, gpu: int) -> None:
    """There comes to be no instance, and MIG mode is off."""

    def look() -> Seen:
        found = instances(world, node, gpu)
        return found is None, "off" if found is None else found

    world.eventually(f"MIG mode of GPU {gpu}", look, expected="off")


@then('NVML on "{node}" shows {count:d} instances on GPU {gpu:d}')
def _(world: World, node: str, count: int, gpu: int) -> None:
    """So many GPU instances are live."""
    found = instances(world, node, gpu)
    world.check(len(found or ()) == count, f"instances of GPU {gpu}", expected=count, observed=found)


@when('somebody makes the instance "{place}" on GPU {gpu:d} of "{node}"')
def _(world: World, place: str, gpu: int, node: str) -> None:
    """Make a GPU instance through NVML, without a compute instance: what a killed driver can leave."""
    profile, _, start = place.partition("-")
    nvml = world.node(node).nvml
    nvml.nvmlInit()
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(gpu)
        nvml.nvmlDeviceSetMigMode(handle, nvml.NVML_DEVICE_MIG_ENABLE)
        placed = nvml.c_nvmlGpuInstancePlacement_t(int(start), dict(_sizes(nvml, handle))[int(profile)])
        nvml.nvmlDeviceCreateGpuInstanceWithPlacement(handle, int(profile), ctypes.byref(placed))
    except nvml.NVMLError as error:
        raise Untestable(f"the instance {place} cannot be made: {error}") from error
    finally:
        nvml.nvmlShutdown()


# -- claims for places -------------------------------------------------------------------------------------------------


def claim_devices(world: World, claim: str, node: str, devices: list[str]) -> None:
    """A claim with a hand-written allocation to devices by name."""
    world.create(claim_object(world, claim, claim_spec(driver_class(world), len(devices))))
    base = {"request": "gpu", "driver": world.run.options.driver_name, "pool": world.name(node)}
    allocate_by_hand(world, claim, world.name(node), [{**base, "device": device} for device in devices])


@given('a ResourceClaim "{claim}" allocated the devices "{devices}" on "{node}"')
def _(world: World, claim: str, devices: str, node: str) -> None:
    """A claim with an allocation written by hand to devices of the driver under test, by name."""
    claim_devices(world, claim, node, words(devices))


@when('every MIG device of GPU {gpu:d} on "{node}" is prepared and unprepared in turn')
def _(world: World, gpu: int, node: str) -> None:
    """Prepare and unprepare a claim for each place of a GPU; what NVML showed each time is kept."""
    uuid = world.node(node).gpus.get(gpu, "uuid")
    story: dict[str, object] = {}
    for device in [d["name"] for d in places(world, node) if attribute(d, "parentUUID") == uuid]:
        claim_devices(world, device, node, [device])
        ref = reference_to(world, device)
        problem = problem_of(prepare(world, node, [ref]), ref)
        made = instances(world, node, gpu)
        problem = problem or unprepare_problem(unprepare(world, node, [ref]), ref)
        story[device] = problem or [made, instances(world, node, gpu)]
    world.memory["mig-story"] = story


@then("each of them was made where its name says, and was gone after")
def _(world: World) -> None:
    """NVML showed the one instance of the device's name while it was prepared, and MIG off after."""
    story: dict[str, object] = world.memory["mig-story"]
    wrong = {
        name: seen
        for name, seen in story.items()
        if (match := ENDING.fullmatch(name)) is None or seen != [[match.group(1)], None]
    }
    world.check(bool(story) and not wrong, f"{len(story)} places", expected="made and unmade", observed=wrong or "none")


@then('a container with claim "{claim}" on "{node}" would see the capabilities of its own MIG devices only')
def _(world: World, claim: str, node: str) -> None:
    """The edits have the node of the parent GPU and the capability nodes of each device's two instances."""
    seat = world.node(node)
    seat.gpus.sync_driver_root()
    wanted = set()
    for device in answer_for(world, claim):
        match = PLACE.fullmatch(device.device_name)
        ending = ENDING.fullmatch(device.device_name)
        if match is None or ending is None:
            raise Untestable(f"{device.device_name} is no MIG device")
        minor = int(match.group(1))
        gi = gpu_instance_id(world, node, minor, ending.group(1))
        caps = [capability_minor(world, node, f"gpu{minor}/mig/gi{gi}/{end}access") for end in ("", "ci0/")]
        wanted |= {f"/dev/nvidia{minor}", *(f"/dev/nvidia-caps/nvidia-cap{cap}" for cap in caps)}
    registry = CDIRegistry.read(seat.kubelet.cdi_roots)
    try:
        found = registry.resolve(i for device in answer_for(world, claim) for i in device.cdi_device_ids)
    except CDIError as error:
        world.check(False, "CDI ids resolve", expected=sorted(wanted), observed=str(error))
        return
    own = re.compile(r"/dev/nvidia\d+|/dev/nvidia-caps/.+")
    nodes = {raw["path"] for device in found for raw in device.edits.get("deviceNodes") or ()}
    seen = {path for path in nodes if own.fullmatch(path)}
    world.check(seen == wanted, f"device nodes of {claim}", expected=sorted(wanted), observed=sorted(seen))


def gpu_instance_id(world: World, node: str, gpu: int, place: str) -> int:
    """NVML's id of the GPU instance at a place. Raises Untestable when there is none."""
    nvml = world.node(node).nvml
    nvml.nvmlInit()
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(gpu)
        for number in range(16):
            try:
                info = nvml.nvmlGpuInstanceGetInfo(nvml.nvmlDeviceGetGpuInstanceById(handle, number))
            except nvml.NVMLError:
                continue
            if f"{info.profileId}-{info.placement.start}" == place:
                return number
    finally:
        nvml.nvmlShutdown()
    raise Untestable(f"GPU {gpu} has no instance {place}")


# -- faults ------------------------------------------------------------------------------------------------------------


@when('NVML on "{node}" fails the next {times:d} calls of "{function}" on GPU {gpu:d} with "{error}"')
def _(world: World, node: str, times: int, function: str, gpu: int, error: str) -> None:
    """Make an NVML function fail on one GPU, for everybody on the node."""
    world.node(node).gpus.inject_fault(function, error=error, times=times, gpu=gpu)


@then('claim "{claim}" is not unprepared because "{text}"')
def _(world: World, claim: str, text: str) -> None:
    """The last NodeUnprepareResources call told an error of this claim with this text."""
    problem = unprepare_problem(calls(world).last, reference_to(world, claim))
    world.check(text in problem, f"claim {claim} is not unprepared", expected=text, observed=problem or "unprepared")


@when('the driver on "{node}" is started again as a process')
def _(world: World, node: str) -> None:
    """Start the stopped driver in a process of its own; nothing is waited for."""
    start_anew(world, world.node(node), as_process=True)


@when('the driver on "{node}" is killed while "{function}" hangs for claim "{claim}"')
def _(world: World, node: str, function: str, claim: str) -> None:
    """Let an NVML function not come back, ask for the claim, and kill the driver's process once it is in there."""
    seat = world.node(node)
    reference = reference_to(world, claim)
    rule = seat.gpus.inject_fault(function, hang=True, pid=seat.driver_process.pid or 0)

    def ask() -> None:
        try:
            prepare(world, node, [reference])
        except (Untestable, KubeletError):
            return

    caller = threading.Thread(target=ask, name="prepare", daemon=True)
    caller.start()
    world.require(f"{function} hangs", lambda: (seat.gpus.fault_hits(rule) > 0, "not called yet"))
    seat.kill_driver()
    seat.gpus.clear_faults(rule)
    caller.join(world.run.patience)
