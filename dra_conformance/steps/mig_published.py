"""Values of the devices, counters and slices that a driver publishes for MIG, and tables that they must agree with.

With dynamic MIG a device is a possible placement: its name ends with the hardware's profile id and the first memory
slice, such as 19-3.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from dra_api.objects import Obj, name_of
from dra_api.quantity import Quantity
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.engine.vocabulary import then
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.mig import attribute, mig_device
from dra_conformance.steps.nvml_values import agree, shown

# Groups: the GPU's minor number, the profile's name and id, and the first memory slice.
PLACEMENT: Final = re.compile(r"gpu-(\d+)-mig-(.+-\d+)-(\d+)")
ENDING: Final = re.compile(r"gpu-\d+-mig-.+-(\d+-\d+)")


# -- published devices and counters --------------------------------------------------------------------------------


def mig_devices(world: World, node: str) -> list[Obj]:
    """Return the published devices of type mig."""
    return [device for device in world.node(node).devices() if attribute(device, "type") == "mig"]


def whole_gpus(world: World, node: str) -> list[Obj]:
    """Return the published devices of type gpu."""
    return [device for device in world.node(node).devices() if attribute(device, "type") == "gpu"]


def counter_sets(world: World, node: str) -> dict[str, dict[str, int]]:
    """Return the published counters by set."""
    return {
        counters["name"]: {name: _number(counter) for name, counter in counters["counters"].items()}
        for obj in world.node(node).slices()
        for counters in obj["spec"].get("sharedCounters") or ()
    }


def consumed(device: Obj) -> dict[str, dict[str, int]]:
    """Return the counters that a device consumes, by set."""
    return {
        use["counterSet"]: {name: _number(counter) for name, counter in use["counters"].items()}
        for use in device.get("consumesCounters") or ()
    }


def _number(entry: Mapping[str, object]) -> int:
    return int(Quantity.parse(str(entry["value"])).value)


def _capacity(device: Obj) -> dict[str, int]:
    return {name: _number(entry) for name, entry in (device.get("capacity") or {}).items()}


def memory_slices(counters: Mapping[str, int]) -> list[int]:
    """Return the memory slices among counters."""
    return sorted(int(name.removeprefix("memory-slice-")) for name in counters if name.startswith("memory-slice-"))


def _all_consumed(device: Obj) -> dict[str, int]:
    return {name: number for counters in consumed(device).values() for name, number in counters.items()}


def kebab(name: str) -> str:
    """Return a name in kebab-case: copy-engines for copyEngines."""
    return re.sub(r"([A-Z])", r"-\1", name).lower()


def profile_sizes(world: World, node: str) -> dict[int, int]:
    """Return the memory slices of each profile of GPU 0, by the hardware's id."""
    with world.node(node).nvml_session() as nvml:
        handle = nvml.nvmlDeviceGetHandleByIndex(0)
        # A dict, because the generator needs the session that ends below.
        return dict(sizes_of(nvml, handle))


def profiles_of(nvml: Any, handle: Any) -> Iterator[Any]:
    """Yield the information of each profile that a GPU has."""
    for index in range(nvml.NVML_GPU_INSTANCE_PROFILE_COUNT):
        with contextlib.suppress(nvml.NVMLError):  # the board does not have this profile
            yield nvml.nvmlDeviceGetGpuInstanceProfileInfo(handle, index)


def sizes_of(nvml: Any, handle: Any) -> Iterator[tuple[int, int]]:
    """Yield each profile of a GPU with the number of memory slices of its instances."""
    for info in profiles_of(nvml, handle):
        profile = info.id
        # As in C: the first call returns the number of placements, the second one fills the array.
        count = ctypes.c_uint(0)
        nvml.nvmlDeviceGetGpuInstancePossiblePlacements(handle, profile, None, ctypes.byref(count))
        room = (nvml.c_nvmlGpuInstancePlacement_t * count.value)()
        nvml.nvmlDeviceGetGpuInstancePossiblePlacements(handle, profile, room, ctypes.byref(count))
        if count.value:
            yield profile, room[0].size


# -- values of a MIG device ----------------------------------------------------------------------------------------

Read = Callable[[World, str, Obj], object]


def _placement(device: Obj) -> re.Match[str] | None:
    return PLACEMENT.fullmatch(device["name"])


def _own_counter_set(world: World, node: str, device: Obj) -> object:
    found = _placement(device)
    return [f"gpu-{found.group(1)}-counter-set"] if found else "the device's name has no placement"


def _own_slices(world: World, node: str, device: Obj) -> object:
    found = _placement(device)
    if found is None:
        return "the device's name has no placement"
    start, profile = int(found.group(3)), int(found.group(2).rpartition("-")[2])
    return range_of(start, profile_sizes(world, node)[profile])


def range_of(start: int, size: int) -> list[int]:
    """Return `size` memory slices from `start` on."""
    return list(range(start, start + size))


def _other_counters(world: World, node: str, device: Obj) -> object:
    return {name: n for name, n in _all_consumed(device).items() if not name.startswith("memory-slice-")}


def _capacities_in_kebab_case(world: World, node: str, device: Obj) -> object:
    return {kebab(name): number for name, number in _capacity(device).items()}


def _by_nvml(read: Callable[[Any, Any], object]) -> Read:
    """Return a function that reads a value of the MIG device with the published UUID from NVML."""

    def look(world: World, node: str, device: Obj) -> object:
        with world.node(node).nvml_session() as nvml:
            try:
                return read(nvml, nvml.nvmlDeviceGetHandleByUUID(str(attribute(device, "uuid"))))
            except nvml.NVMLError as error:
                return f"NVML: {error}"

    return look


def _parent(nvml: Any, handle: Any) -> object:
    return nvml.nvmlDeviceGetUUID(nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle))


def _memory(world: World, node: str, device: Obj) -> object:
    value = ((device.get("capacity") or {}).get("memory") or {}).get("value")
    return None if value is None else int(Quantity.parse(str(value)).value)


ENGINES: Final[Mapping[str, str]] = {
    "multiprocessors": "multiprocessorCount",
    "copyEngines": "copyEngineCount",
    "decoders": "decoderCount",
    "encoders": "encoderCount",
    "jpegEngines": "jpegCount",
    "ofaEngines": "ofaCount",
}
"""The capacities for engines, and the fields of nvmlGpuInstanceProfileInfo_t."""


def profiles(world: World, node: str, device: Obj) -> dict[int, dict[str, int]]:
    """Return engines and memory in bytes of an instance of each profile of a device's GPU, by the hardware's id."""
    uuid = attribute(device, "parentUUID") or attribute(device, "uuid")
    with world.node(node).nvml_session() as nvml:
        found = {}
        for info in profiles_of(nvml, nvml.nvmlDeviceGetHandleByUUID(uuid)):
            engines = {name: int(getattr(info, member)) for name, member in ENGINES.items()}
            found[int(info.id)] = engines | {"memory": int(info.memorySizeMB) << 20}
        return found


def _engines(world: World, node: str, device: Obj) -> object:
    return {name: number for name, number in _capacity(device).items() if name in ENGINES}


def _of_profile(world: World, node: str, device: Obj) -> dict[str, int]:
    found = _placement(device)
    return profiles(world, node, device).get(int(found.group(2).rpartition("-")[2]), {}) if found else {}


def _most(world: World, node: str, device: Obj) -> dict[str, int]:
    known = profiles(world, node, device).values()
    return {name: max(one[name] for one in known) for name in (*ENGINES, "memory")}


def _without_memory(amounts: Mapping[str, int]) -> dict[str, int]:
    return {name: number for name, number in amounts.items() if name != "memory"}


_MIG: Final[Mapping[str, Read]] = {
    "engines": _engines,
    "engines of its profile in NVML": lambda world, node, device: _without_memory(_of_profile(world, node, device)),
    "memory of its profile in NVML": lambda world, node, device: _of_profile(world, node, device).get("memory"),
    "most engines of a profile in NVML": lambda world, node, device: _without_memory(_most(world, node, device)),
    "most memory of a profile in NVML": lambda world, node, device: _most(world, node, device)["memory"],
    "name": lambda world, node, device: device["name"],
    "uuid": lambda world, node, device: attribute(device, "uuid"),
    "profile": lambda world, node, device: attribute(device, "profile"),
    "profile in NVML's name": _by_nvml(lambda nvml, handle: str(nvml.nvmlDeviceGetName(handle)).rpartition(" MIG ")[2]),
    "parentUUID": lambda world, node, device: attribute(device, "parentUUID"),
    "UUID of its GPU in NVML": _by_nvml(_parent),
    "memory": _memory,
    "memorySizeMB of NVML in bytes": _by_nvml(
        lambda nvml, handle: nvml.nvmlDeviceGetAttributes(handle).memorySizeMB << 20
    ),
    "memory slices": lambda world, node, device: [
        int(name.removeprefix("memorySlice"))
        for name, entry in sorted((device.get("capacity") or {}).items())
        if name.startswith("memorySlice") and str(entry.get("value")) == "1"
    ],
    "memorySlice capacities": lambda world, node, device: [
        name for name in _capacity(device) if name.startswith("memorySlice")
    ],
    "counter sets": lambda world, node, device: list(consumed(device)),
    "counter set of its GPU": _own_counter_set,
    "memory-slice counters": lambda world, node, device: memory_slices(_all_consumed(device)),
    "memory slices of its placement": _own_slices,
    "other counters": _other_counters,
    "capacities in kebab-case": _capacities_in_kebab_case,
    "consumed counters": lambda world, node, device: consumed(device),
    "all counters of its set": lambda world, node, device: {
        f"{device['name']}-counter-set": counter_sets(world, node).get(f"{device['name']}-counter-set")
    },
    "counters that its set lacks": lambda world, node, device: [
        counter
        for name, used in consumed(device).items()
        for counter, number in used.items()
        # -1: a counter that its set does not have is listed even if the device consumes 0 of it.
        if counter_sets(world, node).get(name, {}).get(counter, -1) < number
    ],
}


# -- values of a counter set ---------------------------------------------------------------------------------------


def _capacity_names(world: World, node: str, counters: Obj) -> object:
    return {kebab(name) for device in mig_devices(world, node) for name in device.get("capacity") or ()}


_COUNTER_SET: Final[Mapping[str, Read]] = {
    "counters other than memory slices": lambda world, node, counters: {
        name for name in counters if not re.fullmatch(r"memory-slice-\d+", name)
    },
    "capacities of MIG devices in kebab-case": _capacity_names,
    "memory slices": lambda world, node, counters: memory_slices(counters),
    "memory slices from 0 without a gap": lambda world, node, counters: range_of(0, len(memory_slices(counters))),
}

_KINDS: Final[Mapping[str, tuple[Mapping[str, Read], Callable[[World, str], list[tuple[str, Obj]]]]]] = {
    "MIG device": (_MIG, lambda world, node: [(d["name"], d) for d in mig_devices(world, node)]),
    "whole GPU": (_MIG, lambda world, node: [(d["name"], d) for d in whole_gpus(world, node)]),
    "device": (_MIG, lambda world, node: [(d["name"], d) for d in world.node(node).devices()]),
    "counter set": (_COUNTER_SET, lambda world, node: list(counter_sets(world, node).items())),
}


@then('these published values agree for every {kind} on "{node}"')
def _(world: World, kind: str, node: str, datatable: list[list[str]]) -> None:
    """Compare values of published devices or counter sets with each other or with constants; columns: value, expected.

    `kind` is device, MIG device, whole GPU or counter set; at least one must be published.
    """
    if kind not in _KINDS:
        raise SpecificationError(f"unknown kind {kind!r}", hint=f"Known: {', '.join(_KINDS)}")
    values, published = _KINDS[kind]
    rows = published(world, node)
    for name, wanted in datatable[1:]:
        right, wrong = {}, {}
        for title, item in rows:
            observed = values[name](world, node, item)
            expected = values[wanted](world, node, item) if wanted in values else wanted
            if not agree(_plain(observed), _plain(expected)):
                right[title], wrong[title] = shown(_plain(expected)), shown(_plain(observed))
        ok = bool(rows) and not wrong
        # The values of all devices would be long; without any device nothing is proven.
        message = f"{name} of every {kind} is {wanted}; others of {len(rows)}"
        world.check(ok, message, expected=right, observed=wrong if rows else None)


def _plain(value: object) -> object:
    """Return a value in the form of tables: none for None, the items of a mapping in order."""
    if isinstance(value, Mapping):
        return [f"{key}={_plain(item)}" for key, item in sorted(value.items())]
    return "none" if value is None else value


@then('the MIG devices on "{node}" have these values')
def _(world: World, node: str, datatable: list[list[str]]) -> None:
    """Compare MIG devices with constants; columns: profile, which names the device, and the names of values."""
    names = datatable[0][1:]
    for profile, *cells in datatable[1:]:
        device = mig_device(world, node, profile)
        for name, wanted in zip(names, cells, strict=True):
            observed = shown(_plain(_MIG[name](world, node, device)))
            world.check(observed == wanted, f"{name} of {profile}", expected=wanted, observed=observed)


# -- devices of one GPU, and slices --------------------------------------------------------------------------------


@then('GPU {gpu:d} on "{node}" is published whole and as the placements "{table}"')
def _(world: World, gpu: int, node: str, table: str) -> None:
    """The devices of a GPU are itself and each placement of the table: `profile-id: starts; …`."""
    minor = world.node(node).gpus.gpus[gpu].minor
    wanted = {f"gpu-{minor}"}
    for row in table.split(";"):
        profile, _, starts = row.strip().partition(": ")
        for part in starts.split(","):
            # `0-6` is a range of first memory slices.
            first, _, last = part.partition("-")
            wanted |= {f"gpu-{minor}-mig-{profile}-{start}" for start in range(int(first), int(last or first) + 1)}
    uuid = world.node(node).gpus.get(gpu, "uuid")
    found = {
        d["name"] for d in world.node(node).devices() if uuid in (attribute(d, "uuid"), attribute(d, "parentUUID"))
    }
    world.check(found == wanted, f"devices of GPU {gpu}", expected=sorted(wanted), observed=sorted(found))


@then('GPU {gpu:d} on "{node}" is published as MIG devices with their counters, and not whole')
def _(world: World, gpu: int, node: str) -> None:
    """There come to be MIG devices of the GPU and its counter set, and there is no device that is the whole GPU.

    A driver may register before it publishes.
    """
    on = world.node(node)
    uuid, minor = on.gpus.get(gpu, "uuid"), on.gpus.gpus[gpu].minor
    wanted = {"whole": [], "MIG devices": True, "counters": True}

    def look() -> Seen[dict[str, object]]:
        found = {
            "whole": [d["name"] for d in whole_gpus(world, node) if attribute(d, "uuid") == uuid],
            "MIG devices": any(attribute(d, "parentUUID") == uuid for d in mig_devices(world, node)),
            "counters": f"gpu-{minor}-counter-set" in counter_sets(world, node),
        }
        return found == wanted, found

    world.eventually(f"devices of GPU {gpu}", look, expected=wanted)


def _counts(cell: str, gpus: int) -> Callable[[int], bool]:
    """Return the test of a cell: `all GPUs` for one per GPU, `some` for two or more, or a number."""
    match cell:
        case "all GPUs":
            return lambda number: number == gpus
        case "some":
            return lambda number: number > 1
        case _ if cell.isdigit():
            return lambda number: number == int(cell)
    raise Untestable(f"unknown number {cell!r}: all GPUs, some, or a number")


@then('the slices of the driver on "{node}" come to be')
def _(world: World, node: str, datatable: list[list[str]]) -> None:
    """Compare the slices, by name, with a table; columns: slices (1, or `each GPU`), counter sets, devices."""
    gpus = len(world.node(node).gpus.gpus)
    rows = [
        (_counts(counters, gpus), _counts(devices, gpus))
        for slices, counters, devices in datatable[1:]
        for _ in range(gpus if slices == "each GPU" else int(slices))
    ]

    def look() -> Seen[list[tuple[int, int]]]:
        found = [
            (len(obj["spec"].get("sharedCounters") or ()), len(obj["spec"].get("devices") or ()))
            for obj in sorted(world.node(node).slices(), key=name_of)
        ]
        ok = len(found) == len(rows) and all(
            counters(sets) and devices(number) for (sets, number), (counters, devices) in zip(found, rows, strict=True)
        )
        return ok, found

    world.eventually("counter sets and devices of the slices", look, expected=datatable[1:])
