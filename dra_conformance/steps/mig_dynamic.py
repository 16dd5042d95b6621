"""MIG devices that are made on demand: what a driver makes of a GPU when a claim is prepared, and undoes after it.

An instance is meant by the hardware's profile id and its first memory slice, such as 19-3: how its device's name ends.
"""

from __future__ import annotations

import ctypes
import re
import threading

from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World
from dra_conformance.kubelet import CDIRegistry
from dra_conformance.kubelet.errors import CDIError, KubeletError
from dra_conformance.steps.claims import allocate_by_hand, claim_object, claim_spec, driver_class
from dra_conformance.steps.driver_calls import (
    answer_for,
    calls,
    prepare,
    problem_of,
    reference_to,
    start_again,
    unprepare,
    unprepare_problem,
)
from dra_conformance.steps.mig import attribute, capability_minor
from dra_conformance.steps.mig_places import ENDING, PLACE, places, sizes_of


@given('MIG was turned on for GPU {gpu:d} of "{node}" and the GPU reset')
def _(world: World, gpu: int, node: str) -> None:
    """Give a GPU MIG mode, as an administrator and a reset do before the driver starts."""
    gpus = world.node(node).gpus
    gpus.set(gpu, "mig_mode_current", 1)
    gpus.set(gpu, "mig_mode_pending", 1)


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
        placed = nvml.c_nvmlGpuInstancePlacement_t(int(start), dict(sizes_of(nvml, handle))[int(profile)])
        nvml.nvmlDeviceCreateGpuInstanceWithPlacement(handle, int(profile), ctypes.byref(placed))
    except nvml.NVMLError as error:
        raise Untestable(f"the instance {place} cannot be made: {error}") from error
    finally:
        nvml.nvmlShutdown()


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
    component = world.node(node)
    component.gpus.sync_driver_root()
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
    registry = CDIRegistry.read(component.kubelet.cdi_roots)
    try:
        found = registry.resolve(i for device in answer_for(world, claim) for i in device.cdi_device_ids)
    except CDIError as error:
        world.check(False, "CDI ids resolve", expected=sorted(wanted), observed=str(error))
        return
    own = re.compile(r"/dev/nvidia\d+|/dev/nvidia-caps/.+")
    nodes = {raw["path"] for device in found for raw in device.edits.get("deviceNodes") or ()}
    seen = {path for path in nodes if own.fullmatch(path)}
    world.check(seen == wanted, f"device nodes of {claim}", expected=sorted(wanted), observed=sorted(seen))


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
    start_again(world, world.node(node), as_process=True)


@when('the driver on "{node}" is killed while "{function}" hangs for claim "{claim}"')
def _(world: World, node: str, function: str, claim: str) -> None:
    """Let an NVML function not come back, ask for the claim, and kill the driver's process once it is in there."""
    component = world.node(node)
    reference = reference_to(world, claim)
    rule = component.gpus.inject_fault(function, hang=True, pid=component.driver_process.pid or 0)

    def ask() -> None:
        try:
            prepare(world, node, [reference])
        except (Untestable, KubeletError):
            return

    caller = threading.Thread(target=ask, name="prepare", daemon=True)
    caller.start()
    world.require(f"{function} hangs", lambda: (component.gpus.fault_hits(rule) > 0, "not called yet"))
    component.kill_driver()
    component.gpus.clear_faults(rule)
    caller.join(world.run.patience)
