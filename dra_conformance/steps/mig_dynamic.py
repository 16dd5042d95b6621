"""Dynamic MIG: instances that a driver creates when a claim is prepared, and destroys when it is unprepared.

Sentences name an instance by the hardware's profile id and its first memory slice, such as 19-3; its device's name ends
with the same.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
from typing import Any

from dra_api.objects import RESOURCE_CLAIMS, uid_of
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.kubelet import CDIRegistry
from dra_conformance.kubelet.errors import CDIError
from dra_conformance.steps.claim_users import allocate_in_use
from dra_conformance.steps.claims import claim_object, claim_spec, driver_class
from dra_conformance.steps.driver_calls import (
    answer_for,
    kill_while,
    prepare,
    problem_of,
    reference_to,
    start_again,
    unprepare,
    unprepare_problem,
)
from dra_conformance.steps.mig import attribute, capability_minor
from dra_conformance.steps.mig_published import ENDING, PLACEMENT, mig_devices, sizes_of


def instances(world: World, node: str, gpu: int) -> list[str] | None:
    """Return the GPU instances that NVML lists, as profile id and start; None if MIG is off."""
    with world.node(node).nvml_session() as nvml:
        handle = nvml.nvmlDeviceGetHandleByIndex(gpu)
        if not nvml.nvmlDeviceGetMigMode(handle)[0]:
            return None
        found = []
        # By id, because NVML lists GPU instances only by profile.
        for number in range(16):
            try:
                info = nvml.nvmlGpuInstanceGetInfo(nvml.nvmlDeviceGetGpuInstanceById(handle, number))
            except nvml.NVMLError:
                continue
            found.append(f"{info.profileId}-{info.placement.start}")
        return sorted(found)


def gpu_instance_id(world: World, node: str, gpu: int, placement: str) -> int:
    """Return NVML's id of the GPU instance at a placement. Raises Untestable if there is none."""
    with world.node(node).nvml_session() as nvml:
        handle = nvml.nvmlDeviceGetHandleByIndex(gpu)
        for number in range(16):
            try:
                info = nvml.nvmlGpuInstanceGetInfo(nvml.nvmlDeviceGetGpuInstanceById(handle, number))
            except nvml.NVMLError:
                continue
            if f"{info.profileId}-{info.placement.start}" == placement:
                return number
    raise Untestable(f"GPU {gpu} has no instance {placement}")


@then('NVML on "{node}" lists exactly the instances "{wanted}" on GPU {gpu:d}')
def _(world: World, node: str, wanted: str, gpu: int) -> None:
    """Compare the GPU instances that exist with the list."""
    found = instances(world, node, gpu)
    world.check(
        found == sorted(words(wanted)), f"instances of GPU {gpu}", expected=sorted(words(wanted)), observed=found
    )


@then('NVML on "{node}" reports MIG off on GPU {gpu:d}')
def _(world: World, node: str, gpu: int) -> None:
    """MIG mode comes to be off, and with it every instance is gone."""

    def look() -> Seen[str]:
        found = instances(world, node, gpu)
        return found is None, "off" if found is None else f"on, instances: {in_words(found)}"

    world.eventually(f"MIG mode of GPU {gpu}", look, expected="off")


@when('the instance "{placement}" is created by hand on GPU {gpu:d} of "{node}"')
def _(world: World, placement: str, gpu: int, node: str) -> None:
    """Create a GPU instance through NVML, without a compute instance, as a killed driver can leave one behind."""
    create_instance(world, node, gpu, placement)


def create_instance(world: World, node: str, gpu: int, placement: str) -> None:
    """Create a GPU instance through NVML, and turn MIG on for it. Raises Untestable if NVML refuses it."""
    profile, _, start = placement.partition("-")
    with world.node(node).nvml_session() as nvml:
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(gpu)
            nvml.nvmlDeviceSetMigMode(handle, nvml.NVML_DEVICE_MIG_ENABLE)
            placed = nvml.c_nvmlGpuInstancePlacement_t(int(start), dict(sizes_of(nvml, handle))[int(profile)])
            nvml.nvmlDeviceCreateGpuInstanceWithPlacement(handle, int(profile), ctypes.byref(placed))
        except nvml.NVMLError as error:
            raise Untestable(f"the instance {placement} cannot be created: {error}") from error


@when('the MIG device "{placement}" is created by hand on GPU {gpu:d} of "{node}"')
def _(world: World, placement: str, gpu: int, node: str) -> None:
    """Create a GPU instance and its compute instance through NVML, as an administrator or a former driver does."""
    create_instance(world, node, gpu, placement)
    number = gpu_instance_id(world, node, gpu, placement)
    with world.node(node).nvml_session() as nvml:
        try:
            instance = nvml.nvmlDeviceGetGpuInstanceById(nvml.nvmlDeviceGetHandleByIndex(gpu), number)
            nvml.nvmlGpuInstanceCreateComputeInstance(instance, whole_compute_profile(nvml, instance))
        except nvml.NVMLError as error:
            raise Untestable(f"the MIG device {placement} cannot be created: {error}") from error


@given('the MIG device "{placement}" is destroyed by hand on GPU {gpu:d} of "{node}"')
def _(world: World, placement: str, gpu: int, node: str) -> None:
    """Destroy a GPU instance and its compute instances through NVML; other MIG devices keep their indices."""
    number = gpu_instance_id(world, node, gpu, placement)
    with world.node(node).nvml_session() as nvml:
        try:
            instance = nvml.nvmlDeviceGetGpuInstanceById(nvml.nvmlDeviceGetHandleByIndex(gpu), number)
            nvml.nvmlComputeInstanceDestroy(nvml.nvmlGpuInstanceGetComputeInstanceById(instance, 0))
            nvml.nvmlGpuInstanceDestroy(instance)
        except nvml.NVMLError as error:
            raise Untestable(f"the MIG device {placement} cannot be destroyed: {error}") from error


def whole_compute_profile(nvml: Any, instance: Any) -> int:
    """Return the id of the compute instance profile that takes most of a GPU instance."""
    found: dict[int, int] = {}
    for number in range(nvml.NVML_COMPUTE_INSTANCE_PROFILE_COUNT):
        with contextlib.suppress(nvml.NVMLError):
            profile = nvml.nvmlGpuInstanceGetComputeInstanceProfileInfo(
                instance, number, nvml.NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED
            )
            found[int(profile.sliceCount)] = int(profile.id)
    return found[max(found)]


@when('the instance "{placement}" is left behind on GPU {gpu:d} of "{node}"')
def _(world: World, placement: str, gpu: int, node: str) -> None:
    """Create a GPU instance without a compute instance, unless the driver has left it already."""
    if placement not in (instances(world, node, gpu) or ()):
        create_instance(world, node, gpu, placement)


_ATTEMPTS = 50


def claim_devices(world: World, claim: str, node: str, devices: list[str]) -> None:
    """Create a claim with a hand-written allocation to devices by name."""
    world.create(claim_object(world, claim, claim_spec(driver_class(world), len(devices))))
    allocate_devices(world, claim, node, devices)


def allocate_devices(world: World, claim: str, node: str, devices: list[str]) -> None:
    """Write an allocation to devices by name into a claim."""
    base = {"request": "gpu", "driver": world.run.options.driver_name, "pool": world.name(node)}
    allocate_in_use(world, claim, world.name(node), [{**base, "device": device} for device in devices])


@given('a ResourceClaim "{claim}" allocated the devices "{devices}" on "{node}"')
def _(world: World, claim: str, devices: str, node: str) -> None:
    """Create a claim and write its allocation to devices of the driver under test, by name."""
    claim_devices(world, claim, node, words(devices))


@when('the ResourceClaim "{claim}" is allocated the devices "{devices}" on "{node}" instead')
def _(world: World, claim: str, devices: str, node: str) -> None:
    """Deallocate the claim and allocate it these devices; its uid stays."""
    world.update(RESOURCE_CLAIMS, claim, lambda obj: obj.pop("status", None), subresource="status")
    allocate_devices(world, claim, node, words(devices))


@given('a ResourceClaim "{claim}" with a letter first in its uid allocated the devices "{devices}" on "{node}"')
def _(world: World, claim: str, devices: str, node: str) -> None:
    """The same, for a claim whose uid begins with a letter: it is deleted and created again until it does."""
    for _attempt in range(_ATTEMPTS):
        claim_devices(world, claim, node, words(devices))
        if not uid_of(world.get(RESOURCE_CLAIMS, claim))[0].isdigit():
            return
        world.client.delete(RESOURCE_CLAIMS, claim, world.namespace)
    raise Untestable(f"the uids of {_ATTEMPTS} claims begin with digits")


@then('preparing and unpreparing each MIG device of GPU {gpu:d} on "{node}" creates and destroys its instance')
def _(world: World, gpu: int, node: str) -> None:
    """Prepare and unprepare a claim for each placement of a GPU.

    NVML must list the one instance of the device's name while the claim is prepared, and report MIG off afterwards.
    """
    uuid = world.node(node).gpus.get(gpu, "uuid")
    names = [d["name"] for d in mig_devices(world, node) if attribute(d, "parentUUID") == uuid]
    wrong: dict[str, object] = {}
    for device in names:
        claim_devices(world, device, node, [device])
        ref = reference_to(world, device)
        problem = problem_of(prepare(world, node, [ref]), ref)
        created = instances(world, node, gpu)
        problem = problem or unprepare_problem(unprepare(world, node, [ref]), ref)
        observed = problem or [created, instances(world, node, gpu)]
        ending = ENDING.fullmatch(device)
        if ending is None or observed != [[ending.group(1)], None]:
            wrong[device] = observed
    ok = bool(names) and not wrong
    seen = f"{len(names)} placements, not created or not destroyed: {in_words(wrong)}"
    expected = "1 or more placements, not created or not destroyed: none"
    world.check(ok, f"placements of GPU {gpu}", expected=expected, observed=seen)


@then('a container with claim "{claim}" on "{node}" would get the device nodes of its own MIG devices and of no other')
def _(world: World, claim: str, node: str) -> None:
    """The CDI edits have the node of the GPU and the capability nodes of both instances of each device."""
    component = world.node(node)
    # Capability files may be out of date if a driver was killed while it created an instance.
    component.gpus.sync_driver_root()
    wanted = set()
    for device in answer_for(world, claim):
        match = PLACEMENT.fullmatch(device.device_name)
        ending = ENDING.fullmatch(device.device_name)
        if match is None or ending is None:
            raise Untestable(f"{device.device_name} is not a MIG device")
        minor = int(match.group(1))
        gi = gpu_instance_id(world, node, minor, ending.group(1))
        caps = [capability_minor(world, node, f"gpu{minor}/mig/gi{gi}/{end}access") for end in ("", "ci0/")]
        wanted |= {f"/dev/nvidia{minor}", *(f"/dev/nvidia-caps/nvidia-cap{cap}" for cap in caps)}
    registry = CDIRegistry.read(component.kubelet.cdi_roots)
    try:
        found = registry.resolve(i for device in answer_for(world, claim) for i in device.cdi_device_ids)
    except CDIError as error:
        world.check(False, "CDI ids resolve", expected=f"devices with {in_words(sorted(wanted))}", observed=str(error))
        return
    own = re.compile(r"/dev/nvidia\d+|/dev/nvidia-caps/.+")
    nodes = {raw["path"] for device in found for raw in device.edits.get("deviceNodes") or ()}
    seen = {path for path in nodes if own.fullmatch(path)}
    world.check(seen == wanted, f"device nodes of {claim}", expected=sorted(wanted), observed=sorted(seen))


@when('NVML on "{node}" fails the next {times:d} calls of "{function}" on GPU {gpu:d} with "{error}"')
def _(world: World, node: str, times: int, function: str, gpu: int, error: str) -> None:
    """Inject a fault: an NVML function fails on one GPU, in all processes of the node."""
    world.node(node).gpus.inject_fault(function, error=error, times=times, gpu=gpu)


@when('the driver on "{node}" is started again as a process')
def _(world: World, node: str) -> None:
    """Start the stopped driver in a process of its own, without waiting for it."""
    start_again(world, world.node(node), as_process=True)


@when('the driver on "{node}" is killed while "{function}" hangs for claim "{claim}"')
def _(world: World, node: str, function: str, claim: str) -> None:
    """Let an NVML function hang, prepare the claim, and kill the driver's process while it hangs."""
    component = world.node(node)
    # Only in the driver's process: the harness calls NVML on this node too.
    rule = component.gpus.inject_fault(function, hang=True, pid=component.driver_process.pid or 0)
    kill_while(world, node, claim, f"{function} hangs", lambda: component.gpus.fault_hits(rule) > 0)
    component.gpus.clear_faults(rule)
