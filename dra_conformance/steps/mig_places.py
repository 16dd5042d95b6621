"""MIG devices that could be made: the places that a driver publishes for them, and the counters that they take.

A place is meant by the hardware's profile id and its first memory slice, such as 19-3: how its device's name ends.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from typing import Any

from dra_api.objects import Obj, name_of
from dra_api.quantity import Quantity
from dra_conformance.engine.vocabulary import then
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.mig import attribute

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
        return dict(sizes_of(nvml, handle))
    finally:
        nvml.nvmlShutdown()


def sizes_of(nvml: Any, handle: Any) -> Iterator[tuple[int, int]]:
    """Each profile that NVML knows on a GPU, and how many memory slices an instance of it takes."""
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


@then('GPU {gpu:d} on "{node}" is published as MIG devices with their counters, and not whole')
def _(world: World, gpu: int, node: str) -> None:
    """There are places of the GPU and its counter set, and no device that is the whole of it."""
    component = world.node(node)
    uuid, minor = component.gpus.get(gpu, "uuid"), component.gpus.gpus[gpu].minor
    found = {
        "whole": [d["name"] for d in wholes(world, node) if attribute(d, "uuid") == uuid],
        "places": sum(attribute(d, "parentUUID") == uuid for d in places(world, node)) > 0,
        "counters": f"gpu-{minor}-counter-set" in counter_sets(world, node),
    }
    wanted = {"whole": [], "places": True, "counters": True}
    world.check(found == wanted, f"devices of GPU {gpu}", expected=wanted, observed=found)
