"""MIG devices: what a GPU driver publishes of them, and what a container gets.

A MIG device is meant by its profile, such as 2g.20gb, where the node has one of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from dra_api.objects import RESOURCE_CLAIMS, Obj
from dra_api.quantity import Quantity
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, words
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.claims import devices_of
from dra_conformance.steps.containers import views


@dataclass(frozen=True, slots=True)
class Instance:
    """Where a MIG device lies: index of its GPU, ids of its GPU instance and compute instance."""

    gpu: int
    gpu_instance: int
    compute_instance: int


def attribute(device: Obj, name: str) -> Any:
    """The value of an attribute of a published device; None where it has none."""
    value = (device.get("attributes") or {}).get(name) or {}
    return next(iter(value.values()), None)


def mig_device(world: World, node: str, profile: str) -> Obj:
    """The published MIG device of a profile. Raises Untestable when there is none, or more than one."""
    found = [device for device in world.node(node).devices() if attribute(device, "profile") == profile]
    if len(found) != 1:
        names = [device["name"] for device in world.node(node).devices()]
        raise Untestable(f"the driver publishes {len(found)} devices with profile {profile} on {node}: {names}")
    return found[0]


def instance_of(world: World, node: str, device: Obj) -> Instance:
    """What NVML says of a published MIG device."""
    nvml = world.node(node).nvml
    nvml.nvmlInit()
    try:
        handle = nvml.nvmlDeviceGetHandleByUUID(str(attribute(device, "uuid")))
        parent = nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle)
        return Instance(
            gpu=int(nvml.nvmlDeviceGetIndex(parent)),
            gpu_instance=int(nvml.nvmlDeviceGetGpuInstanceId(handle)),
            compute_instance=int(nvml.nvmlDeviceGetComputeInstanceId(handle)),
        )
    except nvml.NVMLError as error:
        raise Untestable(f"NVML does not know the device {device['name']}: {error}") from error
    finally:
        nvml.nvmlShutdown()


def mig_of_gpu(world: World, node: str, gpu: int) -> list[Obj]:
    """The published MIG devices of one GPU, by index."""
    component = world.node(node)
    uuid = component.gpus.get(gpu, "uuid")
    return [device for device in component.devices() if attribute(device, "parentUUID") == uuid]


def capability_minor(world: World, node: str, path: str) -> int:
    """The minor number that the kernel driver gives a capability, such as gpu0/mig/gi5/access."""
    file = world.node(node).gpus.driver_root / "proc/driver/nvidia/capabilities" / path
    for line in file.read_text().splitlines():
        key, _, value = line.partition(":")
        if key == "DeviceFileMinor":
            return int(value)
    raise Untestable(f"{file} names no minor number")


@given('MIG is on without any instance on GPU {gpu:d} of "{node}"')
def _(world: World, gpu: int, node: str) -> None:
    """Turn MIG mode of a GPU on before the driver looks at it."""
    set_mig_mode(world, node, gpu)


def set_mig_mode(world: World, node: str, gpu: int) -> None:
    """Turn MIG mode on through NVML, as an administrator does."""
    nvml = world.node(node).nvml
    nvml.nvmlInit()
    try:
        nvml.nvmlDeviceSetMigMode(nvml.nvmlDeviceGetHandleByIndex(gpu), nvml.NVML_DEVICE_MIG_ENABLE)
    except nvml.NVMLError as error:
        raise Untestable(f"MIG mode of GPU {gpu} cannot be turned on: {error}") from error
    finally:
        nvml.nvmlShutdown()


@given('the GPUs of "{node}" are those of "{inventory}"')
def _(world: World, node: str, inventory: str) -> None:
    """Choose the fake GPUs of a node before anything runs on it."""
    world.node(node, inventory=inventory)


@then('the driver publishes the MIG profiles "{profiles}" of GPU {gpu:d} on "{node}" and not the GPU itself')
def _(world: World, profiles: str, gpu: int, node: str) -> None:
    """The slices hold exactly these MIG devices of the GPU, and no device that is the whole of it."""
    wanted = sorted(words(profiles))
    uuid = world.node(node).gpus.get(gpu, "uuid")

    def look() -> Seen:
        found = sorted(str(attribute(device, "profile")) for device in mig_of_gpu(world, node, gpu))
        whole = [device["name"] for device in world.node(node).devices() if attribute(device, "uuid") == uuid]
        return found == wanted and not whole, [*found, *whole]

    world.eventually(f"devices of GPU {gpu}", look, expected=wanted)


@then('the driver publishes nothing of GPU {gpu:d} on "{node}"')
def _(world: World, gpu: int, node: str) -> None:
    """Neither the GPU nor a part of it is in a slice, while other GPUs are."""
    uuid = world.node(node).gpus.get(gpu, "uuid")

    def look() -> Seen:
        devices = world.node(node).devices()
        found = [d["name"] for d in devices if uuid in (attribute(d, "uuid"), attribute(d, "parentUUID"))]
        return bool(devices) and not found, found or f"{len(devices)} devices of other GPUs"

    world.stays(f"devices of GPU {gpu}", look, expected="none of this GPU")


@then('every other GPU of "{node}" than GPU {gpu:d} is published whole')
def _(world: World, node: str, gpu: int) -> None:
    """The slices hold a full GPU for each of the others."""
    component = world.node(node)
    wanted = sorted(str(view.uuid) for view in component.gpus.gpus if view.index != gpu)

    def look() -> Seen:
        found = sorted(str(attribute(d, "uuid")) for d in component.devices() if attribute(d, "type") == "gpu")
        return found == wanted, found

    world.eventually("other GPUs", look, expected=wanted)


@then('the MIG device with profile "{profile}" on "{node}" is called "{name}"')
def _(world: World, profile: str, node: str, name: str) -> None:
    """The published device has this name."""
    found = mig_device(world, node, profile)["name"]
    world.check(found == name, f"name of the device with profile {profile}", expected=name, observed=found)


@then('the MIG device with profile "{profile}" on "{node}" takes the memory slices "{slices}" and no other')
def _(world: World, profile: str, node: str, slices: str) -> None:
    """Its capacities memorySlice<n> are 1 for each of these and absent for all others."""
    wanted = {f"memorySlice{part}": "1" for part in words(slices)}
    capacity = mig_device(world, node, profile).get("capacity") or {}
    found = {key: str(entry.get("value")) for key, entry in capacity.items() if key.startswith("memorySlice")}
    world.check(found == wanted, f"memory slices of {profile}", expected=wanted, observed=found)


@then('the MIG device with profile "{profile}" on "{node}" is as large as NVML says')
def _(world: World, profile: str, node: str) -> None:
    """Its capacity memory is NVML's memorySizeMB in units of 1048576 bytes."""
    device = mig_device(world, node, profile)
    nvml = world.node(node).nvml
    nvml.nvmlInit()
    try:
        handle = nvml.nvmlDeviceGetHandleByUUID(str(attribute(device, "uuid")))
        wanted = int(nvml.nvmlDeviceGetAttributes(handle).memorySizeMB) * 2**20
    except nvml.NVMLError as error:
        world.check(False, "NVML knows the device by its uuid", expected=device["name"], observed=str(error))
        return
    finally:
        nvml.nvmlShutdown()
    found = ((device.get("capacity") or {}).get("memory") or {}).get("value")
    ok = found is not None and Quantity.parse(str(found)) == Quantity.parse(str(wanted))
    world.check(ok, f"memory of {profile}", expected=wanted, observed=found)


@then('the MIG device with profile "{profile}" on "{node}" names GPU {gpu:d} as its parent')
def _(world: World, profile: str, node: str, gpu: int) -> None:
    """Its attribute parentUUID is the uuid of that GPU."""
    wanted = world.node(node).gpus.get(gpu, "uuid")
    found = attribute(mig_device(world, node, profile), "parentUUID")
    world.check(found == wanted, f"parent of {profile}", expected=wanted, observed=found)


@then('every MIG device on "{node}" has the profile that NVML names it by')
def _(world: World, node: str) -> None:
    """The attribute profile is what NVML's device name ends with, dots and all."""
    nvml = world.node(node).nvml
    devices = [device for device in world.node(node).devices() if attribute(device, "type") == "mig"]
    nvml.nvmlInit()
    try:
        names = {
            d["name"]: nvml.nvmlDeviceGetName(nvml.nvmlDeviceGetHandleByUUID(attribute(d, "uuid"))) for d in devices
        }
    except nvml.NVMLError as error:
        world.check(False, "NVML knows the devices by their uuids", expected="a name each", observed=str(error))
        return
    finally:
        nvml.nvmlShutdown()
    wanted = {name: str(told).rpartition(" MIG ")[2] for name, told in names.items()}
    found = {device["name"]: attribute(device, "profile") for device in devices}
    world.check(bool(found) and found == wanted, "profiles of MIG devices", expected=wanted, observed=found)


@then('claim "{claim}" is allocated the MIG device with profile "{profile}" of "{node}"')
def _(world: World, claim: str, profile: str, node: str) -> None:
    """The claim comes to hold exactly this device."""
    wanted = [mig_device(world, node, profile)["name"]]

    def look() -> Seen:
        held = devices_of(world.seen(RESOURCE_CLAIMS, claim))
        return held == wanted, held or "not allocated"

    world.eventually(f"claim {claim} is allocated", look, expected=wanted)


@then('container "{container}" of pod "{pod}" on "{node}" gets the MIG device with profile "{profile}" only')
def _(world: World, container: str, pod: str, node: str, profile: str) -> None:
    """The container has the node of the parent GPU, the capability nodes of both instances, and none of any other."""
    component = world.node(node)
    place = instance_of(world, node, mig_device(world, node, profile))
    minor = component.gpus.gpus[place.gpu].minor
    base = f"gpu{minor}/mig/gi{place.gpu_instance}"
    caps = [
        capability_minor(world, node, f"{base}/access"),
        capability_minor(world, node, f"{base}/ci{place.compute_instance}/access"),
    ]
    wanted = sorted([f"/dev/nvidia{minor}", *(f"/dev/nvidia-caps/nvidia-cap{cap}" for cap in caps)])
    view = views(world, node, pod)[container]
    own = re.compile(r"/dev/nvidia\d+|/dev/nvidia-caps/.+")
    found = sorted(path for path in view.device_paths() if own.fullmatch(path))
    world.check(found == wanted, f"device nodes of {container}", expected=wanted, observed=found)


@then('no two of the pods "{pods}" on "{node}" have a MIG capability in common')
def _(world: World, pods: str, node: str) -> None:
    """The containers of different pods have different nodes below /dev/nvidia-caps, each at least two."""
    held: dict[str, list[str]] = {}
    for pod in words(pods):
        paths = {path for view in views(world, node, pod).values() for path in view.device_paths()}
        held[pod] = sorted(path for path in paths if path.startswith("/dev/nvidia-caps/"))
    everything = [path for paths in held.values() for path in paths]
    ok = len(set(everything)) == len(everything) and all(len(paths) >= 2 for paths in held.values())
    world.check(ok, "MIG capabilities of the pods", expected="two or more for each, none twice", observed=held)
